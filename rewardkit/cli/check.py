"""`rewardkit check`: a reward against written cases."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout

import click

import rewardkit as rk
from rewardkit.cli.group import main
from rewardkit.cli.options import REWARD, as_option, json_option, limit_for, no_cache_option, timeout_option
from rewardkit.cli.output import emit, recognised
from rewardkit.html.markup import aligned


@main.command("check", epilog=REWARD)
@click.argument("reward")
@click.argument("cases")
@as_option
@timeout_option
@click.option(
    "--mutants", is_flag=True, help="List small changes of the reward that your cases do not catch."
)
@click.option("--rollouts", metavar="FILE", help="With --mutants: try the changes on these completions, too.")
@no_cache_option
@json_option
@click.pass_context
def check_command(
    ctx: click.Context,
    reward: str,
    cases: str,
    as_: str | None,
    timeout: float | None,
    mutants: bool,
    rollouts: str | None,
    as_json: bool,
) -> None:
    """Check REWARD against the written CASES (JSONL); exit 1 when one is missed."""
    if rollouts is not None and not mutants:
        raise click.UsageError("--rollouts is for --mutants, which is not there; give both, or none")
    with redirect_stdout(sys.stderr):
        written = rk.load_cases(cases)
        loaded = rk.load_reward(reward, as_=as_, rollouts=[case.columns for case in written])
        limit = limit_for(timeout, loaded)
        result = rk.check(loaded, written, timeout=limit)
        changed = rk.mutants(loaded, written, rollouts, timeout=limit) if mutants else None
    record = {**result.record(), "origin": loaded.origin}
    text = "\n".join([*recognised(loaded.origin), _check_text(result)])
    if changed is not None:
        record, text = {**record, "mutants": changed.record()}, f"{text}\n\n{changed!r}"
    emit(record, text, as_json)
    ctx.exit(1 if result.misses else 0)


def _check_text(result: rk.CheckResult) -> str:
    lines = [f"{result.passed} of {len(result.cases)} cases passed for {result.reward!r}"]
    if result.misses:
        rows = [("case", "what", "expected", "got", "fields")]
        for miss in result.misses:
            fields = ", ".join(f"{name}={value!r}" for name, value in miss.fields.items())
            rows.append((miss.case, miss.what, str(miss.expected), str(miss.got), fields[:60]))
        lines += ["", *aligned(rows), ""]
        lines += [
            f"{miss.case}: {miss.completion[:300]!r} (truth {miss.ground_truth!r})"
            + (f": {miss.why}" if miss.why else "")
            for miss in result.misses
        ]
    return "\n".join(lines)
