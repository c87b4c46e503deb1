"""sample(): sample groups of completions from an OpenAI-compatible server."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm.auto import tqdm

from rewardkit.errors import InputError, RolloutsError, preview
from rewardkit.plain import Plain, Record
from rewardkit.rollouts.chat import (
    ANSWER_TIMEOUT,
    CONCURRENCY,
    RETRIES,
    Server,
    ask_all,
)
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.prompts import as_messages, read_prompts
from rewardkit.rollouts.values import Place

ANSWERED = frozenset(
    "completion finish_reason reasoning_content refusal tool_calls prompt_tokens "
    "completion_tokens seconds".split()
)
"""Columns of the server's answer."""

SETTINGS = ("temperature", "top_p", "max_tokens", "extra_body")
RESERVED = (
    *"rollout_id prompt_id generation policy model prompt seed".split(),
    *SETTINGS,
    *ANSWERED,
    # a completion without text would be read from them
    *ALIASES["messages"],
)
"""Columns of the log, whose names are not available to columns of the prompts."""

LEAST = {"n": 1, "limit": 1, "max_tokens": 1, "concurrency": 1, "retries": 0, "seed": 0}
"""Options that are whole numbers -> the least value."""

NOT_EXTRA = frozenset(
    "messages n stream model temperature top_p max_tokens seed".split()
)
"""Keys of a request that `extra_body` must not contain."""


@dataclass(frozen=True)
class FailedCompletion:
    """A completion that the server did not return, and why."""

    rollout_id: str
    reason: str


@dataclass(frozen=True)
class Sampled:
    """The figures of a call of `sample`.

    The log at `output` now has `rows`, of which `kept` rows of this policy existed
    before. `truncated` completions reached the token limit. Answers `without_text` (a
    refusal, a tool call, reasoning that used up the tokens) have a missing completion,
    not an empty one.
    """

    output: Path
    rows: int
    kept: int
    sampled: int
    prompts: int
    n: int
    failed: tuple[FailedCompletion, ...]
    rejected: tuple[Place, ...]
    warnings: tuple[str, ...]
    truncated: int
    without_text: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float

    def record(self) -> Record:
        """Return the figures as plain data."""
        record = asdict(self)
        failures = record.pop("failed")
        tokens = {
            "prompt": record.pop("prompt_tokens"),
            "completion": record.pop("completion_tokens"),
        }
        return {
            **record,
            "output": str(self.output),
            "seconds": round(self.seconds, 3),
            "failed": len(failures),
            "failures": failures,
            "tokens": tokens,
        }

    def __repr__(self) -> str:
        lines = [
            f"{self.output} has {self.rows} completions: {self.sampled} sampled now "
            f"in {self.seconds:.1f} s "
            f"({self.prompts} prompts, groups of {self.n}), {self.kept} were there",
            f"tokens: {self.prompt_tokens} prompt, {self.completion_tokens} completion",
        ]
        if self.truncated:
            lines.append(
                f"{self.truncated} of {self.sampled} truncated (finish_reason 'length')"
            )
        if self.without_text:
            lines.append(
                f"{self.without_text} of {self.sampled} without text (see "
                "finish_reason, refusal, tool_calls "
                "and reasoning_content): their completion is missing, and "
                "load_rollouts keeps them out"
            )
        lines += [f"note: {sentence}" for sentence in self.warnings]
        if self.failed:
            lines.append(
                f"{len(self.failed)} failed, the first {self.failed[0].rollout_id}: "
                f"{self.failed[0].reason}; "
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
    timeout: float = ANSWER_TIMEOUT,
    retries: int = RETRIES,
    progress: bool = False,
) -> Sampled:
    """Sample `n` completions of each prompt into a JSONL log; return its figures.

    Each completion is one request. Rows are written as they arrive, and rows of the log
    are not sampled again. So after Ctrl-C or a crash the same call goes on, and it
    repeats failed requests. A larger `n` or `limit` adds to a log. The key is read from
    OPENAI_API_KEY; a local server needs none.

    Args:
        prompts: JSONL, Parquet, CSV, a DataFrame or dicts, one prompt per row (text or
            chat messages). The other columns are copied to the log.
        model: The model's name on the server.
        base_url: The address of the server.
        output: The log.
        n: Completions per prompt.
        temperature: Sampling temperature.
        top_p: Nucleus sampling, by default the server's.
        max_tokens: Most tokens of a completion, by default the server's.
        seed: Seed from which each request's own seed is derived.
        system: A system prompt that precedes each prompt.
        policy: Name of the policy in the log, by default the model's.
        extra_body: Further entries of each request.
        columns: Names of columns, see `read_prompts`.
        limit: Most prompts.
        add: Whether a log with another policy or other prompts is extended.
        concurrency: Concurrent requests.
        timeout: Seconds for one answer.
        retries: Retries of one request.
        progress: Whether to show a progress bar.

    Raises:
        RolloutsError: The prompts or the log cannot be used, or the log was made with
            other settings.
        InputError: An option is invalid, or the server cannot be reached, refuses the
            key, lacks the model or stops answering; rows received before are kept.
    """
    numbers = (n, limit, max_tokens, concurrency, retries, seed)
    for (name, least), value in zip(LEAST.items(), numbers, strict=True):
        if value is not None and (type(value) is not int or value < least):
            raise InputError(f"{name} is {value!r}; it is a whole number from {least}")
    if reserved := NOT_EXTRA & set(extra_body or ()):
        raise InputError(
            f"extra_body has {min(reserved)!r}, which sample sets itself; leave it "
            "out, or use its option"
        )
    started = time.perf_counter()
    server = Server(base_url, model, timeout, retries)
    all_prompts, rejected, warnings = read_prompts(
        prompts, columns=columns, system=system, reserved=RESERVED
    )
    path = Path(output)
    chosen = all_prompts[:limit]
    rows, broken = read_log(path)
    policy = policy or model
    settings = dict(
        zip(SETTINGS, (temperature, top_p, max_tokens, extra_body or None), strict=True)
    )
    has_plain_ids = not rows or rows[0]["policy"] == policy
    run = _SamplingRun(policy, model, seed, settings, has_plain_ids)
    sampled = _sampled_before(run, path, rows, all_prompts, add)
    wanted = []
    for prompt in chosen:
        wanted += [run.row(prompt, k) for k in range(n)]
    pending = [row for row in wanted if row["rollout_id"] not in sampled]
    requests = []
    for row in pending:
        request = {"model": model, "messages": as_messages(row["prompt"])}
        request |= {name: row[name] for name in (*SETTINGS, "seed") if name in row}
        requests.append(request)
    if broken:
        warnings.insert(
            0,
            f"the last line of {str(path)!r} was broken off and is cut off ({broken} "
            "bytes)",
        )
    prepare_log(path, broken)
    answers: list[Record] = []
    failed: list[FailedCompletion] = []
    bar = tqdm(
        desc="sampling", unit="completion", total=len(wanted), disable=not progress
    )
    try:
        with (
            bar,
            closing(ask_all(server, requests, concurrency=concurrency)) as outcomes,
        ):
            bar.update(len(wanted) - len(pending))
            for at, outcome in outcomes:
                bar.update()
                if isinstance(outcome, dict):
                    append_row(path, {**pending[at], **outcome})
                    answers.append(outcome)
                else:
                    reason = server.reason(outcome)
                    failed.append(FailedCompletion(pending[at]["rollout_id"], reason))
                    bar.set_postfix(failed=len(failed))
    except (InputError, KeyboardInterrupt) as error:
        if isinstance(error, InputError) and not answers:
            raise
        # an interrupt may come after a row was written and before it was counted
        written = len(read_log(path)[0]) - len(rows)
        raise type(error)(
            f"{str(error) or 'interrupted'}; {written} of the {len(pending)} "
            f"completions that were to be sampled are in {str(path)!r}, and the same "
            "again samples the others"
        ) from None
    return Sampled(
        output=path,
        rows=len(rows) + len(answers),
        kept=len(sampled),
        sampled=len(answers),
        prompts=len(chosen),
        n=n,
        failed=tuple(sorted(failed, key=lambda failure: failure.rollout_id)),
        rejected=rejected,
        warnings=tuple(warnings),
        truncated=sum(answer["finish_reason"] == "length" for answer in answers),
        without_text=sum(answer["completion"] is None for answer in answers),
        prompt_tokens=sum(answer["prompt_tokens"] or 0 for answer in answers),
        completion_tokens=sum(answer["completion_tokens"] or 0 for answer in answers),
        seconds=time.perf_counter() - started,
    )


@dataclass(frozen=True)
class _SamplingRun:
    """The settings of a call of `sample`, which every row and request share."""

    policy: str
    model: str
    seed: int | None
    settings: Record
    has_plain_ids: bool  # False if rows of another policy use plain ids

    def row(self, prompt: Plain, k: int) -> Record:
        """Return the row of completion `k` of a prompt before the server answers."""
        rollout_id = f"{prompt['prompt_id']}#{k}"
        if not self.has_plain_ids:
            rollout_id = f"{self.policy}:{rollout_id}"
        row: Record = {"generation": k, "policy": self.policy}
        if self.policy != self.model:
            row["model"] = self.model
        if self.seed is not None:
            # the seed depends only on the id, not on order or failures; servers
            # take 31 bits
            digest = hashlib.sha256(f"{self.seed}:{rollout_id}".encode()).digest()
            row["seed"] = int.from_bytes(digest[:4]) >> 1
        for name, value in self.settings.items():
            if value is not None:
                row[name] = value
        return {"rollout_id": rollout_id, **row, **prompt}


def _sampled_before(
    run: _SamplingRun,
    path: Path,
    rows: Sequence[Plain],
    prompts: Sequence[Plain],
    add: bool,
) -> set[str]:
    """Return the ids of rows of this policy and these prompts in the log.

    RolloutsError: the log was made with other settings, a prompt has changed, or the
    log has other policies or prompts and `add` is not set.
    """
    by_id = {str(prompt["prompt_id"]): prompt for prompt in prompts}
    sampled = set()
    for row in rows:
        prompt = by_id.get(str(row["prompt_id"]))
        if row["policy"] == run.policy and prompt is not None:
            _check_same(run.row(prompt, row["generation"]), row, path)
            sampled.add(row["rollout_id"])
        elif not add:
            raise RolloutsError(
                f"{str(path)!r} has completions of prompt {row['prompt_id']!r} and "
                f"policy {row['policy']!r}; this run samples {run.policy!r} on "
                f"{len(prompts)} prompts: name another log, or let this one be added "
                "to (--add, add=True)"
            )
    return sampled


def _check_same(expected: Plain, row: Plain, path: Path) -> None:
    """Raise a RolloutsError if a row of the log has other settings."""
    for name in dict.fromkeys([*expected, *row]):
        if name not in ANSWERED and row.get(name) != expected.get(name):
            raise RolloutsError(
                f"{str(path)!r} was made otherwise: {row['rollout_id']} has {name} "
                f"{preview(row.get(name))}, and this run "
                f"{preview(expected.get(name))}; name another log, or add this run as "
                "another policy (--policy NAME --add)"
            )


LOG_COLUMNS = "rollout_id prompt_id generation policy prompt completion".split()
LINE_START = b'{"rollout_id": '
"""The start of each line, which identifies a broken last line as ours."""


def read_log(path: Path) -> tuple[list[Record], int]:
    """Return the rows of a log, and the number of bytes of a truncated last line.

    RolloutsError: the file has another kind, or `sample` did not write it.
    """
    if path.suffix.lower() not in (".jsonl", ".ndjson"):
        raise RolloutsError(
            f"the log is JSONL: {str(path)!r} should end in .jsonl or .ndjson"
        )
    lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            {name: row[name] for name in LOG_COLUMNS}
            rows.append(row)
        except (ValueError, LookupError, TypeError, RecursionError):
            if number == len(lines) and LINE_START.startswith(line[: len(LINE_START)]):
                return rows, len(line)
            if line.strip():
                raise RolloutsError(
                    f"{str(path)!r} is no log that sample wrote (line {number} is "
                    f"{preview(line.decode('utf-8', 'replace'))}); name another file, "
                    "or mend that line"
                ) from None
    return rows, 0


def prepare_log(path: Path, broken: int) -> None:
    """Prepare a log for more rows: remove a truncated last line, or terminate it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if broken:
        os.truncate(path, path.stat().st_size - broken)
    elif path.exists() and path.read_bytes()[-1:] not in (b"", b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")


def append_row(path: Path, row: Plain) -> None:
    """Append a row as a line, and close the file."""
    line = json.dumps(row, ensure_ascii=False) + "\n"
    with path.open("ab") as file:
        # lone surrogates can only be written as escapes
        file.write(line.encode("utf-8", "backslashreplace"))
