"""The two tasks of data/training: prompts, truths, and the styles of a base model.

A completion has the form `<think>...</think><answer>...</answer>`, or is one of the
ways in which a young policy falls short of it: no thought, a list of answers, a tag
that never closes, a fragment. Right and wrong differ otherwise in each task: a wrong
sum has another digit, a wrong row of brackets is mostly too short or too long.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

FILLERS = ("well ", "so ", "now ", "hmm ")
PAIRS = {"(": ")", "[": "]", "{": "}"}


@dataclass(frozen=True)
class Problem:
    """A prompt, its one right answer, and the thought that leads there."""

    prompt: str
    truth: str
    thought: str


def sum_of(low: int, high: int, random: Random) -> Problem:
    """Return a sum of two numbers of `low` to `high` digits, by columns."""
    first, second = (_number(random.randint(low, high), random) for _ in range(2))
    columns, carry = [], 0
    left, right = str(first)[::-1], str(second)[::-1]
    for place in range(max(len(left), len(right))):
        digits = [number[place] for number in (left, right) if place < len(number)]
        if carry:
            digits.append("1")
        total = sum(map(int, digits))
        columns.append(f"{'+'.join(digits)}={total}")
        carry = total // 10
    return Problem(f"{first}+{second}=", str(first + second), ",".join(columns))


def _number(digits: int, random: Random) -> int:
    return random.randint(10 ** (digits - 1), 10**digits - 1)


def brackets(low: int, high: int, random: Random) -> Problem:
    """Return `low` to `high` opening brackets, closed from the last to the first."""
    opened = "".join(random.choices([*PAIRS], k=random.randint(low, high)))
    closed = "".join(PAIRS[bracket] for bracket in reversed(opened))
    return Problem(f"{opened}=", closed, opened[::-1])


def wrong_sum(truth: str, random: Random) -> str:
    """Return the number with one digit changed."""
    place = random.randrange(len(truth))
    others = [digit for digit in "123456789" if digit != truth[place]]
    return truth[:place] + random.choice(others) + truth[place + 1 :]


def wrong_brackets(truth: str, random: Random) -> str:
    """Return the row cut short, prolonged, or with one bracket changed."""
    way = random.random()
    if way < 0.5:
        return truth[: random.randrange(len(truth))]
    if way < 0.75:
        return truth + random.choice([*PAIRS.values()])
    place = random.randrange(len(truth))
    others = [bracket for bracket in PAIRS.values() if bracket != truth[place]]
    return truth[:place] + random.choice(others) + truth[place + 1 :]


@dataclass(frozen=True)
class Task:
    """A kind of problem at its difficulties, and how a wrong answer is written."""

    name: str
    make: Callable[[int, int, Random], Problem]
    wrong: Callable[[str, Random], str]
    sizes: dict[str, tuple[int, int]]
    """Difficulty -> the least and the most digits or brackets."""

    def problems(self, difficulty: str, count: int, seed: int) -> list[Problem]:
        """Return `count` problems; the same seed gives the same ones."""
        random = Random(f"{self.name}:{difficulty}:{seed}")
        low, high = self.sizes[difficulty]
        return [self.make(low, high, random) for _ in range(count)]


TASKS = {
    task.name: task
    for task in (
        Task("sums", sum_of, wrong_sum, {"mixed": (1, 4), "hard": (3, 4)}),
        Task("brackets", brackets, wrong_brackets, {"mixed": (2, 9), "hard": (6, 11)}),
    )
}

STYLES = {  # name: (share of completions, share of wrong answers)
    "worked": (0.30, 0.70),
    "wordy": (0.14, 0.72),
    "empty thought": (0.12, 0.85),
    "direct": (0.16, 0.92),
    "list": (0.08, 0.85),
    "broken tag": (0.10, 0.85),
    "fragment": (0.10, 1.00),
}


def written(task: Task, problem: Problem, random: Random) -> str:
    """Return a completion in a style drawn by its share, wrong as often as it is."""
    shares = [share for share, _ in STYLES.values()]
    (style,) = random.choices([*STYLES], shares)
    is_wrong = random.random() < STYLES[style][1]
    answer = problem.truth
    if is_wrong:
        answer = task.wrong(answer, random)
    thought = problem.thought
    if is_wrong and random.random() < 0.5:
        thought = thought[: random.randrange(len(thought) + 1)]
    if style == "worked":
        return f"<think>{thought}</think><answer>{answer}</answer>"
    if style == "wordy":
        words = "".join(random.choices(FILLERS, k=random.randint(1, 6)))
        return f"<think>{words}{thought}</think><answer>{answer}</answer>"
    if style == "empty thought":
        return f"<think></think><answer>{answer}</answer>"
    if style == "direct":
        return f"<answer>{answer}</answer>"
    if style == "list":
        answers = [answer, *(task.wrong(problem.truth, random) for _ in range(2))]
        random.shuffle(answers)
        return f"<answer>{','.join(answers)}</answer>"
    if style == "broken tag":
        return random.choice(
            (f"<think>{thought}<answer>{answer}", f"{answer}</answer>", answer)
        )
    return "".join(random.choices(FILLERS, k=random.randint(0, 4)))
