"""verl's truths that are JSON texts: parsed where a reward takes objects, left where it takes text."""

import json

import pytest

import rewardkit as rk
from rewardkit.targets import verl

TRUTH = {"city": "Oslo"}


def takes_dict(prediction, ground_truth: dict[str, str] | None):
    return float(prediction == ground_truth["city"])


def takes_list(prediction, ground_truth: list[str]):
    return float(prediction in ground_truth)


def indexes(prediction, ground_truth):
    return float(prediction == ground_truth["city"])


def gets(prediction, ground_truth):
    return float(prediction == ground_truth.get("city"))


def searches_text(prediction, ground_truth: str):
    return float(ground_truth.startswith("{") and prediction in ground_truth)


def scorer(function, batch=False, **options):
    component = rk.Component("right", function, **options)
    fields = {"prediction": rk.extract.tag("a")}
    return verl.functions(rk.Reward("r", fields, [component]), batch=batch)


@pytest.mark.parametrize(
    ("function", "truth"),
    [
        (takes_dict, TRUTH),
        (takes_list, ["Oslo"]),
        (indexes, TRUTH),
        (gets, TRUTH),
        (searches_text, TRUTH),
        (rk.verify.sets_equal, ["Oslo"]),
    ],
)
@pytest.mark.parametrize("as_text", [False, True])
def test_a_truth_is_what_the_reward_takes(function, truth, as_text):
    if function is searches_text and not as_text:
        return
    given = json.dumps(truth) if as_text else truth
    result = scorer(function)("d", "<a>Oslo</a>", given, {})
    assert (result["score"], result["judged/right"]) == (1.0, 1.0)
    wrong = scorer(function)("d", "<a>Rome</a>", given, {})
    assert (wrong["score"], wrong["judged/right"]) == (0.0, 1.0)
    batch = scorer(function, batch=True)
    (listed,) = batch(["d"], ["<a>Oslo</a>"], [given], [{}])
    assert listed == result


def test_a_text_that_is_no_json_is_refused_where_an_object_is_taken():
    with pytest.raises(rk.InputError) as raised:
        scorer(takes_dict)("d", "<a>Oslo</a>", "Oslo", {})
    assert str(raised.value).startswith(
        "ground_truth='Oslo' is a text, and 'right' takes dict[str, str] | None; write"
    )
    assert scorer(indexes)("d", "<a>Oslo</a>", "Oslo", {})["judged"] == 0.0


def test_a_component_that_is_given_another_column_says_nothing_of_the_truth():
    options = {"columns": {"ground_truth": "cities"}}
    result = scorer(takes_list, **options)(
        "d", "<a>Oslo</a>", "text", {"cities": ["Oslo"]}
    )
    assert result["score"] == 1.0
