"""Task names: those of the Control Suite, and Gymnasium ids."""

from delightful.lab.errors import unknown

# As dm_control's suite.BENCHMARKING has them; a test compares.
BENCHMARKING = (
    "acrobot:swingup",
    "acrobot:swingup_sparse",
    "ball_in_cup:catch",
    "cartpole:balance",
    "cartpole:balance_sparse",
    "cartpole:swingup",
    "cartpole:swingup_sparse",
    "cheetah:run",
    "finger:spin",
    "finger:turn_easy",
    "finger:turn_hard",
    "fish:upright",
    "fish:swim",
    "hopper:stand",
    "hopper:hop",
    "humanoid:stand",
    "humanoid:walk",
    "humanoid:run",
    "manipulator:bring_ball",
    "pendulum:swingup",
    "point_mass:easy",
    "reacher:easy",
    "reacher:hard",
    "swimmer:swimmer6",
    "swimmer:swimmer15",
    "walker:stand",
    "walker:walk",
    "walker:run",
)
# The paper does not list its 28 tasks, but mentions dog.
DOG_AND_QUADRUPED = (
    "dog:stand",
    "dog:walk",
    "dog:trot",
    "dog:run",
    "dog:fetch",
    "quadruped:walk",
    "quadruped:run",
    "quadruped:escape",
    "quadruped:fetch",
)
OTHERS = (
    "cartpole:two_poles",
    "cartpole:three_poles",
    "humanoid:run_pure_state",
    "humanoid_CMU:stand",
    "humanoid_CMU:walk",
    "humanoid_CMU:run",
    "lqr:lqr_2_1",
    "lqr:lqr_6_2",
    "manipulator:bring_peg",
    "manipulator:insert_ball",
    "manipulator:insert_peg",
    "point_mass:hard",
    "stacker:stack_2",
    "stacker:stack_4",
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
