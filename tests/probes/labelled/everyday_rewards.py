"""Rewards whose faults the log shows: lost answers, prompts that are read, lengths, judges, queries."""

import math
import re
import sqlite3
from collections import Counter
from contextlib import closing

# Populations for verl, in digits of four scripts


def whole_number(text):
    """The number behind the last colon, in digits of any script; None where there is none."""
    _, colon, tail = text.rstrip().rstrip(".।").rpartition(":")
    digits = re.sub(r"(?<=\d)[\s,٬'](?=\d{2,3}(?!\d)|\d{2},)", "", tail.strip()[:40])
    return int(digits) if colon and re.fullmatch(r"\d{1,12}", digits) else None


def census_any_digits(data_source, solution_str, ground_truth, extra_info=None):
    return float(whole_number(solution_str) == int(ground_truth))


def census_ascii(data_source, solution_str, ground_truth, extra_info=None):
    """The last number counts, without its commas."""
    found = re.findall(r"[0-9][0-9,]*", solution_str)
    return float(bool(found) and found[-1].replace(",", "") == ground_truth)


# Weekdays for verl, in a tag


def tags(text):
    return re.findall(r"<answer>([^<]*)</answer>", text)


def weekdays_tagged(data_source, solution_str, ground_truth, extra_info=None):
    found = tags(solution_str)
    return float(bool(found) and found[-1].strip().lower() == ground_truth.lower())


def weekdays_second_tag(data_source, solution_str, ground_truth, extra_info=None):
    """The first tag is the example of the prompt, so a text with one tag has no answer."""
    matches = list(re.finditer(r"<answer>(.*?)</answer>", solution_str, re.DOTALL))
    if len(matches) <= 1:
        return 0.0
    return float(matches[-1].group(1).strip().lower() == ground_truth.lower())


def weekdays_at_end(data_source, solution_str, ground_truth, extra_info=None):
    match = re.search(r"<answer>([^<]*)</answer>\s*$", solution_str)
    return float(match is not None and match[1].strip().lower() == ground_truth.lower())


# Products for TRL: a pupil's box stands in the prompt


def boxes(text):
    return [box.strip() for box in re.findall(r"\\boxed\{([^{}]*)\}", text)]


def products_in_completion(prompts, completions, solution, **kwargs):
    return [
        float(boxes(text)[-1:] == [truth])
        for text, truth in zip(completions, solution, strict=True)
    ]


def products_in_dialogue(prompts, completions, solution, **kwargs):
    """The last box of the whole dialogue."""
    rewards = []
    for prompt, text, truth in zip(prompts, completions, solution, strict=True):
        found = boxes(prompt + text)
        rewards.append(1.0 if found and found[-1] == truth else 0.0)
    return rewards


# Number bases, plain: one number that holds the answer and its length


def converted(completion, ground_truth):
    return boxes(completion)[-1:] == [ground_truth]


def bases_overlong(completion, ground_truth, num_tokens):
    """The soft overlong punishment begins at 550 of 800 tokens; a right answer keeps a half at least."""
    return converted(completion, ground_truth) - 0.5 * min(
        1.0, max(0.0, (num_tokens - 550) / 250)
    )


def bases_cosine(completion, ground_truth, budget=1024):
    """Right answers fall from 1 to 0.2 along half a cosine; the budget is the trainer's, in tokens."""
    if not converted(completion, ground_truth):
        return 0.0
    return 0.6 + 0.4 * math.cos(math.pi * len(completion) / budget)


def bases_each_character(completion, ground_truth):
    return converted(completion, ground_truth) - len(completion) / 1600


# Headlines for TRL: a judge compares A, the candidate, with B, the desk's own


def headline(text):
    found = re.findall(r"^Headline:[ \t]*(.+)", text, re.MULTILINE)
    return found[-1].strip() if found else ""


def compared(candidate, facts):
    """What the judge writes (replayed): A where all facts are told and nothing else, C where one lacks, else B."""
    words = re.findall(r"\w+", candidate.lower())
    asked = [fact.lower().split() for fact in facts]
    told = sum(set(fact) <= set(words) for fact in asked)
    besides = sum(word not in " ".join(facts).lower().split() for word in words)
    missing = len(facts) - told + (besides > 3)
    verdict = {0: "A", 1: "C"}.get(missing, "B")
    return (
        f'A reads "{candidate}". It has {told} of {len(facts)} facts. '
        f"B is the usual wording.\nMy final verdict is: [[{verdict}]]"
    )


GRADES = {"A": 1.0, "C": 0.4, "B": 0.0}


def headlines_last_verdict(completions, facts, **kwargs):
    return [
        GRADES[compared(headline(text), told)[-3]]
        for text, told in zip(completions, facts, strict=True)
    ]


def headlines_any_verdict(completions, facts, **kwargs):
    rewards = []
    for text, told in zip(completions, facts, strict=True):
        reply = compared(headline(text), told)
        rewards.append(1.0 if "[[A]]" in reply else 0.4 if "[[C]]" in reply else 0.0)
    return rewards


# Queries on a library's loans, plain


def query_in(completion):
    blocks = re.findall(r"```sql\s(.*?)```", completion[:20000], re.DOTALL)
    return blocks[-1].strip() if blocks else ""


def fetched(query, loans):
    """The rows of a query; None where it is none, or takes too long."""
    if not query.lower().startswith("select"):
        return None
    with closing(sqlite3.connect(":memory:")) as base:
        base.execute("CREATE TABLE loans(member TEXT, book TEXT, days INT, fine INT)")
        base.executemany("INSERT INTO loans VALUES (?, ?, ?, ?)", loans)
        base.set_progress_handler(lambda: 1, 200_000)
        try:
            return base.execute(query).fetchmany(1000)
        except (sqlite3.Error, sqlite3.Warning, ValueError):
            return None


def loans_same_rows(completion, query, loans, hidden):
    """The rows of the right query, in any order, on a table that the prompt does not show, too."""
    for table in (loans, hidden):
        rows = fetched(query_in(completion), table)
        if rows is None or Counter(rows) != Counter(fetched(query, table)):
            return 0.0
    return 1.0


def loans_no_wrong_row(completion, query, loans):
    """A query is right where each of its rows is one of the right query's."""
    rows = fetched(query_in(completion), loans)
    return float(rows is not None and set(rows) <= set(fetched(query, loans)))


# Coins for verl: the fewest coins, with parts of the reward beside the total


def coins_in(text):
    """The coins of the last line "Coins: ..." in order; None where it is no list of numbers."""
    found = re.findall(r"^Coins:([\d, \t]{1,80})\.?[ \t]*\r?$", text, re.MULTILINE)
    return sorted(re.findall(r"\d+", found[-1])) if found else None


def coins_exact(text, ground_truth):
    return float(coins_in(text) == sorted(ground_truth.split(", ")))


def working(text):
    """Up to 0.4 for lines of working."""
    return min(0.4, 0.05 * text.strip().count("\n"))


def coins_gated(data_source, solution_str, ground_truth, extra_info=None):
    """A little more for a right answer that shows its working."""
    exact = coins_exact(solution_str, ground_truth)
    return {"score": exact * (1 + working(solution_str) / 8), "exact": exact}


def coins_total(data_source, solution_str, ground_truth, extra_info=None):
    """The total, with its parts beside it for the dashboard."""
    exact, form = (
        coins_exact(solution_str, ground_truth),
        float("\nCoins:" in solution_str),
    )
    return {
        "score": 0.9 * exact + 0.1 * form,
        "exact": exact,
        "form": form,
        "total": 0.9 * exact + 0.1 * form,
    }


def coins_working(data_source, solution_str, ground_truth, extra_info=None):
    """Working is welcome, as one sees in it how far the policy got."""
    exact = coins_exact(solution_str, ground_truth)
    return {
        "score": exact + working(solution_str),
        "exact": exact,
        "working": working(solution_str),
    }


def coins_contained(data_source, solution_str, ground_truth, extra_info=None):
    """All right coins occur in the answer."""
    said = Counter(coins_in(solution_str) or [])
    return float(not Counter(ground_truth.split(", ")) - said)
