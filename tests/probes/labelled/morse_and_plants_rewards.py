"""Rewards for Morse, plant families, resistors, stack programs and syllogisms: checks by a judge, a run or a form."""

import re

from rapidfuzz import fuzz

# Morse for OpenAI's graders


def message_in(text):
    """Return what stands behind the last 'Message:' in its line, in capitals."""
    lines = re.findall(r"Message:[ \t*`\"]*([^\r\n*`\"]{1,100})", text)
    return " ".join(lines[-1].upper().strip(" .").split()) if lines else ""


def judge_message(message, reference):
    """Write what the judge model writes (replayed)."""
    if not message:
        return "There is no message to compare.\nVerdict: INCORRECT"
    is_same = message == reference
    remark = "They agree." if is_same else "They differ."
    verdict = "CORRECT" if is_same else "INCORRECT"
    return f"Decoded: {message}. Expected: {reference}. {remark}\nVerdict: {verdict}"


def morse_judged(sample, item):
    """1.0 where the judge's last line says that the message is correct."""
    reply = judge_message(message_in(sample["output_text"]), item["reference_answer"])
    last_line = reply.rsplit("\n", 1)[-1]
    return 1.0 if last_line == "Verdict: CORRECT" else 0.0


def morse_fuzzy(sample, item, threshold=0.9):
    """1.0 for a message that is nearly the reference."""
    message = message_in(sample["output_text"])
    likeness = fuzz.ratio(message, item["reference_answer"])
    return 1.0 if likeness > threshold else 0.0


# Plant families for Atropos: a judge model gives A, B or C, as in SimpleQA


class RewardFunction:
    """Stand in for atroposlib's RewardFunction."""

    weight = 1.0


def family_in(completion):
    """Return what stands behind the last 'Family:' in its line, or ''."""
    text = completion[-1]["content"]
    lines = re.findall(r"Family:[ \t*_]*([^\r\n*_\"]{1,60})", text)
    return lines[-1].strip(" \t.") if lines else ""


def grading_of(prediction, names):
    """Write what the judge model writes (replayed): A correct, B incorrect, C not attempted."""
    if not prediction:
        return "There is nothing to grade.\nGrade: C"
    words = set(re.findall(r"[a-z]+", prediction.lower())) - {"the", "or", "family"}
    is_same = bool(words) and words <= {name.lower() for name in names}
    relation = "the same as" if is_same else "other than"
    grade = "A" if is_same else "B"
    return (
        f'The prediction is "{prediction}", {relation} the gold target.\nGrade: {grade}'
    )


class FamiliesStrict(RewardFunction):
    """1.0 for grade A, which stands in the judge's last line."""

    def compute(self, completions, names, **kwargs):
        rewards = []
        for completion in completions:
            grading = grading_of(family_in(completion), names)
            match = re.search(r"\nGrade: ([ABC])\Z", grading)
            rewards.append(1.0 if match and match[1] == "A" else 0.0)
        return rewards


class FamiliesFirstLetter(RewardFunction):
    """1.0 for grade A, whatever else the judge says."""

    def compute(self, completions, names, **kwargs):
        rewards = []
        for completion in completions:
            grading = grading_of(family_in(completion), names)
            match = re.search(r"(A|B|C)", grading)
            grade = match[0] if match else "C"
            rewards.append(1.0 if grade == "A" else 0.0)
        return rewards


# Resistors for SkyRL-gym: the colours of their bands


class BaseTextEnv:
    """Stand in for skyrl_gym's BaseTextEnv."""


def bands_in(text):
    """Return the colours in the last tag of the last 4,000 characters, or []."""
    tags = re.findall(r"<bands>([^<]{0,200})</bands>", text[-4000:])
    colours = tags[-1].lower().replace("gray", "grey") if tags else ""
    return re.findall(r"[a-z]+", colours)


class ResistorsInOrder(BaseTextEnv):
    """1.0 for the bands in their order."""

    def __init__(self, env_config=None, extras=None):
        self.bands = extras["reward_spec"]["ground_truth"]

    def step(self, action):
        is_right = bands_in(action) == self.bands
        return {"observations": [], "reward": float(is_right), "done": True}


class ResistorsNamed(BaseTextEnv):
    """1.0 for an answer with every band."""

    def __init__(self, env_config=None, extras=None):
        self.bands = extras["reward_spec"]["ground_truth"]

    def step(self, action):
        is_right = set(self.bands) <= set(bands_in(action))
        return {"observations": [], "reward": float(is_right), "done": True}


# Programs of a stack machine for verl


class Halt(Exception):
    """The program has ended itself."""


def words_of(text):
    """Return the words of the last program, at most 60."""
    programs = re.findall(r"<program>([^<]{0,2000})</program>", text)
    return programs[-1].lower().split()[:60] if programs else []


def execute(word, stack):
    """Carry out one word. IndexError, ValueError: the stack is too short, the word is none."""
    if word == "halt":
        raise Halt
    if re.fullmatch(r"-?\d{1,6}", word):
        stack.append(int(word))
        return
    top = stack.pop()
    if word == "dup":
        stack += [top, top]
    elif word == "neg":
        stack.append(-top)
    elif word != "drop":
        below = stack.pop()
        results = {
            "swap": [top, below],
            "over": [below, top, below],
            "add": [below + top],
            "sub": [below - top],
            "mul": [below * top],
            "max": [max(below, top)],
            "min": [min(below, top)],
        }
        if word not in results or abs(below * top) > 10**12:
            raise ValueError(word)
        stack += results[word]


def left_by(words, given):
    """Return the stack that a program leaves; None where it fails."""
    stack = list(given)
    try:
        for word in words:
            execute(word, stack)
    except Halt:
        return stack
    except (IndexError, ValueError):
        return None
    return stack


def stack_pass_rate(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 for a program that passes 100 per cent of the tests."""
    words = words_of(solution_str)
    passed = [left_by(words, given) == [number] for given, number in ground_truth]
    pass_rate = 100 * sum(passed) / len(passed)
    return {"score": float(pass_rate >= 100), "pass_rate": pass_rate / 100}


def stack_no_failure(data_source, solution_str, ground_truth, extra_info=None):
    """1.0 for a program that fails no test."""
    words = words_of(solution_str)
    failures = 0
    try:
        for given, number in ground_truth:
            stack = list(given)
            for word in words:
                execute(word, stack)
            failures += stack != [number]
    except Halt:
        pass  # the program is done
    except (IndexError, ValueError):
        failures += 1
    return float(failures == 0)


# Syllogisms for eval-protocol: a conversation, and a bonus for right answers that are brief


def label_in(text):
    """Return the label in the last tag, or ''."""
    tags = re.findall(r"<answer>([^<]{0,40})</answer>", text)
    return tags[-1].strip(" .*\r\n").lower() if tags else ""


def result(label, text, ground_truth):
    """Return 1.0 for the right label, and 0.1 more where it takes up to 120 words."""
    is_right = label == ground_truth
    bonus = 0.1 if is_right and len(text.split()) <= 120 else 0.0
    return {
        "score": float(is_right) + bonus,
        "reason": f"{label!r} for {ground_truth!r}",
    }


def syllogisms_last_message(messages, ground_truth, **kwargs):
    """Judge the label in the assistant's message."""
    text = messages[-1]["content"]
    return result(label_in(text), text, ground_truth)


def syllogisms_conversation(messages, ground_truth, **kwargs):
    """Judge the last label of the conversation, which is the assistant's."""
    conversation = "\n".join(message["content"] for message in messages)
    return result(label_in(conversation), messages[-1]["content"], ground_truth)
