"""Shape of a sample: the dip against the diptest library, far values by hand, two piles by brute force."""

import numpy as np
import pytest

from rewardkit.analysis.statistics.shape import MOST_VALUES, dip, dip_limit, outlying, two_piles

SAMPLES = {
    "squares": np.arange(60) ** 2.0,
    "cubes": np.linspace(-1, 1, 75) ** 3,
    "two rows far apart": np.concatenate([np.arange(30.0), np.arange(30) + 100.0]),
    "a small row before a large one": np.concatenate([np.arange(10.0), 50 + np.arange(40) * 0.5]),
    "sines": np.sin(np.arange(1, 81) * 1.7),
    "three rows": np.concatenate([np.arange(20.0), 60 + np.arange(20) * 1.5, 150 + np.arange(25) * 0.7]),
}


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("squares", 1 / 120, id="one peak at the left end has the least dip there is"),
        pytest.param("cubes", 1 / 150, id="so has one peak in the middle"),
        pytest.param("two rows far apart", 0.17750000000000002, id="two rows"),
        pytest.param("a small row before a large one", 0.082, id="a small pile before a large one"),
        pytest.param("sines", 0.06859918264988102, id="an arcsine law, with a peak at each end"),
        pytest.param("three rows", 0.12615384615384614, id="three piles"),
    ],
)
def test_the_dip_is_that_of_the_diptest_library(name, expected):
    """diptest 0.12.0, `dipstat`, computed once."""
    assert dip(SAMPLES[name]) == pytest.approx(expected, abs=1e-12)
    shuffled = np.random.default_rng(0).permutation(SAMPLES[name])
    assert dip(3 - 2 * shuffled) == pytest.approx(expected, abs=1e-12)  # order, side and scale do not matter


@pytest.mark.parametrize(
    ("size", "published"),
    [(50, 0.0702737877), (100, 0.0511279443), (200, 0.0368418414), (500, 0.0237294743), (1000, 0.016934397)],
)
def test_the_limit_of_the_dip_is_the_published_point_of_uniform_samples(size, published):
    """The 95 % points of Maechler's table, which continues that of Hartigan and Hartigan (1985)."""
    assert dip_limit(size) == pytest.approx(published, rel=0.01)


def test_one_uniform_sample_in_twenty_passes_the_limit():
    generator = np.random.default_rng(3)
    passed = [dip(generator.random(73)) > dip_limit(73) for _ in range(600)]
    assert 0.03 < np.mean(passed) < 0.075


def test_of_many_values_evenly_spaced_ones_stand_for_all():
    many = np.random.default_rng(1).normal(size=60_000)
    assert dip(many) < dip_limit(len(many)) == dip_limit(MOST_VALUES)
    assert dip(np.concatenate([many, many + 6])) > 5 * dip_limit(MOST_VALUES)


@pytest.mark.parametrize(
    ("values", "far"),
    [
        pytest.param([1, 2, 3, 4, 5, 6, 7, 30], [30], id="beyond the fence of 16.75, and apart"),
        pytest.param([0] * 79 + [1] * 20 + [-1000], [-1000], id="of a task that is mostly missed"),
        pytest.param([0] * 97 + [1] * 3, [], id="rare successes are not far out"),
        pytest.param([0] * 79 + [1] * 20 + [4], [], id="at the fence of four spans"),
        pytest.param([1, 2, 3, 4, 5, 6, 7, 16], [], id="within the fence"),
        pytest.param([-22, 1, 2, 3, 4, 5, 6, 7], [-22], id="on the other side"),
        pytest.param([1, 2, 3, 4, 5, 6, 7, 30, 31, 60], [], id="so many that they widen the fence"),
        pytest.param([*range(40), 90, 110], [], id="90, within the fence of 92, reaches half way to 110"),
        pytest.param([*range(40), 110], [110], id="without it nothing does"),
        pytest.param([*range(40), 150, 170, np.nan], [150, 170], id="two together; NaN is nothing"),
        pytest.param(list(1.17 ** np.arange(60)), [], id="a long tail without a gap"),
        pytest.param([0] * 30 + [5000], [], id="a middle half that does not vary has no fences"),
        pytest.param([np.nan, np.nan], [], id="no values"),
        pytest.param([], [], id="no rows"),
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
