"""sample(): groups of completions from an OpenAI-compatible server, for those who have no log yet."""

from __future__ import annotations

import hashlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm.auto import tqdm

from rewardkit.errors import InputError, RolloutsError, preview
from rewardkit.rollouts.chat import CONCURRENCY, RETRIES, TIMEOUT, Ask, Server, ask_all
from rewardkit.rollouts.columns import ALIASES
from rewardkit.rollouts.files import Rejected
from rewardkit.rollouts.prompts import Prompt, Prompts, read_prompts
from rewardkit.rollouts.sample_log import appending, read_log

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

GIVE_UP_AFTER = 3
"""Prompts in a row of which none was answered. Our choice: one may be at fault itself, three are not."""

TOTALS = ("truncated", "without_text", "prompt_tokens", "completion_tokens")
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
    rejected: tuple[Rejected, ...]
    warnings: tuple[str, ...]
    truncated: int
    without_text: int
    prompt_tokens: int
    completion_tokens: int
    seconds: float

    def record(self) -> dict[str, Any]:
        """The same for JSON."""
        return {
            "rows": self.rows,
            "prompts": self.prompts,
            "n": self.n,
            "sampled": self.sampled,
            "kept": self.kept,
            "failed": len(self.failed),
            "seconds": round(self.seconds, 3),
            "tokens": {"prompt": self.prompt_tokens, "completion": self.completion_tokens},
            "truncated": self.truncated,
            "without_text": self.without_text,
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
    model or answers to none of several prompts in a row; the rows it gave are kept.
    """
    _check_options(
        {"n": n, "limit": limit, "max_tokens": max_tokens, "concurrency": concurrency, "retries": retries}
        | {"seed": seed, "temperature": temperature, "top_p": top_p, "timeout": timeout},
        extra_body,
    )
    server = Server.at(base_url, model, timeout, retries)
    body = json.loads(json.dumps(extra_body)) if extra_body else None
    settings = {"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens, "extra_body": body}
    plan = _Plan(policy or model, model, seed, {k: v for k, v in settings.items() if v is not None})
    read = read_prompts(prompts, columns=columns, system=system, reserved=RESERVED)
    chosen = read.items[:limit]
    path, started = Path(output), time.perf_counter()
    rows, broken = read_log(path)
    plan, there = _taken_up(plan, path, rows, read, add)
    wanted = [(prompt, k) for prompt in chosen for k in range(n)]
    asks = [plan.ask(prompt, k) for prompt, k in wanted if (str(prompt.prompt_id), k) not in there]
    done = _Done(path, len(asks), bool(there))
    with (
        appending(path, broken) as append,
        tqdm(desc="sampling", unit="completion", total=len(wanted), disable=not progress) as bar,
    ):
        bar.update(len(wanted) - len(asks))
        try:
            with closing(ask_all(server, asks, concurrency=concurrency)) as outcomes:
                for ask, outcome in outcomes:
                    if isinstance(outcome, Exception):
                        done.fail(ask, outcome, server)
                        bar.set_postfix(failed=len(done.failed))
                    else:
                        append({**ask.row, **outcome})
                        done.add(outcome)
                    bar.update()
        except KeyboardInterrupt:
            raise KeyboardInterrupt(done.so_far("interrupted")) from None
        except InputError as error:
            raise (InputError(done.so_far(str(error))) if done.added else error) from None
    order = {ask.row["rollout_id"]: at for at, ask in enumerate(asks)}
    mended = f"the last line of {str(path)!r} was broken off and is cut off ({len(broken)} bytes)"
    return Sampled(
        output=path,
        rows=len(rows) + done.added,
        kept=len(there),
        sampled=done.added,
        prompts=len(chosen),
        n=n,
        failed=tuple(sorted(done.failed, key=lambda item: order[item.rollout_id])),
        rejected=read.rejected,
        warnings=(*([mended] if broken else []), *read.warnings),
        seconds=time.perf_counter() - started,
        **{name: done.totals[name] for name in TOTALS},
    )


@dataclass
class _Done:
    """What has been answered so far."""

    path: Path
    asked: int
    known: bool  # whether the server has given answers, so that it is not the settings that it refuses
    added: int = 0
    failed: list[Failed] = field(default_factory=list)
    totals: Counter[str] = field(default_factory=Counter)
    unanswered: set[Any] = field(default_factory=set)

    def add(self, answer: Mapping[str, Any]) -> None:
        """Count an answer."""
        self.known = True
        self.unanswered.clear()
        self.added += 1
        self.totals["truncated"] += answer["finish_reason"] == "length"
        self.totals["without_text"] += answer["completion"] is None
        for name in ("prompt_tokens", "completion_tokens"):
            self.totals[name] += answer[name] if isinstance(answer[name], int) else 0

    def fail(self, ask: Ask, error: Exception, server: Server) -> None:
        """Count what was not answered; InputError where too many prompts in a row were not."""
        reason = server.reason(error)
        self.failed.append(Failed(ask.row["rollout_id"], reason))
        status = getattr(error, "status_code", None)
        if self.known and status is not None and 400 <= status < 500 and status != 429:
            return  # it answers others, so this prompt is at fault, as one that is too long
        self.unanswered.add(ask.row["prompt_id"])
        if len(self.unanswered) >= GIVE_UP_AFTER:
            raise InputError(
                f"the server at {server.address!r} answered to none of {len(self.unanswered)} prompts in a "
                f"row ({reason})"
            )

    def so_far(self, what: str) -> str:
        """Why the run ends, and what it leaves."""
        return (
            f"{what}; {self.added} of the {self.asked} completions that were to be sampled are in "
            f"{str(self.path)!r}, and the same again samples the others"
        )


@dataclass(frozen=True)
class _Plan:
    """How completions are asked for: what stands in every row and every request."""

    policy: str
    model: str
    seed: int | None
    settings: dict[str, Any]
    prefix: str = ""

    def ask(self, prompt: Prompt, k: int) -> Ask:
        """The request for completion `k` of a prompt."""
        row = self.row(prompt, k)
        given = {name: row[name] for name in (*SETTINGS, "seed") if name in row}
        return Ask(row, {"model": self.model, "messages": prompt.messages, **given})

    def row(self, prompt: Prompt, k: int) -> dict[str, Any]:
        """What a row of the log holds before the server has answered."""
        rollout_id = f"{self.prefix}{prompt.prompt_id}#{k}"
        named = {} if self.policy == self.model else {"model": self.model}
        seeded = {} if self.seed is None else {"seed": _derived(self.seed, rollout_id)}
        return {
            "rollout_id": rollout_id,
            "prompt_id": prompt.prompt_id,
            "generation": k,
            "policy": self.policy,
            "prompt": prompt.prompt,
            **named,
            **self.settings,
            **seeded,
            **prompt.columns,
        }


def _derived(seed: int, rollout_id: str) -> int:
    """A seed for one completion: siblings differ, and neither order nor what failed before changes it."""
    digest = hashlib.sha256(f"{seed}:{rollout_id}".encode()).digest()
    return int.from_bytes(digest[:4]) >> 1  # servers take 31 bits


def _taken_up(
    plan: _Plan, path: Path, rows: list[dict[str, Any]], read: Prompts, add: bool
) -> tuple[_Plan, set[tuple[str, int]]]:
    """The plan as it goes on in this log, and the completions (prompt_id, k) of its policy that are there.

    RolloutsError: it was made with other settings, or has other policies or prompts and `add` is not set.
    """
    if rows and rows[0]["policy"] != plan.policy:  # its siblings have taken the plain ids
        plan = replace(plan, prefix=f"{plan.policy}:")
    prompts = {str(item.prompt_id): item for item in read.items}
    there = set()
    for row in rows:
        prompt, k = prompts.get(str(row["prompt_id"])), row["generation"]
        if (prompt is None or row["policy"] != plan.policy) and not add:
            what = (
                f"policy {row['policy']!r}, and this run samples {plan.policy!r}"
                if row["policy"] != plan.policy
                else f"prompt {row['prompt_id']!r}, which is not among the {len(prompts)} of this run"
            )
            raise RolloutsError(
                f"{str(path)!r} has completions of {what}; name another log, or let this one be added to "
                "(--add, add=True)"
            )
        if row["policy"] != plan.policy:
            continue
        there.add((str(row["prompt_id"]), k))
        if prompt is not None:
            _same(plan.row(prompt, k), row, path)
    return plan, there


def _same(expected: Mapping[str, Any], row: Mapping[str, Any], path: Path) -> None:
    """RolloutsError where a row of the log was made with other settings, or of a prompt that has changed."""
    found = {name: value for name, value in row.items() if name not in ANSWERED}
    for name in dict.fromkeys([*expected, *found]):
        old, new = found.get(name), expected.get(name)
        if old != new:
            what = "another seed" if name == "seed" else f"{name} {preview(old)}, and this run {preview(new)}"
            raise RolloutsError(
                f"{str(path)!r} was made otherwise: {row['rollout_id']} has {what}; name another log, or add "
                "this run as another policy (--policy NAME --add)"
            )


def _check_options(numbers: Mapping[str, Any], extra_body: dict[str, Any] | None) -> None:
    """InputError for an option that cannot be."""
    for name, value in numbers.items():
        if value is None and name in ("limit", "max_tokens", "seed", "top_p"):
            continue
        kinds: tuple[type, ...] = (int,) if name in WHOLE else (int, float)
        low, high, what = BOUNDS.get(name) or (WHOLE[name], HUGE, f"a whole number from {WHOLE[name]}")
        if type(value) not in kinds or not low <= value <= high:
            raise InputError(f"{name} is {value!r}; it is {what}")
    if extra_body is not None and not _is_json_object(extra_body):
        raise InputError(
            f"extra_body is {preview(extra_body)}; it is a JSON object with fields of the request"
        )
    for name in NOT_EXTRA:
        if name in (extra_body or {}):
            raise InputError(
                f"extra_body has {name!r}, which sample sets itself; leave it out, or use its option"
            )


def _is_json_object(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return isinstance(value, dict)
