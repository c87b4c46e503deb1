"""Session: the connection, budget, deadline and cache that judges of a server share.

All calls of a process run on one event loop in a separate thread, whether a trainer, a
notebook or a script waits for them.
"""

from __future__ import annotations

import asyncio
import math
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from rewardkit.errors import InputError
from rewardkit.judges.cache import (
    Cache,
    answer_key,
    cache_file,
    read_recorded,
    server_name,
)
from rewardkit.judges.connection import Connection
from rewardkit.judges.limits import Limits
from rewardkit.rollouts.chat import KEY, NO_KEY, Server
from rewardkit.scoring.awaiting import event_loop

T = TypeVar("T")
Tokens = tuple[int, int]  # of the question, of the answer

OPENAI_URL = "https://api.openai.com/v1"
ADDRESS = "OPENAI_BASE_URL"
LONGEST_ANSWER = 100_000
"""Most characters of an answer. Our choice: a level and its reason take a few
hundred."""
ANSWER_EXCERPT = 200
"""Most characters shown of a refusal, or of an answer that is too long."""
REPEAT = "Answer again, with JSON that fits the schema and nothing else."


@dataclass(frozen=True)
class ModelAnswer:
    """The result of a request: a text and its parsed value, or an error.

    `failed` is the error, or "". `tokens` counts all calls made for the request now.
    """

    text: str = ""
    value: Any = None
    failed: str = ""
    tokens: Tokens = (0, 0)
    cached: bool = False


@dataclass
class Spent:
    """The used part of a run's limits.

    `deadline` is a time of the monotonic clock, as of the event loop, or None.
    `in_vain` maps the key of a request to the reason why its answer, which had a cost,
    is unusable; equal requests of siblings are then not sent again.
    """

    deadline: float | None = None
    cost: float = 0.0
    in_vain: dict[str, str] = field(default_factory=dict)


class Session:
    """The calls to one model.

    Use `session_of`, which makes one session per server, model, limits and cache.
    """

    def __init__(
        self,
        connect: type[Connection],
        base_url: str | None,
        model: str,
        limits: Limits,
        recorded: str | None,
        cached: bool,
    ) -> None:
        self.offline = bool(recorded) and base_url is None
        self.limits = limits
        url = base_url or os.environ.get(ADDRESS, "").strip() or OPENAI_URL
        server = Server(url, model, limits.timeout, retries=0)
        self.connection = connect(server, limits)
        self.name = server_name(url)
        if server.key == NO_KEY and url == OPENAI_URL and not self.offline:
            raise InputError(
                f"there is no key: set {KEY}, or give base_url= of a server that "
                "needs none"
            )
        self.free = asyncio.Semaphore(limits.concurrency)
        self.recorded = read_recorded(recorded) if recorded else {}
        path = cache_file() if cached else None
        self.cache = Cache(path) if path else None
        self.locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.spent = self.new_run()

    def new_run(self) -> Spent:
        """Return the record of a run that begins now."""
        deadline = self.limits.run_deadline
        if deadline is not None:
            deadline += time.monotonic()
        return Spent(deadline)

    def begin(self) -> None:
        """Start a run: its deadline and budget count from here.

        If the server is not reachable, the run uses only cached and recorded answers.

        InputError: the server has no such model; it is not reachable, or refuses the
        key, and no answer is cached or recorded.
        """
        if self.offline:
            return
        connection = self.connection
        connection.load_client()  # slow, and not part of the server's time
        connection.reset()
        self.spent = self.new_run()
        try:
            limits = self.limits
            connection.reach(min(limits.timeout, limits.run_deadline or math.inf))
        except InputError:
            is_cached = self.cache is not None and self.cache.has_answers(self.name)
            if not (connection.is_ended and (is_cached or self.recorded)):
                raise

    async def ask(
        self, request: Mapping[str, Any], sample: int, reader: Callable[[str], Any]
    ) -> ModelAnswer:
        """Return the answer to a request; `reader` raises a ValueError for a bad one.

        Recorded and cached answers are used first. Equal requests differ by the number
        of their `sample`.
        """
        request = {"model": self.connection.server.model, **request}
        key = answer_key(request, sample)
        lock = self.locks.setdefault(key, asyncio.Lock())
        async with lock:  # an equal request of a sibling waits for the answer
            record = self.recorded.get(key)
            if not record and self.cache is not None:
                record = self.cache.get(self.name, key)
            if record:
                text = record["text"]
                try:
                    return ModelAnswer(text, reader(text), cached=True)
                except ValueError as error:
                    return ModelAnswer(
                        failed=f"the recorded answer cannot be used: {error}"
                    )
            if self.offline:
                reason = (
                    "there is no recorded answer, and no base_url of a server to ask"
                )
                return ModelAnswer(failed=reason)
            if key in self.spent.in_vain:
                return ModelAnswer(failed=self.spent.in_vain[key])
            answer = await self.readable_answer(request, reader)
            if answer.failed and any(answer.tokens):
                self.spent.in_vain[key] = answer.failed
            elif not answer.failed and self.cache is not None:
                entry = {"text": answer.text, "tokens": answer.tokens}
                self.cache.put(self.name, key, entry)
            return answer

    async def readable_answer(
        self, request: Mapping[str, Any], reader: Callable[[str], Any]
    ) -> ModelAnswer:
        """Ask for an answer that `reader` can parse; ask a second time if it cannot.

        Tokens are the sum of both calls. `failed` says why there is no such answer.
        """
        answer = await self.call(request)
        for is_last in (False, True):
            if answer.failed:
                break
            try:
                return replace(answer, value=reader(answer.text))
            except ValueError as error:
                fault = str(error)
            if is_last:
                reason = f"the answer cannot be used, nor a second one: {fault}"
                return replace(answer, failed=reason)
            repair = f"This answer cannot be used: {fault}. {REPEAT}"
            messages = [
                *request["messages"],
                {"role": "assistant", "content": answer.text},
                {"role": "user", "content": repair},
            ]
            second = await self.call({**request, "messages": messages})
            tokens = zip(answer.tokens, second.tokens, strict=True)
            question, reply = map(sum, tokens)
            answer = replace(second, tokens=(question, reply))
        return answer

    async def call(self, request: Mapping[str, Any]) -> ModelAnswer:
        """Return one unparsed answer of the server, after retries if necessary.

        The run's deadline includes waiting for a free call and for the rate limits, all
        attempts, and the time between them.
        """
        run = asyncio.timeout_at(self.spent.deadline)
        try:
            async with run, self.free:
                if reason := self.end_reason():
                    return ModelAnswer(failed=reason)
                async with asyncio.timeout(self.limits.call_deadline):
                    columns = await self.connection.ask(request)
        except TimeoutError:
            if run.expired():
                return ModelAnswer(failed=self.late_reason)
            seconds = self.limits.call_deadline
            reason = f"there was no answer within {seconds:g} s"
            if self.connection.is_failing:
                self.connection.count_failed_question(reason)
            return ModelAnswer(failed=reason)
        except Exception as error:  # whatever the client or the server does
            return ModelAnswer(failed=self.connection.failure(error))
        tokens = (
            _count(columns["prompt_tokens"]),
            _count(columns["completion_tokens"]),
        )
        self.spent.cost += self.limits.cost(tokens) or 0.0
        text = columns["completion"] or ""
        reason = ""
        if refusal := columns.get("refusal"):
            text = str(refusal)
            reason = f"the judge refuses: {text[:ANSWER_EXCERPT]}"
        elif columns["finish_reason"] == "length":
            reason = (
                "the answer was cut off by max_tokens; give the judge more, in options="
            )
        elif len(text) > LONGEST_ANSWER:
            reason = f"the answer has {len(text):,} characters, which no verdict has"
            text = text[:ANSWER_EXCERPT]
        return ModelAnswer(text, failed=reason, tokens=tokens)

    @property
    def late_reason(self) -> str:
        """Why calls fail after the run's deadline."""
        return f"the run has had its {self.limits.run_deadline:g} s"

    def end_reason(self) -> str:
        """Return why this run makes no further call, or ""."""
        limits = self.limits
        spent = self.spent
        if self.connection.is_ended:
            return self.connection.ended
        if limits.budget is not None and spent.cost >= limits.budget:
            return f"the budget of {limits.budget:g} is used up"
        if spent.deadline is not None and time.monotonic() >= spent.deadline:
            return self.late_reason
        return ""


def _count(tokens: Any) -> int:
    """Return the count of tokens in a server's answer, 0 if it has none."""
    return tokens if type(tokens) is int and tokens > 0 else 0


@cache
def _opened(environment: tuple[Any, ...], *settings: Any) -> Session:
    return Session(*settings)


def session_of(*settings: Any) -> Session:
    """Return this process's session for the settings and the environment.

    InputError: invalid settings, no key.
    """
    names = (os.environ.get(KEY), os.environ.get(ADDRESS))
    return _opened((os.getpid(), *names, cache_file()), *settings)


async def in_session(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of the sessions, and wait for it."""
    loop = event_loop(os.getpid(), "judges")
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))
