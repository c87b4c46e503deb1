"""Record the values that users' code compares by size.

A reward that asks whether a score from 0 to 1 is above 10 never pays for it, and no
completion shows why; the compared values do. The users' functions are compiled again
with a call in place of each comparison, and run on some rows.
"""

from __future__ import annotations

import ast
import operator
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from types import CodeType, FunctionType
from typing import Any

import numpy as np

from rewardkit.plain import is_number
from rewardkit.probes.code.constants import functions_behind
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.users_code import compile_codes, read_statement

LEAST_LIMIT = 5.0
"""Limit that is on another scale than a score from 0 to 1. Our choice."""
LEAST_SCORE = 0.5
"""Score from which it is no accident that the limit is not reached. Our choice."""
MOST_SECONDS = 1.0
"""Time in which rows are judged again. Our choice."""

RECORD_NAME = "_rewardkit_compare"
"""Name of the recording function in the globals of users' files."""

BY_SIZE: Mapping[type[ast.cmpop], Any] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
}


@dataclass(frozen=True)
class SizeComparison:
    """A comparison in a file, with the pairs of values that it compared.

    `rescales` says that it decides whether one of the values is divided or otherwise
    changed.
    """

    code: str
    place: str
    compare: Any
    rescales: bool
    pairs: list[tuple[Any, Any]] = field(default_factory=list)

    def record(self, first: Any, second: Any) -> Any:
        """Compare two values, and record them."""
        self.pairs.append((first, second))
        return self.compare(first, second)


def find_limit(
    reward: Reward, rows: Iterable[Mapping[str, Any]], functions: Iterable[Any]
) -> dict[str, Any]:
    """Find a comparison with a limit that a score from 0 to 1 never reaches.

    Args:
        reward: The reward.
        rows: Rows that it has judged before, so that it comes to an end.
        functions: The functions of the reward whose comparisons count.

    Returns:
        Its "code", its "place", the "limit" and the "largest" score; {} for none.
    """
    end = time.monotonic() + MOST_SECONDS
    with _record_comparisons(functions_behind(functions)) as comparisons:
        for row in rows:
            (reward.for_row(row) or reward)(**row)
            if time.monotonic() > end:
                break
    for item in comparisons:
        if not item.pairs or item.rescales:
            continue
        first, second = zip(*item.pairs, strict=True)
        for scores, limits in ((first, second), (second, first)):
            if _is_beyond(scores, limits):
                ends = {"limit": limits[0], "largest": max(scores)}
                return {"code": item.code, "place": item.place, **ends}
    return {}


def _is_beyond(scores: Sequence[Any], limits: Sequence[Any]) -> bool:
    """Return whether scores are from 0 to 1, and the limit is on another scale."""
    if not all(isinstance(value, float | np.floating) for value in scores):
        return False
    if not all(map(is_number, limits)):
        return False
    is_share = min(scores) >= 0 and LEAST_SCORE <= max(scores) <= 1
    return bool(is_share and min(limits) == max(limits) >= LEAST_LIMIT)


@contextmanager
def _record_comparisons(
    functions: Sequence[FunctionType],
) -> Iterator[list[SizeComparison]]:
    """Make functions record the values that they compare."""
    comparisons: list[SizeComparison] = []
    codes = [function.__code__ for function in functions]

    def record(at: int, first: Any, second: Any) -> Any:
        return comparisons[at].record(first, second)

    try:
        for function in functions:
            function.__code__ = _compile_recording(function, comparisons)
            function.__globals__[RECORD_NAME] = record
        yield comparisons
    finally:
        for function, code in zip(functions, codes, strict=True):
            function.__code__ = code
            function.__globals__.pop(RECORD_NAME, None)


def _compile_recording(
    function: FunctionType, comparisons: list[SizeComparison]
) -> CodeType:
    """Compile a function that records its comparisons; unchanged if that fails."""
    original, tree = function.__code__, read_statement(function)
    codes = compile_codes(tree, original)
    if original not in codes:
        return original
    file = Path(original.co_filename).name
    tree = ast.fix_missing_locations(_Recording(file, comparisons).visit(tree))
    code = compile_codes(tree, original)[codes.index(original)]
    return code if code.co_freevars == original.co_freevars else original


class _Recording(ast.NodeTransformer):
    """Puts calls in place of comparisons of two values by size."""

    def __init__(self, file: str, comparisons: list[SizeComparison]) -> None:
        self.file, self.comparisons = file, comparisons
        self.rescaling: set[int] = set()

    def visit_If(self, node: ast.If | ast.IfExp) -> ast.AST:
        """Note a comparison that decides whether one of its operands is changed."""
        if isinstance(node.test, ast.Compare):
            operands = {*map(ast.unparse, (node.test.left, *node.test.comparators))}
            body = node.body if isinstance(node, ast.If) else [node.body]
            for inner in chain.from_iterable(map(ast.walk, body)):
                match inner:
                    case ast.BinOp(left=operand) | ast.AugAssign(target=operand):
                        if ast.unparse(operand) in operands:
                            self.rescaling.add(id(node.test))
        return self.generic_visit(node)

    visit_IfExp = visit_If

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """Put a call in place of a comparison."""
        code, place = ast.unparse(node), f"Line {node.lineno} of {self.file}"
        rescales = id(node) in self.rescaling
        self.generic_visit(node)
        compare = BY_SIZE.get(type(node.ops[0]))
        if len(node.ops) > 1 or compare is None:
            return node
        at = ast.Constant(len(self.comparisons))
        self.comparisons.append(SizeComparison(code, place, compare, rescales))
        operands = [node.left, *node.comparators]
        call = ast.Call(ast.Name(RECORD_NAME, ast.Load()), [at, *operands], [])
        return ast.copy_location(call, node)
