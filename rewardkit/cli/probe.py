"""`rewardkit probe`: what bad answers would earn, and what right ones would lose."""

from __future__ import annotations

from pathlib import Path

import click

import rewardkit as rk
from rewardkit.cli.command import CommandResult, Options, command
from rewardkit.cli.options import Number
from rewardkit.cli.output import recognised
from rewardkit.findings import counted
from rewardkit.html.markup import aligned
from rewardkit.probes.baseline import accept
from rewardkit.probes.options import CALL_TIMEOUT, FAMILIES
from rewardkit.probes.probe import alarms_from
from rewardkit.probes.subjects.log import rollouts_of, with_cases
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.scoring.cases import append_cases
from rewardkit.strategies import STRATEGIES

OTHER_FAMILIES = {
    "search": "a completion that is put together, wrong for certain and paid, as small "
    "as it goes",
    "calibration": "it fails, is the same everywhere, does not heed the truth, or pays "
    "much for the form",
    "contract": "it changes its arguments, depends on order or siblings, keeps state, "
    "is random, raises, leaves its range, reads columns that it does not ask for, or "
    "cannot be sent to another process",
}
"""What the families say that are no lists of attempts."""

EXPECTATIONS = {
    "wrong": "must not be paid",
    "right": "must be paid",
    "form": "must not be paid as the form is",
    "mark": "must earn no more than without a mark",
    "more": "must not be paid ever more",
    "back": "has to come back",
}
"""What a probe expects, in words."""

NOTHING_PROBED = (
    "no prompt could be probed, so nothing says that the reward holds, and --fail-on "
    "exits with 1"
)


@command(
    "[REWARD] [ROLLOUTS] --label --budget --leakage --seed --fail-on --baseline "
    "--verbose --as "
    "READING --json",
    {
        "--cases CASES": "Cases to probe from, beside ROLLOUTS or instead of it; not "
        "those of --write-cases.",
        "--only NAME...": "Run this family or probe only (see --list).",
        "--timeout SECONDS": (
            "Limit for one call of your code; a longer one is a finding.",
            {"default": CALL_TIMEOUT, "type": Number(min=0, min_open=True)},
        ),
        "--expects-partial": "Accept a partial reward for a nearly right answer.",
        "--accept REASON": "Add the findings of this run to the baseline, with this "
        "reason.",
        "--write-cases FILE": "Add cases that would catch the findings to this file.",
        "--list": "List the families and probes, and exit.",
    },
)
def probe(options: Options) -> CommandResult:
    """Try what a policy would find, and say where wrong answers are paid.

    Completions with a known verdict are made of ROLLOUTS, a log, and scored with
    REWARD. A finding is a wrong answer that is paid, a right one that is not, or a
    broken contract. The exit code is 0 unless --fail-on says otherwise.

    Example:
      rewardkit probe gallery:arithmetic.flawed gallery:arithmetic
    """
    if options.list:
        return _list_families()
    if options.reward is None or (options.rollouts is None and options.cases is None):
        missing = "REWARD" if options.reward is None else "ROLLOUTS, or --cases"
        raise click.UsageError(f"missing argument {missing}")
    if options.reward == LOGGED_REWARD:
        raise click.UsageError(
            "the scores of a log cannot be probed, as nothing new can be scored; name "
            "the reward"
        )
    baseline = options.baseline
    if options.accept is not None and not Path(baseline).exists():
        baseline = None
    cases = rk.load_cases(options.cases) if options.cases is not None else []
    rollouts = options.read_rollouts(options.rollouts)
    rollouts = rollouts_of(cases) if rollouts is None else with_cases(rollouts, cases)
    reward = rk.load_reward(
        options.reward, as_=options.as_, rollouts=rollouts, timeout=options.timeout
    )
    settings = options.select("only label timeout budget leakage expects_partial seed")
    with options.progress("probing") as progress:
        result = rk.probe(
            reward, rollouts, baseline=baseline, progress=progress, **settings
        )
    added, notes = _write_files(options, result)
    if options.accept is not None:
        result = result.under_baseline(options.baseline)
    record = {**result.record(), **added, "origin": reward.origin}
    record["stale"] = [item.finding for item in result.stale]
    lines = recognised(reward.origin, verbose=options.verbose)
    lines.append(result.text(verbose=options.verbose))
    if options.verbose and result.alarms:
        as_ = f", as_={options.as_!r}" if options.as_ else ""
        code = f"reward = rk.load_reward({options.reward!r}{as_})"
        lines.append(f"\nThe lines that show a finding are for {code}")
    text = "\n".join([*lines, *notes])
    if not options.fail_on:
        return CommandResult(record, text)
    if result.is_unprobed:
        return CommandResult(record, text, 1, NOTHING_PROBED)
    return CommandResult(record, text, int(bool(alarms_from(result, options.fail_on))))


def _write_files(
    options: Options, result: rk.ProbeResult
) -> tuple[dict[str, int], list[str]]:
    """Add to the files of --write-cases and --accept; say how much, in a line each."""
    added, notes = {}, []
    if options.write_cases:
        added["cases_written"] = append_cases(options.write_cases, result.cases)
        cases_written = counted(added["cases_written"], "case")
        notes.append(f"{cases_written} added to {options.write_cases}")
        codes = [finding.code for finding in result.alarms if not finding.cases]
        if codes:
            notes[-1] += (
                f"; none for {counted(len(codes), 'finding')} ({', '.join(codes)}), as "
                "nothing says which reward is due there"
            )
    if options.accept is not None:
        added["accepted"] = accept(
            options.baseline, result.alarms, options.accept, reward=result.reward.name
        )
        accepted = counted(added["accepted"], "finding")
        notes.append(f"{accepted} accepted in {options.baseline}")
    return added, notes


def _list_families() -> CommandResult:
    """List the families and their probes."""
    families = []
    lines = ["Families of probes; name a family or a probe with --only", ""]
    for family in FAMILIES:
        description = OTHER_FAMILIES.get(family, "")
        lines.append(f"{family}: {description}" if description else family)
        probes, rows = [], []
        for probe in STRATEGIES:
            if probe.family == family:
                expectation = EXPECTATIONS[probe.expects]
                rows.append((f"  {probe.name}", f"{probe.says}: {expectation}"))
                probes.append(
                    {
                        "probe": probe.name,
                        "says": probe.says,
                        "expects": probe.expects,
                        "kinds": probe.kinds,
                    }
                )
        lines += aligned(rows)
        families.append({"family": family, "says": description, "probes": probes})
    return CommandResult({"families": families}, "\n".join(lines))
