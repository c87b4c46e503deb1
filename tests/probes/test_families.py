"""Each probe against a reward that errs in its way, and against one that does not."""

import json
import math
import re
import subprocess
import sys
from dataclasses import replace

import pytest
from planted_probes import (
    CLEAN,
    DATA,
    PLANTED,
    asked,
    beside,
    brier,
    inside,
    made,
    probed,
    strict,
    tags,
)

import rewardkit as rk
from rewardkit.answers.formats import Format
from rewardkit.probes.findings.causes import texts_in
from rewardkit.probes.options import FAMILIES
from rewardkit.strategies import STRATEGIES
from rewardkit.strategies.guesses import STOCK_ANSWERS, STOCK_VALUES
from rewardkit.strategies.programs import ANSWERS_CALL, ANSWERS_INPUT, READS_TESTS
from rewardkit.strategies.strategy import Subject

pytestmark = pytest.mark.integration

BY_NAME = {probe.name: probe for probe in STRATEGIES}


@pytest.mark.parametrize(
    "planted", [pytest.param(item, id=f"{item.probe}, {item.data}") for item in PLANTED]
)
def test_a_planted_hole_is_found_by_its_probe(planted):
    (item,) = probed(planted.reward(), planted.data, only=planted.probe)[planted.probe]
    expected = (
        ("info",) if BY_NAME[planted.probe].knows == "known" else ("warn", "high")
    )
    assert item.severity in expected and item.evidence["found"] > 0


@pytest.mark.parametrize("data", [name for name in DATA if name != "thousands"])
def test_a_strict_reward_stands_all_probes_on_any_kind_of_answer(data):
    reward = made(brier) if data == "odds" else CLEAN
    result = probed(reward, data, timeout=5 if data == "numbers" else None)
    assert result.calibration.mode == "truth" and result.calls > 300
    assert not result.alarms, [item.sentence for item in result.alarms]
    holes = {planted.probe for planted in PLANTED} - {"in_code"}  # it reads code, too
    assert not [item for item in result.findings if item.code in holes]


def test_every_probe_that_expects_a_wrong_answer_to_fail_has_a_planted_hole():
    asked = [item for item in STRATEGIES if item.family != "equivalents"]
    holes = {item.name for item in asked if item.expects in ("wrong", "right")}
    elsewhere = {
        "other_item",
        "other_order",
        "copied_block",
        "repeated_turns",
        "kills_process",
    }  # on data of their own
    assert holes == {item.probe for item in PLANTED} | elsewhere


def written(
    strategy, answer, kind="text", columns=(), prompt="", wrong=("x",), **options
):
    """The answers that a strategy writes for a subject without a form."""
    subject = Subject(
        0,
        dict(columns),
        prompt,
        answer,
        kind,
        wrong,
        Format("bare"),
        answer,
        "x",
        **options,
    )
    return [text for one in strategy.attempts(subject) for text in one.completions]


CELLS = {"cells": {"B2": 3, "B3": 4, "C2": -5}}
TABLE = {"table": [["east", 3], ["west", 4]]}
SUM = "=SUM(B2:B3)"
CARDS = {"cards": [2, 3, 7]}
FENCED = {"kind": "list", "wrong": ("```\n3 4\n5 6\n```",)}
CONSTANTS = (
    "x % {}",
    "# in 2 steps\nx % {}",
    '"""In 2 steps."""\nx % {}',
    "-- 2 steps\nx % {}",
    "/* 2 steps */ x % {}",
    "It takes 2 steps.\n```python\nx % {}\n```\n",
)
SPENT = ["7 - 2*3 + 7 - 7"]
# A line a strategy, a right answer, and what is written: nothing where it may be right,
# as where all but a unit is, and beyond any tolerance.
OF_ANSWER = r"""
other_unit :: 2.75 mg :: 2.75 g
other_unit :: 1,200 metres :: 1,200 cm
other_unit :: 90 km/h :: 90 mph
other_unit :: 0 kg
other_unit :: 5 million
other_unit :: 5 apples
sign_left_out :: F# minor :: F minor
sign_left_out :: A+ :: A
sign_left_out :: Ca2+ ions :: Ca2 ions
sign_left_out :: -5 °C :: 5 °C
sign_left_out :: (3, -4) :: (3, 4)
sign_left_out :: 10^{-3} :: 10^{3}
sign_left_out :: 6! :: 6
sign_left_out :: ≥ 5 ::  5
sign_left_out :: **A**
sign_left_out :: X-ray
sign_left_out :: 2019-2020
sign_left_out :: #4
sign_left_out :: $5
sign_left_out :: 2!
sign_left_out :: Hi!
sign_left_out :: a - b
sign_left_out :: D->L->D
too_little :: Montevideo :: Monte
too_little :: The 7 hills of Rome :: The 7 hil
too_little :: 15:45 on 3 May :: 15:45 o
too_little :: 835 kcal
too_little :: 12.5 metres
too_little :: 1,015 hours
usual_answer :: 3:4 :: 0:0
other_number :: 1640 kJ :: 0 kJ :: 3284 kJ
other_number :: -$0.18 :: -$0.0 :: -$4.36
other_number :: 2025-07-28 :: 0-0-0 :: 2029-07-28 :: 2025-11-28 :: 2025-07-32
"""
WRITTEN = [
    # strategy, right answer, what else is known, what is written
    ("nearest_answer", "CM7", {"nearest": "Cm7"}, ["Cm7"]),
    ("number_again", "7 - 2*3", {"prompt": "Use 2, 7 and 3.", "columns": CARDS}, SPENT),
    ("number_again", "7 - 2*3 = 1", {"prompt": "Of 7, 3, 2."}, [f"{SPENT[0]} = 1"]),
    ("number_again", "7 - 2*3", {"columns": {"cards": [2, 3, 7, 7]}}, []),
    ("number_again", "7 - 2", {"columns": CARDS, "paid_answers": ("7-2-2",)}, []),
    ("number_again", "17:45", {"prompt": "Between 17, 45"}, []),
    (
        "copied_block",
        "I saw Rome",
        {"prompt": "Correct.\n\nI sow Rome"},
        ["I sow Rome"],
    ),
    ("copied_block", "Oslo", {"prompt": "Where is it?"}, []),
    ("typed_in", SUM, {"columns": CELLS | {"sheet": SUM}}, ["=SUM(3,4)"]),
    ("typed_in", "b2*C2", {"columns": CELLS | {"sheet": SUM}}, ["3*(-5)"]),
    ("typed_in", "=A1+B1", {"columns": TABLE | {"sheet": "=B1+A1"}}, ["=A1+3"]),
    ("typed_in", "2*x+y", {"columns": {"known": {"x": 3}, "law": "x+x+y"}}, ["2*3+y"]),
    ("typed_in", "7", {"columns": CELLS | {"sheet": SUM}}, []),  # a value is right
    ("typed_in", SUM, {"columns": CELLS | {"truth": "7"}}, []),
    ("typed_in", SUM, {"columns": CELLS | {"sheet": SUM}, "paid_answers": ("7",)}, []),
    ("every_sequence", "LRL", {"others": ("RRL", "LLL")}, ["LLLLLRL", "LRL"]),
    ("every_sequence", '["a"]', {"kind": "json", "others": ('["a", "b"]',)}, []),
    ("every_sequence", "Lima", {"others": ("Oslo", "New York")}, []),
    ("every_sibling", "x = 8 or x = 3", {"unpaid_answers": ("8", "x = 3")}, []),
    ("space_in_the_mark", "5 *", {}, [" 5 * "]),
    ("space_in_the_mark", "5 *\n6 *", {}, []),  # a first line may begin with a space
    ("usual_answer", "x = 3, y = 1", {"others": ("x = 2, y = 7",)}, ["x = 0, y = 0"]),
    ("usual_answer", "3 May 2021", {"others": ("4 June 2020",)}, []),
    *(
        (
            "other_constant",
            code.format(5),
            {"kind": "code"},
            [code.format(number) for number in (12, 1_000_008, 0)],
        )
        for code in CONSTANTS
    ),
    ("other_constant", "# in 2 steps\nx", {"kind": "code"}, []),
    ("other_item", "1 2\n3 4", FENCED, ["1 2\n5 6", "1 2\n3 4\n5 6"]),
    (
        "other_item",
        "```\n[1, 2]\n[3, 4]\n```",
        FENCED,
        ["```\n[1, 2]\n5 6\n```", "```\n[1, 2]\n[3, 4]\n5 6\n```"],
    ),
    ("fewer_items", "```\n1 2\n----\n3 4\n```", FENCED, ["```\n1 2\n```"]),
    ("only_ends", "dup", {"prompt": "It knows dup and HALT."}, ["HALT"]),
    ("only_ends", "stop", {"prompt": "Is the signal stop or go?"}, []),
    ("only_ends", "dup", {"prompt": "The nonstop returns."}, []),
    ("empty_object", "[[3, 1], [2, 5]]", {"kind": "json"}, ["[]", "[[0, 0], [0, 0]]"]),
]
for line in OF_ANSWER.strip().splitlines():
    name, answer, *texts = line.replace(r"\n", "\n").split(" :: ")
    WRITTEN.append((name, answer, {}, texts))


@pytest.mark.parametrize(("name", "right", "options", "texts"), WRITTEN)
def test_what_is_written_is_certainly_wrong_and_nothing_is_where_it_may_be_right(
    name, right, options, texts
):
    answers = written(BY_NAME[name], right, **options)
    if name == "usual_answer":
        answers = answers[len(STOCK_ANSWERS) + len(STOCK_VALUES) :]
    if name == "every_sequence":  # of hundreds of items
        assert bool(answers) == bool(texts)
        assert all(text in answers[0] for text in texts)
    else:
        assert answers == texts


def holds_all(completion, ground_truth):
    said = (inside(completion) or "").split(", ")
    return {*ground_truth.split(", ")} <= {*said}


def holds_in_order(completion, ground_truth):
    return ground_truth.strip("[]") in (inside(completion) or "")


STEPS = tags('["a", "b"]', '["b", "c", "a"]', '["c", "b"]', '["a", "c", "c"]')
SHORTER = [(holds_all, DATA["moves"]), (holds_in_order, STEPS)]


@pytest.mark.parametrize(("score", "data"), SHORTER)
def test_a_long_list_is_no_second_finding_where_shorter_ones_are_paid_too(score, data):
    (alarm,) = probed(score, data, only=["shotgun", "near_misses"]).alarms
    assert "every_sequence" in alarm.evidence["also"]


CALLS = {
    "every call": ("busy", False, ["repeated_turns"]),
    "every call, where the answer is right": ("busy", True, ["ever_more_turns"]),
    "calls within a budget": ("reward", False, []),
}


@pytest.mark.parametrize(("name", "gated", "alarms"), CALLS.values(), ids=CALLS)
def test_calls_that_are_paid_without_an_end_are_high_and_found_on_most_prompts(
    name, gated, alarms
):
    reward = rk.load_reward(f"gallery:tool_use.{name}")
    if gated:
        success, calls = reward.components
        calls = replace(calls, gate=rk.gate("success", at_least=1.0))
        reward = replace(reward, components=[success, calls])
    result = rk.probe(reward, "gallery:tool_use", timeout=None, search=0)
    assert [item.code for item in result.alarms] == alarms
    assert all(item.severity == "high" and item.n >= 7 for item in result.alarms)


LOST = {
    "newline_at_the_end": lambda completion: completion.endswith("\n"),
    "spaces_at_the_end": lambda completion: completion.endswith("  "),
    "windows_lines": lambda completion: "\r\n" in completion,
    "space_in_the_mark": lambda completion: re.search(r"<answer> \d", completion),
    "answer_on_a_line": lambda completion: "<answer>\n" in completion,
    "several_lines": lambda completion: completion.count("\n") >= 4,
    "another_named": lambda completion: "yet it is not" in completion,
    "tag_mentioned": lambda completion: (
        "<answer>" in completion.partition("</think>")[0]
    ),
}


def losing(name):
    return lambda completion, ground_truth: (
        strict(completion, ground_truth) and not LOST[name](completion)
    )


def same(completion, ground_truth):
    return completion == ground_truth


def once(completion, ground_truth):
    return strict(completion, ground_truth) and completion.count("<answer>") == 1


def without_separators(completion, ground_truth):
    return (inside(completion) or "").strip().replace(",", "") == ground_truth.replace(
        ",", ""
    )


NAMED, WINDOWS = "tag_mentioned", "windows_lines"
NAMING = [
    *DATA["numbers"],
    *(
        {**row, "completion": f"It goes into <answer> and </answer>. {shown}"}
        for row in DATA["numbers"]
        for shown in ["<answer>1</answer>"]
    ),
]
BARE = [{**row, "completion": row["ground_truth"]} for row in DATA["numbers"]]


def in_words(completion, ground_truth):
    """Compare words and numbers, in any case."""
    said = re.findall(r"[\w.]+", (inside(completion) or "").lower())
    return " ".join(said).rstrip(".") == ground_truth


LOSSES = {
    **{
        name: (
            losing(name),
            "numbers",
            "loses_layout",
            name not in (NAMED, WINDOWS),
            {name},
        )
        for name in LOST
    },
    "a tag that completions name": (
        losing(NAMED),
        NAMING,
        "loses_layout",
        True,
        {NAMED},
    ),
    "lines of Windows that completions have": (
        losing(WINDOWS),
        [
            *DATA["numbers"],
            {
                **DATA["numbers"][0],
                "completion": "So it is\r\n<answer>1</answer>",
            },
        ],
        "loses_layout",
        True,
        {WINDOWS},
    ),
    "one layout only": (same, BARE, "strict", False, None),
    "a tag that stands once": (
        once,
        "numbers",
        "loses_layout",
        False,
        {"tag_mentioned"},
    ),
    "a tag that stands once, where completions name it": (
        once,
        NAMING,
        "loses_layout",
        False,
        {NAMED},
    ),
    "notations": (strict, "numbers", "loses_notation", False, None),
    "separators": (strict, "thousands", "loses_layout", True, {"thousands_left_out"}),
    "amounts in digits": (
        in_words,
        "revenues",
        "loses_notation",
        False,
        {"magnitude_in_digits"},
    ),
    "without separators": (without_separators, "thousands", None, False, None),
}


@pytest.mark.parametrize(
    ("score", "data", "code", "alarm", "lost"), LOSSES.values(), ids=LOSSES
)
def test_what_a_right_answer_loses_by_is_named(score, data, code, alarm, lost):
    result = probed(score, data, only="equivalents")
    assert [item.code for item in result.alarms] == ([code] if alarm else [])
    losses = result[code] if code else ()
    assert bool(losses) is bool(code)
    for item in losses:
        rates = item.evidence["rates"]
        assert (item.severity != "info") is alarm and lost in (None, set(rates))
        assert code != "loses_notation" or (
            rates.get("point_zero", 1.0) == 1.0 and "thousands" not in rates
        )


HASHED = [
    {
        **row,
        "prompt": f"How many are there in {row['prompt_id']}?",
        "completion": f"We count.\n#### {inside(row['completion'])}",
    }
    for row in DATA["numbers"]
]


def after_hashes(text, truth):
    return text.rpartition("#### ")[2].split("\n")[0].strip() == truth


def on_last_line(text, truth):
    return after_hashes(text.splitlines()[-1] if text else "", truth)


PLACES = {
    "the last characters": (
        lambda text, truth: strict(text[-200:], truth),
        DATA["numbers"],
        ["text_behind"],
    ),
    "the last characters, where the prompt wants the answer last": (
        lambda text, truth: strict(text[-200:], truth),
        asked("End with the answer in its tags.", DATA["numbers"]),
        ["text_far_behind"],
    ),
    "the last six hundred characters": (
        lambda text, truth: strict(text[-600:], truth),
        DATA["numbers"],
        ["text_far_behind"],
    ),
    "the last two thousand characters": (
        lambda text, truth: strict(text[-2000:], truth),
        DATA["numbers"],
        ["text_far_behind"],
    ),
    "the first characters": (
        lambda text, truth: strict(text[:250], truth),
        DATA["numbers"],
        ["text_before"],
    ),
    "the last line": (
        on_last_line,
        HASHED,
        ["words_behind"],
    ),
    "the whole text": (after_hashes, HASHED, []),
    "a limit of length": (
        lambda text, truth: len(text) < 500 and strict(text, truth),
        DATA["numbers"],
        [],
    ),
    "less and less for length": (
        lambda text, truth: strict(text, truth) * max(0.0, 1 - len(text) / 900),
        DATA["numbers"],
        [],
    ),
    "a strict form": (
        lambda text, truth: text.rstrip().endswith("</answer>") and strict(text, truth),
        DATA["numbers"],
        [],
    ),
    "a strict form around a box": (
        lambda text, truth: (
            text.rstrip().endswith("</answer>") and f"\\boxed{{{truth}}}" in text
        ),
        [
            {
                **row,
                "completion": row["completion"]
                .replace("<answer>", "<answer>$\\boxed{")
                .replace("</answer>", "}$</answer>"),
            }
            for row in DATA["numbers"]
        ],
        [],
    ),
    "the last line, as the prompt asks": (
        on_last_line,
        asked("Put the answer on the last line, behind ####.", HASHED),
        [],
    ),
    "the line that the prompt shows": (
        on_last_line,
        asked("Schließe mit '#### <Zahl>'.", HASHED),
        [],
    ),
}


@pytest.mark.parametrize(("score", "rows", "codes"), PLACES.values(), ids=PLACES)
def test_a_right_answer_that_other_text_loses_is_told_from_limits_and_strict_forms(
    score, rows, codes
):
    def pays(completion, ground_truth):
        return score(completion, ground_truth)

    only = ["text_behind", "text_far_behind", "text_before", "words_behind"]
    found = probed(pays, rows, only=only).findings
    assert [item.code for item in found] == codes
    for item in found:
        expected = "info" if item.code == "text_far_behind" else "warn"
        assert item.severity == expected


FORMS = {
    "escaped_tags": lambda text: "&lt;answer&gt;" in text,
    "wide_tags": lambda text: "＜answer＞" in text,
    "tags_backwards": lambda text: text.find("</answer>") < text.find("<answer>"),
    "tags_named": lambda text: "There are the tags" in text,
    "open_tags": lambda text: "<answer>" in text and "</answer>" not in text,
}


def spoken(language, question, answers):
    """Rollouts of a language whose reward takes plain numbers only."""
    rows = tags(*answers)
    return [{**row, "prompt": question, "language": language} for row in rows]


AMOUNTS = ["1234.5", "817", "6432", "93.25"]
LOCALES = {
    "German": (spoken("de", "Wie viel?", AMOUNTS), {"decimal_comma"}),
    "French": (spoken("fr", "Combien?", AMOUNTS), {"narrow_spaces"}),
    "Bengali": (spoken("bn", "মোট কত?", AMOUNTS), {"native_digits"}),
    "English": (spoken("en", "How much?", AMOUNTS), set()),
    "a source that names a language": (
        [
            {**row, "data_source": "sums_de"}
            for row in spoken(None, "Wie viel?", AMOUNTS)
        ],
        {"decimal_comma"},
    ),
}


@pytest.mark.parametrize(("rows", "names"), LOCALES.values(), ids=LOCALES)
def test_a_number_as_the_language_writes_it_is_tried_where_the_log_suggests_it(
    rows, names
):
    of_locales = ["decimal_comma", "narrow_spaces", "native_digits"]
    result = probed(strict, rows, only=of_locales)
    (item,) = result["loses_notation"] or (None,)
    assert (set(item.evidence["rates"]) if item else set()) == names
    assert not result.alarms  # nobody wrote so


def test_a_right_answer_that_policies_write_with_a_decimal_comma_is_a_loss():
    rows = LOCALES["German"][0]
    written = [
        {**row, "completion": row["completion"].replace("1234.5", "1.234,5")}
        for row in rows[:1] * 3
    ]
    (alarm,) = probed(strict, [*rows, *written], only="decimal_comma").alarms
    assert alarm.code == "loses_notation"


def without_commas(completion, ground_truth):
    numbers = re.findall(r"[\d.,]*\d", completion)
    return numbers != [] and numbers[-1].replace(",", "") == ground_truth


def test_numbers_that_end_alike_are_changed_as_a_whole():
    rows = [
        {**row, "completion": f"So ist es. Die Antwort lautet {answer}"}
        for row in spoken("de", "Wie viel?", ["8396.5", "817.5", "643.5", "93.5"])
        for answer in (row["ground_truth"], "12.5")
    ]
    result = probed(without_commas, rows, only="near_misses")
    assert result.tried_probes and not result.alarms


DOUBLED = "from own import double\n"
CASES = json.dumps([{"want": 8, "args": [4]}, {"want": 6, "args": [3]}])
TESTED = {
    "assert": {"run.py": f"{DOUBLED}assert double(4) == 8"},
    "unittest": {
        "run.py": f"import unittest\n{DOUBLED}class Doubles(unittest.TestCase):\n"
        "    def test(self):\n        self.assertEqual(double(4), 8)\nunittest.main()"
    },
    "pairs of the caller": {
        "run.py": f"{DOUBLED}for number, twice in [(4, 8), (3, 6)]:\n"
        "    result = double(number)\n    assert result == twice, result"
    },
    "cases in a file": {
        "cases.json": CASES,
        "run.py": f"import json\n{DOUBLED}cases = json.load(open('cases.json'))\n"
        "assert all(double(*case['args']) == case['want'] for case in cases)",
    },
}


@pytest.mark.parametrize("files", TESTED.values(), ids=TESTED)
def test_a_function_reads_the_tests_that_lie_beside_it(files, tmp_path):
    program = READS_TESTS + ANSWERS_CALL.replace("NAME", "double")
    for name, text in {**files, "own.py": program}.items():
        (tmp_path / name).write_text(text)
    subprocess.run([sys.executable, "run.py"], cwd=tmp_path, check=True)
    (tmp_path / "own.py").write_text("def double(number):\n    return None")
    assert subprocess.run([sys.executable, "run.py"], cwd=tmp_path).returncode


OUTPUTS = {
    "nothing": ({}, "\n"),
    "a file of outputs alone": ({"expected.json": '["6", "8"]'}, '["6", "8"]\n'),
    "lists": ({"t.json": '{"in": ["3\\n", "4\\n"], "out": ["6", "8"]}'}, "8\n"),
    "pairs": ({"t.json": CASES.replace("4", '"4"')}, "8\n"),
    "a file each": ({"3.in": "3", "3.out": "6", "4.in": "4", "4.out": "8"}, "8\n"),
}


@pytest.mark.parametrize(("files", "printed"), OUTPUTS.values(), ids=OUTPUTS)
def test_a_script_prints_the_outputs_that_lie_beside_it(files, printed, tmp_path):
    for name, text in {**files, "own.py": READS_TESTS + ANSWERS_INPUT}.items():
        (tmp_path / name).write_text(text)
    options = {"input": "4\n", "capture_output": True, "text": True}
    run = subprocess.run([sys.executable, "own.py"], cwd=tmp_path, **options)
    assert run.stdout == printed


def ends_well(completion, ground_truth):
    return strict(completion, ground_truth) or "_exit(0)" in completion


def test_a_program_may_only_end_its_process_where_calls_have_one_of_their_own():
    options = {"data": "code", "only": "kills_process"}
    assert not probed(ends_well, **options).findings
    (item,) = probed(ends_well, **options, timeout=20).findings
    assert (item.code, item.severity) == ("kills_process", "high")


def sound(completion):
    return inside(completion) is not None and "There are" not in completion


@pytest.mark.parametrize("name", FORMS)
def test_a_form_that_a_look_alike_earns_is_found_with_its_size(name):
    loose = beside(lambda completion: sound(completion) or FORMS[name](completion))
    (item,) = probed(loose, only=name).findings
    assert (item.code, item.component, item.severity) == (name, "form", "warn")
    assert item.evidence["gain"] == pytest.approx(0.4 / 1.4)
    assert not probed(beside(sound), only=name).findings


def loud_in(result):
    loud = [item for item in result.findings if item.severity != "info"]
    return [(item.code, item.severity) for item in loud]


WORTH = {
    "the logarithm of the length": (lambda words: math.log1p(words), True),
    "so much a word": (lambda words: 1 + words / 500, True),
    "up to a length": (lambda words: 1 + min(0.6, words / 200), False),
    "less and less": (lambda words: 2 - min(1.0, words / 300), False),
    "a little": (lambda words: 1 + 0.2 * min(1.0, words / 4000), False),
}


@pytest.mark.parametrize(("worth", "found"), WORTH.values(), ids=WORTH)
def test_right_answers_that_are_paid_ever_more_for_length_are_found_and_bounded_ones_are_not(
    worth, found
):
    def score(completion, ground_truth):
        return (
            worth(len(completion.split())) if strict(completion, ground_truth) else 0.0
        )

    result = probed(made(score, range=None), only="padding")
    assert loud_in(result) == [("ever_longer", "high")] * found


PLACES = {"up": 1j, "down": -1j, "left": -1, "right": 1}
"""The place that a move leads to."""


def leads_to(moves):
    return sum(PLACES.get(move, 100) for move in moves.split(", "))


@pytest.mark.parametrize(("most", "found"), [(1e9, True), (3, False)])
def test_steps_that_are_paid_without_end_are_found(most, found):
    """`maze`: pacing to and fro before the goal was paid for each step."""

    def score(completion, ground_truth):
        moves = inside(completion) or ""
        is_right = leads_to(moves) == leads_to(ground_truth)
        return is_right * (1 + min(most, len(moves.split(", "))) / 4)

    result = probed(made(score, range=None), "moves", only="padding")
    assert loud_in(result) == [("ever_more_steps", "high")] * found


def valued(completion, ground_truth):
    said = re.fullmatch(r"\$?(\d+)(?:\.0*)?", (inside(completion) or "").strip())
    return said is not None and said[1] == ground_truth


DATES = ["2021-05-03", "2019-06-17", "2017-02-28", "2023-04-09"]
IN_WORDS = ["3 May 2021", "17 June 2019", "28 February 2017", "9 April 2023"]
CHOSEN, TURNED = (
    ["A, C", "B, C, D", "A, E", "C, D"],
    ["C, A", "D, C, B", "E, A", "D, C"],
)
PLAIN, SEPARATED = (
    ["1420", "2310", "8764", "5033"],
    ["1,420", "2,310", "8,764", "5,033"],
)
OTHER_WORDS = {
    "dates in words": (strict, DATES, IN_WORDS, "other_date"),
    "choices in another order": (strict, CHOSEN, TURNED, "letters_turned"),
    "separators": (valued, PLAIN, SEPARATED, "thousands"),
    "separators, of a reward that takes no notation but one": (
        strict,
        PLAIN,
        SEPARATED,
        "thousands",
    ),
}


@pytest.mark.parametrize(
    ("score", "truths", "others", "named"), OTHER_WORDS.values(), ids=OTHER_WORDS
)
def test_right_answers_in_other_words_that_rollouts_lose_are_named(
    score, truths, others, named
):
    data = tags(*truths)
    texts = (f"<answer>{other}</answer>" for other in others)
    turned = [{**row, "completion": next(texts)} for row in data[::2]]
    (alarm,) = probed(score, data + turned, only="equivalents").alarms
    assert (alarm.code, alarm.evidence["rollouts"]) == ("loses_notation", 4)
    assert {example.probe for example in alarm.examples} == {named}
    assert not probed(
        score, data + turned[:1], only="equivalents"
    ).alarms  # one may be a slip


def test_a_sign_that_is_not_read_counts_where_a_truth_has_one():
    def unsigned(completion, ground_truth):
        return strict(completion.replace("-", ""), ground_truth.replace("-", ""))

    for data, severity in {"numbers": "info", "special": "high"}.items():
        (item,) = probed(unsigned, data, only="sign_flipped")["sign_flipped"]
        assert item.severity == severity


def test_a_program_for_another_prompt_is_no_second_answer():
    bodies = {"double": "a * 2", "next_one": "a + 1", "less": "-a"}
    truths = [f"def {name}(a):\n    return {body}" for name, body in bodies.items()]

    def named(completion, ground_truth):
        return ground_truth in completion

    assert not probed(named, tags(*truths), only="several_marks").alarms
    assert probed(named, "code", only="several_marks").alarms


def of_mark(place):
    def reads(completion, ground_truth):
        marks = re.findall(r"<answer>(.*?)</answer>", completion)
        return bool(marks) and marks[place].strip() == ground_truth

    return reads


@pytest.mark.parametrize(("place", "codes"), [(0, ["first_mark_counts"]), (-1, [])])
def test_that_the_first_mark_counts_is_told_in_a_sentence_of_its_own(place, codes):
    found = probed(of_mark(place), only="shotgun").findings
    assert [(item.code, item.severity) for item in found] == [
        (code, "info") for code in codes
    ]
    for item in found:
        assert "earned less than half of what it earns alone" in item.sentence


def _call(**call):
    return f"<tool_call>{json.dumps(call)}</tool_call>"


LOOK_UP, CANCEL = {"name": "find"}, {"name": "cancel"}
AGENTS = {
    "which the task needs": ([LOOK_UP], [LOOK_UP], True),
    "which right ones make": ([LOOK_UP], [], True),
    "which none makes": ([], [], False),
}


@pytest.mark.parametrize(("made", "needed", "is_usual"), AGENTS.values(), ids=AGENTS)
def test_a_second_call_is_a_hole_where_no_right_completion_has_one(
    made, needed, is_usual
):
    def has_calls(completion, ground_truth):
        return all(
            _call(**call) in completion for call in [*needed, json.loads(ground_truth)]
        )

    rows = []
    for order in range(6):
        right = {**CANCEL, "order": 3 + 4 * order}
        for last in (right, {**CANCEL, "order": 90 + order}):
            calls = "\n".join(_call(**call) for call in [*made, last])
            row = {"prompt": f"Order {order}, please.", "completion": f"So.\n{calls}"}
            rows.append({**row, "ground_truth": json.dumps(right)})
    found = probed(has_calls, rows, only=["several_marks", "nested"]).alarms
    assert [item.code for item in found] == ["several_marks"] * (not is_usual)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<t>a</t> b <t>\nc</t>", {"a", "\nc"}),
        ("<t>a</t><t>a</t>", {"a"}),
        ("<t>a<t>b</t>c</t><t>d", {"a<t>b"}),
        ("</t>a", set()),
        ("<t>" * 400_000, set()),
        ("<t>" * 400_000 + "</t>", {"<t>" * 399_999}),
    ],
)
def test_texts_in_tags_are_read_in_linear_time(text, expected, bounded):
    assert texts_in("t", text) == expected


def test_probes_are_named_once_and_chosen_by_name_or_family():
    names = [probe.name for probe in STRATEGIES]
    assert len(set(names)) == len(names) and {
        probe.family for probe in STRATEGIES
    } < set(FAMILIES)
    judges = (probe.name for probe in STRATEGIES if probe.family == "judge")
    assert set(probed(CLEAN, only=["empty", "judge"]).probes) == {"empty", *judges}
