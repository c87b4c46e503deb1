"""The language model that learns in data/training: its tokens, its size, its base.

144,000 parameters, three layers of width 64: GRPO on it takes about a minute on two
CPU cores. Its base imitates `tasks.written` until it is right now and then.
"""

from __future__ import annotations

from random import Random

import torch
from tasks import FILLERS, PAIRS, Task, written
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM

TAGS = ("<think>", "</think>", "<answer>", "</answer>")
TOKENS = (
    "<pad>",
    "<eos>",
    *TAGS,
    *FILLERS,
    *"0123456789+=,",
    *PAIRS,
    *PAIRS.values(),
)
LONGEST = 48
"""Tokens of a completion, at most."""
BATCH = 128
PEAK_RATE = 3e-3


def tokenizer() -> PreTrainedTokenizerFast:
    """Return the tokenizer: tags, filler words and characters are tokens."""
    words = "|".join((*TAGS, *FILLERS, "<pad>", "<eos>"))
    inner = Tokenizer(
        models.WordLevel({token: at for at, token in enumerate(TOKENS)}, unk_token=",")
    )
    inner.pre_tokenizer = pre_tokenizers.Split(Regex(f"{words}|."), "isolated")
    inner.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner,
        pad_token="<pad>",
        eos_token="<eos>",
        padding_side="left",
    )


def model(seed: int = 0) -> Qwen2ForCausalLM:
    """Return the model with random weights."""
    torch.manual_seed(seed)
    return Qwen2ForCausalLM(
        Qwen2Config(
            vocab_size=len(TOKENS),
            hidden_size=64,
            intermediate_size=176,
            num_hidden_layers=3,
            num_attention_heads=4,
            num_key_value_heads=4,
            max_position_embeddings=128,
            pad_token_id=0,
            eos_token_id=1,
            tie_word_embeddings=True,
        )
    )


def base(task: Task, *, steps: int, seed: int = 0) -> Qwen2ForCausalLM:
    """Return the model after `steps` of imitation on problems of all difficulties."""
    learner, tokens = model(seed), tokenizer()
    random = Random(f"{task.name}:base:{seed}")
    optimizer = torch.optim.AdamW(learner.parameters(), lr=PEAK_RATE, weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, PEAK_RATE, total_steps=steps, pct_start=0.1
    )
    low = min(size[0] for size in task.sizes.values())
    high = max(size[1] for size in task.sizes.values())
    for _ in range(steps):
        prompts, completions = [], []
        for _ in range(BATCH):
            problem = task.make(low, high, random)
            prompts.append(problem.prompt)
            completions.append(written(task, problem, random))
        loss = _loss(learner, tokens, prompts, completions)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(learner.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return learner.eval()


def _loss(
    learner: Qwen2ForCausalLM,
    tokens: PreTrainedTokenizerFast,
    prompts: list[str],
    completions: list[str],
) -> torch.Tensor:
    """Return the cross entropy of completions and their end, given the prompts."""
    asked = [tokens(prompt)["input_ids"] for prompt in prompts]
    answered = [[*tokens(text)["input_ids"], 1] for text in completions]
    longest = max(len(a) + len(b) for a, b in zip(asked, answered, strict=True))
    ids = torch.zeros(len(prompts), longest, dtype=torch.long)
    labels = torch.full_like(ids, -100)
    mask = torch.zeros_like(ids)
    for row, (start, end) in enumerate(zip(asked, answered, strict=True)):
        line = torch.tensor(start + end)
        ids[row, longest - len(line) :] = line
        mask[row, longest - len(line) :] = 1
        labels[row, longest - len(end) :] = torch.tensor(end)
    return learner(input_ids=ids, attention_mask=mask, labels=labels).loss


@torch.no_grad()
def sample(
    learner: Qwen2ForCausalLM, prompts: list[str], *, generations: int, seed: int
) -> list[str]:
    """Return `generations` completions of each prompt, those of a prompt together."""
    torch.manual_seed(seed)
    tokens = tokenizer()
    completions: list[str] = []
    for start in range(0, len(prompts), 16):
        batch = tokens(
            prompts[start : start + 16],
            return_tensors="pt",
            padding=True,
            return_token_type_ids=False,
        )
        ids = learner.generate(
            **batch,
            do_sample=True,
            top_k=0,
            temperature=1.0,
            max_new_tokens=LONGEST,
            num_return_sequences=generations,
        )
        answers = ids[:, batch["input_ids"].shape[1] :]
        completions += tokens.batch_decode(answers, skip_special_tokens=True)
    return completions
