"""AskingServer and ModelJudge: the bases of judges that ask a model on a server."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated, Any

from rewardkit.judges.limits import Limits
from rewardkit.judges.questions import named_columns
from rewardkit.judges.session import Answer, Session, in_session, session_of
from rewardkit.primitives.primitive import Primitive
from rewardkit.rollouts.chat import KEY

DEFAULT = Limits()
MAX_TOKENS = 1000
"""Of an answer, where options= say nothing else.

Our choice: a reason takes some hundred, thoughts more.
"""


def _column_names(option: str, value: Any) -> Any:
    """Return the names as a tuple.

    ValueError: there are none, or one cannot be a parameter.
    """
    names = () if isinstance(value, str) else tuple(value)
    if not names or not all(
        isinstance(name, str) and name.isidentifier() for name in names
    ):
        raise ValueError(
            f"{option}={value!r} does not fit; give names of columns, such as "
            "['completion']"
        )
    return names


def _address(option: str, value: Any) -> Any:
    """Return the address.

    ValueError: a password or key stands in it, which records would show.
    """
    if set("@?") & set(str(value)):
        raise ValueError(
            f"{option}= holds a password or key, which records would show; set {KEY} "
            "instead"
        )
    return value


def _request_options(option: str, value: Any) -> Any:
    """Options of a request.

    ValueError: they are no JSON, or one is the judge's own to set.
    """
    own = {"model", "messages", "response_format", "stream", "n", "seed"}
    try:
        plain = json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict) or own & set(plain):
        raise ValueError(
            f"{option}={value!r} does not fit; give JSON such as {{'temperature': "
            f"1.0}}, without "
            f"{', '.join(sorted(own))}"
        )
    return dict(value)


class AskingServer(Primitive):
    """Base of what asks a model on a server: calls at a time, answers, cost."""

    asks_model = True
    limits: Limits

    @property
    def factory(self) -> str:
        """How people write it."""
        return f"rk.judges.{type(self).__name__}"

    @property
    def concurrency(self) -> int:
        """How many calls are under way."""
        return self.limits.concurrency

    @property
    def unbounded(self) -> bool:
        """Whether no budget ends what its calls may cost."""
        return self.limits.budget is None

    @property
    def session(self) -> Session:
        """Its calls, with those of the other judges that share its settings."""
        raise NotImplementedError

    def prepare(self) -> None:
        """Start a run.

        InputError: no key, no server, no such model, a cache that cannot be written.
        """
        self.session.begin()

    async def answers(
        self, requests: Sequence[tuple[Mapping[str, Any], int, Any]]
    ) -> list[Answer]:
        """Return the answer to each (request, number of sample, reader of its text)."""
        session = self.session

        async def every() -> list[Answer]:
            return list(
                await asyncio.gather(*(session.ask(*request) for request in requests))
            )

        return await in_session(every())

    def paid(self, answers: Sequence[Answer], share: int = 1) -> dict[str, Any]:
        """Return what a verdict says of its calls: tokens, cost, and if all are cached.

        `share` is how many verdicts they are for, each of which has an equal part.
        """
        tokens = [sum(answer.tokens[side] for answer in answers) for side in (0, 1)]
        cost = self.limits.cost((tokens[0], tokens[1]))
        return {
            "tokens": [count / share for count in tokens] if share > 1 else tokens,
            "cost": None if cost is None else cost / share,
            "cached": all(answer.cached for answer in answers),
        }


@dataclass(frozen=True, repr=False, eq=False)
class ModelJudge(AskingServer):
    """Base of judges by a rubric: settings, shown columns, and requests."""

    rubric: str
    _: KW_ONLY
    model: str
    base_url: Annotated[str, _address] | None = None
    inputs: Annotated[tuple[str, ...], _column_names] = ("prompt", "completion")
    limits: Limits = DEFAULT
    options: Annotated[Mapping[str, Any], _request_options] | None = None
    cache: bool = True
    recorded: str | None = None

    @property
    def unbounded(self) -> bool:
        return super().unbounded and not (self.recorded and self.base_url is None)

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The texts in which columns may be named."""
        return (self.rubric,)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that the model is shown: the inputs, and those of a rubric."""
        return tuple(dict.fromkeys([*self.inputs, *named_columns(*self.rubrics)]))

    @property
    def __signature__(self) -> inspect.Signature:
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature(
            [inspect.Parameter(name, keyword) for name in self.columns]
        )

    @property
    def session(self) -> Session:
        return session_of(
            Session, self.base_url, self.model, self.limits, self.recorded, self.cache
        )

    def request(
        self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Make a request for an answer of this schema."""
        form = {"name": "verdict", "strict": True, "schema": schema}
        own = {"temperature": 0.0, "max_tokens": MAX_TOKENS, **(self.options or {})}
        return {
            "messages": list(messages),
            "response_format": {"type": "json_schema", "json_schema": form},
            **{name: value for name, value in own.items() if value is not None},
        }
