"""Cases: what may be expected, when it is met, and how a miss reads."""

import json

import pytest
from scored import made

import rewardkit as rk


def judged(completion):
    """The number in the text; nothing for "skip", an error for "bad"."""
    return None if completion == "skip" else float(completion)


REWARD = rk.Reward(
    "r",
    {"size": lambda completion: len(completion)},
    [
        rk.Component("value", judged),
        rk.Component("bonus", lambda completion: True, weight=0.5, gate=rk.gate("value", at_least=1.0)),
    ],
)


def case(completion, **expected):
    return {"completion": completion, **expected}


FINE = case("1", reward=1.5)


def misses(*raws, reward=REWARD):
    return rk.check(reward, rk.load_cases(list(raws))).misses


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cases.jsonl"


@pytest.mark.parametrize(
    ("completion", "expected", "met"),
    [
        ("0.5", {"reward": 0.5}, True),
        ("0.511", {"reward": 0.5}, False),
        ("0.55", {"reward": 0.5, "tolerance": 0.1}, True),
        ("0.5", {"reward": [0.4, 0.5]}, True),
        ("skip", {"reward": "unscored"}, True),
        ("bad", {"reward": "unscored"}, True),
        ("0.5", {"scores": {"bonus": "gated"}}, True),
        ("0.5", {"scores": {"bonus": 0.0}}, False),
        ("skip", {"scores": {"value": "abstained", "bonus": "abstained"}}, True),
        ("bad", {"scores": {"value": "error"}}, True),
        ("0.5", {"reward": 0.5, "scores": {"value": 0.9}}, False),
    ],
)
def test_an_expectation_is_met_within_its_tolerance_range_or_by_its_status(completion, expected, met):
    assert (misses(case(completion, **expected)) == ()) is met


def test_a_miss_tells_expected_got_fields_statuses_and_why():
    (miss,) = misses(case("0.25", reward=1.5, ground_truth="1", name="short", why="it is right"))
    assert (miss.case, miss.what, miss.expected, miss.got) == ("short", "reward", 1.5, 0.25)
    assert (miss.completion, miss.ground_truth, miss.why) == ("0.25", "1", "it is right")
    assert miss.fields == {"size": 4}
    assert miss.status == {"value": "scored", "bonus": "gated"}
    for said in ("'short'", "expected 1.5", "got 0.25", "truth '1'", "size=4", "it is right"):
        assert said in str(miss)
    told = [miss.got for miss in misses(case("bad", reward=1.0, scores={"value": 1.0}))]
    assert [got.partition(" (ValueError: could not convert")[0] for got in told] == ["unscored", "error"]


def test_a_case_that_misses_twice_fails_once_and_all_passed_is_an_empty_table_with_its_columns():
    result = rk.check(REWARD, [case("0.25", reward=1, scores={"value": 1}), FINE])
    assert (len(result.misses), result.failed, result.passed) == (2, 1, 1)
    record = result.record()
    assert (record["passed"], record["failed"]) == (1, 1)
    assert all({"case", "expected", "got"} <= miss.keys() for miss in record["misses"])
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert result.table[["case", "what"]].values.tolist() == [["line 1", "reward"], ["line 1", "value"]]
    assert repr(result).startswith("1 of 2 cases passed for 'r'\n  case 'line 1': reward expected 1, got 0")
    result = rk.check(REWARD, [FINE])
    assert (result.passed, result.failed, len(result.table)) == (1, 0, 0)
    assert list(result.table)[:4] == ["case", "what", "expected", "got"]


def test_cases_are_of_the_reward_before_any_transform_and_each_a_group_of_its_own():
    parts = [rk.Component("value", judged), rk.Component("group", lambda completion: [1.0], group=True)]
    reward = made(*parts, transform=rk.weigh.standardise(), on_missing="skip")
    assert misses(case("0.5", reward=0.5, scores={"group": "abstained"}), reward=reward) == ()


def test_ignored_components_are_left_out_where_the_reward_lacks_them_and_are_counted():
    raws = [{**FINE, "scores": {"old": 1}}, case("1", scores={"old": 0}), case("1", scores={"value": 0})]
    result = rk.check(REWARD, raws, ignore=["old", "value"])
    assert [miss.what for miss in result.misses] == ["value"]
    assert (len(result.cases), result.left_out) == (2, {"old": 2})
    result = rk.check(REWARD, raws[1:2], ignore=["old"])  # nothing is left to pass or fail
    assert (result.passed, result.failed, result.left_out) == (0, 0, {"old": 1})


ROUTE = rk.Route("data_source", {"x": REWARD})
TRUTH = made(lambda truth: truth is not None)


@pytest.mark.parametrize(
    ("reward", "cases", "ignore", "said"),
    [
        (3, [], (), "check takes a Reward, not 3"),
        (REWARD, 3, (), "cases=3 are no cases; give a list of them, or the path of a case file"),
        (REWARD, [FINE, 3], (), "case 2 is 3; a case is an object"),
        (REWARD, [FINE], "value", "ignore='value' is not a list of names of components"),
        (REWARD, [case("1", scores={"valeu": 1})], (), "did you mean 'value'?"),
        (TRUTH, [FINE, {**FINE, "truth": "1"}], (), "asks for 'truth'"),
        (ROUTE, [FINE], (), "the route asks for 'data_source'"),
    ],
)
def test_what_cannot_be_checked_is_said_in_a_sentence(reward, cases, ignore, said):
    with pytest.raises(rk.InputError) as raised:
        rk.check(reward, cases, ignore=ignore)
    assert said in str(raised.value)


def test_a_case_may_have_the_names_of_a_log_and_keeps_them():
    (found,) = rk.load_cases([{"question": "q", "response": "x", "answer": "1", "reward": 1}])
    named = {"prompt": "q", "completion": "x", "ground_truth": "1"}
    assert found.columns == {"question": "q", "response": "x", "answer": "1", **named}
    (own,) = rk.load_cases([{**named, "answer": "2", "reward": 1}])
    assert own.columns == {**named, "answer": "2"}


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"reward": 1}, "needs a completion"),
        ({"completion": "x", "scores": [1]}, "is not an object of component: expected"),
        ({"completion": "x"}, "needs an expectation"),
        (
            {"completion": "x", "scroes": {"value": 1}},
            "'scroes' is not a key of a case; did you mean 'scores'?",
        ),
        ({"completion": "x", "reward": "scored"}, "expects 'scored'; write a number, a range"),
        ({"completion": "x", "reward": [1, 0]}, "expects [1, 0]"),
        ({"completion": "x", "reward": 1, "tolerance": -1}, "tolerance=-1 is not a number from 0"),
    ],
)
def test_a_case_that_cannot_be_read_is_an_error_that_says_which(raw, said, path):
    path.write_text("\n".join([json.dumps(FINE), "", json.dumps(raw)]))
    for source, place in (([FINE, raw], "case 2"), (path, f"{path}:3")):
        with pytest.raises(rk.CasesError) as raised:
            rk.load_cases(source)
        assert str(raised.value).startswith(place) and said in str(raised.value)


@pytest.mark.parametrize(
    ("content", "said"),
    [('{"completion": "x", "reward": 1}\n{cut\n', "jsonl:2: broken JSON"),
     ("\n[1]\n", "jsonl:2: a row is an object"), ("\n \n", r"cases\.jsonl.* has no cases")],
)  # fmt: skip
def test_a_case_file_that_cannot_be_read_is_an_error_with_its_line(content, said, path):
    path.write_text(content)
    with pytest.raises(rk.CasesError, match=said):
        rk.load_cases(path)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "cases=None are no cases"),
        ("no.jsonl", "there is no case file"),
        ([{**FINE, "name": "twin"}, {**FINE, "name": "twin"}], "two cases are called 'twin'"),
    ],
)
def test_no_cases_no_file_and_two_of_one_name_are_errors(source, said):
    with pytest.raises(rk.CasesError, match=said):
        rk.load_cases(source)


def test_names_are_by_line_and_the_callers_dicts_stay_as_they_were():
    raws = [case("a", reward=[0, 1], scores={"value": 1}, why="w", tolerance=0.2), FINE]
    before = json.dumps(raws)
    named = rk.load_cases(raws)
    assert [item.name for item in named] == ["line 1", "line 2"]
    assert rk.load_cases(named) == named and json.dumps(raws) == before


def test_assert_cases_raises_with_every_miss_and_takes_a_file(path):
    path.write_text("\n".join(json.dumps(case(text, reward=1.5)) for text in ("1", "0.25", "0.5")))
    with pytest.raises(AssertionError) as raised:
        rk.assert_cases(REWARD, path)
    assert str(raised.value).splitlines()[0] == "1 of 3 cases passed for 'r'"
    assert len(str(raised.value).splitlines()) == 3
    assert rk.assert_cases(REWARD, rk.load_cases([FINE])) is None
