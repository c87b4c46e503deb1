"""Compare texts with a ground truth: the same words, some of them, or one choice."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any, Literal

import regex

from rewardkit.primitives.extract.letters import read_choice
from rewardkit.primitives.primitive import one_of, true_or_false
from rewardkit.primitives.texts import (
    is_missing,
    normal_form,
    normal_text,
    places_of_word,
    plain_quotes,
    words,
)
from rewardkit.primitives.verify.numbers import read_number


def matches(
    prediction: Any,
    ground_truth: Any,
    *,
    exact: bool = False,
    case: bool = False,
    white_space: bool = False,
    punctuation: bool = False,
    unicode_form: Literal["NFC", "NFKC", None] = "NFC",
) -> bool | None:
    """Return whether two texts are the same, up to differences that do not count.

    Each option makes a difference *count*. By default case, white space (runs become
    one space), the shape of quotes and punctuation at the ends do not count, and
    composed and decomposed letters are the same; ``unicode_form="NFKC"`` also folds
    full-width forms (in texts up to 100,000 characters). ``exact=True`` requires the
    same characters.

    Punctuation that belongs to a word is kept: C#, @home, .NET, -5, .5, 5%. Beside a
    digit or a lone letter, only stops, question marks and signs around a single word
    are removed ("5." and "(B)", not "5!", "!x", "*p", "x'", "0.3...", "(1, 2]"). All
    forms of a minus before digits are equal. Without ``case=True``, letters without a
    capital form are written out (\u00df is ss, the ligature \ufb01 is fi). A prediction
    of ``None`` is wrong, a missing truth is not judged. ValueError: an option that is
    no bool, unknown `unicode_form`, or NFKC with `exact`.

    >>> matches(" Paris. ", "paris"), matches("Paris", "paris", case=True)
    (True, False)
    >>> matches("C#", "C"), matches("5!", "5"), matches("(B).", "B")
    (False, False, True)
    """
    true_or_false(
        exact=exact, case=case, white_space=white_space, punctuation=punctuation
    )
    one_of("unicode_form", unicode_form, ("NFC", "NFKC", None))
    if exact and unicode_form == "NFKC":
        raise ValueError(
            "exact=True and unicode_form='NFKC' exclude each other: exact texts are "
            "not folded"
        )
    if is_missing(ground_truth):
        return None
    if prediction is None:
        return False
    if exact:
        return str(prediction) == str(ground_truth)
    normalise = partial(
        normal_text,
        case=case,
        white_space=white_space,
        punctuation=punctuation,
        unicode_form=unicode_form,
    )
    return normalise(str(prediction)) == normalise(str(ground_truth))


def contains(prediction: Any, ground_truth: Any, *, case: bool = False) -> bool | None:
    """Return whether the prediction contains the truth as separate words.

    As a reward this is a hole: a completion that lists every candidate, or restates the
    question, earns full credit. Use it to inspect data, or behind an extractor that
    leaves no room for a list.

    "5" is not in "15", "5.2", "1,500", "-5", "1/5" or "5%". Case (unless
    ``case=True``), the kind of white space and the shape of quotes do not count.
    Chinese and Japanese have no borders between words, so that any place counts there.
    A prediction of ``None`` is wrong, a missing or empty truth is not judged.
    ValueError: `case` is no bool.

    >>> contains("It is Paris.", "paris"), contains("15", "5")
    (True, False)
    >>> contains("Rome or Paris or Oslo", "Paris")
    True
    """
    true_or_false(case=case)
    if is_missing(ground_truth):
        return None
    normalise = partial(normal_text, case=case, punctuation=True)
    truth = plain_quotes(normalise(str(ground_truth)))
    if not truth:
        return None
    if prediction is None:
        return False
    text = plain_quotes(normalise(str(prediction)))
    return next(places_of_word(truth, text), None) is not None


def f1(prediction: Any, ground_truth: Any) -> float | None:
    """Return the F1 score over bags of words, in the manner of SQuAD.

    Texts are put in lower case, without "a", "an" and "the", and without punctuation at
    the ends of words and between letters; each Chinese or Japanese character is a word.
    Unlike in SQuAD, a number counts by its value ("1,500" is "1500.0", but "-5" and
    "1.5" are not "5" and "15"), punctuation that `matches` keeps stays ("C#" is not
    "C"), and a sign alone is a word ("x > 5" is not "x < 5"), except the mark of a list
    at the start of a line. If a text has no words left, the score is 1.0 or 0.0 by
    `matches`. A prediction of ``None`` scores 0.0, a missing truth is not judged.

    >>> f1("the red house", "A house, red."), f1("red", "the red house"), f1("", "")
    (1.0, 0.6666666666666666, 1.0)
    >>> f1("in 1.5 hours", "in 15 hours"), f1("$1,500.00", "1500")
    (0.6666666666666666, 1.0)
    """
    if is_missing(ground_truth):
        return None
    if prediction is None:
        return 0.0
    answer = _bag_of_words(str(prediction))
    truth = _bag_of_words(str(ground_truth))
    if not answer or not truth:
        return float(matches(prediction, ground_truth) or False)
    return 2.0 * (answer & truth).total() / (answer.total() + truth.total())


_BETWEEN_LETTERS = regex.compile(r"(?<=[\p{L}\p{M}])[\p{P}$`|~]+(?=\p{L})")
_SPACED_PERCENT = regex.compile(r"(?<=\d)\s+(?=[%\u066a\ufe6a\uff05])")
_OPERATOR = regex.compile(
    r"[-+<>=*/^\u00ac\u00b1\u00d7\u00f7\u2212"
    r"\u2208-\u220b\u2227\u2228\u2260-\u226b]{1,2}"
)
_LIST_MARK = regex.compile(
    r"^[^\S\n]*+[-*+](?=[^\S\n]++(?:an? )?\p{L}{2})", regex.MULTILINE
)
_ARTICLES = frozenset(("a", "an", "the"))


def _bag_of_words(text: str) -> Counter[Any]:
    """Count the words of a text as `f1` compares them."""
    text = normal_form(text, "NFC").lower().replace("`", "")
    text = _SPACED_PERCENT.sub("", _LIST_MARK.sub("", text))
    bag: Counter[Any] = Counter()
    for word, count in Counter(words(text)).items():
        key = word if word.isalpha() else _word_key(word)
        if key != "" and key not in _ARTICLES:
            bag[key] += count
    return bag


def _word_key(word: str) -> Any:
    """Return an operator, the value of a number, or a word without punctuation."""
    if _OPERATOR.fullmatch(word):
        return word.replace("\u2212", "-")
    word = normal_text(word, case=True)
    if any(map(str.isdigit, word)):
        number = read_number(word)
        return word if number is None else number
    if not any(map(str.isalnum, word)):
        return ""
    return _BETWEEN_LETTERS.sub("", word)


def choice_equal(
    prediction: Any, ground_truth: Any, *, options: str = "ABCD"
) -> bool | None:
    """Return whether two texts name the same choice, as "(B)", "option B", "B) Paris".

    A letter counts in any case, by the rules of `letters.named_letters` or as the only
    word: a denied letter ("not B", "B is wrong") does not count, and "A" is a letter
    before words that cannot follow an article. A prediction that names no letter, or
    several, is wrong; a truth that is not one of the options is not judged. For a whole
    solution, apply `extract.choice` first. ValueError: fewer than two options.

    >>> choice_equal("(b)", "B"), choice_equal("A or B", "B"), choice_equal("B", "E")
    (True, False, None)
    """
    truth = read_choice(ground_truth, options)
    choice = read_choice(prediction, options)
    return None if truth is None else choice == truth
