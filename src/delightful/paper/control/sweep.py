"""Which tasks, methods and seeds the figures and claims of control need, at each scale.

The quick scale has 7 tasks of the paper's 28 and a 33rd of its steps.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.tasks import BENCHMARKING, DOG_AND_QUADRUPED
from delightful.lab.cells import Point, Sweep
from delightful.paper.control.config import SAC, SHARED, TRAIN, SacConfig

METHODS = ("pg", "ppo", "mpo", "dg")
_SOME = ("pg", "dg")
_CARTPOLE = ("cartpole:swingup",)
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
NARROW = 0.2  # an initial deviation at which, in one dimension, 76% of draws have a density above 1
CLIPS = (0.01, 0.1, 0.2, 1.0, 10.0, 100.0)
TEMPERATURES = (0.001, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0)

_BASE = {
    "smoke": ControlConfig(
        steps=2000, random_steps=400, batch=16, width=8, records=2, episodes=1, replay=4000
    ),
    "quick": ControlConfig(steps=QUICK_STEPS, records=20),
    "paper": ControlConfig(),
}

# SAC is stepped by dm_control, ours by EnvPool, and on finger they differ.
COMPARABLE = tuple(task for task in BENCHMARKING if not task.startswith("finger"))


def _on(scale: str, methods: Sequence[str], **tasks: tuple[str, ...]) -> list[Point]:
    """The methods on the tasks of a scale: those given by its name, or the paper's."""
    return [
        Point(
            replace(_BASE[scale], task=task, method=method), "main" if method == "dg" else "rival"
        )
        for task in tasks.get(scale, tasks.get("paper", BENCHMARKING))
        for method in methods
    ]


def _tasks(scale: str) -> list[Point]:
    return _on(scale, METHODS, smoke=_CARTPOLE, quick=QUICK_TASKS)


def _humanoid(scale: str) -> list[Point]:
    return _on(scale, _SOME if scale == "smoke" else METHODS, paper=("humanoid:run",))


def _dogs(scale: str) -> list[Point]:
    methods, few = _SOME if scale == "smoke" else METHODS, ("quadruped:walk",)
    return _on(scale, methods, smoke=few, quick=few, paper=DOG_AND_QUADRUPED)


def _tuning(scale: str) -> list[Point]:
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
        for point in _on(scale, methods, paper=_CARTPOLE)
    ]


def _surprisal(scale: str) -> list[Point]:
    """DG with either surprisal; also where a density exceeds 1 more often than not."""
    points = _on(scale, ("dg",), smoke=_CARTPOLE, quick=(*_CARTPOLE, "cheetah:run"))
    configs = [point.config for point in points]
    configs += [replace(c, deviation=NARROW) for c in configs if c.task in _CARTPOLE]
    kinds = {"density": "main", "mode": "rival"}
    return [Point(replace(c, surprisal=kind), kinds[kind]) for c in configs for kind in kinds]


def _baseline(scale: str) -> list[Point]:
    """MPO over as many steps as its public scores have."""
    points = _on(scale, ("mpo",), smoke=_CARTPOLE, quick=("cheetah:run", "walker:run"))
    if scale == "smoke":
        return points
    return [p._replace(config=replace(p.config, steps=PUBLIC_STEPS, records=50)) for p in points]


def _external(scale: str) -> list[Point]:
    """DG, and SBX's SAC on the same tasks: at the paper's scale as its authors run it."""
    every = 1 if scale == "paper" else SacConfig().every
    dg = [p for p in _tasks(scale) if p.role == "main"]
    same = ("task", "steps", "records", "episodes")
    sac = [
        SacConfig(every=every, **{name: getattr(p.config, name) for name in same})
        for p in dg
        if p.config.task in COMPARABLE
    ]
    return [*dg, *(Point(config, "third-party", program=SAC) for config in sac)]


def _sweep(name: str, points: Callable[[str], list[Point]]) -> Sweep:
    """Days of work at the paper's scale: what has been run of it is shown."""
    seeds = {"smoke": 1, "quick": 2, "paper": 3}
    return Sweep(
        f"control/{name}",
        TRAIN,
        points,
        seeds,
        _NEEDS,
        "control",
        in_part=True,
        reading="fresh draws",  # actor updates score draws of the policy at replayed states
    )


TASKS = _sweep("tasks", _tasks)
HUMANOID = _sweep("humanoid", _humanoid)
DOGS = _sweep("dogs", _dogs)
TUNING = _sweep("tuning", _tuning)
SURPRISAL = _sweep("surprisal", _surprisal)
BASELINE = _sweep("baseline", _baseline)
EXTERNAL = replace(
    _sweep("external", _external),
    needs=(*_NEEDS, "stable_baselines3", "sbx"),
    extra="sac",
    fixed=SHARED,
)

SWEEPS = (TASKS, HUMANOID, DOGS, TUNING, SURPRISAL, BASELINE, EXTERNAL)
