"""Versions: kept definitions by number, with the source of their functions.

A process takes a number by renaming a folder, so no two processes share one. A number
is never reused.
"""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from rewardkit.errors import RewardError
from rewardkit.findings import counted
from rewardkit.history.runs_folder import (
    ABOUT,
    FORMAT,
    KEPT_RUNS,
    VERSIONS,
    is_version_name,
    now,
    put_in_place,
    read_json,
    read_or_warn,
    temporary_folder,
    write_access,
    write_json,
)
from rewardkit.plain import Plain, Record
from rewardkit.rewards.fingerprint import definition_hash
from rewardkit.rewards.reward import Reward
from rewardkit.rewards.save import save_reward
from rewardkit.rollouts.paths import write_content

GENERATED_FILE = "reward.py"
"""The file written for a reward that no file defines as it is now."""


@dataclass(frozen=True, eq=False)
class Version:
    """A kept definition.

    Attributes:
        folder: ``runs/versions/v3``.
        about: The content of ``about.json``: format, fingerprint, reward (its name),
            record (the definition), entry (FILE:NAME in the source), files (the hash of
            each), why (the source is missing), date, parent, figures (of check and
            probe).
    """

    folder: Path
    about: Plain = field(repr=False)

    @property
    def name(self) -> str:
        """Return the name, such as "v3"."""
        return self.folder.name

    @property
    def number(self) -> int:
        """Return the number, such as 3 of "v3"."""
        return int(self.name.removeprefix("v"))

    @property
    def fingerprint(self) -> str:
        """Return the fingerprint of the definition."""
        return str(self.about["fingerprint"])

    @property
    def definition(self) -> str:
        """Return the hash of the definition without file names, "" if deleted.

        A copied or renamed file is therefore the same version.
        """
        return "" if self.is_deleted else definition_hash(self.about["record"])

    @property
    def parent(self) -> str:
        """Return the name of the previous version, "" for the first."""
        return str(self.about["parent"])

    @property
    def parent_version(self) -> Version | None:
        """Return the previous version, None for the first."""
        if not self.parent:
            return None
        folder = self.folder.parent / self.parent
        return Version(folder, read_json(folder / ABOUT))

    @property
    def is_deleted(self) -> bool:
        """Return whether the version was deleted; its number is not reused."""
        return bool(self.about.get("deleted"))

    @cached_property
    def source(self) -> dict[str, bytes]:
        """Return the files of the source, by name."""
        return _read_files(self.folder / "source")

    @property
    def changed_files(self) -> list[str]:
        """Return the files of the source that changed since they were kept."""
        if self.is_deleted:
            return []
        before = self.about.get("files", {}).items()
        changes = before ^ _hashes(self.source).items() if before else ()
        return sorted({name for name, _ in changes})

    def restore(self, path: str | Path) -> list[Path]:
        """Write the source, byte for byte as it was kept.

        Args:
            path: A new file, or a new folder if the source has several files.

        Returns:
            The files.

        Raises:
            RewardError: The source is missing or was changed, or the path exists.
        """
        if self.changed_files:
            names = ", ".join(self.changed_files)
            raise RewardError(
                f"the source of {self.name} is not as it was kept ({names} in "
                f"{str(self.folder / 'source')!r} differs); undo that change, or copy "
                "the files as they are"
            )
        if not self.source:
            raise RewardError(
                f"{self.name} has no source: {self.about['why'] or 'it was deleted'}"
            )
        place = Path(path)
        if place.exists():
            raise RewardError(
                f"{str(path)!r} exists already, and is left as it is; give a new path"
            )
        if len(self.source) == 1:
            (content,) = self.source.values()
            write_content(place, content)
            return [place]
        if place.suffix == ".py":
            raise RewardError(
                f"{self.name} has {counted(len(self.source), 'file')} "
                f"({', '.join(self.source)}); give a folder in place of {str(path)!r}"
            )
        return write_files(place, self.source)

    def note_figures(self, figures: Plain) -> Version:
        """Add figures of a check or a probe and write them; return the version."""
        about = {**self.about, "figures": {**self.about["figures"], **figures}}
        write_json(self.folder / ABOUT, about)
        return Version(self.folder, about)

    def delete(self) -> None:
        """Remove the source and the record; the number is not reused."""
        about = {
            "format": FORMAT,
            "fingerprint": "",
            "parent": self.parent,
            "deleted": now(),
        }
        write_json(self.folder / ABOUT, about)
        shutil.rmtree(self.folder / "source", ignore_errors=True)


def note_figures(
    reward: Reward, figures: Plain, folder: str | Path = KEPT_RUNS
) -> Version:
    """Write figures of a check or a probe to the version of a reward.

    They are ``cases`` (passed, all) and ``exploits`` (the number). A reward without a
    version gets one.
    """
    place = Path(folder)
    with write_access(place):
        return keep_version(reward, place).note_figures(figures)


def _read_files(folder: Path) -> dict[str, bytes]:
    """Read the files below a folder, by name."""
    files = {}
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            files[path.relative_to(folder).as_posix()] = path.read_bytes()
    return files


def _hashes(files: Mapping[str, bytes]) -> dict[str, str]:
    """Return the hash of each file, by name."""
    return {name: sha256(files[name]).hexdigest() for name in files}


def write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files, by name, into a folder; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = []
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        paths.append(path)
    return paths


def read_versions(folder: Path) -> list[Version]:
    """Return the versions of a folder of runs by number; warn of broken ones."""
    versions = []
    for place in (folder / VERSIONS).glob("v*"):
        if is_version_name(place.name):
            about = read_or_warn(place / ABOUT)
            if about is not None:
                versions.append(Version(place, about))
    return sorted(versions, key=lambda version: version.number)


def find_version(folder: Path, record: Plain) -> Version | None:
    """Return the first version with the definition of a record, or None."""
    definition = definition_hash(record)
    for version in read_versions(folder):
        if version.definition == definition:
            return version
    return None


def keep_version(reward: Reward, folder: Path) -> Version:
    """Return the version of a reward in a folder of runs; create it if it is missing.

    The parent is the newest version of a reward of the same name.
    """
    record = reward.record()
    version = find_version(folder, record)
    if version is not None:
        return version
    place = folder / VERSIONS
    with temporary_folder(place) as temporary:
        (temporary / "source").mkdir()
        entry, why = _write_source(reward, temporary / "source")
        versions = read_versions(folder)
        parents = [
            item.name for item in versions if item.about.get("reward") == reward.name
        ]
        about = {
            "format": FORMAT,
            "fingerprint": record["fingerprints"]["reward"],
            "reward": reward.name,
            "record": record,
            "entry": entry,
            "files": _hashes(_read_files(temporary / "source")),
            "why": why,
            "date": now(),
            "parent": parents[-1] if parents else "",
            "figures": {},
        }
        write_json(temporary / ABOUT, about)
        number = versions[-1].number + 1 if versions else 1
        while not put_in_place(temporary, place / f"v{number}"):
            number += 1
    return find_version(folder, record) or Version(place / f"v{number}", about)


def _write_source(reward: Reward, folder: Path) -> tuple[str, str]:
    """Write the files of a reward; return its entry FILE:NAME and why it has none.

    An unchanged reward keeps the files that it was read from. If only its weights
    changed, a file that sets them is added. Otherwise a new file defines it.
    """
    read_from, record = reward.read_from, reward.record()
    files = dict(read_from.files) if read_from else {}
    entry, why = f"{GENERATED_FILE}:reward", ""
    if read_from and read_from.definition == record:
        entry = read_from.entry
    elif read_from and _without_weights(read_from.definition) == _without_weights(
        record
    ):
        files[GENERATED_FILE] = _reweighed_source(read_from.entry, reward).encode()
    else:
        try:
            save_reward(reward, folder / GENERATED_FILE)
            return entry, ""
        except RewardError as error:
            entry, why = "", f"it cannot be written as a file ({error})"
        if read_from:
            why += (
                f"; kept is what it was read from, {read_from.entry}, before a change"
            )
    write_files(folder, files)
    return entry, why


def _without_weights(record: Plain) -> Record:
    """Return a definition without its weights and fingerprints."""
    definition = {**record, "weights": None, "fingerprints": None}
    if "components" in record:
        definition["components"] = [
            {**item, "weight": None} for item in record["components"]
        ]
    return definition


def _reweighed_source(entry: str, reward: Reward) -> str:
    """Return the source of a file that changes the weights of another file's reward."""
    file, _, name = entry.rpartition(":")
    place = repr(entry)
    if file.endswith(".py"):
        place = f"str(Path(__file__).with_name({file!r})) + {f':{name}'!r}"
    return f'''"""The reward of {file} with other weights."""

from pathlib import Path

import rewardkit as rk

as_read = rk.load_reward({place})
reward = as_read.reweigh({dict(reward.weights)!r})
'''
