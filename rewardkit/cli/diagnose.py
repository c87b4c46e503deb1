"""`rewardkit diagnose`: what scores would do to training."""

from __future__ import annotations

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
from rewardkit.cli.scores import is_met, scored_or_logged


@command(
    "SCORES --training --label --by --seed --fail-on --verbose READING --log-weight --json"
)
def diagnose(options: Options) -> Answer:
    """Say what SCORES would do to training, and what to change.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o run1
      rewardkit diagnose run1
    """
    source = scored_or_logged(options)
    with options.progress("diagnosing") as progress:
        diagnosis = rk.diagnose(
            source.scores, progress=progress, **options.select("training label by seed")
        )
    suggestions = rk.suggest(diagnosis)
    pages = (diagnosis.page(), suggestions.page(path=options.scores))
    text = "\n\n".join(page.text(verbose=options.verbose) for page in pages)
    record = {
        **diagnosis.record(),
        "suggestions": suggestions.record(),
        "notes": suggestions.notes,
        **source.about,
    }
    return Answer(
        record, f"{source.head}{text}", is_met(diagnosis.worst, options.fail_on)
    )
