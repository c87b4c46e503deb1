"""A case file that follows a reward: what is taken over, what keeps its bytes, and what is refused."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner
from commands import record, refused, write_rows

import rewardkit as rk
from rewardkit.cli import main
from rewardkit.scoring.case_updates import (
    Update,
    propose_updates,
    replace_component,
    suggest_component,
    update_cases,
)
from rewardkit.scoring.check_result import ABOVE, BELOW, DROPPED, EQUAL

SOURCE = """
import rewardkit as rk

def number(completion):
    return None if completion == "skip" else float(completion)

def half(completion):
    return None if completion == "skip" else float(completion) / 2

reward = rk.Reward("r", {}, [rk.Component("size", number), rk.Component("part", half, weight=0.5)])
"""
ORDER = {"above": {"completion": "1"}, "below": {"completion": "0.5"}}
# fits: size 1, part 0.5, in all 1.25
CASES = {
    "fine": {"completion": "1", "reward": 1.25},
    "value": {"completion": "1", "why": "w", "reward": 1.5, "ground_truth": "x"},
    "range": {"completion": "1", "reward": [1.5, 1.75]},
    "status": {"completion": "skip", "reward": 1.5},
    "score": {"scores": {"size": 0.5, "part": 0.5}, "completion": "1"},
    "order": {"above": {"completion": "0"}, "below": {"completion": "1"}},
    "tie": {"above": {"completion": "1"}, "below": {"completion": "1.0"}},
    "error": {"completion": "bad", "reward": 1.5},
    "pair": {**ORDER, "why": "TODO: which?"},
    "alone": {"completion": "1", "why": "TODO: what is it worth?"},
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOURCE)
    lines = [json.dumps({"name": name, **case}) for name, case in CASES.items()]
    (tmp_path / "cases.jsonl").write_text("\n\n".join(lines) + "\r\n")
    return tmp_path


@pytest.fixture
def reward(folder):
    return rk.load_reward("mine.py")


def listed(path="cases.jsonl"):
    """Name -> the case as the file has it."""
    lines = Path(path).read_text().splitlines()
    cases = map(json.loads, filter(str.strip, lines))
    return {case["name"]: case for case in cases}


def test_what_is_proposed_makes_a_case_pass_and_an_error_or_a_tie_is_no_proposal(
    reward,
):
    proposed = propose_updates(rk.check(reward, "cases.jsonl"))
    assert proposed == [
        Update("value", "reward", 1.25),
        Update("range", "reward", [1.125, 1.375]),
        Update("status", "reward", "unscored"),
        Update("score", "size", 1.0),
        Update("order", "reward", BELOW),
    ]
    assert update_cases("cases.jsonl", proposed) == 5
    result = rk.check(reward, "cases.jsonl")
    assert {miss.case for miss in result.misses} == {"tie", "error"}


def test_other_lines_keep_their_bytes_and_a_case_the_order_of_its_keys(folder):
    before = (folder / "cases.jsonl").read_bytes().split(b"\n")
    assert update_cases("cases.jsonl", [Update("value", "reward", 1.25)]) == 1
    after = (folder / "cases.jsonl").read_bytes().split(b"\n")
    changed = [at for at, line in enumerate(after) if line != before[at]]
    assert len(before) == len(after) and changed == [2]
    assert list(listed()["value"]) == [
        "name",
        "completion",
        "why",
        "reward",
        "ground_truth",
    ]
    assert update_cases("cases.jsonl", [Update("fine", "reward", 1.25)]) == 0


@pytest.mark.parametrize(
    ("update", "case"),
    [
        (Update("pair", "reward", ABOVE), {**ORDER, "why": "which?"}),
        (
            Update("pair", "reward", BELOW),
            {"above": ORDER["below"], "below": ORDER["above"], "why": "which?"},
        ),
        (
            Update("pair", "reward", EQUAL),
            {"equal": [ORDER["above"], ORDER["below"]], "why": "which?"},
        ),
        (
            Update("alone", "reward", 1.25),
            {"completion": "1", "why": "what is it worth?", "reward": 1.25},
        ),
    ],
)
def test_what_was_undecided_is_decided(folder, reward, update, case):
    assert update_cases("cases.jsonl", [update]) == 1
    assert listed()[update.case] == {"name": update.case, **case}
    assert rk.check(reward, "cases.jsonl").undecided == 1


@pytest.mark.parametrize(("decision", "key"), [(BELOW, "above"), (EQUAL, "equal")])
def test_a_pair_without_an_order_is_decided_or_dropped(tmp_path, decision, key):
    path = tmp_path / "pairs.jsonl"
    sides = [*ORDER.values()]
    rows = [
        {"name": name, "prompt": "?", "pair": sides, "why": "TODO: which?"}
        for name in "ab"
    ]
    write_rows(path, rows)
    updates = [Update("a", "reward", decision), Update("b", "reward", DROPPED)]
    assert update_cases(path, updates) == 2
    (case,) = listed(path).values()
    assert [*case] == ["name", "prompt", key, *(["below"] * (key == "above")), "why"]
    assert case[key] == (sides if key == "equal" else sides[1])
    assert case["why"] == "which?"


NAMED = [
    {"name": "a", "completion": "1", "scores": {"x": 1, "old": 0.5}, "reward": 1.25},
    {"name": "b", "completion": "0.4", "scores": {"old": [0.1, 0.3]}},
    {"name": "c", **ORDER, "component": "old"},
    {"name": "d", "completion": "1", "reward": 1.25},
]


@pytest.fixture
def named(folder):
    text = "".join(f"{json.dumps(case)}\n" for case in NAMED)
    (folder / "cases.jsonl").write_text(text)


def test_a_renamed_component_is_found_by_what_it_gives_and_keeps_its_place(
    reward, named
):
    cases = rk.load_cases("cases.jsonl")
    assert suggest_component(reward, cases, "old") == "part"
    assert replace_component("cases.jsonl", reward, "old", ["part"]) == 3
    assert list(listed()["a"]["scores"].items()) == [("x", 1), ("part", 0.5)]
    assert listed()["b"]["scores"] == {"part": [0.1, 0.3]}
    assert listed()["c"]["component"] == "part" and listed()["d"] == NAMED[3]


def test_of_a_split_component_nothing_is_expected_until_a_person_has_decided(
    reward, named
):
    assert replace_component("cases.jsonl", reward, "old", ["size", "part"]) == 3
    asked = "old was to be {} before it was split; what are size, part to be?"
    first, second = listed()["a"], listed()["b"]
    assert (first["scores"], first["reward"]) == ({"x": 1}, 1.25)
    assert first["why"] == f"({asked.format(0.5)})"
    assert "scores" not in second
    assert second["why"] == f"TODO: {asked.format([0.1, 0.3])}"
    assert listed()["c"]["component"] == "size"
    result = rk.check(reward, "cases.jsonl", ignore=["x"])
    assert result.is_met and (result.passed, result.undecided) == (3, 1)


BAD = [
    (lambda reward: update_cases("cases.jsonl", [Update("nun", "reward", 1)]), "'nun'"),
    (lambda reward: update_cases("gallery:gsm8k", []), "come with rewardkit"),
    (
        lambda reward: replace_component("cases.jsonl", reward, "old", ["siez"]),
        "did you mean 'size'",
    ),
    (
        lambda reward: replace_component("cases.jsonl", reward, "no", ["size"]),
        "names a component 'no'",
    ),
]


@pytest.mark.parametrize(("change", "said"), BAD, ids=[said for _, said in BAD])
def test_what_cannot_be_updated_is_one_sentence_and_the_file_is_as_it_was(
    folder, reward, named, change, said
):
    before = (folder / "cases.jsonl").read_bytes()
    with pytest.raises(rk.InputError, match=said):
        change(reward)
    assert (folder / "cases.jsonl").read_bytes() == before


# the command


def asked(line, answers):
    """What becomes of a command to which a person answers so."""
    text = "".join(f"{answer}\n" for answer in answers)
    return CliRunner().invoke(main, line.split(), input=text)


CHECK = "check mine.py cases.jsonl --timeout 0"


def test_what_is_named_is_taken_over_by_case_and_by_component(folder):
    done = record(f"{CHECK} --accept value --accept size", 1)
    assert (done["updated"], done["passed"], done["failed"]) == (2, 3, 5)
    assert (listed()["value"]["reward"], listed()["score"]["scores"]["size"]) == (
        1.25,
        1.0,
    )
    done = record(f"{CHECK} --accept reward", 1)
    assert (done["updated"], {miss["case"] for miss in done["misses"]}) == (
        3,
        {"tie", "error"},
    )


def test_a_person_is_asked_one_by_one_and_what_is_accepted_is_written(folder):
    # value, range, status, score, order; then pair and alone
    done = asked(f"{CHECK} --update", ["y", "n", "y", "y", "y", "2", "y"])
    assert (done.exit_code, done.stdout.splitlines()[0]) == (
        1,
        "6 cases updated in cases.jsonl",
    )
    assert "reward: expected 1.5, got 1.25" in done.stderr
    assert listed()["range"] == {"name": "range", **CASES["range"]}
    assert listed()["pair"]["above"] == ORDER["below"]
    assert listed()["alone"]["reward"] == 1.25
    assert (
        done.stdout.splitlines()[1] == "\u2717 6 of 10 cases passed, 4 failed: reward r"
    )


def test_a_person_calls_two_equally_good_and_drops_a_case(folder):
    done = asked(f"{CHECK} --update", [*"nnnnn", "e", "d"])
    assert done.stdout.startswith("2 cases updated in cases.jsonl")
    assert "e: they are equally good (d: drop the case, s: decide later" in done.stderr
    assert listed()["pair"]["equal"] == [*ORDER.values()] and "alone" not in listed()


def test_q_ends_the_questions_and_nobody_to_answer_writes_nothing(folder):
    before = (folder / "cases.jsonl").read_bytes()
    done = asked(f"{CHECK} --update", [])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--update asks, and nobody answers here" in done.stderr
    assert (folder / "cases.jsonl").read_bytes() == before
    assert "1 case updated" in asked(f"{CHECK} --update", ["y", "q"]).stdout


@pytest.mark.parametrize(
    ("answer", "names"),
    [("", ["part"]), ("size, part", []), ("-", ["old"])],
)
def test_a_component_that_is_gone_is_asked_about_once(folder, named, answer, names):
    done = asked(f"{CHECK} --ignore x --update", [answer, "q"])
    assert "3 cases ('a', 'b', 'c') name 'old'" in done.stderr
    assert list(listed()["b"].get("scores", [])) == names
    assert done.exit_code == int(answer == "-")


def test_a_component_is_renamed_without_a_question(folder, named):
    done = record(f"{CHECK} --ignore x --rename old=part")
    assert (done["updated"], done["unknown"]) == (3, {})


REFUSED = [
    ("--rename old", "--rename old is no OLD=NEW"),
    ("--rename old=prat", "did you mean 'part'"),
    ("--accept vale", "did you mean 'value'"),
    ("--accept tie", "there is nothing to take over"),
]


@pytest.mark.parametrize(("option", "said"), REFUSED)
def test_what_cannot_be_taken_over_is_refused(folder, option, said):
    if "old" in option:
        (folder / "cases.jsonl").write_text(json.dumps(NAMED[1]))
    refused(f"{CHECK} {option}", said)
