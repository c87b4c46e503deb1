"""Session: what all judges of a server share: the client, its limits, the budget, the answers that are kept.

All calls of a process are made on one event loop in a thread of its own, whoever waits for them: a trainer, a
notebook or a script. Sessions live there.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import cache
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from rewardkit.errors import InputError, NotJudged, did_you_mean
from rewardkit.judges.cache import Cache, cache_file, read_recorded
from rewardkit.judges.limits import Limits
from rewardkit.rollouts.chat import KEY, NO_KEY, Server, fatal_code, read_answer
from rewardkit.scoring.calls import event_loop

__all__ = ["Answer", "Session", "in_session", "session_of"]

T = TypeVar("T")

OPENAI = "https://api.openai.com/v1"
MINUTE = 60.0  # seconds
AGAIN_SECONDS = 30.0
"""After which a server that did not answer is tried again. Our choice: about what a restart takes."""
_TIMER: ContextVar[asyncio.Timeout | None] = ContextVar("rewardkit_call_deadline", default=None)
LONGEST_ANSWER = 100_000
"""Characters of an answer that is read. Our choice: a level and its reason take a few hundred."""


Tokens = tuple[int, int]  # of the question, of the answer


@dataclass(frozen=True)
class Answer:
    """What a model answered: its text, what its reader made of that, and the tokens that it took now."""

    text: str
    value: Any
    tokens: Tokens = (0, 0)
    kept: bool = False


class Unusable(NotJudged):
    """There is an answer, for so many tokens, and it is no verdict."""

    def __init__(self, why: str, tokens: Tokens) -> None:
        super().__init__(why)
        self.tokens = tokens


@dataclass
class Spent:
    """What a run has used of its limits."""

    began: float = field(default_factory=time.monotonic)
    cost: float = 0.0
    calls: int = 0
    ended: str = ""
    """Why no further call is made, until a time of the monotonic clock."""
    until: float = math.inf
    unusable: dict[str, str] = field(default_factory=dict)
    """Why the answers under a key were paid for in vain, which siblings need not do again."""


class Session:
    """Calls to one model. Made by `session_of`, once for each server, model, limits and place of answers."""

    def __init__(
        self, base_url: str | None, model: str, limits: Limits, recorded: str | None, keep: bool
    ) -> None:
        self.offline = bool(recorded) and base_url is None
        self.limits, self.spent = limits, Spent()
        url = base_url or os.environ.get("OPENAI_BASE_URL", "").strip() or OPENAI
        self.server = Server(url, model, limits.timeout, limits.retries)
        if self.server.key == NO_KEY and url == OPENAI and not self.offline:
            raise InputError(f"there is no key: set {KEY}, or give base_url= of a server that needs none")
        self.recorded = read_recorded(recorded) if recorded else {}
        path = cache_file() if keep else None
        self.cache = Cache(path) if path else None
        self.models: list[str] | None = None  # known once the server was asked for them
        self.locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self.form = 0  # the first of SCHEMA_FORMS that the server has not refused
        self.free = asyncio.Semaphore(limits.concurrency)
        self.client: Any = None
        self.rates: list[tuple[Any, Callable[[Mapping[str, Any]], float]]] = []

    def begin(self) -> None:
        """Start a run: its deadline and budget count from here.

        InputError: the server is not there, refuses the key, or has no such model.
        """
        self.spent = Spent()
        if self.offline or self.models is not None:
            return
        with self.server.client() as client:
            models = self.server.models(client)
        if models and self.server.model not in models:
            some = ", ".join(map(repr, models[:5])) + (", ..." if len(models) > 5 else "")
            raise InputError(
                f"the server at {self.server.address!r} has no model {self.server.model!r}; it has {some}"
                f"{did_you_mean(self.server.model, models)}"
            )
        self.models = models

    async def ask(self, request: Mapping[str, Any], sample: int, read: Callable[[str], Any]) -> Answer:
        """The answer to a request, by what `read` makes of it (ValueError: it cannot); kept, or asked for.

        A sample's number tells requests apart that are the same. What cannot be read is asked for once more.
        NotJudged: there is no answer, with the reason.
        """
        request = {"model": self.server.model, **request}
        key = answer_key(request, sample)
        lock = self.locks.setdefault(key, asyncio.Lock())
        async with lock:  # the same request of a sibling waits, and finds the answer
            known = self.recorded.get(key) or (self.cache.get(key) if self.cache is not None else None)
            if known:
                try:
                    return Answer(known["text"], read(known["text"]), kept=True)
                except ValueError as problem:
                    raise NotJudged(f"the recorded answer cannot be used: {problem}") from None
            if self.offline:
                raise NotJudged("there is no recorded answer, and no base_url of a server to ask")
            if why := self.spent.unusable.get(key):
                raise NotJudged(why)
            try:
                text, value, tokens = await self.answered(request, read)
            except Unusable as error:
                self.spent.unusable[key] = str(error)
                raise
            if self.cache is not None:
                self.cache.put(key, {"text": text, "tokens": tokens})
            return Answer(text, value, tokens)

    async def answered(
        self, request: Mapping[str, Any], read: Callable[[str], Any]
    ) -> tuple[str, Any, Tokens]:
        """An answer that can be read, the first or a second, and the tokens of both. Unusable: neither."""
        text, tokens = await self.call(request)
        try:
            return text, read(text), tokens
        except ValueError as problem:
            return await self.repaired(request, text, tokens, problem, read)

    async def repaired(
        self,
        request: Mapping[str, Any],
        text: str,
        paid: Tokens,
        problem: ValueError,
        read: Callable[[str], Any],
    ) -> tuple[str, Any, Tokens]:
        """A second answer in place of one with a problem, and the tokens of both. Unusable: nor that."""
        messages = [
            *request["messages"],
            {"role": "assistant", "content": text},
            {"role": "user", "content": f"This answer cannot be used: {problem}. {REPEAT}"},
        ]
        try:
            text, tokens = await self.call({**request, "messages": messages})
            paid = (paid[0] + tokens[0], paid[1] + tokens[1])
            return text, read(text), paid
        except Unusable as error:
            raise Unusable(str(error), (paid[0] + error.tokens[0], paid[1] + error.tokens[1])) from None
        except NotJudged as error:
            raise Unusable(str(error), paid) from None
        except ValueError as error:
            raise Unusable(f"the answer cannot be used, nor a second one: {error}", paid) from None

    async def call(self, request: Mapping[str, Any]) -> tuple[str, Tokens]:
        """The text of one answer, and how many tokens question and answer have. NotJudged: there is none."""
        async with self.free:
            if why := self.ended():
                raise NotJudged(why)
            self.spent.calls += 1
            try:
                async with asyncio.timeout(self.limits.call_deadline) as timer:
                    _TIMER.set(timer)
                    answer = await self.send(request)
            except TimeoutError:
                raise NotJudged(f"there was no answer within {self.limits.call_deadline:g} s") from None
            except Exception as error:  # whatever the client or the server does
                fatal = self.server.fatal(error, self.models or [])
                if fatal:
                    gone = fatal_code(error) == "unreachable"  # a trainer's run goes on for days
                    self.spent.ended = str(fatal)
                    self.spent.until = time.monotonic() + AGAIN_SECONDS if gone else math.inf
                raise NotJudged(
                    str(fatal) if fatal else f"there is no answer: {self.server.reason(error)}"
                ) from None
            tokens = _count(answer["prompt_tokens"]), _count(answer["completion_tokens"])
            self.spent.cost += self.limits.cost(tokens) or 0.0
        text = answer["completion"] or ""
        if answer.get("refusal"):
            raise Unusable(f"the judge refuses: {str(answer['refusal'])[:200]}", tokens)
        if answer["finish_reason"] == "length":
            raise Unusable("the answer was cut off by max_tokens; give the judge more, in options=", tokens)
        if len(text) > LONGEST_ANSWER:
            raise Unusable(f"the answer has {len(text):,} characters, which no verdict has", tokens)
        return text, tokens

    async def send(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """One request and its answer; a server that refuses a form of schema is asked in the next."""
        import openai

        client = self.client = self.client or self.connected()
        form, sent = self.form, dict(request)
        if "response_format" in sent:
            sent["response_format"] = SCHEMA_FORMS[form](sent["response_format"])
        sent = {name: value for name, value in sent.items() if value is not None}
        own = {name: sent.pop(name) for name in ("model", "messages", "response_format") if name in sent}
        try:
            raw = await client.chat.completions.with_raw_response.create(**own, extra_body=sent)
        except openai.APIStatusError as error:
            known = error.status_code in REFUSED and any(word in str(error) for word in SCHEMA_WORDS)
            if "response_format" not in own or not known:
                raise
            self.form = max(self.form, form + 1)  # calls under way together are refused together
            return await self.send(request)
        return read_answer(raw.http_response.text)

    def connected(self) -> Any:
        """The client; each of its attempts waits for its turn under the limits of a minute."""
        import openai
        from aiolimiter import AsyncLimiter

        limits = self.limits
        if limits.requests_per_minute:
            evenly = AsyncLimiter(1, MINUTE / limits.requests_per_minute)
            self.rates.append((evenly, lambda _: 1.0))
        if limits.tokens_per_minute:
            self.rates.append((AsyncLimiter(limits.tokens_per_minute, MINUTE), _tokens))

        async def wait(request: Any) -> None:
            timer, clock = _TIMER.get(), asyncio.get_running_loop().time
            began, when = clock(), timer.when() if timer else None
            if timer and self.rates:
                timer.reschedule(None)  # a call's deadline does not run while it waits for its turn
            for rate, amount in self.rates if request.method == "POST" else ():
                await rate.acquire(min(amount(request), rate.max_rate))
            if timer and when is not None:
                timer.reschedule(when + clock() - began)

        async def refused(response: Any) -> None:
            if response.status_code in REFUSED and b"response_format" in await response.aread():
                response.headers["x-should-retry"] = "false"

        http = openai.DefaultAsyncHttpxClient(event_hooks={"request": [wait], "response": [refused]})
        server = self.server
        return openai.AsyncOpenAI(
            api_key=server.key,
            base_url=server.base_url,
            timeout=server.timeout,
            max_retries=server.retries,
            http_client=http,
        )

    def ended(self) -> str:
        """Why no further call of this run is made; empty where one may be."""
        limits, spent = self.limits, self.spent
        if spent.ended and time.monotonic() < spent.until:
            return spent.ended
        if limits.budget is not None and spent.cost >= limits.budget:
            return f"the budget of {limits.budget:g} is used up"
        if limits.run_deadline is not None and time.monotonic() - spent.began > limits.run_deadline:
            return f"the run has had its {limits.run_deadline:g} s"
        return ""


REPEAT = "Answer again, with JSON that fits the schema and nothing else."
SCHEMA_FORMS: tuple[Callable[[Mapping[str, Any]], Any], ...] = (
    lambda form: form,
    lambda form: {"type": "json_object", "schema": form["json_schema"]["schema"]},
    lambda form: None,
)
"""Ways to say what an answer has to be: OpenAI's, that of llama-cpp-python's server, and not at all."""

REFUSED = (400, 422, 500)
"""Status by which a server refuses a form of schema; 500 is llama-cpp-python's."""

SCHEMA_WORDS = ("response_format", "json_schema", "structured output", "guided")


def _count(tokens: Any) -> int:
    """A count of tokens as a server gives it; what is none counts 0."""
    return tokens if type(tokens) is int and tokens > 0 else 0


def _tokens(request: Any) -> float:
    """About how many tokens a request takes: a quarter of its characters, and the most that it may answer."""
    body = bytes(request.content)
    try:
        asked = json.loads(body)
    except ValueError:
        asked = {}
    return len(body) / 4 + float(asked.get("max_tokens") or asked.get("max_completion_tokens") or 0)


def answer_key(request: Mapping[str, Any], sample: int) -> str:
    """What an answer is kept under: the model, the messages, the options, and the number of the sample."""
    text = json.dumps([request, sample], sort_keys=True, ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


@cache
def _session(
    process: int,
    base_url: str | None,
    model: str,
    limits: Limits,
    recorded: str | None,
    keep: bool,
    *environment: str | None,
) -> Session:
    return Session(base_url, model, limits, recorded, keep)


def session_of(base_url: str | None, model: str, limits: Limits, recorded: str | None, keep: bool) -> Session:
    """The session of these settings in this process, and of the key, address and cache in the environment.

    InputError: settings that cannot be; no key.
    """
    environment = (os.environ.get(KEY), os.environ.get("OPENAI_BASE_URL"), str(cache_file()))
    return _session(os.getpid(), base_url, model, limits, recorded, keep, *environment)


async def in_session(work: Coroutine[Any, Any, T]) -> T:
    """What work on sessions gives, done on their loop while the loop of the caller waits."""
    loop = event_loop(os.getpid(), "judges")
    return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(work, loop))
