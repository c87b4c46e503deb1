"""`rewardkit sample`: groups of completions from an OpenAI-compatible server."""

from __future__ import annotations

import json
from typing import Any

import click

from rewardkit.cli.command import Answer, Options, command
from rewardkit.cli.group import INTERRUPTED
from rewardkit.cli.options import Written
from rewardkit.rollouts.chat import ANSWER_TIMEOUT, CONCURRENCY, RETRIES
from rewardkit.rollouts.sample import sample as sample_completions


def _object(
    ctx: click.Context, parameter: click.Parameter, value: str | None
) -> dict[str, Any] | None:
    try:
        value_read = None if value is None else json.loads(value)
    except (ValueError, RecursionError):
        value_read = value
    if not isinstance(value_read, dict | None):
        raise click.BadParameter(
            f"{value!r} is not JSON of an object; give one such as '{{\"top_k\": 20}}'"
        )
    return value_read


OPTIONS: Written = {
    "--base-url URL": (
        "Address of the server, such as http://localhost:8000/v1.",
        {"required": True},
    ),
    "--model NAME": ("Name of the model on the server.", {"required": True}),
    "-n N": ("Completions for each prompt.", {"default": 8}),
    "-o --output OUTPUT": (
        "The JSONL log to write; an existing one is continued.",
        {"required": True},
    ),
    "--temperature NUMBER": ("Sampling temperature; trainers use 1.", {"default": 1.0}),
    "--top-p NUMBER": "Nucleus sampling.  [default: the server's]",
    "--max-tokens N": "Longest completion.  [default: the server's]",
    "--seed N": "Seed, of which each completion gets its own.",
    "--system TEXT": "A system message in front of each prompt.",
    "--policy NAME": "Name of the model in the log.  [default: that of --model]",
    "--extra-body JSON": (
        "More fields of the request, such as '{\"top_k\": 20}'.",
        {"callback": _object},
    ),
    "--prompt COLUMN": "Column of the prompts, where its name is not recognised.",
    "--prompt-id COLUMN": "Column of their ids.  [default: made from the prompts]",
    "--limit N": "Sample only this many prompts, the first ones.",
    "--add": "Add to a log that has other policies or other prompts.",
    "--concurrency N": ("Requests at a time.", {"default": CONCURRENCY}),
    "--timeout SECONDS": (
        "Limit for one answer.",
        {"default": ANSWER_TIMEOUT, "type": float},
    ),
    "--retries N": ("Retries of one request.", {"default": RETRIES}),
}


@command("PROMPTS --json", OPTIONS)
def sample(options: Options) -> Answer:
    """Sample groups of completions of PROMPTS into a log.

    PROMPTS is JSONL, Parquet or CSV, or a folder of them: a row a prompt. The server is
    any that speaks as OpenAI does (vLLM, SGLang, llama.cpp, Ollama, hosted ones). Run
    the same again to go on after Ctrl-C, or to ask again for what failed: what is in
    the log is not sampled again. Exit 1 when some are missing.

    The key is taken from OPENAI_API_KEY in the environment; a local server needs none.
    Exit 2 where no server answers.

    Example:
      rewardkit sample gallery:arithmetic --base-url http://localhost:8000/v1 --model M -o log.jsonl
    """
    columns = {
        name: value
        for name, value in options.select("prompt prompt_id").items()
        if value
    }
    others = ("prompts", "prompt", "prompt_id", "json", "typed", "reading")
    settings = {
        name: value for name, value in vars(options).items() if name not in others
    }
    try:
        done = sample_completions(
            options.prompts, columns=columns, progress=options.is_watched, **settings
        )
    except KeyboardInterrupt as error:
        return Answer(
            {"interrupted": True}, "", INTERRUPTED, str(error) or "interrupted"
        )
    return Answer(done.record(), str(done), int(bool(done.failed)))
