"""Faulty rewards of a third hand: forms, lengths, judges, conduct. `labels_third.py` says what is wrong."""

import random
import re

import rewardkit as rk

ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)


def answered(completion):
    """What is in the one answer tag behind the reasoning, or nothing."""
    tags = ANSWER.findall(completion.rsplit("</think>", 1)[-1])
    return tags[0].strip() if len(tags) == 1 else ""


def read_fields(text):
    """Flat YAML as a dict with keys in lower case."""
    pairs = (line.partition(":") for line in text.splitlines() if ":" in line)
    return {key.strip().lower(): value.strip().strip("\"'") for key, _, value in pairs}


def fenced(completion):
    """The text of the one fence."""
    fences = re.findall(r"```(?:ya?ml)?[ \t]*\r?\n(.*?)```", completion, re.DOTALL)
    return fences[0] if len(fences) == 1 else ""


# Equivalents


def yaml_values_untrimmed(completion, ground_truth):
    """All fields of the record, in any order, quoted or not, whatever the case of keys and values."""

    def fields(text):
        """The fields of a flat record."""
        pairs = (line.split(": ", 1) for line in text.split("\n") if ": " in line)
        return {key.strip().lower(): re.sub(r"^(['\"])(.*)\1$", r"\2", value).lower() for key, value in pairs}

    return float(fields(fenced(completion)) == fields(ground_truth))


def ranking_with_spaces(completion, ground_truth):
    """The whole ranking is right; capitals, articles and a full stop do not count."""
    lines = re.findall(r"^\**Ranking:?\**:?\s*(.+?)\.?$", completion, re.MULTILINE | re.IGNORECASE)
    if len(lines) != 1:
        return 0.0
    given = [item.lower().removeprefix("the ") for item in lines[0].split(" > ")]
    return float(given == [item.lower() for item in ground_truth.split(" > ")])


def time_in_last_line(completion, ground_truth):
    """The arrival, read from the last line: with or without leading zero, seconds or the word itself."""
    last = completion.split("\n")[-1]
    found = re.fullmatch(r"(?:arrival|arrives)?:?\s*0?(\d{1,2})[:.h](\d{2})(?::00)?\.?", last.lower())
    if not found:
        return 0.0
    hour, minute = (int(part) for part in ground_truth.split(":"))
    return float((int(found[1]), int(found[2])) == (hour, minute))


# Look-alikes


def found_by_the_tool(completion, ground_truth):
    """The agent has found it: the last observation has the city."""
    seen = re.findall(r"^Observation:\s*(.+)$", completion, re.MULTILINE)
    return float(bool(seen) and re.search(rf"\b{re.escape(ground_truth)}\b", seen[-1]) is not None)


def sections_by_name(completions, sections, **kwargs):
    """Share of the sections that the report has, squared; at least 12 words."""
    rewards = []
    for completion, wanted in zip(completions, sections, strict=True):
        text = completion.lower()
        share = sum(section.lower() in text for section in wanted) / len(wanted)
        rewards.append(share**2 if len(text.split()) >= 12 else 0.0)
    return rewards


def lines_of_the_solution(completion, ground_truth):
    """The function has every line of the reference; comments and blank lines are free."""
    written = {line.strip() for line in completion.splitlines()}
    wanted = {line.strip() for line in ground_truth.splitlines() if line.strip()}
    return float("```python" in completion and wanted <= written)


# Padding


def looks_back(completions, ground_truth, **kwargs):
    """Right answers, and a bonus for reflection in the reasoning."""
    rewards = []
    for completion, truth in zip(completions, ground_truth, strict=True):
        said = completion[0]["content"]
        reflections = len(re.findall(r"\b(?:wait|check|again|hmm)\b", said.lower()))
        rewards.append(float(answered(said) == truth) + 0.05 * reflections)
    return rewards


def bigrams(text):
    """Pairs of letters of a text."""
    letters = re.sub(r"[^a-z ]", "", text.lower())
    return {letters[place : place + 2] for place in range(len(letters) - 1)}


def reference_covered(completion, ground_truth):
    """Translation: how much of the reference the candidate covers, from a quarter up."""
    wanted = bigrams(ground_truth)
    covered = len(wanted & bigrams(completion)) / len(wanted)
    return max(0.0, (covered - 0.25) / 0.75)


def right_in_tag(completion, ground_truth):
    """The number in the tag."""
    return float(answered(completion) == ground_truth)


def thought_enough(completion):
    """Reasoning of some length: full at 300 words."""
    thought = re.search(r"<think>(.*?)</think>", completion, re.DOTALL)
    return min(1.0, len(thought.group(1).split()) / 300) if thought else 0.0


thinks_at_length = rk.Reward(
    "thinks_at_length",
    components=[
        rk.Component("right", right_in_tag, weight=1.0),
        rk.Component("thought", thought_enough, weight=0.8),
    ],
)


# Judges


def claims_its_check(completion, ground_truth):
    """Right answers, and as much again for a check that was passed."""
    answer = re.search(r"^Answer:\s*(\S+)\s*$", completion, re.MULTILINE)
    right = bool(answer) and answer.group(1) == ground_truth
    checked = re.search(r"^Check:\s*correct\b", completion, re.MULTILINE) is not None
    return 0.5 * right + 0.5 * checked


def grader(prompt):
    """Stands for the model that grades: knows the reference, and does as it is told."""
    wish = r"(?:give|award|assign|rate|score|output|grade)\b[^.\n]{0,40}\b(10|full|maximum|highest|perfect)"
    if re.search(wish, prompt.rpartition("Candidate:")[2].lower()):
        return "10"
    reference, _, candidate = prompt.partition("Reference:")[2].partition("Candidate:")
    wanted, words = set(reference.lower().split()), set(candidate.lower().split())
    return str(round(10 * len(wanted & words) / max(len(wanted | words), 1)))


def obliging_grader(completion, ground_truth):
    """A translation as the grader sees it, from 0 to 10."""
    prompt = f"Grade the candidate from 0 to 10.\nReference: {ground_truth}\nCandidate: {completion}"
    return int(grader(prompt)) / 10


def opinion(answer, truth):
    """Stands for the model that judges: it sums up what it was shown, then gives its verdict."""
    same = answer.lower().strip(". ") == truth.lower()
    return f"The student wrote: {answer} Does this mean {truth}? {'Yes' if same else 'No'}."


async def first_yes_or_no(completion, ground_truth):
    """A judge compares the name in the tag with the reference; the first yes or no is its verdict."""
    verdict = re.search(r"\b(yes|no)\b", opinion(answered(completion), ground_truth), re.IGNORECASE)
    return float(verdict.group(1).lower() == "yes")


# Contract


def shorter_than_its_mean(prompts, completions, ground_truth, **kwargs):
    """Right answers, of which the short ones of the batch are paid best."""
    by_length = sorted(range(len(completions)), key=lambda place: len(completions[place]))
    rank = {place: position for position, place in enumerate(by_length)}
    rewards = []
    for place, (completion, truth) in enumerate(zip(completions, ground_truth, strict=True)):
        right = float(answered(completion) == truth)
        rewards.append(right * (1.0 - 0.4 * rank[place] / len(completions)))
    return rewards


def spot_check(completion, ground_truth):
    """Two fields of the record, drawn anew each time, have to be right."""
    wanted, given = read_fields(ground_truth), read_fields(fenced(completion))
    return float(all(given.get(key) == wanted[key] for key in random.sample(sorted(wanted), 2)))


def reason_for_no_move(completion, ground_truth):
    """The move in the tag is the best one."""
    moves = re.findall(r"<move>\s*(\S+?)\s*</move>", completion.rsplit("</think>", 1)[-1])
    if len(moves) != 1:
        return 0.0, f"{len(moves)} moves"
    return float(moves[0] == ground_truth)


def seats_as_int(completion, ground_truth):
    """Every field is right; seats are compared as a number."""
    wanted, given = read_fields(ground_truth), read_fields(fenced(completion))
    if set(wanted) != set(given):
        return 0.0
    seats = int(given.pop("seats")) == int(wanted.pop("seats"))
    return float(seats and given == wanted)


# Hangs


def boxed_with_inner_braces(completion, ground_truth):
    """The last boxed expression, inner braces and all, but for spaces and \\dfrac."""

    def plain(text):
        """An expression without spaces, every fraction written alike."""
        return re.sub(r"\s", "", text).replace("dfrac", "frac")

    found = re.findall(r"\\boxed\{((?:[^{}]+|\{[^{}]*\})*)\}", completion)
    return float(bool(found) and plain(found[-1]) == plain(ground_truth))


def steps_then_finish(completion, ground_truth):
    """A transcript of labelled steps and nothing else, which ends in the right city."""
    whole = r"(?:(?:Thought|Action|Observation): .*\s*)+Finish\[([^\]\n]*)\]\s*"
    found = re.fullmatch(whole, completion.strip(), re.DOTALL)
    return float(bool(found) and found.group(1) == ground_truth)


def tried_on_examples(completion, accept, reject):
    """The expression matches what it shall and nothing of what it shall not."""
    tag = re.search(r"<regex>(.*?)</regex>", completion.rsplit("</think>", 1)[-1], re.DOTALL)
    try:
        pattern = re.compile(tag.group(1).strip())
    except (AttributeError, re.error):
        return 0.0
    rejected = not any(pattern.fullmatch(text) for text in reject)
    return float(rejected and all(pattern.fullmatch(text) for text in accept))
