"""The ring against a plain list."""

import jax
import numpy as np
import pytest

from delightful.agents.control.replay import add, empty, sample
from delightful.agents.control.rollout import Transitions

CHUNK, ACTORS = 5, 2


def chunk(number):
    """Transitions whose every number tells when and by whom they were seen."""
    when = CHUNK * number + np.arange(CHUNK, dtype=np.float32)
    mark = 1000 * np.arange(ACTORS, dtype=np.float32) + when[:, None]
    one = mark[..., None]
    return Transitions(one, -one, mark + 1, mark + 2, mark + 3, np.ones_like(mark))


def filled(chunks, slots=4 * CHUNK):
    memory = empty(slots, ACTORS, 1, 1)
    for number in range(chunks):
        memory = add(memory, chunk(number))
    return memory


@pytest.mark.parametrize("chunks", [1, 3, 4, 5, 11])
def test_samples_are_whole_stretches_of_what_is_kept(chunks):
    length = 3
    found = sample(filled(chunks), jax.random.key(0), 500, length)
    mark = np.asarray(found.observation)[..., 0]
    assert mark.shape == (length + 1, 500)
    np.testing.assert_array_equal(np.diff(mark, axis=0), 1)  # one actor, one step after the other
    when = mark % 1000
    newest, kept = chunks * CHUNK, min(chunks * CHUNK, 4 * CHUNK)
    assert set(when[0]) == set(range(newest - kept, newest - length))
    assert set(when[-1]) == set(range(newest - kept + length, newest))
    np.testing.assert_array_equal(found.action[..., 0], -mark)
    np.testing.assert_array_equal(found.reward, mark + 2)


def test_both_actors_are_sampled_alike():
    found = sample(filled(4), jax.random.key(1), 4000, 2)
    share = np.mean(np.asarray(found.observation)[0, :, 0] >= 1000)
    assert share == pytest.approx(0.5, abs=0.04)


def test_a_chunk_must_fit_the_ring():
    with pytest.raises(AssertionError, match="whole number"):
        add(empty(CHUNK + 1, ACTORS, 1, 1), chunk(0))
