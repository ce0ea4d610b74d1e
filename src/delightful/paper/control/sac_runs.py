"""SBX's SAC as the lab runs it. Its own way to be saved is pickle, so what it is made of is kept
by name, after each evaluation: networks, chance, environments, and the replayed transitions."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from delightful.agents.control import environments
from delightful.agents.control.checkpoints import Checkpoint
from delightful.agents.control.rollout import generator
from delightful.agents.control.training import Record
from delightful.lab.cells import Curves
from delightful.lab.compiling import threads
from delightful.paper.control import sac
from delightful.paper.control.config import SAC, SacConfig
from delightful.paper.control.train import curves


class Transitions(NamedTuple):
    """What the ring of Stable-Baselines3 holds, by its names: (time, environments, ...)."""

    observations: np.ndarray
    next_observations: np.ndarray
    actions: np.ndarray
    rewards: np.ndarray
    dones: np.ndarray
    timeouts: np.ndarray


def run(config: SacConfig, seeds: np.ndarray, folder: Path | None = None) -> Curves:
    """Returns of the mean action along SBX's training, and episodes that had to be dropped."""
    return curves(partial(train, config), f"{config.task}, {config.agent}", seeds, folder)


def train(config: SacConfig, seed: int, folder: Path | None) -> list[Record]:
    every = config.steps // config.records
    agent = sac.agent("sbx", settings(config), seed)
    run = {
        "config": asdict(config),
        "seed": seed,
        "program": SAC.version,
        "threads": threads(),
    }
    checkpoint = Checkpoint(folder, run) if folder else None
    records = restored(agent, checkpoint) if checkpoint and checkpoint.exists else []
    for number in range(len(records) + 1, config.records + 1):
        before = agent.num_timesteps
        agent.learn(every, reset_num_timesteps=False)
        total, sound = evaluate(agent, config, seed, number)
        lost = sum(agent.get_env().get_attr("dropped")) + int((~sound).sum())
        agent.get_env().set_attr("dropped", 0)
        found = {"deterministic": environments.mean_return(total, sound), "dropped": lost}
        records.append({"step": number * every, **found})
        if checkpoint:
            keep(agent, checkpoint, records, agent.num_timesteps - before)
    return records


def settings(config: SacConfig) -> sac.Settings:
    """As our runs have them; a short run must not end before it begins to learn."""
    random = min(sac.Settings.random_steps, config.steps // 5)
    return sac.Settings(config.task, config.every, random_steps=random)


def evaluate(
    agent: Any, config: SacConfig, seed: int, number: int
) -> tuple[np.ndarray, np.ndarray]:
    chance = int(generator(seed, 3, number).integers(2**31))
    pool = environments.make(
        config.task, config.episodes, chance, engine="dm_control"
    )  # as it is trained
    return environments.returns(
        pool, config.episodes, lambda seen: agent.predict(seen, deterministic=True)[0]
    )


def keep(agent: Any, checkpoint: Checkpoint, records: list[Record], steps: int) -> None:
    """All that goes on from here depends on; `steps` were made since the last time."""
    tasks = agent.get_env().envs
    facts = {
        "records": records,
        "steps": agent.num_timesteps,
        "updates": agent._n_updates,
        "keys": [np.asarray(key).tolist() for key in _keys(agent)],
        "replayed": sac.as_json(np.random.get_state(legacy=False)),  # from which it picks batches
        "random": agent.action_space.np_random.bit_generator.state,
        "episodes": [sac.as_json(task.chance) for task in tasks],
    }
    arrays = {f"learned/{i}": _array(leaf) for i, leaf in enumerate(jax.tree.leaves(_nets(agent)))}
    for i, task in enumerate(tasks):
        done = np.array(task.actions, np.float32)
        arrays[f"actions/{i}"] = done.reshape(-1, *agent.action_space.shape)
    ring, new = agent.replay_buffer, steps // len(tasks)
    at = _places(agent, min(new, ring.buffer_size))
    rows = Transitions(*(getattr(ring, name)[at] for name in Transitions._fields))
    oldest = len(records) - -(-ring.buffer_size // new)
    checkpoint.write(len(records), facts, arrays | {"seen": agent._last_obs}, [rows], oldest)


def restored(agent: Any, checkpoint: Checkpoint) -> list[Record]:
    """Put `agent`, just made, to where it was kept; its records until then."""
    facts, arrays = checkpoint.state()
    tasks = agent.get_env().envs
    agent.num_timesteps, agent._n_updates = facts["steps"], facts["updates"]
    keys = [jnp.array(key, jnp.uint32) for key in facts["keys"]]
    agent.key, agent.policy.key, agent.policy.noise_key = keys
    leaves, shape = jax.tree.flatten(_nets(agent))
    leaves = [jnp.asarray(arrays[f"learned/{i}"]) for i in range(len(leaves))]
    nets = jax.tree.unflatten(shape, leaves)
    agent.policy.qf_state, agent.policy.actor_state, agent.ent_coef_state = nets
    for i, (task, chance) in enumerate(zip(tasks, facts["episodes"], strict=True)):
        task.go_on(chance, arrays[f"actions/{i}"])
    agent._last_obs = arrays["seen"].copy()
    pieces = list(checkpoint.replayed())
    ring = agent.replay_buffer
    for name in Transitions._fields:
        kept = np.concatenate([piece[name] for piece in pieces])[-ring.buffer_size :]
        getattr(ring, name)[_places(agent, len(kept))] = kept
    made = agent.num_timesteps // len(tasks)
    ring.pos, ring.full = made % ring.buffer_size, made >= ring.buffer_size
    agent.action_space.np_random.bit_generator.state = facts["random"]
    np.random.set_state(facts["replayed"])
    records: list[Record] = facts["records"]
    return records


def _places(agent: Any, count: int) -> np.ndarray:
    """Where in its ring the newest `count` transitions are."""
    made = agent.num_timesteps // agent.n_envs
    places: np.ndarray = np.arange(made - count, made) % agent.replay_buffer.buffer_size
    return places


def _nets(agent: Any) -> tuple[Any, Any, Any]:
    """Critics, actor and entropy's coefficient, with their optimisers."""
    return agent.policy.qf_state, agent.policy.actor_state, agent.ent_coef_state


def _keys(agent: Any) -> tuple[Any, Any, Any]:
    return agent.key, agent.policy.key, agent.policy.noise_key


def _array(leaf: Any) -> np.ndarray:
    """Rates and counts may still be Python's numbers."""
    array = np.asarray(leaf)
    return array.astype(np.float32 if array.dtype.kind == "f" else np.int32)
