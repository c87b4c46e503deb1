"""Slices: whole groups by the value of a column that their siblings share."""

import numpy as np
import pytest
from planted.tables import scores_of

import rewardkit as rk
from rewardkit.analysis import slices

GROUPS, SIBLINGS = np.repeat(np.arange(60), 6), np.tile(np.arange(6), 60)
PLACES = list(zip(GROUPS.tolist(), SIBLINGS.tolist(), strict=True))


def scores_with(column, name="kind"):
    """Scores in which half of each group earns 1, and a column that is given by group and sibling."""
    return scores_of({"c": SIBLINGS % 2}, GROUPS, columns={name: [column(*place) for place in PLACES]})


@pytest.mark.parametrize(
    ("column", "mixed"),
    [
        pytest.param(lambda group, sibling: sibling % 2, 60, id="what the reward is of"),
        pytest.param(lambda group, sibling: "a" if sibling or group > 2 else "b", 3, id="in three"),
        pytest.param(lambda group, sibling: [sibling], 60, id="lists"),
    ],
)
def test_a_column_that_differs_among_siblings_is_no_slice(column, mixed):
    with pytest.raises(rk.InputError, match=f"by='kind' differs among the siblings of {mixed} of 60 groups"):
        rk.diagnose(scores_with(column), by=["kind"])


def test_a_list_is_a_slice_as_it_is_written():
    table = rk.diagnose(scores_with(lambda group, sibling: ["a", group % 2]), by=["kind"]).group_signal
    assert table["slice"].tolist() == ["all", "kind=['a', 0]", "kind=['a', 1]"]
    assert table["groups"].tolist() == [60, 30, 30]


def test_unasked_a_usual_column_that_differs_among_siblings_or_has_many_values_is_passed_over():
    diagnosis = rk.diagnose(scores_with(lambda group, sibling: ("easy", "hard")[sibling % 2], "task"))
    assert diagnosis.by == () and diagnosis.group_signal["slice"].tolist() == ["all"]
    assert not any(item.part for item in diagnosis.findings)
    scores = scores_with(lambda group, sibling: f"t{group % 31}", "task")
    assert rk.diagnose(scores).by == ()
    assert rk.diagnose(scores, by="task").by == ("task",)  # one text is one name


def test_a_column_that_was_asked_for_is_looked_at_though_it_has_many_values_up_to_a_limit(monkeypatch):
    groups = np.repeat(np.arange(12 * 31), 6)
    values = np.tile([0, 1], 6 * 6 * 31) * (groups % 31 != 7)
    scores = scores_of({"c": values}, groups, columns={"kind": [f"d{group % 31}" for group in groups]})
    diagnosis = rk.diagnose(scores, by=["kind"])
    assert len(diagnosis.group_signal) == 1 + 31
    assert [item.part for item in diagnosis["constant"]] == ["kind=d7"]
    monkeypatch.setattr(slices, "MOST_ASKED", 20)
    with pytest.raises(rk.InputError, match=r"by='kind' has 31 values, too many .* \(at most 20\)"):
        rk.diagnose(scores, by=["kind"])


@pytest.mark.parametrize("primary", ["task", "bonus"])
def test_a_shape_that_one_source_alone_has_is_told_and_is_a_fault_of_the_task_only(primary):
    """The bonus is earned by 60 % in source a and by 2 % in b; all others are alike."""
    draw, groups = np.random.default_rng(0), np.repeat(np.arange(200), 8)
    parts = {"task": draw.random(1600) < 0.5, "bonus": draw.random(1600) < np.where(groups % 2, 0.02, 0.6)}
    scores = scores_of(
        {name: values.astype(float) for name, values in parts.items()},
        groups,
        weights={"bonus": 0.3},
        columns={"data_source": np.array(["a", "b"])[groups % 2]},
        components={primary: {"primary": True}},
    )
    (found,) = rk.diagnose(scores)["sparse"]
    assert (found.component, found.part) == ("bonus", "data_source=b")
    assert found.severity == ("warn" if primary == "bonus" else "info")
