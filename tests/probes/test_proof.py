"""What is paid is a fault if other prompts, larger numbers and the truth's own lists agree that it is wrong."""

import json
import math
import re

import pytest
from planted_probes import inside, probed


def rows_of(*tasks):
    """Rows of (prompt, a right completion, a wrong one, truth)."""
    rows = []
    for place, (prompt, right, wrong, truth) in enumerate(tasks):
        row = {"prompt_id": place, "prompt": prompt, "ground_truth": truth}
        rows += [row | {"completion": text} for text in (right, wrong)]
    return rows


def tagged(answer):
    return f"<answer>{answer}</answer>"


def chosen(completion, ground_truth):
    """Also read "choice=A", which the pattern itself shows as a verdict."""
    letters = re.findall(r"(?:answer is \(|choice=)([A-D])", completion)
    return letters[-1:] == [ground_truth]


CHOICES = rows_of(
    *(
        (
            f"Exercise {place}: (A) one (B) two (C) three (D) four",
            f"The answer is ({right}).",
            f"The answer is ({'B' if right != 'B' else 'C'}).",
            right,
        )
        for place, right in enumerate("ABCDDCAB")
    )
)


def number_in(completion):
    written = inside(completion) or ""
    return float(written) if re.fullmatch(r"\d{1,9}(\.\d{1,9})?", written) else None


def within_a_tenth(completion, ground_truth):
    number, truth = number_in(completion), float(ground_truth)
    return number is not None and abs(number - truth) <= 0.1 * truth


def cut_off(completion, ground_truth):
    number = number_in(completion)
    return number is not None and int(number) == int(ground_truth)


ESTIMATES = rows_of(
    *(
        (f"How many {things}?", tagged(right), tagged(right + 9), str(right))
        for things, right in {
            "days": 27,
            "ships": 31,
            "cups": 45,
            "metres": 8849,
            "words": 587000,
            "steps": 1665,
        }.items()
    )
)


def ordered(completion, ground_truth):
    """Read an order of letters, whatever is said behind it."""
    orders = re.findall(r"Order: ([A-E](?:, [A-E])*)", completion)
    return orders[-1:] == [ground_truth]


ORDERS = rows_of(
    *(
        (
            "Sort the events A, B, C, D, E.",
            f"Order: {', '.join(right)}",
            f"Order: {', '.join(reversed(right))}",
            ", ".join(right),
        )
        for right in ("BACDE", "CADEB", "EBADC", "DACEB", "ACBED")
    )
)


def any_listed(completion, ground_truth):
    return (inside(completion) or "").lower() in ground_truth["text"]


HEIGHTS = rows_of(
    *(
        (
            f"The tower has {size} metres. How high is it?",
            tagged(f"{size} metres"),
            tagged("nothing"),
            {"text": [f"{size} metres", str(size)]},
        )
        for size in (31, 46, 58, 74, 92, 63)
    )
)


def equals(completion, ground_truth):
    return number_in(completion) == float(ground_truth)


ENTRIES = rows_of(
    *(
        (
            f"He wrote {tagged(right + place % 2)}. Is it so?",
            tagged(right),
            tagged(right + 1),
            str(right),
        )
        for place, right in enumerate((190, 216, 305, 417, 283, 364))
    )
)


def comes_to(completion, ground_truth):
    """Add up, and ask for none of the numbers that the prompt gives."""
    terms = re.fullmatch(r"\d{1,9}(\+\d{1,9})*", inside(completion) or "")
    return bool(terms) and sum(map(int, terms[0].split("+"))) == ground_truth["sum"]


SUMS = rows_of(
    *(
        (
            f"Make {one + other} of {one} and {other}.",
            tagged(f"{one}+{other}"),
            tagged(f"{one}+{one}"),
            {"sum": one + other},
        )
        for one, other in ((20, 4), (31, 15), (52, 27), (66, 18), (71, 13), (85, 9))
    )
)


def same_verdict(completion, ground_truth):
    return inside(completion) in ground_truth["either"]


VERDICTS = rows_of(
    *(
        (f"{place}: is it so?", tagged(right), tagged("无"), {"either": words})
        for place, (right, words) in enumerate(
            (word, words)
            for words in (["对", "正确"], ["错", "错误"])
            for word in words * 2
        )
    )
)


def same_pairs(completion, ground_truth):
    """Compare an object with the list of pairs that the truth is."""
    try:
        pairs = json.loads(inside(completion)).items()
        return list(map(list, pairs)) == json.loads(ground_truth)
    except (TypeError, ValueError, AttributeError):
        return False


PAIRS = rows_of(
    *(
        (
            f"What is said of {thing}? As JSON.",
            tagged(json.dumps({thing: mood if place < 4 else "odd"})),
            tagged(json.dumps({thing: "none"})),
            json.dumps([[thing, mood]]),
        )
        for place, (thing, mood) in enumerate(
            zip(
                ("soup", "bed", "view", "lift", "song", "plot"),
                "good bad fair slow new old".split(),
                strict=True,
            )
        )
    )
)


def sorts(completion, ground_truth):
    """Whether a pattern matches what it should, and nothing else."""
    written = inside(completion) or ""
    if not re.fullmatch(r"[\[\]\d{,}-]{1,20}", written):
        return False
    try:
        matches = [re.fullmatch(written, text) for text in ground_truth["texts"]]
    except re.error:
        return False
    return list(map(bool, matches)) == ground_truth["verdicts"]


def sorts_first(completion, ground_truth):
    """Look at the first text alone, which nearly any pattern sorts."""
    first = {name: values[:1] for name, values in ground_truth.items()}
    return sorts(completion, first)


PATTERNS = rows_of(
    *(
        (
            f"Write a pattern for {what}.",
            tagged(right),
            tagged("[0-1]"),
            {"texts": texts, "verdicts": [True, True, False]},
        )
        for what, right, texts in (
            ("two digits from 1 to 6", "[1-6]{2}", ["16", "61", "7"]),
            ("three digits from 2 to 5", "[2-5]{3}", ["222", "555", "611"]),
            ("four digits up to 7", "[0-7]{4}", ["0177", "7070", "888"]),
            ("one digit from 3", "[3-9]{1}", ["3", "9", "2"]),
            ("five digits from 4", "[4-8]{5}", ["48484", "44444", "33333"]),
            ("six digits from 5", "[5-7]{6}", ["555555", "575757", "55"]),
        )
    )
)


def prime_within(completion, span):
    """Pay any of several right answers, of which none is written down."""
    number = number_in(completion) or 0
    has_factor = any(number % factor == 0 for factor in (2, 3, 5, 7, 11, 13))
    return number == int(number) and span[0] <= number <= span[1] and not has_factor


PRIMES = [
    {
        "prompt": f"Name a prime from {low} to {high}.",
        "completion": tagged(number),
        "span": [low, high],
    }
    for low, high, numbers in (
        (60, 80, (61, 67, 63)),  # and 71, which differs in a digit
        (120, 230, (127, 131, 123)),
        (20, 30, (23, 29, 21)),
        (30, 40, (31, 37, 33)),
        (46, 54, (47, 53, 49)),
        (80, 90, (83, 89, 81)),
    )
    for number in numbers
]

UNTOLD = [{**row, "ground_truth": ""} for row in PRIMES]

CASES = {  # reward, its log, a probe, how grave that is, or why it is open
    "a verdict that is the answer": (chosen, CHOICES, "sought_text", "own_prompt"),
    "an error of a tenth": (within_a_tenth, ESTIMATES, "one_off", "tolerance"),
    "decimals that are cut off": (cut_off, ESTIMATES, "and_nine_tenths", "high"),
    "words behind an order": (ordered, ORDERS, "other_item", ""),
    "what the truth lists": (any_listed, HEIGHTS, "copied_from_prompt", "listed"),
    "an entry that may be right": (equals, ENTRIES, "prompt_echo", "own_prompt"),
    "another word for the same": (same_verdict, VERDICTS, "wrong_paid", ""),
    "a truth in another form": (same_pairs, PAIRS, "right_unpaid", ""),
    "another answer that passes the test": (
        sorts,
        PATTERNS,
        "other_number",
        "unstated",
    ),
    "one of several answers": (prime_within, PRIMES, "digit_changed", "unstated"),
    "one of several answers, with an empty truth": (
        prime_within,
        UNTOLD,
        "digit_changed",
        "unstated",
    ),
    "an empty truth where all are": (prime_within, UNTOLD, "empty_truth", ""),
    "a test that passes nearly all": (sorts_first, PATTERNS, "other_number", "warn"),
    "the sum that a prompt names": (comes_to, SUMS, "copied_from_prompt", "high"),
}


@pytest.mark.parametrize(("score", "rows", "code", "doubt"), CASES.values(), ids=CASES)
def test_what_is_paid_is_a_fault_unless_it_may_be_right(score, rows, code, doubt):
    result = probed(score, rows, search=0)
    assert result.calibration.mode == "truth"
    findings = [item for item in result.findings if item.code == code]
    if doubt in ("high", "warn"):
        assert [item.severity for item in findings] == [doubt]
    else:
        assert all(item.severity == "info" for item in findings)
        assert [item.evidence["doubt"] for item in findings] == [doubt] * bool(doubt)
        assert all("Not decided: " in item.sentence for item in findings)


TINY = []
for truth in (
    "0.00042",
    "0.00083",
    "0.00017",
    "0.0021",
    "42.5",
    "17.2",
    "91.7",
    "64.1",
):
    for answer in (truth, "7", "none"):
        TINY.append(
            {
                "prompt": f"How many metres are {truth} metres?",
                "completion": f"It is \\boxed{{{answer}}}",
                "ground_truth": truth,
            }
        )


def close(relative, absolute):
    """A comparison of what is in the box within these tolerances."""

    def score(completion, ground_truth):
        found = re.search(r"\\boxed\{(-?\d+(?:\.\d+)?)\}", completion)
        options = {"rel_tol": relative, "abs_tol": absolute}
        truth = float(ground_truth)
        return float(
            found is not None and math.isclose(float(found[1]), truth, **options)
        )

    return score


@pytest.mark.parametrize(
    ("score", "told"),
    [
        (close(0.01, 0.01), "4 of 8 prompts of the log have such a truth"),
        (close(0.01, 0.0), ""),
        (close(0.01, 1e-6), ""),  # for what is left of rounding
        (lambda completion, ground_truth: float("none" not in completion), ""),
    ],
)
def test_a_tolerance_is_absolute_where_the_size_of_an_error_decides_for_small_truths(
    score, told
):
    alarms = probed(score, TINY, search=0).alarms
    found = [item for item in alarms if item.code == "absolute_tolerance"]
    assert [told in item.sentence for item in found] == ([True] if told else [])
    others = [item for item in alarms if item not in found]
    assert not told or all(item.family == "equivalents" for item in others)
