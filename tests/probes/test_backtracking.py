"""Inputs that hang patterns: found for those that are weak, none for those that are not; patterns in code."""

import functools
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

import rewardkit as rk
from rewardkit.probes.contract import pattern_steps, pattern_tree
from rewardkit.probes.contract.backtracking import Weakness, patterns_in, pumps, weaknesses
from rewardkit.probes.contract.pattern_steps import Spent, steps
from rewardkit.probes.contract.pattern_tree import read_tree
from rewardkit.workers.pool import DeadlinePassed, Lost, Workers

EXPONENTIAL = [
    pytest.param(r"(a+)+b", 0, "nested", id="nested"),
    pytest.param(r"(a+)+?b", 0, "lazy nested", id="lazy nested"),
    pytest.param(r"(a|a)*b", 0, "two ways to read one letter", id="the same twice"),
    pytest.param(r"(a|aa)*b", 0, "two ways to read two letters", id="one or two"),
    pytest.param(r"(x+x+)+y", 0, "neighbours in a repetition", id="neighbours"),
    pytest.param(r"((ab)*)*c", 0, "what is repeated has two letters", id="two letters"),
    pytest.param(r"(?:\d{1,3}){1,20}x", 0, "bounded, but far up", id="bounded"),
    pytest.param(r"(?:\"[^\"]*\"|[^,])*,", 0, "what is quoted may be read by letters, too", id="quoted"),
    pytest.param(r"(?=(a+)+b)a", 0, "in a look ahead", id="look ahead"),
    pytest.param(r"^(a+)+$", 0, "fails behind what it repeats", id="anchored"),
    pytest.param("(" * 20 + "a" + ")*" * 20 + "b", 0, "nested deep", id="deep"),
    pytest.param(r"(?i)(?:[A-Z]+ ?)+!", 0, "in any case", id="any case"),
    pytest.param(r"(.*\n)*#", re.DOTALL, "only where the dot is a line break, too", id="dotall"),
    pytest.param(r"<answer>((.|\n)*)*</answer>", 0, "a whole answer", id="answer tag"),
    pytest.param(r"<answer>(.|\s)*</answer>$", 0, "a space is read in two ways", id="dot or space"),
    pytest.param(r"^(\s*.*)*</answer>$", 0, "lines", id="lines"),
    pytest.param(r"(\d+[,.]?)+$", 0, "numbers with separators", id="number"),
    pytest.param(r"^(-?\d+,?)+$", 0, "a list of numbers", id="list of numbers"),
    pytest.param(r"([A-Za-z]+\s?)*\.", 0, "sentences", id="sentence"),
    pytest.param(r"(\w+\s*)+:", 0, "words before a colon", id="words"),
    pytest.param(r"\\boxed\{((?:[^{}]+|\{[^{}]*\})*)\}", 0, "braces in braces", id="boxed"),
    pytest.param(r"([\w.-]+)+@", 0, "an address", id="address"),
    pytest.param(r"^(([a-z])+.)+[A-Z]([a-z])+$", 0, "a class name", id="java class"),
    pytest.param(r"/\*(.|[\r\n])*?\*/", 0, "a comment", id="comment"),
]
"""Pattern, flags, why."""

SLOW = [
    pytest.param(r"\s*\s*$", 0, 3, id="neighbours that match the same"),
    pytest.param(r"\d+\d*x", 0, 3, id="neighbours of other lengths"),
    pytest.param(r".*.*=", 0, 3, id="two dots"),
    pytest.param(r"^.*.*=", 0, 2, id="two dots from the start"),
    pytest.param(r"\s+$", 0, 2, id="spaces that do not end the text"),
    pytest.param(r"^\s+|\s+$", 0, 2, id="strip, behind what is no space"),
    pytest.param(r"\d+\.\d+", 0, 2, id="digits without a point, from each digit on"),
    pytest.param(r"(a+)\1b", 0, 2, id="a group again"),
    pytest.param(r"(?>a+)+b", 0, 2, id="kept, yet from each start on"),
    pytest.param(r"<answer>(.*?)</answer>", re.DOTALL, 2, id="an opening tag from which on all is read"),
    pytest.param(r"<think>(.*?)</think>\s*<answer>(.*?)</answer>", re.DOTALL, 3, id="both tags"),
    pytest.param(r"^<think>.*?</think>\s*<answer>.*?</answer>$", re.DOTALL, 2, id="both tags from the start"),
]
"""Pattern, flags, power of the length."""

SAFE = [
    r"<answer>([^<]*)</answer>",
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
]


def search(pattern, flags, text):
    return re.search(pattern, text, flags) is not None


@pytest.fixture(scope="module")
def workers():
    with Workers(seconds=0.5) as made:
        yield made


@pytest.mark.parametrize(("pattern", "flags", "why"), EXPONENTIAL)
def test_an_exponential_pattern_has_a_text_that_does_not_come_back(pattern, flags, why, workers):
    assert [item.kind for item in weaknesses(pattern, flags)][:1] == ["exponential"], why
    texts = pumps(pattern, flags)
    assert all(len(text) < 2_100 for text in texts[:2])
    found = [answer for _, answer in workers.map(search, [(pattern, flags, text) for text in texts[:2]])]
    assert any(isinstance(answer, Lost) and isinstance(answer.error, DeadlinePassed) for answer in found)


@pytest.mark.parametrize(("pattern", "flags", "degree"), SLOW)
def test_a_slow_pattern_has_a_long_text_and_the_power_that_it_grows_with(pattern, flags, degree):
    found = weaknesses(pattern, flags)
    assert found[0].degree == degree
    (length,) = {len(text) // 10_000 * 10_000 for text in found[0].texts}
    assert length == {2: 100_000, 3: 50_000}[degree]


@pytest.mark.parametrize("pattern", SAFE)
@pytest.mark.parametrize("flags", [0, re.IGNORECASE], ids=["as it is", "in any case"])
def test_a_safe_pattern_has_none(pattern, flags):
    assert pumps(pattern, flags) == ()


def test_flags_decide_what_is_weak():
    lines = r"(.*\n)*#"
    assert {item.kind for item in weaknesses(lines)} == {"quadratic"}
    assert weaknesses(lines, re.DOTALL)[0].kind == "exponential"
    assert weaknesses(re.compile(lines, re.DOTALL)) == weaknesses(lines, re.DOTALL)
    assert weaknesses(regex.compile(lines, regex.DOTALL)) == weaknesses(lines, re.DOTALL)
    assert weaknesses(r"(?s:" + lines + ")") == weaknesses(lines, re.DOTALL)
    assert weaknesses(r"^(a+A+)+b", re.IGNORECASE)[0].kind == "exponential"
    assert weaknesses(r"^(a+A+)+b") == ()


def test_a_compiled_pattern_of_regex_is_ascii_where_that_says_so():
    pattern = r"(\w|é1)*!"
    assert weaknesses(regex.compile(pattern))[0].kind == "exponential"
    assert "exponential" not in {item.kind for item in weaknesses(regex.compile(pattern, regex.ASCII))}


def test_a_text_is_what_stands_before_then_pumps_and_an_end_that_fails():
    (found,) = weaknesses(r"^total: (\d+,?)+$")
    assert (found.prefix, found.pump, found.suffix) == ("total: ", "0", "!")
    assert found.text(4) == "total: 0000!"
    assert Weakness("", "ab", "", 2.0).text(3) == "abab"
    assert list(map(len, found.texts)) == [48, 2008]


def test_the_same_is_not_told_twice_and_no_more_than_two_of_a_kind():
    found = weaknesses(r"(\d+)+a|(\s+)+b|(x+)+y|(z+)+w")
    assert len(found) == len(set(found)) and [item.kind for item in found].count("exponential") == 2


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        pytest.param("(a", "it does not compile", id="broken"),
        pytest.param(r"\p{L}+", "only regex knows it", id="of regex"),
        pytest.param(re.compile(rb"(a+)+b"), "it is of bytes", id="bytes"),
        pytest.param("(" * 5_000 + ")" * 5_000, "it is nested too deep to be read", id="deep"),
        pytest.param("(a{60}){60}" + r"\1" * 3_000, "it is too large", id="large"),
    ],
)
def test_a_pattern_that_cannot_be_read_has_none(pattern, why):
    assert pumps(pattern) == (), why


def test_a_python_with_another_parser_finds_none(monkeypatch):
    def gone(name):
        raise ModuleNotFoundError(name)

    monkeypatch.setattr(pattern_tree, "import_module", gone)
    assert pumps(r"(a+)+b") == ()


@pytest.mark.parametrize("thing", [5, None, b"a+"])
def test_what_is_no_pattern_is_said_in_one_sentence(thing):
    with pytest.raises(rk.InputError, match=r"is no pattern; give a text, or what re\.compile gave"):
        pumps(thing)


def test_a_pattern_that_takes_too_much_work_ends_without_an_answer():
    with pytest.raises(Spent):
        steps(read_tree(r"(a+)+b"), "a" * 100, 50)
    assert isinstance(pumps("(?:" * 12 + "a" + "b?)*" * 12 + "c"), tuple)


@pytest.mark.parametrize(
    ("pattern", "text", "expected", "why"),
    [
        pytest.param("a*b", "aa", 9, "a in 1 + 2 ways, then b in 1 + 2 + 3", id="one"),
        pytest.param("(a?)*b", "a", 4, "a round that takes nothing is no further way", id="nothing"),
        pytest.param("a*", "aa", 0, "it is there at the first start", id="found"),
        pytest.param("ba*", "aab", 2, "two starts fail before the one where it is", id="found later"),
        pytest.param("(?>a*)a", "aa", 9, "what was kept is not given back", id="kept"),
    ],
)
def test_steps_are_those_of_a_search_that_fails(pattern, text, expected, why):
    assert steps(read_tree(pattern), text, 1_000)[0] == expected, why


ATOMS = st.sampled_from(["a", "A", ".", "[aA]", r"\d", "(a)", "(?:aA)", "(a|A)", "(aA|a)", "^", "$", r"\b"])
PATTERNS = st.recursive(
    st.tuples(ATOMS, st.sampled_from(["", "*", "+", "?", "{2}", "{1,2}"])).map(
        lambda pair: pair[0] + (pair[1] if pair[0] not in ("^", "$", r"\b") else "")
    ),
    lambda inner: st.lists(inner, min_size=1, max_size=3).map("".join),
    max_leaves=4,
)


@given(PATTERNS, st.text("aA0 \n", max_size=6))
@example("a$", "a\n")
@example("(?m)^a$", "A\na\nA")
@example(r"(?<=aA)a(?!A)", "aAaA0aAa")
@example(r"\Aa*\Z", "aa")
@example(r"\Ba\b", "Aaa Aa")
@example(r"(?s:.)(?i:A)", "\na")
@example(r"[^\WA]\D\S", "Aaa0A_0a")
def test_the_tree_matches_what_the_pattern_matches(pattern, text):
    """Of characters that stand in every tree's alphabet."""
    tree = read_tree(pattern)
    places = range(len(text) + 1)
    ends = [pattern_steps._Count(text, 100_000).run(tree.root, {place: 1}) for place in places]
    assert [bool(found) for found in ends] == [bool(re.compile(pattern).match(text, at)) for at in places]


# Patterns in code -----------------------------------------------------------------------------------------

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
    assert sorted(item.pattern for item in patterns_in(function)) == sorted(expected)


def test_a_text_has_the_flags_of_its_call():
    (found,) = patterns_in(by_text)
    assert found.flags & (re.DOTALL | re.MULTILINE) == re.DOTALL | re.MULTILINE
    assert patterns_in(by_global) == (TAGGED,)
    flags = {item.pattern: bool(item.flags & re.IGNORECASE) for item in patterns_in(of_two)}
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
    found = [item.pattern for function in reward.functions for item in patterns_in(function)]
    assert found == [r"(\d+)+$", r"\s+$"]


def test_a_broken_text_is_no_pattern():
    def broken(completion):
        return re.search(r"(\d+", completion) or re.search(rb"\d+", completion)

    assert patterns_in(broken) == ()
