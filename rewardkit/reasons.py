"""Reasons why a row has no score: a code with details, rendered as a sentence last.

From the call to the table, a Reason takes the place of the missing value.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from enum import Enum
from typing import Any

PARSERS = ("json.loads", "float")
"""Functions that parse a text into a dict, a list or a number."""

HIDDEN = "[redacted]"
"""Replacement for text from a user's function or a completion."""


class ReasonCode(Enum):
    """The kind of cause that kept a row from being scored."""

    RAISED = "raised"
    LATE = "late"
    PROCESS_ENDED = "process_ended"
    NOT_TRIED = "not_tried"
    OUT_OF_RANGE = "out_of_range"
    NOT_FINITE = "not_finite"
    WRONG_TYPE = "wrong_type"
    WRONG_LENGTH = "wrong_length"
    NOT_A_LIST = "not_a_list"
    NOT_A_DECISION = "not_a_decision"
    CANNOT_SEND = "cannot_send"
    LACKS_KEY = "lacks_key"
    NOT_JUDGED = "not_judged"
    RETURNED_NONE = "returned_none"
    FIELD_ABSTAINED = "field_abstained"
    SCORE_MISSING = "score_missing"
    GATE_UNDECIDED = "gate_undecided"
    REWARD_GATE_UNDECIDED = "reward_gate_undecided"
    GATE_WAS_CLOSED = "gate_was_closed"
    NEEDS_SIBLINGS = "needs_siblings"
    NO_ROUTE = "no_route"
    NO_LABEL = "no_label"


REASON_SENTENCES = {
    ReasonCode.RAISED: "{error}{message}{where}{unparsed}",
    ReasonCode.LATE: "took longer than {seconds:g} s",
    ReasonCode.PROCESS_ENDED: "ended its process ({ending})",
    ReasonCode.NOT_TRIED: (
        "was not tried, as calls before it took longer than {seconds:g} s"
    ),
    ReasonCode.OUT_OF_RANGE: "out of range: returned {value}; its range is {expected}",
    ReasonCode.NOT_FINITE: (
        "returned {value}; a score must be finite (return None for 'not judged')"
    ),
    ReasonCode.WRONG_TYPE: (
        "returned {value} of type {type_name}; "
        "a component returns a number, a bool or None"
    ),
    ReasonCode.WRONG_LENGTH: "returned {returned} values for {rows} completions",
    ReasonCode.NOT_A_LIST: "returned {value}, not a list of {expected}{aside}",
    ReasonCode.NOT_A_DECISION: (
        "its predicate returned {value}; a predicate returns True, False or None"
    ),
    ReasonCode.CANNOT_SEND: (
        "returned what cannot be sent back from a worker process "
        "({words}); return plain values, or score without a time limit or workers"
    ),
    ReasonCode.LACKS_KEY: "{words}",
    ReasonCode.NOT_JUDGED: "{words}",
    ReasonCode.RETURNED_NONE: "returned None{message}",
    ReasonCode.FIELD_ABSTAINED: "",
    ReasonCode.SCORE_MISSING: "asks for the score of {names}, which is missing",
    ReasonCode.GATE_UNDECIDED: "its gate needs {names}, which is missing",
    ReasonCode.REWARD_GATE_UNDECIDED: "the gate on the whole reward has no value",
    ReasonCode.GATE_WAS_CLOSED: "behind a gate that was closed when it was scored",
    ReasonCode.NEEDS_SIBLINGS: "needs the siblings of its group",
    ReasonCode.NO_ROUTE: "no reward for {column}={value}",
    ReasonCode.NO_LABEL: "it has no label",
}

ABSTENTIONS = frozenset(
    {
        ReasonCode.NOT_JUDGED,
        ReasonCode.RETURNED_NONE,
        ReasonCode.FIELD_ABSTAINED,
        ReasonCode.SCORE_MISSING,
        ReasonCode.GATE_UNDECIDED,
        ReasonCode.REWARD_GATE_UNDECIDED,
        ReasonCode.GATE_WAS_CLOSED,
        ReasonCode.NO_ROUTE,
    }
)
"""Reasons for not judging a row although nothing failed."""


@dataclass(frozen=True)
class Reason:
    """The reason why a row has no score; `str(reason)` is the sentence.

    Only `words` and `value` may quote a completion: `words` is the message of a
    function, `value` the repr of its result. `error` is the type of an exception,
    `place` the user's line that raised it. `type_name` is the type of a wrong result,
    `expected` describes a right one. `names` are the missing columns, fields or
    components. If an exception came from using a text column as another type, `names`
    has that column and `expected` the parser to use, one of `PARSERS`. `passed_by`
    lists the fields that failed with this reason before it reached the component, the
    outermost first; "" stands for the component's own gate.
    """

    code: ReasonCode
    words: str = ""
    value: str = ""
    error: str = ""
    place: str = ""
    type_name: str = ""
    expected: str = ""
    ending: str = ""
    """Exit status or signal of the process that ended during a call."""
    seconds: float = 0.0
    returned: int = 0
    """Length of a returned list that should have had `rows` values."""
    rows: int = 0
    names: tuple[str, ...] = ()
    passed_by: tuple[str, ...] = ()

    def __str__(self) -> str:
        sentence = REASON_SENTENCES[self.code].format(
            words=self.words,
            value=self.value,
            error=self.error,
            type_name=self.type_name,
            expected=self.expected,
            ending=self.ending,
            seconds=self.seconds,
            returned=self.returned,
            rows=self.rows,
            names=", ".join(map(repr, self.names)),
            column=self.names[0] if self.names else "",
            message=f": {self.words}" if self.words else "",
            aside=f" ({self.words})" if self.words else "",
            where=f" ({self.place})" if self.place else "",
            unparsed=self._unparsed,
        )
        for name in reversed(self.passed_by):
            step = f"field {name!r}" if name else "its gate"
            sentence = f"{step} failed: {sentence}"
        return sentence

    @property
    def _unparsed(self) -> str:
        """Say how to parse a text that was used as another type, or return ""."""
        if not self.names or self.expected not in PARSERS:
            return ""
        name = self.names[0]
        return f"; {name} is str; parse it with {self.expected}({name})"

    @property
    def title(self) -> str:
        """Return the type of the exception, or the code in words."""
        return self.error or self.code.value.replace("_", " ")

    @property
    def is_abstention(self) -> bool:
        """Return whether the row was not judged, as opposed to failed."""
        return self.code in ABSTENTIONS and not self.passed_by

    @property
    def is_out_of_time(self) -> bool:
        """Return whether the call ran out of time, or was skipped after late ones."""
        return self.code in (ReasonCode.LATE, ReasonCode.NOT_TRIED)

    @property
    def is_infinite(self) -> bool:
        """Return whether the component's own score was infinite."""
        if self.passed_by:
            return False
        return self.code is ReasonCode.NOT_FINITE and self.value in ("inf", "-inf")

    @property
    def is_undecided_gate(self) -> bool:
        """Return whether a gate without a value kept the component from running."""
        undecided = (ReasonCode.GATE_UNDECIDED, ReasonCode.REWARD_GATE_UNDECIDED)
        return self.code in undecided or self.passed_by[:1] == ("",)

    def passed_on(self, name: str) -> Reason:
        """Return the reason for a dependent of field `name`, or of the gate ("")."""
        return replace(self, passed_by=(name, *self.passed_by))

    def redacted(self) -> Reason:
        """Return the reason without text from a function or a completion."""
        if self.code is ReasonCode.NOT_FINITE:  # inf, -inf or nan
            return self
        words = HIDDEN if self.words else ""
        return replace(self, words=words, value=HIDDEN if self.value else "")

    def shortened(self, longest: int = 200) -> Reason:
        """Return the reason with its `words` cut to `longest` characters."""
        if len(self.words) <= longest:
            return self
        return replace(self, words=f"{self.words[: longest - 3]}...")

    def record(self) -> dict[str, Any]:
        """Return the reason as plain data: its code and the details that are set."""
        details = {item.name: getattr(self, item.name) for item in fields(self)}
        present = {name: detail for name, detail in details.items() if detail}
        return {**present, "code": self.code.value}

    def to_json(self) -> str:
        """Return the reason as compact JSON that `from_json` reads.

        >>> Reason(ReasonCode.LATE, seconds=5.0).to_json()
        '{"code":"late","seconds":5.0}'
        """
        return json.dumps(self.record(), separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Reason:
        """Read the text that `to_json` wrote.

        >>> str(Reason.from_json('{"code":"late","seconds":5.0}'))
        'took longer than 5 s'
        """
        details = json.loads(text)
        for name in ("names", "passed_by"):
            details[name] = tuple(details.get(name, ()))
        return cls(**{**details, "code": ReasonCode(details["code"])})


def read_reasons(texts: Iterable[Any]) -> list[Reason | None]:
    """Read a column written by `Reason.to_json`; None and NaN mean no reason."""
    texts = list(texts)
    distinct = {text for text in texts if isinstance(text, str)}
    reasons = {text: Reason.from_json(text) for text in distinct}
    return list(map(reasons.get, texts))
