"""Where the notebooks and data that come with rewardkit are: in the wheel, or at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

from rewardkit.errors import InputError

GALLERY = "gallery:"


def bundled(relative: str) -> Path:
    """The path of a bundled file, such as "notebooks/01_build.ipynb". InputError: there is none."""
    package = Path(__file__).parent.parent
    for place in (package / "bundled", package.parent):
        if (place / relative).exists():
            return place / relative
    raise InputError(
        f"rewardkit comes without {relative!r}; install it from its wheel or from a whole checkout"
    )


def resolve(source: str | Path, file: str) -> Path:
    """A path as it is, or for "gallery:arithmetic" the bundled `file` of that name.

    `file` is "rollouts.jsonl" or "cases.jsonl". InputError: the gallery has none of that name.
    """
    if not isinstance(source, str) or not source.startswith(GALLERY):
        return Path(source)
    name = source.removeprefix(GALLERY).partition(".")[0]
    data = bundled("data")
    places = [data / name / file, *([data / "gallery" / f"{name}.jsonl"] if file == "cases.jsonl" else [])]
    for place in places:
        if place.is_file():
            return place
    raise InputError(f"the gallery has no {file.removesuffix('.jsonl')} for {name!r}")
