"""reward_model on tiny random models made here: one reads its score at the last token, one at the first."""

import math

import pytest
import tiny
import torch
import transformers

import rewardkit as rk
from rewardkit.judges.reward_model import _load

PROMPTS = ["2+2?", "a longer question, 3+3?"]
TEXTS = ["4", "It is four.", "4" * 40, "", "four " * 12, "4.", "5", "I do not know, sorry.", "2+2=4"]
ROWS = [{"prompt": PROMPTS[at % 2], "completion": text} for at, text in enumerate(TEXTS)]


SIZES = {
    "vocab_size": len(tiny.tokenizer()),
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "num_labels": 1,
}


def saved(folder, kind="Phi3", template=tiny.CHAT, change=None, **options):
    """A folder with a tiny model, which a function may have changed, and the model."""
    tokenizer = tiny.tokenizer()
    tokenizer.chat_template = template
    torch.manual_seed(1)
    config = getattr(transformers, f"{kind}Config")(**{**SIZES, **options})
    made = getattr(transformers, f"{kind}ForSequenceClassification")(config)
    if change:
        change(made)
    made.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder), made.eval()


def scored(folder, rows=ROWS, columns=None, **options):
    part = rk.Component("rm", rk.judges.reward_model(folder, **options), columns=columns)
    return rk.score(rk.Reward("r", components=[part]), rk.load_rollouts(rows)).table


def logit_of(made, text, cut=slice(None)):
    """The logit of a text by itself, computed without rewardkit."""
    ids = tiny.tokenizer()(text)["input_ids"][cut]
    with torch.inference_mode():
        return made(input_ids=torch.tensor([ids])).logits[0].tolist()


@pytest.mark.parametrize("kind", ["Phi3", "ModernBert"])
def test_padding_and_the_order_of_a_batch_do_not_change_a_score(tmp_path, kind):
    folder, made = saved(tmp_path, kind)
    alone, together = (scored(folder, batch_size=size)["score/rm"] for size in (1, 8))
    expected = [
        1 / (1 + math.exp(-logit_of(made, f"user:{row['prompt']};assistant:{row['completion']};")[0]))
        for row in ROWS
    ]
    assert list(together) == pytest.approx(list(alone), abs=1e-6)
    assert list(alone) == pytest.approx(expected, abs=1e-6)
    assert len({round(score, 6) for score in expected}) == len(ROWS)  # so that a mix-up would be seen


def test_a_model_without_a_padding_token_takes_one_text_at_a_time(tmp_path):
    folder, made = saved(tmp_path, pad_token_id=None)
    logits = [verdict["logit"] for verdict in scored(folder)["verdict/rm"]]
    texts = [f"user:{row['prompt']};assistant:{row['completion']};" for row in ROWS]
    assert logits == pytest.approx([logit_of(made, text)[0] for text in texts], abs=1e-6)


TURNS = [{"role": "system", "content": "brief"}, {"role": "user", "content": "2+2?"}]


@pytest.mark.parametrize(
    ("template", "options", "prompt", "text"),
    [
        (tiny.CHAT, {}, "2+2?", "user:2+2?;assistant:4;"),
        (tiny.CHAT, {}, TURNS, "system:brief;user:2+2?;assistant:4;"),
        (None, {}, "2+2?", "2+2?\n4"),
        (tiny.CHAT, {"chat": False}, "2+2?", "2+2?\n4"),
        (None, {}, TURNS, None),
    ],
)
def test_the_text_is_written_by_the_template_where_there_is_one(tmp_path, template, options, prompt, text):
    folder, made = saved(tmp_path, template=template)
    rows = [{"prompt": prompt, "completion": "4"}]
    text = text or f"{rk.judges.questions.shown(TURNS)}\n4"
    (verdict,) = scored(folder, rows, **options)["verdict/rm"]
    assert verdict["logit"] == pytest.approx(logit_of(made, text)[0], abs=1e-6)


def test_a_text_that_is_too_long_loses_its_beginning_and_says_so(tmp_path, caplog):
    folder, made = saved(tmp_path)
    rows = [{"prompt": "2+2?", "completion": text} for text in ("4", "4+" * 10, "5+" * 80)]
    table = scored(folder, rows, max_length=30)
    assert [verdict.get("truncated", False) for verdict in table["verdict/rm"]] == [False, True, True]
    text = "user:2+2?;assistant:" + "4+" * 10 + ";"
    kept = logit_of(made, text[0] + text[-29:])[0]
    assert table["verdict/rm"][1]["logit"] == pytest.approx(kept, abs=1e-6)
    assert "2 of 3 texts had more than 30 tokens" in caplog.text
    caplog.clear()
    assert "truncated" in scored(folder, rows, max_length=10**6)["verdict/rm"][2]  # the model reads 128
    assert "1 of 3 texts had more than 128 tokens" in caplog.text


def test_a_special_token_that_a_completion_spells_out_is_plain_text(tmp_path):
    folder, _ = saved(tmp_path)
    tokenizer = _load(0, folder, "cpu").tokenizer
    assert tokenizer.eos_token_id in tokenizer("a<eos>b")["input_ids"]  # what it would be otherwise
    for chat in (True, False):
        tokens = _load(0, folder, "cpu").tokens("2+2?", "a<eos><pad>b", chat)
        assert {tokenizer.eos_token_id, tokenizer.pad_token_id}.isdisjoint(tokens)
        assert tokenizer.decode(tokens).replace("<unk>", "").count("eos>") == 1


@pytest.mark.parametrize(
    ("change", "column", "reason"),
    [
        (None, [None, 7, ["4"], "4"], "the completion is no text"),
        ("prompt", [None, 7, ["4"], "4"], "the prompt is neither a text nor messages"),
        ("nan", ["4"] * 3 + [""], "the reward model gives nan"),
        ("template", ["4"] * 3 + [""], "does not take the messages: TemplateError: no"),
    ],
)
def test_what_cannot_be_judged_is_not_and_says_why(tmp_path, change, column, reason):
    def break_it(made):
        with torch.no_grad():
            made.score.weight.fill_(math.nan if change == "nan" else 1.0)

    template = "{{ raise_exception('no') }}" if change == "template" else tiny.CHAT
    folder, _ = saved(tmp_path, template=template, change=break_it)
    rows = [{"prompt_id": "q", "prompt": "2+2?", "completion": "4", "other": value} for value in column]
    named = {"prompt" if change == "prompt" else "completion": "other"}
    table = scored(folder, rows, columns=named)
    good = [] if change in ("nan", "template") else [3]
    assert [at for at, status in enumerate(table["status/rm"]) if status == "scored"] == good
    assert all(reason in table["verdict/rm"][at]["reason"] for at in range(3))
    assert table["error/rm"].tolist()[:3] == [told["reason"] for told in table["verdict/rm"][:3]]
    assert all(math.isnan(table["score/rm"][at]) for at in range(3))


def test_of_several_labels_the_score_is_the_softmax_of_the_good_one(tmp_path):
    folder, made = saved(tmp_path, num_labels=3)
    table = scored(folder, ROWS[:1], label=1)
    logits = torch.tensor(logit_of(made, "user:2+2?;assistant:4;"))
    assert table["score/rm"][0] == pytest.approx(float(logits.softmax(0)[1]), abs=1e-6)


@pytest.mark.parametrize(
    ("labels", "options", "sentence"),
    [
        (None, {}, r"^'nowhere' cannot be loaded as a reward model on 'cpu' \(.*\); give a folder or a name"),
        (3, {}, r"has 3 labels, and label=None; give the number of the good one, from 0$"),
        (3, {"label": 3}, r"has 3 labels, and label=3; give the number of the good one, from 0$"),
        (1, {"device": "moon"}, r"cannot be loaded as a reward model on 'moon' \("),
        (0, {}, r"is no reward model: it has no 'score.weight', which would be made up at random$"),
    ],
)
def test_a_model_without_a_score_is_one_sentence_before_the_first_row(tmp_path, labels, options, sentence):
    folder = "nowhere"
    if labels == 0:
        folder = str(tmp_path)
        tiny.model().save_pretrained(folder)
        tiny.tokenizer().save_pretrained(folder)
    elif labels:
        folder, _ = saved(tmp_path, num_labels=labels)
    with pytest.raises(rk.InputError, match=sentence) as raised:
        scored(folder, **{"device": "cpu", **options})
    assert "\n" not in str(raised.value)


def test_a_model_is_loaded_once_for_all_that_ask_it(tmp_path, monkeypatch):
    folder, _ = saved(tmp_path)
    loaded = []
    real = transformers.AutoModelForSequenceClassification.from_pretrained
    monkeypatch.setattr(
        transformers.AutoModelForSequenceClassification,
        "from_pretrained",
        lambda *names, **options: loaded.append(names) or real(*names, **options),
    )
    rk.judges.reward_model(folder)
    assert loaded == []
    scored(folder)
    scored(folder, map=(-1, 1))
    assert len(loaded) == 1
