"""`rewardkit probe`: what bad answers would earn of a reward, and what right ones would lose."""

from __future__ import annotations

from pathlib import Path

import click

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
from rewardkit.cli.options import Number
from rewardkit.cli.output import recognised
from rewardkit.findings import counted
from rewardkit.html.markup import aligned
from rewardkit.probes.baseline import accept
from rewardkit.probes.options import CALL_TIMEOUT, FAMILIES
from rewardkit.probes.probe import alarms_from
from rewardkit.probes.subjects.log import rollouts_of, with_cases
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.scoring.case_writing import append_cases
from rewardkit.strategies import STRATEGIES

OTHER_FAMILIES = {
    "search": "a completion that is put together, wrong for certain and paid, as small as it goes",
    "calibration": "it fails, is the same everywhere, does not heed the truth, or pays much for the form",
    "contract": "it changes its arguments, depends on order or siblings, keeps state, is random, raises, "
    "leaves its range, reads columns that it does not ask for, or cannot be sent to another process",
}
"""What the families say that are no lists of attempts."""

MUST = {
    "wrong": "must not be paid",
    "right": "must be paid",
    "form": "must not be paid as the form is",
    "mark": "must earn no more than without a mark",
    "more": "must not be paid ever more",
    "back": "has to come back",
}
"""What a probe expects, in words."""

UNPROBED = "no prompt could be probed, so nothing says that the reward holds, and --fail-on exits with 1"


@command(
    "[REWARD] [ROLLOUTS] --label --budget --leakage --seed --fail-on --baseline --verbose --as "
    "READING --json",
    {
        "--cases CASES": "Cases to probe from, beside ROLLOUTS or instead of it; not those of --write-cases.",
        "--only NAME...": "Run this family or probe only (see --list).",
        "--timeout SECONDS": (
            "Limit for one call of your code; a longer one is a finding.",
            {"default": CALL_TIMEOUT, "type": Number(min=0, min_open=True)},
        ),
        "--expects-partial": "Accept a partial reward for a nearly right answer.",
        "--accept REASON": "Add the findings of this run to the baseline, with this reason.",
        "--write-cases FILE": "Add cases that would catch the findings to this file.",
        "--list": "List the families and probes, and exit.",
    },
)
def probe(options: Options) -> Answer:
    """Try what a policy would find, and say where wrong answers are paid.

    Completions with a known verdict are made of ROLLOUTS, a log, and scored with
    REWARD. A finding is a wrong answer that is paid, a right one that is not, or a
    broken contract. The exit code is 0 unless --fail-on says otherwise.

    Example:
      rewardkit probe gallery:arithmetic.flawed gallery:arithmetic
    """
    if options.list:
        return _listed()
    if options.reward is None or (options.rollouts is None and options.cases is None):
        missing = "REWARD" if options.reward is None else "ROLLOUTS, or --cases"
        raise click.UsageError(f"missing argument {missing}")
    if options.reward == LOGGED_REWARD:
        raise click.UsageError(
            "the scores of a log cannot be probed, as nothing new can be scored; name the reward"
        )
    baseline = (
        options.baseline
        if options.accept is None or Path(options.baseline).exists()
        else None
    )
    cases = rk.load_cases(options.cases) if options.cases is not None else []
    rollouts = (
        rk.load_rollouts(options.rollouts, **options.reading)
        if options.rollouts is not None
        else None
    )
    rollouts = rollouts_of(cases) if rollouts is None else with_cases(rollouts, cases)
    reward = rk.load_reward(
        options.reward, as_=options.as_, rollouts=rollouts, timeout=options.timeout
    )
    settings = options.select("only label timeout budget leakage expects_partial seed")
    with options.progress("probing") as progress:
        result = rk.probe(
            reward, rollouts, baseline=baseline, progress=progress, **settings
        )
    added, notes = _added(options, result)
    if options.accept is not None:
        result = result.under_baseline(options.baseline)
    record = {**result.record(), **added, "origin": reward.origin}
    record["stale"] = [item.finding for item in result.stale]
    as_ = f", as_={options.as_!r}" if options.as_ else ""
    loaded = f"reward = rk.load_reward({options.reward!r}{as_})"
    findings_text = result.text(verbose=options.verbose)
    if options.verbose and result.alarms:
        findings_text += f"\n\nThe lines that show a finding are for {loaded}"
    text = "\n".join(
        [*recognised(reward.origin, verbose=options.verbose), findings_text, *notes]
    )
    error = UNPROBED if options.fail_on and result.is_unprobed else ""
    fails = error or (options.fail_on and alarms_from(result, options.fail_on))
    return Answer(record, text, int(bool(fails)), error)


def _added(
    options: Options, result: rk.ProbeResult
) -> tuple[dict[str, int], list[str]]:
    """Add to the files of --write-cases and --accept: how much, and a line on each."""
    added, notes = {}, []
    if options.write_cases:
        added["cases_written"] = append_cases(options.write_cases, result.cases)
        notes.append(
            f"{counted(added['cases_written'], 'case')} added to {options.write_cases}"
        )
        if bare := [item.code for item in result.alarms if not item.cases]:
            left = f"; none for {counted(len(bare), 'finding')} ({', '.join(bare)})"
            notes[-1] += f"{left}, as nothing says which reward is due there"
    if options.accept is not None:
        added["accepted"] = accept(
            options.baseline, result.alarms, options.accept, reward=result.reward.name
        )
        notes.append(
            f"{counted(added['accepted'], 'finding')} accepted in {options.baseline}"
        )
    return added, notes


def _listed() -> Answer:
    """List the families and their probes."""
    families = []
    lines = ["Families of probes; name a family or a probe with --only", ""]
    for family in FAMILIES:
        description = OTHER_FAMILIES.get(family, "")
        lines.append(f"{family}: {description}" if description else family)
        probes, rows = [], []
        for probe in STRATEGIES:
            if probe.family == family:
                rows.append((f"  {probe.name}", f"{probe.says}: {MUST[probe.expects]}"))
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
    return Answer({"families": families}, "\n".join(lines))
