"""reward_model on tiny random models made here: one reads its score at the last token, one at the first."""

import math
from unittest.mock import Mock

import pytest
import tiny
import torch
import transformers

import rewardkit as rk
from rewardkit.judges.reward_model import _load

PROMPTS = ["2+2?", "a longer question, 3+3?"]
TEXTS = [
    "4",
    "It is four.",
    "4" * 40,
    "",
    "four " * 12,
    "4.",
    "5",
    "I do not know, sorry.",
    "2+2=4",
]
ROWS = [
    {"prompt": PROMPTS[at % 2], "completion": text} for at, text in enumerate(TEXTS)
]
FOUR = {"prompt": "2+2?", "completion": "4"}


def saved(folder, kind="Phi3", template=tiny.CHAT, change=None, **options):
    """A folder with a tiny model, which a function may have changed, and the model."""
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = template
    torch.manual_seed(1)
    config = getattr(transformers, f"{kind}Config")(
        **{**tiny.SIZES, "num_labels": 1, **options}
    )
    made = getattr(transformers, f"{kind}ForSequenceClassification")(config)
    if change:
        change(made)
    made.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder), made.eval()


def scored(folder, rows=ROWS, columns=None, **options):
    part = rk.Component(
        "rm", rk.judges.reward_model(folder, **options), columns=columns
    )
    return rk.score(rk.Reward("r", components=[part]), rk.load_rollouts(rows)).table


def logit_of(made, text):
    """The logit of a text by itself, computed without rewardkit."""
    with torch.inference_mode():
        return (
            made(input_ids=torch.tensor([tiny.tokenizer()(text)["input_ids"]]))
            .logits[0]
            .tolist()
        )


KINDS = [
    ("Phi3", {}),
    ("ModernBert", {}),
    ("Phi3", {"pad_token_id": None}),
]  # one text at a time without it


@pytest.mark.parametrize(("kind", "options"), KINDS)
def test_padding_and_the_order_of_a_batch_do_not_change_a_score(
    tmp_path, kind, options
):
    folder, made = saved(tmp_path, kind, **options)
    alone, together = (scored(folder, batch_size=size)["score/rm"] for size in (1, 8))
    texts = [f"user:{row['prompt']};assistant:{row['completion']};" for row in ROWS]
    expected = [1 / (1 + math.exp(-logit_of(made, text)[0])) for text in texts]
    assert list(together) == pytest.approx(list(alone), abs=1e-6)
    assert list(alone) == pytest.approx(expected, abs=1e-6)
    assert len({round(score, 6) for score in expected}) == len(
        ROWS
    )  # so that a mix-up would be seen


TURNS = [{"role": "system", "content": "brief"}, {"role": "user", "content": "2+2?"}]
WRITTEN = [
    (tiny.CHAT, {}, "2+2?", "user:2+2?;assistant:4;"),
    (tiny.CHAT, {}, TURNS, "system:brief;user:2+2?;assistant:4;"),
    (tiny.CHAT, {"chat": False}, "2+2?", "2+2?\n4"),
    (None, {}, TURNS, f"{rk.judges.model_judge.column_text(TURNS)}\n4"),
]


@pytest.mark.parametrize(("template", "options", "prompt", "text"), WRITTEN)
def test_the_text_is_written_by_the_template_where_there_is_one(
    tmp_path, template, options, prompt, text
):
    folder, made = saved(tmp_path, template=template)
    (verdict,) = scored(folder, [{**FOUR, "prompt": prompt}], **options)["verdict/rm"]
    assert verdict["logit"] == pytest.approx(logit_of(made, text)[0], abs=1e-6)


def test_a_text_that_is_too_long_loses_its_beginning_and_says_so(tmp_path, caplog):
    folder, made = saved(tmp_path)
    rows = [
        {"prompt": "2+2?", "completion": text} for text in ("4", "4+" * 10, "5+" * 80)
    ]
    table = scored(folder, rows, max_length=30)
    assert [verdict.get("truncated", False) for verdict in table["verdict/rm"]] == [
        False,
        True,
        True,
    ]
    text = "user:2+2?;assistant:" + "4+" * 10 + ";"
    kept = logit_of(made, text[0] + text[-29:])[0]
    assert table["verdict/rm"][1]["logit"] == pytest.approx(kept, abs=1e-6)
    assert "2 of 3 texts had more than 30 tokens" in caplog.text
    caplog.clear()
    assert (
        "truncated" in scored(folder, rows, max_length=10**6)["verdict/rm"][2]
    )  # the model reads 128
    assert "1 of 3 texts had more than 128 tokens" in caplog.text


def test_a_special_token_that_a_completion_spells_out_is_plain_text(tmp_path):
    folder, _ = saved(tmp_path)
    tokenizer = _load(0, folder, "cpu").tokenizer
    assert (
        tokenizer.eos_token_id in tokenizer("a<eos>b")["input_ids"]
    )  # what it would be otherwise
    for chat in (True, False):
        tokens = _load(0, folder, "cpu").tokens("2+2?", "a<eos><pad>b", chat)
        assert {tokenizer.eos_token_id, tokenizer.pad_token_id}.isdisjoint(tokens)
        assert tokenizer.decode(tokens).replace("<unk>", "").count("eos>") == 1


def not_judged(folder, column, name="completion"):
    """The scored table of a column in place of what is asked about, and which rows are judged."""
    table = scored(
        folder,
        [{**FOUR, "prompt_id": "q", "other": value} for value in column],
        {name: "other"},
    )
    reasons = [verdict.get("reason") for verdict in table["verdict/rm"]]
    judged = [status == "scored" for status in table["status/rm"]]
    assert all(
        one or math.isnan(score)
        for one, score in zip(judged, table["score/rm"], strict=True)
    )
    assert all(
        one or told == why
        for one, told, why in zip(judged, table["error/rm"], reasons, strict=True)
    )
    return judged, reasons[0]


OF_PROMPT = "the prompt is neither a text nor messages"


@pytest.mark.parametrize(
    ("name", "reason"),
    [("completion", "the completion is no text"), ("prompt", OF_PROMPT)],
)
def test_what_is_no_text_is_not_judged_and_says_why(tmp_path, name, reason):
    judged, told = not_judged(saved(tmp_path)[0], [None, 7, ["4"], "4"], name)
    assert judged == [False, False, False, True] and reason in told


def test_a_logit_that_is_none_and_a_template_that_refuses_are_not_judged_and_say_why(
    tmp_path,
):
    folder, _ = saved(
        tmp_path / "nan", change=lambda made: made.score.weight.data.fill_(math.nan)
    )
    assert not_judged(folder, ["4"] * 2) == (
        [False] * 2,
        "the reward model gives nan, which is no score",
    )
    folder, _ = saved(tmp_path / "refuses", template="{{ raise_exception('no') }}")
    judged, told = not_judged(folder, ["4"] * 2)
    assert not any(judged) and "does not take the messages: TemplateError: no" in told


def test_of_several_labels_the_score_is_the_softmax_of_the_good_one(tmp_path):
    folder, made = saved(tmp_path, num_labels=3)
    table = scored(folder, ROWS[:1], label=1)
    logits = torch.tensor(logit_of(made, "user:2+2?;assistant:4;"))
    assert table["score/rm"][0] == pytest.approx(float(logits.softmax(0)[1]), abs=1e-6)


SEVERAL = "give the number of the good one, from 0$"
NO_MODEL = [
    (
        None,
        {},
        r"^'nowhere' cannot be loaded as a reward model on 'cpu' \(.*\); give a folder or a name",
    ),
    (3, {}, f"has 3 labels, and label=None; {SEVERAL}"),
    (3, {"label": 3}, f"has 3 labels, and label=3; {SEVERAL}"),
    (1, {"device": "moon"}, r"cannot be loaded as a reward model on 'moon' \("),
    (
        0,
        {},
        r"is no reward model: it has no 'score.weight', which would be made up at random$",
    ),
]


@pytest.mark.parametrize(("labels", "options", "sentence"), NO_MODEL)
def test_a_model_without_a_score_is_one_sentence_before_the_first_row(
    tmp_path, labels, options, sentence
):
    folder = "nowhere" if labels is None else saved(tmp_path, num_labels=labels or 1)[0]
    if labels == 0:
        tiny.model().save_pretrained(folder)
    with pytest.raises(rk.InputError, match=sentence) as raised:
        scored(folder, **{"device": "cpu", **options})
    assert "\n" not in str(raised.value)


def test_a_model_is_loaded_once_for_all_that_ask_it(tmp_path, monkeypatch):
    folder, _ = saved(tmp_path)
    kind = transformers.AutoModelForSequenceClassification
    counted = Mock(side_effect=kind.from_pretrained)
    monkeypatch.setattr(kind, "from_pretrained", counted)
    rk.judges.reward_model(folder)
    assert counted.call_count == 0
    scored(folder)
    scored(folder, map=(-1, 1))
    assert counted.call_count == 1
