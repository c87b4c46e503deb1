"""Logs as trainers write them, made small: the columns, types and file names of their own code."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc

SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
QUESTIONS = {"2+2?": "4", "5+5?": "10"}


def float32(value):
    """A reward as TRL holds it."""
    return None if value is None else float(np.float32(value))


def values(rollouts, name):
    """A column of rollouts, missing values as None."""
    return rollouts.columns()[name]


def said(role, text):
    return {"role": role, "content": text}


def trl_rows(step=1, *, chat=False, prompts=tuple(QUESTIONS)):
    """What GRPOTrainer.log of TRL 1.16 puts into a step's table: two reward functions, two of log_extra."""
    return [
        {
            "step": step,
            "prompt": [said("user", prompt)] if chat else prompt,
            "completion": [said("assistant", text)] if chat else text,
            "right": float32(0.2 * place),
            "brief": float32(0.5) if place else None,
            "gold": "4",
            "n_chars": len(text),
            "advantage": float32(place - 0.5),
        }
        for prompt in prompts
        for place, text in enumerate(("4", "10"))
    ]


def write_trl(folder, *tables):
    """A TRL output folder with one file a table, as `DataFrame.to_parquet` writes them; gives the folder."""
    inner = folder / "completions"
    inner.mkdir(parents=True)
    for rows in tables:
        pd.DataFrame(rows).to_parquet(
            inner / f"completions_{rows[0]['step']:05d}.parquet"
        )
    return folder


def rendered(question):
    """A prompt in Qwen's chat template, decoded as verl does: without the special tokens."""
    return f"system\n{SYSTEM}\nuser\n{question}\nassistant\n"


def verl_rows(step=1, questions=tuple(QUESTIONS)):
    """What RayPPOTrainer dumps in verl 0.9.1 with a reward function that returns score, acc and pred."""
    return [
        {
            "input": rendered(question),
            "output": f"<answer>{text}</answer>",
            "gts": None,
            "score": float(text == QUESTIONS.get(question)),
            "step": step,
            "acc": text == QUESTIONS.get(question),
            "pred": text,
            "request_id": f"{step}-{question}-{text}",
        }
        for question in questions
        for text in ("4", "10")
    ]


YELLOW, RESET = "\x1b[33m\x1b[2m", "\x1b[0m"


def areal_dump(*rollouts, prompt="user\n2+2?\n"):
    """What RLVRWorkflow of AReaL appends to <version>/<query_id>.txt: texts with their rewards, colored."""
    return "".join(
        f"idx: {idx} / {len(rollouts)}, seqlen: 9, reward is {reward}.\n"
        f"prompt is \n{YELLOW}{prompt}{RESET}\nsequence is: \n{YELLOW}{text}{RESET}\n"
        for idx, (text, reward) in enumerate(rollouts, start=1)
    )


def write_jsonl(path, rows):
    """Rows as lines of JSON; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows),
        encoding="utf-8",
    )


def training_rows():
    """A training set of verl and siiRL, as their data_preprocess scripts make it."""
    return [
        {
            "data_source": "toy",
            "prompt": [said("system", SYSTEM), said("user", question)],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": truth},
            "extra_info": {"split": "train", "index": place},
        }
        for place, (question, truth) in enumerate(QUESTIONS.items())
    ]


def episode(name, text, **trace):
    """A line of traces.jsonl of verifiers 0.4.0 with one trace of two turns of the model."""
    data = {"idx": 0, "prompt": "2+2?", "skills": [], "answer": "4"}
    task = {"type": "Math", "data": data, "key": "k", "hash": "h"}
    turns = [
        said("system", "Be brief."),
        said("user", "2+2?"),
        said("assistant", "let me see"),
    ]
    turns += [said("user", "go on"), said("assistant", text)]
    nodes = [
        {"message": turn, "sampled": turn["role"] == "assistant"} for turn in turns
    ]
    made = {
        "id": name,
        "task": task,
        "agent": {"name": "solver", "trainable": True},
        "nodes": [
            {**node, **({"parent": at - 1} if at else {})}
            for at, node in enumerate(nodes)
        ],
        "calls": [{"node": 4, "model": "m-1"}],
        "rewards": {
            "correct": {"score": float(text == "4"), "weight": 1.0},
            "brief": {"score": 0.5, "weight": 0.2},
        },
        "metrics": {"num_turns": 2.0},
        **trace,
    }
    about = {
        "id": f"e-{name}",
        "env": {"id": "math"},
        "task": task,
        "ok": True,
        "errors": [],
    }
    return {**about, "traces": [made]}


def write_saved_dataset(folder, *shards):
    """A folder as ``Dataset.save_to_disk`` of datasets 5.2 writes it: Arrow streams and state.json."""
    folder.mkdir(parents=True)
    names = [f"data-{at:05d}-of-{len(shards):05d}.arrow" for at in range(len(shards))]
    for name, rows in zip(names, shards, strict=True):
        table = pa.Table.from_pylist(rows)
        with ipc.new_stream(str(folder / name), table.schema) as writer:
            writer.write_table(table)
    state = {
        "_data_files": [{"filename": name} for name in names],
        "_fingerprint": "f",
        "_split": None,
    }
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    return folder
