"""`rewardkit check`, `judge`, `probe`, `review`: test rewards and judges."""

from __future__ import annotations

from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.accepting import accept_alarms, baseline_before
from rewardkit.cli.command import CommandResult, Options, command
from rewardkit.cli.options import Integer, Number, label_lines
from rewardkit.cli.output import added_text, recognised, write_text
from rewardkit.cli.update import (
    accept_named,
    ask_for_components,
    ask_for_updates,
    rename_components,
)
from rewardkit.errors import did_you_mean
from rewardkit.findings import counted
from rewardkit.history.runs_folder import KEPT_RUNS
from rewardkit.history.versions import note_figures
from rewardkit.html.markup import aligned
from rewardkit.judges.report import judges_of
from rewardkit.probes.options import CALL_TIMEOUT, FAMILIES
from rewardkit.probes.probe import alarms_from
from rewardkit.probes.review import LAST
from rewardkit.probes.subjects.log import rollouts_of, with_cases
from rewardkit.rewards.load import find_reward
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.scoring.case_updates import update_cases
from rewardkit.scoring.cases import append_cases, case_file
from rewardkit.scoring.check import components_of
from rewardkit.strategies import STRATEGIES
from rewardkit.strategies.added_text import JUDGE_ATTACKS

KEEP = "Note the result with the version of REWARD in the folder runs."

# --- check


@command(
    "REWARD CASES --training --address --verbose --as --timeout --no-cache --json",
    {
        "--keep": KEEP,
        "--ignore NAME...": "Ignore what CASES expect of this component, which REWARD "
        "does not have.",
        "--update": "Ask which cases to update to REWARD, and write those you accept.",
        "--accept NAME...": "Update this case, or all that miss this component (or "
        "reward), to what REWARD gives now, without a question.",
        "--rename OLD=NEW...": "Rename a component in CASES; NEW,NEW if it was split.",
        "--mutants": "List small changes of the reward that your cases do not catch.",
        "--rollouts ROLLOUTS": "With --mutants: try the changes on these completions, "
        "too.",
        "--write-cases FILE": "With --mutants: add the cases that would catch them to "
        "this file.",
        "--engine ray": "With --mutants: call your code on the nodes of a Ray cluster.",
    },
)
def check(options: Options) -> CommandResult:
    """Check REWARD against written CASES; exit 1 when one is missed.

    CASES is JSONL: a completion, what else the reward reads, and the reward or scores
    that it should get, as a number or a range; or two completions of a prompt, of which
    the one "above" is to get more than the one "below", or two that are "equal". A case
    whose "why" begins with TODO is undecided, and neither passes nor fails.

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
    timeout = options.timeout or None
    reward = options.read_reward(rollouts=rows, timeout=timeout)
    limit = options.time_limit(reward)
    result = rk.check(reward, cases, ignore=options.ignore, timeout=limit)
    lines = recognised(reward.origin, verbose=options.verbose)
    updated = _update_cases(options, reward, result, limit)
    if updated is not None:
        cases = rk.load_cases(options.cases)
        result = rk.check(reward, cases, ignore=options.ignore, timeout=limit)
        lines.append(f"{counted(updated, 'case')} updated in {options.cases}")
    record = {**result.record(), "origin": reward.origin}
    if updated is not None:
        record["updated"] = updated
    lines += [result.text(verbose=options.verbose), *_next_steps(result)]
    if options.keep:
        figures = {"cases": [result.passed, result.decided]}
        lines.append(_noted(reward, figures))
    if options.mutants:
        mutated = rk.mutants(
            reward,
            cases,
            options.rollouts,
            ignore=options.ignore,
            timeout=limit,
            engine=options.cluster,
        )
        record["mutants"] = mutated.record()
        lines += ["", mutated.text(verbose=options.verbose)]
        if options.write_cases:
            record["cases_written"] = mutated.write_cases(options.write_cases)
            lines.append(added_text(record["cases_written"], options.write_cases))
    return CommandResult(record, "\n".join(lines), int(not result.is_met))


def _update_cases(
    options: Options, reward: rk.Reward, result: rk.CheckResult, limit: float | None
) -> int | None:
    """Apply --rename, --accept and --update to the case file.

    Returns the number of changed cases, None without these options.
    """
    if not (options.update or options.accept or options.rename):
        return None

    def checked() -> rk.CheckResult:
        return rk.check(reward, path, ignore=options.ignore, timeout=limit)

    path = str(case_file(options.cases))
    accepted = accept_named(result, options.accept)
    changed = rename_components(reward, path, options.rename, limit)
    if options.update:
        changed += ask_for_components(reward, path, checked(), limit)
        accepted += ask_for_updates(checked())
    return changed + update_cases(path, accepted)


def _noted(reward: rk.Reward, figures: dict[str, Any]) -> str:
    """Note figures with the version of a reward; return a line that names it."""
    version = note_figures(reward, figures)
    line = f"noted with {version.name} in {KEPT_RUNS} (rewardkit runs)"
    if not len(rk.runs(KEPT_RUNS).select(version=version.name)):
        line = (
            f"noted with {version.name} in {KEPT_RUNS}, which lists it once it is "
            "scored: rewardkit score REWARD ROLLOUTS --keep"
        )
    return line


def _next_steps(result: rk.CheckResult) -> list[str]:
    """Say which options help with unknown components and undecided cases."""
    lines = []
    for name in [*result.unknown][:1]:
        lines.append(
            f"Next: --rename {name}=NEW takes cases over to its new name, --ignore "
            f"{name} leaves out what they say of it"
        )
    if result.undecided:
        lines.append("Decide with --update, which asks of each.")
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
            "Exit 1 if a kappa is lower, or missing.",
            {"type": Number(-1, 1)},
        ),
    },
)
def judge(options: Options) -> CommandResult:
    """Compare judges of REWARD with the labels of CASES.

    REWARD may itself be a judge. A case has the columns that the judge reads, and as
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
    records = {}
    texts = []
    status = 0
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


# --- probe

OTHER_FAMILIES = {
    "search": "a completion that is put together, wrong for certain and paid, as small "
    "as it goes",
    "calibration": "it fails, is the same everywhere, does not heed the truth, or pays "
    "much for the form",
    "contract": "it changes its arguments, depends on order or siblings, keeps state, "
    "is random, raises, leaves its range, or cannot be sent to another process",
}
"""Family of probes that is no list of attempts -> what it tests."""

EXPECTATIONS = {
    "wrong": "must not be paid",
    "right": "must be paid",
    "place": "must be paid wherever other text stands",
    "form": "must not be paid as the form is",
    "more": "must not be paid ever more",
    "back": "has to come back",
}
"""Expectation of a probe -> its words."""

NOTHING_PROBED = (
    "no prompt could be probed, so nothing says that the reward holds, and --fail-on "
    "exits with 1"
)


@command(
    "[REWARD] [ROLLOUTS] --label --primary --training --budget --leakage --seed "
    "--fail-on --baseline --accept --finding --until --address --verbose --as READING "
    "--json",
    {
        "--cases CASES": "Cases to probe from, beside ROLLOUTS or instead of it; not "
        "those of --write-cases.",
        "--only NAME...": "Run this family or probe only (see --list).",
        "--timeout SECONDS": (
            "Limit for one call of your code; a longer one is a finding.",
            {"default": CALL_TIMEOUT, "type": Number(min=0, min_open=True)},
        ),
        "--engine ray": "Call your code on the nodes of a Ray cluster.",
        "--expects-partial": "Accept a partial reward for a nearly right answer.",
        "--write-cases FILE": "Add cases that would catch the findings to this file.",
        "--keep": KEEP,
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
    cases = rk.load_cases(options.cases) if options.cases is not None else []
    rollouts = options.read_rollouts(options.rollouts)
    rollouts = rollouts_of(cases) if rollouts is None else with_cases(rollouts, cases)
    reward = options.read_reward(rollouts=rollouts, timeout=options.timeout)
    settings = options.select(
        "only label primary timeout budget leakage expects_partial seed"
    )
    with options.progress("probing") as progress:
        result = rk.probe(
            reward,
            rollouts,
            baseline=baseline_before(options),
            engine=options.cluster,
            progress=progress,
            **settings,
        )
    added, notes = _write_files(options, result)
    notes += label_lines(rollouts.possible_labels, options.label)
    if options.keep:
        notes.append(_noted(reward, {"exploits": len(result.alarms)}))
    (result,), accepted, baseline_notes = accept_alarms(options, [result])
    added |= accepted
    notes += baseline_notes
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
    """Add cases to the file of --write-cases; return the count, and a line on it."""
    added = {}
    notes = []
    if options.write_cases:
        added["cases_written"] = append_cases(options.write_cases, result.cases)
        notes.append(added_text(added["cases_written"], options.write_cases))
        codes = [finding.code for finding in result.alarms if not finding.cases]
        if codes:
            notes[-1] += (
                f"; none for {counted(len(codes), 'finding')} ({', '.join(codes)}), as "
                "nothing says which reward is due there"
            )
    return added, notes


def _list_families() -> CommandResult:
    """List the families and their probes."""
    families = []
    lines = ["Families of probes; name a family or a probe with --only", ""]
    for family in FAMILIES:
        description = OTHER_FAMILIES.get(family, "")
        lines.append(f"{family}: {description}" if description else family)
        probes = []
        rows = []
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


# --- review


@command(
    "REWARD ROLLOUTS --cases --folder --label --training --budget --seed --baseline "
    "--as READING --json",
    {
        "--against VERSION": (
            "A kept run (v2, a tag), or a folder of scores; last: the newest run of "
            "another definition under this name; none: nothing.",
            {"default": LAST},
        ),
        "--fail-on warn|high": (
            "Exit 1 when there is a finding of this severity or above.",
            {"default": "high"},
        ),
        "--timeout SECONDS": (
            "Limit for one call of your code.",
            {"default": CALL_TIMEOUT, "type": Number(min=0, min_open=True)},
        ),
        "--comment OUTPUT": "Write it into this file as Markdown, for a pull request.",
    },
)
def review(options: Options) -> CommandResult:
    """Check, probe and compare REWARD in one step, as CI does; exit 1 when it fails.

    It fails if a case is missed, a probe finds something that is not accepted, or the
    reward is worse than the last kept run of another definition.

    Example:
      rewardkit review gallery:arithmetic gallery:arithmetic --cases gallery:arithmetic
    """
    rollouts = rk.load_rollouts(options.rollouts, **options.reading)
    reward = options.read_reward(rollouts=rollouts, timeout=options.timeout)
    against = None if options.against == "none" else options.against
    settings = options.select(
        "cases folder baseline label training fail_on timeout budget seed"
    )
    result = rk.review(reward, rollouts, against=against, **settings)
    record = {**result.record(), "origin": reward.origin}
    if options.comment is not None:
        write_text(options.comment, result)
    return CommandResult(record, str(result), int(not result.passed))
