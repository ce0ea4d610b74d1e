"""`delightful list`: everything there is to run, draw and check; or all about some of it."""

import dataclasses
from argparse import Namespace
from collections.abc import Iterable
from typing import Any

from delightful.cli.options import known, store_of
from delightful.cli.printing import print_json, wrapped
from delightful.lab.cells import Plan, Sweep
from delightful.lab.errors import unknown
from delightful.lab.experiment import Claim, Experiment, Figure
from delightful.lab.selection import damage
from delightful.lab.store import Store
from delightful.paper import EXPERIMENTS
from delightful.registry import METHODS

Facts = dict[str, Any]  # as JSON; the first is the kind and the name


def run(options: Namespace) -> None:
    store = store_of(options)
    if not options.names:
        _everything(store, options.json)
    elif options.json:
        print_json(_about(options.names, store))
    else:
        for facts in _about(options.names, store):
            _print(facts)


def _everything(store: Store, as_json: bool) -> None:
    sweeps = known("sweeps")
    runs = [{"sweep": s.name, **done} for s in sweeps.values() for done in _scales(s, store)]
    if as_json:
        experiments = [
            {
                **_of(e, "name", "title", "section"),
                "figures": [_of(figure, "id", "number", "title") for figure in e.figures],
                "sweeps": [_of(sweep, "name", "fields") for sweep in e.sweeps],
                "claims": [_of(claim, "id", "where", "sentence") for claim in e.claims],
            }
            for e in EXPERIMENTS.values()
        ]
        print_json({"experiments": experiments, "runs": runs, "methods": list(METHODS)})
        return
    width = max(map(len, [*sweeps, *known("figures"), *known("claims")])) + 1
    for experiment in EXPERIMENTS.values():
        print()
        print(wrapped("", f"{experiment.name}: {experiment.title} ({experiment.section})"))
        for figure in experiment.figures:
            print(wrapped(f"  figure  {figure.id:<{width}}", f"{figure.number}: {figure.title}"))
        for sweep in experiment.sweeps:
            mine = [r for r in runs if r["sweep"] == sweep.name]
            print(wrapped(f"  sweep   {sweep.name:<{width}}", f"cells done: {_text(mine)}"))
        for claim in experiment.claims:
            print(wrapped(f"  claim   {claim.id:<{width}}", claim.where))
    print(wrapped("\nmethods: ", ", ".join(METHODS)))
    print("`delightful list NAME` shows all about one of these")


def _of(item: Any, *names: str) -> Facts:
    return {name: getattr(item, name) for name in names}


def _scales(sweep: Sweep, store: Store) -> list[Facts]:
    found = []
    for scale in sweep.seeds:
        cells = sweep.cells(Plan(scale))
        states = [store.state(cell) for cell in cells]
        found.append({"scale": scale, "cells": len(cells), "done": states.count("done")})
        if "damaged" in states:
            found[-1]["damaged"] = damage(sweep, Plan(scale), store)
    return found


def _about(names: list[str], store: Store) -> list[Facts]:
    """The facts on everything of these names, and on the sweeps that it needs."""
    sweeps, figures, claims = map(known, ("sweeps", "figures", "claims"))
    found: list[Facts] = []
    needed: dict[str, Sweep] = {}
    for name in names:
        if not any(name in kind for kind in (EXPERIMENTS, sweeps, figures, claims)):
            every = [*EXPERIMENTS, *sweeps, *figures, *claims]
            raise unknown("experiment, sweep, figure or claim", name, every)
        if name in EXPERIMENTS:
            found.append(_experiment(EXPERIMENTS[name], store))
        for item in (kind[name] for kind in (figures, claims) if name in kind):
            about = _figure if isinstance(item, Figure) else _claim
            found.append(about(item, store))
            needed |= {item.sweep.name: item.sweep} if item.sweep else {}
        needed |= {name: sweeps[name]} if name in sweeps else {}
    return found + [_sweep(sweep, store) for sweep in needed.values()]


def _experiment(experiment: Experiment, store: Store) -> Facts:
    return {
        "experiment": experiment.name,
        **_of(experiment, "title", "section"),
        "sweeps": [sweep.name for sweep in experiment.sweeps],
        "figures": [figure.id for figure in experiment.figures],
        "claims": [claim.id for claim in experiment.claims],
        "remarks": list(experiment.remarks),
        "presets": [
            f"{name}: {' '.join(f'{field}={value}' for field, value in fields.items())}"
            for name, fields in experiment.presets.items()
        ],
        "damaged": _unique(
            done["damaged"]
            for sweep in experiment.sweeps
            for done in _scales(sweep, store)
            if "damaged" in done
        ),
        "command": _command("reproduce", experiment.name, store),
        "configs": list(map(_config, experiment.configs)),
    }


def _figure(figure: Figure, store: Store) -> Facts:
    return {
        "figure": figure.id,
        "title": f"{figure.number}: {figure.title}",
        "caption": figure.caption,
        "sweep": figure.sweep and figure.sweep.name,
        "command": _command("figure", figure.id, store),
    }


def _claim(claim: Claim, store: Store) -> Facts:
    run = f"{_command('run', claim.sweep.name, store)} && " if claim.sweep else ""
    return {
        "claim": claim.id,
        **_of(claim, "where", "sentence", "paper"),
        "sweep": claim.sweep and claim.sweep.name,
        "command": run + _command("claims", claim.id, store),
    }


def _sweep(sweep: Sweep, store: Store) -> Facts:
    points = sweep.points("paper")
    configs = [dataclasses.asdict(point.config) for point in points]
    values = {name: _unique(c[name] for c in configs if name in c) for name in sweep.fields}
    users = [*known("figures").items(), *known("claims").items()]
    return {
        "sweep": sweep.name,
        "program": f"{sweep.program.name}, version {sweep.program.version}",
        "roles": _unique(point.role for point in points),
        "varies": {name: found for name, found in values.items() if len(found) > 1},
        "seeds": dict(sweep.seeds),
        "cells done": _scales(sweep, store),
        "needs": list(sweep.needs),
        "used by": _unique(name for name, item in users if item.sweep == sweep),
        "command": _command("run", sweep.name, store),
        "configs": list(map(_config, _unique(type(point.config) for point in points))),
    }


def _command(verb: str, name: str, store: Store) -> str:
    return " ".join(filter(None, ("delightful", verb, name, store.options())))


def _unique(items: Iterable[Any]) -> list[Any]:
    return list(dict.fromkeys(items))


def _config(config: type) -> Facts:
    """The fields of a config class: default, and whether the paper states it or we chose it."""
    fields = [
        {"field": field.name, "default": field.default, "source": source, "because": because}
        for field in dataclasses.fields(config)
        for source, because in field.metadata.items()
        if source != "before"
    ]
    return {"config": config.__name__, "about": config.__doc__, "fields": fields}


def _print(facts: Facts) -> None:
    (kind, name), *others = facts.items()
    print(f"{kind} {name}")
    for key, value in others:
        if key == "configs":
            for config in value:
                print(wrapped(f"  {config['config']}: ", " ".join(config["about"].split()), 4))
                for field in config["fields"]:
                    start = f"    {field['field']} = {field['default']}  "
                    print(wrapped(start, f"{field['source']}: {field['because']}", 6))
        elif value:
            print(wrapped(f"  {key}: ", _text(value), 4))
    print()


def _text(value: Any) -> str:
    if isinstance(value, dict) and "scale" in value:
        damaged = f" ({value['damaged']})" if "damaged" in value else ""
        return "{scale} {done}/{cells}".format(**value) + damaged
    if isinstance(value, dict):
        return "; ".join(f"{name} ({_text(values)})" for name, values in value.items())
    return ", ".join(map(_text, value)) if isinstance(value, list) else str(value)
