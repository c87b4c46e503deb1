"""What users' functions print: three lines of it are shown, the first of the rest is in the run record."""

import io
import json
import os
import sys
import threading

import pytest
from scored import made, score

import rewardkit as rk
from rewardkit.scoring.printed import KEPT


def noisy(completion):
    print("judging", completion, "." * 20)
    return 1.0


def rows(count):
    return [{"prompt_id": f"p{at // 4}", "completion": f"{at}"} for at in range(count)]


@pytest.mark.parametrize("options", [{}, {"timeout": 30.0}, {"workers": 2}], ids=str)
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
        ("no end of line", ["printed 1 line:", "  no end of line"]),
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


def test_a_stream_has_what_the_real_one_has_and_what_a_function_does_to_it_ends_with_its_call(capfd):
    def takes(completion):
        sys.stdout.writelines(["a\n", "b\n"])
        has = sys.stdout.encoding and sys.stdout.buffer and sys.stdout.writable() and not sys.stdout.flush()
        if completion == "2":
            sys.stdout.close()
            sys.stdout = io.StringIO()
            os.chdir("/")
        return bool(has)

    before, folder = sys.stdout, os.getcwd()
    scores = score(takes, rows=rows(3))
    assert scores.score("c").tolist() == [1.0] * 3 and scores.run["printed"]["lines"] == 6
    assert sys.stdout is before and os.getcwd() == folder
    print("still here")
    assert capfd.readouterr().out == "still here\n"


def test_what_other_threads_print_meanwhile_is_theirs_and_the_streams_come_back(capfd):
    scoring, printed = threading.Barrier(3), threading.Event()
    before = sys.stdout, sys.stderr

    def waits(completion):
        if completion == "0":
            scoring.wait(30)
            assert printed.wait(30)
        print("of the reward")
        return 1.0

    runs = [threading.Thread(target=score, args=(waits,), kwargs={"rows": rows(2)}) for _ in range(2)]
    for run in runs:
        run.start()
    scoring.wait(30)
    print("of the notebook")
    printed.set()
    for run in runs:
        run.join()
    assert (sys.stdout, sys.stderr) == before
    shown = capfd.readouterr()
    assert shown.out == "of the notebook\n" and shown.err.count("printed 2 lines:") == 2


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
