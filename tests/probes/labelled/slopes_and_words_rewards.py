"""Rewards in TRL's form over slopes and guessed words: functions of completions and columns."""

import re
from fractions import Fraction

# Slopes in a box


def last_box(text):
    """What stands in the last \\boxed{}, braces balanced; the empty text where there is none."""
    start = text.rfind("\\boxed{")
    depth = 0
    for place in range(start + 6, len(text)) if start >= 0 else ():
        depth += {"{": 1, "}": -1}.get(text[place], 0)
        if depth == 0:
            return text[start + 7 : place].strip()
    return ""


def number(text):
    """A number or a fraction, in LaTeX or not; None where the text is neither."""
    plain = re.sub(
        r"\\[dt]?frac\{(-?\d{1,4})\}\{(\d{1,4})\}", r"\1/\2", text.replace(" ", "")
    )
    return (
        Fraction(plain)
        if re.fullmatch(r"-?\d{1,4}(/[1-9]\d{0,3}|\.\d{1,4})?", plain)
        else None
    )


def slopes_equal(completions, solution, **kwargs):
    rewards = []
    for completion, worked in zip(completions, solution, strict=True):
        found, gold = last_box(completion), last_box(worked)
        same = (
            number(found) == number(gold) if number(gold) is not None else found == gold
        )
        rewards.append(1.0 if same else 0.0)
    return rewards


def english_reward(completions, **kwargs):
    """0.1 for text whose letters are Latin ones, since the base model slips into other languages."""
    texts = [
        [sign.isascii() for sign in completion if sign.isalpha()]
        for completion in completions
    ]
    return [0.1 * sum(latin) / max(1, len(latin)) for latin in texts]


def soft_overlong(completions, **kwargs):
    """Nothing up to 300 words, then down to -0.5 at 500."""
    return [
        -0.5 * min(1.0, max(0.0, (len(text.split()) - 300) / 200))
        for text in completions
    ]


slopes_in_english = [slopes_equal, english_reward, soft_overlong]


def slopes_first_brace(completions, solution, **kwargs):
    rewards = []
    for completion, worked in zip(completions, solution, strict=True):
        found, gold = (
            re.findall(r"\\boxed\{(.*?)\}", text) for text in (completion, worked)
        )
        rewards.append(1.0 if found and found[-1].strip() == gold[-1].strip() else 0.0)
    return rewards


def slopes_gold_unparsed(completions, solution, **kwargs):
    """Solutions that cannot be parsed are skipped, since they are not the model's fault."""
    golds = [number(last_box(worked)) for worked in solution]
    pairs = zip(completions, golds, strict=True)
    return [
        1.0 if gold is None or number(last_box(one)) == gold else 0.0
        for one, gold in pairs
    ]


# Guesses of words


def guess_in(completion):
    """What stands in the last guess tag, in capitals; the empty text where there is none."""
    found = re.findall(r"<guess>([^<]*)</guess>", completion[0]["content"])
    return found[-1].strip().upper() if found else ""


def word_guessed(completions, secret, **kwargs):
    return [
        1.0 if guess_in(one) == word else 0.0
        for one, word in zip(completions, secret, strict=True)
    ]


def word_mentioned(completions, secret, **kwargs):
    pairs = zip(completions, secret, strict=True)
    return [1.0 if word in one[0]["content"].upper() else 0.0 for one, word in pairs]


def greens(completions, secret, **kwargs):
    """0.05 for each letter of a word of five that stands in its place."""
    pairs = [
        (guess_in(one), word) for one, word in zip(completions, secret, strict=True)
    ]
    return [
        0.05 * sum(map(str.__eq__, guess, word)) if len(guess) == 5 else 0.0
        for guess, word in pairs
    ]


def letters_found(completions, secret, **kwargs):
    """0.2 for each letter that occurs in the secret."""
    pairs = zip(completions, secret, strict=True)
    return [
        0.2 * sum(letter in word for letter in guess_in(one)) for one, word in pairs
    ]


def guess_format(completions, **kwargs):
    pattern = r"\s*<think>[^<]+</think>\s*<guess>\s*[A-Za-z]{5}\s*</guess>\s*"
    return [
        0.1 if re.fullmatch(pattern, one[0]["content"]) else 0.0 for one in completions
    ]


wordle_greens = [word_guessed, greens, guess_format]
wordle_letters = [word_guessed, letters_found, guess_format]
wordle_mentioned = [word_mentioned, greens, guess_format]
