"""reward_endpoint against a real HTTP server that answers as vLLM's /classify does, or fails."""

import math
import sys
from functools import partial

import pytest
from judged import score
from server import Reply, error

import rewardkit as rk

FEW = rk.judges.Limits(retries=1)


def logits(*values, **more):
    """An answer with these logits, as vLLM writes it."""
    data = [
        {"index": 0, "label": None, "probs": list(values), "num_classes": len(values)}
    ]
    return Reply(
        {"object": "list", "data": data, "usage": {"prompt_tokens": 7}, **more}
    )


def judge(server, **options):
    url = server.url.replace("/v1", "/v1/classify")
    return rk.judges.reward_endpoint(url, **{"model": "tiny", "limits": FEW, **options})


def scored(function, *completions, prompt="2+2?"):
    rows = [
        {"prompt_id": "q", "prompt": prompt, "completion": text} for text in completions
    ]
    return score(function, rows).table


SOFTMAX = math.exp(3) / (math.exp(1) + math.exp(2) + math.exp(3))


MAPPED = [
    (logits(0.0), {}, 0.5),
    (logits(1.0), {}, 1 / (1 + math.exp(-1))),
    (logits(1000.0), {}, 1.0),
    (logits(1.0), {"map": (-4, 4)}, 0.625),
    (logits(9.0), {"map": (-4, 4)}, 1.0),
    (logits(1.0, 2.0, 3.0), {"label": 2}, SOFTMAX),  # the sigmoid of a label's log-odds
]


@pytest.mark.parametrize(("answer", "options", "expected"), MAPPED)
def test_a_logit_is_mapped_as_stated(serve, answer, options, expected):
    table = scored(judge(serve(lambda *_: answer), **options), "4")
    assert table["score/c"][0] == pytest.approx(expected, abs=1e-12)
    assert table["verdict/c"][0]["tokens"] == [7, 0]


NO_LOGITS = "it has no logits"


UNREAD = [
    (logits(1.0, 2.0), "'tiny' has 2 labels, and label=None; give the number"),
    (Reply(b'{"data": [{"probs": [NaN]}]}'), NO_LOGITS),
    (Reply({"data": []}), NO_LOGITS),
    (Reply([1]), NO_LOGITS),
    (Reply(b"<html>busy"), "there is no answer"),
    (Reply(logits(1.0).body, cut=True), "there is no answer"),
    (error(400, "longer than the maximum length"), "longer than the maximum"),
]


@pytest.mark.parametrize(("reply", "reason"), UNREAD)
def test_an_answer_that_gives_no_logit_is_not_judged_with_the_reason(
    serve, reply, reason
):
    good = logits(0.0)
    table = scored(
        judge(serve(lambda text, _: good if text == "good" else reply)), "bad", "good"
    )
    assert list(table["status/c"]) == ["abstained", "scored"]
    assert reason in table["error/c"][0] and reason in table["verdict/c"][0]["reason"]
    assert math.isnan(table["score/c"][0]) and table["score/c"][1] == 0.5


def test_the_server_gets_the_conversation_or_one_text_and_is_asked_for_logits(serve):
    server = serve(lambda *_: logits(0.0))
    turns = [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "2+2?"},
    ]
    scored(judge(server), "4")
    scored(judge(server), "4", prompt=turns)
    scored(judge(server, chat=False), "4")
    said, asked = (
        {"role": "assistant", "content": "4"},
        {"role": "user", "content": "2+2?"},
    )
    form = {"model": "tiny", "use_activation": False}
    assert server.asked == [
        {**form, "messages": [asked, said]},
        {**form, "messages": [*turns, said]},
        {**form, "input": "2+2?\n4"},
    ]


def test_an_answer_is_kept_and_one_that_failed_once_is_asked_for_again(serve):
    server = serve(lambda _, attempt: logits(1.0) if attempt else error(503))
    first, again = scored(judge(server), "4"), scored(judge(server), "4")
    assert len(server.asked) == 2
    assert (
        first["score/c"][0]
        == again["score/c"][0]
        == pytest.approx(1 / (1 + math.exp(-1)))
    )
    assert not first["verdict/c"][0]["cached"] and again["verdict/c"][0]["cached"]


def test_a_wrong_address_ends_the_run_at_once_and_says_what_to_give(serve):
    server = serve(lambda *_: logits(1.0))
    limits = rk.judges.Limits(concurrency=1)
    table = scored(
        rk.judges.reward_endpoint(server.url + "/rate", model="tiny", limits=limits),
        *"abcdef",
    )
    assert set(table["status/c"]) == {"abstained"}
    assert all("give the whole address, such as" in why for why in table["error/c"])
    assert server.keys.count("Bearer no-key") == 2  # the look for a server, and one row
    server.close()
    with pytest.raises(rk.InputError, match="does not answer"):
        scored(judge(server, limits=rk.judges.Limits(retries=0)), "4")


@pytest.mark.parametrize(
    "how", ["logistic", (2, 1), (0, math.inf), (0, "1"), (1,), None]
)
def test_a_map_that_is_none_is_one_sentence(how):
    for made in (rk.judges.reward_model, partial(rk.judges.reward_endpoint, model="m")):
        with pytest.raises(
            ValueError, match=r"^map=.* does not fit; give 'sigmoid', or \(low, high\)"
        ):
            made("http://localhost/classify", map=how)


EXTRAS = [
    ("torch", "models", lambda: rk.judges.reward_model("nowhere").prepare()),
    ("deepeval", "deepeval", lambda: rk.judges.from_deepeval("any")),
]


@pytest.mark.parametrize(("package", "extra", "use"), EXTRAS)
def test_without_its_package_the_sentence_names_the_extra(
    monkeypatch, package, extra, use
):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(
        ModuleNotFoundError, match=rf"pip install 'reward-workbench\[{extra}\]'"
    ):
        use()
