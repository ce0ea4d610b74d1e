"""Task names: those of the Control Suite, and Gymnasium ids."""

from delightful.lab.errors import unknown


def _named(**domains: str) -> tuple[str, ...]:
    """Tasks as "domain:task", in order."""
    return tuple(f"{domain}:{task}" for domain, tasks in domains.items() for task in tasks.split())


# As dm_control's suite.BENCHMARKING has them; a test compares.
BENCHMARKING = _named(
    acrobot="swingup swingup_sparse",
    ball_in_cup="catch",
    cartpole="balance balance_sparse swingup swingup_sparse",
    cheetah="run",
    finger="spin turn_easy turn_hard",
    fish="upright swim",
    hopper="stand hop",
    humanoid="stand walk run",
    manipulator="bring_ball",
    pendulum="swingup",
    point_mass="easy",
    reacher="easy hard",
    swimmer="swimmer6 swimmer15",
    walker="stand walk run",
)
# The paper does not list its 28 tasks, but mentions dog.
DOG_AND_QUADRUPED = _named(dog="stand walk trot run fetch", quadruped="walk run escape fetch")
OTHERS = _named(
    cartpole="two_poles three_poles",
    humanoid="run_pure_state",
    humanoid_CMU="stand walk run",
    lqr="lqr_2_1 lqr_6_2",
    manipulator="bring_peg insert_ball insert_peg",
    point_mass="hard",
    stacker="stack_2 stack_4",
)
SUITE = BENCHMARKING + DOG_AND_QUADRUPED + OTHERS

GYM = "gym:"


def check_name(task: str) -> None:
    """Raise LabError unless the name is one of the suite or `gym:` and an id."""
    if task not in SUITE and not (task.startswith(GYM) and task != GYM):
        raise unknown("task", task, SUITE)


def envpool_name(task: str) -> str:
    """EnvPool's name of a task of the suite, such as CheetahRun-v1."""
    words = task.replace(":", "_").split("_")
    return "".join(word[:1].upper() + word[1:] for word in words) + "-v1"
