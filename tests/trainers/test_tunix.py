"""Tunix's own reward manager, over the functions that its command line would take from a file."""

import numpy as np
import pytest
from table import proved
from tunix.rl.algorithm_config import AlgorithmConfig
from tunix.rl.reward_manager import SequenceRewardManager

import rewardkit as rk
from rewardkit.targets import tunix
from rewardkit.targets.calling import loaded
from rewardkit.targets.export import export


def manager(functions):
    return SequenceRewardManager(reward_fns=functions, algo_config=AlgorithmConfig())


def rollouts():
    return rk.load_rollouts("gallery:arithmetic").select(range(64))


THEIRS = '''
def last(text):
    return text.split()[-1].strip(".") if text.split() else None


def check_form(prompts, completions, **kwargs):
    """Three, or less than nothing."""
    return [3.0 if "<answer>" in text else -0.5 for text in completions]


def check_numbers(prompts, completions, answer, **kwargs):
    assert len(kwargs["level"]) == len(prompts)
    return [None if last(text) is None else 1.5 * (truth in text) for text, truth in zip(completions, answer)]


functions = [check_form, check_numbers]


def documented(response, answer="", prompt="", **kwargs):
    return float(answer in response) - len(prompt) / 1000
'''


def test_functions_of_ones_own_get_what_the_manager_gives_them(tmp_path):
    (tmp_path / "theirs.py").write_text(THEIRS)
    rows = [{**row, "level": 1} for row in rollouts()]
    rows[3]["completion"] = ""
    given = rk.load_rollouts(rows)
    reward = rk.load_reward(f"{tmp_path / 'theirs.py'}:functions", rollouts=given)
    columns = given.columns()
    functions = loaded(tmp_path / "theirs.py").functions
    theirs = manager(functions)(
        prompts=columns["prompt"],
        completions=columns["completion"],
        answer=columns["ground_truth"],
        level=columns["level"],
    )
    assert len(set(theirs["rewards"])) > 2
    np.testing.assert_array_equal(rk.score(reward, given).rewards, theirs["rewards"])
    proved("tunix", "recognised")
    proved("tunix", "read")


@pytest.mark.parametrize("name", ["functions", "documented"])
def test_they_go_back_with_their_helpers_hidden(name, tmp_path):
    (tmp_path / "theirs.py").write_text(THEIRS)
    rows = rk.load_rollouts([{**row, "level": 1} for row in rollouts()])
    reward = rk.load_reward(f"{tmp_path / 'theirs.py'}:{name}", rollouts=rows)
    made = export(reward, to="tunix", path=tmp_path / "out.py", verify=rows)
    assert made.proof.equal and made.proof.compared == 64
    assert [one.__name__ for one in tunix.public_functions(loaded(made.path))] == [name]


def abstains(completion):
    return None if len(completion) % 2 else 1.0


def test_what_is_not_judged_is_a_number_there_and_no_error_of_the_manager(tmp_path):
    reward = rk.Reward("half", components=[rk.Component("abstains", abstains)])
    made = export(reward, to="tunix", path=tmp_path / "out.py", missing=-2.0, verify=rollouts())
    assert made.proof.equal
    found = manager([loaded(made.path).half])(prompts=["p", "p"], completions=["a", "ab"])
    assert found["rewards"].tolist() == [-2.0, 1.0]
    assert found["log_metrics"]["rewards/half"][0].tolist() == [-2.0, 1.0]


def test_arrays_of_a_data_pipeline_and_functions_in_memory_are_taken():
    columns = rollouts().columns()
    (function,) = tunix.functions(rk.load_reward("gallery:arithmetic"))
    found = manager([function])(
        prompts=np.array(columns["prompt"]),
        completions=np.array(columns["completion"]),
        answer=np.array([text.encode() for text in columns["ground_truth"]], dtype=object),
    )
    ours = rk.score(rk.load_reward("gallery:arithmetic"), rollouts()).rewards
    np.testing.assert_array_equal(found["rewards"], ours)
