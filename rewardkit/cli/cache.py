"""`rewardkit cache`: the answers of models that are cached on disk."""

from __future__ import annotations

from rewardkit.cli.command import Answer, Options, command
from rewardkit.findings import counted
from rewardkit.judges.spending import CACHE_FOLDER, Cache, cache_file


@command("--json", {"--clear": "Forget all answers."})
def cache(options: Options) -> Answer:
    """Say where answers of models are cached, or forget them.

    REWARDKIT_CACHE names another folder; "off" caches none.

    Example:
      rewardkit cache
    """
    path = cache_file()
    if path is None or not path.exists():
        text = (
            f"{path}: no answers yet"
            if path
            else f"no answers are cached: {CACHE_FOLDER} is 'off'"
        )
        return Answer(
            {
                "path": path and str(path),
                **({"answers": 0, "bytes": 0} if path else {}),
            },
            text,
        )
    store = Cache(path)
    forgotten = store.count if options.clear else 0
    if options.clear:
        store.clear()
    count, size = store.count, store.size
    store.close()
    text = f"{path}: {counted(count, 'answer')}, {size / 1e6:.2f} MB"
    record = {
        "path": str(path),
        "answers": count,
        "bytes": size,
        "forgotten": forgotten,
    }
    return Answer(record, f"{text}; {forgotten:,} forgotten" if options.clear else text)
