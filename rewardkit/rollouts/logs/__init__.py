"""The forms of logs that are known, and which of them a source is."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import pairwise

from rewardkit.errors import RolloutsError
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.logs import dumps, inspect, verifiers
from rewardkit.rollouts.logs.log import Form, Logged, ParsedLog, take_scores
from rewardkit.rollouts.values import SourceRows

FORMS = (
    inspect.INSPECT_LOG,
    dumps.TRL_COMPLETIONS,
    dumps.SIIRL_DUMP,
    dumps.VERL_DUMP,
    verifiers.TRACES,
    verifiers.RESULTS,
    dumps.PLAIN_TABLE,
)
"""In the order in which they are tried."""


def read_log(
    parts: Sequence[SourceRows], *, keep: Collection[str] = ()
) -> tuple[str, ParsedLog, Logged]:
    """Recognise the form of a log by its columns, and read it and its scores.

    `keep` are columns that a person gave a meaning: they are no scores. RolloutsError:
    files of several forms or of different things, a data set without completions.
    """
    filled = [part for part in parts if len(part.rejected) < len(part.places)]
    forms = list(dict.fromkeys(map(_form_of, filled))) or [dumps.PLAIN_TABLE]
    if len(forms) > 1:
        names = ", ".join(form.name for form in forms)
        raise RolloutsError(
            f"the folder holds logs of several forms ({names}); give one of them"
        )
    form = forms[0]
    if form is dumps.PLAIN_TABLE:
        _check_alike(filled)
    log, logged = take_scores(form.parse(SourceRows.joined(parts), keep))
    return form.name, log, logged


def _form_of(part: SourceRows) -> Form:
    for form in FORMS:
        if form.name == part.form or form.fits(part.columns):
            return form
    return dumps.PLAIN_TABLE


def _check_alike(parts: Sequence[SourceRows]) -> None:
    """RolloutsError where files of one folder have not the same canonical columns."""
    columns_of = {}
    for part in parts:
        columns_of[part.places[0].file] = [
            name for name in ALIASES if part.columns.keys() & set(ALIASES[name])
        ]
    for (file, columns), (next_file, next_columns) in pairwise(columns_of.items()):
        if columns != next_columns:
            raise RolloutsError(
                f"the files of the folder hold different things: {file!r} has "
                f"{columns}, {next_file!r} has {next_columns}; give one of them, or a "
                "folder of like files"
            )
