"""Which tasks, methods and seeds the figures and claims of control need, at each scale.

The quick scale has 7 tasks of the paper's 28 and a 33rd of its steps.
"""

from collections.abc import Callable
from dataclasses import replace

from delightful.agents.control.config import ControlConfig
from delightful.agents.control.tasks import BENCHMARKING, DOG_AND_QUADRUPED
from delightful.lab.cells import Sweep
from delightful.paper.control.config import SAC, TRAIN, SacConfig

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


def _on(scale: str, tasks: tuple[str, ...], methods: tuple[str, ...]) -> list[ControlConfig]:
    config = base(scale)
    return [replace(config, task=task, method=method) for task in tasks for method in methods]


def _tasks(scale: str) -> list[ControlConfig]:
    known = {"smoke": ("cartpole:swingup",), "quick": QUICK_TASKS}
    return _on(scale, known.get(scale, BENCHMARKING), METHODS)


def _humanoid(scale: str) -> list[ControlConfig]:
    return _on(scale, ("humanoid:run",), _SOME if scale == "smoke" else METHODS)


def _dogs(scale: str) -> list[ControlConfig]:
    known = {"smoke": ("quadruped:walk",), "quick": ("quadruped:walk",)}
    tasks = known.get(scale, DOG_AND_QUADRUPED)
    return _on(scale, tasks, _SOME if scale == "smoke" else METHODS)


def _tuning(scale: str) -> list[ControlConfig]:
    """PPO's clips and MPO's temperatures, over the ranges of Figure 26, defaults included."""
    clips = {"smoke": (0.01, 0.2, 100.0), "quick": (0.01, 0.2, 1.0, 100.0)}.get(scale, CLIPS)
    few = {"smoke": (0.001, 1.0, 1000.0), "quick": (0.001, 0.1, 1.0, 1000.0)}
    temperatures = few.get(scale, TEMPERATURES)
    methods = [f"ppo:clip={clip}" for clip in clips]
    methods += [f"mpo:temperature={eta}" for eta in temperatures]
    return _on(scale, ("cartpole:swingup",), tuple(methods))


def _surprisal(scale: str) -> list[ControlConfig]:
    """DG with either surprisal; also where a density exceeds 1 more often than not."""
    known = {"smoke": ("cartpole:swingup",), "quick": ("cartpole:swingup", "cheetah:run")}
    configs = _on(scale, known.get(scale, BENCHMARKING), ("dg",))
    configs += [replace(c, deviation=NARROW) for c in configs if c.task == "cartpole:swingup"]
    return [replace(c, surprisal=kind) for c in configs for kind in ("density", "mode")]


def _baseline(scale: str) -> list[ControlConfig]:
    """MPO over as many steps as its public scores have."""
    known = {"smoke": ("cartpole:swingup",), "quick": ("cheetah:run", "walker:run")}
    configs = _on(scale, known.get(scale, BENCHMARKING), ("mpo",))
    if scale == "smoke":
        return configs
    return [replace(config, steps=PUBLIC_STEPS, records=50) for config in configs]


def _external(scale: str) -> list[SacConfig]:
    """SBX's SAC on the tasks of ours: at the paper's scale as its authors run it."""
    every = 1 if scale == "paper" else SacConfig().every
    tasks = [c for c in _tasks(scale) if c.task in COMPARABLE]
    ours = dict.fromkeys((c.task, c.steps, c.records, c.episodes) for c in tasks)
    return [
        SacConfig(task=task, steps=steps, every=every, records=records, episodes=episodes)
        for task, steps, records, episodes in ours
    ]


_SEEDS = {"smoke": 1, "quick": 2, "paper": 3}
_NEEDS = ("dm_control", "mujoco", "gymnasium")


def _sweep(name: str, configs: Callable[[str], list[ControlConfig]]) -> Sweep:
    """Days of work at the paper's scale: what has been run of it is shown."""
    return Sweep(f"control/{name}", TRAIN, configs, _SEEDS, _NEEDS, "control", in_part=True)


TASKS = _sweep("tasks", _tasks)
HUMANOID = _sweep("humanoid", _humanoid)
DOGS = _sweep("dogs", _dogs)
TUNING = _sweep("tuning", _tuning)
SURPRISAL = _sweep("surprisal", _surprisal)
BASELINE = _sweep("baseline", _baseline)

EXTERNAL = Sweep(
    "control/external",
    SAC,
    _external,
    _SEEDS,
    needs=(*_NEEDS, "stable_baselines3", "sbx"),
    extra="sac",
    in_part=True,
    beside=_sweep("dg", lambda scale: [c for c in _tasks(scale) if c.method == "dg"]),
)

SWEEPS = (TASKS, HUMANOID, DOGS, TUNING, SURPRISAL, BASELINE, EXTERNAL)
