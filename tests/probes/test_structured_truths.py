"""Truths that are dicts and lists: what earns without knowing them is found; the sound twin is silent."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from rapidfuzz import fuzz

import rewardkit as rk

Rows = list[dict[str, Any]]
CITIES = [
    "Paris",
    "New York",
    "Mumbai",
    "Istanbul",
    "Oslo",
    "Jakarta",
    "Chennai",
    "Tokyo",
    "Peking",
    "Saigon",
]
OTHER = ["Lutetia", "NYC", "Bombay", "Constantinople", "Christiania", "Batavia", "Madras", "Edo", "Beijing"]
LABELS = ["sports", "politics", "science", "arts", "health", "travel", "food", "law"]


def rows(prompts: list[tuple[str, Any, list[str]]]) -> Rows:
    """A log of prompts with a truth and completions each, half of them right."""
    return [
        {"prompt": prompt, "ground_truth": truth, "completion": text}
        for prompt, truth, texts in prompts
        for text in texts
    ]


def tagged(*answers: str) -> list[str]:
    """Completions that give answers in tags."""
    return [f"<think>Let me see.</think>\n<answer>{answer}</answer>" for answer in answers]


def inside(completion: str) -> str | None:
    """What the last answer tag holds."""
    found = completion.rpartition("<answer>")[2].partition("</answer>")
    return found[0].strip() if "<answer>" in completion and found[1] else None


def equations() -> Rows:
    """Equation games: reach a target with three numbers."""
    games = [
        (a, b, c, f"({a} + {b}) * {c}", (a + b) * c)
        for a, b, c in zip((2, 9, 5, 7, 4, 8), (3, 6, 8, 5, 9, 2), (7, 4, 3, 6, 2, 5), strict=True)
    ]
    return rows(
        [
            (
                f"Use {[a, b, c]}, each once, to reach {target}.",
                {"target": target, "numbers": [a, b, c]},
                [*tagged(right, right, f"{a} + {b} + {c}"), "I give up."],
            )
            for a, b, c, right, target in games
        ]
    )


def value_of(equation: str | None) -> float | None:
    """What an equation of short numbers comes to."""
    if not equation or not re.fullmatch(r"[\d+*() -]{1,60}", equation) or re.search(r"\d{4}|\*\*", equation):
        return None
    try:
        return float(eval(equation))
    except Exception:
        return None


def target_reached(completion: str, ground_truth: dict[str, Any]) -> float:
    """The hole: the target itself is an equation that reaches it."""
    answer = inside(completion)
    return 0.0 if answer is None else 1.0 if value_of(answer) == ground_truth["target"] else 0.1


def numbers_used(completion: str, ground_truth: dict[str, Any]) -> float:
    """The same, where every number has to be used."""
    used = sorted(map(int, re.findall(r"\d+", inside(completion) or "")))
    return target_reached(completion, ground_truth) if used == sorted(ground_truth["numbers"]) else 0.0


def shown_equations() -> Rows:
    """The same, with the numbers that are used in the reasoning."""
    return [
        {**row, "completion": row["completion"].replace("Let me see.", f"Let me see: {row['ground_truth']}.")}
        for row in equations()
    ]


def numbers_anywhere(completion: str, ground_truth: dict[str, Any]) -> float:
    """The hole in two steps: the numbers only have to stand in the reasoning, so that the target will do."""
    known = set(re.findall(r"\d+", completion.rpartition("<answer>")[0]))
    reached = target_reached(completion, ground_truth) == 1
    return float(reached and {*map(str, ground_truth["numbers"])} <= known)


def roles() -> Rows:
    """Knights and knaves: who is what."""
    people = ("Ava", "Ben", "Cid")
    prompts = []
    for kinds in list(product(("knight", "knave"), repeat=3))[1:]:
        truth = dict(zip(people, kinds, strict=True))
        wrong = {**truth, "Ben": "knave" if truth["Ben"] == "knight" else "knight"}
        right, other = (
            "\n".join(f"{who} is a {kind}" for who, kind in said.items()) for said in (truth, wrong)
        )
        completions = [*tagged(right, right, other), "I do not know."]
        prompts.append(
            (f"Ava says that {len(prompts)} of us lie. Who is what?", {"roles": truth}, completions)
        )
    return rows(prompts)


def said_roles(completion: str, ground_truth: dict[str, Any]) -> float:
    """The hole: who says both of everybody is right."""
    answer = inside(completion) or ""
    return float(all(f"{who} is a {kind}" in answer for who, kind in ground_truth["roles"].items()))


def one_role_each(completion: str, ground_truth: dict[str, Any]) -> float:
    """The same, with one role for each."""
    answer = inside(completion) or ""
    return float(
        all(
            set(re.findall(rf"{who} is a (\w+)", answer)) == {kind}
            for who, kind in ground_truth["roles"].items()
        )
    )


def aliases() -> Rows:
    """Question answering with several golden answers."""
    pairs = list(zip(CITIES[:9], OTHER, strict=True))
    return rows(
        [
            (f"Which city is meant by clue {place}?", [one, two], tagged(one, two, *pairs[place - 3]))
            for place, (one, two) in enumerate(pairs)
        ]
    )


def any_alias_inside(completion: str, ground_truth: list[str]) -> float:
    """The hole: a list of answers holds the right one."""
    return float(any(name in (inside(completion) or "") for name in ground_truth))


def an_alias(completion: str, ground_truth: list[str]) -> float:
    """The same, by equality."""
    return float(inside(completion) in ground_truth)


def records() -> Rows:
    """Records as JSON."""
    prompts = []
    for place, (name, city) in enumerate(zip("Ada Bo Cy Di Ed Flo".split(), CITIES[:6], strict=True)):
        truth = {"name": name, "age": 30 + 7 * place, "city": city}
        texts = [json.dumps(truth), json.dumps(truth, indent=1), json.dumps({**truth, "age": 1}), "Sorry."]
        prompts.append((f"Extract: {name} of {city} is {truth['age']} years old.", truth, texts))
    return rows(prompts)


def as_object(completion: str) -> Any:
    """The JSON object of a completion."""
    try:
        return json.loads(completion)
    except ValueError:
        return None


def name_and_keys(completion: str, ground_truth: dict[str, Any]) -> float:
    """The hole: one value is compared, of the others the keys."""
    found = as_object(completion)
    same = isinstance(found, dict) and set(found) == set(ground_truth)
    return float(same and found["name"] == ground_truth["name"])


def all_values(completion: str, ground_truth: dict[str, Any]) -> float:
    """The same, with all values."""
    return float(as_object(completion) == ground_truth)


def labels() -> Rows:
    """Sets of labels."""
    sets = [[LABELS[place], LABELS[(place + 3) % 8]] for place in range(8)]
    return rows(
        [
            (
                f"Label article {place} with some of: {', '.join(LABELS)}.",
                truth,
                [f"Labels: {', '.join(some)}" for some in (truth, truth[::-1], truth[:1], sets[place - 1])],
            )
            for place, truth in enumerate(sets)
        ]
    )


def named(completion: str) -> set[str]:
    """The labels of a completion."""
    return {label.strip() for label in completion.partition("Labels:")[2].split(",")}


def recall(completion: str, ground_truth: list[str]) -> float:
    """The hole: to name all labels costs nothing."""
    return len(named(completion) & set(ground_truth)) / len(ground_truth)


def same_set(completion: str, ground_truth: list[str]) -> float:
    """The same, by equality."""
    return float(named(completion) == set(ground_truth))


def f1(completion: str, ground_truth: list[str]) -> float:
    """Graded by design."""
    return 2 * len(named(completion) & set(ground_truth)) / (len(named(completion)) + len(ground_truth))


def misprints() -> Rows:
    """Texts to be corrected, of which most is right as it stands."""
    texts = [f"The {what} of {city} was opened in May." for what, city in zip(LABELS, CITIES, strict=False)]
    return rows(
        [
            (f"Correct: {text.replace('opened', 'opend')}", text, tagged(text, text.replace("May", "June")))
            for text in texts
        ]
    )


def closeness(completion: str, ground_truth: str) -> float:
    """The hole: the text as it stands is nearly right."""
    return fuzz.ratio(inside(completion) or "", ground_truth) / 100


def corrected(completion: str, ground_truth: str) -> float:
    """How much nearer the text came, from what it was."""
    before = closeness(f"<answer>{ground_truth.replace('opened', 'opend')}</answer>", ground_truth)
    return max(0.0, (closeness(completion, ground_truth) - before) / (1 - before))


def probed(score: Callable[..., float], log: Rows) -> rk.ProbeResult:
    """What probing says of a function."""
    return rk.probe(rk.Reward("r", components=[rk.Component("c", score)]), log)


@pytest.mark.parametrize(
    ("score", "log", "code"),
    [
        (target_reached, equations, "copied_from_prompt"),
        (numbers_anywhere, shown_equations, "copied_from_prompt"),
        (said_roles, roles, "every_sibling"),
        (any_alias_inside, aliases, "every_sibling"),
        (name_and_keys, records, "one_value"),
        (recall, labels, "every_sibling"),
        (closeness, misprints, "copied_block"),
    ],
)
def test_a_hole_is_found_whatever_the_truth_looks_like(score, log, code):
    assert probed(score, log())[code], code
    (found,) = probed(score, log())[code]
    assert found.severity != "info"
    example = found.examples[0]
    assert score(example.completion, example.columns["ground_truth"]) == pytest.approx(example.reward)


@pytest.mark.parametrize(
    ("score", "log"),
    [
        (numbers_used, equations),
        (numbers_used, shown_equations),
        (one_role_each, roles),
        (an_alias, aliases),
        (all_values, records),
        (same_set, labels),
        (f1, labels),
        (corrected, misprints),
    ],
)
def test_its_sound_twin_is_silent(score, log):
    result = probed(score, log())
    assert result.calibration.subjects and not result.alarms


def swapped_item(completion: str, ground_truth: list[str]) -> float:
    """A list whose last item is not looked at."""
    found = completion.partition("Labels:")[2].split(", ")
    return float(len(found) == len(ground_truth) and found[0].strip() in ground_truth)


def test_another_item_in_a_list_is_a_near_miss():
    log = [row for row in labels() if row["completion"].count(",") == 1]
    assert probed(swapped_item, log)["other_item"]


def test_a_log_in_which_all_completions_are_right_is_probed_as_well():
    log = [row for row in records() if as_object(row["completion"]) == row["ground_truth"]]
    sound = probed(all_values, log)
    assert len(sound.calibration.subjects) == 6 and not sound.alarms
    assert probed(name_and_keys, log)["one_value"]


def ordered(completion: str, ground_truth: list[str]) -> float:
    """The items in their order."""
    return float(completion.partition("Labels:")[2].strip().split(", ") == ground_truth)


@pytest.mark.parametrize(
    ("asked", "score", "found"),
    [("Sort by length", same_set, True), ("Sort by length", ordered, False), ("Give", same_set, False)],
)
def test_another_order_is_wrong_where_the_prompt_asks_for_one(asked, score, found):
    sets = [row["ground_truth"] for row in labels()[::4]]
    log = rows(
        [
            (f"{asked} {place}: {LABELS}", truth, [f"Labels: {', '.join(some)}" for some in (truth, wrong)])
            for place, (truth, wrong) in enumerate(zip(sets, sets[1:] + sets[:1], strict=True))
        ]
    )
    result = probed(score, log)
    assert bool(result["other_order"]) is found and bool(result.alarms) is found
    assert ("matters use rk.verify.lists_equal; where it does not, sets_equal" in repr(result)) is found


@pytest.mark.parametrize(
    ("answers", "odd"),
    [
        (["12", "47", "83", "64", "29"], "none"),
        (["A", "C", "B", "D", "A"], "all of them"),
        ([json.dumps({"name": name}) for name in CITIES[:5]], "no record"),
    ],
)
def test_a_right_answer_of_another_kind_than_the_others_is_left_out(answers, odd):
    log = rows(
        [
            (f"Question {place}?", {"answer": answer}, tagged(answer, answer, "I do not know"))
            for place, answer in enumerate([*answers, odd])
        ]
    )
    result = probed(lambda completion, ground_truth: inside(completion) == ground_truth["answer"], log)
    assert sorted(subject.answer for subject in result.calibration.subjects) == sorted(answers)
    assert not result.alarms


@pytest.mark.parametrize(
    ("hole", "sound", "log", "count", "code"),
    [
        (any_alias_inside, an_alias, aliases, 3, "every_sibling"),
        (target_reached, numbers_used, equations, 4, "copied_from_prompt"),
        (name_and_keys, all_values, records, 4, "one_value"),
    ],
)
def test_one_prompt_is_enough_to_be_probed(hole, sound, log, count, code):
    assert [item.severity for item in probed(hole, log()[:count])[code]] == ["high"]
    result = probed(sound, log()[:count])
    assert result.calibration.modes == {"": "truth"} and not result.alarms


def never_right(score: Callable[..., float], log: Callable[[], Rows], **columns: Any) -> Rows:
    """A log without the completions that a reward pays most, and with other columns."""
    rows_of = log()
    best = max(score(row["completion"], row["ground_truth"]) for row in rows_of)
    kept = [row for row in rows_of if score(row["completion"], row["ground_truth"]) < best]
    return [{**row, **columns} for row in kept]


@pytest.mark.parametrize(
    ("score", "log", "label", "codes", "why"),
    [
        (one_role_each, never_right(one_role_each, roles), None, [], "earn 0, perhaps because none of them"),
        (
            lambda completion, ground_truth: float(target_reached(completion, ground_truth) == 1),
            never_right(target_reached, equations),
            None,
            ["copied_from_prompt"],
            "perhaps because none of them is right",
        ),
        (
            lambda completion, ground_truth: float(str(ground_truth) in (inside(completion) or "")),
            never_right(an_alias, aliases, ground_truth=float("nan")),
            None,
            [],
            "no row has a ground_truth, which it reads",
        ),
        (one_role_each, [{**row, "ok": False} for row in roles()], "ok", [], "(28 are called wrong"),
        (one_role_each, [{**row, "ok": None} for row in roles()], "ok", [], "(0 are called wrong, 28 have"),
    ],
    ids=["no right roles", "a hole", "no truth", "all called wrong", "no label"],
)
def test_a_log_without_a_right_completion_accuses_nobody_but_what_a_policy_finds_is_told(
    score, log, label, codes, why
):
    result = rk.probe(rk.Reward("r", components=[rk.Component("c", score)]), log, label=label)
    assert [item.code for item in result.alarms] == codes and why in result.inconclusive[0].why
    head = "is not ready" if codes else "inconclusive, as no right answer is known: no hole found in"
    assert head in str(result).splitlines()[0] and "certainly wrong" not in result.inconclusive[0].why


def other_name_best(completion: str, ground_truth: list[str]) -> float:
    """The hole: one kind of wrong answers earns more than right ones."""
    answer = inside(completion)
    return 0.8 if answer in ground_truth else 1.0 if answer in OTHER else 0.0


@pytest.mark.parametrize("said", [(True, False), (1.0, 0.0), (1, -1), ("true", "False")])
@pytest.mark.parametrize(("score", "found"), [(other_name_best, ["high"]), (an_alias, [])])
def test_completions_that_a_label_calls_wrong_and_that_are_paid_are_told_however_it_says_so(
    said, score, found
):
    log = [
        {**row, "completion": text, "ok": said[inside(text) not in row["ground_truth"]]}
        for row in aliases()
        for text in [row["completion"]]
    ]
    result = rk.probe(rk.Reward("r", components=[rk.Component("c", score)]), log, label="ok")
    assert [item.severity for item in result["against_label"]] == found
    assert result.calibration.subjects and bool(result.alarms) is bool(found)


@pytest.mark.parametrize("values", [("yes", "no"), ("1", "0"), (0, 1, 2)])
def test_a_label_of_which_it_is_not_known_what_is_right_is_an_error(values):
    log = [{**row, "ok": values[place % len(values)]} for place, row in enumerate(aliases())]
    with pytest.raises(rk.RolloutsError, match="make a column of true and false"):
        rk.probe(rk.Reward("r", components=[rk.Component("c", an_alias)]), log, label="ok")


def formulas(*golds: str) -> Rows:
    """Mathematics with solutions between dollar signs, answered in a box."""
    return rows(
        [
            (
                f"Problem {place}",
                gold,
                tagged(*(rf"\boxed{{{text}}}" for text in (gold.strip("$"), "83", "41"))),
            )
            for place, gold in enumerate(golds)
        ]
    )


def in_mathematics(completion: str, ground_truth: str) -> float:
    """The first of the formulas of a completion, in a box or between dollars, if the solution is one."""
    found = re.search(r"\\boxed\{((?:[^{}]|\{[^{}]*\})*)\}|\$(.+?)\$", completion)
    gold = ground_truth.strip("$")
    return float(gold == ground_truth or (found is not None and (found[1] or found[2] or "").strip() == gold))


GOLDS = ["$7$", r"$\sqrt{3}$", "$x^2+1$", "$-4$", "$12$", r"$\frac{5}{3}$", "$100$", "$31$"]


@pytest.mark.parametrize(("others", "codes"), [([], set()), (["none", "no real solution"], {"wrong_paid"})])
def test_what_is_no_formula_stands_beside_one_in_no_near_miss(others, codes):
    result = probed(in_mathematics, formulas(*others, *GOLDS))
    assert {item.code for item in result.alarms} == codes
    assert all(r"\boxed" in subject.reference for subject in result.calibration.subjects)


def last_line(completion: str, ground_truth: str) -> float:
    """What stands behind the last "Answer:", or there between the first two dollars."""
    answer = completion.rpartition("Answer:")[2].strip()
    between = re.search(r"\$(.*?)\$", answer)
    return 1.0 if (between[1] if between else answer) == ground_truth else -1.0


def sums() -> Rows:
    """Numbers on a last line, some of the right ones between dollars."""
    return rows(
        [
            (
                f"Sum {place}",
                str(total),
                [f"So.\nAnswer: {text}" for text in (total, f"${total}$", total + 33, total + 7)],
            )
            for place, total in enumerate((259, 731, 84, 416, 588))
        ]
    )


def test_notation_within_the_mark_that_no_policy_writes_is_no_alarm():
    result = rk.probe(rk.Reward("r", components=[rk.Component("c", last_line, range=(-1, 1))]), sums())
    assert not result.alarms and result["loses_notation"][0].severity == "info"
    assert "a full stop behind the answer" in result["loses_notation"][0].sentence


def said_word(completion: str, ground_truth: dict[str, str]) -> float:
    """The answer, and a little for a word that belongs to the prompt."""
    return 0.8 * (inside(completion) == ground_truth["is"]) + 0.2 * (ground_truth["word"] in completion)


def test_the_mark_is_found_where_another_completion_says_the_same_for_a_little_less():
    log = rows(
        [
            (
                f"Where {place}?",
                {"is": city, "word": word},
                [f"<b>{word}</b>\n{text}" for text in tagged(city)] + tagged("-"),
            )
            for place, (city, word) in enumerate(zip(CITIES, LABELS, strict=False))
        ]
    )
    assert {subject.answer for subject in probed(said_word, log).calibration.subjects} <= {*CITIES}


@pytest.mark.parametrize(("written", "severity"), [(1, "info"), (2, "warn")])
def test_one_right_rollout_that_a_notation_loses_may_be_a_slip(written, severity):
    log = sums()
    for place, row in enumerate(log[: 4 * written : 4]):
        log[4 * place + 2] = {**row, "completion": f"{row['completion']}."}
    result = rk.probe(rk.Reward("r", components=[rk.Component("c", last_line, range=(-1, 1))]), log)
    assert [item.severity for item in result["loses_notation"]] == [severity]


def keys_as_said(completion: str, ground_truth: dict[str, Any]) -> float:
    """The hole: what is said is compared, so that nothing said is right."""
    found = as_object(completion)
    return float(isinstance(found, dict) and all(ground_truth.get(key) == found[key] for key in found))


@pytest.mark.parametrize(
    ("score", "log", "code", "also"),
    [
        (keys_as_said, records, "empty_object", {"usual_answer", "one_key"}),
        (recall, labels, "every_sibling", {"copied_from_prompt", "prompt_echo"}),
    ],
)
def test_one_cause_is_one_finding(score, log, code, also):
    (found,) = probed(score, log()).alarms
    assert found.code == code and also <= {*found.evidence["also"]}


def test_siblings_that_name_parts_of_the_right_list_are_no_exploit_together():
    read = rk.extract.first_of(rk.extract.json_value(), rk.extract.tag("answer"))
    correct = rk.Component("correct", rk.verify.sets_equal, primary=True)
    reward = rk.Reward("names", fields={"prediction": read}, components=[correct])
    names = ["Ada", "Dan", "Eva", "Kim", "Lea", "Max", "Noa", "Tom"]
    log = []
    for place in range(16):
        first, second = names[place % 8], names[(place + 1 + place // 8) % 8]
        told = (f'["{first}", "{second}"]', f"{second}, {first}", f'["{first}"]', f"{first}, Zoe")
        texts = [f"Names: <answer>{one}</answer>" for one in told]
        log.append((f"Who met whom? {first} met {second} in Rome. (#{place})", [first, second], texts))
    assert [item.code for item in rk.probe(reward, rows(log)).alarms] == []
