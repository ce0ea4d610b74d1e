"""Retrace(λ): off-policy targets for Q from replayed sequences (Munos et al. 2016)."""

import jax
import jax.numpy as jnp


def targets(
    q: jax.Array,
    next_value: jax.Array,
    reward: jax.Array,
    discount: jax.Array,
    log_ratio: jax.Array,
    trace: float | jax.Array,
) -> jax.Array:
    """Q(s_t, a_t) + Σ_{k≥t} (Π_{t<i≤k} γ·c_i) δ_k with c = λ·min(1, π/μ).

    δ_t = r_t + γ_t·E_π Q(s_{t+1}, ·) − Q(s_t, a_t).

    Args:
        q: Q(s_t, a_t), time on the first axis; all other arrays have its shape.
        next_value: E_π Q(s_{t+1}, ·).
        reward: r_t.
        discount: γ_t, 0 where the task terminated.
        log_ratio: log π(a_t) − log μ(a_t); −∞ cuts the trace: no target before looks past t.
        trace: λ.

    Returns:
        The targets for Q(s_t, a_t).
    """
    error = reward + discount * next_value - q
    passed = discount[:-1] * trace * jnp.minimum(1.0, jnp.exp(log_ratio[1:]))

    def back(later: jax.Array, at: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total = at[0] + at[1] * later
        return total, total

    _, earlier = jax.lax.scan(back, error[-1], (error[:-1], passed), reverse=True, unroll=True)
    return q + jnp.concatenate([earlier, error[-1:]])
