"""`delightful train tokens:TASK`: what is refused, and a run that is killed and goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from delightful.cli import main, train_tokens, training
from delightful.lab.errors import LabError

pytest.importorskip("ray")
SMALL = [f"--set={field}" for field in ("length=3", "width=8", "layers=1", "heads=1")]
SMALL += ["--set=feedforward=8", "--set=prompts=4", "--set=samples=3", "--actors=2"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("tokens:copy --actors 0", "actors must be at least 1, got 0."),
        ("tokens:copy --queue 0", "queue must be at least 1, got 0."),
        ("tokens:copy --in-flight 0", "in_flight must be at least 1, got 0."),
        ("tokens:copy --batch-prompts 0", "--batch-prompts must be at least 1, got 0."),
        ("tokens:copy --batch-prompts 3", "--batch-prompts must divide the 10 prompts of a step"),
        ("tokens:copy --batch-prompts 20", "--batch-prompts must divide the 10 prompts of a step"),
        ("cheetah:run --batch-prompts 2", "--batch-prompts is an option for Token Reversal"),
        ("tokens:copy --actor-lag -1", "lag must be at least 0, got -1."),
        ("tokens:copy --slow-actor 3", "--slow-actor must read ACTOR=SPEED"),
        ("tokens:copy --slow-actor 10=0.5", "a slow actor must be one of 0 to 9, got 10."),
        ("tokens:copy --steps 0", "--steps must be at least 1, got 0."),
        ("tokens:copy --method no", "method must be one of pg, dg"),
        ("tokens:copy --set delay=3", "delay cannot be set here: give --actor-lag."),
        ("tokens:copy --set lenght=3", "did you mean length"),
        ("tokens:copy --extend", "--extend is an option for a control task"),
        ("tokens:cpoy", "did you mean tokens:copy"),
        ("cheetah:run --queue 0", "--queue is an option for Token Reversal"),
        ("cheetah:run --slow-actor 3=1", "--slow-actor is an option for Token Reversal"),
    ],
)
def test_what_makes_no_run_is_refused_in_a_sentence(arguments: str, said: str) -> None:
    options = main._parser().parse_args(["train", *arguments.split()])
    with pytest.raises(LabError) as refused:
        training.run(options)
    assert said in str(refused.value)
    assert str(refused.value).count("\n") == 0


@pytest.mark.parametrize(
    ("arguments", "batches", "queue"),
    [("", 10, 10), ("--batch-prompts 5", 2, 2), ("--batch-prompts 4 --set prompts=8", 2, 2)],
)
def test_batches_of_several_prompts_make_a_step(arguments: str, batches: int, queue: int) -> None:
    options = main._parser().parse_args(["train", "tokens:copy", *arguments.split()])
    options.steps = "5"
    _, system = train_tokens.configured(options)
    assert (system.batches, system.queue) == (batches, queue)


def started(folder: Path, environment: dict[str, str], *arguments: str) -> Any:
    command = [sys.executable, "-m", "delightful.cli", "train", "tokens:copy", *SMALL, *arguments]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        command, cwd=folder, env=environment, text=True, start_new_session=True, **pipes
    )


def steps_of(path: Path) -> list[int]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [json.loads(line)["step"] for line in lines]


def await_step(process: Any, log: Path, step: int) -> None:
    until = time.monotonic() + 200
    while not (steps_of(log) and steps_of(log)[-1] >= step):
        assert time.monotonic() < until
        assert process.poll() is None, process.communicate()
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_run_is_stopped_killed_and_resumed(tmp_path: Path, environment: dict[str, str]) -> None:
    folder = tmp_path / "run"
    arguments = ("--steps=400", f"--out={folder}", "--actor-lag=2", "--slow-actor=1=0.5")
    arguments += ("--batch-prompts=2",)
    first = started(tmp_path, environment, *arguments)
    await_step(first, folder / "log.jsonl", 20)
    os.killpg(first.pid, signal.SIGINT)  # as a terminal does: to every process of the command
    _, error = first.communicate(timeout=200)
    assert first.returncode == 2, error
    assert "stopped; give the same command again to go on." in error
    assert "Traceback" not in error
    stopped = steps_of(folder / "log.jsonl")[-1]
    second = started(tmp_path, environment, *arguments)
    await_step(second, folder / "log.jsonl", stopped + 20)
    os.kill(second.pid, signal.SIGKILL)
    second.communicate(timeout=200)
    third = started(tmp_path, environment, *arguments)
    said, error = third.communicate(timeout=300)
    assert third.returncode == 0, error
    assert steps_of(folder / "log.jsonl") == list(range(1, 401))
    found = json.loads((folder / "summary.json").read_text())
    assert found["staleness"]["batches"] == 400 * 2
    assert found["staleness"]["p50"] >= 2
    assert f"staleness {found['staleness']['mean']:.2f} updates" in said
    assert (folder / "staleness.png").read_bytes().startswith(b"\x89PNG")
    assert list((folder / "tensorboard").glob("events.*"))
