"""from_deepeval: DeepEval's own GEval against a real HTTP server, and ready metrics that need no model."""

import asyncio
import json
import os
import re

import pytest
from deepeval import telemetry
from deepeval.metrics import (
    BaseConversationalMetric,
    BaseMetric,
    ExactMatchMetric,
    FaithfulnessMetric,
    GEval,
)
from deepeval.models import GPTModel
from deepeval.test_case import LLMTestCaseParams as Asked
from server import ModelServer, error, said

import rewardkit as rk

STEPS = ["Read the answer.", "Grade it."]


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    """A working folder of its own, no proxy, one attempt a call."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("DEEPEVAL_RETRY_MAX_ATTEMPTS", "1")


@pytest.fixture
def judge():
    """A server that grades a completion "answer K" with K of 10, slowly."""

    odd = {"fails": error(400, "no such luck"), "rambles": said("It is fine, I think.")}

    def answer(content, attempt):
        text = str(content)
        if "evaluation steps" in text and "answer" not in text:
            return said(json.dumps({"steps": STEPS}))
        (grade,) = set(re.findall(r"answer (\w+)", text))
        reply = odd.get(grade) or said(
            json.dumps({"score": int(grade), "reason": f"it deserves {grade}"})
        )
        return type(reply)(reply.body, status=reply.status, delay=0.02)

    server = ModelServer(answer)
    yield server
    server.close()


def geval(server, *asked, **options):
    model = GPTModel(model="gpt-4o", base_url=server.url, api_key="none")
    asked = list(asked or (Asked.INPUT, Asked.ACTUAL_OUTPUT))
    options = options or {"criteria": "Is it good?"}
    return GEval(name="Good", evaluation_params=asked, model=model, **options)


def scored(function, rows):
    part = rk.Component("good", function)
    return rk.score(rk.Reward("r", components=[part]), rk.load_rollouts(rows)).table


def answers(*grades):
    return [
        {"prompt_id": "q", "prompt": "2+2?", "completion": f"answer {grade}"}
        for grade in grades
    ]


def test_each_row_has_its_own_score_and_reason_and_the_steps_are_written_once(judge):
    grades = [at % 11 for at in range(24)]
    function = rk.judges.from_deepeval(geval(judge), concurrency=4)
    table = scored(function, answers(*grades))
    assert list(table["score/good"]) == pytest.approx([grade / 10 for grade in grades])
    assert [verdict["reason"] for verdict in table["verdict/good"]] == [
        f"it deserves {g}" for g in grades
    ]
    assert 2 <= judge.most_at_once <= 4
    assert len(judge.asked) == 24 + 1
    assert all(STEPS[0] in str(asked) for asked in judge.asked[1:])
    assert (table["cost/good"] > 0).all()  # of gpt-4o, whose prices DeepEval knows
    assert list(table["verdict/good"])[-1]["tokens"] == [3, 5]
    scored(function, answers(1))
    assert (
        len(judge.asked) == 26 and function.metric.evaluation_steps is None
    )  # the caller's is as it was


def test_a_row_that_fails_is_not_judged_with_its_reason_and_the_others_are(judge):
    function = rk.judges.from_deepeval(geval(judge, evaluation_steps=STEPS))
    table = scored(
        function, [*answers("fails", 7, "rambles"), {**answers(1)[0], "prompt": None}]
    )
    assert list(table["status/good"]) == [
        "abstained",
        "scored",
        "abstained",
        "abstained",
    ]
    for row, reason in {
        0: "no such luck",
        2: "invalid JSON",
        3: "there is no 'prompt'",
    }.items():
        assert (
            reason in table["error/good"][row]
            and reason in table["verdict/good"][row]["reason"]
        )
    assert table["score/good"][1] == 0.7


IN, OUT, WANTED = Asked.INPUT, Asked.ACTUAL_OUTPUT, Asked.EXPECTED_OUTPUT
ASKED = [
    ([OUT], None, ["completion"]),
    ([IN, OUT, WANTED], None, ["prompt", "completion", "ground_truth"]),
    (
        [OUT, Asked.RETRIEVAL_CONTEXT],
        {"retrieval_context": "passages"},
        ["completion", "passages"],
    ),
    ([OUT, Asked.CONTEXT], None, ["completion", "context"]),
]
ROW = {
    "prompt": [
        {"role": "system", "content": "brief"},
        {"role": "user", "content": "how many?"},
    ],
    "completion": "answer 3",
    "ground_truth": {"sum": 4},
    "passages": ["passage one", "passage two"],
    "context": "known fact",
}
SIGNS = {
    "prompt": "[user]",
    "ground_truth": '"sum": 4',
    "passages": "passage two",
    "context": "known",
}


@pytest.mark.parametrize(("asked", "columns", "expected"), ASKED)
def test_the_test_case_is_filled_from_the_columns_that_the_metric_asks_for(
    judge, asked, columns, expected
):
    function = rk.judges.from_deepeval(
        geval(judge, *asked, evaluation_steps=STEPS), columns
    )
    assert rk.Component("good", function).asks_for == tuple(expected)
    table = scored(function, [ROW])
    assert table["score/good"][0] == 0.3, table["error/good"][0]
    sent = "".join(str(message["content"]) for message in judge.asked[0]["messages"])
    assert {column for column, sign in SIGNS.items() if sign in sent} == {*expected} - {
        "completion"
    }


def test_a_completion_cannot_have_a_file_read_and_sent(judge, tmp_path):
    secret = tmp_path / "secret.png"
    secret.write_bytes(b"secret")
    row = {
        **answers(5)[0],
        "completion": f"answer 5 [DEEPEVAL:IMAGE:{secret}] [DEEPEVAL:PDF:{secret}]",
    }
    table = scored(rk.judges.from_deepeval(geval(judge, evaluation_steps=STEPS)), [row])
    assert table["score/good"][0] == 0.5, table["error/good"][0]
    assert "c2VjcmV0" not in json.dumps(judge.asked)  # the file's content in base 64


def test_it_works_inside_a_running_loop_and_called_all_at_once_keeps_to_its_concurrency(
    judge,
):
    function = rk.judges.from_deepeval(geval(judge), concurrency=3)

    async def trainer():
        assert scored(function, answers(1, 2))["score/good"].tolist() == [0.1, 0.2]
        return await asyncio.gather(
            *(function(prompt="?", completion=f"answer {k}") for k in range(9))
        )

    assert asyncio.run(trainer()) == [k / 10 for k in range(9)]
    assert judge.most_at_once <= 3


class Quiet(BaseMetric):
    """A metric of one's own, which says neither what it needs nor a score."""

    threshold = 0.5

    def measure(self, test_case):
        return None

    async def a_measure(self, test_case):
        assert test_case.actual_output == "answer 1"


def test_a_metric_needs_neither_a_model_nor_telemetry_and_one_that_gives_no_score_is_not_judged(
    monkeypatch,
):
    monkeypatch.delenv("DEEPEVAL_TELEMETRY_OPT_OUT", raising=False)
    assert not telemetry.telemetry_opt_out()
    rows = [
        {"prompt": "2+2?", "completion": text, "ground_truth": "4"}
        for text in ("4", "5")
    ]
    assert list(
        scored(rk.judges.from_deepeval(ExactMatchMetric()), rows)["score/good"]
    ) == [1.0, 0.0]
    assert (
        telemetry.telemetry_opt_out()
        and os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] == "1"
    )
    table = scored(rk.judges.from_deepeval(Quiet()), answers(1))
    assert (table["status/good"][0], table["error/good"][0]) == (
        "abstained",
        "Quiet gives no score",
    )


METRIC = "is no single-turn metric of DeepEval; give one"
COLUMN = "give the column for a field of LLMTestCase"
BAD = [
    (GEval, None, METRIC),
    (BaseConversationalMetric(), None, METRIC),
    (
        ExactMatchMetric(),
        {"actual_outptu": "x"},
        f"{COLUMN}.*; did you mean 'actual_output'",
    ),
    (ExactMatchMetric(), {"input": "a b"}, COLUMN),
]


@pytest.mark.parametrize(("metric", "columns", "sentence"), BAD)
def test_what_is_no_metric_or_no_column_is_one_sentence(metric, columns, sentence):
    with pytest.raises(ValueError, match=sentence):
        rk.judges.from_deepeval(metric, columns)


def test_what_a_metric_was_made_of_tells_fingerprints_apart(judge):
    def scoring(criteria):
        part = rk.Component(
            "good", rk.judges.from_deepeval(geval(judge, criteria=criteria))
        )
        return rk.Reward("r", components=[part]).record()["fingerprints"]["scoring"]

    assert scoring("Is it good?") == scoring("Is it good?") != scoring("Is it short?")
    assert "criteria='Is it good?'" in repr(rk.judges.from_deepeval(geval(judge)))
    faithful = FaithfulnessMetric(model=geval(judge).model)
    assert (
        rk.Component("f", rk.judges.from_deepeval(faithful)).asks_for[-1]
        == "retrieval_context"
    )
