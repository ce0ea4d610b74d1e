"""Which tasks, methods and seeds the figures and claims of control need, at each scale.

Every sweep that a claim needs is there twice, once for each reading of the actor's update. The
quick scale has a few of the paper's 28 tasks and a 33rd of its steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.settings import DEVIATION_OVER_MEAN, settings
from delightful.agents.control.tasks import BENCHMARKING, DOG_AND_QUADRUPED
from delightful.lab.cells import Point, Sweep
from delightful.paper.control.config import SAC, SHARED, TRAIN, SacConfig

METHODS = ("pg", "ppo", "mpo", "dg")
_SOME = ("pg", "dg")
_CARTPOLE = ("cartpole:swingup",)
_SEEDS = {"smoke": 1, "quick": 3, "paper": 3}
_NEEDS = ("dm_control", "mujoco", "gymnasium")
QUICK_TASKS = (
    "cartpole:swingup",
    "cheetah:run",
    "walker:walk",
    "hopper:hop",
    "finger:turn_hard",
    "reacher:easy",
    "acrobot:swingup",
)
QUICK_STEPS = 300_000
PUBLIC_STEPS = 500_000
GRID_TASKS = ("finger:spin", "walker:run")  # on which settings are chosen; no quick claim uses them
GRID_STEPS = 100_000
KLS = (0.5, 2.0, 6.0, 20.0)
CHOICES: tuple[dict[str, Any], ...] = (
    {},
    {"advantage": "retrace"},
    {"batch": 1024, "every": 16},  # as many transitions for each environment step
    {"length": 4},
    {"length": 16},
    {"draws": 4},
    {"every": 2},
    {"least_deviation": 0.2},
)
"""What all methods share under `replayed`, varied one at a time; the first is what is used."""
NARROW = 0.2  # an initial deviation at which, in one dimension, 76% of draws have a density above 1
CLIPS = (0.01, 0.1, 0.2, 1.0, 10.0, 100.0)
TEMPERATURES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)

# SAC is stepped by dm_control, ours by EnvPool, and on finger they differ.
COMPARABLE = tuple(task for task in BENCHMARKING if not task.startswith("finger"))


@dataclass(frozen=True)
class Agent:
    """A reading of the actor's update, with the settings of each method under it."""

    reading: str  # of ControlConfig
    name: str  # what reports call it

    def config(self, scale: str, method: str, **fields: Any) -> ControlConfig:
        """A method's own settings, with the sizes of a scale."""
        of_scale: dict[str, dict[str, Any]] = {
            "smoke": {
                **{"steps": 2000, "random_steps": 400, "batch": 16, "width": 8, "records": 2},
                **{"episodes": 1, "replay": 4000},
            },
            "quick": {"steps": QUICK_STEPS, "records": 20},
            "paper": {},
        }
        return ControlConfig(**settings(self.reading, method) | of_scale[scale] | fields)

    def on(self, scale: str, methods: Sequence[str], **tasks: tuple[str, ...]) -> list[Point]:
        """The methods on the tasks of a scale: those given by its name, or the paper's."""
        return [
            Point(self.config(scale, method, task=task), "main" if method == "dg" else "rival")
            for task in tasks.get(scale, tasks.get("paper", BENCHMARKING))
            for method in methods
        ]


REPLAYED = Agent("replayed", "replayed actions")
FRESH = Agent("fresh", "fresh draws")


def _tasks(agent: Agent, scale: str) -> list[Point]:
    return agent.on(scale, METHODS, smoke=_CARTPOLE, quick=QUICK_TASKS)


def _humanoid(agent: Agent, scale: str) -> list[Point]:
    methods = _SOME if scale == "smoke" else METHODS
    return agent.on(scale, methods, paper=("humanoid:run",))


def _tuning(agent: Agent, scale: str) -> list[Point]:
    """PPO's clips and MPO's temperatures, over the ranges of Figure 26, defaults included."""
    clips = {"smoke": (0.01, 0.2, 100.0), "quick": (0.01, 0.2, 1.0, 100.0)}.get(scale, CLIPS)
    few = {"smoke": (0.001, 1.0, 1000.0), "quick": (0.001, 0.1, 1.0, 1000.0)}
    grids = {
        "clip": [f"ppo:clip={clip}" for clip in clips],
        "temperature": [f"mpo:temperature={eta}" for eta in few.get(scale, TEMPERATURES)],
    }
    return [
        point._replace(varied=option)
        for option, methods in grids.items()
        for point in agent.on(scale, methods, paper=_CARTPOLE)
    ]


def _external(agent: Agent, scale: str) -> list[Point]:
    """DG, and SBX's SAC on the same tasks: at the paper's scale as its authors run it."""
    every = 1 if scale == "paper" else SacConfig().every
    dg = [p for p in _tasks(agent, scale) if p.role == "main"]
    same = ("task", "steps", "records", "episodes")
    sac = [
        SacConfig(every=every, **{name: getattr(p.config, name) for name in same})
        for p in dg
        if p.config.task in COMPARABLE
    ]
    return [*dg, *(Point(config, "third-party", program=SAC) for config in sac)]


def _surprisal(agent: Agent, scale: str) -> list[Point]:
    """DG with either surprisal; also where a density exceeds 1 more often than not."""
    points = agent.on(scale, ("dg",), smoke=_CARTPOLE, quick=(*_CARTPOLE, "cheetah:run"))
    configs = [point.config for point in points]
    configs += [replace(c, deviation=NARROW) for c in configs if c.task in _CARTPOLE]
    kinds = {"density": "main", "mode": "rival"}
    return [Point(replace(c, surprisal=kind), kinds[kind]) for c in configs for kind in kinds]


def _baseline(agent: Agent, scale: str) -> list[Point]:
    """MPO over as many steps as its public scores have."""
    points = agent.on(scale, ("mpo",), smoke=_CARTPOLE, quick=("cheetah:run", "walker:run"))
    if scale == "smoke":
        return points
    return [p._replace(config=replace(p.config, steps=PUBLIC_STEPS, records=50)) for p in points]


def _dogs(agent: Agent, scale: str) -> list[Point]:
    methods, few = _SOME if scale == "smoke" else METHODS, ("quadruped:walk",)
    return agent.on(scale, methods, smoke=few, quick=few, paper=DOG_AND_QUADRUPED)


def _gates(scale: str) -> list[Point]:
    """DG under both readings, on tasks with one and with six dimensions of action."""
    few = (*_CARTPOLE, "cheetah:run", "walker:walk")
    return [
        point._replace(role="main" if agent is FRESH else "rival")
        for agent in (REPLAYED, FRESH)
        for point in agent.on(scale, ("dg",), smoke=_CARTPOLE, quick=few, paper=few)
    ]


def _grid(scale: str) -> list[Point]:
    """Every method at every KL weight; PG and DG, at their own, with other shared choices."""
    tasks = _CARTPOLE if scale == "smoke" else GRID_TASKS
    sizes = {} if scale == "smoke" else {"steps": GRID_STEPS, "records": 10}
    few = {"smoke": ((2.0, 6.0), CHOICES[:2])}
    kls, choices = few.get(scale, (KLS, CHOICES))
    found = []
    for task in tasks:
        own = {name: REPLAYED.config(scale, name, task=task, **sizes) for name in METHODS}
        ratio = DEVIATION_OVER_MEAN
        by_kl = [replace(c, kl=kl, kl_deviation=ratio * kl) for c in own.values() for kl in kls]
        shared = [replace(own[name], **choice) for name in _SOME for choice in choices]
        found += [(c, "kl") for c in by_kl] + [(c, "shared") for c in shared]
    return [Point(c, "main" if c.method == "dg" else "rival", varied) for c, varied in found]


def _sweep(agent: Agent, name: str, points: Callable[[Agent, str], list[Point]]) -> Sweep:
    """Days of work at the paper's scale: what has been run of it is shown."""
    of_scale = partial(points, agent)
    return Sweep(
        f"control/{name}",
        TRAIN,
        of_scale,
        _SEEDS,
        _NEEDS,
        "control",
        in_part=True,
        reading=agent.name,
    )


class Sweeps(NamedTuple):
    """The sweeps of Section 6 and Appendix E, under one reading."""

    tasks: Sweep
    humanoid: Sweep
    tuning: Sweep
    external: Sweep
    surprisal: Sweep
    baseline: Sweep
    dogs: Sweep


def _sweeps(agent: Agent, suffix: str = "") -> Sweeps:
    external = replace(
        _sweep(agent, f"external{suffix}", _external),
        needs=(*_NEEDS, "stable_baselines3", "sbx"),
        extra="sac",
        fixed=SHARED,
    )
    return Sweeps(
        _sweep(agent, f"tasks{suffix}", _tasks),
        _sweep(agent, f"humanoid{suffix}", _humanoid),
        _sweep(agent, f"tuning{suffix}", _tuning),
        external,
        _sweep(agent, f"surprisal{suffix}", _surprisal),
        _sweep(agent, f"baseline{suffix}", _baseline),
        _sweep(agent, f"dogs{suffix}", _dogs),
    )


OF_FRESH, OF_REPLAYED = READINGS = _sweeps(FRESH), _sweeps(REPLAYED, "-replayed")
GATES = Sweep("control/gates", TRAIN, _gates, _SEEDS, _NEEDS, "control", in_part=True)

GRID = Sweep(
    "control/grid",
    TRAIN,
    _grid,
    {"smoke": 1, "quick": 2, "paper": 3},
    _NEEDS,
    "control",
    in_part=True,
    reading=REPLAYED.name,
)

SWEEPS = (*OF_FRESH, *OF_REPLAYED, GATES, GRID)
