"""The layout of a folder of runs, and its records.

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
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rewardkit.errors import RolloutsError, preview
from rewardkit.plain import Plain, Record
from rewardkit.rollouts.paths import write_content

log = logging.getLogger(__name__)

FORMAT = 1
"""Version of the file format of versions and runs."""
KEPT_RUNS = "runs"
"""The default folder of runs."""
ABOUT = "about.json"
SECONDS_PER_1000 = "seconds_per_1000"
"""Key of a figure: seconds to score 1,000 rows."""
LABEL = "label"
"""Key of a figure: the label column that other figures were measured with."""
SCORED, DATA, VERSIONS = "scored", "data", "versions"
RUN_NUMBER = "number"
"""Key of a scoring's record: its number among the scorings of its version."""
NUMBERS = "scorings"
"""The folder of a version with one empty file per assigned number."""


def is_version_name(name: str) -> bool:
    """Return whether a name is a version's, such as "v3"."""
    return re.fullmatch(r"v\d+", name) is not None


def is_scoring_name(name: str) -> bool:
    """Return whether a name is a scoring's, such as "v3.1" or "v3"."""
    return re.fullmatch(r"v\d+(\.\d+)?", name) is not None


# --- writing


@contextmanager
def write_access(folder: Path) -> Iterator[None]:
    """Create a folder of runs if it is missing, and translate write errors.

    Raises:
        RolloutsError: The folder cannot be written; raised before the block if the
            permissions show it.
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
def temporary_folder(place: Path) -> Iterator[Path]:
    """Make a folder to fill for `put_in_place`; remove it if it was not renamed."""
    temporary = place / f".{secrets.token_hex(6)}"
    temporary.mkdir(parents=True)
    try:
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def put_in_place(folder: Path, target: Path) -> bool:
    """Rename a filled folder; return False if another process took the name."""
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
    """Read a record that `write_json` wrote.

    Raises:
        RolloutsError: The file is broken or of a newer format.
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
    """Return the time in UTC, in ISO format."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def next_date(abouts: Sequence[tuple[Path, Plain]]) -> str:
    """Return the time, or a time after the newest scoring if the clock was set back.

    Args:
        abouts: The result of `read_abouts`.
    """
    date = now()
    if not abouts or abouts[0][1]["date"] < date:
        return date
    newest = datetime.fromisoformat(abouts[0][1]["date"])
    return (newest + timedelta(milliseconds=1)).isoformat(timespec="milliseconds")


def read_or_warn(path: Path) -> Record | None:
    """Read a record, or log a warning and return None if it cannot be read."""
    try:
        return read_json(path)
    except RolloutsError as error:
        log.warning("%s", error)
        return None


def data_path(folder: Path, data: str) -> Path:
    """Return the path of the rollouts with this hash."""
    return folder / DATA / f"{data}.parquet"


def read_abouts(folder: Path) -> list[tuple[Path, Record]]:
    """Return the folder and the record of each scoring, newest first.

    Unreadable ones are left out with a warning. Scorings without a number get the next
    ones in the order of their dates.
    """
    abouts = _read_as_written(folder)
    highest: Counter[str] = Counter()
    for _, about in abouts:
        version = about["version"]
        highest[version] = max(highest[version], about.get(RUN_NUMBER, 0))
    for _, about in reversed(abouts):
        if RUN_NUMBER not in about:
            highest[about["version"]] += 1
            about[RUN_NUMBER] = highest[about["version"]]
    return abouts


def _read_as_written(folder: Path) -> list[tuple[Path, Record]]:
    """Return the folder and the record of each scoring as written, newest first."""
    abouts = []
    for path in (folder / SCORED).glob(f"[!.]*/{ABOUT}"):
        about = read_or_warn(path)
        if about is not None:
            abouts.append((path.parent, about))
    return sorted(abouts, key=lambda item: (item[1]["date"], item[0]), reverse=True)


def write_numbers(folder: Path) -> None:
    """Write the numbers of scorings that were kept without a number."""
    without = {
        path for path, about in _read_as_written(folder) if RUN_NUMBER not in about
    }
    for path, about in read_abouts(folder) if without else ():
        version = folder / VERSIONS / about["version"]
        if path in without and version.is_dir():
            write_json(path / ABOUT, about)
            (version / NUMBERS).mkdir(exist_ok=True)
            (version / NUMBERS / str(about[RUN_NUMBER])).touch()


def take_number(
    folder: Path, version: str, abouts: Sequence[tuple[Path, Plain]]
) -> int:
    """Reserve a number for a scoring of a version.

    Only one process can create the file of a number. The file remains when the scoring
    is deleted, so the number is never reused. `abouts` come from `read_abouts`.
    """
    place = folder / VERSIONS / version / NUMBERS
    place.mkdir(exist_ok=True)
    numbers = [int(path.name) for path in place.iterdir() if path.name.isdecimal()]
    numbers += [about[RUN_NUMBER] for _, about in abouts if about["version"] == version]
    number = max(numbers, default=0)
    while True:
        number += 1
        with suppress(FileExistsError):
            (place / str(number)).touch(exist_ok=False)
            return number


def find_scored(name: str | Path, folder: Path) -> Path | None:
    """Return the file or folder of this name, else the newest scoring with the name.

    None without either, such as for an unknown tag.

    Raises:
        RolloutsError: The name is a version that does not exist, is broken, or is of a
            newer format.
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
    if is_scoring_name(name):
        path = folder / VERSIONS / name / ABOUT
        if path.exists():
            read_json(path)  # raises if it cannot be read
        raise RolloutsError(
            f"there is no run {name!r} in {str(folder)!r}, nor a file of that name; it "
            f"has {list(dict.fromkeys(names))} (rewardkit runs)"
        )
    return None


def scoring_names(abouts: Sequence[tuple[Path, Plain]]) -> dict[Path, str]:
    """Return the unique name of each scoring, by its folder.

    The name is version and number, such as "v3.1", or "v3" if the version has only its
    first scoring.

    Args:
        abouts: The result of `read_abouts`.
    """
    counts = Counter(about["version"] for _, about in abouts)
    names = {}
    for path, about in abouts:
        version, number = about["version"], about[RUN_NUMBER]
        is_alone = counts[version] == 1 and number == 1
        names[path] = version if is_alone else f"{version}.{number}"
    return names
