"""prove(): what is compared, what counts as a difference, and the trainer's function as it was found.

The trainers' own callers run in tests/trainers; here callers of a few lines stand for them.
"""

from dataclasses import replace

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.targets import find_target, trl
from rewardkit.targets.export import export, prove
from rewardkit.targets.prove import run_proof as prove_with
from rewardkit.targets.target import TrainerValues, import_file

pytestmark = pytest.mark.integration

ROWS = [
    {"prompt_id": 1, "prompt": "2+2?", "completion": "4", "ground_truth": "4"},
    {"prompt_id": 1, "prompt": "2+2?", "completion": "5, I think", "ground_truth": "4"},
    {"prompt_id": 2, "prompt": "1+1?", "completion": "2", "ground_truth": "2"},
]
ROLLOUTS = rk.load_rollouts(ROWS)


def length(completion):
    return len(completion) / 3


def half(completion):
    return 0.5


def nothing(completion):
    return None


def short(completion):
    return len(completion) < 3


def reward_of(function=length):
    return rk.Reward(
        "mine", components=[rk.Component("one", function, weight=2.0, range=None)]
    )


def gives(share):
    """A trainer whose rewards are ours, the last one off by this share of it; 0 where there is none."""
    rewards = [2 * len(row["completion"]) / 3 for row in ROWS]
    rewards[-1] *= 1 + (share or 0)
    return lambda path, written, rows: TrainerValues(
        "a trainer", {"reward": [0.0] * 3 if share is None else rewards}
    )


def proof_of(call, tmp_path, reward=None, to="verl"):
    made = export(reward or reward_of(), to=to, path=tmp_path / "mine.py")
    return prove_with(
        replace(find_target(to), call=call), made.path, *made.plan, ROLLOUTS
    )


@pytest.mark.parametrize(
    ("share", "differ"), [(0, 0), (1e-10, 0), (1e-8, 1), (float("nan"), 1)]
)
def test_values_are_equal_to_nine_digits(share, differ, tmp_path):
    proof = proof_of(gives(share), tmp_path)
    assert (proof.compared, proof.differ, proof.equal) == (3, differ, not differ)
    assert len(proof.examples) == differ


def test_where_no_rollout_has_a_reward_nothing_is_proved(tmp_path):
    proof = proof_of(gives(None), tmp_path, reward_of(nothing))
    assert (proof.differ, proof.judged) == (0, 0) and not proof.equal
    assert "NOTHING PROVED" in proof.lines()[0]


def test_a_file_that_was_changed_after_it_was_written_differs_and_a_gated_score_is_0(
    tmp_path,
):
    made = export(
        reward_of(half), to="easyr1", path=tmp_path / "mine.py", verify=ROLLOUTS
    )
    assert made.proof.equal and made.proof.judged == 3
    made.path.write_text(made.path.read_text().replace("weight=2.0", "weight=2.50"))
    again = prove(made, ROWS).proof
    assert (again.differ, again.max_abs_difference) == (3, 0.25) and not again.equal
    gated = rk.Component("one", half, gate=rk.gate("short", at_least=1.0))
    reward = rk.Reward("gated", components=[rk.Component("short", short), gated])
    proof = export(
        reward, to="easyr1", path=tmp_path / "gated.py", verify=ROLLOUTS
    ).proof
    assert proof.compared == 9 and proof.equal


def missing(path, written, rows):
    raise ModuleNotFoundError("No module named 'torchvision'")


@pytest.mark.parametrize(
    ("call", "to", "said"),
    [
        (
            missing,
            "verl",
            r"own code, which cannot be imported here \(No module named 'torchv",
        ),
        (None, "easyr1", "EasyR1 has no caller"),
    ],
)
def test_what_the_trainer_needs_to_prove_is_find_target(tmp_path, call, to, said):
    with pytest.raises(rk.RewardError, match=said):
        proof_of(call, tmp_path, to=to)


# The function of the trainer itself


def batch_caller(path, written, rows):
    """As TRL calls a function on a data set of texts: the whole batch, by keyword."""
    plural = {"prompt": "prompts", "completion": "completions"}
    batch = {plural.get(name, name): [row[name] for row in rows] for name in rows[0]}
    found = {}
    for name in written.functions:
        given = getattr(import_file(path), name)(**batch)
        found[name] = [np.nan if value is None else value for value in given]
    return TrainerValues(
        "a trainer", {"reward": found[name]} if written.combined else found
    )


FOUND = """
from functools import partial

def lengths(completions, **kwargs):
    return [None if len(text) > 9 else float(len(text)) for text in completions]

def share(completions, **kwargs):
    return [len(text) / sum(map(len, completions)) for text in completions]

def scaled(completions, scale, **kwargs):
    return [scale * len(text) for text in completions]

bound = partial(scaled, scale=2.0)

def failing(completions, prompts=None, **kwargs):
    if len(completions) == 3:  # the whole batch, which no group is
        raise ValueError("boom")
    return [float(len(text)) for text in completions]
"""
AS_FOUND = [
    # function, how it is read, whether it is equal, (compared, differing) of the original, what is said last
    ("lengths", {}, True, (3, 0), "on the function as it was found: 3 values"),
    (
        "lengths",
        {"as_": "trl:messages"},
        False,
        (3, 1),
        "",
    ),  # of one turn each len(text) is 1
    ("share", {}, False, (3, 3), ""),  # looks at the whole batch, and is read by groups
    ("bound", {}, True, None, "was not compared: functools.partial"),
    (
        "failing",
        {},
        False,
        None,
        "it FAILS on the function as it was found: called by TRL, ValueError: boom",
    ),
    (
        None,
        {},
        True,
        None,
        "",
    ),  # a reward of components, which is more than the function
]


@pytest.mark.parametrize(("name", "options", "equal", "original", "told"), AS_FOUND)
def test_a_function_of_the_trainer_is_called_as_it_was_found_too(
    tmp_path, name, options, equal, original, told
):
    (tmp_path / "found.py").write_text(FOUND)
    path = f"{tmp_path / 'found.py'}:{name}"
    reward = rk.load_reward(path, rollouts=ROLLOUTS, **options) if name else reward_of()
    made = export(reward, to="trl", path=tmp_path / "back.py")
    proof = prove_with(
        replace(trl.TRL, call=batch_caller), made.path, *made.plan, ROLLOUTS
    )
    assert proof.equal is equal and told in "\n".join(proof.lines())
    assert (
        proof.original and (proof.original.compared, proof.original.differ)
    ) == original
    record = proof.record()
    assert record["compared"] == proof.compared and bool(
        record.get("original")
    ) is bool(original)
    assert bool(record.get("not_original")) is (name == "bound")
    assert ("ValueError: boom" in str(record.get("original_failed"))) is (
        name == "failing"
    )
