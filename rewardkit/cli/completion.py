"""`rewardkit completion`: what makes a shell complete commands, options, files and names of the gallery."""

from __future__ import annotations

from click.shell_completion import get_completion_class

from rewardkit.cli.command import Answer, Options, command
from rewardkit.cli.group import main

WHOLE = "COMP_WORDBREAKS=${COMP_WORDBREAKS//:}  # gallery:name and file.py:name are one word"


@command("SHELL --json")
def completion(options: Options) -> Answer:
    """Print the script that completes commands in SHELL.

    In ~/.bashrc: eval "$(rewardkit completion bash)"; in ~/.zshrc with zsh. For fish:
    rewardkit completion fish > ~/.config/fish/completions/rewardkit.fish

    Example:
      rewardkit completion bash
    """
    shell_class = get_completion_class(options.shell)
    assert shell_class is not None
    script = shell_class(main, {}, "rewardkit", "_REWARDKIT_COMPLETE").source().strip()
    text = f"{script}\n{WHOLE}" if options.shell == "bash" else script
    return Answer({"shell": options.shell, "script": text}, text)
