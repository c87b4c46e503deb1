"""`rewardkit sample`, `export`, `cache`, `completion`: servers, trainers, the shell."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

import rewardkit as rk
from rewardkit.cli.command import (
    INTERRUPTED,
    OF_COMMAND,
    CommandResult,
    Options,
    command,
    main,
)
from rewardkit.cli.options import Number, OptionTable
from rewardkit.cli.output import recognised
from rewardkit.findings import counted
from rewardkit.judges.cache import CACHE_FOLDER, Cache, cache_file
from rewardkit.rollouts.chat import ANSWER_TIMEOUT, CONCURRENCY, RETRIES
from rewardkit.rollouts.sample import sample as sample_completions
from rewardkit.targets import TARGETS
from rewardkit.targets.export import prove
from rewardkit.targets.exported import identifier

# --- sample


def _object(
    ctx: click.Context, parameter: click.Parameter, value: str | None
) -> dict[str, Any] | None:
    if value is None:
        return None
    fields = None
    with suppress(ValueError, RecursionError):
        fields = json.loads(value)
    if value != "null" and not isinstance(fields, dict):
        raise click.BadParameter(
            f"{value!r} is not JSON of an object; give one such as '{{\"top_k\": 20}}'"
        )
    return fields


SAMPLE_OPTIONS: OptionTable = {
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


@command("PROMPTS --json", SAMPLE_OPTIONS)
def sample(options: Options) -> CommandResult:
    """Sample groups of completions of PROMPTS into a log.

    PROMPTS is JSONL, Parquet or CSV, or a folder of them: a row a prompt. The server is
    any that speaks as OpenAI does (vLLM, SGLang, llama.cpp, Ollama, hosted ones). Run
    the same again to go on after Ctrl-C, or to ask again for what failed: what is in
    the log is not sampled again. Exit 1 when some are missing.

    The key is taken from OPENAI_API_KEY in the environment; a local server needs none.
    Exit 2 if no server answers.

    Example:
      rewardkit sample gallery:arithmetic --base-url http://localhost:8000/v1 --model M -o log.jsonl
    """  # noqa: E501
    settings = dict(vars(options))
    for name in ("prompts", "prompt", "prompt_id", "json", *OF_COMMAND):
        del settings[name]
    columns = options.select("prompt prompt_id")
    columns = {name: column for name, column in columns.items() if column}
    try:
        sampled = sample_completions(
            options.prompts, columns=columns, progress=options.is_watched, **settings
        )
    except KeyboardInterrupt as error:
        reason = str(error) or "interrupted"
        return CommandResult({"interrupted": True}, "", INTERRUPTED, reason)
    return CommandResult(sampled.record(), str(sampled), int(bool(sampled.failed)))


# --- export

WRITABLE = [target.name for target in TARGETS if target.functions is not None]


@command(
    "REWARD --as READING --json",
    {
        "--to TARGET": (
            f"{', '.join(WRITABLE)}.",
            {"required": True, "type": click.Choice(WRITABLE)},
        ),
        "-o --output OUTPUT": "The file to write.  [default: REWARD_TARGET.py]",
        "--verify ROLLOUTS": "Compare its rewards in the trainer's own code; exit 1 "
        "if they differ.",
        "--missing NUMBER": (
            "Reward of a completion without one, if the trainer needs a number.",
            {"default": 0.0},
        ),
        "--separate": "Write one function for each component; the trainer weighs them.",
        "--record FOLDER": "Folder into which it records what it scores in training.",
        "--timeout SECONDS": (
            "Limit for one call of your code in training.",
            {"type": Number(min=0, min_open=True)},
        ),
        "--name NAME=SOURCE...": "Name of a column in the training set: "
        "ground_truth=label.",
    },
)
def export(options: Options) -> CommandResult:
    """Write REWARD as a file that a trainer loads unchanged.

    It says what is lost in that trainer. The options for reading are for the rollouts
    of --verify, on which a trainer's function is recognised.

    Example:
      rewardkit export gallery:arithmetic --to trl
    """
    rollouts = options.read_rollouts(options.verify)
    reward = options.read_reward(rollouts=rollouts)
    name = f"{identifier(reward.name)}_{identifier(options.to)}.py"
    exported = rk.export(
        reward,
        to=options.to,
        path=options.output or Path(name),
        columns=options.name,
        **options.select("missing separate record timeout"),
    )
    status = 0
    refusal = ""
    if rollouts is not None:
        try:
            exported = prove(exported, rollouts)
        except rk.InputError as error:
            status, refusal = 2, str(error)  # the file is kept
    if exported.proof is not None and not exported.proof.equal:
        status = 1
    text = "\n".join([*recognised(reward.origin), str(exported)])
    return CommandResult(
        {**exported.record(), "origin": reward.origin}, text, status, refusal
    )


# --- cache


@command("--json", {"--clear": "Forget all answers."})
def cache(options: Options) -> CommandResult:
    """Say where answers of models are cached, or forget them.

    REWARDKIT_CACHE names another folder; "off" caches none.

    Example:
      rewardkit cache
    """
    path = cache_file()
    if path is None:
        return CommandResult(
            {"path": None}, f"no answers are cached: {CACHE_FOLDER} is 'off'"
        )
    if not path.exists():
        record = {"path": str(path), "answers": 0, "bytes": 0}
        return CommandResult(record, f"{path}: no answers yet")
    store = Cache(path)
    forgotten = 0
    if options.clear:
        forgotten = store.count
        store.clear()
    record = {
        "path": str(path),
        "answers": store.count,
        "bytes": store.size,
        "forgotten": forgotten,
    }
    text = f"{path}: {counted(store.count, 'answer')}, {store.size / 1e6:.2f} MB"
    store.close()
    if options.clear:
        text += f"; {forgotten:,} forgotten"
    return CommandResult(record, text)


# --- completion

BASH_WORDS = (
    "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}  # gallery:name and file.py:name are one "
    "word"
)


@command("SHELL --json")
def completion(options: Options) -> CommandResult:
    """Print the script that completes commands in SHELL.

    In ~/.bashrc: eval "$(rewardkit completion bash)"; in ~/.zshrc with zsh. For fish:
    rewardkit completion fish > ~/.config/fish/completions/rewardkit.fish

    Example:
      rewardkit completion bash
    """
    shell_class = get_completion_class(options.shell)
    assert shell_class is not None
    script = shell_class(main, {}, "rewardkit", "_REWARDKIT_COMPLETE").source().strip()
    text = script
    if options.shell == "bash":
        text += f"\n{BASH_WORDS}"
    return CommandResult({"shell": options.shell, "script": text}, text)
