"""Tunix's own reward manager, over the functions that its command line would take from a file."""

import waiting
from table import arithmetic, read_as
from tunix.rl.algorithm_config import AlgorithmConfig
from tunix.rl.reward_manager import SequenceRewardManager

import rewardkit as rk
from rewardkit.targets.export import export
from rewardkit.targets.target import import_file


def managed(functions, **columns):
    return SequenceRewardManager(reward_fns=functions, algo_config=AlgorithmConfig())(
        **columns
    )


THEIRS = """
def last(text): return text.split()[-1].strip(".") if text.split() else None

def check_form(prompts, completions, **kwargs):
    return [3.0 if "<answer>" in text else -0.5 for text in completions]

def check_numbers(prompts, completions, answer, **kwargs):
    assert len(kwargs["level"]) == len(prompts)
    return [None if last(text) is None else 1.5 * (truth in text) for text, truth in zip(completions, answer)]

functions = [check_form, check_numbers]
"""


def test_functions_of_ones_own_get_what_the_manager_gives_them(tmp_path):
    theirs = tmp_path / "theirs.py"
    theirs.write_text(THEIRS)
    rows = [{**row, "level": 1} for row in arithmetic()]
    rows[3]["completion"] = ""
    given = rk.load_rollouts(rows)
    (_, ours), columns = (
        read_as("TRL", "tunix", f"{theirs}:functions", given),
        given.columns(),
    )
    names = {
        "prompts": "prompt",
        "completions": "completion",
        "answer": "ground_truth",
        "level": "level",
    }
    found = managed(
        import_file(theirs).functions,
        **{name: columns[column] for name, column in names.items()},
    )
    assert len(set(found["rewards"])) > 2
    assert ours == found["rewards"].tolist()


def test_what_is_not_judged_is_a_number_there_and_no_error_of_the_manager(tmp_path):
    made = export(
        waiting.half(),
        to="tunix",
        path=tmp_path / "out.py",
        missing=-2.0,
        verify=arithmetic(),
    )
    assert made.proof.equal
    found = managed(
        [import_file(made.path).half], prompts=["p", "p"], completions=["a", "ab"]
    )
    assert (
        found["rewards"].tolist()
        == [-2.0, 1.0]
        == found["log_metrics"]["rewards/half"][0].tolist()
    )
