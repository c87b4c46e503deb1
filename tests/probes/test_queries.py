"""Queries whose rows are compared in part, and prompts whose own query returns nothing."""

import itertools
import operator
import re
import sqlite3
from contextlib import closing

import pytest
from planted_probes import inside, probed, tags

ITEMS = [("lamp", 9), ("desk", 40), ("lamp", 12), ("sofa", 90), ("rug", 60)]


def run(query):
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("create table item (name text, price int)")
        base.executemany("insert into item values (?, ?)", ITEMS)
        try:
            return base.execute(query).fetchall()
        except sqlite3.Error:
            return None


def compared(are_right):
    def judged(completion, ground_truth):
        rows = run((inside(completion) or "").strip() or "none")
        if rows is None:
            return 0.0
        return are_right(rows, run(ground_truth)) or 0.1

    return judged


def in_any_order(rows, right):
    return sorted(rows) == sorted(right)


def share(rows, right):
    both = len({*rows} & {*right})
    return 2 * both / (len(rows) + len(right) or 1)


def queries(*prices):
    query = "SELECT name FROM item WHERE price > {} ORDER BY price".format
    rows = tags(*map(query, prices))  # a right and a wrong one each
    for place, row in enumerate(rows):
        price = prices[place // 2]
        row["prompt"] = f"Items above {price}, the cheapest first, in SQL."
    return rows


PRICES = queries(1, 2, 10, 20, 30)
WHAT = ("name", "price", "price + 1", "price * 2", "upper(name)", "name, price")
WHERE = (8, 10, 20, 50, 10, 20)
ROWS = tags(
    *map("SELECT {} FROM item WHERE price > {}".format, WHAT, WHERE), wrong="SELECT 0"
)
FIRST = tags(*map("SELECT {}, name FROM item WHERE price > {}".format, WHAT, WHERE))
REWARDS = {
    "lists": (operator.eq, PRICES, set()),
    "lists, one of them empty": (
        operator.eq,
        queries(1, 2, 500, 20),
        {"empty_truth_result"},
    ),
    "sorted lists": (in_any_order, ROWS, set()),
    "the share of rows": (share, ROWS, set()),
    "sets": (lambda rows, right: {*rows} == {*right}, PRICES, {"rows_twice"}),
    "all are there": (lambda rows, right: {*rows} >= {*right}, ROWS, {"rows_added"}),
    "the first": (lambda rows, right: rows[:1] == right[:1], ROWS, {"rows_added"}),
    "no others": (lambda rows, right: {*rows} <= {*right}, ROWS, {"empty_query"}),
    "some, no others": (
        lambda rows, right: rows != [] and {*rows} <= {*right},
        ROWS,
        {"rows_left_out"},
    ),
    "their number": (
        lambda rows, right: len(rows) == len(right),
        ROWS,
        {"values_left_out"},
    ),
    "the first column": (
        lambda rows, right: [row[0] for row in rows] == [row[0] for row in right],
        FIRST,
        {"values_left_out"},
    ),
}
CODES = {"empty_truth_result", "empty_query", "constant_query", "other_sorting"}
CODES |= {"rows_twice", "rows_added", "rows_left_out", "values_left_out"}


ASKED = {
    "Names of items above 20": "select name from item where price > 20",
    "The highest price": "select max(price) from item",
    "Items with an l": "select name, price from item where name like 'l%'",
    "The number of items": "select count(*) from item",
    "What costs 60": "select name from item where price = 60",
}


def test_queries_in_a_fence_behind_prose_are_tried_as_queries():
    """Each row of the result is right, so that a result without rows is paid."""
    fenced = re.compile(r"```sql\n(.*?)```", re.DOTALL)

    def subset(completion, ground_truth):
        match = fenced.search(completion)
        rows = run(match[1]) if match else None
        right = run(ground_truth)
        return float(rows is not None and all(row in right for row in rows))

    said = iter(
        itertools.permutations(["First", "look", "at", "each", "price", "then"])
    )
    rows = []
    for prompt, query in ASKED.items():
        for place in range(6):
            written = query if place % 2 else "select avg(price) from item"
            text = f"{' '.join(next(said))}.\n```sql\n{written}\n```"
            rows.append({"prompt": prompt, "completion": text, "ground_truth": query})
    result = probed(subset, rows, search=0)
    assert "empty_query" in {item.code for item in result.alarms}

    def whole(completion, ground_truth):
        match = fenced.search(completion)
        return float(match is not None and run(match[1]) == run(ground_truth))

    assert "empty_query" not in {
        item.code for item in probed(whole, rows, search=0).alarms
    }


def test_the_first_word_of_queries_stays_a_part_of_them():
    """All right completions begin with "select", and no truth is a query."""
    rows = []
    for prompt, query in ASKED.items():
        for written in (query, "none", query):
            row = {"prompt": prompt, "completion": written}
            rows.append({**row, "ground_truth": {"rows": run(query)}})

    def same_rows(completion, ground_truth):
        return float(run(completion) == [*map(tuple, ground_truth["rows"])])

    subjects = probed(same_rows, rows, search=0).calibration.subjects
    assert {subject.kind for subject in subjects} == {"code"}
    assert all(subject.right.startswith("select ") for subject in subjects)


@pytest.mark.parametrize(("are_right", "rows", "codes"), REWARDS.values(), ids=REWARDS)
def test_rows_are_to_be_compared_in_their_order_and_number(are_right, rows, codes):
    result = probed(compared(are_right), rows, search=0)
    assert len(result.calibration.subjects) >= 3, result.inconclusive
    alarms = {item.code for item in result.alarms}
    assert alarms & CODES == codes


@pytest.mark.parametrize(
    ("are_right", "rows", "is_lost"),
    [
        (operator.eq, ROWS, True),
        (in_any_order, ROWS, False),
        (operator.eq, PRICES, False),
    ],
    ids=["in their order", "sorted", "in the order that is asked for"],
)
def test_rows_in_another_order_than_that_of_a_query_without_one_are_right(
    are_right, rows, is_lost
):
    result = probed(compared(are_right), rows, search=0)
    rates = [item.evidence["rates"] for item in result["loses_notation"]]
    assert result.tried_probes and not result.alarms
    assert any("rows_turned" in names for names in rates) is is_lost


SUMS = ["name", "price", "max(price)", "min(price)", "count(*)", "sum(price)"]


@pytest.mark.parametrize(
    ("read", "codes"),
    [(run, set()), (lambda query: re.sub(r"\d+", "", query), {"other_constant"})],
    ids=["its rows are right", "numbers are not read"],
)
def test_a_query_on_several_lines_with_another_number_may_have_the_same_rows(
    read, codes
):
    rows = tags(
        *(
            f"SELECT {what}\nFROM item\nWHERE price > {13 + place}"
            for place, what in enumerate(SUMS)
        )
    )

    def same(completion, ground_truth):
        said = read(inside(completion) or "")
        return float(said is not None and said == read(ground_truth))

    alarms = {item.code for item in probed(same, rows, search=0).alarms}
    assert alarms & {"other_number", "other_constant"} == codes
