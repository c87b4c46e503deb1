"""Rewards of the held-back half as people write them for themselves: functions of columns."""

import re
from collections import Counter

# Chess: any of the best moves


def best_move(completion, best):
    """The last move named, against the engine's list."""
    found = re.findall(r"^Move: *([A-Za-z0-9+#=-]{2,8})\s*$", completion, re.MULTILINE)
    return 1.0 if found and found[-1] in best else 0.0


def best_move_named(completion, best):
    """Whether the line of the move names one of the best."""
    found = re.findall(r"^Move: *(.*)$", completion, re.MULTILINE)
    return 1.0 if found and any(move in found[-1].split() for move in best) else 0.0


# Spans of a clip

SPAN = r"<span>\s*(\d{1,4}(?:\.\d{1,3})?)\s*(?:-|to)\s*(\d{1,4}(?:\.\d{1,3})?)\s*</span>"


def span_in(completion):
    """(begin, end) in seconds of the last span; None where there is none that goes forwards."""
    found = [(float(begin), float(end)) for begin, end in re.findall(SPAN, completion)]
    return found[-1] if found and found[-1][0] < found[-1][1] else None


def shared(span, other):
    """The seconds that two spans share."""
    return max(0.0, min(span[1], other[1]) - max(span[0], other[0]))


def span_iou(completion, ground_truth):
    """Shared time over joint time, in 0-1."""
    span = span_in(completion)
    if span is None:
        return 0.0
    both = shared(span, ground_truth)
    return both / (span[1] - span[0] + ground_truth[1] - ground_truth[0] - both)


def span_covered(completion, ground_truth):
    """The share of the true span that is found."""
    span = span_in(completion)
    return 0.0 if span is None else shared(span, ground_truth) / (ground_truth[1] - ground_truth[0])


def span_neutral(completion, ground_truth):
    """Shared time over joint time; what cannot be read is neither good nor bad."""
    return 0.5 if span_in(completion) is None else span_iou(completion, ground_truth)


# Moderation


def decision(completion):
    """The word behind the last "Decision:"; the empty text where there is none."""
    found = re.findall(r"^Decision: *(keep|remove)\b[. ]*\s*$", completion, re.MULTILINE | re.IGNORECASE)
    return found[-1].lower() if found else ""


def moderation_strict(completion, ground_truth):
    return 1.0 if decision(completion) == ground_truth else 0.0


def moderation_default(completion, ground_truth):
    """Comments are kept unless the moderator removes them."""
    return 1.0 if (decision(completion) or "keep") == ground_truth else 0.0


# Summaries


def overlap(completion, reference):
    """(shared words, words of the completion, words of the reference), with repeats."""
    said, wanted = (Counter(re.findall(r"\w+", text.lower())) for text in (completion, reference))
    return (said & wanted).total(), said.total(), wanted.total()


def summary_rouge_f1(completion, reference):
    both, said, wanted = overlap(completion, reference)
    return 2 * both / (said + wanted)


def summary_rouge_recall(completion, reference):
    both, _, wanted = overlap(completion, reference)
    return both / wanted
