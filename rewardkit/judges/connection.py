"""Send requests to a model on a server, with retries, and detect an outage."""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import cached_property
from typing import Any

from rewardkit.errors import InputError
from rewardkit.judges.limits import Limits
from rewardkit.rollouts.chat import Server, fatal_code, read_answer

MINUTE = 60.0  # seconds
AGAIN_SECONDS = 30.0
"""Pause after a server did not answer. Our choice: about the time of a restart."""
SCHEMA_WORDS = ("response_format", "json_schema", "structured output", "guided")
"""Words in the error message of a server that does not accept a schema."""


def schema_form(response_format: Mapping[str, Any], attempt: int) -> Any:
    """Return a form of the schema: OpenAI's, llama-cpp-python's, then None."""
    if attempt == 0:
        return response_format
    if attempt == 1:
        schema = response_format["json_schema"]["schema"]
        return {"type": "json_object", "schema": schema}
    return None


def refuses_schema(status: int, text: str) -> bool:
    """Return whether an error means that a server does not accept this schema."""
    return status in (400, 422, 500) and any(word in text for word in SCHEMA_WORDS)


# --- retries and outages
#
# The retries of the openai client are off: they ignore a run's deadline, and during an
# outage each question would be repeated separately.

FAILING_ATTEMPTS = 3
"""Attempts in a row without an answer that make a server count as failing.

Our choice: after rare failures all calls still repeat at the same time.
"""
FAILED_QUESTIONS = 5
"""Questions in a row without an answer after which the run stops asking.

Our choice: if every fifth question fails on a working server, five in a row occur once
in about 4,000.
"""
FIRST_WAIT = 0.5  # seconds, doubled each time, as in the openai client
LONGEST_WAIT = 8.0
LONGEST_REQUESTED_WAIT = 60.0  # limit for a server's request, as in the openai client


def is_outage(error: BaseException) -> bool:
    """Return whether a server did not answer, or failed with a 5xx status."""
    import openai

    if isinstance(error, openai.APIStatusError):
        return error.status_code >= 500
    return isinstance(error, openai.APIConnectionError)


def may_repeat(error: BaseException) -> bool:
    """Return whether a retry of the same request may succeed."""
    import openai

    if isinstance(error, openai.APIStatusError):
        advice = error.response.headers.get("x-should-retry")
        if advice in ("true", "false"):
            return advice == "true"
        return error.status_code in (408, 409, 429) or is_outage(error)
    return is_outage(error)


def seconds_before_repeat(error: BaseException, repeats: int) -> float:
    """Return the wait in seconds: as the server asks, else with exponential backoff.

    `repeats` counts the failed repeats. The wait has a random part, so that processes
    that failed together do not retry together.
    """
    headers = getattr(getattr(error, "response", None), "headers", {})
    seconds = _requested_seconds(
        headers.get("retry-after-ms"), headers.get("retry-after")
    )
    if 0 < seconds <= LONGEST_REQUESTED_WAIT:
        return seconds
    seconds = min(LONGEST_WAIT, FIRST_WAIT * 2.0**repeats)
    return seconds * random.uniform(0.75, 1.0)


def _requested_seconds(milliseconds: str | None, after: str | None) -> float:
    """Return the seconds that a server's headers ask for, else 0."""
    with suppress(TypeError, ValueError):
        return float(milliseconds or "") / 1000
    with suppress(TypeError, ValueError):
        return float(after or "")
    with suppress(TypeError, ValueError):
        return parsedate_to_datetime(after or "").timestamp() - time.time()
    return 0.0


class Connection:
    """Requests to one model, with rate limits, forms of the schema, and retries.

    `ended` says why the server is not asked until the time `until` of the monotonic
    clock. `failed_attempts` and `failed_questions` count those in a row without an
    answer.
    """

    def __init__(self, server: Server, limits: Limits) -> None:
        from aiolimiter import AsyncLimiter

        self.server = server
        self.limits = limits
        requests = limits.requests_per_minute
        tokens = limits.tokens_per_minute
        # a rate of 1 spreads requests evenly
        self.requests = AsyncLimiter(1, MINUTE / requests) if requests else None
        self.tokens = AsyncLimiter(tokens, MINUTE) if tokens else None
        self.repeating = asyncio.Lock()
        self.models: list[str] | None = None  # None until the server lists them
        self.form = 0  # the first `schema_form` that the server has not refused
        self.reset()

    def reset(self) -> None:
        """Forget failures of the server, for a new run."""
        self.ended = ""
        self.until = math.inf
        self.failed_attempts = 0
        self.failed_questions = 0

    @cached_property
    def client(self) -> Any:
        """The client, without retries of its own."""
        import openai

        return openai.AsyncOpenAI(
            api_key=self.server.key,
            base_url=self.server.base_url,
            timeout=self.server.timeout,
            max_retries=0,
        )

    def load_client(self) -> None:
        """Import and make the client before it is needed."""
        _ = self.client

    def reach(self, seconds: float) -> None:
        """Check, once and within some seconds, that the server has the model.

        InputError: it has no such model; it is not reachable or refuses the key, which
        also ends the connection for a while.
        """
        if self.models is not None:
            return
        server = replace(self.server, timeout=seconds)
        try:
            with server.client() as client:
                models = server.models(client)
        except InputError as error:
            self.end(str(error), AGAIN_SECONDS)
            raise
        if others := server.describe_models(models):
            raise InputError(
                f"the server at {server.address!r} has no model "
                f"{server.model!r}{others}"
            )
        self.models = models

    @property
    def is_ended(self) -> bool:
        """Whether the connection is closed now, for the reason in `ended`."""
        return bool(self.ended) and time.monotonic() < self.until

    @property
    def is_failing(self) -> bool:
        """Whether the server answered none of the last attempts."""
        return self.failed_attempts >= FAILING_ATTEMPTS

    @property
    def is_given_up(self) -> bool:
        """Whether retries are pointless, as a question has failed with all of them."""
        return self.is_ended or (self.is_failing and self.failed_questions > 0)

    def end(self, reason: str, seconds: float = math.inf) -> None:
        """Stop calling the server, for some seconds."""
        self.ended = reason
        self.until = time.monotonic() + seconds

    async def ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request, and repeat it after failures as often as the limits allow.

        During an outage only one question at a time is repeated; the others wait for
        its result.
        """
        try:
            return await self.attempt(request)
        except Exception as error:
            if not may_repeat(error):
                raise
            fault = error
        if self.is_failing:
            async with self.repeating:
                if self.is_failing:
                    return await self.repeat(request, fault)
        return await self.repeat(request, fault)

    async def repeat(
        self, request: Mapping[str, Any], fault: Exception
    ) -> dict[str, Any]:
        """Repeat a failed request; raise the last error if no repeat succeeds."""
        for repeats in range(self.limits.retries):
            if self.is_given_up:
                break
            await asyncio.sleep(seconds_before_repeat(fault, repeats))
            if self.is_given_up:
                break
            try:
                return await self.attempt(request)
            except Exception as error:
                fault = error
                if not may_repeat(error):
                    break
        raise fault

    async def attempt(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Send a request once, and count attempts in a row without an answer."""
        await self.turn(request)
        try:
            columns = await self.send(request)
        except Exception as error:
            if is_outage(error):
                self.failed_attempts += 1
                raise
            self.failed_attempts = self.failed_questions = 0
            raise
        self.failed_attempts = self.failed_questions = 0
        return columns

    async def turn(self, request: Mapping[str, Any]) -> None:
        """Wait until the limits per minute allow this request."""
        if self.requests:
            await self.requests.acquire()
        if self.tokens:
            options = ("max_tokens", "max_completion_tokens")
            longest = max(float(request.get(option) or 0) for option in options)
            estimate = len(json.dumps(request)) / 4 + longest
            await self.tokens.acquire(min(estimate, self.tokens.max_rate))

    async def send(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Post a request; if the server refuses the schema, try its next form."""
        import openai

        form = self.form
        body = dict(request)
        if "response_format" in body:
            body["response_format"] = schema_form(body["response_format"], form)
        body = {name: value for name, value in body.items() if value is not None}
        try:
            text: str = await self.client.post(
                "/chat/completions", body=body, cast_to=str
            )
        except openai.APIStatusError as error:
            is_refused = refuses_schema(error.status_code, str(error))
            if "response_format" not in body or not is_refused:
                raise
            # a concurrent call may have switched to the next form already
            self.form = max(self.form, form + 1)
            await self.turn(request)
            return await self.send(request)
        return read_answer(text)

    def failure(self, error: Exception) -> str:
        """Return why a call failed; close the connection if no other can succeed."""
        fatal = self.server.fatal(error, self.models or [])
        if fatal is None:
            reason = self.server.reason(error)
            if is_outage(error):
                self.count_failed_question(reason)
            return f"there is no answer: {reason}"
        seconds = math.inf
        if fatal_code(error) == "unreachable":  # a training may run for days
            seconds = AGAIN_SECONDS
        self.end(str(fatal), seconds)
        return self.ended

    def count_failed_question(self, reason: str) -> None:
        """Count a question without an answer; close the connection after several."""
        self.failed_questions += 1
        if self.is_ended or self.failed_questions < FAILED_QUESTIONS:
            return
        self.end(
            f"the server at {self.server.address!r} answered none of the last "
            f"{self.failed_questions} questions, asked {self.failed_attempts} times "
            f"(model {self.server.model!r}: {reason}); look at its log, then score "
            "again",
            AGAIN_SECONDS,
        )
