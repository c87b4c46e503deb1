"""ModelJudge: what all judges share that ask a model: settings, requests, answers, and what was paid."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from rewardkit.errors import NotJudged
from rewardkit.judges.limits import Limits
from rewardkit.judges.questions import named_columns
from rewardkit.judges.session import Answer, Session, in_session, session_of
from rewardkit.primitives.primitive import Primitive
from rewardkit.rollouts.chat import KEY

__all__ = ["ModelJudge", "address", "column_names", "request_options"]

MAX_TOKENS = 1000
"""Of an answer, where options= say nothing else. Our choice: a reason takes some hundred, thoughts more."""


def column_names(option: str, value: Any) -> Any:
    """The names as a tuple. ValueError: there are none, or one cannot be a parameter."""
    names = () if isinstance(value, str) else tuple(value)
    if not names or not all(isinstance(name, str) and name.isidentifier() for name in names):
        raise ValueError(f"{option}={value!r} does not fit; give names of columns, such as ['completion']")
    return names


def address(option: str, value: Any) -> Any:
    """The address. ValueError: a password or key stands in it, which records would show."""
    if set("@?") & set(str(value)):
        raise ValueError(f"{option}= holds a password or key, which records would show; set {KEY} instead")
    return value


def request_options(option: str, value: Any) -> Any:
    """Options of a request. ValueError: they are no JSON, or one is the judge's own to set."""
    own = {"model", "messages", "response_format", "stream", "n", "seed"}
    try:
        plain = json.loads(json.dumps(value))
    except (TypeError, ValueError, RecursionError):
        plain = None
    if not isinstance(plain, dict) or own & set(plain):
        raise ValueError(
            f"{option}={value!r} does not fit; give JSON such as {{'temperature': 1.0}}, without "
            f"{', '.join(sorted(own))}"
        )
    return dict(value)


class ModelJudge(Primitive):
    """Base of what asks the model of a server: settings, parameters, and where answers are kept."""

    asks_model = True
    model: str
    base_url: str | None
    inputs: tuple[str, ...]
    limits: Limits
    options: Mapping[str, Any] | None
    cache: bool
    recorded: str | None

    @property
    def factory(self) -> str:
        """How people write it."""
        return f"rk.judges.{type(self).__name__}"

    @property
    def concurrency(self) -> int:
        """How many calls are under way."""
        return self.limits.concurrency

    @property
    def rubrics(self) -> tuple[str, ...]:
        """The texts in which columns may be named."""
        raise NotImplementedError

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that the model is shown: the inputs, and those that a rubric names."""
        return tuple(dict.fromkeys([*self.inputs, *named_columns(*self.rubrics)]))

    @property
    def __signature__(self) -> inspect.Signature:
        keyword = inspect.Parameter.KEYWORD_ONLY
        return inspect.Signature([inspect.Parameter(name, keyword) for name in self.columns])

    @property
    def session(self) -> Session:
        """Its calls, with those of the other judges that share its settings."""
        return session_of(self.base_url, self.model, self.limits, self.recorded, self.cache)

    def prepare(self) -> None:
        """Start a run. InputError: no key, no server, no such model, a cache that cannot be written."""
        self.session.begin()

    def request(self, messages: Sequence[Mapping[str, str]], schema: Mapping[str, Any]) -> dict[str, Any]:
        """A request for an answer of this schema."""
        form = {"name": "verdict", "strict": True, "schema": schema}
        own = {"temperature": 0.0, "max_tokens": MAX_TOKENS, **(self.options or {})}
        return {
            "messages": list(messages),
            "response_format": {"type": "json_schema", "json_schema": form},
            **{name: value for name, value in own.items() if value is not None},
        }

    async def answers(
        self, requests: Sequence[tuple[Mapping[str, Any], int, Any]]
    ) -> list[Answer | NotJudged]:
        """The answer to each (request, number of the sample, reader), or why there is none."""
        session = self.session

        async def one(request: Mapping[str, Any], sample: int, read: Any) -> Answer | NotJudged:
            try:
                return await session.ask(request, sample, read)
            except NotJudged as error:
                return error

        async def every() -> list[Answer | NotJudged]:
            return list(await asyncio.gather(*(one(*request) for request in requests)))

        return await in_session(every())

    def paid(self, answers: Sequence[Answer | NotJudged]) -> dict[str, Any]:
        """What a verdict says of the calls behind it: tokens and cost now, and whether all were kept."""
        tokens = [getattr(answer, "tokens", (0, 0)) for answer in answers]
        question, answer = (sum(column) for column in zip((0, 0), *tokens, strict=True))
        kept = all(isinstance(item, Answer) and item.kept for item in answers)
        return {"tokens": [question, answer], "cost": self.limits.cost((question, answer)), "kept": kept}
