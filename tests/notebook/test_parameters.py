import papermill
import pytest

from rewardkit.errors import InputError
from rewardkit.notebook.parameters import check_parameters
from rewardkit.rollouts.package_data import bundled


def cell(**values):
    """What a notebook's variables look like behind a parameters cell."""
    names = {
        "__annotations__": {"reward": str, "seed": int, "share": float, "redact": bool, "row": int | None}
    }
    names |= {"reward": "gallery:arithmetic", "seed": 0, "share": 0.5, "redact": False, "row": None}
    return names | {"In": [], "Out": {}, "_i1": "x", **values}


def test_parameters_of_the_right_names_and_types_pass():
    check_parameters(cell(seed=3, share=1, row=5), reward=("gallery:arithmetic",))


@pytest.mark.parametrize(
    ("values", "sentence"),
    [
        ({"sed": 3}, r"no parameter 'sed'; it has .*; did you mean 'seed'\?"),
        ({"seed": "3"}, "seed='3' is of type str; this notebook expects int"),
        ({"seed": True}, "seed=True is of type bool"),
        ({"redact": 1}, "redact=1 is of type int; this notebook expects bool"),
        ({"reward": None}, "reward=None is of type NoneType"),
        ({"reward": "other"}, "reward='other' is not known; use one of 'gallery:arithmetic'"),
    ],
)
def test_a_wrong_parameter_is_one_clear_sentence(values, sentence):
    with pytest.raises(InputError, match=sentence):
        check_parameters(cell(**values), reward=("gallery:arithmetic",))


def test_running_the_cell_again_minds_no_variables_of_later_cells():
    names = cell()
    check_parameters(names)
    names["rows"] = [1, 2]
    check_parameters(names)
    names["seed"] = "3"
    with pytest.raises(InputError, match="seed='3'"):
        check_parameters(names)


def test_papermill_with_a_misspelt_parameter_ends_with_the_sentence(tmp_path):
    with pytest.raises(
        papermill.PapermillExecutionError, match=r"no parameter 'rewrad'.*did you mean 'reward'"
    ):
        papermill.execute_notebook(
            str(bundled("notebooks/02_check.ipynb")), str(tmp_path / "out.ipynb"),
            parameters={"rewrad": "x"}, kernel_name="python3", progress_bar=False,
        )  # fmt: skip
