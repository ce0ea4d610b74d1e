"""The `delightful` command: what it prints, what it writes, and how it refuses."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from argparse import Namespace
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from delightful import __version__
from delightful.cli import main
from delightful.cli.commands import COMMANDS
from delightful.lab.cells import Plan
from delightful.paper.bandit.sweep import ALIGNMENT

CELLS = ALIGNMENT.cells(Plan("smoke"))
RUN = ("run", "bandit/alignment", "--scale", "smoke", "--workers", "1")


# Refusals


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ("runn", "'run'"),
        ("run bandit/trainin", "did you mean bandit/training"),
        ("figure bandit/curve", "did you mean bandit/curves"),
        ("claims bandit/fastr", "did you mean bandit/faster"),
        ("export bandit/aligment --out x.csv", "did you mean bandit/alignment"),
        ("export bandit/alignment --out x.xls", ".csv or .parquet"),
        ("export --out x.csv", "required: sweep"),
        ("list bandit/curvs", "did you mean bandit/curves"),
        ("data cifar", "'mnist'"),
        ("completion tcsh", "'bash', 'zsh', 'fish'"),
        ("run bandit --method dgg", "one of pg, dg"),
        ("run contexts --method mpo", "weighs whole batches"),
        ("run bandit --sedes 3", "--sedes"),
        ("run bandit --scale huge", "'smoke', 'brief', 'quick', 'paper'"),
        ("run bandit --seeds 0", "--seeds must be at least 1, got 0"),
        ("run bandit --seeds -3", "--seeds must be at least 1, got -3"),
        ("run bandit --seeds many", "--seeds"),
        ("run bandit/training --set stepsize=1", "did you mean step_size"),
        ("run bandit/training --set steps", "FIELD=VALUE"),
        ("run bandit/training --set steps=few", "steps must be a whole number, got 'few'"),
        ("run bandit --workers 0", "--workers must be at least 1, got 0"),
        ("run bandit --workers two", "--workers"),
        ("reproduce gate --budget -3m", "--budget must be a time such as 90s, 10m or 8h"),
        ("reproduce gate --budget=-3m", "--budget must be a time such as 90s, 10m or 8h"),
        ("bench nothing", "estimator"),
        ("bench", "required: benchmark"),
    ],
)
def test_a_mistake_is_answered_in_one_sentence(delightful: Any, arguments: str, part: str) -> None:
    done = delightful(*arguments.split())
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"delightful[^\n]*[.?]\n", done.stderr), done.stderr
    assert part in done.stderr


def test_a_mistake_writes_nothing(delightful: Any, tmp_path: Path) -> None:
    delightful("run", "bandit/training", "--set", "steps=few")
    assert list((tmp_path / "here").iterdir()) == []


@pytest.mark.parametrize(
    ("library", "asked"), [("polars", "list"), ("rich", "claims"), ("matplotlib", "figure gate")]
)
def test_a_light_install_says_what_to_install(delightful: Any, library: str, asked: str) -> None:
    code = f"import sys; sys.modules[{library!r}] = None; import delightful.cli.main as c"
    command = [sys.executable, "-c", f"{code}; sys.exit(c.main())"]
    done = delightful(*asked.split(), command=command)
    assert (done.returncode, done.stdout) == (2, "")
    assert re.fullmatch(r"delightful: [^\n]*\.\n", done.stderr)
    assert "pip install '.[lab]' in a clone of delightful" in done.stderr


def test_what_computes_and_draws_nothing_starts_without_the_libraries_for_it(
    delightful: Any,
) -> None:
    heavy = "{'jax', 'torch', 'matplotlib', 'scipy', 'ray'} & set(sys.modules)"
    code = f"import sys, delightful.cli.main as c; c.main(); print({heavy}, file=sys.stderr)"
    done = delightful("list", command=[sys.executable, "-c", code])
    assert done.stderr == "set()\n"


def test_exporting_what_was_not_run_names_the_command(delightful: Any, tmp_path: Path) -> None:
    done = delightful("export", "bandit/alignment", "--store", tmp_path, "--out", "x.csv")
    assert done.returncode == 2
    assert f"`delightful run bandit/alignment --scale quick --store {tmp_path}`" in done.stderr


# Commands


def test_help_lists_the_commands_and_so_does_no_command_at_all(delightful: Any) -> None:
    done = delightful("--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert set(COMMANDS) <= set(done.stdout.split())
    examples = done.stdout.partition("examples:\n")[2].splitlines()
    assert [line.split()[0] for line in examples] == ["delightful"] * 3
    bare = delightful()
    assert (bare.returncode, bare.stdout, bare.stderr) == (0, done.stdout, "")


def test_the_version_is_the_packages(delightful: Any) -> None:
    done = delightful("--version")
    assert (done.returncode, done.stdout) == (0, f"delightful {__version__}\n")


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_ends_with_an_example_that_is_one(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main.main([command, "--help"])
    assert stopped.value.code == 0
    title, example = capsys.readouterr().out.splitlines()[-2:]
    assert title == "example:"
    words = shlex.split(example.partition(" > ")[0])
    assert words[:2] == ["delightful", command]
    main._parser().parse_args(words[1:])


def test_a_run_says_what_it_will_cost_before_it_starts(
    environment: dict[str, str], tmp_path: Path
) -> None:
    command = [
        sys.executable,
        "-m",
        "delightful.cli",
        *RUN[:-1],
        "2",
        "--store",
        str(tmp_path),
    ]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        first = process.stderr.readline()
        assert list((tmp_path / "cells").glob("*.json")) == []
        assert "24 cells in" in process.stderr.read()
    assert re.match(r"24 cells to run, 0 done already: about \d+ s on 2 processes", first)
    assert process.returncode == 0
    assert json.loads((tmp_path / "events.jsonl").read_text().splitlines()[0])["estimate"] > 0


@pytest.mark.slow
def test_a_figure_is_drawn_twice_with_the_same_bytes(
    delightful: Any, store: Path, tmp_path: Path
) -> None:
    drawn = []
    for folder in (tmp_path / "a", tmp_path / "b"):
        done = delightful("figure", "bandit/alignment", "--store", store, "--out", folder)
        assert done.returncode == 0, done.stderr
        assert str(folder / "bandit-alignment.png") in done.stdout
        drawn.append({path.name: path.read_bytes() for path in folder.iterdir()})
    assert sorted(drawn[0]) == [f"bandit-alignment.{s}" for s in ("csv", "png", "svg")]
    assert drawn[0] == drawn[1]
    assert drawn[0]["bandit-alignment.png"].startswith(b"\x89PNG")
    assert b"</svg>" in drawn[0]["bandit-alignment.svg"]


def test_claims_shows_verdicts_and_the_command_of_what_is_not_run(
    delightful: Any, as_json: Callable[[str], Any], store: Path
) -> None:
    names = ("gate/favoured", "bandit/gap-vanishes", "contexts/faster")
    done = delightful("claims", *names, "--store", store)
    assert done.returncode == 0
    assert "3 claims: 2 reproduced, 1 not run" in done.stdout
    found = as_json(delightful("claims", *names, "--json", "--store", store).stdout)
    counts = {"reproduced": 2, "partly": 0, "not reproduced": 0, "inconclusive": 0, "not run": 1}
    assert found["counts"] == counts
    rows = {row["id"]: row for row in found["claims"]}
    assert set(rows) == set(names)
    assert rows["bandit/gap-vanishes"]["scale"] == "smoke"
    assert rows["contexts/faster"]["verdict"] == "not run"
    needed = f"delightful run contexts/training --scale quick --store {store} && "
    assert rows["contexts/faster"]["command"].startswith(needed)


DAMAGED = [
    "run bandit/alignment --scale smoke --dry-run",
    "figure bandit/alignment --scale smoke --dry-run",
    "reproduce bandit --scale smoke --dry-run",
    "claims bandit/gap-vanishes",
    "claims bandit/gap-vanishes --json",
    "report bandit",
    "export bandit/alignment --out x.csv",
]


@pytest.mark.parametrize("command", DAMAGED)
def test_a_damaged_file_is_named_once_by_every_command_that_meets_it(
    delightful: Any, store: Path, tmp_path: Path, command: str
) -> None:
    damaged = _spoiled(store, tmp_path)
    done = delightful(*command.split(), "--store", tmp_path / "dam")
    refuses = command.startswith("export")  # a table cannot say what it lacks
    assert done.returncode == 2 * refuses
    assert not (tmp_path / "here" / "x.csv").exists()
    (line,) = (line for line in done.stderr.splitlines() if "is damaged" in line)
    assert line.startswith(f"{'delightful: ' * refuses}{damaged} is damaged; ")
    if "--dry-run" not in command:
        again = f"delightful run bandit/alignment --scale smoke --store {tmp_path / 'dam'}"
        assert line.endswith(f"; `{again}` runs it again.")
    if "--json" in command:
        (row,) = json.loads(done.stdout)["claims"]
        assert (row["verdict"], row["damaged"], row["note"]) == ("not run", True, line)


def _spoiled(store: Path, folder: Path) -> Path:
    """A file with one byte that was flipped, in a copy of a store."""
    shutil.copytree(store / "cells", folder / "dam" / "cells")
    damaged = sorted((folder / "dam" / "cells").glob("*.parquet"))[0]
    content = bytearray(damaged.read_bytes())
    content[len(content) // 2] ^= 1
    damaged.write_bytes(content)
    return damaged


@pytest.mark.parametrize("name", ["", "bandit/alignment"])
def test_the_list_names_a_damaged_file(
    delightful: Any, as_json: Callable[[str], Any], store: Path, tmp_path: Path, name: str
) -> None:
    damaged, folder = _spoiled(store, tmp_path), tmp_path / "dam"
    said = f"smoke 23/24 ({damaged} is damaged; `delightful run bandit/alignment --scale smoke "
    listed = ("list", *name.split(), "--store", folder)
    done = delightful(*listed, env={"COLUMNS": "2000"})
    assert (done.returncode, done.stdout.count(said)) == (0, 1)
    found = as_json(delightful(*listed, "--json").stdout)
    runs = next(f["cells done"] for f in found if "program" in f) if name else found["runs"]
    (row,) = (run for run in runs if "damaged" in run)
    assert (row["done"], row["damaged"].partition(";")[0]) == (23, f"{damaged} is damaged")


def test_the_doctor_reads_every_file_of_the_store(
    delightful: Any, as_json: Callable[[str], Any], store: Path, tmp_path: Path
) -> None:
    damaged = _spoiled(store, tmp_path)
    for folder, sound in ((store, True), (tmp_path / "dam", False)):
        checks = as_json(delightful("doctor", "--json", "--store", folder).stdout)["checks"]
        (check,) = (check for check in checks if check["name"] == "store")
        assert check["works"] == sound
        assert (str(damaged) in check["found"]) == (not sound)
        assert (f"delightful list --store {folder}" in check["advice"]) == (not sound)


@pytest.mark.parametrize("command", ["report", "reproduce"])
def test_a_report_is_one_page_that_needs_no_network(
    delightful: Any, as_json: Callable[[str], Any], tmp_path: Path, command: str
) -> None:
    done = delightful(command, "gate", "--out", tmp_path / "out")
    assert done.returncode == 0, done.stderr
    if command == "report":  # it can take minutes: each section is named as it goes
        assert re.fullmatch(r"gate: \d+ claims and \d+ figures\n", done.stderr)
    page = (tmp_path / "out" / "report.html").read_text()
    assert "gate" in page
    assert "data:image/png;base64," in page
    assert not re.search(r"""(src|href)=["']?(https?:)?//|@import|url\(""", page)
    assert as_json((tmp_path / "out" / "claims.json").read_text())
    assert (tmp_path / "out" / "claims.md").read_text().count("\n|") > 10


def test_exports_to_csv_and_parquet_are_the_same_table(
    delightful: Any, store: Path, tmp_path: Path
) -> None:
    files = [tmp_path / "x.csv", tmp_path / "x.parquet"]
    for file in files:
        done = delightful("export", "bandit/alignment", "--store", store, "--out", file)
        assert done.returncode == 0, done.stderr
    parquet = pl.read_parquet(files[1])
    assert pl.read_csv(files[0], schema=parquet.schema).equals(parquet)
    measured = {"seed", "step", "misalignment", "role", "varied"}
    assert set(CELLS[0].key["config"]) | measured == set(parquet.columns)
    assert parquet.height == sum(cell.seeds for cell in CELLS)


def test_the_store_is_the_options_then_the_environments_then_results(
    delightful: Any, tmp_path: Path
) -> None:
    env = {"DELIGHTFUL_STORE": str(tmp_path / "environment")}
    delightful(*RUN, "--store", tmp_path / "option", env=env)
    assert (tmp_path / "option" / "cells").exists()
    assert not (tmp_path / "environment").exists()
    delightful(*RUN, env=env)
    assert (tmp_path / "environment" / "cells").exists()
    assert list((tmp_path / "here").iterdir()) == []
    delightful(*RUN)
    assert (tmp_path / "here" / "results" / "cells").exists()


# Pipes


def test_piping_into_head_gives_its_line_and_no_complaint(delightful: Any, store: Path) -> None:
    line = f"{sys.executable} -m delightful.cli claims gate --json --store {store} | head -1"
    done = delightful(command=["bash", "-c", line])
    assert (done.stdout, done.stderr) == ("{\n", "")


@pytest.mark.parametrize("arguments", ["list", "list --json", "claims gate/favoured --json"])
def test_a_reader_that_has_gone_is_no_error(delightful: Any, store: Path, arguments: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    done = delightful(*arguments.split(), "--store", store, stdout=writer)
    os.close(writer)
    assert done.stderr == ""


@pytest.mark.parametrize(
    ("given", "alone"),
    [
        ({"command": "train"}, True),
        ({"command": "train", "task": "tokens:copy"}, False),
        ({"command": "bench", "benchmark": "control"}, True),
        ({"command": "bench", "benchmark": "mnist"}, False),
        ({"command": "run", "names": ["control"]}, False),
    ],
)
def test_one_run_of_control_has_the_machine(given: dict[str, Any], alone: bool) -> None:
    assert main._is_alone(Namespace(**given)) is alone
