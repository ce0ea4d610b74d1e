"""`delightful list`: everything, or all about some of it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from delightful.cli.options import known
from delightful.paper import EXPERIMENTS
from delightful.paper.bandit.config import BanditConfig
from delightful.registry import METHODS

IDS = [name for kind in ("sweeps", "figures", "claims") for name in known(kind)]


def test_list_names_everything_and_what_has_been_run(
    delightful: Any, as_json: Callable[[str], Any], store: Path
) -> None:
    done = delightful("list", "--store", store)
    assert done.returncode == 0
    for experiment in EXPERIMENTS.values():
        for item in (*experiment.sweeps, *experiment.figures):
            assert (getattr(item, "id", None) or item.name) in done.stdout
    assert "smoke 24/24" in done.stdout
    listed = as_json(delightful("list", "--json", "--store", store).stdout)
    assert [e["name"] for e in listed["experiments"]] == list(EXPERIMENTS)
    row = {"sweep": "bandit/alignment", "scale": "smoke", "cells": 24, "done": 24}
    assert row in listed["runs"]
    assert listed["methods"] == list(METHODS)


def test_no_id_is_cut_or_wrapped_in_a_narrow_terminal(delightful: Any, store: Path) -> None:
    narrow = {"COLUMNS": "60"}
    listed = delightful("list", "--store", store, env=narrow).stdout
    claims = delightful("claims", "--store", store, env=narrow).stdout
    about = delightful("list", *EXPERIMENTS, "--store", store, env=narrow).stdout
    for text, ids in ((listed, IDS), (claims, known("claims")), (about, IDS)):
        words = {word.strip(",") for word in text.split()}
        assert set(ids) <= words
        assert max(map(len, text.splitlines())) <= 60


def test_a_field_says_its_default_and_where_it_comes_from(delightful: Any, tmp_path: Path) -> None:
    done = delightful("list", "bandit/curves", "--store", tmp_path, env={"COLUMNS": "300"})
    assert done.returncode == 0, done.stderr
    for line in (
        "figure bandit/curves",
        "  title: Figure 5: Symmetric bandit, normalised steps",
        f"  command: delightful figure bandit/curves --store {tmp_path}",
        "sweep bandit/training",
        "  varies: method (pg, dg)",
        "  seeds: smoke (4); quick (30); paper (100)",
        "  cells done: smoke 0/2, quick 0/2, paper 0/2",
        f"  command: delightful run bandit/training --store {tmp_path}",
        "    actions = 100  stated: K = 100",
    ):
        assert line in done.stdout.splitlines()
    assert "    baseline = 0.5  chosen: the paper says b in (0, 1)" in done.stdout


def test_a_name_of_several_kinds_shows_them_all_and_their_sweep_once(
    delightful: Any, as_json: Callable[[str], Any], tmp_path: Path
) -> None:
    done = delightful("list", "tokens/extended", "tokens", "--json", "--store", tmp_path)
    found = as_json(done.stdout)
    kinds = ["figure", "claim", "experiment", "sweep"]
    assert [(next(iter(f)), f[next(iter(f))]) for f in found] == [
        (kind, "tokens" if kind == "experiment" else "tokens/extended") for kind in kinds
    ]
    assert found[2]["claims"] == [claim.id for claim in EXPERIMENTS["tokens"].claims]
    assert {"figure", "claim"} & set(found[3]["used by"]) == set()
    assert "tokens/extended" in found[3]["used by"]


def test_an_experiment_shows_its_configs(
    delightful: Any, as_json: Callable[[str], Any], tmp_path: Path
) -> None:
    (found,) = as_json(delightful("list", "bandit", "--json", "--store", tmp_path).stdout)
    config = found["configs"][0]
    assert config["config"] == "BanditConfig"
    fields = dataclasses.fields(BanditConfig)
    assert [(f["field"], f["default"]) for f in config["fields"]] == [
        (field.name, field.default) for field in fields
    ]
    assert {f["source"] for f in config["fields"]} == {"stated", "chosen"}
    assert found["command"] == f"delightful reproduce bandit --store {tmp_path}"
