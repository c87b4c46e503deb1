"""`rewardkit sample`: groups of completions from an OpenAI-compatible server."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from rewardkit.cli.group import main
from rewardkit.cli.options import json_option
from rewardkit.cli.output import emit, printable
from rewardkit.rollouts.chat import CONCURRENCY, KEY, RETRIES, TIMEOUT
from rewardkit.rollouts.sample import sample

INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


def _object(ctx: click.Context, parameter: click.Parameter, value: str | None) -> dict[str, Any] | None:
    if value is None:
        return None
    try:
        read = json.loads(value)
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(
            f"{value!r} is not JSON ({error}); give one such as '{{\"top_k\": 20}}'"
        ) from None
    if not isinstance(read, dict):
        raise click.BadParameter(f"{value!r} is no JSON object; give one such as '{{\"top_k\": 20}}'")
    return read


@main.command("sample", epilog=f"The key is taken from {KEY} in the environment; a local server needs none.")
@click.argument("prompts")
@click.option(
    "--base-url",
    required=True,
    metavar="URL",
    help="Address of the server, such as http://localhost:8000/v1.",
)
@click.option("--model", required=True, help="Name of the model on the server.")
@click.option("-n", type=int, default=8, show_default=True, help="Completions for each prompt.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path),
    required=True,
    help="The JSONL log to write; an existing one is continued.",
)
@click.option(
    "--temperature", type=float, default=1.0, show_default=True, help="Sampling temperature; trainers use 1."
)
@click.option("--top-p", type=float, help="Nucleus sampling.  [default: the server's]")
@click.option("--max-tokens", type=int, help="Longest completion.  [default: the server's]")
@click.option(
    "--seed", type=int, help="Seed; each completion gets its own, derived from it.  [default: none]"
)
@click.option("--system", metavar="TEXT", help="A system message in front of each prompt.")
@click.option("--policy", metavar="NAME", help="Name of the model in the log.  [default: that of --model]")
@click.option(
    "--extra-body",
    callback=_object,
    metavar="JSON",
    help="More fields of the request, such as '{\"top_k\": 20}'.",
)
@click.option("--prompt", metavar="COLUMN", help="Column of the prompts, where its name is not recognised.")
@click.option("--prompt-id", metavar="COLUMN", help="Column of their ids.  [default: made from the prompts]")
@click.option("--limit", type=int, help="Sample only this many prompts, the first ones.")
@click.option("--add", is_flag=True, help="Add to a log that has other policies or other prompts.")
@click.option("--concurrency", type=int, default=CONCURRENCY, show_default=True, help="Requests at a time.")
@click.option(
    "--timeout", type=float, default=TIMEOUT, show_default=True, help="Time limit for one answer, in seconds."
)
@click.option("--retries", type=int, default=RETRIES, show_default=True, help="Retries of one request.")
@json_option
@click.pass_context
def sample_command(
    ctx: click.Context,
    /,
    prompts: str,
    prompt: str | None,
    prompt_id: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Sample a group of completions of each of the PROMPTS into a log.

    PROMPTS is JSONL, Parquet or CSV, or a folder of them: a row a prompt. The server is any that speaks as
    OpenAI does (vLLM, SGLang, llama.cpp, Ollama, hosted ones). Run the same again to go on after Ctrl-C, or
    to ask again for what failed: what is in the log is not sampled again. Exit 1 when some are missing.
    """
    columns = {name: source for name, source in (("prompt", prompt), ("prompt_id", prompt_id)) if source}
    progress = not as_json and sys.stderr.isatty()
    try:
        done = sample(prompts, columns=columns, progress=progress, **options)
    except KeyboardInterrupt as error:
        click.echo(printable(f"rewardkit: {error or 'interrupted'}"), err=True)
        ctx.exit(INTERRUPTED)
    emit(done.record(), str(done), as_json)
    ctx.exit(1 if done.failed else 0)
