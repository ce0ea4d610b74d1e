"""Shares with their interval, against SciPy."""

import pytest
import scipy.stats

from delightful.lab.statistics import share_of


@pytest.mark.parametrize(("count", "total"), [(0, 14), (1, 14), (7, 14), (14, 14), (0, 1)])
def test_it_is_scipys_exact_interval(count, total):
    found = share_of(count, total)
    expected = scipy.stats.binomtest(count, total).proportion_ci(0.95, method="exact")
    assert found.value == count / total
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


@pytest.mark.parametrize(("count", "total"), [(-1, 3), (4, 3), (0, 0)])
def test_what_cannot_be_is_refused(count, total):
    with pytest.raises(ValueError, match="count must lie between 0 and total"):
        share_of(count, total)
