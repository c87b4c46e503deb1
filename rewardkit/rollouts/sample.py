"""sample(): groups of completions from an OpenAI-compatible server."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm.auto import tqdm

from rewardkit.errors import InputError, RolloutsError, preview
from rewardkit.rollouts.chat import CONCURRENCY, RETRIES, TIMEOUT, Server, ask_all
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.prompts import as_messages, read_prompts
from rewardkit.rollouts.sample_log import append, mend, read_log
from rewardkit.rollouts.source import Place

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
        "rollout_id", "prompt_id", "generation", "policy", "model", "prompt", "seed",
        *SETTINGS, *ANSWERED,
        # would be read as the transcript where a completion has no text
        *ALIASES["messages"],
)  # fmt: skip
"""Columns that the log has for itself, which those of the prompts cannot be."""

LEAST = {"n": 1, "limit": 1, "max_tokens": 1, "concurrency": 1, "retries": 0, "seed": 0}
"""Options that are whole numbers, and the least that each can be."""

NOT_EXTRA = {
    "messages",
    "n",
    "stream",
    "model",
    "temperature",
    "top_p",
    "max_tokens",
    "seed",
}


@dataclass(frozen=True)
class Failed:
    """A completion that was not given, and why."""

    rollout_id: str
    reason: str


@dataclass(frozen=True)
class Sampled:
    """What a run of `sample` did; all but `rows` and `kept` speak of this run alone.

    `rows` stand in the log at `output` now, `kept` of this policy's were there before.
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

    def record(self) -> dict[str, Any]:
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
    timeout: float = TIMEOUT,
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
    whole = (n, limit, max_tokens, concurrency, retries, seed)
    for (name, least), value in zip(LEAST.items(), whole, strict=True):
        if value is not None and (type(value) is not int or value < least):
            raise InputError(f"{name} is {value!r}; it is a whole number from {least}")
    if taken := NOT_EXTRA & set(extra_body or ()):
        raise InputError(
            f"extra_body has {min(taken)!r}, which sample sets itself; leave it out, "
            "or use its option"
        )
    started = time.perf_counter()
    server = Server(base_url, model, timeout, retries)
    every, rejected, warnings = read_prompts(
        prompts, columns=columns, system=system, reserved=RESERVED
    )
    path, chosen = Path(output), every[:limit]
    rows, broken = read_log(path)
    policy = policy or model
    settings = dict(
        zip(SETTINGS, (temperature, top_p, max_tokens, extra_body or None), strict=True)
    )
    run = _Run(
        policy, model, seed, settings, plain_ids=not rows or rows[0]["policy"] == policy
    )
    there = _there(run, path, rows, every, add)
    wanted = [run.row(prompt, k) for prompt in chosen for k in range(n)]
    asked = [row for row in wanted if row["rollout_id"] not in there]
    requests = [
        {"model": model, "messages": as_messages(row["prompt"])}
        | {name: row[name] for name in (*SETTINGS, "seed") if name in row}
        for row in asked
    ]
    if broken:
        warnings.insert(
            0,
            f"the last line of {str(path)!r} was broken off and is cut off ({broken} "
            "bytes)",
        )
    mend(path, broken)
    answers: list[dict[str, Any]] = []
    failed: list[Failed] = []
    try:
        with (
            tqdm(
                desc="sampling",
                unit="completion",
                total=len(wanted),
                disable=not progress,
            ) as bar,
            closing(ask_all(server, requests, concurrency=concurrency)) as outcomes,
        ):
            bar.update(len(wanted) - len(asked))
            for at, outcome in outcomes:
                bar.update()
                if isinstance(outcome, dict):
                    append(path, {**asked[at], **outcome})
                    answers.append(outcome)
                else:
                    failed.append(
                        Failed(asked[at]["rollout_id"], server.reason(outcome))
                    )
                    bar.set_postfix(failed=len(failed))
    except (InputError, KeyboardInterrupt) as error:
        if isinstance(error, InputError) and not answers:
            raise
        written = len(read_log(path)[0]) - len(
            rows
        )  # an interrupt may come behind a row that was written
        raise type(error)(
            f"{str(error) or 'interrupted'}; {written} of the {len(asked)} "
            "completions that were to be "
            f"sampled are in {str(path)!r}, and the same again samples the others"
        ) from None
    return Sampled(
        output=path,
        rows=len(rows) + len(answers),
        kept=len(there),
        sampled=len(answers),
        prompts=len(chosen),
        n=n,
        failed=tuple(sorted(failed, key=lambda item: item.rollout_id)),
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
    settings: dict[str, Any]
    plain_ids: bool  # not where another policy's rows have taken them

    def row(self, prompt: Mapping[str, Any], k: int) -> dict[str, Any]:
        """Return the row of completion `k` of a prompt before the server answers."""
        rollout_id = (
            f"{'' if self.plain_ids else self.policy + ':'}{prompt['prompt_id']}#{k}"
        )
        # siblings have different seeds, whatever the order and whatever failed before;
        # servers take 31 bits
        digest = hashlib.sha256(f"{self.seed}:{rollout_id}".encode()).digest()
        own = {
            "generation": k,
            "policy": self.policy,
            "model": None if self.policy == self.model else self.model,
            "seed": None if self.seed is None else int.from_bytes(digest[:4]) >> 1,
            **self.settings,
        }
        given = {name: value for name, value in own.items() if value is not None}
        return {"rollout_id": rollout_id, **given, **prompt}


def _there(
    run: _Run,
    path: Path,
    rows: Sequence[Mapping[str, Any]],
    prompts: Sequence[Mapping[str, Any]],
    add: bool,
) -> set[str]:
    """Return the ids of the rows of this policy and these prompts in the log.

    RolloutsError: it was made with other settings or of a prompt that has changed, or
    it has other policies or prompts and `add` is not set.
    """
    by_id = {str(prompt["prompt_id"]): prompt for prompt in prompts}
    there = set()
    for row in rows:
        prompt = by_id.get(str(row["prompt_id"]))
        if row["policy"] != run.policy or prompt is None:
            if not add:
                raise RolloutsError(
                    f"{str(path)!r} has completions of prompt {row['prompt_id']!r} "
                    "and policy "
                    f"{row['policy']!r}; this run samples {run.policy!r} on "
                    f"{len(prompts)} prompts: name "
                    "another log, or let this one be added to (--add, add=True)"
                )
            continue
        expected = run.row(prompt, row["generation"])
        for name in dict.fromkeys([*expected, *row]):
            if name not in ANSWERED and row.get(name) != expected.get(name):
                raise RolloutsError(
                    f"{str(path)!r} was made otherwise: {row['rollout_id']} has {name} "
                    f"{preview(row.get(name))}, and this run "
                    f"{preview(expected.get(name))}; name another "
                    "log, or add this run as another policy (--policy NAME --add)"
                )
        there.add(row["rollout_id"])
    return there
