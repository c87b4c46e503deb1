"""Measurement: format, length, repetition, keywords, similarity."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewardkit.primitives import measurement
from rewardkit.primitives.measurement import keywords, length, repetition, similarity, tags
from rewardkit.trace import listen


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
    ),
)
def test_keywords_are_plain_text(made, completion, expected):
    assert made(completion) == expected


def test_keywords_notes_those_found():
    with listen() as notes:
        keywords("first", "so")("so what")
    assert notes == {"keywords": ["so"]}


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


ALONE = (
    tags("think", "answer"),
    tags("answer", partial=True),
    length(full_until=2, zero_from=6),
    length(full_until=0, zero_from=10.5, unit="characters"),
    repetition(),
    repetition(ngram=1),
    keywords("first", "so"),
    keywords("So", mode="any", case=True),
)
PIECES = "<think>|</think>|<answer>|</answer>|so|first| |\n|a|\ud800|\x00|\u202e".split("|")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40)


@pytest.mark.parametrize("measure", ALONE, ids=repr)
@given(completion=TEXTS)
def test_every_measure_is_a_score_that_white_space_around_the_text_leaves_alone(measure, completion):
    score = measure(completion)
    assert isinstance(score, float)
    assert 0.0 <= score <= 1.0
    if getattr(measure, "unit", "words") == "words":
        assert measure(f"\n {completion}\t") == score


@pytest.mark.parametrize("method", METHODS)
@given(prediction=TEXTS, ground_truth=TEXTS)
def test_similarity_is_a_score(method, prediction, ground_truth):
    assert 0.0 <= similarity(method)(prediction, ground_truth) <= 1.0


@pytest.mark.parametrize("measure", [*ALONE, *map(similarity, METHODS)], ids=repr)
def test_every_measure_survives_pickle_and_its_repr_makes_it_again(measure):
    assert pickle.loads(pickle.dumps(measure)) == measure
    assert eval(repr(measure), {name: getattr(measurement, name) for name in measurement.__all__}) == measure


@pytest.mark.parametrize("measure", ALONE, ids=repr)
@pytest.mark.parametrize("piece", ["<think>", "</answer>", "<answer ", "so ", "<", " ", "\ud800"], ids=ascii)
def test_a_megabyte_of_anything_is_no_trouble(bounded, measure, piece):
    assert 0.0 <= measure(piece * (1_000_000 // len(piece))) <= 1.0


NAN = float("nan")
ERRORS = [
    (lambda: tags(), "one or more different names, such as tags('think', 'answer'); got ()", "no name"),
    (lambda: tags("a", "A"), "got ('a', 'A')", "the same name twice"),
    (lambda: tags("<a>"), "'<a>' is not the name of a tag", "a name with brackets"),
    (lambda: tags("a", 5), "got ('a', 5)", "a number for a name"),
    (lambda: length(full_until=5, zero_from=5), "got full_until=5, zero_from=5", "limits that do not rise"),
    (lambda: length(full_until=-1, zero_from=5), "length needs 0 <= full_until < zero_from", "below 0"),
    (lambda: length(full_until=NAN, zero_from=5), "full_until=nan", "a limit that is no number"),
    (lambda: length(full_until=5, zero_from=float("inf")), "zero_from=inf", "a line that never falls"),
    (lambda: length(full_until=1, zero_from=5, unit="tokens"), "unit='tokens' is not known", "a unit"),
    (lambda: repetition(ngram=0), "ngram=0 is not a number of words", "runs of nothing"),
    (lambda: repetition(ngram=2.0), "ngram=2.0 is not a number of words", "runs of a float"),
    (lambda: keywords(), "keywords takes one or more words", "no word"),
    (lambda: keywords("a", " "), "got ('a', ' ')", "a word of white space"),
    (lambda: keywords("a", None), "got ('a', None)", "a word that is no text"),
    (lambda: keywords("a", mode="most"), "mode='most' is not known; use one of 'share'", "an unknown mode"),
    (lambda: similarity("cosine"), "method='cosine' is not known; use one of 'ratio'", "an unknown method"),
]


@pytest.mark.parametrize(("call", "piece"), table(*ERRORS))
def test_what_a_measure_cannot_be_made_of_is_refused_in_a_sentence(call, piece):
    with pytest.raises(ValueError) as caught:
        call()
    assert piece in str(caught.value)
