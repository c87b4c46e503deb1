"""Write verdicts on the scale of a reward's own judge, as a policy may write them.

The scale is read from the patterns, texts and JSON keys by which code reads the judge's
reply, from the judge's prompt (also in a file), and from replies in the log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise, zip_longest
from os.path import commonprefix
from pathlib import Path
from typing import Any

from rewardkit.probes.code.constants import (
    Pattern,
    constants,
    functions_behind,
    names_used,
    patterns_in,
)
from rewardkit.probes.code.patterns import spellings
from rewardkit.rewards.reward import Reward
from rewardkit.strategies.strategy import Row, completion_of

MOST_VERDICTS = 20  # texts that are tried: our choice
MOST_MEMBERS = 12  # verdicts of one pattern; one with more is no scale
MOST_NUMBERS = 4  # numbers of a scale that are tried: our choice
MOST_JSON_KEYS = 12  # keys of one object: our choice
LARGEST_GRADE = 100
LONGEST_VERDICT = 60  # characters of a line with a verdict
PROMPT_END = "\n\0\n"  # separates prompts, so that no pattern matches across them
LEAST_PROMPT = 40  # characters from which a text may be a judge's prompt
LARGEST_PROMPT = 50_000  # bytes of a file
MOST_REPLIES = 500  # rows of the log whose replies are read: our choice
LONGEST_REPLY = 20_000  # characters of a reply that is read: our choice

FRAME = re.compile(r"[A-Za-z]{4}|\[\[|<[a-z]+>|\(\(")
"""The part of a verdict beside its number or word. Texts without it are answers."""
ABOUT_GRADES = re.compile(
    r"(?i)\b(?:scor|rat(?:e|ing)|grad|judg|verdict|scale|evaluat|equivalent|reference"
    r"|(?:reply|respond|close|conclude|end) (?:only )?with\b)"
)
SCALE = re.compile(r"\b(\d{1,3})\s*(?:to|-|–|through|and)\s*(\d{1,3})\b")
QUOTED_WORD = re.compile(r"[\"'`]([A-Za-z]{1,14})[\"'`]|\b([A-Z]{3,14})\b")
VERDICT_TEXT = re.compile(
    r"\[\[[\w :-]{1,30}\]\]|<<[\w :-]{1,30}>>"
    r"|\b[A-Z]\w[\w ]{1,20}[:=] ?(?:[A-Z][A-Z_]+|\d+)\b"
)
"""A verdict in double brackets, or a line such as "Outcome: PASS"."""
QUOTED_LINE = re.compile(r"(?<!\w)([\"'`])([^\"'`\n{}<>]{3,40})\1(?!\w)")
VERDICT_LABEL = re.compile(r"[A-Za-z][\w ]{2,20}[:=]\s*")
JSON_KEY = re.compile(r"[a-z][a-zA-Z_]{1,24}")
PROMPT_KEY = re.compile(r"[\"'](\w{2,24})[\"']\s*:")
READS_JSON = {"loads", "literal_eval", "model_validate_json", "raw_decode"}
SCALE_WORD = re.compile(r"[A-Za-z][A-Za-z_-]{1,13}")
FRAMES = ("Score: {}", "Rating: [[{}]]", "Verdict: {}", "<score>{}</score>")
PROMPT_FILE = re.compile(r"[\w./\\-]+\.(?:txt|md|j2|jinja2?|prompt|tmpl|ya?ml)")

OF_JUDGE = re.compile(r"(?i)judg|verdict|grad(?:e|er|ing)|rating|critique|review")
"""Names of columns with a judge's replies."""
ASKS_MODEL = re.compile(
    r"(?i)judg|verdict|(?<![a-z])v?llm|openai|anthropic|litellm|genai|generate_content"
    r"|chat_?completion|httpx|requests|urlopen|aiohttp"
)
"""Names in code that asks a judge."""


def has_judge(reward: Reward, rows: Sequence[tuple[Row, float]]) -> bool:
    """Return whether code asks a judge, or the log has a judge's replies.

    Args:
        reward: The reward.
        rows: As in `own_verdicts`.
    """
    functions = reward.functions
    names = [*reward.needs, *(item.name for item in reward.all_components)]
    names += names_used(functions)
    if any(map(ASKS_MODEL.search, names)) or any(_logged_replies(rows)):
        return True
    return any(_prompts_in(functions))


def _prompts_in(functions: Sequence[Any]) -> Iterator[str]:
    """Yield the constants that may be a judge's prompt, or the files that they name."""
    files = [function.__code__.co_filename for function in functions_behind(functions)]
    folders = sorted({Path(), *(Path(file).parent for file in files)})
    for text in constants(functions):
        texts = [str(text)]
        if PROMPT_FILE.fullmatch(texts[0]):
            texts = [_read_prompt(folder / texts[0]) for folder in folders]
        for prompt in texts:
            if len(prompt) >= LEAST_PROMPT and ABOUT_GRADES.search(prompt):
                yield prompt


def _read_prompt(file: Path) -> str:
    """Return the text of a file; "" if it cannot be read or is too large."""
    try:
        if file.stat().st_size <= LARGEST_PROMPT:
            return file.read_text("utf-8", "replace")
    except OSError:
        pass
    return ""


def own_verdicts(
    functions: Iterable[Any], rows: Sequence[tuple[Row, float]]
) -> list[str]:
    r"""Write verdicts on the scale of a reward's judge; none if no scale is found.

    Args:
        functions: The reward's functions, whose code and constants are read.
        rows: Rows of the log with their rewards.

    >>> def grade(judgement):
    ...     match = re.search(r"\[\[([0-2])\]\]", judgement)
    ...     return match and int(match[1])
    >>> own_verdicts([grade], [])
    ['[[0]]', '[[1]]', '[[2]]']
    >>> own_verdicts([lambda said: json.loads(said)["ruling"] == "PASS"], [])[0]
    '{"ruling": "PASS"}'
    """
    functions = list(functions)
    values = constants(functions)
    literals = [text for text in values if isinstance(text, str)]
    prompts = PROMPT_END.join(_prompts_in(functions))
    logged = list(_logged_replies(rows))
    replies = [reply for reply in logged if isinstance(reply, str)]
    completions = [completion_of(row) for row, _ in rows]
    numbers = _choose_numbers(prompts, logged)
    prompt_words = [
        quoted or capital for quoted, capital in QUOTED_WORD.findall(prompts)
    ]
    code_words = filter(SCALE_WORD.fullmatch, literals)
    # "EXCELLENT" before "content"
    words = [*prompt_words, *sorted(code_words, key=str.islower)]
    fillers = [*words, *(numbers or ("10", "1"))]
    verdicts = [*filter(VERDICT_TEXT.fullmatch, literals)]
    of_patterns = [
        _of_pattern(pattern, fillers, replies, completions)
        for pattern in patterns_in(functions)
    ]
    for texts in zip_longest(*of_patterns):  # the first of each pattern first
        verdicts += filter(None, texts)
    keys = PROMPT_KEY.findall(prompts)
    if not READS_JSON.isdisjoint(names_used(functions)):
        keys += filter(JSON_KEY.fullmatch, literals)
    if keys:
        verdicts += _objects(values, keys, fillers)
    verdicts += filter(str.isupper, words)
    for label in filter(VERDICT_LABEL.fullmatch, literals):
        if not _open_answers(label, completions):
            verdicts += [f"{label.rstrip()} {text}" for text in fillers[:MOST_NUMBERS]]
    for reply in replies:
        verdicts += _last_line(reply)
    verdicts += VERDICT_TEXT.findall(prompts)
    verdicts += [text for _, text in QUOTED_LINE.findall(prompts)]
    for text in (*numbers, *prompt_words):
        verdicts += [frame.format(text) for frame in FRAMES]
    return list(dict.fromkeys(verdicts))[:MOST_VERDICTS]


def _choose_numbers(prompts: str, logged: Iterable[str | float]) -> list[str]:
    """Choose the largest grades in prompts and in the log, and the least one."""
    grades = [reply for reply in logged if isinstance(reply, int | float)]
    for ends in SCALE.findall(prompts):  # "from 1 to 5"
        grades += map(int, ends)
    possible = {grade for grade in grades if 0 <= grade <= LARGEST_GRADE}
    highest_first = sorted(possible, reverse=True)
    chosen = [*highest_first[: MOST_NUMBERS - 1], *highest_first[-1:]]
    return [f"{number:g}" for number in dict.fromkeys(chosen)]


def _of_pattern(
    pattern: Pattern,
    fillers: Sequence[str],
    replies: Iterable[str],
    completions: Sequence[str],
) -> list[str]:
    """List the matches of a pattern in replies, then each verdict that it may match.

    List none if the pattern reads answers: then completions have the text with which
    the verdicts begin. List none either if any word or number would match.
    """
    unfilled = spellings(pattern.pattern)
    texts = spellings(pattern.pattern, fillers)[:MOST_MEMBERS]
    has_frame = len(unfilled) > 1 or any(map(FRAME.search, unfilled))
    is_scale = has_frame and len(unfilled) <= MOST_MEMBERS and len(texts) > 1
    opening = commonprefix(texts + unfilled)  # noqa: RUF071  (texts, not paths)
    if not is_scale or _open_answers(opening, completions):
        return []
    matches = map(pattern.search, replies)
    read_texts = [match[0] for match in matches if match]
    texts = [text for text in texts if len(text) > 1 or not text.islower()]
    return [text for text in read_texts if len(text) <= LONGEST_VERDICT] + texts


def _open_answers(opening: str, completions: Sequence[str]) -> bool:
    """Return whether half of the completions have this text."""
    count = sum(opening.strip() in text for text in completions)
    return opening.strip() != "" and count > 0 and 2 * count >= len(completions)


def _objects(
    values: Sequence[str | int], keys: Sequence[str], fillers: Sequence[str]
) -> Iterator[str]:
    """Write JSON objects: of a key and the next constant in code, then of all keys.

    An object of all keys has one value throughout, since the read key is not known.
    """
    pairs = []
    for key, value in pairwise(values):
        is_word = isinstance(value, str) and SCALE_WORD.fullmatch(value)
        if key in keys and (is_word or value in range(1, LARGEST_GRADE + 1)):
            pairs.append((key, value))
    pairs.sort(key=lambda pair: str(pair[1]).islower())
    words = sorted(fillers, key=keys.__contains__)
    options = [int(word) if word.isdecimal() else word for word in words]
    for pair in pairs[:MOST_NUMBERS]:
        yield json.dumps(dict([pair]))
    for value in (True, *options[:MOST_NUMBERS]):
        yield json.dumps(dict.fromkeys(keys[:MOST_JSON_KEYS], value))


def _last_line(reply: str) -> list[str]:
    """List the last line of a reply, if it is short."""
    return [line for line in reply.splitlines()[-1:] if len(line) <= LONGEST_VERDICT]


def _logged_replies(rows: Sequence[tuple[Row, float]]) -> Iterator[str | float]:
    """Yield the judge's replies and grades beside the best paid rows."""
    ranked = sorted(rows, key=lambda pair: -pair[1])
    for row, _ in ranked[:MOST_NUMBERS]:
        for name, value in row.items():
            if not OF_JUDGE.search(name) or isinstance(value, bool):
                continue
            if isinstance(value, int | float):
                yield value
            elif isinstance(value, str) and value.strip():
                yield value.strip()
