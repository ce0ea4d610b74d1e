"""Which tasks, methods and seeds the figures and claims of control need, at each scale.

The quick scale has 7 tasks of the paper's 28 and a 33rd of its steps.
"""

from collections.abc import Callable
from dataclasses import replace

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.tasks import BENCHMARKING, DOG_AND_QUADRUPED
from delightful.lab.cells import Point, Sweep
from delightful.paper.control.config import SAC, SHARED, TRAIN, SacConfig

METHODS = ("pg", "ppo", "mpo", "dg")
_SOME = ("pg", "dg")
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

_SMOKE = ControlConfig(
    task="cartpole:swingup",
    steps=2000,
    random_steps=400,
    batch=16,
    width=8,
    records=2,
    episodes=1,
    replay=4000,
)


# SAC is stepped by dm_control, ours by EnvPool, and on finger they differ.
COMPARABLE = tuple(task for task in BENCHMARKING if not task.startswith("finger"))


def base(scale: str) -> ControlConfig:
    if scale == "smoke":
        return _SMOKE
    if scale == "quick":
        return replace(ControlConfig(), steps=QUICK_STEPS, records=20)
    return ControlConfig()


def _on(scale: str, tasks: tuple[str, ...], methods: tuple[str, ...]) -> list[Point]:
    config = base(scale)
    return [
        Point(replace(config, task=task, method=method), "main" if method == "dg" else "rival")
        for task in tasks
        for method in methods
    ]


def _tasks(scale: str) -> list[Point]:
    known = {"smoke": ("cartpole:swingup",), "quick": QUICK_TASKS}
    return _on(scale, known.get(scale, BENCHMARKING), METHODS)


def _humanoid(scale: str) -> list[Point]:
    return _on(scale, ("humanoid:run",), _SOME if scale == "smoke" else METHODS)


def _dogs(scale: str) -> list[Point]:
    known = {"smoke": ("quadruped:walk",), "quick": ("quadruped:walk",)}
    tasks = known.get(scale, DOG_AND_QUADRUPED)
    return _on(scale, tasks, _SOME if scale == "smoke" else METHODS)


def _tuning(scale: str) -> list[Point]:
    """PPO's clips and MPO's temperatures, over the ranges of Figure 26, defaults included."""
    clips = {"smoke": (0.01, 0.2, 100.0), "quick": (0.01, 0.2, 1.0, 100.0)}.get(scale, CLIPS)
    few = {"smoke": (0.001, 1.0, 1000.0), "quick": (0.001, 0.1, 1.0, 1000.0)}
    temperatures = few.get(scale, TEMPERATURES)
    grids = {"clip": [f"ppo:clip={clip}" for clip in clips]}
    grids["temperature"] = [f"mpo:temperature={eta}" for eta in temperatures]
    return [
        point._replace(varied=option)
        for option, methods in grids.items()
        for point in _on(scale, ("cartpole:swingup",), tuple(methods))
    ]


def _surprisal(scale: str) -> list[Point]:
    """DG with either surprisal; also where a density exceeds 1 more often than not."""
    known = {"smoke": ("cartpole:swingup",), "quick": ("cartpole:swingup", "cheetah:run")}
    configs = [point.config for point in _on(scale, known.get(scale, BENCHMARKING), ("dg",))]
    configs += [replace(c, deviation=NARROW) for c in configs if c.task == "cartpole:swingup"]
    kinds = {"density": "main", "mode": "rival"}
    return [Point(replace(c, surprisal=kind), kinds[kind]) for c in configs for kind in kinds]


def _baseline(scale: str) -> list[Point]:
    """MPO over as many steps as its public scores have."""
    known = {"smoke": ("cartpole:swingup",), "quick": ("cheetah:run", "walker:run")}
    points = _on(scale, known.get(scale, BENCHMARKING), ("mpo",))
    if scale == "smoke":
        return points
    return [p._replace(config=replace(p.config, steps=PUBLIC_STEPS, records=50)) for p in points]


def _external(scale: str) -> list[Point]:
    """DG, and SBX's SAC on the same tasks: at the paper's scale as its authors run it."""
    every = 1 if scale == "paper" else SacConfig().every
    dg = [p for p in _tasks(scale) if p.role == "main"]
    comparable = [p.config for p in dg if p.config.task in COMPARABLE]
    sac = [
        SacConfig(task=c.task, steps=c.steps, every=every, records=c.records, episodes=c.episodes)
        for c in comparable
    ]
    return [*dg, *(Point(config, "third-party", program=SAC) for config in sac)]


_SEEDS = {"smoke": 1, "quick": 2, "paper": 3}
_READING = "fresh draws"  # of the policy at replayed states are what actor updates score
_NEEDS = ("dm_control", "mujoco", "gymnasium")


def _sweep(name: str, configs: Callable[[str], list[Point]]) -> Sweep:
    """Days of work at the paper's scale: what has been run of it is shown."""
    return Sweep(
        f"control/{name}",
        TRAIN,
        configs,
        _SEEDS,
        _NEEDS,
        "control",
        in_part=True,
        reading=_READING,
    )


TASKS = _sweep("tasks", _tasks)
HUMANOID = _sweep("humanoid", _humanoid)
DOGS = _sweep("dogs", _dogs)
TUNING = _sweep("tuning", _tuning)
SURPRISAL = _sweep("surprisal", _surprisal)
BASELINE = _sweep("baseline", _baseline)

EXTERNAL = Sweep(
    "control/external",
    TRAIN,
    _external,
    _SEEDS,
    needs=(*_NEEDS, "stable_baselines3", "sbx"),
    extra="sac",
    in_part=True,
    fixed=SHARED,
    reading=_READING,
)

SWEEPS = (TASKS, HUMANOID, DOGS, TUNING, SURPRISAL, BASELINE, EXTERNAL)
