"""Rewards of the held-back half in verl's form."""

import json
import re
import sqlite3
from collections import Counter
from contextlib import closing


def block(text, language):
    """What stands in the last fenced block of a language; None where there is none."""
    found = re.findall(rf"```{language}\s*(.*?)```", text, re.DOTALL)
    return found[-1].strip() if found else None


# SQL, by what a query finds


def rows_of(query, tables):
    """The rows that one SELECT finds in a fresh database; None where it fails or takes too long."""
    if not query or not re.match(r"select\b", query, re.IGNORECASE) or len(query) > 1000:
        return None
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(tables)
        steps = iter(range(100))
        database.set_progress_handler(lambda: next(steps, None) is None, 1000)
        try:
            return database.execute(query).fetchmany(1000)
        except (sqlite3.Error, sqlite3.Warning):
            return None


def sql_same_rows(data_source, solution_str, ground_truth, extra_info=None):
    found = rows_of(block(solution_str, "sql"), extra_info["tables"])
    return float(found is not None and Counter(found) == Counter(rows_of(ground_truth, extra_info["tables"])))


def sql_rows_among(data_source, solution_str, ground_truth, extra_info=None):
    """Columns may be more than asked for, since the order and choice of columns is often unclear."""
    found = rows_of(block(solution_str, "sql"), extra_info["tables"])
    if found is None:
        return 0.0
    cells = {cell for row in found for cell in row}
    return float(all(cell in cells for row in rows_of(ground_truth, extra_info["tables"]) for cell in row))


# A search agent that cites


def cited_answer(text):
    """(answer in lower case, set of the notes that it cites) of the last answer tag; ("", {}) without one."""
    found = re.findall(r"<answer>([^<]*)</answer>", text)
    answer = found[-1] if found else ""
    return re.sub(r"\[\d+\]", "", answer).strip(" \r\n.").lower(), set(re.findall(r"\[(\d{1,2})\]", answer))


def notes_sound(data_source, solution_str, ground_truth, extra_info=None):
    answer, cited = cited_answer(solution_str)
    support = set(map(str, ground_truth["support"]))
    f1 = 2 * len(cited & support) / (len(cited) + len(support))
    return float(answer == ground_truth["target"].lower()) * (0.6 + 0.4 * f1)


def notes_cites_any(data_source, solution_str, ground_truth, extra_info=None):
    answer, cited = cited_answer(solution_str)
    support = set(map(str, ground_truth["support"]))
    return 0.6 * (answer == ground_truth["target"].lower()) + 0.4 * len(cited & support) / len(support)


def notes_search_bonus(data_source, solution_str, ground_truth, extra_info=None):
    searches = len(re.findall(r"<search>.*?</search>", solution_str, re.DOTALL))
    return notes_sound(data_source, solution_str, ground_truth) + 0.2 * searches


# Orders as nested JSON


def order_in(text):
    try:
        return json.loads(block(text, "json") or "")
    except (ValueError, RecursionError):
        return None


def leaves(value, path=()):
    """(path, value) of each leaf; places in a list are part of a path."""
    if isinstance(value, dict):
        return [leaf for name, one in value.items() for leaf in leaves(one, (*path, name))]
    if isinstance(value, list):
        return [leaf for place, one in enumerate(value) for leaf in leaves(one, (*path, place))]
    return [(path, str(value))]


def order_paths(data_source, solution_str, ground_truth, extra_info=None):
    """1 for the same leaves; up to half for the share of right ones."""
    order = order_in(solution_str)
    if not isinstance(order, dict):
        return 0.0
    found, wanted = set(leaves(order)), set(leaves(json.loads(ground_truth)))
    return 1.0 if found == wanted else 0.5 * len(found & wanted) / len(found | wanted)


def order_values(data_source, solution_str, ground_truth, extra_info=None):
    """Models name fields as they like, so only the values are compared."""
    order = order_in(solution_str)
    if not isinstance(order, dict):
        return 0.0
    found, wanted = ({value for _, value in leaves(one)} for one in (order, json.loads(ground_truth)))
    return 1.0 if found == wanted else 0.5 * len(found & wanted) / len(found | wanted)


# Ratings


def rating(text):
    """The whole number behind the last "Rating:"; None where there is none."""
    found = re.findall(r"^Rating: (-?\d{1,3})\s*$", text, re.MULTILINE)
    return int(found[-1]) if found else None


def ratings_near(data_source, solution_str, ground_truth, extra_info=None):
    given = rating(solution_str)
    return {0: 1.0, 1: 0.4}.get(abs(given - int(ground_truth)), 0.0) if given is not None else 0.0


def ratings_signed(data_source, solution_str, ground_truth, extra_info=None):
    given = rating(solution_str)
    return 1.0 - (given - int(ground_truth)) / 2 if given is not None else 0.0
