import pandas as pd
import pytest

import rewardkit as rk
from rewardkit.html.excerpts import hidden_user_texts
from rewardkit.notebook.tables import show, try_extractors

pytestmark = pytest.mark.integration

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


def everything(reward, rollouts):
    """What is shown of these rollouts beside records, as one HTML text."""
    scores = rk.score(reward, rollouts)
    diagnosis = rk.diagnose(scores)
    extractors = {"n": rk.extract.number(), "all": rk.extract.pattern(".*")}
    records = [
        rk.suggest(diagnosis),
        try_extractors(rollouts, reward, **extractors),
        show(diagnosis.components, "components"),
        show(diagnosis.highest(4), "highest"),
        show(scores.table[["prompt", "ground_truth"]], "texts"),
    ]
    return "\n".join(record._repr_html_() for record in records)


def test_hostile_text_is_shown_as_text(hostile, reward):
    page = everything(reward, hostile)
    # of the components, and of the normalizations
    assert page.count("What its columns say") == 2
    assert "&lt;script&gt;" in page
    assert [tag for tag in ("<script", "<img", "\u202e") if tag in page] == []
    page.encode("utf-8")  # a lone surrogate would fail here


def test_redacted_pages_hold_nothing_of_prompts_completions_and_truths(hostile, reward):
    assert "SECRET" in everything(reward, hostile)
    with hidden_user_texts():
        page = everything(reward, hostile)
    assert [
        words for words in ("SECRET", "<script", "&lt;script") if words in page
    ] == []
    assert "redacted" in page


def test_the_extraction_table_counts_what_each_extractor_finds_and_shows_it_where_it_does():
    texts = ("a 1", "b 2", "none", "<answer>3</answer>")
    rollouts = rk.load_rollouts([{"completion": text} for text in texts])
    extractors = {
        "number": rk.extract.number(),
        "tag": rk.extract.tag("answer"),
        "box": rk.extract.boxed(),
    }
    reward = rk.Reward("<r>", components=[rk.Component("one", lambda completion: 1.0)])
    page = try_extractors(rollouts, reward, **extractors)._repr_html_()
    assert (
        "75.0%" in page and "25.0%" in page
    )  # number() in three of four, the tag in one
    assert (
        page.count("<mark") == 3
    )  # spans of both extractors at one place are one mark with two labels
    assert "boxed()" in page and "0.0%" in page and "box = None" not in page
    assert "number = &#x27;1&#x27;" in page and "has no extractor of its own" in page


def test_a_table_has_short_numbers_and_one_without_rows_says_so():
    frame = pd.DataFrame({"mean_reward": [1.0], "between": [1 / 3]})
    page = show(frame, "groups")._repr_html_()
    assert ">mean_reward<" in page and ">0.333<" in page and "columns say" not in page
    assert "<table" not in show(frame[:0], "groups")._repr_html_()
    assert "groups: none" in show(frame[:0], "groups")._repr_html_()
    with pytest.raises(
        rk.InputError, match="show takes a DataFrame or a list of cases"
    ):
        show("groups")
