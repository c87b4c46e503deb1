"""Logs of trainers that write a total: verl, EasyR1, NeMo, SkyRL, AReaL, slime.

verl: RayPPOTrainer._write_generations writes <step>.jsonl with input, output, gts,
score, step and other values that the reward function returned; trainer v1 writes only
the score and uid, "{prompt}_{session}_{index}" (0.9.1). siiRL dumps validations as an
array with rank, global_step, data_source, input, output, score, extras (0.2.0).

NeMo-RL: Logger.log_batched_dict_as_jsonl writes train_data_step<N>.jsonl, one line per
rollout, in some versions with lists of length 1: content (the texts of the messages; in
validation the messages), rewards, values per token, and idx, a number. Its batches in
memory have message_log, extra_env_info (with the truth) and total_reward per rollout.
NeMo Gym: rollouts.jsonl has one answer of the verifier per line, with
responses_create_params and response in the format of OpenAI's Responses, reward, and
reward_components if there are several (0.4).

SkyRL: dump_per_dataset_eval_results writes one file per data source. AReaL:
WorkflowExecutor._dump_trajectory writes <version>/<task_id>.jsonl, its workflows write
texts (see `areal`). slime: samples have group_index, index, prompt, response, label,
reward (or a dict of rewards), status and metadata; rollout_id is the step. EasyR1 pays
the key overall of what a reward function returns, logs the other keys beside it, and
writes no rollouts of the training itself: its users write these scores with them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import cycle, islice
from typing import Any

from rewardkit.plain import Record
from rewardkit.primitives.messages import assistant_text, content_text, opening_turns
from rewardkit.rollouts.columns import ALIASES, JUDGED_PREFIX, Columns, lists_of_columns
from rewardkit.rollouts.logs.log import (
    TOTALS,
    Form,
    ParsedLog,
    columns_of_objects,
    first,
    has,
    inner,
    numeric,
    scored_table,
    unrolled,
    with_columns,
)
from rewardkit.rollouts.values import SourceRows

# --- verl and siiRL

VERL_COLUMNS = frozenset(
    "input output gts step global_step rank data_source uid request_id score "
    "rollout_id prompt_id extra_info reward_model".split()
)
UID = re.compile(r"(.+)_\d+_\d+")
"""The uid of a row in verl's trainer v1: the prompt's id and two numbers."""


def _is_verl(columns: Columns) -> bool:
    has_step = "step" in columns or "global_step" in columns
    return has_step and {"input", "output", "score"} <= columns.keys()


def _is_siirl(columns: Columns) -> bool:
    return _is_verl(columns) and "rank" in columns


def _parse_verl(rows: SourceRows) -> ParsedLog:
    columns = dict(rows.columns)
    keys = [UID.fullmatch(str(uid)) for uid in columns.get("uid", ())]
    if keys and all(keys):
        columns["rollout_id"] = list(map(str, columns.pop("uid")))
        columns["prompt_id"] = [key[1] for key in keys if key]
    columns = _leave_out_unjudged(columns)
    reserved = VERL_COLUMNS.union(rows.reserved)
    beside = [name for name in columns if name not in reserved]
    rows = replace(rows, columns=columns)
    return scored_table(rows, total="score", unpaid=VERL_COLUMNS, beside=beside)


def _leave_out_unjudged(columns: Columns) -> Columns:
    """Return the columns with None for scores that our export marks as not judged."""
    scores = dict(columns)
    for name in columns:
        mark = f"{JUDGED_PREFIX}{name}"
        if mark not in scores:
            continue
        cells = []
        for cell, is_judged in zip(scores[name], scores.pop(mark), strict=True):
            cells.append(None if is_judged == 0 else cell)
        scores[name] = cells
    return scores


# --- NeMo-RL

NEMO_COLUMNS = frozenset(
    "content idx input_lengths filtered_rewards sample_loss_mask step length "
    "loss_multiplier truncated total_input_tokens".split()
)


def _is_nemo_rl(columns: Columns) -> bool:
    content, rewards = [first(columns.get(name, ())) for name in ("content", "rewards")]
    if not isinstance(content, list) or not content:
        return False
    if isinstance(rewards, list):
        return len(content) == len(rewards) == 1
    return numeric([rewards]) and isinstance(content[-1], str | Mapping)


def _parse_nemo_rl(rows: SourceRows, earlier: ParsedLog | None = None) -> ParsedLog:
    if isinstance(first(rows.columns["rewards"]), list):
        rows = unrolled(rows, "content")
    rows = _with_truth(rows)
    columns = dict(rows.columns)
    contents = columns.pop("content")
    lengths = [len(cell) for cell in contents if isinstance(cell, list) and cell]
    # roles are not logged: the shortest rollout is its prompt and one answer
    before = earlier.turns_before if earlier else min(lengths, default=2) - 1
    turns = list(map(partial(_turns, before=before), contents))
    columns = {**lists_of_columns(turns), **columns}
    return scored_table(
        replace(rows, columns=columns),
        total="rewards",
        unpaid=NEMO_COLUMNS,
        turns_before=before,
    )


def _parse_nemo_batch(rows: SourceRows) -> ParsedLog:
    return scored_table(
        _with_truth(rows),
        total="total_reward",
        unpaid=NEMO_COLUMNS,
        usual={"messages": "message_log"},
    )


def _with_truth(rows: SourceRows) -> SourceRows:
    """Add the truth from the input of NeMo-RL's environment."""
    infos = rows.columns.get("extra_env_info", ())
    truths = []
    for info in infos:
        cells = [inner(info, name) for name in ALIASES["ground_truth"]]
        truths.append(first(cells))
    return with_columns(rows, ground_truth=truths)


def _turns(content: Any, before: int) -> Record:
    """Return the prompt, the last answer, and the messages if there are more.

    `before` is the number of texts that make up the prompt.
    """
    if not isinstance(content, list) or not content:
        return {"completion": content or None}
    if isinstance(content[-1], Mapping):
        return {
            "prompt": opening_turns(content),
            "completion": assistant_text(content),
            "messages": content,
        }
    prompt = "".join(map(str, content[:-1][:before]))
    columns: Record = {"prompt": prompt, "completion": content[-1]}
    if len(content) <= before + 1:
        return columns
    answers = cycle(("assistant", "tool"))
    roles = [*["user"] * before, *islice(answers, len(content) - before)]
    pairs = zip(roles, content, strict=True)
    messages = [{"role": role, "content": text} for role, text in pairs]
    return {**columns, "messages": messages}


# --- NeMo Gym

GYM_COLUMNS = frozenset("_ng_task_index _ng_rollout_index task_idx mask_sample".split())


def _is_nemo_gym(columns: Columns) -> bool:
    names = ("responses_create_params", "response")
    cells = [first(columns.get(name, ())) for name in names]
    return all(isinstance(cell, Mapping) for cell in cells)


def _parse_nemo_gym(rows: SourceRows) -> ParsedLog:
    columns = dict(rows.columns)
    requests = columns.pop("responses_create_params")
    responses = columns.pop("response")
    chats: Columns = {"prompt": [], "completion": [], "messages": []}
    for request, response in zip(requests, responses, strict=True):
        before = _messages(inner(request, "input"), "user")
        output = inner(response, "output")
        answers = _messages(output, "assistant")
        chats["prompt"].append(before or None)
        text = assistant_text(answers)
        if output == []:  # the model wrote nothing
            text = ""
        chats["completion"].append(text)
        chats["messages"].append([*before, *answers] or None)
    scores = columns_of_objects(columns.pop("reward_components", ()))
    columns = {**chats, **columns, **scores}
    if "reward" not in columns:  # the request to a verifier, logged before its answer
        return ParsedLog(replace(rows, columns=columns))
    return scored_table(
        replace(rows, columns=columns),
        unpaid=GYM_COLUMNS,
        usual={"prompt_id": "_ng_task_index", "ground_truth": "answer"},
    )


def _messages(items: Any, role: str) -> list[Record]:
    """Return items of OpenAI's Responses as chat messages, without reasoning."""
    if isinstance(items, str):
        return [{"role": role, "content": items}]
    messages: list[Record] = []
    for item in items if isinstance(items, list) else ():
        kind = inner(item, "type") or "message"
        if kind == "message":
            text = content_text(inner(item, "content"))
            messages.append({"role": inner(item, "role") or role, "content": text})
        elif kind == "function_call":
            call = {"name": item.get("name"), "arguments": item.get("arguments")}
            calls = [{"type": "function", "function": call}]
            messages.append({"role": "assistant", "content": "", "tool_calls": calls})
        elif kind == "function_call_output":
            messages.append(
                {"role": "tool", "content": content_text(item.get("output"))}
            )
    return messages


# --- SkyRL


def _parse_skyrl(rows: SourceRows) -> ParsedLog:
    columns = dict(rows.columns)
    scores = []
    for cell in columns["score"]:
        if isinstance(cell, list) and numeric(cell):  # a reward per token
            cell = sum(cell)
        scores.append(cell)
    columns["score"] = scores
    extras = columns.get("env_extras", [None] * len(rows.places))
    truths = [inner(cell, "reward_spec", "ground_truth") for cell in extras]
    # also without truths, as the first rows of a log decide its columns
    rows = replace(rows, columns={"ground_truth": truths, **columns})
    rows = with_columns(rows, extra_info=[inner(cell, "extra_info") for cell in extras])
    usual = {"prompt": "input_prompt", "completion": "output_response"}
    return scored_table(rows, total="score", usual=usual)


# --- slime

SLIME_COLUMNS = frozenset(
    "group_index index rollout_id response_length effective_response_length".split()
)


def _parse_slime(rows: SourceRows) -> ParsedLog:
    columns = dict(rows.columns)
    if "step" not in columns and "rollout_id" in columns:
        columns["step"] = columns.pop("rollout_id")
    total = "reward"
    scores = columns_of_objects(columns[total])
    if scores:
        usual_totals = (name for name in ("reward", "score", "total") if name in scores)
        total = next(usual_totals, next(iter(scores)))
        del columns["reward"]
        columns |= scores
    rows = replace(rows, columns=columns)
    usual = {"ground_truth": "label"}
    return scored_table(rows, total=total, unpaid=SLIME_COLUMNS, usual=usual)


# --- EasyR1


def _is_easyr1(columns: Columns) -> bool:
    has_parts = not columns.keys().isdisjoint(("format", "accuracy"))
    has_total = has_parts and numeric(columns.get("overall", ()))
    return has_total and columns.keys().isdisjoint(TOTALS)


# --- all of them

AREAL_COLUMNS = frozenset(
    "task_id sample_idx seqlen prompt_len head_version tail_version".split()
)
TINKER_COLUMNS = frozenset(
    "iteration group_idx traj_idx ac_len ob_len episode_done".split()
)
TINKER_NAMES = {"prompt": "ob", "completion": "ac", "step": "iteration"}

TRAINER_FORMS = (
    Form("siiRL validation dump", _parse_verl, _is_siirl),
    Form("verl rollout dump", _parse_verl, _is_verl),
    Form("NeMo-RL rollouts", _parse_nemo_rl, _is_nemo_rl, _parse_nemo_rl),
    Form(
        "NeMo-RL batch",
        _parse_nemo_batch,
        has("message_log extra_env_info total_reward"),
    ),
    Form("NeMo Gym rollouts", _parse_nemo_gym, _is_nemo_gym),
    Form("SkyRL evaluation", _parse_skyrl, has("input_prompt output_response score")),
    Form(
        "AReaL rollouts",
        partial(scored_table, unpaid=AREAL_COLUMNS, usual={"step": "tail_version"}),
        has("task_id sample_idx tail_version reward completion"),
    ),
    Form(
        "slime samples",
        _parse_slime,
        has("group_index index prompt response label reward"),
    ),
    Form(
        "Tinker trajectories",
        partial(scored_table, unpaid=TINKER_COLUMNS, usual=TINKER_NAMES),
        has("ob ac group_idx traj_idx reward"),
    ),
    Form(
        "EasyR1 scores",
        partial(scored_table, total="overall", unpaid=("response_length",)),
        _is_easyr1,
    ),
)
