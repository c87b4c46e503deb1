"""The command line: `rewardkit score | check | diagnose | report | lab`.

Exit status: 0 done, 1 what was checked does not hold (or a report page failed), 2 input that cannot be used.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import click

import rewardkit as rk
from rewardkit.analysis.findings import SEVERITIES
from rewardkit.bundle import bundled
from rewardkit.calling import said
from rewardkit.evaluation import STATUSES
from rewardkit.limits import cannot_limit
from rewardkit.markup import aligned

TIMEOUT = 10.0
"""Seconds. Our choice: beyond what one completion's check should take, below what people wait for."""

REWARD = (
    "REWARD is file.py:name, package.module:name or gallery:module[.name]; "
    "the attribute `reward` where no name is given."
)


class OneLineGroup(click.Group):
    """A group whose commands end in one clear line, not a traceback, when their input cannot be used."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take ``--debug`` wherever it stands, behind the command too."""
        end = args.index("--") if "--" in args else len(args)
        others = [argument for argument in args[:end] if argument != "--debug"]
        return super().parse_args(ctx, ["--debug"] * (len(others) < end) + others + args[end:])

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; input that cannot be used ends with status 2."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            where = error.ctx.command_path if error.ctx else ctx.command_path
            click.echo(_printable(f"rewardkit: {error.format_message()} (see {where} --help)"), err=True)
            ctx.exit(2)
        except (rk.InputError, OSError, ModuleNotFoundError) as error:
            if ctx.params.get("debug"):
                traceback.print_exc()
            text = (
                f"{error.strerror}: {error.filename!r}"
                if isinstance(error, OSError) and error.filename
                else str(error)
            )
            click.echo(_printable(f"rewardkit: {' '.join(text.split())}"), err=True)
            ctx.exit(2)
        except (click.exceptions.Exit, click.ClickException, click.Abort):
            raise
        except Exception as error:
            if ctx.params.get("debug"):
                raise
            text = (
                f"{said(error)} (this should not happen: run it again with --debug and report what it shows)"
            )
            click.echo(_printable(f"rewardkit: {' '.join(text.split())}"), err=True)
            ctx.exit(2)


@click.group(cls=OneLineGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.version_option(package_name="reward-workbench", prog_name="rewardkit")
def main(debug: bool) -> None:
    """Design reward functions for LLM reinforcement learning, and find out what they would do."""


def _columns(ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for value in values:
        name, equals, source = value.partition("=")
        if not equals or not name or not source:
            raise click.BadParameter(f"{value!r} is not canonical=source, such as completion=text")
        pairs[name] = source
    return pairs


def _rollout_options(command: Callable[..., Any]) -> Callable[..., Any]:
    command = click.option(
        "--group",
        multiple=True,
        help="A column that makes groups; repeat for more. Default: prompt_id, policy, step, data_source.",
    )(command)
    return click.option(
        "--column",
        "columns",
        multiple=True,
        callback=_columns,
        metavar="NAME=SOURCE",
        help="Take a canonical column from another, such as completion=text.",
    )(command)


scaling_option = click.option(
    "--scale-rewards",
    type=click.Choice(["group", "batch", "none"]),
    default="group",
    show_default=True,
    help="The trainer's advantage scaling.",
)
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="Of the bootstrap.")
timeout_option = click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help=f"That one call of your own code may take; 0 for no limit.  [default: {TIMEOUT:g}]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object instead of text.")


def _limit(timeout: float | None, *rewards: rk.Reward) -> float | None:
    """The time limit that was asked for; else the default one, where the rewards can be scored under it."""
    if timeout is not None:
        return timeout or None
    why = next(filter(None, (cannot_limit(reward.functions) for reward in rewards)), None)
    if why:
        click.echo(_printable(f"rewardkit: no time limit: {' '.join(why.split())}"), err=True)
    return None if why else TIMEOUT


def _emit(record: Mapping[str, Any], text: str, as_json: bool) -> None:
    shown = json.dumps(_plain(record), ensure_ascii=True, allow_nan=False) if as_json else text
    click.echo(_printable(shown))


def _printable(text: str) -> str:
    """The text as every terminal can take it: lone surrogates as escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: Any) -> Any:
    """Values as JSON has them; a number that is not finite is null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | int | float | bool | None) else str(value)


@main.command("score", epilog=REWARD)
@click.argument("reward")
@click.argument("rollouts")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    help="A folder for scores.parquet and run.json.",
)
@_rollout_options
@timeout_option
@json_option
def score_command(
    reward: str,
    rollouts: str,
    output: Path | None,
    columns: dict[str, str],
    group: tuple[str, ...],
    timeout: float | None,
    as_json: bool,
) -> None:
    """Score every completion of ROLLOUTS (JSONL, Parquet or CSV) with REWARD."""
    with redirect_stdout(sys.stderr):  # what the user's code prints is not the result
        loaded = rk.load_reward(reward)
        read = rk.load_rollouts(rollouts, columns=columns, group=list(group) or None)
        started = time.perf_counter()
        progress = not as_json and sys.stderr.isatty()
        scores = rk.score(loaded, read, timeout=_limit(timeout, loaded), progress=progress)
        seconds = time.perf_counter() - started
    folder = scores.save(output) if output else None
    totals = {status: sum(counts[status] for counts in scores.counts.values()) for status in STATUSES}
    record = {
        "rows": len(scores),
        "scored": totals["scored"],
        "gated": totals["gated"],
        "abstained": totals["abstained"],
        "errors": totals["error"],
        "rewards_missing": scores.record["rewards_missing"],
        "seconds": round(seconds, 3),
        "output": str(folder) if folder else None,
        "components": scores.counts,
        "rollouts": read.summary(),
    }
    _emit(record, f"{read}\n{scores}" + (f"\nwritten to {folder}" if folder else ""), as_json)


@main.command("check", epilog=REWARD)
@click.argument("reward")
@click.argument("cases")
@timeout_option
@json_option
@click.pass_context
def check_command(ctx: click.Context, reward: str, cases: str, timeout: float | None, as_json: bool) -> None:
    """Check REWARD against the written CASES (JSONL); exit 1 when one is missed."""
    with redirect_stdout(sys.stderr):
        loaded = rk.load_reward(reward)
        result = rk.check(loaded, rk.load_cases(cases), timeout=_limit(timeout, loaded))
    _emit(result.record(), _check_text(result), as_json)
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


@main.command("diagnose")
@click.argument("scores")
@scaling_option
@seed_option
@click.option(
    "--fail-on",
    type=click.Choice(["warn", "high"]),
    help="Exit 1 when there is a finding of this severity or above.",
)
@json_option
@click.pass_context
def diagnose_command(
    ctx: click.Context, scores: str, scale_rewards: str, seed: int, fail_on: str | None, as_json: bool
) -> None:
    """Say what SCORES would do to training, and what could be changed.

    SCORES is the folder that `rewardkit score -o` wrote, or its Parquet file.
    """
    diagnosis = rk.diagnose(rk.load_scores(scores), scale_rewards=scale_rewards, seed=seed)
    advice = rk.suggest(diagnosis)
    _emit({**diagnosis.record(), "suggestions": advice.record()}, f"{diagnosis}\n\n{advice}", as_json)
    met = fail_on and diagnosis.worst and SEVERITIES.index(diagnosis.worst) <= SEVERITIES.index(fail_on)
    ctx.exit(1 if met else 0)


@main.command("report", epilog=REWARD)
@click.option(
    "--reward",
    "rewards",
    multiple=True,
    required=True,
    help="The reward; may be repeated for several in one report.",
)
@click.option(
    "--rollouts", required=True, help="A JSONL, Parquet or CSV file of completions, or gallery:name."
)
@click.option("--cases", help="A JSONL file of cases, or gallery:name.")
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("reports"),
    show_default=True,
    help="Folder for the pages.",
)
@scaling_option
@seed_option
@click.option("--single-file", is_flag=True, help="Put everything into index.html, one page to send.")
@click.option("--redact", is_flag=True, help="Leave out prompts and completions.")
@_rollout_options
@timeout_option
@json_option
@click.pass_context
def report_command(
    ctx: click.Context,
    rewards: tuple[str, ...],
    rollouts: str,
    cases: str | None,
    output: Path,
    scale_rewards: str,
    seed: int,
    single_file: bool,
    redact: bool,
    columns: dict[str, str],
    group: tuple[str, ...],
    timeout: float | None,
    as_json: bool,
) -> None:
    """Run the notebooks on a reward and its rollouts and write the pages; exit 1 when a notebook failed."""
    from rewardkit.notebook.report import report  # papermill takes seconds to import

    with redirect_stdout(sys.stderr):
        made = report(
            rewards,
            rollouts,
            output,
            cases=cases,
            columns=columns,
            group=group,
            scale_rewards=scale_rewards,
            seed=seed,
            timeout=_limit(timeout, *map(rk.load_reward, rewards)),
            single_file=single_file,
            redact=redact,
            progress=not as_json,
        )
    verdicts = {summary.name: summary.verdict[1] for summary in made.summaries}
    record = {
        "index": str(made.index),
        "summary": str(made.summary),
        "verdicts": verdicts,
        "failed": made.failed,
    }
    text = "\n".join(
        [
            *(f"{name}: {verdict}" for name, verdict in verdicts.items()),
            *(f"page failed: {line}" for line in made.failed),
            f"report: {made.index}",
        ]
    )
    _emit(record, text, as_json)
    ctx.exit(1 if made.failed else 0)


@main.command("lab", context_settings={"ignore_unknown_options": True})
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("rewardkit-notebooks"),
    show_default=True,
    help="Where the copy lies; made if missing, files that are there are kept.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def lab_command(folder: Path, arguments: tuple[str, ...]) -> None:
    """Open JupyterLab on a copy of the notebooks; ARGUMENTS, such as --no-browser, go to JupyterLab."""
    folder.mkdir(parents=True, exist_ok=True)
    for source in sorted(bundled("notebooks").glob("*.ipynb")):
        target = folder / source.name
        if not target.exists():
            target.write_bytes(source.read_bytes())
    raise SystemExit(
        subprocess.call(
            [sys.executable, "-m", "jupyter", "lab", *arguments], cwd=folder, env=dict(os.environ)
        )
    )


if __name__ == "__main__":
    main()
