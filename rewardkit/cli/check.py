"""`rewardkit check` and `rewardkit judge`: rewards and judges against written cases."""

from __future__ import annotations

import rewardkit as rk
from rewardkit.cli.command import CommandResult, Options, command
from rewardkit.cli.options import Integer, Number
from rewardkit.cli.output import recognised
from rewardkit.errors import did_you_mean
from rewardkit.findings import counted
from rewardkit.html.excerpts import LINE, one_line
from rewardkit.html.markup import aligned
from rewardkit.judges.report import judges_of
from rewardkit.rewards.load import find_reward
from rewardkit.scoring.check import components_of
from rewardkit.starting.stubs import TODO
from rewardkit.strategies.added_text import JUDGE_ATTACKS

MOST_MISSES_SHOWN = 15
MISS_COLUMNS = {"case": 28, "what": 16, "expected": 12, "got": 22, "why": 25}
"""Columns of the table of misses -> characters of each."""
MISS_ROW_WIDTH = 98
MISS_CHARACTERS = 600
"""Of the one miss that is told at length."""

# --- check


@command(
    "REWARD CASES --verbose --as --timeout --no-cache --json",
    {
        "--ignore NAME...": "Leave out what CASES say of this component, which REWARD "
        "does not have.",
        "--mutants": "List small changes of the reward that your cases do not catch.",
        "--rollouts ROLLOUTS": "With --mutants: try the changes on these completions, "
        "too.",
        "--write-cases FILE": "With --mutants: add the cases that would catch them to "
        "this file.",
    },
)
def check(options: Options) -> CommandResult:
    """Check REWARD against written CASES; exit 1 when one is missed.

    CASES is JSONL: a completion, what else the reward reads, and the reward or scores
    that it should get.

    Example:
      rewardkit check gallery:gsm8k gallery:gsm8k
    """
    cases = rk.load_cases(options.cases)
    names = components_of(cases)
    for name in options.ignore:
        if name not in names:
            raise rk.InputError(
                f"--ignore {name}: no case expects a score of such a component"
                f"{did_you_mean(name, names)}"
            )
    rows = [case.columns for case in cases]
    reward = rk.load_reward(options.reward, as_=options.as_, rollouts=rows)
    limit = options.time_limit(reward)
    result = rk.check(reward, cases, ignore=options.ignore, timeout=limit)
    record = {**result.record(), "origin": reward.origin}
    lines = recognised(reward.origin, verbose=options.verbose)
    lines += _result_lines(result, verbose=options.verbose)
    if options.mutants:
        mutated = rk.mutants(
            reward, cases, options.rollouts, ignore=options.ignore, timeout=limit
        )
        record["mutants"] = mutated.record()
        lines += ["", mutated.text(verbose=options.verbose)]
        if options.write_cases:
            record["cases_written"] = mutated.write_cases(options.write_cases)
            cases_written = counted(record["cases_written"], "case")
            lines.append(f"{cases_written} added to {options.write_cases}")
    return CommandResult(record, "\n".join(lines), 1 if result.misses else 0)


def _result_lines(result: rk.CheckResult, *, verbose: bool) -> list[str]:
    """Return the verdict, a row for each miss, and the first miss at length."""
    count = f"{result.passed} of {len(result.cases)} cases"
    lines = [f"{count} passed for {result.reward!r}"]
    misses = result.misses if verbose else result.misses[:MOST_MISSES_SHOWN]
    if misses:
        rows: list[tuple[str, ...]] = [tuple(MISS_COLUMNS)]
        for miss in misses:
            cells = []
            for name, characters in MISS_COLUMNS.items():
                cells.append(one_line(getattr(miss, name), characters))
            rows.append(tuple(cells))
        width = min(MISS_ROW_WIDTH, LINE.get())
        lines += ["", *(row[:width] for row in aligned(rows))]
        lines += ["", one_line(misses[0], MISS_CHARACTERS)]
    undecided = sum(case.why.startswith(TODO) for case in result.cases)
    if undecided:
        sentence = "are still marked TODO: they say"
        if undecided == 1:
            sentence = "is still marked TODO: it says"
        lines.append(
            f"{counted(undecided, 'case')} {sentence} what the reward gives, not what "
            "it should"
        )
    hidden = len(result.misses) - len(misses)
    if hidden:
        lines.append(f"and {hidden:,} more misses: --verbose")
    return lines


# --- judge


@command(
    "REWARD CASES --seed --no-cache --json",
    {
        "--component NAME": "Only this one.  [default: all that ask a model]",
        "--repeats N": (
            "How often each case is asked.",
            {"type": Integer(min=1), "default": 1},
        ),
        "--label COLUMN": ("The level or score of a case.", {"default": "label"}),
        "--no-attacks": "Do not try texts that speak to the judge.",
        "--fail-under KAPPA": (
            "Exit 1 where a kappa is lower, or none.",
            {"type": Number(-1, 1)},
        ),
    },
)
def judge(options: Options) -> CommandResult:
    """Hold judges of REWARD against CASES with labels.

    REWARD may be a judge by itself. A case has the columns that the judge reads, and as
    its label one of the judge's levels, a score in [0, 1], or true or false.

    Example:
      rewardkit judge gallery:judged_clarity gallery:judged_clarity
    """
    judge, attribute = find_reward(options.reward)
    names = [options.component]
    if options.component or not getattr(judge, "asks_model", False):
        judge = rk.load_reward(options.reward)
    if isinstance(judge, rk.Reward) and not options.component:
        names = judges_of(judge)
        if not names:  # the report says what it needs
            names = list(judge.names) if len(judge.names) == 1 else [None]
    records, texts, status = {}, [], 0
    for name in names:
        report = rk.judge_report(
            judge,
            options.cases,
            component=name,
            attacks={} if options.no_attacks else JUDGE_ATTACKS,
            **options.select("repeats label seed"),
        )
        title = name or attribute
        records[title] = report.record()
        texts.append(f"{title}\n{report!r}")
        least = options.fail_under
        if least is not None and not report.ratings.kappa.value >= least:
            status = 1
    return CommandResult({"judges": records}, "\n\n".join(texts), status)
