"""The forms of logs that are known, and which of them a source is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.logs import inspect, table, trl, verifiers, verl
from rewardkit.rollouts.logs.log import Form, Log, Logged, take_scores
from rewardkit.rollouts.source import Source

FORMS = (
    inspect.LOG,
    trl.COMPLETIONS,
    verl.SIIRL,
    verl.DUMP,
    verifiers.TRACES,
    verifiers.RESULTS,
    table.TABLE,
)
"""In the order in which they are tried."""


def read_log(
    parts: Sequence[Source], *, keep: Collection[str] = ()
) -> tuple[str, Log, Logged]:
    """Recognise the form of a log by its columns, and read it and its scores.

    `keep` are columns that a person gave a meaning: they are no scores. RolloutsError:
    files of several forms or of different things, a data set without completions.
    """
    filled = [part for part in parts if len(part.rejected) < len(part.places)]
    forms = list(dict.fromkeys(map(_form, filled))) or [table.TABLE]
    if len(forms) > 1:
        names = ", ".join(form.name for form in forms)
        raise RolloutsError(
            f"the folder holds logs of several forms ({names}); give one of them"
        )
    if forms == [table.TABLE]:
        _check_alike(filled)
    return forms[0].name, *take_scores(forms[0].read(Source.joined(parts), keep))


def _form(part: Source) -> Form:
    return next(
        form for form in FORMS if form.name == part.form or form.fits(part.columns)
    )


def _check_alike(parts: Sequence[Source]) -> None:
    """RolloutsError where files of one folder have not the same canonical columns."""
    known: dict[str, list[str]] = {
        part.places[0].file: [
            name for name in ALIASES if part.columns.keys() & set(ALIASES[name])
        ]
        for part in parts
    }
    for (before, those), (file, these) in pairwise(known.items()):
        if these != those:
            raise RolloutsError(
                f"the files of the folder hold different things: {before!r} has "
                f"{those}, {file!r} has "
                f"{these}; give one of them, or a folder of like files"
            )
