"""Extractors: what each finds, and what it must not find; the value of the last or the first occurrence."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tabled import table

from rewardkit.primitives.extract import (
    after,
    answer_phrase,
    boxed,
    code_block,
    every,
    first_of,
    gsm8k,
    json_value,
    number,
    pattern,
    python_literal,
    tag,
    tool_call,
    within,
)
from rewardkit.primitives.verify import read_number

ANSWER = tag("answer")
WEATHER = '{"name": "weather", "arguments": {"city": "Oslo", "days": 3}}'
CODER = "<function=f>\n<parameter=a>\nso\n it is\n</parameter>\n<parameter=b>3</parameter>\n</function>"


def found(expected, **groups):
    """Rows of texts in which the same is found, from reason: texts; | stands between texts."""
    return [(text, expected, f"{why}: {text}") for why, texts in groups.items() for text in texts.split("|")]


def alone(**groups):
    """Rows of texts that are what is found in them, between words."""
    return [(f"it is {text} so", text, why) for text, _, why in found(None, **groups)]


def call(text):
    return f"<tool_call>\n{text}\n</tool_call>"


TAGS = (
    ("<answer>1<answer>2</answer>3</answer>", "2", "of nested pairs the innermost"),
    ("<answer></answer>", "", "an empty pair is found and empty"),
    ("<answers>4</answers>", None, "a longer name is another tag"),
    ('<answer note="a>b"/> 42', "", "a tag with it that closes itself"),
)
BOXES = (
    (r"so \boxed{\frac{1}{2}}.", r"\frac{1}{2}", "inner braces belong to it"),
    (r"\boxed{4", None, "a box that is never closed"),
    (r"\boxed4", "4", "without a space"),
    (r"\\boxed{4}", None, "a line break before the word boxed is no box"),
)
MARKERS = (
    (after("####"), "#### 42\nbye", "42", "to the end of the line"),
    (after("####", until="end"), "#### 42\nbye ", "42\nbye", "to the end of the completion"),
    (after("</think>", until="end"), "<think>2+2</think>\nIt is\n4.", "It is\n4.", "behind the thinking"),
)
CODE_BLOCKS = (
    (code_block("python"), "```python\na\n```\n```json\n{}\n```", "a", "of the language asked for"),
    (code_block(), "````\n```\na\n```\n````", "```\na\n```", "a shorter fence does not close"),
    (code_block("python"), "> ```python\n> if a:\n>     b\n>\n> c\n> ```", "if a:\n    b\n\nc", "quoted"),
)
PHRASES = (
    *found(
        None,
        denied="The answer is not 4.|the wrong answer is 5|No answer: 5|answer == 5",
        not_sure="The answer could be 42.|I have no answer to x. It is 4|An answer to it. Then x is 4",
        a_condition="If the answer is 20, then so be it|Suppose that the final answer is 20.|如果答案是2，则",
        denied_in_chinese="该答案是错误的|你的答案是什么|错误的答案是5|\u6700\u7ec8\u7b54\u6848\u5e94\u8be5\u662f\u5426",
    ),
    *found(
        "42",
        verbs="The answer is 42.|The answer should be 42.|the answer would be 42|The answer was 42.",
        chinese="因此答案是42。谢谢|【答案】42|【答案】42【解析】略",
        markdown="The answer must be **42**.",
    ),
    *found(
        "5",
        the_last_one="The answer is 4? No! The answer is 5!",
        chinese="答案就是 5|## 答案\n5",
        forms="The answer is \\[\n5\n\\]|The answer is $$\n5\n$$|Answer = 5|# Answer\n\n5",
        marks="The answer is 5</think>|Answer: 5.</s>",
    ),
    ("The answer is **42** apples.", "**42** apples", "bold that ends in the sentence"),
    ("Answer:", "", "nothing behind it is found and empty"),
    ("The answer is $$\nx = 1\n+ 2\n$$.", "x = 1\n+ 2", "found by a stranger: a formula of two lines"),
    ("The answer is $$5$$", "$$5$$", "found by a stranger: a formula on the same line"),
    ("The answer to 2+2 is 4", "4", "found by a stranger: a sum in the question"),
    ("The answer is 5<|im_end|>", "5", "found by a stranger: a mark of a turn"),
    ("The answer is \\[ 5", "\\[ 5", "found by a stranger: a formula that is not closed on its line"),
    ("The answer is 15, not 20.", "15", "found by a stranger: what it is not"),
    ("answer: 15 (fifteen)", "15", "found by a stranger: a remark in brackets"),
    ("The answer is 3 (mod n)", "3 (mod n)", "what belongs to the number"),
    ("If so, the answer is 20.", "20", "a condition of something else"),
)
LANGUAGES = "Answer: 4\n\u7b54\u6848\uff1a5\nanswer is 6"
JSON = (
    (None, 'Here: {"a": 1}.', '{"a": 1}', "an object in prose, as it is written"),
    (None, 'x [1,  "]"] y', '[1,  "]"]', "an array, with a bracket in a string"),
    (None, '{"a": NaN}', None, "NaN is not JSON"),
    ("a.b", '{"a": 1}', None, "a path through a number"),
)
REPAIRED = (
    (None, '{"a": [1, 2', '{"a": [1, 2]}', "cut off"),
    (None, "{\"a\": 1} {'a': 2}", '{"a": 1}', "strict comes before repaired"),
    (None, '{"a": 1, "b": ["x"],}', '{"a": 1, "b": ["x"]}', "a strict part of what is broken is a part"),
    (None, r"\frac{1}{2}", None, "LaTeX"),
)
LITERALS = (
    (None, r"\frac{1}{2} x^{2} \{1\}", None, "LaTeX"),
    (None, "[1, 2", None, "never closed"),
    ("a.1", "{'a': (1, {2})}", "{2}", "a position"),
    ("a.b", "{'a': 1}", None, "a path through a number"),
)
CALLS = (
    (tool_call(), call(CODER), CODER, "a call as Qwen3-Coder writes it"),
    (tool_call("f", "arguments.a"), call(CODER), "so\n it is", "an argument of it"),
    (tool_call(), call("x") + call(WEATHER) + call("y"), WEATHER, "calls that are none are passed over"),
    (tool_call(), f"<tool_call>{WEATHER}", None, "never closed"),
)
NUMBERS = (
    *found(
        None,
        misplaced_separators="1,23|1,2,3",
        dates_and_times="on 2024-01-15|in 2024-01|at 1:30|on 3/4/2024",
        telephone_numbers_and_addresses="call 555-123-4567|at 1.2.3.4 now",
        in_words="GPT-4.5|x2 and b12",
        powers_and_binaries="0b101|5\u00b2|2^10|1e9999999|2^{\\frac{1}{2}}",
        chinese="5 百|5千|2的5次方|5的平方|5分之2",
        roots=r"\sqrt5|\sqrt[3]{5}|\sqrt{\frac{1}{2}}|4\sqrt{x+5}|2√5|2sqrt(5)",
        multiples_of_pi_and_both_signs=r"2\pi|2 \cdot \pi|2π or 2 pi|±5",
    ),
    *alone(
        separators="1,234,567|12,34,567.50|1\\,234|1\u2009234\u202f567|5 000|1 000 1/2|\\frac{1 000}{3}",
        signs="负5|\uff0d\uff15|-$5",
        powers_of_ten="6.02 \\times 10^{23}|6.02 \u00d7 10^23|6.02\u00d710\u00b2\u00b3|6.02*10^-3",
        fractions="3/4|1 1/2|\u00bd|\\frac12|1\\frac\x1e1\x1c2",
        decimals_that_go_on=r".5…|0.333...|0.12\ldots",
    ),
    ("3 and then 4", "4", "of several the last"),
    ("in 2020 300 people", "300", "a space separates two numbers"),
    ("pages 3\u20135", "5", "a range is no sign"),
    ("5 or 3/0", "5", "a division by zero is no number"),
)
WITHIN = (
    (within(ANSWER, number()), "3 <answer>so 4 apples</answer> 5", "4", "a number in a tag"),
    (within(json_value("a"), number()), '{"a": "it is 4 kg"}', "4", "in a text of JSON"),
)
FOUND = (
    *((ANSWER, *row) for row in TAGS),
    *((boxed(), *row) for row in BOXES),
    *((answer_phrase(), *row) for row in PHRASES),
    *((json_value(path), *row) for path, *row in JSON),
    *((json_value(path, repair=True), *row) for path, *row in REPAIRED),
    *((python_literal(path), *row) for path, *row in LITERALS),
    *((number(), *row) for row in NUMBERS),
    (pattern(r"\d+"), "a 12 b", "12", "without groups the whole match"),
    (answer_phrase(language="zh"), LANGUAGES, "5", "Chinese"),
    *(*MARKERS, *CODE_BLOCKS, *CALLS, *WITHIN),
)


@pytest.mark.parametrize(("extractor", "completion", "expected"), table(*FOUND))
def test_an_extractor_finds_the_last_of_what_it_is_for_and_nothing_else(extractor, completion, expected):
    assert extractor(completion) == expected


@pytest.mark.parametrize(
    ("completion", "closed", "unclosed", "prefilled", "both"),
    table(
        ("4", None, None, None, "4", "no tag"),
        ("<answer>4</answer>", "4", "4", "4", "4", "one pair"),
        ("<answer>4</answer> <answer> 5 ", "4", "5", "4", "5", "cut off in the second"),
        ("<answer>4</answer", None, "4", None, "4", "cut off in its closing tag"),
    ),
)
def test_tags_that_are_cut_off_or_opened_in_the_prompt(completion, closed, unclosed, prefilled, both):
    assert tag("answer")(completion) == closed
    assert tag("answer", unclosed=True)(completion) == unclosed
    assert tag("answer", prefilled=True)(completion) == prefilled
    assert tag("answer", unclosed=True, prefilled=True)(completion) == both


@pytest.mark.parametrize(
    ("completion", "strict", "flexible"),
    table(
        ("#### 1\n#### 2", "2", "2", "of several the last"),
        ("5\n#### none", "", "5", "no number behind it"),
        ("5\n####\n42", "", "42", "the number on the next line"),
    ),
)
def test_gsm8k_gives_the_number_behind_the_last_mark(completion, strict, flexible):
    assert gsm8k()(completion) == strict
    assert gsm8k(mode="flexible")(completion) == flexible


@pytest.mark.parametrize(
    ("extractor", "completion", "expected"),
    table(
        (first_of(tag("a"), number()), "1 <a>2</a> <a>3</a>", ["2", "3"], "all of the first"),
        (boxed(), r"\boxed{1 \boxed{2}} \boxed{3}", [r"1 \boxed{2}", "2", "3"], "a box in a box"),
        (within(tag("a"), number()), "1 <a>2 3</a>", ["2", "3"], "all in the last pair"),
    ),
)
def test_every_gives_the_list_of_all_occurrences(extractor, completion, expected):
    assert every(extractor)(completion) == expected
    assert len(every(extractor).spans(completion)) == len(expected or [])


@given(value=st.integers(-(10**9), 10**9) | st.decimals(-(10**6), 10**6, places=3))
@pytest.mark.parametrize("sentence", ["It is {}.", "x = {}, so", "**{}**", "_{}_", "${}$", "{}%", "{}kg"])
def test_a_number_that_was_written_is_found_again(sentence, value):
    for text in (f"{value:f}" if hasattr(value, "as_tuple") else str(value), f"{value:,}"):
        assert number()(sentence.format(text)) == text
        assert read_number(number()(sentence.format(text))) == value
