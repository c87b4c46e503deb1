"""`rewardkit diagnose`: what scores would do to training."""

from __future__ import annotations

import rewardkit as rk
from rewardkit.cli.command import Answer, Asked, command
from rewardkit.cli.scores import is_met, scored_or_logged


@command(
    "SCORES --training --label --by --seed --fail-on --verbose READING --log-weight --json"
)
def diagnose(asked: Asked) -> Answer:
    """Say what SCORES would do to training, and what to change.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o run1
      rewardkit diagnose run1
    """
    read = scored_or_logged(asked)
    with asked.progress("diagnosing") as progress:
        diagnosis = rk.diagnose(
            read.scores, progress=progress, **asked.some("training label by seed")
        )
    advice = rk.suggest(diagnosis)
    pages = (diagnosis.page(), advice.page(path=asked.scores))
    text = "\n\n".join(page.text(verbose=asked.verbose) for page in pages)
    record = {
        **diagnosis.record(),
        "suggestions": advice.record(),
        "notes": advice.notes,
        **read.about,
    }
    return Answer(record, f"{read.head}{text}", is_met(diagnosis.worst, asked.fail_on))
