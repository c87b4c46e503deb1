"""`rewardkit diagnose`, `whatif`, `forecast`, `compare`, `suspect`: analyse scores."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import click

import rewardkit as rk
from rewardkit.analysis.comparison.sides import keep_outlook
from rewardkit.analysis.context import read_label, unpaid_labels
from rewardkit.cli.accepting import accept_alarms, baseline_before
from rewardkit.cli.command import CommandResult, Options, command
from rewardkit.cli.options import Integer, label_lines
from rewardkit.cli.output import say
from rewardkit.findings import SEVERITIES, counted
from rewardkit.history.parts import holds_scores, is_scored
from rewardkit.history.runs import find_run, load_version
from rewardkit.html.pages import Page
from rewardkit.plain import Plain, Record
from rewardkit.primitives.gates import Gate
from rewardkit.rollouts.csv_rows import cell_number
from rewardkit.rollouts.file_cache import FileCache
from rewardkit.rollouts.load import logger
from rewardkit.rollouts.paths import GALLERY_PREFIX, write_whole
from rewardkit.rollouts.values import column_values

# --- scores


class LoadedScores(NamedTuple):
    """Scores, with entries for the JSON record (`about`) and a first text (`head`).

    These describe the log whose recorded scores they are.
    """

    scores: rk.Scores
    about: Plain = MappingProxyType({})
    head: str = ""

    def result(self, record: Plain, text: object, status: int = 0) -> CommandResult:
        """Return a command's result, with the description of the scores added."""
        return CommandResult({**record, **self.about}, f"{self.head}{text}", status)


def scored_or_logged(options: Options, cache: FileCache | None = None) -> LoadedScores:
    """Return the scores of a folder or Parquet file, or of a log.

    InputError: neither of these, or options for reading a log with a scored folder;
    --label names no label, which a run that is followed may yet have.
    """
    source = _read_source(options, cache)
    scores = source.scores
    column = scores.rollouts.label_column(options.label)
    if column in scores.table and cache is None:
        values = column_values(scores.table[column])
        labels, why = read_label(values, options.label, may_be_one=True)
        if labels is None:
            raise rk.InputError(f"the label {why}")
    task = getattr(options, "primary", None)
    if task is not None:
        scores = replace(scores, reward=scores.reward.with_task(task))
    step = getattr(options, "at_step", None)
    if step is not None:
        scores = scores.at(step)
    return source._replace(scores=scores)


def _read_source(options: Options, cache: FileCache | None) -> LoadedScores:
    path = options.scores
    if is_scored(path) and not path.startswith(GALLERY_PREFIX):
        if options.typed.keys() & {"log_weights", *options.reading}:
            raise rk.InputError(
                f"{path!r} is scored already; options for reading a log are for the "
                "log itself, or for 'rewardkit score'"
            )
        scores = rk.load_scores(path, cache=cache)
        cautions = scores.rollouts.cautions
        return LoadedScores(scores, {"cautions": cautions} if cautions else {})
    with _hold_notes(is_shown=cache is None and not options.json):
        log = rk.load_rollouts(path, **options.reading, cache=cache)
        scores = rk.score(rk.recorded(log, options.log_weights), log)
    return LoadedScores(scores, {"rollouts": log.summary()}, f"{log}\n\n")


@contextmanager
def _hold_notes(*, is_shown: bool) -> Iterator[None]:
    """Keep notes on a log from stderr where its description shows them.

    They are logged after all where the log cannot be used, as it is then not described.
    """
    records: list[logging.LogRecord] = []

    def hold(note: logging.LogRecord) -> bool:
        records.append(note)
        return not is_shown

    logger.addFilter(hold)
    try:
        yield
    except BaseException:
        logger.removeFilter(hold)
        for note in records if is_shown else ():
            logger.handle(note)
        raise
    logger.removeFilter(hold)


def with_reward(scores: rk.Scores, name: str | None, path: str) -> rk.Scores:
    """Return the scores with the named reward, which has functions to run.

    InputError: the scores are of another reward.
    """
    if name is None:
        return scores
    reward = rk.load_reward(name, rollouts=scores.rollouts)
    scored_hash = scores.reward.record()["fingerprints"]["reward"]
    reward_hash = reward.record()["fingerprints"]["reward"]
    if scored_hash != reward_hash:
        raise rk.InputError(
            f"{name!r} is not the reward that {path!r} was scored with (fingerprint "
            f"{reward_hash} here, {scored_hash} there); name that one, or score again"
        )
    return replace(scores, reward=reward)


def fail_status(worst: str | None, fail_on: str | None) -> int:
    """Return the exit status: 1 if the worst finding is at least `fail_on`."""
    if not fail_on or not worst:
        return 0
    return int(SEVERITIES.index(worst) <= SEVERITIES.index(fail_on))


# --- diagnose


@command(
    "SCORES --training --label --primary --at-step --by --seed --fail-on --baseline "
    "--accept --finding --until --verbose READING --log-weight --json"
)
def diagnose(options: Options) -> CommandResult:
    """Say what SCORES would do to training, and what to change.

    For a run with several steps it first gives the verdict on the run, as `monitor`.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o flawed
      rewardkit diagnose flawed
    """
    source = scored_or_logged(options)
    settings = options.select("training label seed")
    settings["baseline"] = baseline_before(options)
    watched = _watch_run(source.scores, settings)
    with options.progress("diagnosing") as progress:
        diagnosis = rk.diagnose(
            source.scores, progress=progress, by=options.by, **settings
        )
    results: list[Any] = [diagnosis] if watched is None else [diagnosis, watched]
    (diagnosis, *others), accepted, lines = accept_alarms(options, results)
    suggestions = rk.suggest(diagnosis)
    page = diagnosis.page()
    pages = [page, suggestions.page(path=options.scores)]
    record = {
        **diagnosis.record(),
        **accepted,
        "suggestions": suggestions.record(),
        "notes": suggestions.notes,
    }
    severities = [diagnosis.worst]
    for watched in others:
        title = f"All steps as one batch, whatever became of the run: {page.title}"
        as_one = replace(page, title=title)
        pages[:1] = [watched.first_page(options.scores), as_one]
        record["monitor"] = watched.record()
        severities.append(watched.worst)
    lines += label_lines(unpaid_labels(source.scores), options.label)
    texts = [page.text(verbose=options.verbose) for page in pages]
    text = "\n\n".join([*texts, *lines])
    status = max(fail_status(worst, options.fail_on) for worst in severities)
    return source.result(record, text, status)


# --- whatif

GATE_FORM = "NAME=none or NAME=OTHER>=NUMBER (or <=, ==), such as 'concise=correct>=1'"
GATE_CONDITION = re.compile(
    r"\s*([^=<>]+?)\s*=\s*(?:none|([^=<>]+?)\s*(>=|<=|==)\s*([^=<>]*[^=<>\s]))\s*",
    re.IGNORECASE,
)
GATE_LIMITS = {">=": "at_least", "<=": "at_most", "==": "equals"}


def read_gates(
    ctx: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, Gate | None]:
    """Return the gate of each component, None for no gate.

    Several conditions of a component on the same column become one gate.
    """
    limits_of: dict[str, Record] = {}
    for value in values:
        match = GATE_CONDITION.fullmatch(value)
        if match is None:
            raise click.BadParameter(f"{value!r} is not {GATE_FORM}")
        name, on, sign, text = match.groups()
        limits = limits_of.setdefault(name, {"on": on})
        if limits["on"] != on:
            both = f"{limits['on'] or 'none'!r} and {on or 'none'!r}"
            raise click.BadParameter(f"{name!r} has one gate; {both} are two")
        if on is not None:
            number = cell_number(text)
            if number is None and sign != "==":
                raise click.BadParameter(
                    f"{value!r} compares with {text!r}, which is no number"
                )
            limits[GATE_LIMITS[sign]] = text if number is None else number
    gates = {}
    try:
        for name, limits in limits_of.items():
            gates[name] = rk.gate(**limits) if limits["on"] else None
    except ValueError as error:
        raise click.BadParameter(str(error)) from None
    return gates


@command(
    "SCORES --training --label --seed --verbose READING --log-weight --json",
    {
        "--weight weights NAME=NUMBER...": "New weight of a component.",
        "--gate gates NAME=CONDITION...": (
            "New gate: 'concise=correct>=1' (or <=, ==), or concise=none.",
            {"callback": read_gates},
        ),
        "--reward REWARD": "The reward that wrote SCORES, to score the rows that a new "
        "gate opens.",
    },
)
def whatif(options: Options) -> CommandResult:
    """Diagnose SCORES under other weights, gates or settings.

    Nothing is scored, unless --reward names the reward: rows that a gate would open are
    missing, and counted. Without a new weight or gate, the settings of the trainer are
    compared with TRL's.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o flawed
      rewardkit whatif flawed --weight detail=0
    """
    is_changed = bool(options.weights or options.gates)
    if not is_changed and "training" not in options.typed:
        raise rk.InputError(
            "nothing is to be another; give --weight, --gate or --training"
        )
    source = scored_or_logged(options)
    scores = with_reward(source.scores, options.reward, options.scores)
    training = options.training if is_changed else rk.Training()
    before = rk.diagnose(
        scores, training=training, label=options.label, seed=options.seed
    )
    outcome = rk.whatif(
        before,
        **options.select("weights gates training"),
        run=options.reward is not None,
    )
    about_run, record = _judge_run(scores, options)
    text = f"{about_run}{outcome.text(verbose=options.verbose)}"
    return source.result(outcome.record() | record, text)


def _watch_run(scores: rk.Scores, settings: Record) -> rk.Monitor | None:
    """Return the verdict on the run of a log, None where it has no steps."""
    return rk.monitor(scores, **settings) if scores.has_steps else None


def _judge_run(scores: rk.Scores, options: Options) -> tuple[str, Record]:
    """Return the verdict on the run of a log, as text if it has alarms, and as record.

    It is shown before a rehearsal, whose result may be different.
    """
    watched = _watch_run(scores, options.select("training label seed"))
    if watched is None:
        return "", {"run": None}
    record: Record = {"run": {"verdict": watched.verdict, "since": watched.since}}
    if not watched.alarms:
        return "", record
    note = "The rehearsal below begins as the run did, and may not come to that."
    page = Page(f"The run itself: {watched.verdict}", [watched.sentence, note])
    return f"{page.text()}\n\n", record


# --- forecast

PICTURES = (".png", ".svg", ".pdf")


@command(
    "SCORES --label --training --seed READING --log-weight --json",
    {
        "--reward REWARD": "The reward that wrote SCORES, to call it on longer "
        "completions than the log has.",
        "--plot OUTPUT": f"Draw the curves into this file ({', '.join(PICTURES)}).",
    },
)
def forecast(options: Options) -> CommandResult:
    """Say what training would make of SCORES: whether the task rises, and what grows.

    The training is rehearsed with the completions of the log, and with longer ones if
    --reward names the reward. The outlook of a kept run is kept with it.

    Example:
      rewardkit score gallery:arithmetic gallery:arithmetic -o run1
      rewardkit forecast run1
    """
    path = options.plot
    if path is not None and path.suffix.lower() not in PICTURES:
        raise rk.InputError(
            f"{str(path)!r} is no picture; its name ends with {', '.join(PICTURES)}"
        )
    source = scored_or_logged(options)
    curves = rk.forecast(
        with_reward(source.scores, options.reward, options.scores),
        **options.select("label training seed"),
    )
    run = find_run(options.scores)
    if run is not None and curves.outlook is not None:
        keep_outlook(run, curves, curves.outlook)
    about_run, record = _judge_run(curves.scores, options)
    record |= {**curves.record(), "plot": None if path is None else str(path)}
    if path is None:
        return source.result(record, f"{about_run}{curves}")
    _draw(curves, path)
    return source.result(record, f"{about_run}{curves}\n\npicture: {path}")


def _draw(curves: rk.Forecast, path: Path) -> None:
    """Draw the curves into a file, which is replaced only when complete."""
    from rewardkit.notebook import plots  # takes seconds to import

    plots.without_a_screen()
    figure = plots.forecast_curves(curves)[0].get_figure(root=True)
    assert figure is not None
    form = path.suffix.lower().removeprefix(".")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, lambda temporary: figure.savefig(temporary, format=form, dpi=120))


# --- compare


@command(
    "[VERSIONS] --folder --training --label --seed --timeout --fail-on --verbose "
    "--json",
    {
        "--last N": (
            "Compare the newest N versions of the folder of runs, too.",
            {"type": Integer(min=2)},
        ),
        "--cases CASES": "Cases, to list those that are lost and gained; a lost one is "
        "high.",
        "--reward rewards REWARD...": "The reward that scored each of VERSIONS, in "
        "their order, to run on the cases; kept versions run from their source.",
    },
)
def compare(options: Options) -> CommandResult:
    """Say what differs between versions of a reward, and which one to train on.

    VERSIONS are two or more, the oldest first: kept runs (v2, or a tag), folders that
    `rewardkit score -o` wrote, or their Parquet files; rows are matched by rollout_id.
    One table has the figures of each, and marks what is better or worse beyond noise.
    Then come changes of the definition, rollouts whose advantage changes its sign,
    findings and cases. --fail-on compares the last version with the first.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o old
      rewardkit score gallery:arithmetic gallery:arithmetic -o new
      rewardkit compare old new
    """
    names: list[str] = list(options.versions)
    versions = [load_version(name, options.folder) for name in names]
    if options.rewards and len(options.rewards) != len(names):
        raise rk.InputError(
            f"--reward is there {len(options.rewards)} times, for "
            f"{counted(len(names), 'version')}; give it once for each, in their order"
        )
    for place, reward in enumerate(options.rewards):
        version = versions[place]
        scores = version.scores if isinstance(version, rk.Run) else version
        versions[place] = with_reward(scores, reward, names[place])
    newest = _newest_runs(options) if options.last else []
    versions += newest
    names += [run.version.name for run in newest]
    if len(versions) < 2:
        raise click.UsageError(
            f"compare takes two versions or more, not {len(versions)}: name runs (v1 "
            "v2) or folders, or give --last N"
        )
    limit = None
    if options.cases:
        rewards = [item.reward for item in versions if isinstance(item, rk.Scores)]
        limit = options.time_limit(*rewards)
    settings = options.select("cases training label seed")
    comparison = rk.compare(*versions, names=names, timeout=limit, **settings)
    status = fail_status(comparison.worst_new, options.fail_on)
    text = comparison.text(verbose=options.verbose)
    if comparison.rehearsals and not options.json:
        say(f"rewardkit: {comparison.rehearsals}", err=True)
    cautions: list[str] = []
    for side in comparison.sides:
        cautions += side.scores.rollouts.cautions
    record = comparison.record()
    if cautions:
        record["cautions"] = cautions
    return CommandResult(record, text, status)


def _newest_runs(options: Options) -> list[rk.Run]:
    """Return the runs of --last; say which ones are left out."""
    all_runs = rk.runs(options.folder)
    newest = all_runs.newest(options.last)
    chosen = [run.version.name for run in newest]
    others = [run.name for run in all_runs if run.version.name not in chosen]
    if others and len(newest) < options.last:
        say(
            f"rewardkit: --last {options.last} leaves out {', '.join(others)}, of "
            "another reward or other rollouts than the newest run",
            err=True,
        )
    return newest


# --- suspect


@command(
    "SCORES --label --training --seed --timeout READING --log-weight --json",
    {
        "--like ID": "Completions with a form like that of this rollout_id.",
        "--pattern REGEX": "Completions with a match of this regular expression.",
        "--patched REWARD": "A fixed reward (file.py:name) to score them with, or the "
        "folder of its scores.",
        "--by COLUMN...": "Compare their share between its values.  [default: every "
        "column of few values]",
    },
)
def suspect(options: Options) -> CommandResult:
    """Count completions that look like an exploit, and what pays them.

    It also says since when and where they occur. With --patched it also says how many
    of them would still earn, and which right completions would get less.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o flawed
      rewardkit suspect flawed --pattern because
    """
    if (options.like is None) == (options.pattern is None):
        hint = "not both" if options.like is not None else "neither is there"
        raise rk.InputError(f"give --like ID or --pattern REGEX; {hint}")
    source = scored_or_logged(options)
    patched: rk.Reward | rk.Scores | None = None
    limit = None
    path = options.patched
    if path and holds_scores(path):
        patched = rk.load_scores(path)
    elif path:
        patched = rk.load_reward(path, rollouts=source.scores.rollouts)
        limit = options.time_limit(patched)
    suspicion = rk.suspect(
        source.scores,
        patched=patched,
        timeout=limit,
        progress=options.is_watched,
        **options.select("like pattern label training seed by"),
    )
    return source.result(suspicion.record(), suspicion)
