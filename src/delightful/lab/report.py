"""The report: one HTML file that needs no network. Claims, figures, then what was chosen."""

import base64
from collections.abc import Mapping, Sequence
from html import escape
from importlib import resources
from pathlib import Path
from string import Template

import delightful
from delightful.lab.config import choices
from delightful.lab.decisions import Decision
from delightful.lab.drawing import Drawn
from delightful.lab.experiment import Experiment
from delightful.lab.rendering import claim_html, on_smoke
from delightful.lab.store import cannot_write, write_whole


def write_report(
    folder: Path,
    experiments: Sequence[Experiment],
    decisions: Sequence[Decision],
    drawn: Sequence[Drawn],
    counts: Mapping[str, int],
) -> Path:
    """Write `report.html` into `folder`; its path."""
    template = resources.files("delightful.lab").joinpath("report.html").read_text("utf-8")
    page = Template(template).substitute(
        version=delightful.__version__,
        buttons=_buttons(counts),
        warning=_warning(decisions),
        claims="\n".join(_claims(e, decisions) for e in experiments if e.claims),
        figures="\n".join(map(_figure, drawn)) or "<p>No figure has its runs yet.</p>",
        choices="\n".join(map(_choices, experiments)),
    )
    path = folder / "report.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(path, page.encode())
    except OSError as error:
        raise cannot_write(folder, error) from None
    return path


def _buttons(counts: Mapping[str, int]) -> str:
    shown = {"all": sum(counts.values())} | {v: n for v, n in counts.items() if n}
    return "\n".join(
        f'<button type="button" data-verdict="{verdict}" '
        f'aria-pressed="{str(verdict == "all").lower()}">{verdict} <b>{n}</b></button>'
        for verdict, n in shown.items()
    )


def _warning(decisions: Sequence[Decision]) -> str:
    if not on_smoke(decisions):
        return ""
    return (
        '<p class="warning">This is the smoke scale: a few steps, to see that everything works. '
        "Verdicts on its runs mean nothing; use <code>--scale quick</code> or "
        "<code>--scale paper</code>.</p>"
    )


def _claims(experiment: Experiment, decisions: Sequence[Decision]) -> str:
    mine = [d for d in decisions if d.claim.id.startswith(f"{experiment.name}/")]
    heading = f"<h3>{escape(experiment.title)} ({escape(experiment.section)})</h3>"
    return "\n".join([heading, *map(claim_html, mine)])


def _figure(drawn: Drawn) -> str:
    figure = drawn.figure
    image = base64.b64encode(drawn.files["png"].read_bytes()).decode()
    title = f"{figure.number}: {figure.title}"
    data = f"figures/{drawn.files['csv'].name}"
    return (
        f'<figure id="figure-{figure.id}"><h3>{escape(title)}</h3>\n'
        f'<div class="wide"><img alt="{escape(title)}" '
        f'src="data:image/png;base64,{image}"></div>\n'
        f"<figcaption><p>{escape(figure.caption)}</p>\n"
        f'<p class="dim"><code>{escape(drawn.command)}</code></p>\n'
        f'<p class="dim">data: <a href="{data}">{data}</a>, SHA-256 <code>{drawn.sha256}</code></p>'
        "</figcaption></figure>"
    )


def _choices(experiment: Experiment) -> str:
    rows = "".join(
        f"<dt>{escape(name)} = {escape(str(default))}</dt><dd>{escape(reason)}</dd>"
        for config in experiment.configs
        for name, default, reason in choices(config)
    )
    remarks = "".join(f"<p>{escape(remark)}</p>" for remark in experiment.remarks)
    return f"<h3>{escape(experiment.name)}: {escape(experiment.title)}</h3><dl>{rows}</dl>{remarks}"
