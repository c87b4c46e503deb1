"""Small seeded sets of rollouts, one for each kind of answer and form: what a user's own would look like.

Each function gives 12 to 16 prompts with four completions each: some right, some wrong, some right in
another form than the one asked for. `function.right(seed)` says of each row whether it is right (True), wrong
(False), or neither for sure (None: right in another form, cut off, or without a truth). That stands beside
the rollouts and in no column, as a log does not have it either.
"""

from .data_numbers import (
    boxed_numbers,
    chat_numbers,
    chat_tags,
    free_numbers,
    gaps,
    gsm8k_numbers,
    gsm8k_worked,
    levelled,
    number_lists,
    odd_numbers,
    tagged_numbers,
    thousands,
)
from .data_texts import (
    aliases,
    bare_texts,
    choices,
    code,
    constraints,
    essays,
    invoices,
    item_lists,
    mathematics,
    mixed_sources,
    short_texts,
    summaries,
    tagged_choices,
)

__all__ = [
    "aliases",
    "bare_texts",
    "boxed_numbers",
    "chat_numbers",
    "chat_tags",
    "choices",
    "code",
    "constraints",
    "essays",
    "free_numbers",
    "gaps",
    "gsm8k_numbers",
    "gsm8k_worked",
    "invoices",
    "item_lists",
    "levelled",
    "mathematics",
    "mixed_sources",
    "number_lists",
    "odd_numbers",
    "short_texts",
    "summaries",
    "tagged_choices",
    "tagged_numbers",
    "thousands",
]
