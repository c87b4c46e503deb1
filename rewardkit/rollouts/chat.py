"""Requests to an OpenAI-compatible server, so many at a time, over the openai client's own retries."""

from __future__ import annotations

import json
import os
import threading
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.primitives.messages import content_text

if TYPE_CHECKING:
    import openai

__all__ = ["Ask", "Server", "ask_all", "read_answer"]

CONCURRENCY = 8
"""Requests at a time. Our choice: one group of 8. A server of one's own on a GPU takes many more."""

TIMEOUT = 600.0
"""Seconds for one answer: the default of the openai client, as reasoning models think for minutes."""

RETRIES = 10
"""Of one request. Our choice: the client's waits of up to 8 s last as long as most rate limits, a minute."""

REACH_SECONDS = 10.0
"""For the first word from the server. Our choice; one that is silent so long is asked nevertheless."""

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

    def client(self) -> openai.OpenAI:
        """A client of it, which asks again by itself."""
        from openai import OpenAI

        return OpenAI(
            api_key=self.key, base_url=self.base_url, timeout=self.timeout, max_retries=self.retries
        )

    def answer(self, client: openai.OpenAI, request: Mapping[str, Any]) -> dict[str, Any]:
        """An answer; the client asks again where there is none, we do where it cannot be read."""
        for left in range(self.retries, -1, -1):
            raw = client.chat.completions.with_raw_response.create(**request)
            try:
                return read_answer(raw.http_response.text)
            except ValueError:
                if not left:
                    raise
        raise AssertionError("a number of retries below 0")

    def models(self, client: openai.OpenAI) -> list[str]:
        """The models that it lists, if it does; InputError where no server is there.

        This is asked once and at once, where the client would try for a minute to reach what is not there.
        """
        import openai

        one_try = client.with_options(max_retries=0, timeout=min(REACH_SECONDS, self.timeout))
        try:
            raw = one_try.models.with_raw_response.list()
            listed = json.loads(raw.http_response.text)["data"]
            return [model["id"] for model in listed if isinstance(model["id"], str)]
        except openai.APIConnectionError as error:
            if isinstance(error, openai.APITimeoutError) and not _never_connected(error):
                return []
            raise InputError(
                f"no server answers at {self.address!r} ({self.reason(error)}); start it, or correct the "
                "base URL"
            ) from None
        except (openai.APIError, ValueError, TypeError, KeyError, RecursionError) as error:
            if getattr(error, "status_code", None) == 401:
                raise self.hopeless(error, []) from None
            return []

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

    @staticmethod
    def is_hopeless(error: Exception) -> bool:
        """Whether no request will be answered."""
        status, code = getattr(error, "status_code", None), getattr(error, "code", None)
        return status in HOPELESS or code == "insufficient_quota"

    def hopeless(self, error: Exception, models: list[str]) -> InputError:
        """What to say when no request will be answered."""
        status = getattr(error, "status_code", None) or 0
        shown = ", ".join(map(repr, models[:5])) + (", ..." if len(models) > 5 else "")
        listed = f"; it has {shown}{did_you_mean(self.model, models)}" if self.model not in models else ""
        hint = {401: f"; set {KEY}", 404: listed if models and listed else "; most base URLs end in /v1"}
        return InputError(
            f"the server at {self.address!r} {HOPELESS.get(status, 'has no quota left')} "
            f"(model {self.model!r}: {self.reason(error)}){hint.get(status, '')}"
        )


def _never_connected(error: Exception) -> bool:
    """Whether no connection came about; httpx and its successor call that alike."""
    return type(error.__cause__).__name__ == "ConnectTimeout"


def ask_all(
    server: Server, asks: Sequence[Ask], *, concurrency: int = CONCURRENCY
) -> Generator[tuple[Ask, dict[str, Any] | Exception], None, None]:
    """Each ask with its answer and its `seconds`, or with why there is none, as they come.

    InputError where no server is there, or one that answers nobody. Requests run in threads that nothing
    waits for, so that it works in a notebook and an interrupt ends it at once; an answer that comes later is
    dropped.
    """
    if not asks:
        return
    client = server.client()
    models = server.models(client)
    waiting, ended, outcomes = iter(asks), threading.Event(), SimpleQueue[tuple[Ask, Any]]()
    lock = threading.Lock()

    def work() -> None:
        while True:
            with lock:
                ask = None if ended.is_set() else next(waiting, None)
            if ask is None:
                return
            started = time.perf_counter()
            try:
                outcome = server.answer(client, ask.request)
                outcomes.put((ask, {**outcome, "seconds": round(time.perf_counter() - started, 3)}))
            except Exception as error:  # also what the client does not expect, so that no one waits for ever
                if server.is_hopeless(error):
                    ended.set()
                outcomes.put((ask, error))

    try:
        for _ in range(min(concurrency, len(asks))):
            threading.Thread(target=work, daemon=True).start()
        for _ in asks:
            ask, outcome = outcomes.get()
            if isinstance(outcome, Exception) and server.is_hopeless(outcome):
                raise server.hopeless(outcome, models) from None  # what the client raised may hold the key
            yield ask, outcome
    finally:
        ended.set()
        client.close()


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
