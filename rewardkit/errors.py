"""What rewardkit raises for input that cannot be used.

One sentence with what was wrong, what was expected, what to do.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class InputError(ValueError):
    """Input that cannot be used. The command line prints the sentence and exits 2."""


class RolloutsError(InputError):
    """Rollouts that cannot be read, or that lack what is asked of them."""


class RewardError(InputError):
    """A reward that cannot be loaded or is not consistent in itself or with its columns."""


class CasesError(InputError):
    """A case file that cannot be read or speaks of what the reward does not have."""


class Cancelled(Exception):
    """Work that the `progress` it was given said to end; there is no result."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the nearest known name, else nothing."""
    near = get_close_matches(name, list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
