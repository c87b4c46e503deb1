"""Shape of a sample: far values by hand, two piles by brute force."""

import numpy as np
import pytest

from rewardkit.analysis.statistics.shape import outlying, two_piles


@pytest.mark.parametrize(
    ("values", "far"),
    [
        pytest.param([1, 2, 3, 4, 5, 6, 7, 30], [30], id="beyond the fence of 16.75, and apart"),
        pytest.param([0] * 79 + [1] * 20 + [-1000], [-1000], id="of a task that is mostly missed"),
        pytest.param([0] * 97 + [1] * 3, [], id="rare successes are not far out"),
        pytest.param([0] * 79 + [1] * 20 + [4], [], id="at the fence of four spans"),
        pytest.param([1, 2, 3, 4, 5, 6, 7, 30, 31, 60], [], id="so many that they widen the fence"),
        pytest.param([*range(40), 90, 110], [], id="90, within the fence of 92, reaches half way to 110"),
        pytest.param([*range(40), 150, 170, np.nan], [150, 170], id="two together; NaN is nothing"),
        pytest.param(list(1.17 ** np.arange(60)), [], id="a long tail without a gap"),
        pytest.param([0] * 30 + [5000], [], id="a middle half that does not vary has no fences"),
        pytest.param([np.nan, np.nan], [], id="no values"),
    ],
)
def test_values_lie_far_out_where_they_are_beyond_the_outer_fence_and_apart(values, far):
    values = np.array(values, dtype=float)
    assert values[outlying(values)].tolist() == far


@pytest.mark.parametrize("seed", range(3))
def test_two_piles_are_the_cut_with_the_least_squares_within(seed):
    values = np.random.default_rng(seed).normal(size=30)
    ordered = np.sort(values)
    within = [ordered[:cut].var() * cut + ordered[cut:].var() * (30 - cut) for cut in range(1, 30)]
    cut = 1 + int(np.argmin(within))
    assert two_piles(values) == pytest.approx((ordered[:cut].mean(), ordered[cut:].mean(), cut / 30))
