"""Whole episodes of a policy, played and optionally recorded as a video or a strip of pictures.

Films are made in a process of their own: MuJoCo chooses its OpenGL once per process.
"""

import io
import multiprocessing
import os
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from delightful.agents.control.environments import Task, make_task
from delightful.agents.control.policy import Policy
from delightful.agents.control.rollout import LONGEST
from delightful.agents.control.tasks import GYM
from delightful.lab.errors import LabError, install
from delightful.lab.store import write_whole

SIZE = (240, 320)  # without a GPU, a frame takes a tenth of a second
FRAMES = 30  # per second of a video, at most
PICTURES = 8  # of an episode, in a strip


def check(task: str, path: Path, option: str) -> None:
    """Raise LabError if the task cannot be recorded to `path`, which `option` names."""
    if path.suffix not in (".mp4", ".png"):
        raise LabError(f"{option} must name an .mp4 or a .png file, got {path}.")
    if path.suffix == ".mp4" and find_spec("imageio_ffmpeg") is None:
        raise LabError(f"{option} needs imageio-ffmpeg: {install('control')}.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise LabError(
            f"{option} cannot write to {path.parent}: {error.strerror}; name a file elsewhere."
        ) from None
    _in_own_process(_draw_one, task)


def play(policy: Policy, seed: int, episodes: int = 1) -> list[float]:
    """Returns of whole episodes with the policy's mean action; NaN where the simulator gave NaN."""
    task = make_task(policy.task, seed)
    return [float(sum(_rewards(task, policy))) for _ in range(episodes)]


def render(policy: Policy, seed: int, path: Path, episodes: int = 1) -> list[float]:
    """The same as `play`, recorded to a file, which is written whole or not at all.

    An .mp4 file is a video; a .png file has a row of pictures for each episode, from its first
    step to its last.
    """
    record = _film if path.suffix == ".mp4" else _strip
    return list(_in_own_process(record, policy, seed, path, episodes))


def _rewards(task: Task, policy: Policy) -> Iterator[float]:
    """Play an episode; its rewards as they come."""
    observation = task.reset()
    for _ in range(LONGEST):
        observation, reward, terminated, truncated = task.step(policy.act(observation))
        finite = bool(np.isfinite(reward) and np.isfinite(observation).all())
        yield float(reward) if finite else np.nan
        if terminated or truncated or not finite:
            return


def _strip(policy: Policy, seed: int, path: Path, episodes: int) -> list[float]:
    import matplotlib.image

    task = make_task(policy.task, seed)
    rewards = [list(_rewards(task, policy)) for _ in range(episodes)]
    task, rows = make_task(policy.task, seed, render=True), []
    for steps in map(len, rewards):
        wanted = {round(i * (steps - 1) / (PICTURES - 1)) for i in range(PICTURES)}
        pictures = [task.image(SIZE) for i, _ in enumerate(_rewards(task, policy)) if i in wanted]
        empty = [np.full_like(pictures[0], 255)] * (PICTURES - len(pictures))  # a short episode
        rows.append(np.concatenate([*pictures, *empty], axis=1))
    file = io.BytesIO()
    matplotlib.image.imsave(file, np.ascontiguousarray(np.concatenate(rows)), format="png")
    write_whole(path, file.getvalue())
    return [float(sum(each)) for each in rewards]


def _film(policy: Policy, seed: int, path: Path, episodes: int) -> list[float]:
    import imageio_ffmpeg

    task = make_task(policy.task, seed, render=True)
    every = max(1, round(task.steps_per_second / FRAMES))
    settings = {"fps": task.steps_per_second / every, "codec": "libx264", "quality": 7}
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}.mp4")
    writer: Any = None
    returns = [0.0] * episodes
    try:
        for episode in range(episodes):
            for i, reward in enumerate(_rewards(task, policy)):
                returns[episode] += reward
                if i % every == 0:
                    frame = np.ascontiguousarray(task.image(SIZE))
                    if writer is None:
                        writer = imageio_ffmpeg.write_frames(
                            str(unfinished), frame.shape[1::-1], macro_block_size=2, **settings
                        )
                        writer.send(None)
                    writer.send(frame)
        writer.close()
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)
    return returns


def _draw_one(task: str) -> None:
    try:
        one = make_task(task, 0, render=True)
        one.reset()
        one.image(SIZE)
    except Exception as error:
        advice = (
            ". MuJoCo needs an OpenGL that draws without a window, "
            "as `apt-get install libegl1 libgl1` brings, or MUJOCO_GL=osmesa with libosmesa6"
        )
        said = str(error) or repr(error)
        raise LabError(said if task.startswith(GYM) else said + advice) from None


def _in_own_process(function: Callable[..., Any], *given: Any) -> Any:
    """What `function` returns; a LabError if it fails or its process dies."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(theirs, function, *given))
    process.start()
    theirs.close()
    try:
        answer = ours.recv()
    except EOFError:
        process.join()
        answer = {"error": f"its process ended with {process.exitcode}"}
    process.join()
    if "error" in answer:
        raise LabError(f"nothing was rendered: {answer['error']}.")
    return answer["result"]


def _serve(pipe: Connection, function: Callable[..., Any], *given: Any) -> None:
    os.environ["MUJOCO_GL"] = os.environ.get("MUJOCO_GL", "").replace("disabled", "") or "egl"
    try:
        answer = {"result": function(*given)}
    except Exception as error:
        answer = {"error": " ".join((str(error) or repr(error)).split()).rstrip(".")}
    pipe.send(answer)
    os._exit(0)  # EGL's own clean-up as Python ends may crash, after all is done
