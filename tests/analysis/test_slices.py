"""Slices: whole groups by the value of a column that their siblings share."""

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.analysis import slices

PROMPTS, SIBLINGS = 60, 6


def scores_with(column, *, prompts=PROMPTS, score=lambda group, sibling: sibling % 2, name="kind"):
    """Scores in which half of each group earns 1, and a column that is given by group and sibling."""
    rows = [
        {"prompt": f"p{group}", "completion": f"{group} {sibling}", "v": float(score(group, sibling))}
        | {name: column(group, sibling)}
        for group in range(prompts)
        for sibling in range(SIBLINGS)
    ]
    return rk.score(rk.Reward("made", components=[rk.Component("c", lambda v: v)]), rows)


@pytest.mark.parametrize(
    ("column", "mixed"),
    [
        pytest.param(lambda group, sibling: sibling % 2, 60, id="what the reward is of"),
        pytest.param(
            lambda group, sibling: "cut" if sibling == 0 and group < 3 else "stop", 3, id="in three"
        ),
        pytest.param(lambda group, sibling: "a" if sibling else None, 60, id="missing for some siblings"),
    ],
)
def test_a_column_that_differs_among_siblings_is_no_slice(column, mixed):
    scores = scores_with(column)
    with pytest.raises(rk.InputError, match=f"by='kind' differs among the siblings of {mixed} of 60 groups"):
        rk.diagnose(scores, by=["kind"])


def test_unasked_a_usual_column_that_differs_among_siblings_is_passed_over():
    scores = scores_with(lambda group, sibling: ("easy", "hard")[sibling % 2], name="task")
    diagnosis = rk.diagnose(scores)
    assert diagnosis.by == () and diagnosis.group_signal["slice"].tolist() == ["all"]
    assert not any(item.part for item in diagnosis.findings)


@pytest.mark.parametrize("values", [31, 40])
def test_a_column_that_was_asked_for_is_looked_at_though_it_has_many_values(values):
    prompts = 12 * values
    scores = scores_with(
        lambda group, sibling: f"d{group % values}",
        prompts=prompts,
        score=lambda group, sibling: sibling % 2 and group % values != 7,
    )
    diagnosis = rk.diagnose(scores, by=["kind"])
    assert len(diagnosis.group_signal) == 1 + values
    assert [item.part for item in diagnosis["constant"]] == ["kind=d7"]
    assert rk.diagnose(scores).by == ()


def test_too_many_values_are_one_clear_sentence(monkeypatch):
    monkeypatch.setattr(slices, "MOST_ASKED", 20)
    scores = scores_with(lambda group, sibling: group)
    with pytest.raises(rk.InputError, match=r"by='kind' has 60 values, too many .* \(at most 20\)"):
        rk.diagnose(scores, by=["kind"])


def test_unasked_a_column_of_many_values_is_no_slice():
    scores = scores_with(lambda group, sibling: f"t{group % 31}", name="task")
    assert rk.diagnose(scores).by == ()
    assert rk.diagnose(scores, by="task").by == ("task",)  # one text is one name


def test_a_lone_surrogate_in_a_value_is_shown_in_the_table():
    scores = scores_with(lambda group, sibling: ("a", "b\ud83d")[group % 2], name="task")
    table = rk.diagnose(scores).group_signal
    assert table["slice"].tolist() == ["all", "task=a", "task=b\ud83d"]
    np.testing.assert_array_equal(table["groups"], [60, 30, 30])


def test_lists_are_values_too():
    scores = scores_with(lambda group, sibling: ["a", group % 2])
    assert rk.diagnose(scores, by=["kind"]).group_signal["slice"].tolist() == [
        "all",
        "kind=['a', 0]",
        "kind=['a', 1]",
    ]
    with pytest.raises(rk.InputError, match="differs among the siblings"):
        rk.diagnose(scores_with(lambda group, sibling: [sibling]), by=["kind"])


@pytest.mark.parametrize("primary", ["task", "bonus"])
def test_a_shape_that_one_source_alone_has_is_told_and_is_a_fault_of_the_task_only(primary):
    """The bonus is earned by 60 % in source a and by 2 % in b; all others are alike."""
    draw = np.random.default_rng(0)
    rows = [
        {"prompt_id": f"p{at // 8}", "data_source": "ab"[at // 8 % 2], "completion": str(at)}
        for at in range(1600)
    ]
    for row in rows:
        row["right"] = float(draw.random() < 0.5)
        row["extra"] = float(draw.random() < {"a": 0.6, "b": 0.02}[row["data_source"]])
    parts = [
        rk.Component("task", lambda right: right, primary=primary == "task"),
        rk.Component("bonus", lambda extra: extra, weight=0.3, primary=primary == "bonus"),
    ]
    found = rk.diagnose(rk.score(rk.Reward("r", components=parts), rows))["sparse"]
    assert [(item.component, item.part) for item in found] == [("bonus", "data_source=b")]
    assert found[0].severity == ("warn" if primary == "bonus" else "info")
