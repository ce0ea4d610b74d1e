"""A small report with every verdict, by hand: three sections, four figures, eight claims."""

import dataclasses
import hashlib

import numpy as np
from matplotlib import pyplot as plt

from delightful.lab.cells import Plan, Program, Sweep
from delightful.lab.config import chosen
from delightful.lab.decisions import Decision
from delightful.lab.drawing import Drawn
from delightful.lab.experiment import Claim, Experiment, Figure, Reading
from delightful.lab.quantities import Exact, Mean
from delightful.lab.report import runs_file, write_report
from delightful.lab.verdicts import Rule, above, below, confidence_of, judge, measured, verdict_of

PLAN, SEEDS = Plan("quick"), np.arange(12) - 5.5
DESKTOP, PHONE = 1280, 390


def sweep(name):
    program = Program(name, 1, "nowhere:none", 3, 1.0, lambda _: 1.0)
    return Sweep(name, program, lambda _: [], {"smoke": 1, "quick": 3, "paper": 12})


ALPHA, BETA = sweep("alpha/training"), sweep("beta/training")


@dataclasses.dataclass(frozen=True)
class Settings:
    width: int = chosen(10, "the smallest <that> learns")
    rate: float = chosen(0.1, "the best of five & stable")


def mean(value):
    """Of twelve seeds that differ by far less than 1."""
    return Mean(value + 0.01 * SEEDS)


def decided(claim, quantities, note="", need=(None, None)):
    """The decisions on a claim whose readings measured these quantities; None if not run."""
    found = []
    for reading, measurement in zip(claim.readings, quantities, strict=True):
        if measurement is None:
            found.append(Decision(claim, reading, PLAN, note=note))
            continue
        exact = reading.sweep is None
        outcomes = judge(claim.rule, measurement, 0.95 if exact else confidence_of(12))
        verdict = verdict_of(claim.rule, outcomes)
        needed, seconds = need if verdict == "inconclusive" else (None, None)
        decision = Decision(claim, reading, PLAN, verdict, outcomes, note)
        found.append(
            dataclasses.replace(
                decision, seeds=None if exact else 12, needed=needed, seconds=seconds
            )
        )
    return found


def claim(name, where, sentence, rule, *readings, finding=()):
    rule = rule if isinstance(rule, Rule) else Rule(rule)
    ways = readings or (Reading(),)
    return Claim(name, where, sentence, "> 0 & <1>", rule, measured, ways, finding)


FASTER = above(0, "error, A − B")
FOUND = ("B's error {is} below A's <error>",)
TWO = Rule(above(0, "gain at first"), below(0, "gain at last"), parts=True)
DECISIONS = [
    *decided(
        claim(
            *("alpha/faster", "Section 1, Figure 2a", "A < B & all.", FASTER, Reading("", ALPHA)),
            finding=FOUND,
        ),
        [measured(mean(1.5))],
        "the end is near",
    ),
    *decided(
        claim("alpha/far", "Appendix A, Figure 20", "A wins far away.", FASTER, Reading("", ALPHA)),
        [measured(mean(-2))],
    ),
    *decided(
        claim("alpha/parts", "Section 1", "First up, then down.", TWO, Reading("", ALPHA)),
        [measured(mean(1), mean(2))],
    ),
    *decided(claim("alpha/exact", "Lemma 1", "It is exact.", FASTER), [measured(Exact(0.25))]),
    *decided(
        claim("alpha/absent", "Section 1", "Nobody ran it.", FASTER, Reading("", ALPHA)),
        [None],
        "the network is missing",
    ),
    *decided(
        claim(
            *("beta/two-ways", "Section 2, Figure 3", "It depends on how it is read.", FASTER),
            Reading("per step", BETA, stands="The caption counts steps."),
            Reading("per episode", BETA),
            finding=FOUND,
        ),
        [measured(Mean(SEEDS)), measured(mean(3))],
        need=(24, 1200.0),
    ),
    *decided(
        claim(
            *("beta/half-run", "Section 2", "One reading was run.", FASTER),
            Reading("per step", BETA, stands="The caption counts steps."),
            Reading("per episode", BETA),
            finding=FOUND,
        ),
        [None, measured(mean(3))],
        "the queue is full",
    ),
    *decided(
        claim("beta/many", "Section 2", "In all cases.", FASTER, Reading("", BETA)),
        [measured({f"case {i}": mean(i + 1) for i in range(12)})],
    ),
]
CLAIMS = list(dict.fromkeys(decision.claim.id for decision in DECISIONS))
VERDICT = {d.claim.id: d.verdict for d in DECISIONS if d.standing}
PLACES = {  # claims in the order of the page, by figure
    "alpha/near": ["alpha/faster", "alpha/parts"],
    "alpha/far": ["alpha/far"],
    "": ["alpha/exact"],
    "beta/curves": ["beta/two-ways", "beta/many", "beta/half-run"],
}


def figure(name, number, title, its_sweep=None, appendix=False):
    return Figure(
        name, number, title, f"Caption of {title}.", lambda: None, its_sweep, False, appendix
    )


FIGURES = [
    figure("alpha/near", "Figure 2", "Near <2>", ALPHA),
    figure("alpha/far", "Figure 20", "Far", ALPHA, appendix=True),
    figure("beta/curves", "Figure 3", "Curves", BETA),
    figure("gamma/more", "beyond the paper", "More", appendix=True),
]
NAMES = {
    "alpha": "First <section>",
    "beta": "Second section",
    "gamma": "Third section",
}
EXPERIMENTS = [
    Experiment(
        name,
        title,
        f"Section {i + 1}",
        [Settings] if name == "alpha" else (),
        claims=list(
            {d.claim.id: d.claim for d in DECISIONS if d.claim.id.startswith(name)}.values()
        ),
        remarks=["A remark & more."] if name == "beta" else (),
    )
    for i, (name, title) in enumerate(NAMES.items())
]


def drawn(one, folder, wide):
    """A figure's files: two panels, as they are often, or one."""
    files = {suffix: folder / f"{one.id.replace('/', '-')}.{suffix}" for suffix in ("png", "csv")}
    folder.mkdir(parents=True, exist_ok=True)
    plt.imsave(files["png"], np.ones((500, 1320 if wide else 660)), cmap="gray")
    files["csv"].write_text(f"{one.id}\n1\n")
    if one.sweep:
        runs = folder.parent / runs_file(one.sweep)
        runs.parent.mkdir(exist_ok=True)
        runs.write_bytes(b"runs")
    return Drawn(one, PLAN, files, hashlib.sha256(files["csv"].read_bytes()).hexdigest())


def build(folder, running="", decisions=DECISIONS):
    shown = [drawn(one, folder / "figures", one.id != "alpha/far") for one in FIGURES]
    return write_report(folder, EXPERIMENTS, decisions, shown, running=running)


def visible(page, what=".claim"):
    """The ids of the elements that are shown."""
    return page.eval_on_selector_all(
        what, "all => all.filter(e => e.checkVisibility()).map(e => e.id)"
    )


def unfold(page):
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")


def press(page, verdict):
    page.locator(f'button[data-filter="{verdict}"]').click()


def headings(page):
    return page.eval_on_selector_all(
        "main h2, main h3, main summary",
        "all => all.filter(e => e.checkVisibility()).map(e => e.innerText)",
    )
