"""Subject: a prompt whose right answer is known, for which completions are written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewardkit.answers.formats import Format

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Subject:
    """A prompt that is probed: its row, the right answer, certainly wrong ones, and how they are written.

    `reference` is a completion that earns what a right answer can; `baseline` the same with the plainest
    wrong answer. Without a truth `answer` is None: `reference` is then the rollout that earns most, and
    `baseline` one that earns least. `siblings` are rows that stand beside an attempt where the reward looks
    at a whole group, `others` are right answers to other prompts. Of the answers that the completions of the
    prompt give in the same form, those that were paid are `told_right`, the others `told_wrong`. `worse` is
    how a completion of the prompt that is paid less states its answer, with its own reasoning.
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
    told_right: tuple[str, ...] = ()
    told_wrong: tuple[str, ...] = ()
    worse: Format | None = None

    @property
    def right(self) -> str:
        """The right answer, where there is one."""
        assert self.answer is not None
        return self.answer
