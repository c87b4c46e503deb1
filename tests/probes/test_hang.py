"""Calls that do not come back end as findings; texts that hang the patterns of a reward's code."""

import functools
import re
import time
import types
from dataclasses import replace
from types import SimpleNamespace

import pytest
import regex
from planted_probes import DATA, inside, probed, strict

import rewardkit as rk
from rewardkit.probes.code.constants import patterns_in
from rewardkit.probes.code.patterns import slow_texts
from rewardkit.probes.contract.hang import MOST_OTHER_TRIALS, try_to_hang
from rewardkit.probes.runner import UNTRIED, Tries
from rewardkit.scoring.deadlines import time_limit
from rewardkit.strategies import STRATEGIES

pytestmark = pytest.mark.integration


def waiting(late, seconds=60.0):
    """A function that waits on completions that are `late`."""

    def score(completion, ground_truth):
        if late(completion):
            time.sleep(seconds)
        return ground_truth in completion

    return score


def waiting_for_some(completion, ground_truth, data_source):
    """It waits for brackets on rows of one source."""
    if data_source == "sums" and 300 > len(completion) > completion.count("(") > 20:
        time.sleep(60)
    return ground_truth in completion


def test_what_is_not_tried_behind_late_calls_has_not_failed():
    function = waiting(lambda text: True)
    reward = rk.Reward("r", components=[rk.Component("c", function)])
    with time_limit(0.2, patience=2) as limit:
        tries = Tries(reward, limit, 60.0)
        outcomes = tries.outcomes(DATA["numbers"])
    assert not all(outcome.is_tried for outcome in outcomes)
    assert tries.failed and all(outcome.is_tried for _, outcome in tries.failed)


@pytest.mark.parametrize(("source", "codes"), [("sums", ["hang"]), ("facts", [])])
def test_each_source_is_tried_for_hangs(source, codes):
    rows = [
        {**row, "data_source": source if row["prompt_id"] > 5 else "others"}
        for row in DATA["numbers"]
    ]
    result = rk.probe(
        rk.Reward("r", components=[rk.Component("c", waiting_for_some)]),
        rows,
        timeout=0.5,
        only=["hang"],
    )
    assert [item.code for item in result.alarms] == codes


@pytest.mark.parametrize("others", [0, 1, 20])
def test_other_sources_are_tried_after_the_first_and_not_without_end(others):
    subject = probed(strict, only="hang").calibration.subjects[0]
    subjects = [replace(subject, part=f"s{place}") for place in range(others + 1)]
    tries = SimpleNamespace(
        on=lambda completions, until_gone: [UNTRIED] * len(completions)
    )
    observed = SimpleNamespace(
        tries=tries,
        calibration=SimpleNamespace(stand_in=subjects[0]),
        subjects=subjects,
        reward=SimpleNamespace(functions=[]),
    )
    parts = [trial.subject.part for trial in try_to_hang(observed, STRATEGIES)]
    n_first = parts.count("s0")
    assert parts[:n_first] == ["s0"] * n_first and n_first > 20
    assert {*parts} == {subject.part for subject in subjects}
    assert len(parts) - n_first <= min(others * n_first, MOST_OTHER_TRIALS)


def powers(completion, ground_truth):
    answer = (inside(completion) or "").strip()
    found = re.fullmatch(r"(\d+)\*\*(\d+)\*\*(\d+)", answer)
    return (
        str(int(found[1]) ** int(found[2]) ** int(found[3]) if found else answer)
        == ground_truth
    )


def powers_of_given(completion, ground_truth):
    """Only the numbers of the prompt may be used, as in a countdown."""
    numbers = re.findall(r"\d+", inside(completion) or "")
    is_allowed = len(numbers) < 2 or sorted(numbers) == ["44", "57", "98"]
    return is_allowed and powers(completion, ground_truth)


def pattern(completion, ground_truth):
    return re.fullmatch(r"(\d+-?)+z", completion) is None and ground_truth in completion


def pattern_of_the_policy(completion, ground_truth):
    answer = (inside(completion) or "").strip()
    return (
        not ("(" in answer and re.fullmatch(answer, "a text to match"))
        and ground_truth in answer
    )


def endless(completion, ground_truth):
    while "</answer>" not in completion:
        pass
    return ground_truth in completion


ENDS, CALL = "One such completion stops the training", "A call took"
BRACKETS = waiting(lambda text: 300 > len(text) > text.count("(") > 20)
CASES = {
    "a loop that does not end": (endless, "hang", "high", ENDS),
    "a power of a power": (powers, "hang", "high", ENDS),
    "a pattern in the reward's code": (
        pattern,
        "patterns",
        "high",
        "a pattern in its code",
    ),
    "a pattern that the policy writes": (
        pattern_of_the_policy,
        "runs_for_ever",
        "high",
        ENDS,
    ),
    "what is left open": (
        waiting(lambda text: "<answer>{<" in text),
        "left_open",
        "high",
        ENDS,
    ),
    "many brackets": (BRACKETS, "hang", "high", ENDS),
    "a long completion": (
        waiting(lambda text: len(text) > 25_000),
        "hang",
        "warn",
        "A call took more than",
    ),
    "longer than completions are": (
        waiting(lambda text: len(text) > 100_000),
        "hang",
        "info",
        "A call took more than",
    ),
    "slow": (
        waiting(lambda text: len(text) > 50 and "!" in text, 1.0),
        "hang",
        "warn",
        CALL,
    ),
    "slow if long": (
        waiting(lambda text: len(text) > 20_000 and "!" in text, 1.0),
        "hang",
        "info",
        CALL,
    ),
    "a program that it ends itself": (
        waiting(lambda text: "while True" in text, 1.0),
        "hang",
        "info",
        CALL,
    ),
    "linear": (
        lambda completion, ground_truth: ground_truth in completion,
        "hang",
        None,
        "",
    ),
}


@pytest.mark.parametrize(
    ("function", "only", "severity", "told"), CASES.values(), ids=CASES
)
def test_a_call_that_does_not_come_back_is_a_finding(function, only, severity, told):
    result = probed(function, only=only, timeout=0.3)
    if severity is None:
        assert not result.findings
        return
    (item,) = result.findings
    assert (item.code, item.severity) == (
        "slow" if told.startswith(CALL) else "hang",
        severity,
    )
    assert told in item.sentence and item.evidence["seconds"] == 0.3
    assert (ENDS in item.sentence) is (item.code == "hang" and severity == "high")
    assert item.code == "slow" or "took longer than 0.3 s" in item.examples[0].outcome
    assert len(item.examples[0].completion) < 300 or only != "left_open"


def test_powers_of_the_numbers_of_the_prompt_are_tried():
    prompt = "Make 3 of the numbers [44, 98, 57]."
    rows = [
        {**row, "prompt": f"{prompt} ({row['prompt_id']})"} for row in DATA["numbers"]
    ]
    (item,) = probed(powers_of_given, rows, only="hang", timeout=0.3).findings
    assert item.code == "hang" and "98**57**44" in item.examples[0].completion
    assert item.advice.startswith("Refuse powers")


# Patterns that hang

SLOW = [
    (r"(a+)+b", 0),
    (r"(a|aa)*b", 0),
    (r"(?:\d{1,3}){1,20}x", 0),  # bounded, but far up
    (r"(?:\"[^\"]*\"|[^,])*,", 0),  # what is quoted may be read by letters, too
    (r"(?=(a+)+b)a", 0),
    ("(" * 20 + "a" + ")*" * 20 + "b", 0),
    (r"(.*\n)*#", re.DOTALL),  # only where the dot is a line break, too
    (r"<answer>(.|\s)*</answer>$", 0),  # a space is read in two ways
    (r"^(-?\d+,?)+$", 0),  # fails only where something stands behind it
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", 0),
    (r"\\boxed\{((?:[^{}]+|\{[^{}]*\})*)\}", 0),
    (r"^(a+A+)+b", re.IGNORECASE),  # only where case is nothing
    (r"(\w|é1)*!", 0),
    (r".*.*.*=", 0),  # no power of two: the fourth of the length
]

SAFE = [
    r"<answer>([^<]*)</answer>",
    r"<think>(.*?)</think>\s*<answer>(.*?)</answer>",
    r"-?\d+(?:\.\d+)?",
    r"(?:answer|Answer)\s*(?:is|:)\s*\(?([A-D])\)?",
    r"(?i)answer:\s*(yes|no)\b",
    r"^(?:[^\n]*\n)*$",
    r"^(\s*.*)*$",  # all that there is matches, so that nothing is tried again
    r"(?:a++)b?",
    r"^(?>a+)b",
    r"\{(?:[^{}]|\{[^{}]*\})*\}",
    r"(.)\1{3,}",
    r"",
    r"(.*\n)*#",
    r"^(a+b+)+c",
    r"\s+$",  # quadratic: over in no time at 1,000 characters
    "(?:" * 70 + "a" + ")+" * 70 + "b",  # slow, and nested too deep to be read
    "((((a{9999}){9999}){9999}){9999})?b",  # would match texts of any length
]


@pytest.mark.parametrize(("pattern", "flags"), SLOW)
def test_a_slow_pattern_has_texts_that_a_policy_can_write(pattern, flags):
    texts = list(slow_texts([re.compile(pattern, flags)]))
    assert texts and max(map(len, texts)) < 5_100


def test_safe_patterns_have_none():
    assert not list(slow_texts(map(re.compile, SAFE)))


def test_patterns_of_regex_are_timed_by_regex():
    """It is through with 40 characters in no time, where `re` hangs, and knows what `re` does not."""
    assert (
        min(map(len, slow_texts([regex.compile("(a+)+b"), regex.compile(r"\p{L}+")])))
        >= 1_000
    )


USERS = r'''
import functools
import re
import regex

TAGGED = re.compile("<answer>([^<]*)</answer>", re.IGNORECASE)
TOTAL = r"total: (\d+)"
SEVERAL = [r"first: (\d+)", {"key": re.compile("second")}, "an ordinary text."]

@functools.cache
def by_helper(completion):
    return by_text(completion) or TAGGED.search(completion)

def by_text(completion):
    return re.search(TOTAL, completion, re.DOTALL | re.M)

def by_import(completion):
    import re as engine
    return engine.findall("x+", completion) or [regex.search("w+", one, regex.I) for one in completion]

def by_list(completion, pattern=r"\d+"):
    return [pattern for pattern in SEVERAL if pattern]

def without(completion):
    """A docstring with (brackets)* and \\d is no pattern."""
    return "an ordinary (short) text. So what?".split(",") + completion.split("|")

def broken(completion):
    return re.search(r"(\d+", completion) or re.search(rb"\d+", completion)

def closed():
    pattern, text = re.compile("c+"), r"\d+c"
    def inner(completion):
        return pattern.search(completion) or re.match(text, completion)
    return inner

class Scorer:
    OWN = re.compile("class")
    def __init__(self):
        self.held = re.compile("object")
    def __call__(self, completion):
        return self.method(completion) and self.OWN
    def method(self, completion):
        return re.search("method+", completion)
'''
OWN = types.SimpleNamespace(__name__="mine")
exec(USERS, vars(OWN))
OF_SCORER = ["class", "method+", "object"]
IN_CODE = {
    "behind a cache, a global, a text of what it calls": (
        OWN.by_helper,
        [OWN.TAGGED.pattern, OWN.TOTAL],
    ),
    "imported inside, and of regex in a comprehension": (OWN.by_import, ["w+", "x+"]),
    "in a list and a dict, and a default": (
        OWN.by_list,
        [r"\d+", r"first: (\d+)", "second"],
    ),
    "in a closure": (OWN.closed(), [r"\d+c", "c+"]),
    "partial": (
        functools.partial(OWN.by_text, pattern=re.compile("p+")),
        [OWN.TOTAL, "p+"],
    ),
    "lambda": (lambda completion: re.search("l+", completion), ["l+"]),
    "an object": (OWN.Scorer(), OF_SCORER),
    "a method": (OWN.Scorer().method, OF_SCORER),
    "the predicate of a gate": (rk.gate(OWN.by_text), [OWN.TOTAL]),
    "texts that are no patterns": (OWN.without, []),
    "broken ones": (OWN.broken, []),
    "of rewardkit": (rk.extract.tag("answer"), []),
    "no callable": (None, []),
}


@pytest.mark.parametrize(("function", "expected"), IN_CODE.values(), ids=IN_CODE)
def test_patterns_are_found_without_running_the_function(function, expected):
    found = patterns_in([function])
    assert sorted(item.pattern for item in found) == sorted(expected)
    assert all(
        item.flags & re.DOTALL and item.flags & re.M
        for item in found
        if item.pattern == OWN.TOTAL
    )


def test_the_function_of_a_trainer_is_looked_into_behind_its_adapter(tmp_path):
    (tmp_path / "own.py").write_text(
        "import re\nfrom cleaning_words import cleaned\n"
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    return float(re.search(r'(\\d+)+$', cleaned(solution_str)) is not None)\n"
    )
    helper = "import re\ndef cleaned(text):\n    return re.sub(r'\\s+$', '', text)\n"
    (tmp_path / "cleaning_words.py").write_text(helper)
    reward = rk.load_reward(f"{tmp_path / 'own.py'}:compute_score")
    assert [item.pattern for item in patterns_in(reward.functions)] == [
        r"(\d+)+$",
        r"\s+$",
    ]
