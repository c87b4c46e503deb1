"""Requests to an OpenAI-compatible server: a bounded number at a time; who fails, and when to give up."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.primitives.messages import content_text

if TYPE_CHECKING:
    import openai
    from tqdm import tqdm

__all__ = ["Ask", "Asking", "Failed", "Server", "read_answer"]

CONCURRENCY = 8
"""Requests at a time. Our choice: one group of 8. A server of one's own on a GPU takes many more."""

TIMEOUT = 600.0
"""Seconds for one answer: the default of the openai client, as reasoning models think for minutes."""

RETRIES = 10
"""Of one request. Our choice: the client's waits of up to 8 s last as long as most rate limits, a minute."""

REACH_SECONDS = 10.0
"""For the first word from the server. Our choice; one that is silent so long is asked nevertheless."""

GIVE_UP_AFTER = 3
"""Prompts in a row of which none was answered. Our choice: one may be at fault itself, three are not."""

KEY = "OPENAI_API_KEY"
NO_KEY = "none"
"""What a server gets that needs no key: the client wants one."""

REASON_LENGTH = 300
HOPELESS = {401: "refuses the key", 402: "asks for payment", 404: "does not know the model or the address"}
"""Statuses by which a server says that no request will be answered."""


@dataclass(frozen=True)
class Ask:
    """A completion to be asked for: the row it will be in the log, and the request."""

    row: dict[str, Any]
    request: dict[str, Any]


@dataclass(frozen=True)
class Failed:
    """A completion that was not given, and why."""

    rollout_id: str
    reason: str


@dataclass(frozen=True)
class Server:
    """An OpenAI-compatible server, and how long and how often it is asked."""

    base_url: str = field(repr=False)  # may hold a password
    model: str
    timeout: float
    retries: int
    key: str = field(repr=False)

    @classmethod
    def at(cls, base_url: str, model: str, timeout: float, retries: int) -> Server:
        """The server at `base_url`; InputError where that is none, ModuleNotFoundError without openai."""
        try:
            import openai  # noqa: F401
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"sampling needs {error.name}, which the extra 'sample' brings: pip install "
                "'reward-workbench[sample]'",
                name=error.name,
            ) from None
        try:
            parts = urlsplit(base_url)
            sound = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        except (ValueError, TypeError, AttributeError):
            sound = False
        if not sound:
            raise InputError(f"base_url is {base_url!r}; give one such as 'http://localhost:8000/v1'")
        if not isinstance(model, str) or not model:
            raise InputError(f"model is {model!r}; give the name by which the server knows it")
        key = os.environ.get(KEY, "").strip() or NO_KEY
        if not (key.isascii() and key.isprintable()):
            raise InputError(f"{KEY} holds characters that no key has; set it anew")
        return cls(base_url, model, timeout, retries, key)

    @property
    def address(self) -> str:
        """The address without a user's name and password."""
        parts = urlsplit(self.base_url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def client(self) -> openai.AsyncOpenAI:
        """A client of it."""
        from openai import AsyncOpenAI

        return AsyncOpenAI(
            api_key=self.key, base_url=self.base_url, timeout=self.timeout, max_retries=self.retries
        )

    def reason(self, error: Exception) -> str:
        """Why a request failed, in one phrase, never with the key in it."""
        import openai

        if isinstance(error, openai.APITimeoutError) and not _never_connected(error):
            text = f"no answer within {self.timeout:g} s"
        elif isinstance(error, openai.APIConnectionError):
            cause = error.__cause__
            text = f"connection failed: {(str(cause) or type(cause).__name__) if cause else error}"
        else:
            text = str(error)
        text = " ".join(text.split())
        if self.key != NO_KEY:
            text = text.replace(self.key, "***")
        return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 3] + "..."


def _never_connected(error: Exception) -> bool:
    """Whether no connection came about; httpx and its successor call that alike."""
    return type(error.__cause__).__name__ == "ConnectTimeout"


def read_answer(body: str) -> dict[str, Any]:
    """The columns that a server's answer fills.

    `completion` is ``None``, not empty, where a refusal, tool calls or reasoning stand in place of a text;
    they have columns of their own. Token counts are ``None`` where the server does not count. ValueError: no
    chat completion.

    >>> answer = read_answer('{"choices": [{"message": {"content": "", "refusal": "No."}}]}')
    >>> answer["completion"], answer["refusal"]
    (None, 'No.')
    """
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        answer = None
    choices = answer.get("choices") if isinstance(answer, dict) else None
    choice = choices[0] if isinstance(choices, list) and choices and isinstance(choices[0], dict) else {}
    message = choice.get("message")
    if not isinstance(message, dict) or choice.get("finish_reason") == "error":  # so OpenRouter says it
        raise ValueError(f"the answer is no chat completion: {preview(body)}")
    content = message.get("content")
    text = content if isinstance(content, str) else content_text(content) if content is not None else None
    instead = {
        "reasoning_content": message.get("reasoning_content") or message.get("reasoning"),  # vLLM renamed it
        "refusal": message.get("refusal"),
        "tool_calls": message.get("tool_calls"),
    }
    instead = {name: value for name, value in instead.items() if value}
    usage = answer.get("usage")
    counts = usage if isinstance(usage, dict) else {}
    return {
        "completion": text or (None if instead else text),
        "finish_reason": choice.get("finish_reason"),
        **{name: counts.get(name) for name in ("prompt_tokens", "completion_tokens")},
        **instead,
    }


@dataclass(eq=False)
class Asking:
    """One run of requests: answers go to `keep` as rows, failures to `failed`.

    `known` is whether the server has given answers before, so that it is not the settings that it refuses.
    """

    server: Server
    keep: Callable[[Mapping[str, Any]], None]
    bar: tqdm[Any]
    concurrency: int = CONCURRENCY
    known: bool = False
    failed: list[Failed] = field(default_factory=list)
    totals: dict[str, int] = field(
        default_factory=lambda: dict.fromkeys(
            ("truncated", "without_text", "prompt_tokens", "completion_tokens"), 0
        )
    )
    models: list[str] = field(default_factory=list)
    unanswered: set[Any] = field(default_factory=set)

    async def all(self, asks: Sequence[Ask]) -> None:
        """Ask for all; InputError where it makes no sense to go on, and what has been answered is kept."""
        async with self.server.client() as client:
            self.models = await self._reach(client)
            queue = iter(asks)
            workers = [
                asyncio.create_task(self._work(client, queue))
                for _ in range(min(self.concurrency, len(asks)))
            ]
            try:
                await asyncio.gather(*workers)
            finally:
                for worker in workers:
                    worker.cancel()
                await asyncio.gather(*workers, return_exceptions=True)

    async def _reach(self, client: openai.AsyncOpenAI) -> list[str]:
        """The models that the server lists, if it does; InputError where no server is there.

        This is asked once and at once, where the client would try for a minute to reach what is not there.
        """
        import openai

        one_try = client.with_options(max_retries=0, timeout=min(REACH_SECONDS, self.server.timeout))
        try:
            raw = await one_try.models.with_raw_response.list()
            listed = json.loads(raw.http_response.text)["data"]
            return [model["id"] for model in listed if isinstance(model["id"], str)]
        except openai.APIConnectionError as error:
            if isinstance(error, openai.APITimeoutError) and not _never_connected(error):
                return []
            raise InputError(
                f"no server answers at {self.server.address!r} ({self.server.reason(error)}); start it, or "
                "correct the base URL"
            ) from None
        except openai.APIStatusError as error:
            if error.status_code == 401:
                raise self._hopeless(error) from None
            return []
        except (openai.APIError, ValueError, TypeError, KeyError, RecursionError):
            return []

    async def _work(self, client: openai.AsyncOpenAI, queue: Iterator[Ask]) -> None:
        import openai

        for ask in queue:
            started = time.perf_counter()
            try:
                answer = await self._answer(client, ask.request)
            except (openai.APIError, ValueError) as error:
                self._note(ask, error)
            else:
                seconds = round(time.perf_counter() - started, 3)
                self.keep({**ask.row, **answer, "seconds": seconds})
                self._count(answer)
            self.bar.update()

    async def _answer(self, client: openai.AsyncOpenAI, request: Mapping[str, Any]) -> dict[str, Any]:
        """An answer; the client asks again where there is none, we do where it cannot be read."""
        for left in range(self.server.retries, -1, -1):
            raw = await client.chat.completions.with_raw_response.create(**request)
            try:
                return read_answer(raw.http_response.text)
            except ValueError:
                if not left:
                    raise
        raise AssertionError("a number of retries below 0")

    def _count(self, answer: Mapping[str, Any]) -> None:
        self.known = True
        self.unanswered.clear()
        self.totals["truncated"] += answer["finish_reason"] == "length"
        self.totals["without_text"] += answer["completion"] is None
        for name in ("prompt_tokens", "completion_tokens"):
            count = answer[name]
            self.totals[name] += count if isinstance(count, int) else 0

    def _note(self, ask: Ask, error: Exception) -> None:
        """Note a failure; InputError where there is no hope for the others."""
        status = getattr(error, "status_code", None)
        if status in HOPELESS or getattr(error, "code", None) == "insufficient_quota":
            raise self._hopeless(error) from None  # what the client raised may hold the key
        self.failed.append(Failed(ask.row["rollout_id"], self.server.reason(error)))
        self.bar.set_postfix(failed=len(self.failed))
        refused = status is not None and 400 <= status < 500 and status != 429
        if refused and self.known:  # it answers others, so this prompt is at fault, as one that is too long
            return
        self.unanswered.add(ask.row["prompt_id"])
        if len(self.unanswered) >= GIVE_UP_AFTER:
            raise InputError(
                f"the server at {self.server.address!r} answered to none of {len(self.unanswered)} prompts "
                f"in a row ({self.server.reason(error)})"
            ) from None

    def _hopeless(self, error: Exception) -> InputError:
        status = getattr(error, "status_code", None)
        hint = {
            401: f"; set {KEY}",
            404: self._other_models() or "; most base URLs end in /v1",
        }.get(status or 0, "")
        return InputError(
            f"the server at {self.server.address!r} {HOPELESS.get(status or 0, 'has no quota left')} "
            f"(model {self.server.model!r}: {self.server.reason(error)}){hint}"
        )

    def _other_models(self) -> str:
        if not self.models or self.server.model in self.models:
            return ""
        shown = ", ".join(map(repr, self.models[:5])) + (", ..." if len(self.models) > 5 else "")
        return f"; it has {shown}{did_you_mean(self.server.model, self.models)}"
