"""Extraction of the letter of a multiple-choice answer."""

from __future__ import annotations

from dataclasses import dataclass

from rewardkit.primitives.extract.extractor import WHICH, Extractor, Span, Which
from rewardkit.primitives.extract.letters import check_options, named_letters
from rewardkit.primitives.factories import one_of, true_or_false

__all__ = ["choice"]


@dataclass(frozen=True, repr=False)
class Choice(Extractor):
    options: str = "ABCD"
    which: Which = "last"
    case: bool = True

    def __post_init__(self) -> None:
        one_of("which", self.which, WHICH)
        true_or_false(case=self.case)
        check_options(self.options, case=self.case)

    def occurrences(self, completion: str) -> list[Span]:
        named = named_letters(completion, self.options, case=self.case)
        return next((spans for spans in named if spans), [])


def choice(options: str = "ABCD", *, which: Which = "last", case: bool = True) -> Choice:
    r"""The letter of a multiple-choice answer; by default the last one.

    A letter that is announced, "answer is B", ``\boxed{B}``, 答案是B, "B is the answer", comes before one
    that is marked as a choice, "(B)", "option B", "B is right", and that before one that stands alone, "B.",
    "So B", "**B**". `letters.named_letters` has the rules, which `choice_equal` shares. "A" as an article and
    "I" as a pronoun are never the answer, nor is a letter that is denied, "not B", "B is wrong", or one of
    several, "A or B": a hedge takes back what came before it. Options count as they are written; with
    ``case=False`` an announced or marked "b" counts too (the value is then "b": compare with `choice_equal`).
    ValueError: fewer than two options, the same one twice, or an option is unknown.

    >>> choice()("A (small) one: 31 is larger. The answer is (B)."), choice()("A or B")
    ('B', None)
    >>> choice()("the answer is (b)"), choice(case=False)("the answer is (b)")
    (None, 'b')
    """
    return Choice(options, which, case)
