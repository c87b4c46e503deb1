"""verl's own loader and managers."""

import numpy as np
import waiting
from table import arithmetic, proved, read_as
from verl.trainer.ppo.metric_utils import process_validation_metrics
from verl.workers.reward_manager.batch import BatchRewardManager

import rewardkit as rk
from rewardkit.targets import verl
from rewardkit.targets.export import export


def compute_score(data_source, solution_str, ground_truth, extra_info=None, bonus=0.0):
    """In the words of verl's documentation: a dict with the score, and what is logged beside it."""
    right = solution_str.strip().endswith(f"{ground_truth}</answer>")
    return {
        "score": (2.0 if right else -1.0) + bonus,
        "acc": right,
        "source": data_source,
    }


def test_a_documented_function_is_read_as_its_manager_calls_it(tmp_path, no_workers):
    rollouts = rk.load_rollouts(
        [{**row, "data_source": "countdown"} for row in arithmetic(48)]
    )
    read, ours = read_as("verl", "verl", f"{__file__}:compute_score", rollouts)
    assert read.names == ("score", "acc")
    file = tmp_path / "mine.py"
    file.write_text("from test_verl import compute_score\n")
    theirs = verl.call(file, None, list(rollouts)).values
    assert theirs["reward"] == ours and {2.0, -1.0} <= {*ours}
    assert theirs["acc"] == rk.score(read, rollouts).score("acc").tolist()


def test_an_async_reward_is_a_coroutine_function_there_and_a_missing_one_is_marked(
    tmp_path,
):
    reward, path = rk.load_reward(f"{waiting.__file__}:half_judged"), tmp_path / "w.py"
    proof = export(
        reward, to="verl", path=path, missing=-3.0, verify=arithmetic(8)
    ).proof
    assert (proof.differ, proof.compared) == (0, 24)
    assert proof.judged == 0 and not proof.equal  # what nothing judges proves nothing
    assert "async def compute_score" in path.read_text()
    one = verl.functions(waiting.half_judged(), missing=-3.0)("x", "abc", None)
    assert one == {
        "score": -3.0,
        "judged": 0.0,
        "slow": 3 / 64,
        "judged/slow": 1.0,
        "none": -3.0,
        "judged/none": 0.0,
    }


def test_its_validation_metrics_tell_each_component_and_the_share_that_is_judged(
    tmp_path,
):
    components = [
        rk.Component("right", lambda completion, ground_truth: "4" in completion),
        rk.Component("short", judges_short_ones),
    ]
    reward = rk.Reward("two", components=components, on_missing="skip")
    texts = ["4", "5", "4 or 5", "6"]
    rows = [
        {"prompt": "2+2?", "completion": text, "ground_truth": "4"} for text in texts
    ]
    manager = BatchRewardManager(
        verl.Texts(rows), 0, verl.functions(reward, batch=True)
    )
    extra = manager(verl.protocol(rows), return_dict=True)["reward_extra_info"]
    metrics = process_validation_metrics(["sums"] * 4, ["2+2?"] * 4, extra)["sums"]
    means = {name: figures["mean@4"] for name, figures in metrics.items()}
    assert means["right"] == 0.5 and means["judged/right"] == 1.0
    assert means["short"] == 0.75 and means["judged/short"] == 0.75
    # its dump is read back with what was not judged as missing
    dump = []
    for place, row in enumerate(rows):
        scores = {name: values[place] for name, values in extra.items()}
        dump.append(
            {
                "input": "2+2?",
                "output": row["completion"],
                "gts": "4",
                "step": 1,
                **scores,
            }
        )
    scores = rk.score(rk.recorded(rk.load_rollouts(dump)), rk.load_rollouts(dump))
    assert np.isnan(scores.score("short")).tolist() == [False, False, True, False]
    assert "judged_short" not in scores.reward.names


def judges_short_ones(completion):
    """Judge completions of one letter alone."""
    return None if len(completion) > 1 else 1.0


def test_the_batch_manager_takes_a_function_of_lists():
    rollouts, reward = arithmetic(32), rk.load_reward("gallery:arithmetic")
    rows = list(rollouts)
    manager = BatchRewardManager(
        verl.Texts(rows), 0, verl.functions(reward, batch=True)
    )
    found = manager(verl.protocol(rows), return_dict=True)["reward_tensor"][
        :, 0
    ].numpy()
    np.testing.assert_allclose(
        found, rk.score(reward, rollouts).rewards.astype(np.float32), rtol=1e-6
    )
    proved("verl", "called", by="BatchRewardManager of verl 0.9.1")
