"""card(): document a reward: its purpose, checks, versions and trainings.

Everything is read from the definition, the kept runs and a baseline.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from rewardkit.errors import InputError, preview
from rewardkit.findings import counted, percent, short_number
from rewardkit.history.baseline import Accepted, Baseline, load_baseline
from rewardkit.history.run import Run, figure_texts
from rewardkit.history.runs import Runs, runs
from rewardkit.history.runs_folder import KEPT_RUNS
from rewardkit.html.blocks import Block, Facts, Table
from rewardkit.html.excerpts import one_line
from rewardkit.html.has_page import HasPage
from rewardkit.html.pages import Page
from rewardkit.plain import Plain, Record, to_plain
from rewardkit.rewards.fingerprint import definition_hash
from rewardkit.rewards.recorded import reward_from_record
from rewardkit.rewards.reward import Reward

MOST_PARAGRAPHS, LONGEST_PARAGRAPH = 3, 600
"""Shown paragraphs of a docstring, and characters per paragraph. Our choice."""
CHECKS = {
    "cases": ("cases", "pass", "rewardkit check REWARD CASES --keep"),
    "exploits": ("probes", "found", "rewardkit probe REWARD ROLLOUTS --keep"),
    "signal": ("signal", "of the groups", "rewardkit score REWARD ROLLOUTS --keep"),
}
"""Figures of every card -> name, unit, and the command that measures them."""

WHERE_MISSING = {
    "nan": "the reward is not judged",
    "zero": "it counts as 0",
    "skip": "the other components share its weight",
}
"""`on_missing` of a reward -> its description on the card."""


@dataclass(frozen=True, eq=False, repr=False)
class Card(HasPage):
    """The documentation of a reward.

    Attributes:
        about: The definition, as `Reward.record` returns it.
        purpose: The docstring of the file of the reward, "" without one.
        task: Names of the components that are the task, see `Reward.task`; () for a
            route, or if the task is not known.
        run: The newest kept run of this definition, or None.
        versions: The newest run of each version of a reward of this name.
        accepted: The findings that a baseline accepts for the reward.
        training: The record of the monitor of each training on the reward.
    """

    about: Plain = field(repr=False)
    purpose: str
    task: tuple[str, ...]
    run: Run | None
    versions: Runs
    accepted: tuple[Accepted, ...]
    training: tuple[Plain, ...]

    @property
    def name(self) -> str:
        """Return the name of the reward."""
        return str(self.about["name"])

    @property
    def figures(self) -> Record:
        """Return the figures of the newest kept run, {} without one."""
        return {} if self.run is None else self.run.figures

    def record(self) -> Record:
        """Return the card as plain data."""
        plain: Record = to_plain(
            {
                "reward": self.name,
                "purpose": self.purpose,
                "task": self.task,
                "definition": self.about,
                "version": None if self.run is None else self.run.version.name,
                "figures": self.figures,
                "data": None if self.run is None else self.run.record(),
                "accepted": self.accepted,
                "versions": self.versions.record()["runs"],
                "training": self.training,
            }
        )
        return plain

    def page(self) -> Page:
        """Return the page: purpose, components, checks, holes, versions, training."""
        blocks: list[Block] = []
        for paragraph in self.purpose.split("\n\n")[:MOST_PARAGRAPHS]:
            blocks.append(one_line(paragraph, LONGEST_PARAGRAPH))
        if not self.purpose:
            blocks.append("What it is for is not said: begin its file with a docstring")
        blocks += self._definition()
        blocks.append(Facts([*self._checks()]))
        blocks.append(self._holes())
        if len(self.versions):
            table, *others = self.versions.page().blocks
            assert isinstance(table, Table)
            blocks.append(replace(table, caption="Versions", is_open=True))
            blocks += others
        for run in self.training:
            first, last = map(short_number, run["steps"])
            verdict = f"Training, step {first} to {last}: {run['verdict']}."
            blocks.append(f"{verdict} {run['sentence']}")
        title = f"Card of {self.name}"
        if self.run is not None:
            title += f", {self.run.version.name}"
        return Page(title, blocks)

    def _definition(self) -> Iterator[Block]:
        """Yield the components of the reward, or of each part of a route."""
        if "route" not in self.about:
            yield from self._reward_blocks(self.about, "")
            return
        route = self.about["route"]
        for branch in route["rewards"]:
            yield from self._reward_blocks(
                branch["reward"], f"{route['column']} {branch['value']}"
            )
        if route["default"]:
            yield from self._reward_blocks(route["default"], "any other")

    def _reward_blocks(self, about: Plain, part: str) -> Iterator[Block]:
        effective = self.figures.get("effective_weights", {})
        if part:  # a route has weights by the label of the part
            effective = effective.get(part, {})
        rows = []
        for item in about["components"]:
            name = str(item["name"])
            share = effective.get(name)
            rows.append(
                (
                    f"{name} (the task)" if name in self.task else name,
                    item["why"],
                    item.get("schedule", f"{item['weight']:g}"),
                    "" if share is None else percent(share),
                    item["gate"] or "",
                    item["function"],
                )
            )
        header = ("component", "why", "weight", "effective", "gate", "function")
        caption = f"What it pays for where {part}" if part else "What it pays for"
        yield Table(caption, header, rows, ("effective",), True)
        options = {
            "reads": ", ".join(map(" = ".join, about["fields"].items())),
            "combined by": about["aggregation"],
            "where a score is missing": WHERE_MISSING[about["on_missing"]],
            "gate of the whole reward": about["gate"],
            "transform": about["transform"],
        }
        yield Facts([(name, text) for name, text in options.items() if text])

    def _checks(self) -> Iterator[tuple[str, str]]:
        """Yield the figures of checks, and the data they were measured on."""
        texts = figure_texts(self.figures)
        for figure, (name, unit, instead) in CHECKS.items():
            text = texts.get(figure)
            yield name, f"not known: {instead}" if text is None else f"{text} {unit}"
        if "label AUC" in texts:
            yield "label AUC", texts["label AUC"]
        if self.run is not None:
            about = self.run.about
            rows = counted(about["rows"], "rollout")
            yield "data", f"{rows} from {about['source']} ({about['data']})"
            yield "kept", str(about["date"])[:10]
        yield "fingerprint", str(self.about["fingerprints"]["reward"])

    def _holes(self) -> Block:
        if not self.accepted:
            return "No finding is accepted."
        rows = []
        for entry in self.accepted:
            until = entry.until or "no end"
            if entry.has_ended:
                until += " (over)"
            rows.append((entry.finding, entry.severity, entry.reason, until))
        header = ("finding", "severity", "accepted because", "until")
        return Table("Known holes", header, rows, (), True)


def card(
    source: Reward | Run,
    *,
    folder: str | Path = KEPT_RUNS,
    baseline: Baseline | str | Path | None = None,
    training: Sequence[Any] = (),
) -> Card:
    """Document a reward: its purpose, components, checks, versions and trainings.

    Args:
        source: A kept run, or a reward, whose newest kept run is used.
        folder: The folder of runs of a reward. A run has its own.
        baseline: Accepted findings, or a file of them.
        training: Results of `rk.monitor` on trainings with the reward.

    Raises:
        InputError: The source is neither, or the file is not a baseline.

    >>> from rewardkit.primitives.verify import matches
    >>> from rewardkit.rewards.component import Component
    >>> correct = Component("correct", matches, why="the task")
    >>> print(card(Reward("one", {}, [correct]), folder="none").figures)
    {}
    """
    run: Run | None
    if isinstance(source, Run):
        about = source.version.about["record"]
        kept_runs, run = runs(source.folder.parents[1]), source
        purpose = _purpose(source.version.about["entry"], source.version.source)
        task = _task(reward_from_record(about))
    elif isinstance(source, Reward):
        about = source.record()
        kept_runs = runs(folder)
        definition = definition_hash(about)
        run = next(
            (item for item in kept_runs if item.version.definition == definition), None
        )
        read_from = source.read_from
        purpose = _purpose(read_from.entry, read_from.files) if read_from else ""
        task = _task(source)
    else:
        raise InputError(
            f"card takes a reward or a kept run, not {preview(source)}; rk.load_reward "
            "reads one, rk.runs() has the other"
        )
    accepted: tuple[Accepted, ...] = ()
    if baseline is not None:
        accepted = load_baseline(baseline).of(about["name"]).accepted
    return Card(
        about,
        purpose,
        task,
        run,
        _versions(kept_runs, about["name"]),
        accepted,
        tuple(monitor.record() for monitor in training),
    )


def _versions(kept_runs: Runs, name: str) -> Runs:
    """Return the newest run of each version of a reward's name."""
    newest: dict[str, Run] = {}
    for run in kept_runs.select(reward=name):
        newest.setdefault(run.version.name, run)
    return replace(kept_runs, items=tuple(newest.values()))


def _task(reward: Reward) -> tuple[str, ...]:
    """Return the components that are the task, () if the task is not known."""
    if reward.routed_by or not reward.task_is_known:
        return ()
    return reward.task


def _purpose(entry: str, files: Mapping[str, bytes]) -> str:
    """Return the docstring of the file of a reward, "" without one."""
    module = entry.rpartition(":")[0]
    for name, content in files.items():
        if module in (name, name.removesuffix(".py").replace("/", ".")):
            try:
                return ast.get_docstring(ast.parse(content)) or ""
            except (SyntaxError, ValueError):  # written for a newer Python
                return ""
    return ""
