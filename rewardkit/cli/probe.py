"""`rewardkit probe`: what bad answers would earn of a reward, and what right ones would lose."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import (
    REWARD,
    Integer,
    Number,
    as_option,
    baseline_option,
    budget_option,
    json_option,
    label_option,
    leakage_option,
    rollout_options,
)
from rewardkit.cli.output import emit, recognised
from rewardkit.findings import counted
from rewardkit.html.markup import aligned
from rewardkit.probes.probe import TIMEOUT, probe
from rewardkit.probes.results import rendering
from rewardkit.probes.results.asserting import met
from rewardkit.probes.results.baseline import Baseline, accept, load_baseline, stale, under_baseline
from rewardkit.probes.search.search import CALLS
from rewardkit.probes.strategies.families import FAMILIES, PROBES
from rewardkit.probes.subjects.cases import rollouts_of, with_cases
from rewardkit.rewards.recorded import LOGGED_REWARD
from rewardkit.scoring.case_writing import append_cases

OTHER_FAMILIES = {
    "search": "a completion that is put together, wrong for certain and paid, as small as it goes",
    "calibration": "it fails, is the same everywhere, does not heed the truth, or pays much for the form",
    "contract": "it changes its arguments, depends on order or siblings, keeps state, is random, raises, "
    "leaves its range, reads columns that it does not ask for, or cannot be sent to another process",
}
"""What the families say that are no lists of attempts."""


@main.command("probe", epilog=REWARD)
@click.argument("reward", required=False)
@click.argument("rollouts", required=False)
@click.option("--cases", metavar="FILE", help="Cases to probe from, beside ROLLOUTS or instead of it.")
@label_option
@click.option(
    "--only",
    multiple=True,
    metavar="NAME",
    help="Run this family or probe only (see --list); repeat for more.",
)
@click.option(
    "--timeout",
    type=Number(min=0, min_open=True),
    default=TIMEOUT,
    show_default=True,
    metavar="SECONDS",
    help="Time limit for one call of your code; a longer call is a finding.",
)
@budget_option
@leakage_option
@click.option(
    "--search",
    type=Integer(min=0),
    default=CALLS,
    show_default=True,
    metavar="N",
    help="Number of completions to build and try beyond the fixed list; 0 for none.",
)
@click.option("--expects-partial", is_flag=True, help="Accept a partial reward for a nearly right answer.")
@click.option(
    "--seed", type=Integer(min=0), default=0, show_default=True, help="Seed of the sample of prompts."
)
@click.option(
    "--fail-on",
    type=click.Choice(["warn", "high"]),
    help="Exit 1 when a finding of this severity or above is not accepted.",
)
@baseline_option
@click.option(
    "--accept",
    "reason",
    metavar="REASON",
    help="Add the findings of this run to the baseline, with this reason.",
)
@click.option(
    "--write-cases", "written", metavar="FILE", help="Add cases that would catch the findings to this file."
)
@click.option("--verbose", is_flag=True, help="Show all findings, with all examples.")
@click.option("--list", "as_list", is_flag=True, help="List the families and probes, and exit.")
@as_option
@rollout_options
@json_option
@click.pass_context
def probe_command(
    ctx: click.Context,
    reward: str | None,
    rollouts: str | None,
    cases: str | None,
    label: str | None,
    only: tuple[str, ...],
    timeout: float,
    budget: float,
    leakage: float,
    search: int,
    expects_partial: bool,
    seed: int,
    fail_on: str | None,
    baseline: str | None,
    reason: str | None,
    written: str | None,
    verbose: bool,
    as_list: bool,
    as_: str | None,
    reading: dict[str, Any],
    as_json: bool,
) -> None:
    """Try what a policy would find: completions with a known verdict, made of ROLLOUTS, scored with REWARD.

    ROLLOUTS is a JSONL, Parquet or CSV file, or what a trainer wrote. A finding is a wrong answer that is
    paid, a right one that is not, or a broken contract, with examples, the lines that show it and what to do.
    The exit code is 0 unless --fail-on says otherwise.
    """
    if as_list:
        emit(_listed(), _list_text(), as_json)
        return
    if reward is None or (rollouts is None and cases is None):
        raise click.UsageError(f"missing argument {'REWARD' if reward is None else 'ROLLOUTS, or --cases'}")
    if reward == LOGGED_REWARD:
        raise click.UsageError(
            "the scores of a log cannot be probed, as nothing new can be scored; name the reward"
        )
    if reason is not None and not baseline:
        raise click.UsageError("--accept writes into a baseline; name its file with --baseline FILE")
    known = _baseline(baseline, reason)
    with redirect_stdout(sys.stderr):  # what the user's code prints is not the result
        read = _read(rollouts, cases, reading)
        loaded = rk.load_reward(reward, as_=as_, rollouts=read, timeout=timeout)
        result = probe(
            loaded,
            read,
            label=label,
            only=only or None,
            timeout=timeout,
            budget=budget,
            leakage=leakage,
            search=search,
            expects_partial=expects_partial,
            seed=seed,
            baseline=known,
        )
    notes = []
    record: dict[str, Any] = {"origin": loaded.origin}
    if written:
        record["cases_written"] = append_cases(written, result.cases)
        notes.append(f"{counted(record['cases_written'], 'case')} added to {written}")
    if reason is not None and baseline:
        record["accepted"] = accept(baseline, result.alarms, reason, reward=result.reward.name)
        notes.append(f"{counted(record['accepted'], 'finding')} accepted in {baseline}")
        result = under_baseline(result, load_baseline(baseline))
    record["stale"] = [item.finding for item in stale(result)]
    shown = rendering.text(result, verbose=verbose, loaded=_loading(reward, as_))
    lines = [*recognised(loaded.origin), shown, *notes]
    emit({**result.record(), **record}, "\n".join(lines), as_json)
    ctx.exit(1 if fail_on and met(result, fail_on) else 0)


def _read(rollouts: str | None, cases: str | None, reading: dict[str, Any]) -> rk.Rollouts:
    """The rollouts, with the completions of the cases behind them, or these alone."""
    written = rk.load_cases(cases) if cases is not None else []
    if rollouts is None:
        return rollouts_of(written)
    return with_cases(rk.load_rollouts(rollouts, **reading), written)


def _baseline(path: str | None, reason: str | None) -> Baseline | None:
    """The baseline of a file; none yet where the file is to be made."""
    if path is None or (reason is not None and not Path(path).exists()):
        return None
    return load_baseline(path)


def _loading(reward: str, as_: str | None) -> str:
    """The line of Python that gives the reward."""
    return f"reward = rk.load_reward({reward!r}{f', as_={as_!r}' if as_ else ''})"


def _listed() -> dict[str, Any]:
    """The families and their probes, as plain data."""
    families = [
        {
            "family": family,
            "says": OTHER_FAMILIES.get(family, ""),
            "probes": [
                {"probe": item.name, "says": item.says, "expects": item.expects, "kinds": list(item.kinds)}
                for item in PROBES
                if item.family == family
            ],
        }
        for family in FAMILIES
    ]
    return {"families": families}


MUST = {
    "wrong": "must not be paid",
    "right": "must be paid",
    "form": "must not be paid as the form is",
    "mark": "must earn no more than without a mark",
    "more": "must not be paid ever more",
    "back": "has to come back",
}


def _list_text() -> str:
    lines = ["Families of probes; name a family or a probe with --only", ""]
    for family in FAMILIES:
        lines.append(f"{family}: {OTHER_FAMILIES[family]}" if family in OTHER_FAMILIES else family)
        rows = [
            (f"  {item.name}", f"{item.says}: {MUST.get(item.expects, item.expects)}", ", ".join(item.kinds))
            for item in PROBES
            if item.family == family
        ]
        lines += aligned(rows) if rows else []
    return "\n".join(lines)
