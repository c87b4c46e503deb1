"""Send concurrent requests to an OpenAI-compatible server, with retries."""

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
"""Concurrent requests.

Our choice: one group of 8. A local server on a GPU takes many more.
"""

ANSWER_TIMEOUT = 600.0
"""Seconds for one answer, as in the openai client: some models think for minutes."""

RETRIES = 10
"""Retries of one request.

Our choice: with the client's waits of up to 8 s they outlast a rate limit per minute.
"""

REACH_SECONDS = 10.0
"""Seconds for the list of models.

Our choice. A server that does not answer in this time is asked nevertheless.
"""

KEY = "OPENAI_API_KEY"
NO_KEY = "no-key"
"""The key for a server that needs none, as the client requires one."""

REASON_LENGTH = 300
FATAL: dict[Any, tuple[str, str]] = {
    "unreachable": ("does not answer", "; start it, or correct the base URL"),
    "insufficient_quota": ("has no quota left", ""),
    401: ("refuses the key", f"; set {KEY}"),
    402: ("asks for payment", ""),
    403: ("refuses access", f"; see what the {KEY} may do"),
    404: ("does not know the model or the address", "; most base URLs end in /v1"),
}
"""Code or status after which every request fails -> the fault and a hint."""


@dataclass(frozen=True)
class Server:
    """An OpenAI-compatible server with a model, a timeout and retries.

    Raises:
        InputError: The address, the timeout or the key is invalid.
        ModuleNotFoundError: openai is not installed.
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
        """Return the API key from the environment, or `NO_KEY`."""
        return os.environ.get(KEY, "").strip() or NO_KEY

    @property
    def address(self) -> str:
        """Return the address without user name and password."""
        parts = urlsplit(self.base_url)
        return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()

    def client(self) -> openai.OpenAI:
        """Create a client that repeats failed requests."""
        from openai import OpenAI

        return OpenAI(
            api_key=self.key,
            base_url=self.base_url,
            timeout=self.timeout,
            max_retries=self.retries,
        )

    def models(self, client: openai.OpenAI) -> list[str]:
        """Return the models that the server lists; InputError: there is no server.

        The request is not repeated, as the client would try for a minute to reach a
        server that does not exist.
        """
        client = client.with_options(
            max_retries=0, timeout=min(REACH_SECONDS, self.timeout)
        )
        try:
            models = client.models.list().data
            return [str(model.id) for model in models if getattr(model, "id", None)]
        except Exception as error:  # any other answer shows that the server exists
            fatal = self.fatal(error, [])
            if fatal is not None and fatal_code(error) in ("unreachable", 401):
                raise fatal from None
            return []

    def describe_models(self, models: Sequence[str]) -> str:
        """Return a clause that lists the server's models, "" if it has this one."""
        if not models or self.model in models:
            return ""
        examples = ", ".join(map(repr, models[:5]))
        if len(models) > 5:
            examples += ", ..."
        return f"; it has {examples}{did_you_mean(self.model, models)}"

    def reason(self, error: Exception) -> str:
        """Return why a request failed in one phrase, without the key."""
        text = f"{error} {error.__cause__ or ''}".replace(self.key, "***")
        text = " ".join(text.split())
        return text if len(text) <= REASON_LENGTH else text[: REASON_LENGTH - 3] + "..."

    def fatal(self, error: Exception, models: Sequence[str]) -> InputError | None:
        """Return an InputError if the error means that every request fails, or None."""
        code = fatal_code(error)
        if code is None:
            return None
        fault, hint = FATAL[code]
        if code == 404:
            hint = self.describe_models(models) or hint
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
    """Return the key in `FATAL` of an error, or None, such as for a slow server."""
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
    """Yield the position of each request with its answer or its error.

    The threads of the requests are not joined, so an interrupt takes effect at once,
    also in a notebook; later answers are dropped.

    Raises:
        InputError: The server cannot be reached, or refuses every request.
    """
    if not requests:
        return
    client = server.client()
    models = server.models(client)

    def ask(numbered: tuple[int, Plain]) -> tuple[int, Record | Exception]:
        at, request = numbered
        started = time.perf_counter()
        try:
            raw = client.chat.completions.with_raw_response.create(**request)
            answer = read_answer(raw.http_response.text)
        # an answer that the client does not expect fails only this request
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
    """Read the columns of a server's answer.

    `completion` is ``None``, not empty, if a refusal, tool calls or reasoning replace
    the text; these have columns of their own. Token counts are ``None`` if the server
    does not count. ValueError: the answer is not a chat completion.

    >>> message = '{"content": "", "refusal": "No."}'
    >>> answer = read_answer(f'{{"choices": [{{"message": {message}}}]}}')
    >>> answer["completion"], answer["refusal"]
    (None, 'No.')
    """
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        message = dict(choice["message"])
        if choice.get("finish_reason") == "error":  # an error of OpenRouter
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
    message["reasoning_content"] = reasoning  # vLLM has used both names
    for name in ("reasoning_content", "refusal", "tool_calls"):
        if message.get(name):
            columns[name] = message[name]
            columns["completion"] = columns["completion"] or None
    return columns
