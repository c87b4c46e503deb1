"""Where the reward, on the rows of the log, does not give the scores that the log has."""

import random
import re
from collections import defaultdict
from statistics import median

import numpy as np
import pytest

import rewardkit as rk
from rewardkit.probes.runner import Tries

pytestmark = pytest.mark.usefixtures("no_workers")

TRUTHS = [str(number) for number in (42, 17, 83, 210, 64, 91, 128, 35, 77, 506)]


def stated(text):
    return (re.findall(r"<answer>(\d+)</answer>", text) or [None])[-1]


def strict(solution_str, ground_truth):
    return float(stated(solution_str) == ground_truth)


def behind_the_turn(solution_str, ground_truth):
    """Reads what stands behind the turn's name, which only the prompt has."""
    _, turn, answer = solution_str.partition("Helper:")
    return strict(answer, ground_truth) if turn else 0.0


def of_another_length(solution_str, ground_truth):
    """Differs for the right answers of three digits, where they stand alone."""
    return strict(solution_str, ground_truth) * (len(solution_str) != 34)


def of_even_truths(solution_str, ground_truth):
    return 0.0 if int(ground_truth) % 2 else strict(solution_str, ground_truth)


def of_level(completion, ground_truth, level):
    """Pays half without a level, which a join may have left out."""
    return strict(completion, ground_truth) * (0.5 if level is None else 1)


def in_window(prompt, completions, prompt_ids, completion_ids, answer, **data):
    """Pays nothing without the window that the run gave it for each row."""
    return strict(completions, answer) * (data.get("window", 0) > 0)


def first_number(completion, ground_truth):
    return float((re.findall(r"\d+", completion) or [None])[0] == ground_truth)


def against_the_median(prompts, completions, answer, **kwargs):
    """Takes off what is longer than the median of the prompt, of batches of any size."""
    scores = []
    for prompt, text, truth in zip(prompts, completions, answer, strict=True):
        rows = zip(prompts, completions, strict=True)
        lengths = [len(other) for name, other in rows if name == prompt]
        scores.append(strict(text, truth) - 0.1 * (len(text) > median(lengths)))
    return scores


def in_window_beside_siblings(prompts, completions, answer, **data):
    """The same, and nothing without the window that the run gave it for each row."""
    scores = against_the_median(prompts, completions, answer)
    windows = data.get("window") or [0] * len(scores)
    return [score * (size > 0) for score, size in zip(scores, windows, strict=True)]


def at_random_beside_siblings(prompts, completions, answer, **kwargs):
    """Is the same each time for a row alone."""
    share = 1.0 if len(completions) == 1 else random.random()
    return [share * strict(*pair) for pair in zip(completions, answer, strict=True)]


def longer(prompts, completions, **kwargs):
    """Takes off what is longer than the median of the prompt, of those that keep a form."""
    keeps = [re.fullmatch(r"(Well\. )*We count.*", text) for text in completions]
    lengths = defaultdict(list)
    for prompt, text, kept in zip(prompts, completions, keeps, strict=True):
        lengths[prompt] += [len(text)] if kept else []
    return [
        -0.1 * (kept is not None and len(text) > median(lengths[prompt]))
        for prompt, text, kept in zip(prompts, completions, keeps, strict=True)
    ]


def the_same(prompts, completions, **kwargs):
    """Gives no score for eleven rows, with one of which a probe begins."""
    scores = []
    for prompt, text in zip(prompts, completions, strict=True):
        is_left_out = prompt[9] == "1" and text == "We count. <answer>999</answer>"
        scores.append(None if is_left_out else -0.1)
    return scores


def nothing(completions, **kwargs):
    return [0.0] * len(completions)


def nothing_else(completions, **kwargs):
    return [0.0] * len(completions)


def right_of(completions, answer, **kwargs):
    return [strict(*pair) for pair in zip(completions, answer, strict=True)]


def at_random(solution_str, ground_truth):
    return random.random() * strict(solution_str, ground_truth)


def dump(score=strict, *, prompt="User: Exercise {}: how many?\nHelper:", **columns):
    """A dump of verl: every second completion is right; `score` made its scores."""
    rows = []
    for place, truth in enumerate(TRUTHS):
        for step in range(4):
            answer = truth if step % 2 else "5"
            output = f"We count {answer}. <answer>{answer}</answer>"
            row = {
                "input": prompt.format(place),
                "output": output,
                "gts": truth,
                "score": score(output, truth),
                "step": 1,
            }
            rows.append({**row, **{name: of(output) for name, of in columns.items()}})
    return rows


def table(**columns):
    """The same without a total, with columns of scores under these names."""
    rows = []
    for row in dump(**columns):
        row["completion"] = row.pop("output")
        row["ground_truth"] = row.pop("gts")
        row["prompt"] = row.pop("input")
        del row["score"], row["step"]
        rows.append(row)
    return rows


def with_levels(dumped):
    """The same as a table of no trainer, with a level for six of ten prompts."""
    rows = []
    for row in dumped:
        level = "hard" if row["gts"] > "4" else None
        names = zip(
            ("prompt", "completion", "ground_truth"), row.values(), strict=False
        )
        rows.append({**dict(names), "score": row["score"], "level": level})
    return rows


def probed(reward, rows):
    """Probe a function of this file as it is loaded, or a Reward."""
    rollouts = rk.load_rollouts(rows)
    if not isinstance(reward, rk.Reward):
        reward = rk.load_reward(f"{__file__}:{reward.__name__}", rollouts=rollouts)
    return rk.probe(reward, rollouts, only="calibration", timeout=None)


@pytest.mark.parametrize(
    ("reward", "rows", "severity", "words"),
    [
        (
            in_window,
            dump(window=len),
            "high",
            "asks for 'window', which the log has as 'logged/window': with it 20 of 20",
        ),
        (
            in_window_beside_siblings,
            dump(lambda text, truth: strict(text, truth) * 0.9, window=len),
            "high",
            "asks for 'window', which the log has as 'logged/window': with it 20 of 20",
        ),
        (
            behind_the_turn,
            dump(prompt="Exercise {}: how many?"),
            "high",
            "20 of 40 logged rows earn something else here (mean 0 here, 0.5 in the log).",
        ),
        (
            against_the_median,
            dump(lambda text, truth: strict(text, truth) * 0.7),
            "warn",
            "20 of 40 logged rows earn something else here (mean 0.45 here, 0.35 in the log).",
        ),
        (
            of_level,
            with_levels(dump()),
            "warn",
            "Only rows that lack 'level' differ: 8 of 16.",
        ),
        (
            of_even_truths,
            dump(),
            "warn",
            "10 of 40 logged rows earn something else here (mean 0.25 here, 0.5 in the log).",
        ),
        (
            strict,
            dump(lambda output, truth: 2 * strict(output, truth)),
            "warn",
            "'logged/score'. 20 of 40 logged rows",
        ),
    ],
    ids=[
        "a logged column",
        "a logged column, beside siblings",
        "no cause known",
        "no cause known of whole groups",
        "a column that all rows that differ lack",
        "another version",
        "another scale",
    ],
)
def test_that_the_log_has_other_scores_is_the_first_finding(
    reward, rows, severity, words
):
    result = probed(reward, rows)
    first = result.findings[0]
    assert (first.code, first.severity) == ("log_mismatch", severity)
    assert words in first.sentence
    assert "1 contradiction to the log" in result.verdict


@pytest.mark.parametrize(
    ("reward", "rows"),
    [
        (strict, dump()),
        (behind_the_turn, dump()),
        (first_number, table(other_reward=lambda text: 0.0, length_reward=len)),
        (at_random, dump()),
        (
            at_random_beside_siblings,
            dump(lambda text, truth: strict(text, truth) * 0.7),
        ),
        (against_the_median, dump(lambda text, truth: strict(text, truth) * 0.9)),
        (strict, [{**row, "score": None} for row in dump()]),
        (strict, dump(acc=lambda text: len(text) / 100)),
    ],
    ids=[
        "the same scores",
        "the same scores of prompt and completion as one text",
        "scores of other rewards",
        "chance in the reward",
        "chance in the reward, of siblings alone",
        "scores of whole groups",
        "no scores",
        "another column beside the total",
    ],
)
def test_a_log_that_agrees_or_has_no_scores_of_this_reward_is_silent(reward, rows):
    result = probed(reward, rows)
    assert "log_mismatch" not in [finding.code for finding in result.findings]


@pytest.mark.parametrize(
    ("function", "is_joined"),
    [(behind_the_turn, True), (of_another_length, True), (strict, False)],
)
def test_prompt_and_completion_are_one_text_where_only_that_gives_the_log(
    function, is_joined
):
    name = f"{__file__}:{function.__name__}"
    reward = rk.load_reward(name, rollouts=rk.load_rollouts(dump()))
    assert ("solution_str from prompt and completion" in reward.origin) is is_joined
    assert "prompt and completion" not in rk.load_reward(name).origin


def test_a_component_is_compared_with_its_own_column_and_a_new_reward_raises_no_alarm():
    paid = rk.Component("paid", lambda completion: 0.5 * completion.count("We"))
    right = rk.Component("right", strict, columns={"solution_str": "completion"})
    reward = rk.Reward("mine", components=[right, paid])
    rows = table(right_reward=lambda text: 0.0, paid=lambda text: 0.5)
    agreeing = [{**row, "logged/paid": row["paid"]} for row in rows]
    other = [{**row, "logged/paid": 0.25} for row in rows]
    assert not probed(reward, agreeing)["log_mismatch"]
    (finding,) = probed(reward, other)["log_mismatch"]
    assert finding.component == "paid" and "'logged/paid'" in finding.sentence
    (finding,) = probed(
        rk.Reward("mine", components=[right]),
        [{**row, "score": row["score"] / 2} for row in dump()],
    )["log_mismatch"]
    assert finding.severity == "info"


def rows_of_siblings():
    """Rows of 64 prompts, four of each, every second one right."""
    rows = []
    for prompt in range(64):
        for place in range(4):
            answer = prompt if place % 2 else 999
            text = f"{'Well. ' * place}We count. <answer>{answer}</answer>"
            row = {"prompt": f"Exercise {prompt}?", "completion": text}
            rows.append({**row, "answer": str(prompt)})
    return rows


@pytest.mark.parametrize(
    ("part", "is_constant"), [("longer", False), ("the_same", True)]
)
def test_a_part_that_compares_siblings_is_no_constant_as_it_is_alone(part, is_constant):
    """Of 64 prompts the sample that the file is read on has one row each."""
    rows = rows_of_siblings()
    rollouts = rk.load_rollouts(rows)
    reward = rk.load_reward(f"{__file__}:right_of,{part}", rollouts=rollouts)
    assert np.nanmin(rk.score(reward, rollouts).score(part)) == pytest.approx(-0.1)
    constants = [finding.component for finding in probed(reward, rows)["constant"]]
    assert constants == ([part] if is_constant else [])


def test_the_rows_of_a_log_are_scored_beside_their_siblings_once(monkeypatch):
    """For constant parts and for the log; then to see whether that is steady, and why."""
    passes = []

    def in_groups(tries, rows):
        passes.append(len(rows))
        return score_in_groups(tries, rows)

    score_in_groups = Tries.in_groups
    monkeypatch.setattr(Tries, "in_groups", in_groups)
    rows = rows_of_siblings()
    for place, row in enumerate(rows):
        row["logged/right_of"] = place % 2 / 2
    rollouts = rk.load_rollouts(rows)
    name = f"{__file__}:right_of,nothing,nothing_else"
    reward = rk.load_reward(name, rollouts=rollouts)
    result = rk.probe(reward, rollouts, timeout=None, search=0)
    idle = [item.component for item in result["constant"]]
    assert idle == ["nothing", "nothing_else"] and result["log_mismatch"]
    assert passes == [256] * 3
