"""`rewardkit cache`: the answers of models that are cached on disk."""

from __future__ import annotations

import click

from rewardkit.cli.group import main
from rewardkit.cli.options import json_option
from rewardkit.cli.output import emit
from rewardkit.findings import counted
from rewardkit.judges.cache import FOLDER, Cache, cache_file


@main.command("cache")
@click.option("--clear", is_flag=True, help="Forget all answers.")
@json_option
def cache_command(clear: bool, as_json: bool) -> None:
    """Say where answers of models are cached, how many and how large, or forget them.

    REWARDKIT_CACHE names another folder; "off" caches none.
    """
    path = cache_file()
    if path is None:
        emit({"path": None}, f"no answers are cached: {FOLDER} is 'off'", as_json)
        return
    if not path.exists():
        emit({"path": str(path), "answers": 0, "bytes": 0}, f"{path}: no answers yet", as_json)
        return
    cache = Cache(path)
    gone = cache.count if clear else 0
    if clear:
        cache.clear()
    count, size = cache.count, cache.size
    cache.close()
    said = f"{path}: {counted(count, 'answer')}, {size / 1e6:.2f} MB" + (
        f"; {gone:,} forgotten" if clear else ""
    )
    emit({"path": str(path), "answers": count, "bytes": size, "forgotten": gone}, said, as_json)
