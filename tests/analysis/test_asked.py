"""What a caller names that is no name, no seed or no size: one clear sentence each."""

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.analysis.compare import compare


@pytest.fixture(scope="module")
def scores():
    return rk.score(rk.load_reward("gallery:arithmetic"), rk.load_rollouts("gallery:arithmetic"))


CALLS = {"diagnose": rk.diagnose, "forecast": rk.forecast, "compare": lambda s, **o: compare(s, s, **o)}


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("options", "said"),
    [
        pytest.param({"label": ["lab"]}, r"label=\['lab'\] is no name of a column", id="a list as label"),
        pytest.param({"seed": -1}, "seed=-1 is not a whole number of at least 0", id="a seed below 0"),
        pytest.param({"seed": 1.5}, "seed=1.5 is not a whole number", id="half a seed"),
        pytest.param({"seed": True}, "seed=True is not a whole number", id="a truth value as seed"),
    ],
)
def test_no_name_and_no_seed(scores, call, options, said):
    with pytest.raises(rk.InputError, match=said):
        CALLS[call](scores, **options)


@pytest.mark.parametrize("call", ["diagnose", "forecast"])
@pytest.mark.parametrize("columns", [3, [3], [["words"]]])
def test_columns_that_are_no_names(scores, call, columns):
    with pytest.raises(rk.InputError, match="is no list of names of columns"):
        CALLS[call](scores, columns=columns)


def test_a_seed_of_numpy_is_one(scores):
    first, second = (rk.diagnose(scores, seed=seed).record() for seed in (3, np.int64(3)))
    assert first["findings"] == second["findings"]


@pytest.mark.parametrize("size", [6.5, 1, 0, True, "8", None])
def test_a_size_that_is_none_of_a_group(scores, size):
    with pytest.raises(rk.InputError, match="is not a whole number of at least 2"):
        rk.diagnose(scores).dead_share(size)
