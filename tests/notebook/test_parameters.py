"""Parameters of a notebook: their names and types, and the sentence on a wrong one."""

import pytest
from executed import executed

from rewardkit.errors import InputError
from rewardkit.notebook.inputs import check_parameters

pytestmark = pytest.mark.integration


def cell(**values):
    """What a notebook's variables look like behind a parameters cell."""
    names = {
        "__annotations__": {
            "reward": str,
            "seed": int,
            "share": float,
            "redact": bool,
            "row": int | None,
            "fail_on": str,
            "reading": dict,
            "limits": dict,
        }
    }
    names |= {
        "reward": "gallery:arithmetic",
        "seed": 0,
        "share": 0.5,
        "redact": False,
        "row": None,
        "fail_on": "miss",
        "reading": {"group": ["prompt"], "on": "prompt"},
        "limits": {"timeout": 5, "seed": 0},
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
            {"fail_on": "hgih"},
            "fail_on='hgih' is not known; use one of '', 'miss', 'warn', 'high'",
        ),
        (
            {"reading": {"colums": {}}},
            r"parameter reading has no option 'colums'; it has .*; did you mean 'columns'\?",
        ),
        (
            {"limits": {"timeout": "5"}},
            r"limits\['timeout'\]='5' is of type str; it expects float",
        ),
        (
            {"limits": {"seed": 1.5}},
            r"limits\['seed'\]=1.5 is of type float; it expects int",
        ),
    ],
)
def test_a_wrong_parameter_is_one_clear_sentence(values, sentence):
    with pytest.raises(InputError, match=sentence):
        check_parameters(cell(**values))


def test_running_the_cell_again_minds_no_variables_of_later_cells():
    names = cell(seed=3, share=1, row=5)
    check_parameters(names)
    names["rows"] = [1, 2]
    check_parameters(names)
    names["seed"] = "3"
    with pytest.raises(InputError, match="seed='3'"):
        check_parameters(names)


@pytest.mark.parametrize(
    ("stem", "misspelt", "meant"),
    [
        ("01_build", "rewrad", "reward"),
        ("02_check", "rewrad", "reward"),
        ("03_analyze", "rewrad", "reward"),
        ("04_compare", "verisons", "versions"),
        ("05_monitor", "rewrad", "reward"),
    ],
)
def test_each_notebook_ends_with_the_sentence_on_a_misspelt_parameter(
    stem, misspelt, meant
):
    _, error = executed(stem, **{misspelt: "x"})
    assert f"no parameter '{misspelt}'" in str(error)
    assert f"did you mean '{meant}'" in str(error)


def test_a_notebook_of_ones_own_needs_no_parameters():
    names = {"mine": 3, "limits": {"anything": 1}}
    check_parameters(names)
    assert names["mine"] == 3
