"""The table of speed says what was compared, by how much, and whether the aim is met."""

import pytest
from benches.table import Row, line

ROWS = [
    (
        Row("score", [3.0, 1.0, 2.4], "a loop", [2.0, 1.0, 2.0], aim=1.2),
        "| score | 2.4 s | a loop | 2 s | 1.2 (1 to 1.5) | 1.2 | met |",
        "the median of the runs is at the aim, the highest above",
    ),
    (
        Row("score", [1.21], "a loop", [1.0], aim=1.2),
        "| score | 1.21 s | a loop | 1 s | 1.21 | 1.2 | not met |",
        "just above the aim",
    ),
    (
        Row("start", [0.0004, 0.02, 1.6], aim=1.5),
        "| start | 20 ms |  |  |  | 1.5 s | met |",
        "no alternative: the aim is of the figure",
    ),
    (
        Row("disk", [1234.5], "the log", [0.000123], unit="MB"),
        "| disk | 1,234 MB | the log | 0.000123 MB | 10,036,585 |  |  |",
        "no aim: no verdict",
    ),
    (
        Row("wrong ones accepted", [0], "math-verify", [8], unit="pairs", aim=1 / 3),
        "| wrong ones accepted | 0 pairs | math-verify | 8 pairs | 0 | 0.333 | met |",
        "counts",
    ),
]


@pytest.mark.parametrize(("row", "expected", "why"), ROWS)
def test_a_row_says_what_was_compared_and_whether_the_aim_is_met(row, expected, why):
    assert line(row.cells(), markdown=True) == expected, why


def test_runs_that_do_not_pair_are_no_ratio():
    with pytest.raises(ValueError, match="shorter"):
        Row("score", [1.0, 2.0], "a loop", [1.0]).cells()
