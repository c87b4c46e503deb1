"""The cases that a task starts with: which pairs of completions, what is decided, and what is asked of them."""

from collections import Counter

import pytest

import rewardkit as rk
from rewardkit.starting import start as starting

pytestmark = pytest.mark.integration

HOSTILE = "<script>\x00\u202e</script> \ud83d '''\"\"\" {x} \\ <answer>{}</answer>"


def completions(case):
    """The completions of a case, one or two."""
    if "pair" in case:  # nobody has decided yet which is better
        assert case["why"].startswith("TODO: ")
        return [side["completion"] for side in case["pair"]]
    if "above" not in case:
        return [case["completion"]]
    assert not case["why"].startswith("TODO")
    return [case["above"]["completion"], case["below"]["completion"]]


def kinds_of(listed):
    """Kind of case -> the cases of it."""
    kinds = {}
    for case in listed:
        kinds.setdefault(case["name"].partition(" (")[0], []).append(case)
    return kinds


def test_there_are_twenty_pairs_of_many_kinds_and_none_says_what_is_given_now(
    sums, cases
):
    listed = cases(sums)
    texts = [text for case in listed for text in completions(case)]
    assert (len(listed), len(set(texts)), sums.decided) == (20, 40, 6)
    assert len({case["prompt"] for case in listed}) == 20
    assert not any("reward" in case or "scores" in case for case in listed)
    expected = {
        "right above wrong": 6,
        "readings differ": 4,
        "cut off": 3,
        "long and short": 2,
        "form": 2,
        "highest reward": 2,
        "same reward": 1,
    }
    kinds = kinds_of(listed)
    assert {kind: len(items) for kind, items in kinds.items()} == expected
    assert any(
        not text.endswith(">")
        for case in kinds["cut off"]
        for text in completions(case)
    )


def test_only_what_the_truth_decides_is_decided_and_it_says_why(sums, cases):
    answer = rk.extract.tag("answer")
    for case in cases(sums):
        right, wrong = (answer(text) for text in completions(case))
        if case["name"].startswith("right above wrong"):
            assert right == case["ground_truth"] != wrong
            assert case["why"].startswith(
                f"the truth is {case['ground_truth']!r}: {right!r} is right"
            )
        else:
            assert case["why"].startswith("TODO: ")
    result = rk.check(rk.load_reward(str(sums.reward)), sums.cases)
    assert (result.passed, result.failed, result.undecided) == (6, 0, 14)


def test_a_log_of_few_different_completions_gives_few(written, cases):
    row = {"prompt": "2+2?", "completion": "<answer>4</answer>", "ground_truth": "4"}
    made = written([row] * 8 + [{**row, "completion": "5"}] * 8)
    (case,) = cases(made)
    assert completions(case) == ["<answer>4</answer>", "5"]
    assert (made.decided, made.undecided) == (1, 0)


def test_a_completion_without_a_sibling_is_asked_about_alone(written, cases):
    rows = [
        {
            "prompt": f"{at}?",
            "completion": f"<answer>{at}</answer>",
            "ground_truth": "3",
        }
        for at in range(6)
    ]
    made = written(rows)
    assert (made.decided, made.undecided) == (0, 6)
    case = cases(made)[0]
    assert case["why"].startswith("TODO: what is this worth")
    assert not {"reward", "scores", "above"} & case.keys()


def test_completions_that_the_log_says_were_cut_off_are_asked_about(written, cases):
    rows = []
    for at in range(8):
        row = {"prompt": f"{at} + 1?", "ground_truth": str(at + 1)}
        ends = {"stop": f"<answer>{at}</answer>", "length": f"well, {at} and <answer>."}
        for reason, text in ends.items():
            rows.append({**row, "completion": text, "finish_reason": reason})
    kinds = kinds_of(cases(written(rows)))
    assert len(kinds["cut off"]) >= 3
    for case in kinds["cut off"]:
        assert "one was cut off, the other was not" in case["why"]


@pytest.mark.parametrize(("reason", "decided"), [("stop", 6), (None, 0)])
def test_what_may_have_been_cut_off_is_taken_for_neither(
    reason, decided, written, cases
):
    rows = []
    for at in range(16):
        row = {"prompt": f"{at} + 1?", "ground_truth": str(at + 1)}
        for answer in (at + 1, at):
            text = f"<answer>{answer}</answer>"
            rows.append({**row, "completion": text, "finish_reason": reason})
        rows.append(
            {
                **row,
                "completion": f"well, {at} and <answer>.",
                "finish_reason": "length",
            }
        )
    made = written(rows)
    assert made.decided == decided
    assert ("cut off" in kinds_of(cases(made))) is (reason == "stop")


def test_of_a_long_log_whole_prompts_are_drawn(written, cases, monkeypatch):
    monkeypatch.setattr(starting, "MOST_MEASURED", 40)
    rows = [
        {
            "prompt": f"{at} + 1?",
            "completion": f"<answer>{at + place}</answer>",
            "ground_truth": str(at + 1),
        }
        for at in range(50)
        for place in range(4)
    ]
    made = written(rows)
    assert made.measured == 40 and made.decided >= 6


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
    written_texts = {text for case in listed for text in completions(case)}
    assert written_texts and written_texts <= {row["completion"] for row in rows}
    assert any(case["ground_truth"] is None for case in listed)
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
    asked = [{"role": "user", "content": f"Capital of {at // 2}?"} for at in range(30)]
    rows = [
        {
            "prompt_id": at // 2,
            "messages": [one, *turns, said[at % 2]],
            "ground_truth": "Oslo",
        }
        for at, one in enumerate(asked)
    ]
    listed = cases(written(rows))
    assert listed
    for case in listed:
        right, wrong = "<answer>Oslo</answer>", "<answer>Rome</answer>"
        assert completions(case) == [right, wrong]
        assert "messages" not in case


def test_of_a_route_each_source_has_its_cases_and_its_own_components(tmp_path, cases):
    made = rk.start("both", "gallery:mixed", tmp_path)
    listed = cases(made)
    sources = Counter(case["data_source"] for case in listed)
    assert sum(sources.values()) == 20 and min(sources.values()) >= 5, sources


def test_long_completions_come_after_short_ones(written, cases):
    row = {"prompt": "2+2?", "ground_truth": "4"}
    long = [
        {**row, "completion": f"{at} " + "word " * 5000 + "<answer>4</answer>"}
        for at in range(20)
    ]
    short = [{**row, "completion": f"{at} {at}<answer>4</answer>"} for at in range(20)]
    listed = cases(written([*long, *short]))
    assert listed and max(len(text) for text in completions(listed[0])) < 100


def test_the_first_number_is_held_against_the_last(written, cases):
    """Of each prompt one completion says a wrong number before the right one."""
    rows = []
    for at in range(40):
        text = f"I think {at}, or {at + 1}"
        for completion in (text, f"it is {at + 1}"):
            row = {"prompt": f"{at} + 1?", "completion": completion}
            rows.append({**row, "ground_truth": str(at + 1)})
    differ = kinds_of(cases(written(rows)))["readings differ"]
    assert len(differ) >= 4
    for case in differ:
        assert 'number(which="first") takes' in case["why"]


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


def test_where_the_log_calls_another_one_right_nothing_is_decided_and_it_is_asked(
    written, cases
):
    """Of each prompt a right completion and a wrong one; of every second the log says the reverse."""
    rows = []
    for at in range(40):
        for place in range(2):
            row = {"prompt": f"{at} + 0?", "ground_truth": str(at)}
            row["completion"] = f"<answer>{at + place}</answer>"
            rows.append({**row, "passed": (place == 0) == (at % 2 == 0)})
    kinds = kinds_of(cases(written(rows)))
    assert len(kinds["right above wrong"]) >= 6
    for case in kinds["right above wrong"]:
        assert int(case["ground_truth"]) % 2 == 0
    assert len(kinds["log disagrees"]) >= 4
    for case in kinds["log disagrees"]:
        assert completions(case)[1] == f"<answer>{case['ground_truth']}</answer>"
        assert "the log's 'passed' calls only the first right" in case["why"]


def test_siblings_whose_prompts_differ_are_asked_about_alone(written, cases):
    """A simulated user begins each trial in other words (tau-bench)."""
    rows = [
        {
            "prompt_id": at // 2,
            "prompt": f"Hi, {at}!",
            "completion": f"<answer>{at}</answer>",
            "ground_truth": "1",
        }
        for at in range(12)
    ]
    assert kinds_of(cases(written(rows))).keys() == {"alone"}
