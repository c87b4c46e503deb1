"""`rewardkit check`: a reward against written cases."""

from __future__ import annotations

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
from rewardkit.cli.output import recognised
from rewardkit.errors import did_you_mean
from rewardkit.findings import counted
from rewardkit.html.excerpts import LINE, one_line
from rewardkit.html.markup import aligned
from rewardkit.scoring.cases import components_of
from rewardkit.starting.stubs import TODO

SHOWN, WIDTH = 15, 98  # misses that are shown, and characters of a line of them: a page
AT_LENGTH = 600  # characters of the one miss that is told at length
COLUMNS = {
    "case": 28,
    "what": 16,
    "expected": 12,
    "got": 22,
    "why": 25,
}  # characters of each


@command(
    "REWARD CASES --verbose --as --timeout --no-cache --json",
    {
        "--ignore NAME...": "Leave out what CASES say of this component, which REWARD does not have.",
        "--mutants": "List small changes of the reward that your cases do not catch.",
        "--rollouts ROLLOUTS": "With --mutants: try the changes on these completions, too.",
        "--write-cases FILE": "With --mutants: add the cases that would catch them to this file.",
    },
)
def check(options: Options) -> Answer:
    """Check REWARD against written CASES; exit 1 when one is missed.

    CASES is JSONL: a completion, what else the reward reads, and the reward or scores
    that it should get.

    Example:
      rewardkit check gallery:gsm8k gallery:gsm8k
    """
    cases = rk.load_cases(options.cases)
    spoken_of = components_of(cases)
    if unknown := [name for name in options.ignore if name not in spoken_of]:
        near = did_you_mean(unknown[0], spoken_of)
        raise rk.InputError(
            f"--ignore {unknown[0]}: no case expects a score of such a component{near}"
        )
    reward = rk.load_reward(
        options.reward, as_=options.as_, rollouts=[case.columns for case in cases]
    )
    limit = options.time_limit(reward)
    result = rk.check(reward, cases, ignore=options.ignore, timeout=limit)
    record = {**result.record(), "origin": reward.origin}
    lines = [
        *recognised(reward.origin, verbose=options.verbose),
        *_lines(result, options.verbose),
    ]
    if options.mutants:
        mutated = rk.mutants(
            reward, cases, options.rollouts, ignore=options.ignore, timeout=limit
        )
        record["mutants"] = mutated.record()
        lines += ["", mutated.text(verbose=options.verbose)]
        if options.write_cases:
            record["cases_written"] = mutated.write_cases(options.write_cases)
            lines.append(
                f"{counted(record['cases_written'], 'case')} added to {options.write_cases}"
            )
    return Answer(record, "\n".join(lines), 1 if result.misses else 0)


def _lines(result: rk.CheckResult, verbose: bool) -> list[str]:
    """Return the verdict, a row for each miss, and the first miss at length."""
    lines = [
        f"{result.passed} of {len(result.cases)} cases passed for {result.reward!r}"
    ]
    shown_misses = result.misses if verbose else result.misses[:SHOWN]
    if shown_misses:
        rows_of_cells = [
            [one_line(getattr(miss, name), most) for name, most in COLUMNS.items()]
            for miss in shown_misses
        ]
        rows = [tuple(COLUMNS), *rows_of_cells]
        lines += ["", *(one[: min(WIDTH, LINE.get())] for one in aligned(rows))]
        lines += ["", one_line(shown_misses[0], AT_LENGTH)]
    if undecided := sum(case.why.startswith(TODO) for case in result.cases):
        sentence = (
            "is still marked TODO: it says"
            if undecided == 1
            else "are still marked TODO: they say"
        )
        lines.append(
            f"{counted(undecided, 'case')} {sentence} what the reward gives, not what it should"
        )
    if left := len(result.misses) - len(shown_misses):
        lines.append(f"and {left:,} more misses: --verbose")
    return lines
