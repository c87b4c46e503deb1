"""A tiny random model and tokenizer, made here: no hub."""

import string

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

CHAT = (
    "{% for m in messages %}{{ m['role'] }}:{{ m['content'] }};{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}"
)


def tokenizer():
    """One token a character."""
    letters = ["<pad>", "<eos>", "<unk>", *string.printable]
    inner = Tokenizer(
        models.WordLevel(
            {letter: at for at, letter in enumerate(letters)}, unk_token="<unk>"
        )
    )
    inner.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    inner.decoder = decoders.Fuse()
    made = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        eos_token="<eos>",
        unk_token="<unk>",
        padding_side="left",
    )
    made.chat_template = CHAT
    return made


SIZES = {
    "vocab_size": len(tokenizer()),
    "hidden_size": 16,
    "intermediate_size": 16,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "num_key_value_heads": 1,
    "max_position_embeddings": 128,
    "pad_token_id": 0,
    "eos_token_id": 1,
}


def model(seed=0):
    """Two layers of width 16."""
    torch.manual_seed(seed)
    config = Qwen2Config(**SIZES)
    return Qwen2ForCausalLM(config)
