import pandas as pd
import pytest

import rewardkit as rk
from rewardkit.notebook.display import Show

HOSTILE = "<script>window.pwned = 1</script><img src=x onerror=alert(1)>\x00\ud800\u202eSECRET"


@pytest.fixture
def hostile():
    row = {"prompt_id": "p", "prompt": f"SECRET {HOSTILE}", "ground_truth": "SECRET"}
    return rk.load_rollouts([{**row, "completion": f"{HOSTILE} {n}"} for n in range(4)])


def picky(completion):
    raise ValueError(f"cannot read {completion}")


@pytest.fixture
def reward():
    return rk.Reward(
        "r",
        {"prediction": rk.extract.number()},
        [rk.Component("correct", rk.verify.matches), rk.Component("picky", picky)],
        on_missing="skip",
    )


def everything(show, reward, rollouts):
    """All that is shown of these rollouts, as one HTML text."""
    scores = rk.score(reward, rollouts)
    diagnosis = rk.diagnose(scores)
    case = {"name": "c", "completion": HOSTILE, "ground_truth": "SECRET"}
    result = rk.check(
        reward, rk.load_cases([{**case, "scores": {"correct": 1, "picky": 1}}])
    )
    shown = [
        show.about(rollouts),
        show.scores(scores),
        show.extraction(
            rollouts, {"n": rk.extract.number(), "all": rk.extract.pattern(".*")}
        ),
        show.misses(result),
        show.findings(diagnosis.findings),
        show.suggestions(rk.suggest(diagnosis)),
        show.normalization(rk.suggest(diagnosis).normalization),
        show.frame(diagnosis.components, "components"),
    ]
    return "\n".join(item.data for item in shown)


def test_hostile_text_is_shown_as_text(hostile, reward):
    page = everything(Show(), reward, hostile)
    assert "&lt;script&gt;" in page
    assert [tag for tag in ("<script", "<img", "\u202e") if tag in page] == []
    page.encode("utf-8")  # a lone surrogate would fail here


def test_redacted_pages_hold_nothing_of_prompts_completions_and_truths(hostile, reward):
    assert "SECRET" in everything(Show(), reward, hostile)
    page = everything(Show(redact=True), reward, hostile)
    assert [
        words for words in ("SECRET", "<script", "&lt;script") if words in page
    ] == []
    assert "redacted" in page
    assert "ValueError" in page  # what kind of error it was can be told


def test_the_extraction_table_counts_what_each_extractor_finds_and_shows_it_where_it_does():
    texts = ("a 1", "b 2", "none", "<answer>3</answer>")
    rollouts = rk.load_rollouts([{"completion": text} for text in texts])
    extractors = {
        "number": rk.extract.number(),
        "tag": rk.extract.tag("answer"),
        "box": rk.extract.boxed(),
    }
    page = Show().extraction(rollouts, extractors, note="read <here>").data
    assert (
        "75.0%" in page and "25.0%" in page
    )  # number() in three of four, the tag in one
    assert (
        page.count("<mark") == 3
    )  # spans of both extractors at one place are one mark with two labels
    assert "boxed()" in page and "0.0%" in page and "box = None" not in page
    assert "number = &#x27;1&#x27;" in page and "<p>read &lt;here&gt;</p>" in page


def test_a_component_keeps_its_own_spelling_in_the_head_of_a_table():
    frame = pd.DataFrame({"mean_reward": [1.0], "mean_right_answer": [0.5]})
    page = Show().frame(frame, "groups", names=["right_answer"]).data
    assert ">mean reward<" in page and ">mean right_answer<" in page
    assert "<table" not in Show().frame(frame[:0], "groups").data
    assert "Groups: none" in Show().frame(frame[:0], "groups").data
