"""Cases: what may be expected, when it is met, how a miss reads; and how cases are written to a file."""

import json

import pytest
from scored import made

import rewardkit as rk
from rewardkit.errors import CasesError, InputError
from rewardkit.scoring.cases import append_cases


def judged(completion):
    """The number in the text; nothing for "skip", an error for "bad"."""
    return None if completion == "skip" else float(completion)


REWARD = rk.Reward(
    "r",
    {"size": lambda completion: len(completion)},
    [
        rk.Component("value", judged),
        rk.Component(
            "bonus",
            lambda completion: True,
            weight=0.5,
            gate=rk.gate("value", at_least=1.0),
        ),
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
def test_an_expectation_is_met_within_its_tolerance_range_or_by_its_status(
    completion, expected, met
):
    assert (misses(case(completion, **expected)) == ()) is met


def test_a_miss_tells_expected_got_fields_statuses_and_why():
    (miss,) = misses(
        case("0.25", reward=1.5, ground_truth="1", name="short", why="it is right")
    )
    assert (miss.what, miss.expected, miss.got, miss.ground_truth) == (
        "reward",
        1.5,
        0.25,
        "1",
    )
    assert (miss.fields, miss.status) == (
        {"size": 4},
        {"value": "scored", "bonus": "gated"},
    )
    for said in (
        "'short'",
        "expected 1.5",
        "got 0.25",
        "truth '1'",
        "size=4",
        "it is right",
    ):
        assert said in str(miss)
    told = [miss.got for miss in misses(case("bad", reward=1.0, scores={"value": 1.0}))]
    assert [got.partition(" (ValueError: could not convert")[0] for got in told] == [
        "unscored",
        "error",
    ]


def test_a_case_that_misses_twice_fails_once_and_all_passed_is_an_empty_table_with_its_columns():
    result = rk.check(REWARD, [case("0.25", reward=1, scores={"value": 1}), FINE])
    assert (len(result.misses), result.failed, result.passed) == (2, 1, 1)
    record = result.record()
    assert (record["passed"], record["failed"]) == (1, 1)
    assert json.loads(json.dumps(record, allow_nan=False)) == record
    assert result.table[["case", "what"]].values.tolist() == [
        ["line 1", "reward"],
        ["line 1", "value"],
    ]
    title, _, first, second = repr(result).splitlines()
    assert title == "✗ 1 of 2 cases passed, 1 failed: reward r"
    assert first.split()[:5] == ["line", "1", "reward", "1", "0.25"]
    assert second.split()[:5] == ["line", "1", "value", "1", "0.25"]
    table = rk.check(REWARD, [FINE]).table
    assert (len(table), list(table)[:4]) == (0, ["case", "what", "expected", "got"])


def test_cases_are_of_the_reward_before_any_transform_and_each_a_group_of_its_own():
    parts = [
        rk.Component("value", judged),
        rk.Component("group", lambda completion: [1.0], group=True),
    ]
    reward = made(*parts, transform=rk.weigh.standardise(), on_missing="skip")
    assert (
        misses(case("0.5", reward=0.5, scores={"group": "abstained"}), reward=reward)
        == ()
    )


def test_ignored_components_are_left_out_where_the_reward_lacks_them_and_are_counted():
    raws = [
        {**FINE, "scores": {"old": 1}},
        case("1", scores={"old": 0}),
        case("1", scores={"value": 0}),
    ]
    result = rk.check(REWARD, raws, ignore=["old", "value"])
    assert [miss.what for miss in result.misses] == ["value"]
    assert (len(result.cases), result.left_out) == (2, {"old": 2})
    result = rk.check(
        REWARD, raws[1:2], ignore=["old"]
    )  # nothing is left to pass or fail
    assert (result.passed, result.failed, result.left_out) == (0, 0, {"old": 1})


def test_a_component_that_is_not_there_is_one_sentence_and_the_rest_is_checked():
    raws = [
        {**FINE, "name": "both", "scores": {"valeu": 1}},
        {**FINE, "name": "lost", "scores": {"valeu": 1}, "reward": 9},
        case("1", name="only", scores={"valeu": 1}),
        case("1", name="other", scores={"value": 1}),
    ]
    result = rk.check(REWARD, raws)
    assert [miss.case for miss in result.misses] == ["lost"]
    assert (result.passed, result.failed, result.is_met) == (2, 1, False)
    assert result.unknown == {"valeu": ("both", "lost", "only")}
    (sentence,) = result.unknown_sentences
    for said in ("3 cases ('both', 'lost', 'only')", "'valeu'", "did you mean 'value'"):
        assert said in sentence and said in result.text()
    with pytest.raises(AssertionError, match="valeu"):
        rk.assert_cases(REWARD, raws[:1])


# orders: which of two completions is better

A, B = {"completion": "1"}, {"completion": "0.5"}


@pytest.mark.parametrize(
    ("order", "got"),
    [
        ({"above": A, "below": B}, None),
        ({"above": B, "below": A}, "0.5, below 1.5"),
        ({"above": A, "below": {"completion": " 1"}}, "1.5, below 1.5"),
        ({"above": A, "below": B, "component": "value"}, None),
        ({"above": B, "below": A, "component": "value"}, "0.5, below 1.0"),
        ({"above": A, "below": {"completion": "skip"}}, "1.5, below unscored"),
        ({"above": {"completion": "bad"}, "below": B}, "unscored (ValueError"),
        ({"above": A, "below": B, "component": "bonus"}, "1.0, below gated"),
        ({"equal": [A, {"completion": " 1"}]}, None),
        ({"equal": [A, B]}, "1.5, below 0.5"),
        ({"equal": [A, B], "component": "value"}, "1.0, below 0.5"),
        ({"equal": [A, {"completion": "skip"}]}, "1.5, below unscored"),
    ],
)
def test_an_order_is_met_where_both_are_scored_and_the_first_is_higher_or_as_good(
    order, got
):
    found = misses(order)
    if got is None:
        assert found == ()
        return
    (miss,) = found
    expected = "the same as below" if "equal" in order else "more than below"
    assert miss.expected == expected and str(miss.got).startswith(got)
    first, second = order.get("equal") or (order["above"], order["below"])
    assert miss.completion == first["completion"]
    assert repr(second["completion"]) in str(miss)


def test_the_completions_of_an_order_share_the_other_columns_of_the_case():
    (order,) = rk.load_cases(
        [
            {
                "prompt": "q",
                "answer": "1",
                "above": {**A, "n": 1},
                "below": {"response": "2"},
            }
        ]
    )
    above, below = order.rows
    assert (above["prompt"], above["ground_truth"], above["n"]) == ("q", "1", 1)
    assert (below["completion"], below["ground_truth"], "n" in below) == (
        "2",
        "1",
        False,
    )


# undecided cases: neither right nor wrong

TODO = {"why": "TODO: which one?"}


@pytest.mark.parametrize(
    ("undecided", "got"),
    [
        ({**FINE, "reward": 9, **TODO}, 1.5),
        ({"completion": "1", **TODO}, 1.5),
        ({"above": B, "below": A, **TODO}, "0.5, below 1.5"),
        ({"above": A, "below": B, "component": "value", **TODO}, "1.0, below 0.5"),
        ({"pair": [A, B], **TODO}, "1.5, below 0.5"),
    ],
)
def test_an_undecided_case_is_shown_and_neither_passes_nor_fails(undecided, got):
    result = rk.check(REWARD, [FINE, undecided])
    assert (result.passed, result.failed, result.undecided) == (1, 0, 1)
    assert result.is_met and result.to_decide[0].got == got
    assert "1 of 1 cases passed, 0 failed, 1 undecided" in result.text()
    assert "TODO: which one?" in result.text()
    assert result.record()["undecided"] == 1
    rk.assert_cases(REWARD, [FINE, undecided])
    alone = rk.check(REWARD, [undecided])
    assert (alone.passed, alone.failed) == (0, 0) and alone.text().startswith("-")


ROUTE = rk.Route("data_source", {"x": REWARD})
TRUTH = made(lambda truth: truth is not None)


@pytest.mark.parametrize(
    ("reward", "cases", "ignore", "said"),
    [
        (3, [], (), "check takes a Reward, not 3"),
        (
            REWARD,
            3,
            (),
            "cases=3 are no cases; give a list of them, or the path of a case file",
        ),
        (REWARD, [FINE, 3], (), "case 2 is 3; a case is an object"),
        (
            REWARD,
            [FINE],
            "value",
            "ignore='value' is not a list of names of components",
        ),
        (TRUTH, [FINE, {**FINE, "truth": "1"}], (), "asks for 'truth'"),
        (ROUTE, [FINE], (), "the route asks for 'data_source'"),
    ],
)
def test_what_cannot_be_checked_is_said_in_a_sentence(reward, cases, ignore, said):
    with pytest.raises(rk.InputError) as raised:
        rk.check(reward, cases, ignore=ignore)
    assert said in str(raised.value)


def test_a_case_may_have_the_names_of_a_log_and_keeps_them():
    (found,) = rk.load_cases(
        [{"question": "q", "response": "x", "answer": "1", "reward": 1}]
    )
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
            "'scroes' is not a key of a case; did you mean 'scores'",
        ),
        (
            {"completion": "x", "reward": "scored"},
            "expects 'scored'; write a number, a range",
        ),
        (
            {"completion": "x", "reward": [1, 0]},
            "expects [1, 0], whose low end is above its high one; write [0, 1]",
        ),
        ({"above": A}, "below=None is no object with a completion"),
        ({"above": A, "below": "x"}, "below='x' is no object with a completion"),
        ({"above": A, "below": {"text": "x"}}, "'below': a case needs a completion"),
        ({"above": A, "below": B, "reward": 1}, "'reward' is of one completion"),
        ({"above": A, "below": {**B, "prompt": "p"}}, "has a 'prompt' of its own"),
        ({"above": A, "below": B, "component": 1}, "component=1 is no name"),
        ({"pair": [A, B]}, "nothing says which of the 'pair' is better"),
        ({"pair": [A, B], "below": B}, "'above' and 'below' and 'pair' say different"),
        ({"equal": [A]}, "write a list of two objects with a completion each"),
        ({"equal": [A, "x"]}, "equal[1]='x' is no object with a completion"),
        (
            {"completion": "x", "reward": 1, "tolerance": -1},
            "tolerance=-1 is not a number from 0",
        ),
    ],
)
def test_a_case_that_cannot_be_read_is_an_error_that_says_which(raw, said, path):
    path.write_text("\n".join([json.dumps(FINE), "", json.dumps(raw)]))
    for source, place in (([FINE, raw], "case 2"), (path, f"{path}:3")):
        with pytest.raises(rk.CasesError) as raised:
            rk.load_cases(source)
        assert str(raised.value).startswith(place) and said in str(raised.value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        (None, "cases=None are no cases"),
        ("no.jsonl", "there is no case file"),
        (
            [{**FINE, "name": "twin"}, {**FINE, "name": "twin"}],
            "two cases are called 'twin'",
        ),
        (b'{"completion": "x", "reward": 1}\n{cut\n', "jsonl:2: broken JSON"),
        (b"\n[1]\n", "jsonl:2: a row is an object"),
        (b"\n \n", r"cases\.jsonl.* has no cases"),
    ],
)
def test_what_are_no_cases_or_no_case_file_is_an_error(source, said, path):
    if isinstance(source, bytes):
        path.write_bytes(source)
        source = path
    with pytest.raises(rk.CasesError, match=said):
        rk.load_cases(source)


def test_names_are_by_line_and_the_callers_dicts_stay_as_they_were():
    raws = [case("a", reward=[0, 1], scores={"value": 1}, why="w", tolerance=0.2), FINE]
    before = json.dumps(raws)
    named = rk.load_cases(raws)
    assert [item.name for item in named] == ["line 1", "line 2"]
    assert rk.load_cases(named) == named and json.dumps(raws) == before


def test_assert_cases_raises_with_every_miss_and_takes_a_file(path):
    path.write_text(
        "\n".join(json.dumps(case(text, reward=1.5)) for text in ("1", "0.25", "0.5"))
    )
    with pytest.raises(AssertionError) as raised:
        rk.assert_cases(REWARD, path)
    title, _, *misses = str(raised.value).splitlines()
    assert title == "✗ 1 of 3 cases passed, 2 failed: reward r"
    assert [line.split()[:2] for line in misses] == [["line", "2"], ["line", "3"]]
    assert rk.assert_cases(REWARD, rk.load_cases([FINE])) is None


# cases at the end of a file, each once, under a name of its own

FOUR = {"name": "four", "completion": "4", "ground_truth": "4", "reward": 1.0}


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b'{"reward":0,   "completion":"1"}\r\n\r\n',
        '\ufeff{"completion": "é\u2028", "reward": 0}\n'.encode(),
    ],
)
def test_the_lines_that_are_there_keep_their_bytes_and_a_link_stays_a_link(
    path, before
):
    path.with_suffix(".linked").write_bytes(before)
    path.symlink_to(path.with_suffix(".linked"))
    assert append_cases(path, [FOUR]) == 1 and path.is_symlink()
    assert path.read_bytes().startswith(before) and path.read_bytes().endswith(
        b'"reward": 1.0}\n'
    )
    assert [case.name for case in rk.load_cases(path)] == ["line 1"] * bool(before) + [
        "four"
    ]


def test_a_case_is_written_once_whatever_it_is_called(path):
    renamed, turned = (
        {**FOUR, "name": "other", "why": "because"},
        dict(reversed(FOUR.items())),
    )
    other, wide = {**FOUR, "reward": 0.0}, {**FOUR, "tolerance": 0.1}
    added = [
        append_cases(path, [case, case])
        for case in (FOUR, renamed, turned, other, wide)
    ]
    assert added == [1, 0, 0, 1, 1] and len(rk.load_cases(path)) == 3


def test_a_name_that_is_taken_gets_a_number_also_one_that_a_line_has_by_its_place(path):
    path.write_text('{"completion": "1", "reward": 0}\n')
    names = ("x", "x", "x", "line 1")
    cases = [
        {**FOUR, "completion": f"c{place}", "name": name}
        for place, name in enumerate(names)
    ]
    assert append_cases(path, cases) == 4
    assert [case.name for case in rk.load_cases(path)] == [
        "line 1",
        "x",
        "x (2)",
        "x (3)",
        "line 1 (2)",
    ]


NOT_WRITTEN = [
    ("", {"completion": "4"}, "needs an expectation"),
    ("", {**FOUR, "extra": {1, 2}}, "cannot be written as JSON"),
    ("not JSON\n", FOUR, r"cases\.jsonl:2"),
]


@pytest.mark.parametrize(("before", "case", "said"), NOT_WRITTEN)
def test_what_is_no_case_is_one_sentence_and_nothing_is_written(
    path, before, case, said
):
    path.write_text(json.dumps(FOUR) + "\n" + before)
    whole = path.read_bytes()
    with pytest.raises(CasesError, match=said):
        append_cases(path, [{**FOUR, "completion": "5"}, case])
    assert path.read_bytes() == whole


def test_no_folder_and_the_bundled_cases_are_refused(tmp_path):
    for path, said in (
        (tmp_path / "no" / "cases.jsonl", "no folder"),
        ("gallery:arithmetic", "come with"),
    ):
        with pytest.raises(InputError, match=said):
            append_cases(path, [FOUR])
