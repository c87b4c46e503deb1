"""Where the notebooks and data that come with rewardkit are: in the wheel, or at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

from rewardkit.errors import InputError

GALLERY = "gallery:"


def bundled(relative: str) -> Path:
    """The path of a bundled file, such as "notebooks/01_build.ipynb". InputError: there is none."""
    package = Path(__file__).parent
    for place in (package / "bundled", package.parent):
        if (place / relative).exists():
            return place / relative
    raise InputError(
        f"rewardkit comes without {relative!r}; install it from its wheel or from a whole checkout"
    )


def resolve(source: str | Path, file: str) -> Path:
    """A path as it is, or for "gallery:arithmetic" the bundled `file` of that name.

    `file` is "rollouts.jsonl" or "cases.jsonl".
    """
    if isinstance(source, str) and source.startswith(GALLERY):
        name = source.removeprefix(GALLERY).partition(".")[0]
        return bundled(f"data/{name}/{file}")
    return Path(source)
