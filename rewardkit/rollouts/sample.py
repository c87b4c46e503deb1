"""sample(): groups of completions from an OpenAI-compatible server, for those who have no log yet."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm.auto import tqdm

from rewardkit.errors import InputError, RolloutsError, preview
from rewardkit.rollouts.chat import CONCURRENCY, RETRIES, TIMEOUT, Server, ask_all
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.prompts import Prompt, Prompts, read_prompts
from rewardkit.rollouts.sample_log import append, mend, read_log
from rewardkit.rollouts.source import Place

__all__ = ["Sampled", "sample"]

ANSWERED = (
    "completion",
    "finish_reason",
    "reasoning_content",
    "refusal",
    "tool_calls",
    "prompt_tokens",
    "completion_tokens",
    "seconds",
)
"""Columns that are known when the server has answered."""

SETTINGS = ("temperature", "top_p", "max_tokens", "extra_body")
RESERVED = (
    "rollout_id", "prompt_id", "generation", "policy", "model", "prompt", "seed", *SETTINGS, *ANSWERED,
    *ALIASES["messages"],  # would be read as the transcript where a completion has no text
)  # fmt: skip
"""Columns that the log has for itself, which those of the prompts cannot be."""

WHOLE = {"n": 1, "concurrency": 1, "retries": 0, "seed": 0, "limit": 1, "max_tokens": 1}
"""Options that are whole numbers, and their least."""

TINY, HUGE = sys.float_info.min, sys.float_info.max
BOUNDS = {
    "temperature": (0.0, HUGE, "a number from 0"),
    "top_p": (TINY, 1.0, "a number above 0, up to 1"),
    "timeout": (TINY, HUGE, "a number of seconds above 0"),
}
NOT_EXTRA = ("messages", "n", "stream", "model", "temperature", "top_p", "max_tokens", "seed")


@dataclass(frozen=True)
class Failed:
    """A completion that was not given, and why."""

    rollout_id: str
    reason: str


@dataclass(frozen=True)
class Sampled:
    """What a run of `sample` did; all but `rows` and `kept` speak of this run alone.

    `rows` stand in the log at `output` now, `kept` of this policy's were there before. `truncated` were ended
    by the token limit; `without_text` are answers that hold no text (a refusal, a tool call, reasoning that
    used up the tokens): their completion is missing, not empty.
    """

    output: Path
    rows: int
    kept: int
    sampled: int
    prompts: int
    n: int
    failed: tuple[Failed, ...]
    rejected: tuple[Place, ...]
    warnings: tuple[str, ...]
    truncated: int
    without_text: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float

    def record(self) -> dict[str, Any]:
        """The same for JSON."""
        same = ("rows", "prompts", "n", "sampled", "kept", "truncated", "without_text")
        return {
            **{name: getattr(self, name) for name in same},
            "failed": len(self.failed),
            "seconds": round(self.seconds, 3),
            "tokens": {"prompt": self.prompt_tokens, "completion": self.completion_tokens},
            "output": str(self.output),
            "failures": [asdict(item) for item in self.failed],
            "rejected": [{"line": item.line, "reason": item.reason} for item in self.rejected],
            "warnings": list(self.warnings),
        }

    def __repr__(self) -> str:
        lines = [
            f"{self.output} has {self.rows} completions: {self.sampled} sampled now in {self.seconds:.1f} s "
            f"({self.prompts} prompts, groups of {self.n}), {self.kept} were there",
            f"tokens: {self.prompt_tokens} prompt, {self.completion_tokens} completion",
        ]
        if self.truncated:
            lines.append(f"{self.truncated} of {self.sampled} truncated (finish_reason 'length')")
        if self.without_text:
            lines.append(
                f"{self.without_text} of {self.sampled} without text (see finish_reason, refusal, tool_calls "
                "and reasoning_content): their completion is missing, and load_rollouts keeps them out"
            )
        lines += [f"note: {sentence}" for sentence in self.warnings]
        if self.failed:
            lines.append(
                f"{len(self.failed)} failed, the first {self.failed[0].rollout_id}: {self.failed[0].reason}; "
                "the same again asks for them once more"
            )
        return "\n".join(lines)


def sample(
    prompts: str | Path | pd.DataFrame | Iterable[Mapping[str, Any]],
    *,
    model: str,
    base_url: str,
    output: str | Path,
    n: int = 8,
    temperature: float = 1.0,
    top_p: float | None = None,
    max_tokens: int | None = None,
    seed: int | None = None,
    system: str | None = None,
    policy: str | None = None,
    extra_body: dict[str, Any] | None = None,
    columns: Mapping[str, str] | None = None,
    limit: int | None = None,
    add: bool = False,
    concurrency: int = CONCURRENCY,
    timeout: float = TIMEOUT,
    retries: int = RETRIES,
    progress: bool = False,
) -> Sampled:
    """Sample `n` completions of each prompt into the JSONL log `output`, and say what was done.

    `prompts` is JSONL, Parquet, CSV, a DataFrame or dicts, a row a prompt (text or chat messages; `columns`,
    see `read_prompts`); its other columns stand in the log too. Each completion is one request, at most
    `concurrency` at a time; with a `seed` each has one of its own, derived from it and the rollout's id. The
    key is OPENAI_API_KEY; a local server needs none. Rows are written as they come and what stands in the
    log is not sampled again, so the same call goes on after Ctrl-C or a crash, and asks again for what failed
    after `retries`. A larger `n` or `limit` adds to a log; another `policy` (default: the model's name) or
    other prompts need ``add=True``. RolloutsError: prompts or log that cannot be used, a log made with other
    settings. InputError: an option that cannot be; a server that is not there, refuses the key, has no such
    model or is gone; the rows it gave are kept.
    """
    whole = {"n": n, "limit": limit, "max_tokens": max_tokens, "concurrency": concurrency, "retries": retries}
    _check_numbers(whole | {"seed": seed, "temperature": temperature, "top_p": top_p, "timeout": timeout})
    started = time.perf_counter()
    server = Server(base_url, model, timeout, retries)
    body = _checked_body(extra_body)
    settings = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "extra_body": body}
    read = read_prompts(prompts, columns=columns, system=system, reserved=RESERVED)
    path, chosen = Path(output), read.items[:limit]
    rows, broken = read_log(path)
    plan = _Plan(
        policy or model,
        model,
        seed,
        {name: value for name, value in settings.items() if value is not None},
        plain_ids=not rows or rows[0]["policy"] == (policy or model),
    )
    there = _there(plan, path, rows, read, add)
    wanted = [(prompt, k) for prompt in chosen for k in range(n)]
    asks = [(prompt, plan.row(prompt, k)) for prompt, k in wanted if (str(prompt.prompt_id), k) not in there]
    mend(path, broken)
    with tqdm(desc="sampling", unit="completion", total=len(wanted), disable=not progress) as bar:
        bar.update(len(wanted) - len(asks))
        outcomes = ask_all(
            server, [plan.request(prompt, row) for prompt, row in asks], concurrency=concurrency
        )
        answers, failed = _written(path, server, [row for _, row in asks], outcomes, bar)
    mended = f"the last line of {str(path)!r} was broken off and is cut off ({len(broken)} bytes)"
    return Sampled(
        output=path,
        rows=len(rows) + len(answers),
        kept=len(there),
        sampled=len(answers),
        prompts=len(chosen),
        n=n,
        failed=tuple(Failed(asks[at][1]["rollout_id"], reason) for at, reason in sorted(failed.items())),
        rejected=read.rejected,
        warnings=(*([mended] if broken else []), *read.warnings),
        truncated=sum(answer["finish_reason"] == "length" for answer in answers),
        without_text=sum(answer["completion"] is None for answer in answers),
        prompt_tokens=_total(answers, "prompt_tokens"),
        completion_tokens=_total(answers, "completion_tokens"),
        seconds=time.perf_counter() - started,
    )


def _total(answers: Sequence[Mapping[str, Any]], name: str) -> int:
    return sum(answer[name] for answer in answers if isinstance(answer[name], int))


def _written(
    path: Path,
    server: Server,
    rows: Sequence[Mapping[str, Any]],
    outcomes: Generator[tuple[int, dict[str, Any] | Exception], None, None],
    bar: Any,
) -> tuple[list[dict[str, Any]], dict[int, str]]:
    """The answers, each in the log as it comes, and why others failed, by their positions among the rows."""
    answers: list[dict[str, Any]] = []
    failed: dict[int, str] = {}
    try:
        with closing(outcomes):
            for at, outcome in outcomes:
                bar.update()
                if isinstance(outcome, dict):
                    append(path, {**rows[at], **outcome})
                    answers.append(outcome)
                else:
                    failed[at] = server.reason(outcome)
                    bar.set_postfix(failed=len(failed))
    except (InputError, KeyboardInterrupt) as error:
        if isinstance(error, InputError) and not answers:
            raise
        raise type(error)(
            f"{str(error) or 'interrupted'}; {len(answers)} of the {len(rows)} completions that were to be "
            f"sampled are in {str(path)!r}, and the same again samples the others"
        ) from None
    return answers, failed


@dataclass(frozen=True)
class _Plan:
    """How completions are asked for: what stands in every row and every request."""

    policy: str
    model: str
    seed: int | None
    settings: dict[str, Any]
    plain_ids: bool  # not where another policy's rows have taken them

    def request(self, prompt: Prompt, row: Mapping[str, Any]) -> dict[str, Any]:
        """The request for what will be a row."""
        given = {name: row[name] for name in (*SETTINGS, "seed") if name in row}
        return {"model": self.model, "messages": prompt.messages, **given}

    def row(self, prompt: Prompt, k: int) -> dict[str, Any]:
        """What the row of completion `k` of a prompt holds before the server has answered."""
        rollout_id = f"{'' if self.plain_ids else self.policy + ':'}{prompt.prompt_id}#{k}"
        row = {
            "rollout_id": rollout_id,
            "prompt_id": prompt.prompt_id,
            "generation": k,
            "policy": self.policy,
            "prompt": prompt.prompt,
        }
        if self.policy != self.model:
            row["model"] = self.model
        if self.seed is not None:  # siblings differ, and neither order nor what failed before changes it
            digest = hashlib.sha256(f"{self.seed}:{rollout_id}".encode()).digest()
            row["seed"] = int.from_bytes(digest[:4]) >> 1  # servers take 31 bits
        return {**row, **self.settings, **prompt.columns}


def _there(
    plan: _Plan, path: Path, rows: Sequence[Mapping[str, Any]], read: Prompts, add: bool
) -> set[tuple[str, int]]:
    """The completions (prompt_id, k) of this policy that stand in the log.

    RolloutsError: it was made with other settings or of a prompt that has changed, or it has other policies
    or prompts and `add` is not set.
    """
    prompts = {str(item.prompt_id): item for item in read.items}
    there = set()
    for row in rows:
        prompt, other = prompts.get(str(row["prompt_id"])), row["policy"] != plan.policy
        if (prompt is None or other) and not add:
            what = (
                f"policy {row['policy']!r}, and this run samples {plan.policy!r}"
                if other
                else f"prompt {row['prompt_id']!r}, which is not among the {len(prompts)} of this run"
            )
            raise RolloutsError(
                f"{str(path)!r} has completions of {what}; name another log, or let this one be added to "
                "(--add, add=True)"
            )
        if other:
            continue
        there.add((str(row["prompt_id"]), row["generation"]))
        expected = plan.row(prompt, row["generation"]) if prompt else row
        for name in [*expected, *(name for name in row if name not in ANSWERED)]:
            if row.get(name) != expected.get(name):
                what = f"{name} {preview(row.get(name))}, and this run {preview(expected.get(name))}"
                raise RolloutsError(
                    f"{str(path)!r} was made otherwise: {row['rollout_id']} has "
                    f"{'another seed' if name == 'seed' else what}; name another log, or add this run as "
                    "another policy (--policy NAME --add)"
                )
    return there


def _check_numbers(numbers: Mapping[str, Any]) -> None:
    """InputError for an option that cannot be."""
    for name, value in numbers.items():
        if value is None and name in ("limit", "max_tokens", "seed", "top_p"):
            continue
        kinds: tuple[type, ...] = (int,) if name in WHOLE else (int, float)
        low, high, what = BOUNDS.get(name) or (WHOLE[name], HUGE, f"a whole number from {WHOLE[name]}")
        if type(value) not in kinds or not low <= value <= high:
            raise InputError(f"{name} is {value!r}; it is {what}")


def _checked_body(extra_body: dict[str, Any] | None) -> dict[str, Any] | None:
    """A copy of the further fields of a request; InputError where they cannot be."""
    try:
        body = json.loads(json.dumps(extra_body))
    except (TypeError, ValueError, RecursionError):
        body = ()
    if not isinstance(body, dict | None):
        raise InputError(
            f"extra_body is {preview(extra_body)}; it is a JSON object with fields of the request"
        )
    for name in NOT_EXTRA:
        if name in (body or {}):
            raise InputError(
                f"extra_body has {name!r}, which sample sets itself; leave it out, or use its option"
            )
    return body or None
