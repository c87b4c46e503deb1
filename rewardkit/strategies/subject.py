"""Subject: a prompt whose right answer is known, for which completions are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.answers.formats import Format

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Subject:
    """A prompt that is probed: its row, right and wrong answers, and their format.

    Attributes:
        rollout_id: The id of the row.
        columns: The row itself.
        prompt: The prompt as text.
        answer: The right answer, None where no truth is known.
        kind: The kind of the answer: one of `kinds.KINDS`, "list" or "prose".
        wrong: Certainly wrong answers of the same kind, the plainest first.
        format: How completions state the answer.
        reference: A completion that earns what a right answer can; without a truth the
            rollout that earns most.
        baseline: The reference with the plainest wrong answer; without a truth a
            rollout that earns least.
        part: The data source, or the part of a route.
        siblings: Rows beside an attempt where the reward looks at a whole group.
        others: Right answers to other prompts.
        paid_answers: Answers that completions of the prompt state in the same format,
            of which one at least was paid.
        unpaid_answers: The others of them.
        worse: How a completion of the prompt that is paid less states its answer, with
            its own reasoning.
    """

    rollout_id: Any
    columns: Row
    prompt: str
    answer: str | None
    kind: str
    wrong: tuple[str, ...]
    format: Format
    reference: str
    baseline: str
    part: str = ""
    siblings: tuple[Row, ...] = field(default=(), repr=False)
    others: tuple[str, ...] = ()
    paid_answers: tuple[str, ...] = ()
    unpaid_answers: tuple[str, ...] = ()
    worse: Format | None = None

    @property
    def right(self) -> str:
        """The right answer, where there is one."""
        assert self.answer is not None
        return self.answer
