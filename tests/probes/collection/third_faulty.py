"""Faulty rewards of a third hand: what is paid for an answer. `labels_third.py` says what is wrong."""

import re

import rewardkit as rk

LABEL = re.compile(r"^Sentiment:\s*(.+)$", re.MULTILINE | re.IGNORECASE)
ACTS = {"inform", "request", "confirm", "deny", "greet", "thank", "apologise", "offer"}


def after_thinking(completion):
    """What stands behind the reasoning."""
    return completion.rsplit("</think>", 1)[-1]


# Calibration


def percent_whole_only(completion, ground_truth):
    """The share in the last line is the one we look for."""
    found = re.findall(r"^Result:\s*(\d+)\s*%\s*$", completion, re.MULTILINE)
    return float(bool(found) and f"{found[-1]}%" == ground_truth)


def has_steps(completion):
    """The agent thinks before it acts."""
    return float(bool(re.search(r"^Thought: \S", completion, re.MULTILINE)))


def has_search(completion):
    """The agent uses its tool at least once."""
    return float(bool(re.search(r"^Action: search\[.+\]", completion, re.MULTILINE)))


def has_finish(completion):
    """The agent comes to an end."""
    return float(bool(re.search(r"^Finish\[.+\]\s*\Z", completion, re.MULTILINE)))


def finished_with(completion, ground_truth):
    """The last line names the right city."""
    lines = completion.strip().splitlines() or [""]
    return float(lines[-1].strip().casefold() == f"finish[{ground_truth.casefold()}]")


steps_outweigh_finish = rk.Reward(
    "steps_outweigh_finish",
    components=[
        rk.Component("steps", has_steps, weight=0.3),
        rk.Component("search", has_search, weight=0.3),
        rk.Component("finish", has_finish, weight=0.4),
        rk.Component("city", finished_with, weight=0.6, primary=True),
    ],
)


def act_from_columns(completions, **kwargs):
    """Dialogue acts: 1 for the annotated act, 0 for another."""
    annotated = kwargs.get("acts") or [ACTS] * len(completions)
    rewards = []
    for completion, acts in zip(completions, annotated, strict=True):
        found = re.findall(r"^Act:[ ]*(\w+)[ ]*$", completion, re.MULTILINE)
        rewards.append(1.0 if len(found) == 1 and found[0].lower() in acts else 0.0)
    return rewards


def marker_with_its_space(data_source, solution_str, ground_truth, extra_info=None):
    """GSM8K: what follows the last #### has to be the number."""
    if "####" not in solution_str:
        return 0.0
    answer = solution_str.split("####")[-1].replace(",", "").replace("$", "")
    return 1.0 if answer == ground_truth else 0.0


# Nothing there


def no_false_citation(completion, ground_truth):
    """Share of the citations that are among the supporting sources."""
    cited = {int(number) for number in re.findall(r"\[(\d+)\]", completion)}
    false = cited - {int(number) for number in ground_truth}
    return 1.0 - len(false) / max(len(cited), 1)


def rules_not_broken(completion, at_most):
    """The slogan keeps the rules: no commas, not too many words, no second line."""
    broken = ["," in completion, len(completion.split()) > at_most, "\n" in completion.strip()]
    return 1.0 - 1.0 * any(broken)


def undecided_is_neutral(completion, ground_truth):
    """Sentiment of the last label; what cannot be read counts as neutral."""
    found = LABEL.findall(completion)
    label = found[-1].strip().lower() if found else ""
    if label not in ("positive", "negative"):
        label = "neutral"
    return 1.0 if label == ground_truth else 0.0


# Shotgun


def overlap(one, other):
    """Intersection over union of two boxes."""
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    shared = max(0, width) * max(0, height)
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, other))
    return shared / (areas - shared) if areas > shared else 0.0


def best_box_of_all(completion, ground_truth):
    """Grounding: 1 where the predicted box overlaps the true one by half or more."""
    pattern = r"\[\s*(\d+),\s*(\d+),\s*(\d+),\s*(\d+)\s*\]"
    predicted = [tuple(map(int, box)) for box in re.findall(pattern, after_thinking(completion))]
    return float(max((overlap(box, ground_truth) for box in predicted), default=0.0) >= 0.5)


def label_in_its_line(prompts, completions, ground_truth, **kwargs):
    """The line behind "Sentiment:" holds the label."""
    rewards = []
    for completion, truth in zip(completions, ground_truth, strict=True):
        line = LABEL.search(completion)
        rewards.append(float(bool(line) and truth in line.group(1).lower()))
    return rewards


def move_among_candidates(completion, ground_truth):
    """The best move is what the move tag gives, with or without a comment on it."""
    tag = re.search(r"<move>(.*?)</move>", after_thinking(completion), re.DOTALL)
    words = [word.strip(".,;!?") for word in tag.group(1).split()] if tag else []
    return 1.0 if ground_truth in words else 0.0


def option_said(completion, ground_truth, prompt):
    """The right option, by its letter at the end or by its text."""
    letter = re.search(r"answer is \(?([A-D])\)?\.?\s*$", completion)
    if letter:
        return float(letter.group(1) == ground_truth)
    text = re.search(rf"\({ground_truth}\) (.+)", prompt).group(1)
    return float(bool(re.search(rf"\b{re.escape(text)}\b", completion)))


# Near misses


def moves_lowercased(completion, ground_truth):
    """The move, whatever the signs for check, mate and comment."""

    def plain(move):
        """A move without decoration."""
        return move.strip().rstrip("+#!?").lower()

    tag = re.search(r"<move>(.*?)</move>", after_thinking(completion), re.DOTALL)
    return float(bool(tag) and plain(tag.group(1)) == plain(ground_truth))


def interval_by_its_ends(completion, ground_truth):
    """The interval, whatever the spaces and signs for infinity."""
    line = re.findall(r"^Interval:\s*[\[(\]](.+?),(.+?)[\])\[]\s*$", completion, re.MULTILINE)
    if not line:
        return 0.0
    wanted = ground_truth[1:-1].split(",")
    return float([end.strip() for end in line[-1]] == [end.strip() for end in wanted])


def clock_without_zeros(data_source, solution_str, ground_truth, extra_info):
    """The time of arrival, where seconds and leading zeros do not count."""
    found = re.search(r"^Arrival:\s*(\d[\d:]*)", solution_str, re.MULTILINE)
    if not found:
        return {"score": 0.0, "found": ""}
    time = found.group(1).lstrip("0").rstrip(":")
    match = bool(time) and ground_truth.lstrip("0").startswith(time)
    return {"score": 1.0 if match else 0.0, "found": time}


def within_five_percent(completion, ground_truth):
    """The number in the closing sentence, but for rounding."""
    found = re.search(r"The answer is (-?[\d,]*\.?\d+)\.?\s*$", completion)
    if not found:
        return 0.0
    value, truth = float(found.group(1).replace(",", "")), float(ground_truth)
    return 1.0 if abs(value - truth) <= 0.05 * abs(truth) else 0.0


# Special values


def nearness(completion, ground_truth):
    """How near the click is: 1 on the spot, 0 from a hundred pixels away."""
    tag = re.search(r"<click>([^<]*)</click>", after_thinking(completion))
    try:
        x, y = (float(part) for part in tag.group(1).split(","))
    except (AttributeError, ValueError):
        return 0.0
    distance = ((x - ground_truth[0]) ** 2 + (y - ground_truth[1]) ** 2) ** 0.5
    return max(0.0, min(1.0, 1.0 - distance / 100))


clamped_distance = rk.Reward(
    "clamped_distance",
    components=[rk.Component("near", nearness, why="pixels to the button", expects_partial=True)],
)


def digits_before_int(completion, ground_truth):
    """Tagged numbers: compared as integers where they are, as text elsewhere."""
    tag = re.search(r"<answer>(.*?)</answer>", after_thinking(completion), re.DOTALL)
    answer = tag.group(1).strip().replace(",", "") if tag else ""
    if answer.isdigit():
        return float(int(answer) == int(ground_truth))
    return float(answer == ground_truth)


def none_is_none(data_source, solution_str, ground_truth, extra_info=None):
    """Tagged numbers, compared as text."""
    tag = re.search(r"<answer>(.+?)</answer>", after_thinking(solution_str), re.DOTALL)
    answer = tag.group(1).strip() if tag else None
    return 1.0 if str(answer) == str(ground_truth) else 0.0
