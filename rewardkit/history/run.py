"""Run: a kept scoring with its note, tags and figures, and its page."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from rewardkit.errors import InputError
from rewardkit.findings import counted, percent, short_number
from rewardkit.history.parts import holds_scores, load_named
from rewardkit.history.runs_folder import (
    ABOUT,
    data_path,
    is_scoring_name,
    write_access,
    write_json,
)
from rewardkit.history.versions import Version
from rewardkit.html.blocks import Block, Code, Facts
from rewardkit.html.excerpts import UserText
from rewardkit.html.has_page import HasPage
from rewardkit.html.pages import Page
from rewardkit.plain import Plain, Record, to_plain
from rewardkit.rollouts.paths import SAVED_SCORES
from rewardkit.scoring.scores import UNFINISHED, Scores

DataState = Literal["there", "gone", "broken"]


@dataclass(frozen=True, eq=False, repr=False)
class Run(HasPage):
    """A kept scoring: a version of a reward on some rollouts.

    Attributes:
        folder: ``runs/scored/ID``.
        version: The definition.
        about: The content of ``about.json``: format, version, data (the hash of the
            rollouts), source (of the rollouts), rows, number (among the scorings of the
            version), date, note, tags, figures.
        name: The unique name: "v3", or "v3.1" if version 3 was scored on several
            rollouts.
    """

    folder: Path
    version: Version
    about: Plain = field(repr=False)
    name: str

    @property
    def names(self) -> list[str]:
        """Return the names of the run: its version, its unique name, its tags."""
        return list(dict.fromkeys([self.version.name, self.name, *self.tags]))

    @property
    def scores(self) -> Scores:
        """Return the scores; their reward can be reweighted and diagnosed, not run.

        Raises:
            RolloutsError: The rollouts are gone, or a file is broken.
        """
        return load_named(self.folder, self.name)

    @property
    def data_state(self) -> DataState:
        """Return whether the files of the rollouts and results can be read."""
        data = data_path(self.folder.parents[1], self.about["data"])
        for path in (data, self.folder / SAVED_SCORES):
            if not path.is_file():
                return "gone"
            if not holds_scores(path):
                return "broken"
        return "there"

    @property
    def note(self) -> str:
        """Return the note."""
        return str(self.about["note"])

    @property
    def tags(self) -> tuple[str, ...]:
        """Return the tags."""
        return tuple(self.about["tags"])

    @property
    def figures(self) -> Record:
        """Return the figures of the run and of its version (check, probe)."""
        return {**self.about["figures"], **self.version.about["figures"]}

    @property
    def shares(self) -> str:
        """Return the effective weights in percent, "" if they are not known."""
        return effective_shares(self.figures.get("effective_weights", {}))

    def record(self) -> Record:
        """Return the run as plain data."""
        about = {key: value for key, value in self.about.items() if key != "format"}
        plain: Record = to_plain(
            {
                **about,
                "name": self.name,
                "reward": self.version.about["reward"],
                "parent": self.version.parent,
                "data_state": self.data_state,
                "unfinished": self.is_unfinished,
                "figures": self.figures,
                "folder": str(self.folder),
            }
        )
        return plain

    def page(self) -> Page:
        """Return the page: definition, figures, and changes of the source."""
        version, about = self.version, self.about
        facts = {
            "reward": version.about["reward"],
            "note": self.note,
            "tags": ", ".join(self.tags),
            "date": date_of(about),
            "rollouts": f"{self.data_source}, {counted(about['rows'], 'row')}",
            "source": version.about["entry"] or f"none: {version.about['why']}",
            "parent": version.parent,
        }
        if version.changed_files:
            facts["source"] += f" (changed since: {', '.join(version.changed_files)})"
        for name, value in self.figures.items():
            facts[name.replace("_", " ")] = _figure(value)
        blocks: list[Block] = [Facts([*facts.items()])]
        parent = version.parent_version
        if parent is not None and parent.source:
            lines = source_diff(parent.source, version.source)
            if lines:
                blocks.append(f"What changed in the source since {parent.name}:")
                blocks += [Code(UserText(line, "a line of source")) for line in lines]
            else:
                blocks.append(f"The source is that of {parent.name}.")
        return Page(self.name, blocks)

    @property
    def data_source(self) -> str:
        """Return the source of the rollouts, with their state unless it is "there"."""
        state: str = self.data_state
        source = str(self.about["source"])
        if state != "there":
            return f"{source} ({state})"
        return f"{source} (unfinished)" if self.is_unfinished else source

    @property
    def is_unfinished(self) -> bool:
        """Return whether scoring was interrupted; `score --keep` goes on with it."""
        return bool(self.about.get(UNFINISHED))

    def tag(self, *tags: str) -> Run:
        """Add tags and write them; return the run with all its tags.

        Raises:
            InputError: A tag is named like a version.
        """
        for tag in tags:
            check_tag(tag)
        return self.changed(tags=list(dict.fromkeys([*self.tags, *tags])))

    def changed(self, **about: Any) -> Run:
        """Change entries of the record and write it; return the changed run."""
        changed = {**self.about, **about}
        with write_access(self.folder.parents[1]):
            write_json(self.folder / ABOUT, changed)
        return replace(self, about=changed)


def _figure(value: Any) -> str:
    """Return a figure as text."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_figure(item)}" for name, item in value.items())
    if isinstance(value, float):
        return number_text(value)
    if isinstance(value, list):
        return " of ".join(map(str, value))
    return str(value)


def figure_texts(figures: Plain) -> dict[str, str]:
    """Return the figures of cases, exploits, signal and label AUC as texts."""
    texts = {}
    if "cases" in figures:
        passed, count = figures["cases"]
        texts["cases"] = f"{passed} of {count}"
    if "exploits" in figures:
        texts["exploits"] = str(figures["exploits"])
    if figures.get("signal") is not None:
        texts["signal"] = percent(figures["signal"])
    if figures.get("label_auc") is not None:
        texts["label AUC"] = number_text(figures["label_auc"])
    return texts


def source_diff(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> list[str]:
    """Return the unified diff of two sources, as lines.

    Two single files are compared even if their names differ.
    """
    if len(before) == len(after) == 1:
        (name,) = after
        before = {name: next(iter(before.values()))}
    lines: list[str] = []
    for name in sorted({*before, *after}):
        old, new = _lines_of(before, name), _lines_of(after, name)
        lines += difflib.unified_diff(old, new, name, name, n=1, lineterm="")
    return lines


def _lines_of(files: Mapping[str, bytes], name: str) -> list[str]:
    return files.get(name, b"").decode("utf-8", "replace").splitlines()


def check_tag(tag: str) -> None:
    """Raise an InputError if a tag is empty or named like a version."""
    if not tag or is_scoring_name(tag):
        raise InputError(f"{tag!r} is no tag, as versions are called so; give a word")


def date_of(about: Plain) -> str:
    """Return the UTC date and minute at which a run was kept."""
    return str(about["date"])[:16].replace("T", " ")


def effective_shares(weights: Plain) -> str:
    """Return effective weights in percent, for a route by the label of each part."""
    parts = []
    for name, share in weights.items():
        if isinstance(share, Mapping):
            parts.append(f"{name} ({effective_shares(share)})")
        else:
            parts.append(f"{name} {percent(share).removesuffix(' %')}")
    return ", ".join(parts)


def number_text(value: float | None) -> str:
    """Return a figure rounded to three places, "" for None or NaN."""
    return "" if value is None or math.isnan(value) else short_number(round(value, 3))
