"""Inspect's own reader under ours: a log that Inspect itself wrote."""

from inspect_ai import log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import Score

import rewardkit as rk


def test_a_log_that_inspect_wrote_is_read_through_its_own_reader(tmp_path):
    about = log.EvalSpec(
        created="2026-11-22T00:00:00+00:00",
        task="sums",
        model="m/1",
        dataset=log.EvalDataset(),
        config=log.EvalConfig(),
    )
    one = log.EvalSample(
        id="x",
        epoch=1,
        input="2+2?",
        target="4",
        output=ModelOutput.from_content("m/1", "4"),
        scores={"match": Score(value="C")},
    )
    for kind in ("eval", "json"):
        path = tmp_path / f"log.{kind}"
        log.write_eval_log(log.EvalLog(status="success", eval=about, samples=[one]), str(path))
        (row,) = rk.load_rollouts(path)
        assert (row["completion"], row["ground_truth"], row["logged/match"]) == ("4", "4", 1.0)
