"""Extraction by a regular expression of the user's own, with a bound on its time."""

from __future__ import annotations

from dataclasses import dataclass

from rewardkit.primitives.expressions import check_timeout, compiled
from rewardkit.primitives.extract.extractor import WHICH, Extractor, Span, Which, trim
from rewardkit.primitives.factories import one_of

__all__ = ["pattern"]


@dataclass(frozen=True, repr=False)
class Pattern(Extractor):
    expression: str
    group: int | str | None = None
    which: Which = "last"
    timeout: float = 1.0

    def __post_init__(self) -> None:
        one_of("which", self.which, WHICH)
        check_timeout(self.timeout)
        pattern = compiled(self.expression)
        known = [*range(pattern.groups + 1), *pattern.groupindex]
        if self.group is not None and (self.group not in known or isinstance(self.group, bool)):
            raise ValueError(f"pattern {self.expression!r} has no group {self.group!r}; it has {known}")

    def occurrences(self, completion: str) -> list[Span]:
        pattern = compiled(self.expression)
        group = self.group if self.group is not None else min(1, pattern.groups)
        matches = pattern.finditer(completion, timeout=self.timeout)
        try:
            spans = [match.span(group) for match in matches]
        except TimeoutError:
            raise TimeoutError(f"pattern {self.expression!r} took longer than {self.timeout:g} s") from None
        return [trim(completion, *span) for span in spans if span != (-1, -1)]


def pattern(
    expression: str, *, group: int | str | None = None, which: Which = "last", timeout: float = 1.0
) -> Pattern:
    r"""Text of a group of a regular expression: `group`, else the first group, else the whole match.

    By default the last.

    Runs on the `regex` engine, which gives up after `timeout` seconds: TimeoutError, so that the row's
    components end as ``error`` instead of being judged. ValueError at construction: the pattern does not
    compile or lacks the group.

    >>> pattern(r"total: (\d+)")("total: 3, total: 4")
    '4'
    """
    return Pattern(expression, group, which, timeout)
