"""Session: what judges of a server share: client, limits, budget, cache.

All calls of a process are made on one event loop in a thread of its own, whoever waits
for them: a trainer, a notebook or a script. Sessions live there.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from rewardkit.errors import InputError
from rewardkit.judges.spending import Cache, Limits, cache_file, read_recorded
from rewardkit.rollouts.chat import KEY, NO_KEY, Server, fatal_code, read_answer
from rewardkit.scoring.awaiting import event_loop

T = TypeVar("T")
Tokens = tuple[int, int]  # of the question, of the answer

OPENAI_URL = "https://api.openai.com/v1"
ADDRESS = "OPENAI_BASE_URL"
MINUTE = 60.0  # seconds
AGAIN_SECONDS = 30.0
"""Time after which a server that did not answer is asked again.

Our choice: about what a restart takes.
"""
LONGEST_ANSWER = 100_000
"""Characters of an answer that is read.

Our choice: a level and its reason take a few hundred.
"""
ANSWER_EXCERPT = 200
"""Characters shown of a refusal, or of an answer that is too long."""
REPEAT = "Answer again, with JSON that fits the schema and nothing else."
SCHEMA_WORDS = ("response_format", "json_schema", "structured output", "guided")
"""By which the sentence of a server tells that it does not take a schema."""


@dataclass(frozen=True)
class ModelAnswer:
    """What came of a request: a text and what its reader made of it, or an error.

    `failed` is empty where there is one. `tokens` are those of all calls that were made
    for it now.
    """

    text: str = ""
    value: Any = None
    failed: str = ""
    tokens: Tokens = (0, 0)
    cached: bool = False


@dataclass
class Spent:
    """What a run has used of its limits.

    `ended` says why no further call is made, up to the time `until` of the monotonic
    clock. `in_vain` says by key why an answer that was paid for is no verdict, for the
    siblings of its row.
    """

    began: float = field(default_factory=time.monotonic)
    cost: float = 0.0
    ended: str = ""
    until: float = math.inf
    in_vain: dict[str, str] = field(default_factory=dict)


def schema_form(response_format: Mapping[str, Any], attempt: int) -> Any:
    """Return a way to ask for a schema: OpenAI's, llama-cpp-python's, then none."""
    if attempt == 0:
        return response_format
    if attempt == 1:
        schema = response_format["json_schema"]["schema"]
        return {"type": "json_object", "schema": schema}
    return None


def refuses_schema(status: int, text: str) -> bool:
    """Return whether an error means that a server does not take this schema."""
    return status in (400, 422, 500) and any(word in text for word in SCHEMA_WORDS)


class Session:
    """Calls to one model.

    Made by `session_of`, once for each server, model, limits and cache.
    """

    def __init__(
        self,
        base_url: str | None,
        model: str,
        limits: Limits,
        recorded: str | None,
        cached: bool,
    ) -> None:
        self.offline = bool(recorded) and base_url is None
        self.limits = limits
        self.spent = Spent()
        url = base_url or os.environ.get(ADDRESS, "").strip() or OPENAI_URL
        self.server = Server(url, model, limits.timeout, limits.retries)
        if self.server.key == NO_KEY and url == OPENAI_URL and not self.offline:
            raise InputError(
                f"there is no key: set {KEY}, or give base_url= of a server that "
                "needs none"
            )
        from aiolimiter import AsyncLimiter

        requests = limits.requests_per_minute
        tokens = limits.tokens_per_minute
        # requests are spread evenly
        self.requests = AsyncLimiter(1, MINUTE / requests) if requests else None
        self.tokens = AsyncLimiter(tokens, MINUTE) if tokens else None
        self.free = asyncio.Semaphore(limits.concurrency)
        self.recorded = read_recorded(recorded) if recorded else {}
        path = cache_file() if cached else None
        self.cache = Cache(path) if path else None
        self.models: list[str] | None = None  # None until the server lists them
        self.locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.form = 0  # the first `schema_form` that the server has not refused
        self.client: Any = None

    def begin(self) -> None:
        """Start a run: its deadline and budget count from here.

        InputError: the server is not there, refuses the key, or has no such model.
        """
        self.spent = Spent()
        if self.offline or self.models is not None:
            return
        with self.server.client() as client:
            models = self.server.models(client)
        if others := self.server.others(models):
            raise InputError(
                f"the server at {self.server.address!r} has no model "
                f"{self.server.model!r}{others}"
            )
        self.models = models

    async def ask(
        self, request: Mapping[str, Any], sample: int, reader: Callable[[str], Any]
    ) -> ModelAnswer:
        """Return the answer to a request; `reader` raises a ValueError for a bad one.

        Recorded and cached answers come first. A sample's number tells requests apart
        that are the same.
        """
        request = {"model": self.server.model, **request}
        key = answer_key(request, sample)
        lock = self.locks.setdefault(key, asyncio.Lock())
        async with lock:  # the same request of a sibling waits, and finds the answer
            record = self.recorded.get(key)
            if not record and self.cache is not None:
                record = self.cache.get(key)
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
                self.cache.put(key, {"text": answer.text, "tokens": answer.tokens})
            return answer

    async def readable_answer(
        self, request: Mapping[str, Any], reader: Callable[[str], Any]
    ) -> ModelAnswer:
        """Ask for an answer that `reader` can read, once more where it cannot.

        Tokens are those of both calls; one that failed has its reason in `failed`.
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
        """Return one answer as the server gives it, retries included."""
        async with self.free:
            if reason := self.end_reason():
                return ModelAnswer(failed=reason)
            try:
                await self.turn(request)
                async with asyncio.timeout(self.limits.call_deadline):
                    columns = await self.send(request)
            except TimeoutError:
                return ModelAnswer(
                    failed=f"there was no answer within {self.limits.call_deadline:g} s"
                )
            except Exception as error:  # whatever the client or the server does
                return ModelAnswer(failed=self.failure(error))
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

    async def turn(self, request: Mapping[str, Any]) -> None:
        """Wait until the limits of a minute let this request through."""
        if self.requests:
            await self.requests.acquire()
        if self.tokens:
            options = ("max_tokens", "max_completion_tokens")
            longest = max(float(request.get(option) or 0) for option in options)
            estimate = len(json.dumps(request)) / 4 + longest
            await self.tokens.acquire(min(estimate, self.tokens.max_rate))

    async def send(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Ask once, in the next form of schema where a server refuses one."""
        import openai

        form = self.form
        body = dict(request)
        if "response_format" in body:
            body["response_format"] = schema_form(body["response_format"], form)
        body = {name: value for name, value in body.items() if value is not None}
        try:
            text: str = await self.connected().post(
                "/chat/completions", body=body, cast_to=str
            )
        except openai.APIStatusError as error:
            is_refused = refuses_schema(error.status_code, str(error))
            if "response_format" not in body or not is_refused:
                raise
            # calls under way together are refused together
            self.form = max(self.form, form + 1)
            return await self.send(request)
        return read_answer(text)

    def connected(self) -> Any:
        """Return the client; its repeated calls wait for another turn."""
        import openai

        async def repeated(request: Any) -> None:
            if request.headers.get("x-stainless-retry-count", "0") != "0":
                await self.turn(json.loads(request.content))

        async def refused(response: Any) -> None:
            if response.is_error:
                text = str(await response.aread())
                if refuses_schema(response.status_code, text):
                    response.headers["x-should-retry"] = "false"

        if self.client is None:
            hooks: dict[str, list[Any]] = {"request": [repeated], "response": [refused]}
            self.client = openai.AsyncOpenAI(
                api_key=self.server.key,
                base_url=self.server.base_url,
                timeout=self.server.timeout,
                max_retries=self.server.retries,
                http_client=openai.DefaultAsyncHttpxClient(event_hooks=hooks),
            )
        return self.client

    def failure(self, error: Exception) -> str:
        """Return why a call failed, and end the run if no other call can succeed."""
        fatal = self.server.fatal(error, self.models or [])
        if fatal is None:
            return f"there is no answer: {self.server.reason(error)}"
        gone = fatal_code(error) == "unreachable"  # a trainer's run goes on for days
        self.spent.until = time.monotonic() + AGAIN_SECONDS if gone else math.inf
        self.spent.ended = str(fatal)
        return self.spent.ended

    def end_reason(self) -> str:
        """Return why this run makes no further call, "" while it may."""
        limits = self.limits
        spent = self.spent
        now = time.monotonic()
        if spent.ended and now < spent.until:
            return spent.ended
        if limits.budget is not None and spent.cost >= limits.budget:
            return f"the budget of {limits.budget:g} is used up"
        if limits.run_deadline is not None and now - spent.began > limits.run_deadline:
            return f"the run has had its {limits.run_deadline:g} s"
        return ""


def _count(tokens: Any) -> int:
    """Return a count of tokens as a server gives it, else 0."""
    return tokens if type(tokens) is int and tokens > 0 else 0


def answer_key(request: Mapping[str, Any], sample: int) -> str:
    """Return the cache key: model, messages, options, number of the sample."""
    text = json.dumps([request, sample], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _opened(
    kind: Callable[..., Session], environment: tuple[Any, ...], *settings: Any
) -> Session:
    return kind(*settings)


def session_of(kind: Callable[..., Session], *settings: Any) -> Session:
    """Return the session of these settings and the environment, in this process.

    InputError: settings that cannot be; no key.
    """
    names = (os.environ.get(KEY), os.environ.get(ADDRESS))
    return _opened(kind, (os.getpid(), *names, cache_file()), *settings)


async def in_session(work: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on the loop of the sessions, and wait for it."""
    loop = event_loop(os.getpid(), "judges")
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))
