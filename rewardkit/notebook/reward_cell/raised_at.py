"""RaisedAt: users' functions that say at which line of their file they raised."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from rewardkit.probes.contract.watching import Wrapped, wrapping
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.calls import line_of

__all__ = ["RAISED_AT", "placing"]

RAISED_AT = "RaisedAt: "
"""Before the line, in the reason of a row."""


class RaisedAt(Exception):
    """Raised in place of an error; its text is the line."""


@dataclass(frozen=True, repr=False)
class Placed(Wrapped):
    """A user's function that raises `RaisedAt` the innermost line of this `file` that an error came from."""

    file: str

    def __call__(self, *positional: Any, **keywords: Any) -> Any:
        """What the function gives."""
        try:
            answer = self.function(*positional, **keywords)
        except Exception as error:
            raise self._placed(error) from error
        return self._later(answer) if self.is_async else answer

    async def _later(self, answer: Any) -> Any:
        try:
            return await answer
        except Exception as error:
            raise self._placed(error) from error

    def _placed(self, error: Exception) -> Exception:
        line = line_of(error, self.file)
        return error if line is None else RaisedAt(line)


def placing(reward: Reward, file: str) -> Reward:
    """The reward with each of the user's functions saying at which line of this file it raised: `Placed`."""
    return wrapping(reward, lambda function: Placed(function, file))
