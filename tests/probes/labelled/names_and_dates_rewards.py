"""Rewards of names, weekdays, dates and the order of events: abstentions, confidences, and parsers too strict or too lenient."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import datetime
from itertools import combinations

# Names for TRL: who does not know one says so


def tagged(text):
    """Return what stands in the last answer tag, or the empty text."""
    marks = re.findall(r"<answer>([^<]*)</answer>", text)
    return marks[-1].strip() if marks else ""


ABSTENTIONS = {
    "не знаю",
    "δεν ξέρω",
    "わかりません",
    "모르겠습니다",
    "لا أعرف",
    "לא יודע",
    "je ne sais pas",
    "ich weiß es nicht",
    "no lo sé",
}


def same_name(text):
    """Return a name without case, punctuation and doubled space, in any script."""
    text = unicodedata.normalize("NFKC", text)
    letters = [one for one in text if unicodedata.category(one)[0] not in "PSC"]
    return " ".join("".join(letters).casefold().split())


def names_or_abstain(completions, solution, **kwargs):
    """1 for a right name, 0 for saying that it is not known, -1 for a wrong one (TruthRL, 2025)."""
    unknown = {same_name(phrase) for phrase in ABSTENTIONS}
    rewards = []
    for text, accepted in zip(completions, solution, strict=True):
        said = same_name(tagged(text))
        if said and said in {same_name(name) for name in accepted}:
            rewards.append(1.0)
        else:
            rewards.append(0.0 if said in unknown else -1.0)
    return rewards


def normalize_answer(text):
    """Lower case; no punctuation, articles or extra white space (SQuAD's script)."""
    text = re.sub(r"[^a-z0-9 ]", "", text.lower())
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", text).split())


def names_exact_match(completions, solution, **kwargs):
    rewards = []
    for text, accepted in zip(completions, solution, strict=True):
        marks = re.findall(r"<answer>([^<]*)</answer>", text)
        if not marks:
            rewards.append(0.0)
            continue
        said = normalize_answer(marks[-1])
        rewards.append(float(any(said == normalize_answer(name) for name in accepted)))
    return rewards


# Weekdays as a rubric of verifiers, with a confidence: right, less the Brier score (RLCR, 2025)


@dataclass
class Rubric:
    """Stand-in for verifiers' class: functions and their weights."""

    funcs: list
    weights: list


def last_text(completion):
    return completion if isinstance(completion, str) else completion[-1]["content"]


def weekday_correct(completion, answer, **kwargs):
    said = re.findall(
        r"^Answer:[ \t]*([A-Za-z]+)\.?\s*$", last_text(completion), re.MULTILINE
    )
    return float(bool(said) and said[-1].lower() == answer.lower())


def stated_confidence(text):
    """Return a confidence from 0 to 1, stated as a share or in percent; None where there is none."""
    matches = re.findall(r"Confidence:\s*(\d{1,3}(?:\.\d{1,6})?)[ \t]*(%?)", text)
    if not matches:
        return None
    number, percent = float(matches[-1][0]), matches[-1][1]
    share = number / 100 if percent or number > 1 else number
    return min(share, 1.0)


def calibration(completion, answer, **kwargs):
    """The negative Brier score of the stated confidence; -1 where there is none."""
    confidence = stated_confidence(last_text(completion))
    if confidence is None:
        return -1.0
    return -((confidence - weekday_correct(completion, answer)) ** 2)


weekdays_calibrated = Rubric([weekday_correct, calibration], [1.0, 0.5])


def weekday_before_line_feed(completion, answer, **kwargs):
    """Where lines end with CRLF, no day ends its line."""
    said = re.findall(
        r"^Answer:[ \t]*([A-Za-z]+)$", last_text(completion), re.MULTILINE
    )
    return float(bool(said) and said[-1].lower() == answer.lower())


weekdays_line_feed = Rubric([weekday_before_line_feed, calibration], [1.0, 0.5])


def brier_reward(completion, answer, **kwargs):
    """The negative Brier score of the stated confidence; -1 where there is none."""
    text = last_text(completion)
    confidences = re.findall(r"Confidence:\s*(\d{1,3}(?:\.\d{1,6})?)", text)
    if not confidences:
        return -1.0
    return -((float(confidences[-1]) - weekday_correct(completion, answer)) ** 2)


weekdays_brier = Rubric([weekday_correct, brier_reward], [1.0, 0.5])

# Timelines for TRL


def ordered(text):
    """Return the letters in the last order tag; none where something else stands there."""
    marks = re.findall(r"<order>([^<]*)</order>", text)
    letters = re.split(r"[\s,>→-]+", marks[-1].strip(" \r\n,.")) if marks else []
    is_order = len(letters) <= 10 and all(re.fullmatch("[A-E]", one) for one in letters)
    return letters if is_order else []


def concordance(letters, truth):
    """Return Kendall's tau of all the events, nothing below 0; a missing one is in no right pair."""
    if len(set(letters)) != len(letters) or not set(letters) <= set(truth):
        return 0.0
    place = {letter: number for number, letter in enumerate(letters)}
    pairs = list(combinations(truth, 2))
    in_order = 0
    for early, late in pairs:
        if early in place and late in place and place[early] < place[late]:
            in_order += 1
    return max(0.0, 2 * in_order / len(pairs) - 1)


def timelines_all_pairs(completions, answer, **kwargs):
    return [
        concordance(ordered(text), truth)
        for text, truth in zip(completions, answer, strict=True)
    ]


def timelines_one_line(completions, answer, **kwargs):
    """The letters stand beside the tags: on a line of their own they are none."""
    rewards = []
    for text, truth in zip(completions, answer, strict=True):
        on_a_line = re.sub(r"<order>\n", "<order>?", text)
        rewards.append(concordance(ordered(on_a_line), truth))
    return rewards


def timelines_known_pairs(completions, answer, **kwargs):
    """Kendall's tau, nothing below 0."""
    rewards = []
    for text, truth in zip(completions, answer, strict=True):
        ranks = [truth.index(letter) for letter in ordered(text) if letter in truth]
        pairs = list(combinations(ranks, 2))
        in_order = sum(early < late for early, late in pairs)
        rewards.append(max(0.0, 2 * in_order / max(len(pairs), 1) - 1))
    return rewards


# Ends of notice periods for TRL, as chat messages; a British data set

BRITISH = ("%d/%m/%Y", "%d.%m.%Y", "%Y-%m-%d", "%d %B %Y")
AMERICAN = ("%m/%d/%Y", "%B %d, %Y")


def read_date(text, formats):
    """Return the date by the first of these formats that fits, or None."""
    for date_format in formats:
        try:
            return datetime.strptime(text, date_format).date()
        except ValueError:
            continue
    return None


def date_reward(completions, solution, **kwargs):
    rewards = []
    for messages, truth in zip(completions, solution, strict=True):
        said = read_date(tagged(messages[-1]["content"]), BRITISH)
        rewards.append(1.0 if said and said.isoformat() == truth else 0.0)
    return rewards


def tag_reward(completions, **kwargs):
    """A tenth for one pair of tags."""
    texts = [messages[-1]["content"] for messages in completions]
    return [0.1 * (len(re.findall(r"</?answer>", text)) == 2) for text in texts]


def rambling_penalty(completions, max_words=170, **kwargs):
    """A fifth off for what nobody wants to read."""
    texts = [messages[-1]["content"] for messages in completions]
    return [-0.2 if len(text.split()) > max_words else 0.0 for text in texts]


notices_british = [date_reward, tag_reward, rambling_penalty]


def notices_any_country(completions, solution, **kwargs):
    """Policies write dates in all sorts of ways: the first format that fits is taken."""
    rewards = []
    for messages, truth in zip(completions, solution, strict=True):
        said = read_date(tagged(messages[-1]["content"]), AMERICAN + BRITISH)
        rewards.append(1.0 if said and said.isoformat() == truth else 0.0)
    return rewards
