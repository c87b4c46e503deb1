"""Hostile and long texts: no primitive hangs, raises, or takes more than its time over one."""

import time

import hostile
import inventory
import pytest

import rewardkit as rk
from rewardkit.primitives.verify.math.comparison import is_known
from rewardkit.primitives.verify.math.latex import LONGEST_EXPRESSION, normal_latex

pytestmark = pytest.mark.integration  # it takes minutes
extract, measure, verify = rk.extract, rk.measure, rk.verify
SIZE, SLOW = 10_000, 0.05  # characters, seconds


# beside those of the bench; many of them once took the square of their length
UNITS = (*hostile.UNITS, *(
    "<think>|so |中|5,|\u0301\u0316|a. |。|a b c d\n|</a>|<a><b>|<a |[Source:|; Source: | [ |<tool_call>[[|"
    "<tool_response>|Error |[(<|/|1,|a-|’|中1.5,|% 5  |!|ﷺ|option |answer is |_|A or |A, |not A |A) b |"
    "answer to a |A is |A isn't |a) x\n|(a |A) B) C) D) |A. No wait |$A$\n|A ❌\n|1|\\frac|[1,|\"k\":1,|"
    "[1],|\",|\"\\|\\{|(1),|<answer|<answer>1</answer>|<answer/>|<answer></answer |[1] |({[]})|"
    "[[1],[2]],|({[|['|['''|[\"\"\"|{'a':|{\"a\": 'b'} |[1, #|['a' |[\"\\|{a:|[Source: a,|\\boxed |"
    "\\text{A}|\\frac{1|1\\,111|$a|#### |9,999|-1|1 1/2 |5 7/2 |10^|~|*|最终答案 |I |answer:\n|answer is A |"
    "final answer |<tool_call>{|٣|1\u2009111|1.000.|aa is |\\boxed{1}, |$x=1$, |$a$ and |\\( |5万"
).split("|"))  # fmt: skip
PAIRS = [
    *(
        ("<answer>", "</answer>"),
        ("[", "]"),
        ("{", "}"),
        ("(", "'"),
        ('["', '\\"'),
        ("[1", "] "),
    ),
    *(
        ("1,111", "/"),
        ("answer:", " "),
        ("not ", "A "),
        ("A", ", "),
        ("1-", "1:"),
        ('<answer n="', "'"),
    ),
    *(
        ("####", " "),
        ("$", "a. "),
        ("<tool_call>", '{"a":'),
        ("```\n", " "),
        ("\\boxed", " "),
    ),
]


def awkward(size):
    """Texts of so many characters: a piece repeated, two in turn, many of one before another."""
    for unit in (*UNITS, *map("".join, PAIRS)):
        yield hostile.repeated(unit, size)
    for first, second in PAIRS:
        yield hostile.repeated(first, size // 2) + hostile.repeated(second, size // 2)


def seconds_of(call, text, times=1):
    """Of the processor, the least of some times, as another process may slow one down."""
    seconds = []
    for _ in range(times):
        started = time.process_time()
        call(text)
        seconds.append(time.process_time() - started)
    return min(seconds)


def grows(call, text, quarter, times=1):
    """Whether a text that takes long takes over eight times as long as a quarter of it; linear is four."""
    seconds = seconds_of(call, text, times)
    return seconds > SLOW and seconds > 8 * seconds_of(call, quarter, times)


READ_AS_SETS_F1_READS = {
    *("sets_equal", "sets_equal, hostile truth", "sets_f1, hostile truth"),
    "lists_equal(..., partial=True)",
}


@pytest.mark.parametrize(
    "name", [name for name in inventory.CALLS if name not in READ_AS_SETS_F1_READS]
)
def test_what_a_primitive_does_takes_a_time_that_grows_with_the_text(name):
    call, check = inventory.CALLS[name]
    for text, quarter in zip(awkward(SIZE), awkward(SIZE // 4), strict=True):
        assert not (
            grows(call, text, quarter) and grows(call, text, quarter, times=3)
        ), ascii(text[:20])
        assert check(quarter, call(quarter)) is None, ascii(text[:20])


MANY_LITERALS = "[1] " * 67_000 + "[2]"


@pytest.mark.parametrize(("which", "literal"), [("last", "[2]"), ("first", "[1]")])
def test_of_many_literals_one_is_read_in_time(bounded, which, literal):
    assert extract.python_literal(which=which)(MANY_LITERALS) == literal


def test_no_more_literals_are_read_than_time_allows(bounded):
    literals = extract.every(extract.python_literal())(MANY_LITERALS)
    assert len(literals) == 200_000 // len("[1]")


def test_a_runaway_pattern_ends_in_a_timeout_error_with_its_name(bounded):
    text = "a" * 5000 + "! b"
    for call in (
        extract.pattern("(a|aa)+$", timeout=0.2),
        measure.regex("(a|aa)+$", timeout=0.2),
        measure.regex("(a|aa)+b", mode="fullmatch", timeout=0.2),
    ):
        with pytest.raises(
            TimeoutError, match=r"'\(a\|aa\)\+.' took longer than 0\.2 s"
        ):
            call(text)
    with pytest.raises(
        TimeoutError, match=r"patterns of the schema took longer than 0\.2 s"
    ):
        measure.json_schema({"items": {"pattern": "(a|aa)+$"}}, timeout=0.2)(
            f'["{text}"]'
        )
    slow = f'"{"a" * 1000}d"'  # in the square of a text's length; the patterns of one text share their time
    with pytest.raises(TimeoutError):
        measure.json_schema({"items": {"pattern": "a+[bc]|d"}}, timeout=0.2)(
            f"[{slow}{(',' + slow) * 999}]"
        )


RECURSIVE = {"$defs": {"n": {"items": {"$ref": "#/$defs/n"}}}, "$ref": "#/$defs/n"}
BRANCH = {"properties": {"x": {"$ref": "#/$defs/n"}}}
TWO_WAYS = {"anyOf": [{**BRANCH, "required": ["a"]}, {**BRANCH, "required": ["b"]}]}
DOUBLING = {"$defs": {"n": TWO_WAYS}, "$ref": "#/$defs/n"}
SCHEMAS = {
    "brackets without end": (RECURSIVE, "[" * 100_000 + "]" * 100_000),
    "two ways at every level": (DOUBLING, '{"x":' * 60 + "{}" + "}" * 60),
    "elements that cannot be sorted": (
        {"uniqueItems": True},
        f"[{'{},' * 100_000}{{}}]",
    ),
    "more digits than Python reads": (
        {"items": {"type": "integer"}},
        f"[{'1' * 5_000}]",
    ),
    "lone surrogates": ({"items": {"pattern": "^a"}}, '["\\ud800", "\ud800"]'),
}


@pytest.mark.parametrize("name", SCHEMAS)
def test_hostile_json_neither_raises_nor_hangs(bounded, name):
    schema, text = SCHEMAS[name]
    assert (
        measure.json_schema(schema)(text)
        == measure.json_schema(schema, partial=True)(text)
        == 0.0
    )


def test_a_text_made_to_slow_the_search_for_loops_does_not(bounded):
    fibonacci = ["a", "b"]  # full of repetitions at every length
    while len(fibonacci[-1]) < 300_000:
        fibonacci.append(fibonacci[-1] + fibonacci[-2])
    assert 0.0 <= measure.repetition(kind="loop")(fibonacci[-1]) <= 1.0
    assert (
        measure.repetition(kind="loop")("a" * 200_000 + "b" + "a" * 199_999)
        == 199_999 / 400_000
    )


def test_many_messages_take_a_time_that_grows_with_their_number(bounded):
    half = range(3_000)
    said, made = (
        {"role": "assistant"},
        {"id": "x", "function": {"name": "f", "arguments": '{"a": 1}'}},
    )
    written = {
        **said,
        "content": '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>',
    }
    ok = {"role": "tool", "content": "ok"}
    for messages in (
        [
            item
            for at in half
            for item in ({**said, "tool_calls": [{**made, "id": at}]}, ok)
        ],
        [item for _ in half for item in (written, ok)],
        [
            {**said, "tool_calls": [made] * len(half)},
            *[{**ok, "tool_call_id": "x"}] * len(half),
        ],
    ):
        calls = measure.read_calls(messages)
        assert {(call.name, call.key, call.result) for call in calls} == {
            ("f", '["f", {"a": 1}]', "ok")
        }
        assert measure.repeated_calls()(messages) == 1 - 1 / len(half)
    assert measure.read_calls([None, 5, {}, {"role": []}] * 10_000) == ()


SPELLED = (
    "1|{|(|$|,| 1|\\left(|sqrt(|^(|1,|\\text{|=|.|1 cm |1 apples |a/|1\\text{a}|\\boxed{|\\boxed{}|$1$ and |"
    "''|{a \\choose |1.1|0.12|1\\text{ dozen}|\\begin{aligned}|&\\\\| and|ab |{a}|{a}{"
).split("|")


@pytest.mark.parametrize("piece", SPELLED)
def test_the_normal_form_of_mathematics_takes_little_processor_time(piece):
    started = time.process_time()
    for text in (
        piece * (LONGEST_EXPRESSION // len(piece)),
        piece * (LONGEST_EXPRESSION // len(piece) - 1) + "x",
    ):
        is_known(normal_latex(text))
    assert time.process_time() - started < 0.5


FORMULAS = [
    *(
        "9^{9^{9^{9}}}",
        "(10!)!",
        r"\sum_{k=1}^{10^{30}} k",
        "2^" * 600 + "2",
        "-" * 1900 + "1",
    ),
    *(
        r"\sqrt{" * 200 + "2" + "}" * 200,
        r"\frac{1}{" * 100 + "2" + "}" * 100,
        "1+" * 900 + "1",
    ),
    *(
        "x_" * 600 + "1",
        "1," * 900,
        "..." * 500,
        "!" * 1000 + "5",
        r"\boxed{1}" * 200,
        r"\begin{a}",
    ),
    *(
        "\u0000\\frac",
        "\ud800" * 1000,
        "\u202e5",
        "e\u0301",
        "nan",
        r"\frac{1}{0}",
        r"\infty-\infty",
        "0^0",
    ),
]


@pytest.mark.parametrize("text", FORMULAS, ids=lambda text: ascii(text)[:30])
def test_hostile_mathematics_is_wrong_soon_and_never_raises(bounded, text):
    for truth in (r"\pi+1", "7"):
        assert verify.math_equal(text, truth) is False
    assert verify.math_equal(r"\pi+1", text) in (False, None)
