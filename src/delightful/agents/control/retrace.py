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

    δ_t = r_t + γ_t·E_π Q(s_{t+1}, ·) − Q(s_t, a_t). Time is on the first axis. A `log_ratio`,
    log π(a_t) − log μ(a_t), of −∞ cuts the trace: no target before it looks past t.
    """
    error = reward + discount * next_value - q
    passed = discount[:-1] * trace * jnp.minimum(1.0, jnp.exp(log_ratio[1:]))

    def back(later: jax.Array, at: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
        total = at[0] + at[1] * later
        return total, total

    _, earlier = jax.lax.scan(back, error[-1], (error[:-1], passed), reverse=True, unroll=True)
    return q + jnp.concatenate([earlier, error[-1:]])
