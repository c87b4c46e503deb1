"""Where bundled notebooks and data are: in the wheel, or at the top of a checkout."""

from __future__ import annotations

from pathlib import Path

from rewardkit.errors import InputError, did_you_mean

GALLERY = "gallery:"


def bundled(relative: str) -> Path:
    """Return the path of a bundled file, such as "notebooks/01_build.ipynb".

    InputError: there is none.
    """
    package = Path(__file__).parent.parent
    for place in (package / "bundled", package.parent):
        if (place / relative).exists():
            return place / relative
    raise InputError(
        f"rewardkit comes without {relative!r}; install it from its wheel or from a "
        "whole checkout"
    )


def resolve(source: str | Path, file: str) -> Path:
    """Return a path as it is, or for "gallery:arithmetic" the bundled `file`.

    `file` is "rollouts.jsonl" or "cases.jsonl". InputError: the gallery has none of
    that name.
    """
    if not isinstance(source, str) or not source.startswith(GALLERY):
        return Path(source)
    name, known = source.removeprefix(GALLERY).partition(".")[0], files_of(file)
    if name in known:
        return known[name]
    raise InputError(
        f"the gallery has no {file.removesuffix('.jsonl')} for {name!r}; it has "
        f"{list(known)}{did_you_mean(name, list(known))}"
    )


def files_of(file: str) -> dict[str, Path]:
    """List the names of the gallery's bundled "rollouts.jsonl" or "cases.jsonl"."""
    data = bundled("data")
    known = {path.parent.name: path for path in sorted(data.glob(f"*/{file}"))}
    others = sorted(data.glob("gallery/*.jsonl")) if file == "cases.jsonl" else []
    return known | {path.stem: path for path in others}
