"""sample(): groups of completions from an OpenAI-compatible server."""

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
"""Columns that are known when the server has answered."""

SETTINGS = ("temperature", "top_p", "max_tokens", "extra_body")
RESERVED = (
    *"rollout_id prompt_id generation policy model prompt seed".split(),
    *SETTINGS,
    *ANSWERED,
    # would be read as the transcript where a completion has no text
    *ALIASES["messages"],
)
"""Columns of the log, which no column of the prompts can be called."""

LEAST = {"n": 1, "limit": 1, "max_tokens": 1, "concurrency": 1, "retries": 0, "seed": 0}
"""Options that are whole numbers, and the least that each can be."""

NOT_EXTRA = frozenset(
    "messages n stream model temperature top_p max_tokens seed".split()
)
"""What a request has already, so that `extra_body` cannot."""


@dataclass(frozen=True)
class Failed:
    """A completion that the server did not give, and why."""

    rollout_id: str
    reason: str


@dataclass(frozen=True)
class Sampled:
    """The figures of a run of `sample`; `rows` and `kept` are of the whole log.

    `rows` stand in the log at `output` now; `kept` of this policy's were in it before.
    `truncated` were ended by the token limit; `without_text` are answers that hold no
    text (a refusal, a tool call, reasoning that used up the tokens): their completion
    is missing, not empty.
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

    def record(self) -> Record:
        """Return it as plain data."""
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
    """Sample `n` completions of each prompt into a JSONL log, and report on it.

    `prompts` is JSONL, Parquet, CSV, a DataFrame or dicts, a row a prompt (text or chat
    messages; `columns`, see `read_prompts`); its other columns stand in the log too.
    Each completion is one request, at most `concurrency` at a time; with a `seed` each
    has one of its own, derived from it and the rollout's id. The key is OPENAI_API_KEY;
    a local server needs none. Rows are written as they come and what stands in the log
    is not sampled again, so the same call goes on after Ctrl-C or a crash, and asks
    again for what failed after `retries`. A larger `n` or `limit` adds to a log;
    another `policy` (default: the model's name) or other prompts need ``add=True``.
    RolloutsError: prompts or log that cannot be used, a log made with other settings.
    InputError: an option that cannot be; a server that is not there, refuses the key,
    has no such model or is gone; the rows it gave are kept.
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
    run = _Run(policy, model, seed, settings, has_plain_ids)
    sampled = _sampled_before(run, path, rows, all_prompts, add)
    wanted = [run.row(prompt, k) for prompt in chosen for k in range(n)]
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
    mend(path, broken)
    answers: list[Record] = []
    failed: list[Failed] = []
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
                    failed.append(Failed(pending[at]["rollout_id"], reason))
                    bar.set_postfix(failed=len(failed))
    except (InputError, KeyboardInterrupt) as error:
        if isinstance(error, InputError) and not answers:
            raise
        # an interrupt may come behind a row that was written
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
class _Run:
    """How completions are asked for: what stands in every row and every request."""

    policy: str
    model: str
    seed: int | None
    settings: Record
    has_plain_ids: bool  # not where another policy's rows have taken them

    def row(self, prompt: Plain, k: int) -> Record:
        """Return the row of completion `k` of a prompt before the server answers."""
        rollout_id = f"{prompt['prompt_id']}#{k}"
        if not self.has_plain_ids:
            rollout_id = f"{self.policy}:{rollout_id}"
        row: Record = {"generation": k, "policy": self.policy}
        if self.policy != self.model:
            row["model"] = self.model
        if self.seed is not None:
            # siblings have different seeds, whatever the order and whatever failed
            # before; servers take 31 bits
            digest = hashlib.sha256(f"{self.seed}:{rollout_id}".encode()).digest()
            row["seed"] = int.from_bytes(digest[:4]) >> 1
        for name, value in self.settings.items():
            if value is not None:
                row[name] = value
        return {"rollout_id": rollout_id, **row, **prompt}


def _sampled_before(
    run: _Run,
    path: Path,
    rows: Sequence[Plain],
    prompts: Sequence[Plain],
    add: bool,
) -> set[str]:
    """Return the ids of the rows of this policy and these prompts in the log.

    RolloutsError: it was made with other settings or of a prompt that has changed, or
    it has other policies or prompts and `add` is not set.
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
    """Raise a RolloutsError where a row of the log has other settings."""
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
"""How each line begins, by which a broken last line is known as ours."""


def read_log(path: Path) -> tuple[list[Record], int]:
    """Return the rows of a log, and the bytes of a last line that was broken off.

    RolloutsError: another kind of file, or one that `sample` did not write.
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


def mend(path: Path, broken: int) -> None:
    """Prepare a log for more rows: drop a broken last line, end the last one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if broken:
        os.truncate(path, path.stat().st_size - broken)
    elif path.exists() and path.read_bytes()[-1:] not in (b"", b"\n"):
        with path.open("ab") as file:
            file.write(b"\n")


def append_row(path: Path, row: Plain) -> None:
    """Append a row as a whole line, which is in the file when this returns."""
    line = json.dumps(row, ensure_ascii=False) + "\n"
    with path.open("ab") as file:
        # half a character is written as an escape, which alone can hold it
        file.write(line.encode("utf-8", "backslashreplace"))
