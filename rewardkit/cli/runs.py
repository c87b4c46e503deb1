"""`rewardkit runs`, `card`: kept runs, and the card of a reward."""

from __future__ import annotations

import sys
from pathlib import Path

import click

import rewardkit as rk
from rewardkit.cli.command import CommandResult, Options, command
from rewardkit.cli.output import write_text
from rewardkit.findings import counted
from rewardkit.history.runs import find_run


@command(
    "[ACTION] [VERSION] --folder --json",
    {
        "--reward NAME": "List the runs of this reward only.",
        "--tag tags NAME...": "List the runs with this tag; with tag: add it.",
        "--note TEXT": "With tag: replace the note.",
        "-o --output FILE": "With restore: the new file, or folder for several.",
        "--to TRACKER": "With export: mlflow, trackio or wandb, if it is installed.",
        "--project NAME": "With export: the project in it.  [default: the reward's "
        "name]",
        "--yes": "With delete: do not ask.",
    },
)
def runs(options: Options) -> CommandResult:
    """List the scorings that were kept, newest first, or do something with one.

    ACTION is show (what it gave, and what changed in the source), restore (write its
    source, byte for byte), tag, export (to an experiment tracker) or delete; VERSION
    is v2, a tag, or v2.1 for the first of several scorings of v2. `rewardkit score
    --keep` keeps one; diagnose, whatif, compare and suspect take v2 for a folder.

    Example:
      rewardkit score gallery:arithmetic gallery:arithmetic --keep --note first
      rewardkit runs
      rewardkit runs show v1
    """
    all_runs = rk.runs(options.folder)
    if options.action is None:
        for tag in options.tags:
            all_runs = all_runs.select(tag=tag)
        all_runs = all_runs.select(reward=options.reward or "")
        return CommandResult(all_runs.record(), str(all_runs))
    if options.version is None:
        raise click.UsageError(
            f"missing argument VERSION, such as {_example(all_runs)}"
        )
    return ACTIONS[options.action](options, all_runs)


def _example(all_runs: rk.Runs) -> str:
    return all_runs.names[0] if len(all_runs) else "v1"


def _show(options: Options, all_runs: rk.Runs) -> CommandResult:
    run = all_runs[options.version]
    return CommandResult({"run": run.record()}, str(run))


def _restore(options: Options, all_runs: rk.Runs) -> CommandResult:
    """Write the source of a version; the text names the reward in it."""
    if options.output is None:
        raise click.UsageError("restore writes a file: give -o FILE")
    version = all_runs.version(options.version)
    files = version.restore(options.output)
    entry = str(version.about["entry"])
    text = f"{counted(len(files), 'file')} written: {', '.join(map(str, files))}\n"
    if entry:
        file, _, name = entry.rpartition(":")
        text += f"The reward is {_place(file, files)}:{name}"
    else:
        text += f"The reward is not among them: {version.about['why']}"
    return CommandResult({"files": list(map(str, files)), "entry": entry}, text)


def _place(file: str, files: list[Path]) -> str:
    """Return the place of a restored reward: its file, or a module of a package."""
    if len(files) == 1:
        return str(files[0])
    for path in files:
        if path.name == file:
            return str(path)
    return f"(with the folder on PYTHONPATH) {file}"


def _tag(options: Options, all_runs: rk.Runs) -> CommandResult:
    if not options.tags and options.note is None:
        raise click.UsageError("tag adds a name or a note: give --tag NAME or --note")
    run = all_runs[options.version].tag(*options.tags)
    if options.note is not None:
        run = run.changed(note=options.note)
    return CommandResult({"run": run.record()}, str(run))


def _export(options: Options, all_runs: rk.Runs) -> CommandResult:
    if options.to is None:
        raise click.UsageError("export names a tracker: give --to mlflow|trackio|wandb")
    run = all_runs[options.version]
    tracked = rk.track(run, options.to, project=options.project or "")
    text = f"{tracked.name} is in {tracked.tracker}, project {tracked.project!r}"
    return CommandResult(tracked.record(), text)


def _delete(options: Options, all_runs: rk.Runs) -> CommandResult:
    """Delete a version after confirmation."""
    name = options.version
    version = all_runs.version(name)
    names = [run.name for run in all_runs.to_delete(name)]
    count = counted(len(names), "run")
    listed = f"{count}: {', '.join(names)}" if len(names) > 1 else count
    question = f"Delete {name} of {version.about['reward']} ({listed})?"
    if not options.yes:
        if not sys.stdin.isatty():
            raise rk.InputError(f"{question} Nobody can be asked here; give --yes")
        click.confirm(question, abort=True, err=True)
    all_runs.delete(name)
    record = {"deleted": name, "runs": len(names)}
    return CommandResult(record, f"{name} is deleted ({count})")


ACTIONS = {
    "show": _show,
    "restore": _restore,
    "tag": _tag,
    "export": _export,
    "delete": _delete,
}


# --- card

CARD_FORMS = (".md", ".html")


@command(
    "REWARD --folder --as --baseline --json",
    {
        "--trained SCORES...": "The log of a training on it, or its recorder's folder, "
        "to report its result.",
        "-o --output OUTPUT": "Write it into this file (.md or .html).",
    },
)
def card(options: Options) -> CommandResult:
    """Say what REWARD is and why, what was tried and checked, what training did.

    REWARD may be a kept run: v2, a tag or its folder. All is read from the definition,
    from kept runs and from the baseline.

    Example:
      rewardkit score gallery:arithmetic gallery:arithmetic --keep --note first
      rewardkit card gallery:arithmetic -o card.md
    """
    path = options.output
    if path is not None and path.suffix not in CARD_FORMS:
        raise rk.InputError(
            f"{str(path)!r} is no card; its name ends with {' or '.join(CARD_FORMS)}"
        )
    source: rk.Run | rk.Reward | None = find_run(options.reward, options.folder)
    if source is None:
        source = options.read_reward()
    trainings = [rk.monitor(name) for name in options.trained]
    written = rk.card(
        source,
        folder=options.folder,
        baseline=options.baseline,
        training=trainings,
    )
    record = {**written.record(), "output": None}
    if path is None:
        return CommandResult(record, written.text(verbose=True))
    write_text(path, written)
    return CommandResult({**record, "output": str(path)}, f"written to {path}")
