"""Parameters of a notebook: their names and types, and the sentence on a wrong one."""

import pytest
from executed import executed

from rewardkit.errors import InputError
from rewardkit.notebook.parameters import check_parameters


def cell(**values):
    """What a notebook's variables look like behind a parameters cell."""
    names = {
        "__annotations__": {
            "reward": str,
            "seed": int,
            "share": float,
            "redact": bool,
            "row": int | None,
        }
    }
    names |= {
        "reward": "gallery:arithmetic",
        "seed": 0,
        "share": 0.5,
        "redact": False,
        "row": None,
    }
    return names | {"In": [], "Out": {}, "_i1": "x", **values}


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"sed": 3}, r"no parameter 'sed'; it has .*; did you mean 'seed'\?"),
        ({"seed": "3"}, "seed='3' is of type str; this notebook expects int"),
        ({"seed": True}, "seed=True is of type bool"),
        ({"redact": 1}, "redact=1 is of type int; this notebook expects bool"),
        ({"reward": None}, "reward=None is of type NoneType"),
        (
            {"reward": "other"},
            "reward='other' is not known; use one of 'gallery:arithmetic'",
        ),
    ],
)
def test_a_wrong_parameter_is_one_clear_sentence(values, sentence):
    with pytest.raises(InputError, match=sentence):
        check_parameters(cell(**values), reward=("gallery:arithmetic",))


def test_running_the_cell_again_minds_no_variables_of_later_cells():
    names = cell(seed=3, share=1, row=5)
    check_parameters(names, reward=("gallery:arithmetic",))
    names["rows"] = [1, 2]
    check_parameters(names)
    names["seed"] = "3"
    with pytest.raises(InputError, match="seed='3'"):
        check_parameters(names)


@pytest.mark.parametrize("stem", ["01_build", "02_check", "03_analyze"])
def test_each_notebook_ends_with_the_sentence_on_a_misspelt_parameter(stem):
    _, error = executed(stem, rewrad="x")
    assert "no parameter 'rewrad'" in str(error) and "did you mean 'reward'" in str(
        error
    )
