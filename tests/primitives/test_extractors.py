"""Extractors: what each finds and must not find; and what holds for all of them, whatever the text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tabled import table
from tables import read_table

import rewardkit as rk
from rewardkit.primitives.verify import read_number

extract = rk.extract
NAMES = {name: getattr(extract, name) for name in extract.__all__}
WEATHER = '{"name": "weather", "arguments": {"city": "Oslo", "days": 3}}'
CODER = "<function=f>\n<parameter=a>\nso\n it is\n</parameter>\n<parameter=b>3</parameter>\n</function>"


def made(*calls):
    """The extractors that these calls make, as they are written."""
    return tuple(eval(call, NAMES) for call in calls)


def each(call, expected, *texts):
    """A row for each text, in which the same is found; | stands between texts."""
    return [
        (call, text, expected, f"{call}: {text!a}")
        for line in texts
        for text in line.split("|")
    ]


def called(text):
    return f"<tool_call>\n{text}\n</tool_call>"


PHRASES = (
    *each(
        "answer_phrase()", None, "The answer is not 4.|the wrong answer is 5|No answer: 5|answer == 5",
        "The answer could be 42.|I have no answer to x. It is 4|An answer to it. Then x is 4",
        "If the answer is 20, then so be it|Suppose that the final answer is 20.|如果答案是2，则",
        "该答案是错误的|你的答案是什么|错误的答案是5|最终答案应该是否",
    ),
    *each(
        "answer_phrase()", "42", "The answer is 42.|The answer should be 42.|the answer would be 42",
        "The answer was 42.|因此答案是42。谢谢|【答案】42|【答案】42【解析】略|The answer must be **42**.",
    ),
    *each(
        "answer_phrase()", "5", "The answer is 4? No! The answer is 5!|答案就是 5|## 答案\n5",
        "The answer is \\[\n5\n\\]|The answer is $$\n5\n$$|Answer = 5|# Answer\n\n5",
        "The answer is 5</think>|Answer: 5.</s>",
    ),
)  # fmt: skip
ALONE = (
    r"1,234,567|12,34,567.50|1\,234|5 000|1 000 1/2|\frac{1 000}{3}|负5|－５|-$5"
    "|1\u2009234\u202f567|6.02 \\times 10^{23}|6.02 × 10^23|6.02×10²³|6.02*10^-3|3/4|1 1/2|½|\\frac12"
    "|1\\frac\x1e1\x1c2"
    r"|.5…|0.333...|0.12\ldots"
).split("|")
NUMBERS = (
    *each(
        "number()", None, "1,23|1,2,3|on 2024-01-15|in 2024-01|at 1:30|on 3/4/2024|call 555-123-4567",
        "at 1.2.3.4 now|GPT-4.5|x2 and b12|0b101|5²|2^10|1e9999999|2^{\\frac{1}{2}}|5 百|5千|2的5次方",
        "5的平方|5分之2", r"\sqrt5|\sqrt[3]{5}|\sqrt{\frac{1}{2}}|4\sqrt{x+5}|2√5|2sqrt(5)|2\pi|2 \cdot \pi",
        "2π or 2 pi|±5",
    ),
    *(("number()", f"it is {text} so", text, f"alone: {text!a}") for text in ALONE),
)  # fmt: skip
# An extractor, a text, what it finds there (None, '' where it is empty), and why; a
# stranger found most of those of answer_phrase.
LINES = r"""
tag('answer') :: <answer>1<answer>2</answer>3</answer> :: 2 :: of nested pairs the innermost
tag('answer') :: <answer></answer> :: '' :: an empty pair is found and empty
tag('answer') :: <answers>4</answers> :: None :: a longer name is another tag
tag('answer') :: <answer note="a>b"/> 42 :: '' :: a tag with it that closes itself
boxed() :: so \boxed{\frac{1}{2}}. :: \frac{1}{2} :: inner braces belong to it
boxed() :: the set $\boxed{\{8, -5\}}$ :: \{8, -5\} :: braces that are set are no TeX braces
boxed() :: \boxed{4 :: None :: a box that is never closed
boxed() :: \boxed4 :: 4 :: without a space
boxed() :: \\boxed{4} :: None :: a line break before the word boxed is no box
after('####') :: #### 42⏎bye :: 42 :: to the end of the line
after('</think>', until='end') :: <think>2+2</think>⏎It is⏎4.  :: It is⏎4. :: behind the thinking
code_block('python') :: ```python⏎a⏎```⏎```json⏎{}⏎``` :: a :: of the language asked for
code_block() :: ````⏎```⏎a⏎```⏎```` :: ```⏎a⏎``` :: a shorter fence does not close
code_block('python') :: > ```python⏎> if a:⏎>     b⏎>⏎> c⏎> ``` :: if a:⏎    b⏎⏎c :: quoted
json_value() :: Here: {"a": 1}. :: {"a": 1} :: an object in prose, as it is written
json_value() :: x [1,  "]"] y :: [1,  "]"] :: an array, with a bracket in a string
json_value() :: {"a": NaN} :: None :: NaN is not JSON
json_value('a.b') :: {"a": 1} :: None :: a path through a number
json_value(repair=True) :: {"a": [1, 2 :: {"a": [1, 2]} :: cut off
json_value(repair=True) :: {"a": 1} {'a': 2} :: {"a": 1} :: strict comes before repaired
json_value(repair=True) :: {"a": 1, "b": ["x"],} :: {"a": 1, "b": ["x"]} :: a part of what is broken
json_value(repair=True) :: \frac{1}{2} :: None :: LaTeX is no object
python_literal() :: \frac{1}{2} x^{2} \{1\} :: None :: LaTeX is no set
python_literal() :: [1, 2 :: None :: a list that is never closed
python_literal('a.1') :: {'a': (1, {2})} :: {2} :: a position
python_literal('a.b') :: {'a': 1} :: None :: a path through a number of Python
within(tag('answer'), number()) :: 3 <answer>so 4 apples</answer> 5 :: 4 :: a number in a tag
within(json_value('a'), number()) :: {"a": "it is 4 kg"} :: 4 :: in a text of JSON
pattern(r'\d+') :: a 12 b :: 12 :: without groups the whole match
choice('ABCDEFGHI') :: The answer is I think E. :: E :: the pronoun is no option
choice(case=False) :: the answer is (b) :: b :: a small letter
choice(case=False) :: it is b. :: None :: a small letter of no answer
choice('ABCDE') :: A) 1 B) 2 C) 3 D) 4 Answer: E) 5 :: E :: a fifth option
answer_phrase(language='zh') :: Answer: 4⏎答案：5⏎answer is 6 :: 5 :: Chinese
tag('answer', unclosed=True) :: <answer>4</answer> <answer> 5  :: 5 :: cut off in the second
tag('answer') :: <answer>4</answer> <answer> 5  :: 4 :: a pair that is not closed
tag('answer', unclosed=True) :: <answer>4</answer :: 4 :: cut off in its closing tag
tag('answer', prefilled=True) :: <answer>4</answer :: None :: opened in the prompt and never closed
tag('answer', unclosed=True, prefilled=True) :: 4 :: 4 :: opened in the prompt, cut off in the answer
gsm8k() :: #### 1⏎#### 2 :: 2 :: of several marks the last
gsm8k() :: 5⏎####⏎42 :: '' :: the number on the next line
gsm8k(mode='flexible') :: 5⏎#### none :: 5 :: no number behind the mark
gsm8k(mode='flexible') :: 5⏎####⏎42 :: 42 :: of the whole text the last
answer_phrase() :: The answer is **42** apples. :: **42** apples :: bold that ends in the sentence
answer_phrase() :: Answer: :: '' :: nothing behind it is found and empty
answer_phrase() :: The answer is $$⏎x = 1⏎+ 2⏎$$. :: x = 1⏎+ 2 :: a formula of two lines
answer_phrase() :: The answer is $$5$$ :: $$5$$ :: a formula on the same line
answer_phrase() :: The answer to 2+2 is 4 :: 4 :: a sum in the question
answer_phrase() :: The answer is 5<|im_end|> :: 5 :: a mark of a turn
answer_phrase() :: The answer is \[ 5 :: \[ 5 :: a formula that is not closed on its line
answer_phrase() :: The answer is 15, not 20. :: 15 :: what it is not
answer_phrase() :: answer: 15 (fifteen) :: 15 :: a remark in brackets
answer_phrase() :: The answer is 3 (mod n) :: 3 (mod n) :: what belongs to the number
answer_phrase() :: If so, the answer is 20. :: 20 :: a condition of something else
number() :: 3 and then 4 :: 4 :: of several the last
number() :: in 2020 300 people :: 300 :: a space separates two numbers
number() :: pages 3–5 :: 5 :: a range is no sign
number() :: 5 or 3/0 :: 5 :: a division by zero is no number
"""


FOUND = (
    ("tool_call()", called(CODER), CODER, "a call as Qwen3-Coder writes it"),
    ("tool_call('f', 'arguments.a')", called(CODER), "so\n it is", "an argument of it"),
    (
        "tool_call()",
        called("x") + called(WEATHER) + called("y"),
        WEATHER,
        "calls that are none",
    ),
    ("tool_call()", f"<tool_call>{WEATHER}", None, "a call that is never closed"),
    (
        "every(first_of(tag('a'), number()))",
        "1 <a>2</a> <a>3</a>",
        ["2", "3"],
        "all of the first",
    ),
    (
        "every(boxed())",
        r"\boxed{1 \boxed{2}} \boxed{3}",
        [r"1 \boxed{2}", "2", "3"],
        "a box in a box",
    ),
    (
        "every(within(tag('a'), number()))",
        "1 <a>2 3</a>",
        ["2", "3"],
        "all in the last pair",
    ),
    *(
        (call, text, None if found == "None" else found, why)
        for call, text, found, why in read_table(LINES)
    ),
    *(*PHRASES, *NUMBERS),
)


@pytest.mark.parametrize(("call", "completion", "expected"), table(*FOUND))
def test_an_extractor_finds_the_last_of_what_it_is_for_and_nothing_else(
    call, completion, expected
):
    (extractor,) = made(call)
    assert extractor(completion) == expected


@given(value=st.integers(-(10**9), 10**9) | st.decimals(-(10**6), 10**6, places=3))
@pytest.mark.parametrize(
    "sentence", ["It is {}.", "x = {}, so", "**{}**", "_{}_", "${}$", "{}%", "{}kg"]
)
def test_a_number_that_was_written_is_found_again(sentence, value):
    for text in (
        f"{value:f}" if hasattr(value, "as_tuple") else str(value),
        f"{value:,}",
    ):
        assert extract.number()(sentence.format(text)) == text
        assert read_number(extract.number()(sentence.format(text))) == value


LAST = made(
    *(
        "tag('answer')",
        "boxed()",
        "after('####')",
        r"pattern('\\d+')",
        "number()",
        "code_block()",
    ),
    *(
        "json_value()",
        "choice()",
        "answer_phrase()",
        "citation()",
        "tool_call()",
        "python_literal()",
    ),
    *("gsm8k()", "math_answer()", "within(tag('answer'), number())"),
    "first_of(tag('answer'), boxed(), number())",
)
CUT_OFF = made(  # what they find depends on where the text ends
    *(
        "tag('answer', unclosed=True, prefilled=True)",
        "after('####', until='end', case=False)",
    ),
    "code_block(unclosed=True)",
    "within(tag('answer', unclosed=True), first_of(code_block('python', unclosed=True), number()))",
)
OTHERS = made(
    *(
        "tag('answer', which='first')",
        "tag('answer', prefilled=True)",
        "number(percent=True)",
    ),
    r"pattern('(?P<n>\\d)\\.(\\d)', which='first', group='n', timeout=2.0)",
    *("code_block('python', which='first')", "choice('ABCDEFGHI', case=False)"),
    *("answer_phrase(which='first', language='en')", "answer_phrase(language='zh')"),
    *(
        "citation('See also', which='first')",
        "tool_call('f', which='first')",
        "gsm8k(mode='flexible')",
    ),
    "within(within(tag('answer'), boxed()), first_of(json_value(), number(which='first')))",
)
WITH_PATH = made(
    *(
        "json_value(('a', '1'), which='first')",
        "json_value(('a',), which='first', repair=True)",
    ),
    *("python_literal(('a',))", "tool_call('f', path=('arguments', 'a'))"),
    *(
        "first_of(json_value('a'), choice())",
        "within(json_value('a', repair=True), number())",
    ),
)
ALL = (*LAST, *CUT_OFF, *OTHERS, *WITH_PATH)
PIECES = (
    "<answer>|</answer>|<answer/>|<ANSWER x=1>|\\boxed{|\\boxed|{|}|\\|####|####\n|```\n|```python\n|~~~\n"
    '|(B)|answer is |A|B.|1|2|-|,234|.|$|e5| |\n|\r\n|\t|[1, "]|[2]|{"a": |"a"|"|:|\ud800|\u202e|\x00|\u00e9'
    '|    |> |not | or | is wrong|, |<answer n=">">'
    "|Answer:|答案是|[Source: a, b]|[See also: |]|<tool_call>|</tool_call>"
    '|{"name": "f", "arguments": {"a": 1}}|{\'a\': 3|(1, |\'|)|**|1/2|10^|%'
).split("|")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(
    max_size=60
)
BEFORE = st.sampled_from(["Let me see.\n", "\n \n", "so we go on, it is:\n\n"])
BEHIND = st.sampled_from(["\nThat is all.", "\n \n", "\n\nso we go on"])


@pytest.mark.parametrize("extractor", ALL, ids=repr)
@settings(max_examples=25)
@given(completion=TEXTS, before=BEFORE, behind=BEHIND)
def test_a_value_has_a_span_which_is_its_text_and_neutral_padding_changes_neither(
    extractor, completion, before, behind
):
    written = repr(extractor)
    if "prefilled=True" in written:
        completion = (
            f"<answer>{completion}"  # without an opening tag the padding is in the pair
        )
    if written.startswith("answer_phrase"):
        completion += (
            "x"  # where nothing follows on the line, the next line is the answer
        )
    value, spans = extractor(completion), extractor.spans(completion)
    assert len(spans) == (value is not None)
    if (
        extractor not in WITH_PATH and "code_block" not in written
    ):  # indented with its fence
        assert [completion[start:end] for start, end in spans] == (
            [] if value is None else [value]
        )
    if hasattr(extractor, "which") and extractor not in WITH_PATH:
        places = extractor.occurrences(completion)
        assert places == sorted(places)
        assert spans == (places[:1] if extractor.which == "first" else places[-1:])
    values, all_spans = (
        extract.every(extractor)(completion),
        extract.every(extractor).spans(completion),
    )
    assert len(values) == len(all_spans) and all_spans == sorted(all_spans)
    assert value is None or value in values
    assert all(place in all_spans for place in spans)
    shifted = [(start + len(before), end + len(before)) for start, end in spans]
    assert (extractor(before + completion), extractor.spans(before + completion)) == (
        value,
        shifted,
    )
    if extractor in LAST + OTHERS:
        assert (
            extractor(completion + behind),
            extractor.spans(completion + behind),
        ) == (value, spans)


@pytest.mark.parametrize("extractor", [*ALL, *made("every(number())")], ids=repr)
def test_what_is_no_text_has_nothing_in_it(extractor):
    for nothing in (None, 4, float("nan"), b"<answer>4</answer>", ["4"]):
        assert extractor(nothing) is None and extractor.spans(nothing) == []
