"""What completions do, by itself: what is read of them and how it is named."""

import subprocess
import sys

import numpy as np
import pytest

from rewardkit.monitoring.features import StepTexts, read_features
from rewardkit.monitoring.readings import CompletionReader

SAME = "give the same answer whatever the prompt"


def features_of(completions, truths):
    """The share of the completions that do each thing, by its words; each has a prompt of its own."""
    groups = np.arange(len(completions))
    texts = StepTexts(
        prompts=[f"Question {group}?" for group in groups],
        completions=completions,
        conversations=completions,
        readings=CompletionReader().read_all(completions, truths),
        groups=groups,
        is_early=groups < len(groups) // 2,
        is_cut=np.zeros(len(groups), dtype=bool),
    )
    return {feature.does: feature.rows.mean() for feature in read_features(texts)}


@pytest.mark.parametrize(
    ("write", "share"),
    [
        ("**Town {}**\n\n**Confidence:** high", 0.0),
        ("It may be town {}.\n<answer>Rome</answer>", 1.0),
        ("It may be {}. So 7", 1.0),
        ("It may be {}. <answer>Rome", 1.0),  # nothing closes the tag
    ],
)
def test_an_answer_is_the_same_where_it_is_stated_and_not_where_a_line_has_a_colon(
    write, share
):
    truths = ["7" if "7" in write else "Bern"] * 12
    assert features_of([write.format(at) for at in range(12)], truths)[SAME] == share


def test_completions_without_marks_have_no_form_and_others_are_named():
    texts = ["It is 4."] * 6 + ["<think>so</think><answer>4</answer>"] * 6
    forms = [does for does in features_of(texts, ["4"] * 12) if "have only" in does]
    assert forms == ["have only `<think>` and `<answer>`"]


def test_features_come_in_one_order_whatever_the_seed_of_hashes():
    script = (
        "from test_features import features_of\n"
        "texts = ['<search>a</search><information>b</information> 4'] * 8 + ['4'] * 8\n"
        "print(list(features_of(texts, ['4'] * 16)))"
    )
    said = set()
    for seed in "0123":
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=__file__.rpartition("/")[0],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        )
        said.add(done.stdout)
    assert len(said) == 1
