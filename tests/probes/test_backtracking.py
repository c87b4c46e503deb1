"""Texts that hang patterns: found for those that are weak, none for the others; patterns in users' code."""

import functools
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import regex

import rewardkit as rk
from rewardkit.probes.contract.backtracking import samples, slow_texts
from rewardkit.probes.contract.constants import patterns_in

SLOW = [
    pytest.param(r"(a+)+b", 0, id="nested"),
    pytest.param(r"(a|a)*b", 0, id="two ways to read one letter"),
    pytest.param(r"(a|aa)*b", 0, id="two ways to read two letters"),
    pytest.param(r"((ab)*)*c", 0, id="what is repeated has two letters"),
    pytest.param(r"(?:\d{1,3}){1,20}x", 0, id="bounded, but far up"),
    pytest.param(r"(?:\"[^\"]*\"|[^,])*,", 0, id="what is quoted may be read by letters, too"),
    pytest.param(r"(?=(a+)+b)a", 0, id="in a look ahead"),
    pytest.param("(" * 20 + "a" + ")*" * 20 + "b", 0, id="nested deep"),
    pytest.param(r"(.*\n)*#", re.DOTALL, id="only where the dot is a line break, too"),
    pytest.param(r"<answer>((.|\n)*)*</answer>", 0, id="a whole answer"),
    pytest.param(r"<answer>(.|\s)*</answer>$", 0, id="a space is read in two ways"),
    pytest.param(r"^(-?\d+,?)+$", 0, id="a list of numbers"),
    pytest.param(r"\\boxed\{((?:[^{}]+|\{[^{}]*\})*)\}", 0, id="braces in braces"),
    pytest.param(r"^(([a-z])+.)+[A-Z]([a-z])+$", 0, id="a class name"),
    pytest.param(r"/\*(.|[\r\n])*?\*/", 0, id="a comment"),
    pytest.param(r"^(a+A+)+b", re.IGNORECASE, id="only where case is nothing"),
    pytest.param(r"(\w|é1)*!", 0, id="letters of any script"),
    pytest.param(r".*.*=", 0, id="cubic: two dots"),
]
"""Pattern, flags."""

SAFE = [
    r"<answer>([^<]*)</answer>",
    r"<think>(.*?)</think>\s*<answer>(.*?)</answer>",
    r"\\boxed\{([^{}]*)\}",
    r"####\s*(-?[\d,.]+)",
    r"####\s*(-?\d+)",
    r"^#### -?\d+$",
    r"-?\d+(?:\.\d+)?",
    r"-?\d{1,3}(?:,\d{3})*",
    r"^\d+(,\d+)*$",
    r"^[A-D]$",
    r"\b[A-D]\b",
    r"\(([A-D])\)",
    r"(?:answer|Answer)\s*(?:is|:)\s*\(?([A-D])\)?",
    r"(?i)answer:\s*(yes|no)\b",
    r"^\s*<think>",
    r"^(?:[^\n]*\n)*$",
    r"^(\s*.*)*$",  # all that there is matches, so that nothing is tried again
    r"\d+\d*",
    r"(?:a++)b?",
    r"^(?>a+)b",
    r"^(?:a++)+b",
    r"\{(?:[^{}]|\{[^{}]*\})*\}",
    r"</?(?:think|answer)>",
    r"^<think>[^<]*</think>\n<answer>[^<]*</answer>\Z",
    r"[.!?]\s",
    r"^(?:ab|cd)*$",
    r"(.)\1{3,}",
    r"",
    r"(.*\n)*#",
    r"^(a+b+)+c",
    r"\s+$",  # quadratic: over in no time at 1,000 characters
    r"\d+\.\d+",
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
    assert min(map(len, slow_texts([regex.compile("(a+)+b"), regex.compile(r"\p{L}+")]))) >= 1_000


def test_samples_are_texts_that_a_pattern_matches():
    pattern = r"(?:the )?(answer|result)[^\d\s]\s?(?>yes|no)(?=x)"
    assert all(re.search(r"answer|result|yes|no", text) for text in samples(pattern))
    assert re.search(pattern, samples(pattern)[1] + "x") and samples("(") == samples("") == []


TAGGED = re.compile(r"<answer>([^<]*)</answer>", re.IGNORECASE)
TOTAL = r"total: (\d+)"
SEVERAL = [r"first: (\d+)", {"key": re.compile("second")}, "an ordinary text."]


def by_global(completion):
    return TAGGED.search(completion)


def by_helper(completion):
    return by_global(completion)


def by_text(completion):
    return re.search(TOTAL, completion, re.DOTALL | re.M)


def by_import(completion):
    import re as engine

    return engine.findall("x+", completion)


def by_import_from(completion):
    from re import search as found

    return [found("w+", line) for line in completion.splitlines()]


def by_regex(completion):
    return [regex.fullmatch("y+", line, flags=regex.I) for line in completion.splitlines()]


def by_list(completion):
    return [pattern for pattern in SEVERAL if pattern]


def by_default(completion, pattern=r"\d+"):
    return pattern


def of_two(completion):
    return re.sub("a+", "", re.sub("b+", "", completion), flags=re.IGNORECASE)


def without(completion):
    """A docstring with (brackets)* and \\d is no pattern."""
    return "an ordinary (short) text. So what?".split(",") + completion.split("|")


def closed():
    pattern, text = re.compile("c+"), r"\d+c"

    def inner(completion):
        return pattern.search(completion) or re.match(text, completion)

    return inner


@functools.cache
def cached(completion):
    return re.search("z+", completion)


def with_attribute(completion):
    return with_attribute.pattern.search(completion)


with_attribute.pattern = re.compile("attribute")


class Scorer:
    OWN: ClassVar[Any] = re.compile("class")

    def __init__(self):
        self.held = re.compile("object")

    def __call__(self, completion):
        return self.method(completion) and self.OWN

    def method(self, completion):
        return re.search("method+", completion)

    @staticmethod
    def plain(completion):
        return re.search("static+", completion)


@dataclass(frozen=True)
class Held:
    function: Any

    def __call__(self, completion):
        return self.function(completion)


OF_SCORER = ["class", "method+", "object", "static+"]


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        pytest.param(by_global, [TAGGED.pattern], id="a compiled global"),
        pytest.param(by_helper, [TAGGED.pattern], id="of a function that it calls"),
        pytest.param(by_text, [TOTAL], id="a text that is a global"),
        pytest.param(by_import, ["x+"], id="imported inside"),
        pytest.param(by_import_from, ["w+"], id="a function imported inside"),
        pytest.param(by_regex, ["y+"], id="of regex, in a comprehension"),
        pytest.param(by_list, [r"first: (\d+)", "second"], id="in a list and a dict"),
        pytest.param(by_default, [r"\d+"], id="a default"),
        pytest.param(of_two, ["a+", "b+"], id="two calls in one another"),
        pytest.param(closed(), [r"\d+c", "c+"], id="in a closure"),
        pytest.param(cached, ["z+"], id="behind a cache"),
        pytest.param(with_attribute, ["attribute"], id="an attribute of the function"),
        pytest.param(functools.partial(by_default, pattern=re.compile("p+")), [r"\d+", "p+"], id="partial"),
        pytest.param(lambda completion: re.search("l+", completion), ["l+"], id="lambda"),
        pytest.param(Scorer(), OF_SCORER, id="an object"),
        pytest.param(Scorer().method, OF_SCORER, id="a method"),
        pytest.param(Scorer.plain, ["static+"], id="a static method"),
        pytest.param(Held(by_global), [TAGGED.pattern], id="held by an object"),
        pytest.param(rk.gate(by_global), [TAGGED.pattern], id="the predicate of a gate"),
        pytest.param(without, [], id="texts that are no patterns"),
        pytest.param(len, [], id="built in"),
        pytest.param(re.search, [], id="of the standard library"),
        pytest.param(rk.extract.tag("answer"), [], id="of rewardkit"),
        pytest.param(None, [], id="no callable"),
    ],
)
def test_patterns_are_found_without_running_the_function(function, expected):
    assert sorted(item.pattern for item in patterns_in([function])) == sorted(expected)


def test_a_text_has_the_flags_of_its_call():
    (found,) = patterns_in([by_text])
    assert found.flags & (re.DOTALL | re.MULTILINE) == re.DOTALL | re.MULTILINE
    assert patterns_in([by_global]) == (TAGGED,)
    flags = {item.pattern: bool(item.flags & re.IGNORECASE) for item in patterns_in([of_two])}
    assert flags["b+"]  # the last call before it; of which of two nested ones it is cannot be told


def test_the_function_of_a_trainer_is_looked_into_behind_its_adapter(tmp_path):
    (tmp_path / "own.py").write_text(
        "import re\nfrom cleaning_words import cleaned\n"
        "def compute_score(data_source, solution_str, ground_truth, extra_info=None):\n"
        "    return float(re.search(r'(\\d+)+$', cleaned(solution_str)) is not None)\n"
    )
    (tmp_path / "cleaning_words.py").write_text(
        "import re\ndef cleaned(text):\n    return re.sub(r'\\s+$', '', text)\n"
    )
    reward = rk.load_reward(f"{tmp_path / 'own.py'}:compute_score")
    found = [item.pattern for item in patterns_in(reward.functions)]
    assert found == [r"(\d+)+$", r"\s+$"]


def test_a_broken_text_is_no_pattern():
    def broken(completion):
        return re.search(r"(\d+", completion) or re.search(rb"\d+", completion)

    assert patterns_in([broken]) == ()
