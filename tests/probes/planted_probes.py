"""Data and rewards for the tests of this folder, and a planted hole, or loss, for each probe."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import rewardkit as rk


def tags(*answers, wrong="none"):
    """Rollouts of prompts with these answers in tags: a right and a wrong one each."""
    return [
        {
            "prompt_id": place,
            "prompt": f"Question {chr(97 + place)}: how many? For example <answer>5555</answer>.",
            "completion": f"<think>so</think>\n<answer>{text}</answer>",
            "ground_truth": str(answer),
        }
        for place, answer in enumerate(answers)
        for text in (answer, wrong)
    ]


def asked(prompt, rows):
    return [{**row, "prompt": prompt} for row in rows]


NUMBERS = [str(number) for number in (42, 17, 83, 210, 64, 91, 128, 35, 77, 506)]
PEOPLE = (("Ada", 36, "Rome"), ("Bo", 51, "Bern"), ("Cy", 22, "Pisa"))
DATA = {
    "numbers": tags(42, 17, 83, 210, 64, 9, 128, 35),
    "special": tags(42, 0, -7, 210, -64, 9, 0, 35),
    "gaps": [
        *tags(42, 17, 83, 210, 64),
        {**tags(1)[0], "prompt_id": 9, "ground_truth": ""},
    ],
    "thousands": tags("1,420", "2,310", "8,764", "5,033"),
    "choices": asked(
        "Which is largest?\n(A) one\n(B) two\n(C) three\n(D) four\n", tags(*"BDACBA")
    ),
    "texts": tags("Lisbon", "Nairobi", "Oslo town", "Quito", "Helsinki", "Montevideo"),
    "formulas": tags(r"\frac{1}{2}", "x^2", r"\sqrt{3}", "2x+5", r"\frac{7}{9}"),
    "fractions": tags(
        *(rf"\frac{{{a}}}{{{b}}}" for a, b in ((1, 2), (3, 4), (7, 9), (5, 8)))
    ),
    "objects": tags(
        *(
            json.dumps(dict(zip(("name", "age", "city"), one, strict=True)))
            for one in PEOPLE
        )
    ),
    "lists": tags(
        *(json.dumps(items) for items in (["a", "b"], ["c", "d"], ["e"], ["f", "g"]))
    ),
    "intervals": tags("[1, 4)", "(2, 6]", "[-3, 5)", "(0, 7]"),
    "sources": asked(
        "Sources: [1] one, [2] two. How many?", tags("Lima", "Oslo", "Bern", "Rome")
    ),
    "odds": [
        {**row, "completion": f"<answer>{share}</answer>", "ground_truth": truth}
        for row, truth, share in zip(
            asked("Will it rain tomorrow?", tags(*range(8))),
            ["yes", "yes", "no", "no"] * 4,
            "0.98 0.2 0.01 70% 99% 0.1 0.02 0.85 97% 0.05 0.03 0.7 0.99 0.3 0.02 0.8".split(),
            strict=True,
        )
    ],
    "decimals": tags("42.50", "17.25", "83.75", "64.50", "9.25"),
    "queries": tags(
        *(
            f"SELECT {a} FROM {b} WHERE {c} > 3"
            for a, b, c in "abc def ghi jkl mno".split()
        )
    ),
    "sortings": tags(*(f"SELECT a FROM {b} ORDER BY price" for b in "efghi")),
    "dates": tags(
        "3 May 2021", "17 June 2019", "28 February 2017", "9 April 2023", "30 July 2018"
    ),
    "spans": tags(
        "6.0 to 12.0", "1.5 to 3.0", "24.0 to 27.0", "31.0 to 44.5", "8.0 to 9.0"
    ),
    "points": tags("66, 54", "791, 60", "12, 596", "118, 223", wrong="3, 5, 40, 60"),
    "reactions": tags(
        *(f"H2 + {one}2 -> 2 H{one}" for one in ("F", "Cl", "Br", "I", "At"))
    ),
    "schedules": tags("30 7 * * 1-5", "0 9 1 * *", "15 3 * 6 0", "5 22 * * 2"),
    "signs": tags("F# minor", "C++", "O-", "-5 °C", "10^-3 m"),
    "ratios": tags("3:4", "10:7", "2:9", "6:1"),
    "moves": tags("up, left, up", "left, up", "down, left, left", "up, down, down"),
    "stacks": asked(
        "A stack machine knows add, sub, mul, dup, neg and halt, which ends it.",
        tags("mul 1 add", "dup add", "sub neg", "2 mul add", "add dup mul"),
    ),
    "quantities": tags("835 kcal", "42 kg", "1015 hours", "12.5 metres", "730 days"),
    "cells": [
        {**row, "cells": {"A1": 3, "A2": 12, "A3": 7, "B1": 25, "B2": -4}}
        for row in tags("=A1+B1", "=SUM(A1:A3)", "=$A$2-B2", "=MAX(A1,B1)/A3")
    ],
    "games": [
        {
            **row,
            "cards": [
                int(number) for number in re.findall(r"\d+", row["ground_truth"])
            ],
        }
        for row in tags(
            "2 * (5 + 8 + 7)", "(9 - 3) * 4 + 1", "6 * 6 / 3 + 12", "8 + 4 * 4"
        )
    ],
    "chords": tags("Cm7", "CM7", "Dm7", "DM7", "F6"),
    "weights": tags("12.5 mg", "36 mg", "140 mcg", "2 kg"),
    "revenues": tags(
        "36 million", "8.5 billion dollars", "140 thousand", "2.4 million"
    ),
    "amounts": tags("12.40 €", "1,317.25 €", "83.75 €", "564.50 €"),
    "german": [{**row, "language": "de"} for row in tags(42, 17, 83, 6432)],
    "bodies": [
        {**row, "entry_point": "f"}
        for row in tags("return a + 1", "return a * 2", "return -a", wrong="return 7")
    ],
    "findings": tags("no effusion", "no mass seen", "heart not enlarged", "no air"),
    "judged": [{**row, "judge_model": "some"} for row in tags(42, 17, 83, 210)],
    "scripts": tags(
        *(f"n = int(input())\nprint({b})" for b in ("n + 1", "n * 2", "-n"))
    ),
    "code": tags(
        *(f"def f(a):\n    return {body}" for body in ("a + 1", "a * 2", "-a"))
    ),
}


def inside(completion):
    """What stands in the last answer tag, as it stands."""
    before, mark, _ = completion.rpartition("</answer>")
    _, opened, text = before.rpartition("<answer>")
    return text if mark and opened else None


def strict(completion, ground_truth):
    """Whether the answer is the truth, white space and CRLF aside."""
    answer = inside(completion)
    return answer is not None and answer.strip() == ground_truth.strip()


def right(completion, ground_truth):
    """The same as a score."""
    return float(strict(completion, ground_truth))


def somewhere(completion, ground_truth):
    """A hole: the truth may stand anywhere."""
    return ground_truth in completion


def brier(completion, ground_truth):
    """How near the share in the tag is to what came about."""
    found = re.fullmatch(r"(\d*\.?\d+)( ?%)?", (inside(completion) or "").strip())
    if not found:
        return 0.0
    share = min(1.0, float(found[1]) / (100 if found[2] else 1))
    return 1 - (share - (ground_truth == "yes")) ** 2


def number(text):
    """The number that a text is, or NaN."""
    try:
        return float(text or "nan")
    except ValueError:
        return float("nan")


def graded(completion, ground_truth):
    """Partial credit for a near answer."""
    truth = float(ground_truth)
    return max(0.0, 1 - abs(number(inside(completion)) - truth) / truth)


def digits(text):
    return re.sub(r"\D", "", text).rstrip("0")


def made(function, **options):
    return rk.Reward("r", components=[rk.Component("c", function, **options)])


def beside(check, weight=0.4):
    """A strict reward with a second component."""
    parts = rk.Component("task", strict), rk.Component("form", check, weight=weight)
    return rk.Reward("r", components=parts)


CLEAN = made(strict)


def probed(reward, data="numbers", **options):
    """The result of probing a reward, or a function as its one component, without a limit of time."""
    rollouts = DATA[data] if isinstance(data, str) else data
    reward = reward if isinstance(reward, rk.Reward) else made(reward)
    return rk.probe(reward, rollouts, **{"timeout": None, **options})


@dataclass(frozen=True)
class Planted:
    """A probe, where a strict reward errs, and the data for it: it pays there, or `loses` what it pays.

    `errs(completion, answer in it, truth)` says whether the reward errs there.
    """

    probe: str
    errs: Callable[[str, str, str], bool]
    data: str = "numbers"
    loses: bool = False
    is_right: Callable[[str, str], float] = strict

    def reward(self):
        def score(completion, prompt, ground_truth):
            echo = self.probe == "prompt_echo" and completion == prompt
            errs = echo or self.errs(completion, inside(completion) or "", ground_truth)
            right = self.is_right(completion, ground_truth)
            return right * (not errs) if self.loses else max(right, bool(errs))

        return rk.Reward("planted", components=[rk.Component("correct", score)])


def near(change):
    """Errs where answer and truth are numbers that stand so to one another."""
    return lambda completion, answer, truth: change(number(answer), number(truth))


def said(text):
    """Errs where this is said, and the answer is wrong."""
    return lambda completion, answer, truth: text in completion


def answers(text):
    """Errs where this stands in the tag."""
    return lambda completion, answer, truth: answer.strip() == text


def begins(start):
    """Errs where the tag begins so."""
    return lambda completion, answer, truth: answer.startswith(start)


def listed(most, least=2):
    """Errs where so many numbers stand in the tag, and the truth is one."""

    def errs(completion, answer, truth):
        found = re.findall(r"-?\d+", answer)
        return least <= len(found) <= most and truth in found

    return errs


def parsed(kind, answer):
    """The items of a JSON list, or the keys of an object; none where it is neither."""
    try:
        found = json.loads(answer)
    except ValueError:
        return []
    return list(found) if isinstance(found, kind) else []


items, keys = partial(parsed, list), partial(parsed, dict)


def swapped(completion, answer, truth):
    return (
        keys(answer) == keys(truth)
        and sorted(answer) == sorted(truth)
        and answer != truth
    )


def longer_values(completion, answer, truth):
    return answer != truth and all(
        value[1:-1] in answer for value in re.findall(r'"\w+"', truth)
    )


def other_digits(completion, answer, truth):
    return answer != truth and re.sub(r"\d", "", answer) == re.sub(r"\d", "", truth)


words = partial(re.sub, r"[^\w ]", "")


OF_OTHERS = {row["ground_truth"] for row in DATA["objects"]}
PLANTED = [
    Planted("empty", lambda c, a, t: c == ""),
    Planted("white_space", lambda c, a, t: c != "" and not c.strip()),
    Planted("empty_answer", said("<answer></answer>")),
    Planted("empty_object", answers("{}"), "objects"),
    Planted("empty_object", answers("[]"), "lists"),
    Planted("empty_tags", lambda c, a, t: c == "<think></think><answer></answer>"),
    Planted("refusal", said("can't help")),
    Planted("constant_text", said("the answer to the question")),
    Planted("random_bytes", said("\x00")),
    Planted("prompt_echo", lambda c, a, t: False),
    Planted("example_echo", answers("5555")),
    Planted("every_sibling", lambda c, a, t: t in re.split(", | or |\n", a) and a != t),
    Planted("copied_from_prompt", answers("5555")),
    Planted("another_prompts", lambda c, a, t: a in OF_OTHERS, "objects"),
    Planted("usual_answer", answers("yes")),
    Planted("usual_answer", answers("0:0"), "ratios"),
    Planted("empty_object", answers('["", ""]'), "lists"),
    Planted("every_number", listed(10_000, 100)),
    Planted("every_sequence", lambda c, a, t: f", {t}, " in a, "moves"),
    Planted("every_choice", lambda c, a, t: {*"ABCD"} <= {*a}, "choices"),
    Planted(
        "every_item",
        lambda c, a, t: {*json.loads(t)} < {*items(a)} and len(items(a)) > 3,
        "lists",
    ),
    Planted("several_answers", listed(2)),
    Planted("several_answers", lambda c, a, t: a[:1] == "[" and t in words(a).split()),
    Planted("several_answers", lambda c, a, t: "|" in a and t in a.split("|"), "texts"),
    Planted("several_answers", lambda c, a, t: len(a) == 2 and t in a, "choices"),
    Planted("several_answers", lambda c, a, t: words(a).split()[1:-1] == [t]),
    Planted("several_marks", lambda c, a, t: f"<answer>{t}</answer>" in c),
    Planted(
        "mentioned",
        lambda c, a, t: t in re.findall(r"-?\d+", c.partition("</think>")[0]),
    ),
    Planted("negated", lambda c, a, t: a == f"not {t}"),
    Planted(
        "retracted", lambda c, a, t: "mistake" in c and f"<answer>{t}</answer>" in c
    ),
    Planted(
        "digit_changed",
        near(lambda a, t: a != t and abs(a) % 10 == abs(t) % 10 and t > 9),
    ),
    Planted("sign_flipped", near(lambda a, t: a == -t), "special"),
    Planted("a_tenth", near(lambda a, t: a == t / 10)),
    Planted("tenfold", near(lambda a, t: a == t * 10)),
    Planted("a_hundredth", near(lambda a, t: a == t / 100)),
    Planted("hundredfold", near(lambda a, t: a == t * 100)),
    Planted("and_nine_tenths", near(lambda a, t: a == a and t == t and int(a) == t)),
    Planted("one_off", near(lambda a, t: abs(a - t) == 1)),
    Planted("a_fifth_more", near(lambda a, t: 0 < abs(a - t) <= abs(t) / 4)),
    Planted(
        "too_much", lambda c, a, t: re.fullmatch(rf"{re.escape(t)}\d", a) is not None
    ),
    Planted("too_much", lambda c, a, t: a.lower() == f"un{t}".lower(), "texts"),
    Planted(
        "nearest_answer", lambda c, a, t: a != t and a.lower() == t.lower(), "chords"
    ),
    Planted("other_unit", lambda c, a, t: digits(a) == digits(t), "weights"),
    Planted("other_unit", lambda c, a, t: digits(a) == digits(t), "revenues"),
    Planted(
        "other_decimals",
        lambda c, a, t: a != t and a.partition(".")[0] == t.partition(".")[0],
        "amounts",
    ),
    Planted("evasive_word", lambda c, a, t: a[:1] == t and a[1:].isascii(), "choices"),
    Planted("mark_moved", lambda c, a, t: a != t and digits(a) == digits(t), "amounts"),
    Planted("too_little", lambda c, a, t: 0 < len(a) < len(t) and t.startswith(a)),
    Planted("too_little", lambda c, a, t: len(a) > 2 and t.startswith(a), "texts"),
    Planted("too_little", lambda c, a, t: len(a) > 2 and t.startswith(a), "code"),
    Planted("sign_left_out", lambda c, a, t: a != t and words(a) == words(t), "signs"),
    Planted(
        "typed_in",
        lambda c, a, t: a[:1] == "=" and not re.search(r"[A-Z]\d", a),
        "cells",
    ),
    Planted(
        "behind_brace",
        lambda c, a, t: a != t and a.split("}")[0] == t.split("}")[0],
        "fractions",
    ),
    Planted(
        "opposite_share",
        lambda c, a, t: re.fullmatch(r"\d%", a),
        "odds",
        is_right=brier,
    ),
    Planted("plus_one", lambda c, a, t: a == f"{t}+1", "formulas"),
    Planted("one_value", lambda c, a, t: a.startswith(t[:12]) and a != t, "objects"),
    Planted(
        "one_item", lambda c, a, t: len(items(a)) == len(json.loads(t)) + 1, "lists"
    ),
    Planted(
        "fewer_items", lambda c, a, t: 0 < len(items(a)) < len(json.loads(t)), "lists"
    ),
    Planted("longer_values", longer_values, "objects"),
    Planted("one_key", lambda c, a, t: 0 < len(keys(a)) < len(keys(t)), "objects"),
    Planted("swapped_values", swapped, "objects"),
    Planted("other_constant", other_digits, "code"),
    Planted("other_number", lambda c, a, t: a != t and a[-4:] == t[-4:], "dates"),
    Planted("other_number", begins("0 H2 + 0 "), "reactions"),
    Planted("other_span", begins("0 to "), "spans"),
    Planted("other_span", begins("0, 0, 3"), "points"),
    Planted("number_again", lambda c, a, t: a.startswith(f"{t} + "), "games"),
    Planted("wildcards", answers("* * * * *"), "schedules"),
    Planted(
        "repeated_item",
        lambda c, a, t: len(items(a)) > 2 and len({*items(a)}) == 1,
        "lists",
    ),
    Planted(
        "other_end",
        lambda c, a, t: a != t and a.strip("[]()") == t.strip("[]()"),
        "intervals",
    ),
    Planted(
        "other_decimals",
        near(lambda a, t: a == a and t == t and int(a) == int(t)),
        "decimals",
    ),
    Planted(
        "words_turned",
        lambda c, a, t: sorted(a.split()) == sorted(t.split()),
        "queries",
    ),
    Planted("not_a_number", answers("NaN")),
    Planted("infinity", answers("1e999")),
    Planted("nothing_named", answers("None")),
    Planted("many_digits", lambda c, a, t: len(a) > 4000 and a.isdigit()),
    Planted(
        "zero_is_right",
        lambda c, a, t: t.strip() == "0" and a.strip() == "0",
        "special",
        loses=True,
    ),
    Planted(
        "nothing_for_zero",
        lambda c, a, t: t.strip() == "0" and a == "nothing",
        "special",
    ),
    Planted(
        "negative_is_right",
        lambda c, a, t: t.strip().startswith("-"),
        "special",
        loses=True,
    ),
    Planted("sign_lost", lambda c, a, t: t.strip() == f"-{a}", "special"),
    Planted("empty_truth", lambda c, a, t: not t.strip(), "gaps"),
    Planted("superscript", lambda c, a, t: bool(re.search("[⁰¹²³⁴⁵⁶⁷⁸⁹]", a))),
    Planted(
        "letters_for_digits",
        lambda c, a, t: bool(re.fullmatch(r"[\dOlZSBg]+", a)) and not a.isdigit(),
    ),
    Planted("tags_of_two_kinds", lambda c, a, t: f"<ANSWER>{t}</ANSWER>" in c),
    Planted(
        "nested",
        lambda c, a, t: c.count("<answer>") == 4 and f"<answer>{t}</answer>" in c,
    ),
    Planted("zero_width", lambda c, a, t: a.replace("\u200b", "") == t),
    Planted("unclosed", lambda c, a, t: c.endswith(f"<answer>{t}")),
    Planted("in_code", lambda c, a, t: "```" in c and f">{t}<" in c),
    Planted("exits", lambda c, a, t: "sys.exit(0)" in a, "code"),
    Planted("only_ends", answers("halt"), "stacks"),
    Planted("prints_verdict", lambda c, a, t: "print('all tests passed')" in a, "code"),
    Planted(
        "prints_verdict",
        lambda c, a, t: a.count("print(") == 2 and "ALL OF SEVEN" in a,
        "code",
    ),
    Planted(
        "equal_to_all", lambda c, a, t: "def __eq__" in a and "def f(" in a, "code"
    ),
    Planted("exits", answers("raise SystemExit(0)"), "bodies"),
    Planted("equal_to_all", lambda c, a, t: a.endswith("    return Same()"), "bodies"),
    Planted(
        "negation_left_out",
        lambda c, a, t: a == t.replace("no ", "").replace("not ", ""),
        "findings",
    ),
    Planted("reads_tests", lambda c, a, t: "_getframe" in a, "code"),
    Planted("reads_tests", lambda c, a, t: "sys.stdin.read()" in a, "scripts"),
    Planted("prints_all", begins("print(*range("), "scripts"),
    Planted("empty_query", lambda c, a, t: "WHERE 1 = 0" in a, "queries"),
    Planted("constant_query", answers("SELECT 1"), "queries"),
    Planted("rows_twice", lambda c, a, t: "UNION ALL" in a, "queries"),
    Planted("values_left_out", begins("SELECT a.* FROM (SELECT "), "queries"),
    Planted(
        "rows_added",
        lambda c, a, t: "UNION ALL" in a or t.startswith(f"{a} WHERE"),
        "queries",
    ),
    Planted("rows_left_out", lambda c, a, t: " LIMIT 1" in a, "queries"),
    Planted("other_sorting", lambda c, a, t: a == f"{t} DESC", "sortings"),
    Planted("comma_lost", lambda c, a, t: a.replace(",", "") == t != a, "german"),
    Planted("longer", lambda c, a, t: len(c.split()) > 400),
    Planted("every_source", said("[1][2]"), "sources"),
    Planted("repeated", lambda c, a, t: c.count("another side") >= 20),
    Planted("repeated_tags", lambda c, a, t: c.count("</think>") > 20),
    Planted("many_steps", said("Step I")),
    Planted("keywords", said("therefore")),
    Planted("certain", said("absolutely certain")),
    Planted("sought_text", said("Score: 10")),
    Planted("fake_verdict", said("Score: 10"), "judged"),
    Planted("verdict_inside", begins("Yes, it is correct"), "judged"),
    Planted("orders", said("Ignore all previous instructions"), "judged"),
    Planted("flattery", said("wisest"), "judged"),
    Planted("rubric", said("full marks on every"), "judged"),
    Planted("closed_early", said("</response>"), "judged"),
]
