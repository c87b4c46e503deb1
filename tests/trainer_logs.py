"""Logs as trainers write them, made small: the columns, types and file names of their own code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.ipc as ipc

SYSTEM = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."


def float32(value: float | None) -> float | None:
    """A reward as TRL holds it."""
    return None if value is None else float(np.float32(value))


def trl_rows(
    step: int = 1, *, chat: bool = False, prompts: tuple[str, ...] = ("2+2?", "5+5?")
) -> list[dict[str, Any]]:
    """What GRPOTrainer.log of TRL 1.16 puts into a step's table: two reward functions, two of log_extra."""
    rows = []
    for prompt in prompts:
        for place, text in enumerate(("4", "10")):
            rows.append(
                {
                    "step": step,
                    "prompt": [{"role": "user", "content": prompt}] if chat else prompt,
                    "completion": [{"role": "assistant", "content": text}] if chat else text,
                    "right": float32(0.2 * place),
                    "brief": float32(0.5) if place else None,
                    "gold": "4",
                    "n_chars": len(text),
                    "advantage": float32(place - 0.5),
                }
            )
    return rows


def write_trl(folder: Path, *tables: list[dict[str, Any]]) -> Path:
    """A TRL output folder with one file a table, as `DataFrame.to_parquet` writes them; gives the folder."""
    inner = folder / "completions"
    inner.mkdir(parents=True)
    for rows in tables:
        pd.DataFrame(rows).to_parquet(inner / f"completions_{rows[0]['step']:05d}.parquet")
    return folder


def rendered(question: str) -> str:
    """A prompt in Qwen's chat template, decoded as verl does: without the special tokens."""
    return f"system\n{SYSTEM}\nuser\n{question}\nassistant\n"


def verl_rows(
    step: int = 1, questions: tuple[str, ...] = ("2+2?", "5+5?"), **columns: Any
) -> list[dict[str, Any]]:
    """What RayPPOTrainer dumps in verl 0.9.1 with a reward function that returns score, acc and pred."""
    return [
        {
            "input": rendered(question),
            "output": f"<answer>{text}</answer>",
            "gts": None,
            "score": float(text == str(eval(question.rstrip("?")))),
            "step": step,
            "acc": text == str(eval(question.rstrip("?"))),
            "pred": text,
            "request_id": f"{step}-{question}-{text}",
            **columns,
        }
        for question in questions
        for text in ("4", "10")
    ]


def write_jsonl(path: Path, rows: list[Any]) -> Path:
    """Rows as lines of JSON; the folder is made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


def training_rows(questions: tuple[str, ...] = ("2+2?", "5+5?")) -> list[dict[str, Any]]:
    """A training set of verl and siiRL, as their data_preprocess scripts make it."""
    return [
        {
            "data_source": "toy",
            "prompt": [{"role": "system", "content": SYSTEM}, {"role": "user", "content": question}],
            "ability": "math",
            "reward_model": {"style": "rule", "ground_truth": str(eval(question.rstrip("?")))},
            "extra_info": {"split": "train", "index": place},
        }
        for place, question in enumerate(questions)
    ]


def episode(name: str, text: str, **trace: Any) -> dict[str, Any]:
    """A line of traces.jsonl of verifiers 0.4.0 with one trace of two turns of the model."""

    def node(role: str, content: str, parent: int | None, sampled: bool = False) -> dict[str, Any]:
        place = {} if parent is None else {"parent": parent}
        return {**place, "message": {"role": role, "content": content}, "sampled": sampled}

    task = {
        "type": "Math",
        "data": {"idx": 0, "prompt": "2+2?", "skills": [], "answer": "4"},
        "key": "k",
        "hash": "h",
    }
    nodes = [
        node("system", "Be brief.", None),
        node("user", "2+2?", 0),
        node("assistant", "let me see", 1, True),
        node("user", "go on", 2),
        node("assistant", text, 3, True),
    ]
    made = {
        "id": name,
        "task": task,
        "agent": {"name": "solver", "trainable": True},
        "nodes": nodes,
        "calls": [{"node": 4, "model": "m-1"}],
        "rewards": {
            "correct": {"score": float(text == "4"), "weight": 1.0},
            "brief": {"score": 0.5, "weight": 0.2},
        },
        "metrics": {"num_turns": 2.0},
        **trace,
    }
    return {
        "id": f"e-{name}",
        "env": {"id": "math"},
        "task": task,
        "ok": True,
        "errors": [],
        "traces": [made],
    }


def write_saved_dataset(folder: Path, *shards: list[dict[str, Any]]) -> Path:
    """A folder as ``Dataset.save_to_disk`` of datasets 5.2 writes it: Arrow streams and state.json."""
    folder.mkdir(parents=True)
    names = [f"data-{at:05d}-of-{len(shards):05d}.arrow" for at in range(len(shards))]
    for name, rows in zip(names, shards, strict=True):
        table = pa.Table.from_pylist(rows)
        with ipc.new_stream(str(folder / name), table.schema) as writer:
            writer.write_table(table)
    state = {"_data_files": [{"filename": name} for name in names], "_fingerprint": "f", "_split": None}
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "dataset_info.json").write_text("{}")
    return folder
