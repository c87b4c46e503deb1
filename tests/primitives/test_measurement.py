"""Measurement: keywords, similarity, steps, patterns, and what all measures have in common."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives import measure as measurement
from rewardkit.primitives.measure import (
    diversity,
    json_schema,
    keywords,
    length,
    overlong,
    regex,
    repetition,
    similarity,
    steps,
    tags,
)
from rewardkit.primitives.notes import listen


def table(*cases):
    return [pytest.param(*case[:-1], id=case[-1]) for case in cases]


@pytest.mark.parametrize(
    ("completion", "share", "every", "some"),
    table(
        ("First this, then that, so there", 1.0, 1.0, 1.0, "all, in any case, before a comma"),
        ("first this and then that", 2 / 3, 0.0, 1.0, "two of three"),
        ("so so so so", 1 / 3, 0.0, 1.0, "how often does not count"),
        ("also authentic firstly", 0.0, 0.0, 0.0, "inside other words they do not count"),
        ("so-so", 1 / 3, 0.0, 1.0, "a hyphen ends a word"),
        ("so_so so2", 0.0, 0.0, 0.0, "underscores and digits do not"),
        ("", 0.0, 0.0, 0.0, "empty completion"),
        ("\u202eso\x00\ud800", 1 / 3, 0.0, 1.0, "direction mark, control character, lone surrogate"),
        (None, None, None, None, "no completion is not judged"),
    ),
)
def test_keywords_counts_whole_words(completion, share, every, some):
    words = ("first", "then", "so")
    assert keywords(*words)(completion) == share
    assert keywords(*words, mode="all")(completion) == every
    assert keywords(*words, mode="any")(completion) == some


@pytest.mark.parametrize(
    ("made", "completion", "expected"),
    table(
        (keywords("So", case=True), "so", 0.0, "case counts where asked"),
        (keywords("So", case=True), "So", 1.0, "the case asked for"),
        (keywords("in fact"), "As a matter of IN FACT", 1.0, "a word with a space"),
        (keywords("C++"), "in C++, not C", 1.0, "a word that ends in signs"),
        (keywords("a.c"), "abc", 0.0, "words are no patterns"),
        (keywords("\u062c"), "\u062c \u062c", 1.0, "right-to-left"),
        (keywords("in fact"), "in \n fact", 1.0, "white space of any kind between words"),
        (keywords("stra\u00dfe"), "STRASSE", 1.0, "case folding, not lower case"),
        (keywords("\u00e9t\u00e9"), "e\u0301te\u0301", 1.0, "composed and decomposed letters"),
        (keywords("don't"), "I don\u2019t know", 1.0, "a typographic apostrophe"),
        (keywords("don\u2019t", case=True), "I don't know", 1.0, "in the word, where case counts"),
        (keywords("\u56e0\u4e3a"), "\u662f\u56e0\u4e3a\u4e8c", 1.0, "a Chinese word anywhere"),
        (keywords("\u6b63\u786e"), "\u4e0d\u6b63\u786e", 1.0, "also behind a not: documented"),
        (keywords("apple"), "\u7528apple\u505a", 1.0, "a Latin word between Chinese characters"),
        (keywords("apple"), "pineapple\u505a", 0.0, "and a part of one"),
        (keywords("5"), "15, 5.2, 1,500", 0.0, "fault in the wild: digits inside other numbers"),
        (keywords("5"), "15 or 5", 1.0, "a number by itself"),
        (keywords("so", mode="count", full_at=2), "so, so, so", 1.0, "more occurrences than are paid"),
        (keywords("so", mode="count", full_at=4), "so, SO, so", 0.75, "three occurrences of four"),
        (keywords("so", "then", mode="count", full_at=4), "so then", 0.5, "all words together"),
        (keywords("so", mode="count", full_at=4, case=True), "so, SO", 0.25, "case counts where asked"),
        (keywords("a b a", mode="count", full_at=4), "a b a b a", 0.25, "occurrences do not overlap"),
        (keywords("so", mode="count", full_at=2), "also", 0.0, "no part of a word is counted"),
        (keywords("so", mode="count", full_at=2), None, None, "no completion is not judged"),
    ),
)
def test_keywords_are_plain_text(made, completion, expected):
    assert made(completion) == expected


def test_keywords_notes_those_found():
    with listen() as notes:
        keywords("first", "so")("so what")
    assert notes == {"keywords": ["so"]}


def test_keywords_notes_how_often_they_are_found():
    with listen() as notes:
        keywords("first", "so", mode="count", full_at=3)("so so")
    assert notes == {"keywords": {"first": 0, "so": 2}}


WORDS = st.lists(st.sampled_from(["so", "first", "also", "x"]), max_size=8).map(" ".join)


@pytest.mark.parametrize(
    "options", [{}, {"mode": "all"}, {"mode": "any"}, {"mode": "count", "full_at": 3}], ids=str
)
@given(text=WORDS, more=WORDS)
def test_keywords_never_fall_when_words_are_added(options, text, more):
    measure = keywords("so", "first", **options)
    assert 0.0 <= measure(text) <= measure(f"{text} {more}") <= 1.0


METHODS = ("ratio", "partial", "token_sort", "token_set")


@pytest.mark.parametrize(
    ("method", "prediction", "ground_truth", "expected"),
    table(
        ("ratio", "kitten", "sitten", 1 - 2 / 12, "one letter taken, one given, of twelve"),
        ("ratio", "Paris", "paris", 1 - 2 / 10, "case counts"),
        ("ratio", "abc", "xyz", 0.0, "nothing in common"),
        ("ratio", "", "Paris", 0.0, "an empty prediction"),
        ("ratio", 42, "42", 1.0, "a number is compared as it prints"),
        ("token_sort", "b a", "a b", 1.0, "words in another order"),
        ("ratio", "b a", "a b", 1 - 4 / 6, "which the plain ratio sees"),
        ("token_set", "a b b b", "a b", 1.0, "a set of words"),
        ("token_set", "it is Paris or London", "Paris", 1.0, "the documented hole: words around the truth"),
        ("partial", "it is Paris or London", "Paris", 1.0, "the same hole by pieces"),
        ("ratio", "\ud800", "\ud800", 1.0, "a lone surrogate is like itself"),
        ("ratio", None, "Paris", 0.0, "no prediction"),
        ("ratio", "Paris", None, None, "no truth is not judged"),
        ("ratio", None, None, None, "neither"),
        ("ratio", "Paris", float("nan"), None, "a truth of NaN, which is how tables write a missing one"),
        ("token_sort", "\u4e8c\u4e00", "\u4e00\u4e8c", 1.0, "Chinese characters are words, in another order"),
        ("token_set", "\u4e00\u4e00\u4e8c", "\u4e00\u4e8c", 1.0, "and a set of them"),
        ("ratio", "a" * 20_000, "a" * 20_000 + "b", 40_000 / 40_001, "what is left over counts as different"),
        ("ratio", "a" * 40_000, "a" * 80_000, 40_000 / 120_000, "20,000 characters of each are compared"),
        ("partial", "a" * 2_000, "a" * 9_000, 0.5, "and 1,000 of a piece"),
        ("partial", "Paris", "x" * 19_000 + "Paris", 1.0, "a short piece late in a long text"),
    ),
)
def test_similarity_by_method(method, prediction, ground_truth, expected):
    assert similarity(method)(prediction, ground_truth) == (
        expected if expected is None else pytest.approx(expected, rel=1e-12, abs=1e-15)
    )


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("text", ["Paris", "a b", "", "!", " "], ids=repr)
def test_a_text_is_wholly_similar_to_itself(method, text):
    assert similarity(method)(text, text) == 1.0


def longest_common_subsequence(a, b):
    row = [0] * (len(b) + 1)
    for letter in a:
        before = row[:]
        for j, other in enumerate(b, 1):
            row[j] = before[j - 1] + 1 if letter == other else max(before[j], row[j - 1])
    return row[-1]


@given(a=st.text("abc ", max_size=12), b=st.text("abc ", min_size=1, max_size=12))
def test_similarity_is_twice_the_common_letters_over_all_letters(a, b):
    expected = 2 * longest_common_subsequence(a, b) / (len(a) + len(b))
    assert similarity()(a, b) == pytest.approx(expected, rel=1e-12, abs=1e-15)


@pytest.mark.parametrize("method", METHODS)
@given(a=st.text("ab c", max_size=12), b=st.text("ab c", max_size=12))
def test_similarity_is_symmetric(method, a, b):
    assert similarity(method)(a, b) == similarity(method)(b, a)


@pytest.mark.parametrize(
    ("text", "numbered", "lines", "sections"),
    table(
        ("1. Add.\n2. Double.\n3. Halve.", 3, 3, 0, "numbers with full stops"),
        ("1) Add.\n2) Double.", 2, 2, 0, "numbers with brackets"),
        ("(1) Add.\n(2) Double.", 2, 2, 0, "numbers in brackets"),
        ("- Add.\n* Double.\n\u2022 Halve.", 3, 3, 0, "bullets"),
        ("Step 1: Add.\nstep 2 - Double.\n**Step 3:** Halve.", 3, 3, 0, "the word step"),
        ("### Step 1: Add\nWe add.\n### Step 2: Double\nWe double.", 2, 4, 2, "steps as headings"),
        ("第一步：相加。\n第二步：加倍。", 2, 2, 0, "Chinese"),
        ("步骤1：相加\n1、加倍\n2．减", 3, 3, 0, "and other marks of it"),
        ("1. Add.\n2. Add.\n3. add!", 1, 1, 0, "the same step again, however it is numbered"),
        ("1.\n2.\n3.", 0, 3, 0, "numbers that say nothing"),
        ("- \n- ...\n* **", 0, 0, 0, "bullets that say nothing"),
        ("1.5 kg\n2.5 kg", 0, 2, 0, "decimals at the beginning of lines"),
        ("-5 is less\n*bold* text\n- five", 1, 3, 0, "signs and stars that are no bullets"),
        ("Add 1. Then 2. Then 3.", 0, 1, 0, "numbers inside a line"),
        ("Steps 1 and 2\nstepping 3", 0, 2, 0, "words that start alike"),
        ("  1. Add.\n\t2. Double.\n> 3. Halve.", 3, 3, 0, "indented and quoted"),
        ("# One\ntext\n# Two\nmore", 0, 4, 2, "headings"),
        ("**One**\ntext\n__Two:__\nmore", 0, 4, 2, "bold lines as headings"),
        ("# One\n# Two\n# Three", 0, 3, 0, "headings without text"),
        ("# One\ntext\n# One\nmore", 0, 3, 1, "the same heading again"),
        ("# One\ntext\n# Two\ntext", 0, 3, 1, "the same text again"),
        ("#hashtag\ntext", 0, 2, 0, "no space, no heading"),
        ("a\n\n  \n---\nb", 0, 2, 0, "empty lines and rules"),
        ("so\nso\nSo.", 0, 1, 0, "the same line again"),
        ("", 0, 0, 0, "nothing"),
        ("\ud800\x00\u202e", 0, 0, 0, "no letter"),
    ),
)  # fmt: skip
def test_steps_lines_and_sections_are_counted_once_each(text, numbered, lines, sections):
    for kind, count in (("steps", numbered), ("lines", lines), ("sections", sections)):
        with listen() as notes:
            assert steps(10, kind=kind)(text) == count / 10
        assert notes == {kind: count}


def test_steps_are_paid_up_to_a_number():
    text = "\n".join(f"{at}. Step {'x' * at}" for at in range(1, 6))
    assert [steps(full_at)(text) for full_at in (4, 5, 10)] == [1.0, 1.0, 0.5]
    assert steps(4)(None) is None


STEP_LINES = st.sampled_from(
    ["1. add", "2. add", "- double", "# One", "# Two", "text", "more", "", "Step 3: so"]
)


@pytest.mark.parametrize("kind", ["steps", "lines"])
@given(lines=st.lists(STEP_LINES, max_size=8), more=STEP_LINES, at=st.integers(0, 8))
def test_steps_and_lines_never_fall_wherever_a_line_is_added(kind, lines, more, at):
    measure = steps(5, kind=kind)
    assert measure("\n".join(lines)) <= measure("\n".join([*lines[:at], more, *lines[at:]]))


def test_sections_fall_where_a_line_higher_up_parts_a_heading_from_its_text():
    measure = steps(2, kind="sections")
    assert measure("# One\ntext\n# Two\nmore") == 1.0
    assert measure("# One\n# Two\ntext\n# Two\nmore") == 0.5
    assert measure("# One\nmore\ntext\n# Two\nmore") == 0.5


@pytest.mark.parametrize("kind", ["steps", "lines", "sections"])
@given(lines=st.lists(STEP_LINES, max_size=8), more=st.lists(STEP_LINES, max_size=4))
def test_steps_never_fall_when_lines_are_added_at_the_end(kind, lines, more):
    measure = steps(5, kind=kind)
    assert 0.0 <= measure("\n".join(lines)) <= measure("\n".join(lines + more)) <= 1.0


@pytest.mark.parametrize(
    ("expression", "text", "search", "fullmatch"),
    table(
        (r"\d+", "42", 1.0, 1.0, "all of the text"),
        (r"\d+", "it is 42", 1.0, 0.0, "a part of it"),
        (r"\d+", "42\n", 1.0, 0.0, "white space counts"),
        (r"\d+", "four", 0.0, 0.0, "nowhere"),
        (r"<think>.*</think>", "<think>a\nb</think>", 0.0, 0.0, "a full stop is no line break"),
        (r"(?s)<think>.*</think>", "<think>a\nb</think>", 1.0, 1.0, "unless asked for"),
        (r"(?i)ANSWER", "answer", 1.0, 1.0, "case that does not count"),
        (r"^b$", "a\nb", 0.0, 0.0, "ends of the text"),
        (r"(?m)^b$", "a\nb", 1.0, 0.0, "ends of lines"),
        (r"\p{Han}+", "\u4e2d\u6587", 1.0, 1.0, "a class of the engine"),
        (r"", "anything", 1.0, 0.0, "the empty pattern is everywhere"),
        (r"\bcat\b", "a cat", 1.0, 0.0, "borders of words"),
        (r"cat", "", 0.0, 0.0, "an empty completion"),
        (r"\ud800", "\ud800", 1.0, 1.0, "a lone surrogate"),
        (r"cat", None, None, None, "no completion is not judged"),
    ),
)
def test_regex_finds_a_pattern_or_matches_all(expression, text, search, fullmatch):
    assert regex(expression)(text) == search
    assert regex(expression, mode="fullmatch")(text) == fullmatch


@pytest.mark.parametrize("mode", ["search", "fullmatch"])
def test_a_runaway_pattern_ends_in_a_timeout_error(bounded, mode):
    with pytest.raises(TimeoutError, match=r"pattern '\(a\|aa\)\+b' took longer than 0\.2 s"):
        regex("(a|aa)+b", mode=mode, timeout=0.2)("a" * 5000 + "cb")


ALONE = (
    tags("think", "answer"),
    tags("answer", partial=True),
    tags("think?", "step+(answer)", partial=True, outside="before", prefilled=True),
    length(full_until=2, zero_from=6),
    length(full_from=3),
    length(full_until=0, zero_from=10.5, unit="characters"),
    length(full_from=2, full_until=4, zero_from=6, zero_until=1, fall="cosine"),
    overlong(limit=8, buffer=4),
    repetition(),
    repetition(ngram=1),
    repetition(kind="loop"),
    repetition(kind="sentences"),
    repetition(kind="lines"),
    diversity(window=5),
    keywords("first", "so"),
    keywords("So", mode="any", case=True),
    keywords("first", "so", mode="count", full_at=3),
    json_schema({"required": ["a"]}, partial=True),
    regex(r"so$|^<", timeout=0.5),
    steps(3),
    steps(2, kind="lines"),
    steps(2, kind="sections"),
)
PIECES = "<think>|</think>|<answer>|</answer>|so|first| |\n|a|\ud800|\x00|\u202e".split("|")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40)


@pytest.mark.parametrize("measure", ALONE, ids=repr)
@given(completion=TEXTS)
def test_every_measure_is_a_score_that_white_space_around_the_text_leaves_alone(measure, completion):
    score = measure(completion)
    assert isinstance(score, float)
    assert 0.0 <= score <= 1.0
    if getattr(measure, "unit", "words") == "words" and measure.factory != "regex":
        assert measure(f"\n {completion}\t") == score
    assert measure(completion) == score


@pytest.mark.parametrize("method", METHODS)
@given(prediction=TEXTS, ground_truth=TEXTS)
def test_similarity_is_a_score(method, prediction, ground_truth):
    assert 0.0 <= similarity(method)(prediction, ground_truth) <= 1.0


@pytest.mark.parametrize("measure", [*ALONE, *map(similarity, METHODS)], ids=repr)
def test_every_measure_survives_pickle_and_its_repr_makes_it_again(measure):
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert eval(repr(measure), {name: getattr(measurement, name) for name in measurement.__all__}) == measure


@pytest.mark.parametrize("measure", ALONE, ids=repr)
@pytest.mark.parametrize("missing", [None, float("nan"), 5, ["so"]], ids=repr)
def test_what_is_no_text_is_not_judged(measure, missing):
    assert measure(missing) is None


AWKWARD = ["<think>", "so ", "1. a\n", "# a\n", "\u4e2d", '{"a":', "5,", "\ud800", "\u0301\u0316"]


@pytest.mark.parametrize("measure", ALONE, ids=repr)
def test_a_megabyte_of_anything_is_no_trouble(bounded, measure):
    for piece in AWKWARD:
        assert 0.0 <= measure(piece * (1_000_000 // len(piece))) <= 1.0


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("piece", ["a", "ab ", "\u4e2d", "\ud800"], ids=ascii)
def test_a_megabyte_beside_a_megabyte_is_no_trouble(bounded, method, piece):
    text = piece * (1_000_000 // len(piece))
    for other in ("Paris", f"x{text}", text[::-1] + "xy"):
        assert 0.0 <= similarity(method)(text, other) <= 1.0


ERRORS = [
    (lambda: tags(), "one or more different names, such as tags('think', 'answer'); got ()", "no name"),
    (lambda: tags("a", "A"), "got ('a', 'A')", "the same name twice"),
    (lambda: tags("<a>"), "'<a>' is not the name of a tag", "a name with brackets"),
    (lambda: tags("a", 5), "got ('a', 5)", "a number for a name"),
    (lambda: keywords(), "keywords takes one or more words", "no word"),
    (lambda: keywords("a", " "), "got ('a', ' ')", "a word of white space"),
    (lambda: keywords("a", None), "got ('a', None)", "a word that is no text"),
    (lambda: keywords("a", "A"), "keywords takes each word once; got ('a', 'A')", "a word twice"),
    (lambda: keywords("a", mode="most"), "mode='most' is not known; use one of 'share'", "an unknown mode"),
    (lambda: keywords("a", mode="count"), "full_at=None do not go together", "a count without end"),
    (lambda: keywords("a", full_at=3), "mode='share' and full_at=3 do not go together", "a share of a count"),
    (lambda: keywords("a", case="no"), "case='no' does not fit; give True or False", "a text for a bool"),
    (lambda: keywords("a", case=1), "case=1 does not fit", "a number for a bool"),
    (lambda: tags("a", partial=1), "partial=1 does not fit; give True or False", "a number for a bool"),
    (lambda: tags("a", prefilled="think"), "prefilled='think' does not fit", "a name for a bool"),
    (lambda: tags("a{b}"), "'{b}' in 'a{b}' is not a count", "a name with braces"),
    (lambda: tags("{0}"), "'{0}' is not the name of a tag", "a count without a name"),
    (lambda: json_schema({}, partial="yes"), "partial='yes' does not fit", "a text for a bool"),
    (lambda: json_schema({}, partial=None), "partial=None does not fit", "nothing for a bool"),
    (lambda: keywords("a", mode="count", full_at=0), "full_at=0 does not fit", "none"),
    (lambda: similarity("cosine"), "method='cosine' is not known; use one of 'ratio'", "an unknown method"),
    (lambda: steps(0), "full_at=0 does not fit", "no step"),
    (lambda: steps(2.5), "full_at=2.5 does not fit", "half a step"),
    (lambda: steps(2, kind="words"), "kind='words' is not known; use one of 'steps'", "an unknown kind"),
    (lambda: regex("("), "pattern '(' does not compile", "a pattern that does not compile"),
    (lambda: regex("(" * 5000 + ")" * 5000), "does not compile: maximum recursion", "a nest of brackets"),
    (lambda: regex(None), "pattern None does not compile: it is no text", "a pattern that is no text"),
    (lambda: regex("a", mode="match"), "mode='match' is not known; use one of 'search'", "an unknown mode"),
    (lambda: regex("a", timeout=-1), "timeout=-1 is not a time; give seconds above 0", "no time"),
    (lambda: regex("a", timeout=True), "timeout=True is not a time", "a bool"),
    (lambda: regex("a", timeout="1"), "timeout='1' is not a time", "a time in quotes"),
]


@pytest.mark.parametrize(("call", "piece"), table(*ERRORS))
def test_what_a_measure_cannot_be_made_of_is_refused_in_a_sentence(call, piece):
    with pytest.raises(ValueError) as caught:
        call()
    assert piece in str(caught.value)
