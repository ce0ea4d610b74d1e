"""An episode as a film, drawn in a process of its own: OpenGL is chosen once per process."""

import multiprocessing
import os
from collections.abc import Callable
from importlib.util import find_spec
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any

import numpy as np

from delightful.agents.control import policy
from delightful.agents.control.config import ControlConfig
from delightful.agents.control.environments import filmed, picture
from delightful.agents.control.tasks import GYM
from delightful.lab.errors import LabError

SIZE = (240, 320)  # a picture takes a processor that draws by itself a tenth of a second


def check(config: ControlConfig, path: Path) -> None:
    """Refuse what could not be drawn or written, before there is anything to film."""
    if path.suffix != ".mp4":
        raise LabError(f"--render must name an .mp4 file, got {path}.")
    if find_spec("imageio_ffmpeg") is None:
        raise LabError("--render needs imageio-ffmpeg: pip install 'delightful-rl[control]'.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise LabError(
            f"--render cannot write to {path.parent}: {error.strerror}; name a file elsewhere."
        ) from None
    _alone(_try, config)


def render(config: ControlConfig, weights: dict[str, Any], seed: int, path: Path) -> None:
    """One episode of the mean action, to an mp4 file."""
    _alone(_film, config, weights, seed, path)


def _alone(draw: Callable[..., None], config: ControlConfig, *given: Any) -> None:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_answer, args=(theirs, draw, config, *given))
    process.start()
    theirs.close()
    try:
        reason = ours.recv_bytes().decode()
    except EOFError:
        process.join()
        reason = f"its process ended with {process.exitcode}"
    process.join()
    if reason:
        raise LabError(f"nothing was rendered: {reason}.")


_OPENGL = (
    ". MuJoCo needs an OpenGL that draws without a window, "
    "as `apt-get install libegl1 libgl1` brings, or MUJOCO_GL=osmesa with libosmesa6"
)


def _answer(pipe: Connection, draw: Callable[..., None], *given: Any) -> None:
    os.environ["MUJOCO_GL"] = os.environ.get("MUJOCO_GL", "").replace("disabled", "") or "egl"
    reason = ""
    try:
        draw(*given)
    except Exception as error:
        reason = " ".join((str(error) or repr(error)).split()).rstrip(".")
    pipe.send_bytes(reason.encode())
    os._exit(0)  # EGL's own clean-up as Python ends may crash, after all is done


def _try(config: ControlConfig) -> None:
    try:
        picture(config.task, 0, SIZE)
    except Exception as error:
        advice = "" if config.task.startswith(GYM) else _OPENGL
        raise LabError(f"{str(error) or repr(error)}{advice}") from None


def _film(config: ControlConfig, weights: dict[str, Any], seed: int, path: Path) -> None:
    _write(path, *filmed(config.task, seed, SIZE, lambda seen: _mean(config, weights, seen)))


def _mean(config: ControlConfig, weights: dict[str, Any], observation: np.ndarray) -> np.ndarray:
    mean: np.ndarray = policy.gaussian(config, weights, observation[None])[0][0]
    return mean


def _write(path: Path, frames: list[np.ndarray], per_second: float) -> None:
    import imageio_ffmpeg

    unfinished = path.with_name(f".{path.stem}.{os.getpid()}.mp4")
    size = frames[0].shape[1::-1]
    writer = imageio_ffmpeg.write_frames(
        str(unfinished), size, fps=per_second, codec="libx264", quality=7, macro_block_size=2
    )
    writer.send(None)
    for frame in frames:
        writer.send(np.ascontiguousarray(frame))
    writer.close()
    unfinished.replace(path)
