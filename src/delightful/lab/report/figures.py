"""Figures of the report: the image inside the page, its caption, and where its numbers are."""

import base64
import json
import struct
from html import escape

from delightful.lab.cells import Sweep
from delightful.lab.drawing import Drawn
from delightful.lab.experiment import command
from delightful.lab.report import markup

DOTS = 200 / 96  # of the image, per pixel of the page at the figure's own size
READABLE = 0.62  # of its own size; a figure that would be smaller scrolls
NARROW = 460  # pixels; such a figure fits a phone


def picture(drawn: Drawn, enlarged: float = 1.0) -> str:
    """The image, which scrolls sideways where it would be too small to read."""
    data = drawn.files["png"].read_bytes()
    width, height = size(data)
    own = round(width / DOTS)
    least = 0 if own <= NARROW else round(max(min(own, 500), READABLE * own))
    most = round(enlarged * own)
    title = heading(drawn)
    keys = "; arrow keys give its values" if drawn.values else ""
    return (
        f'<div class="image" style="max-width:{most + 18}px">'
        f'<div class="wide" tabindex="0" role="group" aria-label="{title}{keys}">'
        f'<img data-values="values-{escape(drawn.figure.id)}"'
        f'  alt="{title}" width="{width}" height="{height}" decoding="async" '
        f'style="min-width:{least}px" '
        f'src="data:image/png;base64,{base64.b64encode(data).decode()}"></div>'
        '<p class="hint" aria-hidden="true">Scroll sideways to see the whole figure →</p></div>'
    )


def heading(drawn: Drawn) -> str:
    """The figure's number and title, also for the list of contents."""
    return escape(f"{drawn.figure.number}: {drawn.figure.title}")


def size(png: bytes) -> tuple[int, int]:
    """Width and height of a PNG image, from its header."""
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def runs_file(sweep: Sweep) -> str:
    """Where the report has every seed of a sweep's runs."""
    return f"data/{sweep.name.replace('/', '-')}.parquet"


def values(drawn: Drawn) -> str:
    """What a figure shows, as data that the page reads when someone points at the picture."""
    rows = [series.row() for series in drawn.values]
    text = json.dumps(rows, ensure_ascii=False, separators=(",", ":"))
    inside = text.replace("<", "\\u003c")  # no text can end the element
    name = escape(drawn.figure.id)
    return f'<script type="application/json" id="values-{name}">{inside}</script>'


def shown(drawn: Drawn) -> str:
    """How many seeds a figure shows, and how its runs differ from the paper's."""
    return f'<p class="dim">Shown: {escape(drawn.runs)}.</p>' if drawn.runs else ""


def figure(drawn: Drawn, folded: str = "") -> str:
    """A figure with its caption, its numbers and its commands; with `folded`, a line that says this
    and opens."""
    about = drawn.figure
    file = escape(f"figures/{drawn.files['csv'].name}")
    commands, runs = [("Draw it again", drawn.command)], ""
    if about.sweep is not None:
        runs = f', <a href="{escape(runs_file(about.sweep))}">every seed of its runs</a>'
        export = command("export", about.sweep.name, drawn.plan, drawn.store)
        out = f"{about.sweep.name.replace('/', '-')}.csv"
        commands.append(("Every seed of its runs, as CSV", f"{export} --out {out}"))
    rows = "".join(f"<p>{words}</p>{markup.command(text)}" for words, text in commands)
    title = f"<h3>{heading(drawn)}</h3>"
    inside = (
        f"{picture(drawn)}\n{values(drawn)}"
        f"<figcaption>{markup.paragraph(about.caption)}{shown(drawn)}"
        '<details class="more"><summary>Data and commands</summary>'
        f'<p>Data: <a href="{file}">the numbers drawn, as CSV</a>{runs}</p>{rows}'
        f'<p class="dim">SHA-256 of the numbers drawn: <code>{drawn.sha256}</code></p>'
        "</details></figcaption>"
    )
    if folded:
        line = f'<summary>{title} <span class="dim">{folded}</span></summary>'
        inside = f"<details>{line}{inside}</details>"
    else:
        inside = f"{title}\n{inside}"
    return f'<figure id="figure-{escape(about.id)}" data-item>{inside}</figure>'
