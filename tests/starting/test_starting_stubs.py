"""The cases that a task starts with: which completions, what they expect, and what is said of them."""

import re
from collections import Counter

import pytest

import rewardkit as rk

pytestmark = pytest.mark.integration

HOSTILE = "<script>\x00\u202e</script> \ud83d '''\"\"\" {x} \\ <answer>{}</answer>"


@pytest.fixture(scope="module")
def arithmetic(tmp_path_factory):
    return rk.start("sums", "gallery:arithmetic", tmp_path_factory.mktemp("sums"))


def test_there_are_twenty_that_pass_and_each_says_what_is_to_be_decided(
    arithmetic, cases
):
    listed = cases(arithmetic)
    assert (
        len(listed)
        == len({case["completion"] for case in listed})
        == arithmetic.stubs
        == 20
    )
    assert len({case["prompt"] for case in listed}) == 20
    assert all(case["why"].startswith("TODO: ") for case in listed)
    assert (
        rk.check(rk.load_reward(str(arithmetic.reward)), arithmetic.cases).misses == ()
    )


def test_they_are_of_every_kind_and_what_they_are_called(arithmetic, cases):
    kinds = {}
    for case in cases(arithmetic):
        kinds.setdefault(case["name"].partition(" (")[0], []).append(case)
    expected = {
        "readings differ": 7,
        "at a threshold": 4,
        "highest reward": 4,
        "right": 2,
        "wrong": 3,
    }
    assert {kind: len(listed) for kind, listed in kinds.items()} == expected
    whys = " ".join(case["why"] for case in kinds["readings differ"])
    assert (
        "tag(\"answer\") takes '2 + 6 = 8.', number() takes '8'; the truth is '8'"
        in whys
    )
    assert (
        "tag(\"answer\") takes nothing, number() takes '12'; the truth is '12'" in whys
    )
    near = kinds["at a threshold"]
    assert {case["scores"]["concise"] for case in near} >= {1.0, 0.9375}
    assert all(case["scores"]["correct"] == 1.0 for case in near + kinds["right"])
    assert all("full credit to 16, none from 32" in case["why"] for case in near)
    scores = rk.score(rk.load_reward(str(arithmetic.reward)), "gallery:arithmetic")
    assert [case["reward"] for case in kinds["highest reward"]] == pytest.approx(
        [max(scores.rewards)] * 4
    )
    assert {case["scores"]["correct"] for case in kinds["wrong"]} == {0.0}


def test_a_log_of_few_different_completions_gives_few(written, cases):
    row = {"prompt": "2+2?", "completion": "<answer>4</answer>", "ground_truth": "4"}
    made = written([row] * 8 + [{**row, "completion": "5"}] * 8)
    assert sorted(case["completion"] for case in cases(made)) == [
        "5",
        "<answer>4</answer>",
    ]


def test_hostile_texts_and_nulls_come_back_as_they_were(written, cases):
    texts = [HOSTILE.replace("{}", str(at)) for at in range(40)]
    rows = [
        {
            "prompt": HOSTILE,
            "completion": text,
            "data_source": f"'\"\n\u202e{len(text) % 2}",
        }
        for text in texts
    ]
    for at, row in enumerate(rows):
        row["ground_truth"] = None if at % 3 == 0 else str(at % 5)
    made = written(rows)
    listed = cases(made)
    assert {case["completion"] for case in listed} <= {
        row["completion"] for row in rows
    }
    assert any(case["ground_truth"] is None for case in listed)
    assert any(case["reward"] == "unscored" for case in listed)
    assert rk.check(rk.load_reward(str(made.reward)), made.cases).misses == ()


def test_a_transcript_is_a_case_by_its_last_answer(written, cases):
    turns = [
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"function": {"name": "look"}}],
        },
        {"role": "tool", "content": "<answer>Rome</answer>"},
    ]
    said = [
        {"role": "assistant", "content": f"<answer>{city}</answer>"}
        for city in ("Oslo", "Rome")
    ]
    asked = [{"role": "user", "content": f"Capital of {at}?"} for at in range(30)]
    rows = [
        {"messages": [one, *turns, said[at % 2]], "ground_truth": "Oslo"}
        for at, one in enumerate(asked)
    ]
    listed = cases(written(rows))
    assert {case["completion"] for case in listed} == {
        "<answer>Oslo</answer>",
        "<answer>Rome</answer>",
    }
    assert all("messages" not in case for case in listed)


def test_of_a_route_each_source_has_its_cases_and_its_own_components(tmp_path, cases):
    made = rk.start("both", "gallery:mixed", tmp_path)
    listed = cases(made)
    sources = Counter(case["data_source"] for case in listed)
    assert sum(sources.values()) == 20 and min(sources.values()) >= 5
    people = [case for case in listed if case["data_source"] == "people-json"]
    assert {tuple(case["scores"]) for case in people} == {
        ("values", "correct", "format")
    }
    assert (
        0
        < min(
            case["scores"]["values"] for case in people if "threshold" in case["name"]
        )
        < 1
    )


def test_long_completions_come_after_short_ones(written, cases):
    row = {"prompt": "2+2?", "ground_truth": "4"}
    long = [
        {**row, "completion": f"{at} " + "word " * 5000 + "<answer>4</answer>"}
        for at in range(20)
    ]
    short = [{**row, "completion": f"{at} {at}<answer>4</answer>"} for at in range(20)]
    listed = cases(written([*long, *short]))
    at_their_length = (
        "highest",
        "at a threshold",
    )  # the limits of this log are those of its long ones
    others = [
        case["completion"]
        for case in listed
        if not case["name"].startswith(at_their_length)
    ]
    assert others and max(map(len, others)) < 100


def test_the_first_number_is_held_against_the_last_and_a_limit_has_only_what_is_near_it(
    written, cases
):
    """Completions of 20 words at most, each saying a wrong number before the right one."""
    said = [f"I think {at}, {'well ' * (at % 18)}or {at // 4 + 1}" for at in range(40)]
    named = ((text, at // 4) for at, text in enumerate(said))
    rows = [
        {"prompt": f"{n} + 1?", "completion": text, "ground_truth": str(n + 1)}
        for text, n in named
    ]
    found = cases(written(rows))
    differ = [case for case in found if case["name"].startswith("readings differ")]
    assert len(differ) >= 7 and all(
        'number(which="first") takes' in case["why"] for case in differ
    )
    for case in found:
        if case["name"].startswith("at a threshold"):
            size = len(case["completion"].split())
            full, none = map(
                int, re.findall(r"credit to (\d+), none from (\d+)", case["why"])[0]
            )
            assert min(abs(size - full) / full, abs(size - none) / none) <= 0.25


@pytest.mark.parametrize("rare", [0, 3])
def test_a_log_in_which_hardly_an_answer_is_read_gives_a_reward_that_runs(
    written, cases, rare
):
    said = ["<answer>4</answer>"] * rare + ["no idea"] * (40 - rare)
    rows = [
        {"prompt": "how many?", "completion": text, "ground_truth": "4"}
        for text in said
    ]
    made = written(rows)
    assert len(cases(made)) >= 1
    (taken,) = [
        line
        for line in made.reward.read_text().splitlines()
        if line.endswith("  taken")
    ]
    told = 'tag("answer") 7.5 % 7.5 %' if rare else "number() 0 % 0 %"
    assert " ".join(taken.split()) == f"# {told} taken"
