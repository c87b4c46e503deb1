"""`rewardkit cache`: the answers of models that are cached on disk."""

from __future__ import annotations

from rewardkit.cli.command import Answer, Asked, command
from rewardkit.findings import counted
from rewardkit.judges.cache import FOLDER, Cache, cache_file


@command("--json", {"--clear": "Forget all answers."})
def cache(asked: Asked) -> Answer:
    """Say where answers of models are cached, or forget them.

    REWARDKIT_CACHE names another folder; "off" caches none.

    Example:
      rewardkit cache
    """
    path = cache_file()
    if path is None or not path.exists():
        said = (
            f"{path}: no answers yet"
            if path
            else f"no answers are cached: {FOLDER} is 'off'"
        )
        return Answer(
            {
                "path": path and str(path),
                **({"answers": 0, "bytes": 0} if path else {}),
            },
            said,
        )
    kept = Cache(path)
    gone = kept.count if asked.clear else 0
    if asked.clear:
        kept.clear()
    count, size = kept.count, kept.size
    kept.close()
    said = f"{path}: {counted(count, 'answer')}, {size / 1e6:.2f} MB"
    told = {"path": str(path), "answers": count, "bytes": size, "forgotten": gone}
    return Answer(told, f"{said}; {gone:,} forgotten" if asked.clear else said)
