"""What users' functions print: three lines of it are shown, the first of the rest is in the run record."""

import json
import sys

import pytest
from scored import made, score

import rewardkit as rk
from rewardkit.scoring.printed import KEPT


def noisy(completion):
    print("judging", completion, "." * 20)
    return 1.0


def rows(count):
    return [{"prompt_id": f"p{at // 4}", "completion": f"{at}"} for at in range(count)]


@pytest.mark.parametrize("options", [{}, {"workers": 2}], ids=str)
def test_three_lines_are_shown_with_a_count_and_the_first_are_in_the_run_record(capfd, options):
    scores = score(noisy, rows=rows(800), **options)
    shown = capfd.readouterr()
    assert shown.out == ""
    lines = shown.err.splitlines()
    assert lines[0] == "the reward's functions printed 800 lines:"
    assert all(line.startswith("  judging ") for line in lines[1:4])
    assert lines[4:] == ["  ... 797 more"]
    printed = scores.run["printed"]
    assert printed["lines"] == 800 and len(printed["text"]) == KEPT
    if "workers" not in options:
        assert printed["text"].startswith(f"judging 0 {'.' * 20}\njudging 1 ")


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("\x1b[2Jred\ud800\n", ["printed 1 line:", r"  \x1b[2Jred\ud800"]),  # what controls a terminal
        ("x" * 5000, ["printed 1 line:", f"  {'x' * 117}..."]),
        ("a\nb\nc\nd\n", ["printed 4 lines:", "  a", "  b", "  c", "  ... 1 more"]),
    ],
)
def test_what_is_printed_is_shown_cut_and_escaped(capfd, text, lines):
    scores = score(lambda completion: bool(sys.stdout.write(text)) or True, rows=rows(1))
    shown = capfd.readouterr()
    assert shown.out == ""
    assert [line.removeprefix("the reward's functions ") for line in shown.err.splitlines()] == lines
    assert scores.run.get("printed", {}).get("text", "") == text
    json.dumps(scores.record).encode()


@pytest.mark.parametrize(("verb", "shown"), [("explain", 3), ("check", 3), ("probe", 0), ("mutants", 0)])
def test_every_verb_shows_three_lines_at_most(verb, shown, capfd):
    reward = made(lambda completion: print("judging\n" * 100) or 1.0)
    cases = [{"completion": "x", "ground_truth": "y", "reward": 1} for _ in range(3)]
    {
        "explain": lambda: rk.explain(reward, cases[0]),
        "check": lambda: rk.check(reward, cases, timeout=30.0),
        "probe": lambda: rk.probe(reward, cases, only="contract", search=0, budget=20),
        "mutants": lambda: rk.mutants(reward, cases),
    }[verb]()
    printed = capfd.readouterr()
    assert (printed.out, printed.err.count("judging")) == ("", shown)
