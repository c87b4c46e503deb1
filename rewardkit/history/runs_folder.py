"""A folder of runs: where things stand in it, and the records beside them.

runs/versions/v1/    about.json and source/: a definition
runs/data/HASH.parquet    rollouts
runs/scored/ID/    about.json and scores.parquet: a scoring of the two
"""

from __future__ import annotations

import errno
import json
import logging
import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rewardkit.errors import RolloutsError, preview
from rewardkit.plain import Plain, Record
from rewardkit.rollouts.paths import write_content

log = logging.getLogger(__name__)

FORMAT = 1
"""The number of the form in which versions and runs are written."""
KEPT_RUNS = "runs"
"""The folder of runs where no other is named."""
ABOUT = "about.json"
SECONDS_PER_1000 = "seconds_per_1000"
"""The figure of a run that says what 1,000 rows took to score."""
LABEL = "label"
"""The figure of a run that says which label its other figures are by."""
SCORED, DATA, VERSIONS = "scored", "data", "versions"


def is_version_name(name: str) -> bool:
    """Return whether a name is that of a version or of a scoring: "v3" or "v3.1"."""
    return re.fullmatch(r"v\d+(\.\d+)?", name) is not None


# --- writing


@contextmanager
def written_in(folder: Path) -> Iterator[None]:
    """Let a block write into a folder of runs, which is made where it is missing.

    Raises:
        RolloutsError: It cannot be written, in one sentence; before the block, where
            that shows already.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        yield
    except OSError as error:
        raise RolloutsError(
            f"nothing can be kept in {str(folder)!r} ({error.strerror}); give a folder "
            "that can be written, or move what is there away"
        ) from None


@contextmanager
def folder_beside(place: Path) -> Iterator[Path]:
    """Make a folder to fill, for `put_in_place`; what is left of it is removed."""
    temporary = place / f".{secrets.token_hex(6)}"
    temporary.mkdir(parents=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def put_in_place(folder: Path, target: Path) -> bool:
    """Give a filled folder its name; return False where another process took it."""
    try:
        os.rename(folder, target)
    except OSError:
        if not target.exists():
            raise
        return False
    return True


def write_json(path: Path, content: Plain) -> None:
    """Write plain data into a file, whole or not at all."""
    write_content(path, json.dumps(content, indent=2, default=str) + "\n")


def read_json(path: Path) -> Record:
    """Read what `write_json` wrote.

    Raises:
        RolloutsError: It is broken, or of a newer format.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        number = content["format"]
    except (OSError, ValueError, KeyError, TypeError):
        raise RolloutsError(
            f"{str(path)!r} cannot be read as what rewardkit keeps of a run; move the "
            "folder it lies in away"
        ) from None
    if number != FORMAT:
        raise RolloutsError(
            f"{str(path)!r} is of format {preview(number)}, and this version of "
            f"rewardkit reads format {FORMAT}; read it with a newer one"
        )
    return dict(content)


def now() -> str:
    """Return the time in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def date_after(abouts: Sequence[tuple[Path, Plain]]) -> str:
    """Return the time, or one just after the newest scoring if the clock went back.

    Args:
        abouts: of `read_abouts`.
    """
    date = now()
    if not abouts or abouts[0][1]["date"] < date:
        return date
    newest = datetime.fromisoformat(abouts[0][1]["date"])
    return (newest + timedelta(milliseconds=1)).isoformat(timespec="milliseconds")


def read_or_warn(path: Path) -> Record | None:
    """Read what `write_json` wrote; None, with a warning, where it cannot be read."""
    try:
        return read_json(path)
    except RolloutsError as error:
        log.warning("%s", error)
        return None


def data_path(folder: Path, data: str) -> Path:
    """Return the file of rollouts with this hash."""
    return folder / DATA / f"{data}.parquet"


def read_abouts(folder: Path) -> list[tuple[Path, Record]]:
    """Return the folder and the record of each scoring, newest first.

    One that cannot be read is left out, with a warning.
    """
    abouts = []
    for path in (folder / SCORED).glob(f"[!.]*/{ABOUT}"):
        about = read_or_warn(path)
        if about is not None:
            abouts.append((path.parent, about))
    return sorted(abouts, key=lambda item: (item[1]["date"], item[0]), reverse=True)


def find_scored(name: str | Path, folder: Path) -> Path | None:
    """Return the file or folder of this name, else the newest scoring that has it.

    None where there is neither, as for a tag that no scoring has.

    Raises:
        RolloutsError: The name is that of a version, and there is none, or one that is
            broken or of a newer format.
    """
    if Path(name).exists():
        return Path(name)
    name = str(name)
    names: list[str] = []
    abouts = read_abouts(folder)
    scorings = scoring_names(abouts)
    for path, about in abouts:
        names_here = [about["version"], scorings[path], *about["tags"]]
        if name in names_here:
            return path
        names += names_here
    if is_version_name(name):
        path = folder / VERSIONS / name / ABOUT
        if path.exists():
            read_json(path)  # says why, where it cannot be read
        raise RolloutsError(
            f"there is no run {name!r} in {str(folder)!r}, nor a file of that name; it "
            f"has {list(dict.fromkeys(names))} (rewardkit runs)"
        )
    return None


def scoring_names(abouts: Sequence[tuple[Path, Plain]]) -> dict[Path, str]:
    """Return what each scoring alone is called, by its folder.

    The name of its version, as in "v3"; of a version that was scored on several
    rollouts "v3.1" for the first of them that is kept.

    Args:
        abouts: of `read_abouts`.
    """
    counts = Counter(about["version"] for _, about in abouts)
    numbers: Counter[str] = Counter()
    names = {}
    for path, about in reversed(abouts):
        version = about["version"]
        numbers[version] += 1
        is_alone = counts[version] == 1
        names[path] = version if is_alone else f"{version}.{numbers[version]}"
    return names
