"""Requests to an OpenAI-compatible server, several at a time, with retries."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from multiprocessing.pool import ThreadPool
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rewardkit.errors import InputError, did_you_mean, preview
from rewardkit.plain import Plain, Record
from rewardkit.primitives.messages import content_text

if TYPE_CHECKING:
    import openai

CONCURRENCY = 8
"""Requests at a time.

Our choice: one group of 8. A server of one's own on a GPU takes many more.
"""

ANSWER_TIMEOUT = 600.0
"""Seconds for one answer, as in the openai client: some models think for minutes."""

RETRIES = 10
"""Of one request.

Our choice: the client's waits of up to 8 s last as long as most rate limits, a minute.
"""

REACH_SECONDS = 10.0
"""For the first word from the server.

Our choice; one that is silent so long is asked nevertheless.
"""

KEY = "OPENAI_API_KEY"
NO_KEY = "no-key"
"""What a server gets that needs no key: the client wants one."""

REASON_LENGTH = 300
FATAL: dict[Any, tuple[str, str]] = {
    "unreachable": ("does not answer", "; start it, or correct the base URL"),
    "insufficient_quota": ("has no quota left", ""),
    401: ("refuses the key", f"; set {KEY}"),
    402: ("asks for payment", ""),
    403: ("refuses access", f"; see what the {KEY} may do"),
    404: ("does not know the model or the address", "; most base URLs end in /v1"),
}
"""Code or status that no request will get past -> what to do about it."""


@dataclass(frozen=True)
class Server:
    """An OpenAI-compatible server, and how long and how often it is asked.

    InputError where the address, the model's name or the key cannot be;
    ModuleNotFoundError without openai.
    """

    base_url: str = field(repr=False)  # may hold a password
    model: str
    timeout: float = ANSWER_TIMEOUT
    retries: int = RETRIES

    def __post_init__(self) -> None:
        if find_spec("openai") is None:
            raise ModuleNotFoundError(
                "asking a model needs openai, of the extra 'judges': pip install "
                "'reward-workbench[judges]'",
                name="openai",
            )
        if not _is_address(str(self.base_url)):
            raise InputError(
                f"base_url is {self.base_url!r}; give one such as "
                "'http://localhost:8000/v1'"
            )
        if not self.timeout > 0:
            raise InputError(
                f"timeout is {self.timeout!r}; it is a number of seconds above 0"
            )
        if not (self.key.isascii() and self.key.isprintable()):
            raise InputError(f"{KEY} holds characters that no key has; set it anew")

    @property
    def key(self) -> str:
        """Return the key in the environment."""
        return os.environ.get(KEY, "").strip() or NO_KEY

    @property
    def address(self) -> str:
        """Return the address without a user's name and password."""
        parts = urlsplit(self.base_url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def client(self) -> openai.OpenAI:
        """Make a client of it, which repeats failed requests."""
        from openai import OpenAI

        return OpenAI(
            api_key=self.key,
            base_url=self.base_url,
            timeout=self.timeout,
            max_retries=self.retries,
        )

    def models(self, client: openai.OpenAI) -> list[str]:
        """Return the models that it lists; InputError where no server is there.

        This is asked once and at once, where the client would try for a minute to reach
        what is not there.
        """
        once = client.with_options(
            max_retries=0, timeout=min(REACH_SECONDS, self.timeout)
        )
        try:
            models = once.models.list().data
            return [str(model.id) for model in models if getattr(model, "id", None)]
        except Exception as error:  # whatever it answers in place of a list: it exists
            fatal = self.fatal(error, [])
            if fatal is not None and fatal_code(error) in ("unreachable", 401):
                raise fatal from None
            return []

    def others(self, models: Sequence[str]) -> str:
        """Return the end of a sentence that lists its models, "" if it has this one."""
        if not models or self.model in models:
            return ""
        examples = ", ".join(map(repr, models[:5]))
        if len(models) > 5:
            examples += ", ..."
        return f"; it has {examples}{did_you_mean(self.model, models)}"

    def reason(self, error: Exception) -> str:
        """Return why a request failed, in one phrase, never with the key in it."""
        text = f"{error} {error.__cause__ or ''}".replace(self.key, "***")
        text = " ".join(text.split())
        return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 3] + "..."

    def fatal(self, error: Exception, models: Sequence[str]) -> InputError | None:
        """Return what to say where an error means that no request will be answered."""
        code = fatal_code(error)
        if code is None:
            return None
        fault, hint = FATAL[code]
        if code == 404:
            hint = self.others(models) or hint
        return InputError(
            f"the server at {self.address!r} {fault} (model {self.model!r}: "
            f"{self.reason(error)}){hint}"
        )


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        is_web = parts.scheme in ("http", "https")
        return is_web and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def fatal_code(error: Exception) -> Any:
    """Return the key in `FATAL` of an error, or None; a slow server has none."""
    import openai

    cause = type(error.__cause__).__name__
    is_connection = isinstance(error, openai.APIConnectionError)
    if is_connection and cause in ("ConnectError", "ConnectTimeout"):
        return "unreachable"
    codes = (getattr(error, "code", None), getattr(error, "status_code", None))
    return next((code for code in codes if code in FATAL), None)


def ask_all(
    server: Server,
    requests: Sequence[Plain],
    *,
    concurrency: int = CONCURRENCY,
) -> Generator[tuple[int, Record | Exception], None, None]:
    """Yield the position of each request with its answer, or why there is none.

    InputError where no server is there, or one that answers nobody. Nothing waits for
    the threads of the requests, so that it works in a notebook and an interrupt ends it
    at once; later answers are dropped.
    """
    if not requests:
        return
    client = server.client()
    models = server.models(client)

    def ask(
        numbered: tuple[int, Plain],
    ) -> tuple[int, Record | Exception]:
        at, request = numbered
        started = time.perf_counter()
        try:
            raw = client.chat.completions.with_raw_response.create(**request)
            answer = read_answer(raw.http_response.text)
        # also what the client does not expect: it is this request's failure
        except Exception as error:
            if fatal := server.fatal(error, models):
                raise fatal from None
            return at, error
        return at, {**answer, "seconds": round(time.perf_counter() - started, 3)}

    try:
        with ThreadPool(min(concurrency, len(requests))) as pool:
            yield from pool.imap_unordered(ask, enumerate(requests))
    finally:
        client.close()


def read_answer(body: str) -> Record:
    """Read the columns that a server's answer fills.

    `completion` is ``None``, not empty, where a refusal, tool calls or reasoning stand
    in place of a text; they have columns of their own. Token counts are ``None`` where
    the server does not count. ValueError: no chat completion.

    >>> message = '{"content": "", "refusal": "No."}'
    >>> answer = read_answer(f'{{"choices": [{{"message": {message}}}]}}')
    >>> answer["completion"], answer["refusal"]
    (None, 'No.')
    """
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        message = dict(choice["message"])
        if choice.get("finish_reason") == "error":  # so OpenRouter says it
            raise ValueError(choice)
    except (ValueError, LookupError, TypeError, RecursionError):
        raise ValueError(f"the answer is no chat completion: {preview(body)}") from None
    content = message.get("content")
    usage = answer.get("usage") or {}
    columns = {
        "completion": None if content is None else content_text(content),
        "finish_reason": choice.get("finish_reason"),
        "prompt_tokens": usage.get("prompt_tokens"),
        "completion_tokens": usage.get("completion_tokens"),
    }
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    message["reasoning_content"] = reasoning  # vLLM renamed it
    for name in ("reasoning_content", "refusal", "tool_calls"):
        if message.get(name):
            columns[name] = message[name]
            columns["completion"] = columns["completion"] or None
    return columns
