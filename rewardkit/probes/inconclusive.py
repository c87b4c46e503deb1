"""Notes beside the findings of a probing: what could not be decided, and why."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rewardkit.findings import Finding, most, percent
from rewardkit.plain import PlainRecord
from rewardkit.probes.contract import rows_in_time
from rewardkit.probes.falls import WILD
from rewardkit.probes.findings.evidence import Observed
from rewardkit.probes.runner import Tries
from rewardkit.probes.search import find_why_unsearchable

MANY_FAILED = 0.5
"""Share of failed attempts above which the result is inconclusive. Our choice."""


@dataclass(frozen=True)
class Inconclusive(PlainRecord):
    """A note: the probe, family or part that could not be decided, and why."""

    probe: str
    why: str


def explain_parts(
    observed: Observed, findings: Iterable[Finding]
) -> Iterator[Inconclusive]:
    """Say which parts of the log could not be probed, and why."""
    # a reward that ignores the completion cannot pay right answers more
    if all(finding.code != "ignores_completion" for finding in findings):
        for part, why in observed.calibration.why.items():
            yield Inconclusive(part, why)


def explain_unwritable(observed: Observed) -> Iterator[Inconclusive]:
    """Say that no completion could be written, if a column cannot be."""
    names = observed.tries.unwritable
    if not names:
        return
    columns = " and ".join(map(repr, names))
    verb = "differs" if len(names) == 1 else "differ"
    consequence = "no other completion could be tried"
    if observed.tries.worst_values:
        consequence = (
            "wrong completions were tried beside its worst values alone, right ones "
            "not at all"
        )
    yield Inconclusive(
        "probes",
        f"the reward reads {columns}, which {verb} from completion to completion and "
        f"cannot be written for another one: {consequence}; probe a version of the "
        "reward that makes it itself",
    )


def explain_penalty(observed: Observed) -> Iterator[Inconclusive]:
    """Say that a reward is only a penalty, if it is.

    A penalty is never above 0 in the log, pays an empty text 0, and no component is
    declared to be the task or to pay more.
    """
    tries, rewards = observed.tries, observed.calibration.rewards
    if tries.unwritable or max(rewards, default=1.0) != 0 or not min(rewards):
        return
    for component in tries.reward.all_components:
        if component.primary or max(component.range or (0, 0)) > 0:
            return
    row, _ = observed.pool[0]
    (outcome,) = tries.outcomes([tries.varied(row, "")])
    if outcome.reward == 0:
        yield Inconclusive(
            "probes",
            "it is a penalty, never above 0 and 0 for an empty text, so it is not held "
            "to the task; probe both together, or name it as the task (primary=...)",
        )


def explain_unread(observed: Observed) -> Iterator[Inconclusive]:
    """Say that none of several components compares with the truth, if none does."""
    if observed.unread_truth and not observed.has_one_component:
        names = most(list(observed.components))
        yield Inconclusive(
            "task",
            f"nothing compares with the truth: none of {names} reads "
            f"{observed.unread_truth!r}, so what is right is not judged",
        )


def explain_noise(observed: Observed) -> Iterator[Inconclusive]:
    """Say that rewards differ too much from call to call, if they do."""
    if observed.noise > WILD:
        yield Inconclusive(
            "probes",
            "the same completion scored twice differs by up to "
            f"{percent(observed.noise)} of what being right adds, so nothing can be "
            "told of what is paid; take chance out of the reward, or average it",
        )


def explain_unlimited(
    tries: Tries, timeout: float | None, unsendable: str | None
) -> Iterator[Inconclusive]:
    """Say why calls of users' code cannot be ended, if they cannot."""
    why = unsendable
    if not why and timeout is None and tries.runs_users_code:
        why = "there is no timeout; give one in seconds"
    if why:
        yield Inconclusive("hang", f"no call can be ended, as {why}")


def explain_unchecked(tries: Tries) -> Iterator[Inconclusive]:
    """Say that there is no time to check the contract, if there is none."""
    if tries.runs_users_code and rows_in_time(tries) < 2:
        yield Inconclusive("contract", f"it was not checked, as {tries.why_over}")


def explain_failed(observed: Observed) -> Iterator[Inconclusive]:
    """Say that most attempts failed, if they did."""
    finished = [trial for trial in observed.trials if trial.is_tried]
    count = sum(trial.has_failed for trial in finished)
    if count > MANY_FAILED * len(finished):
        why = f"{count} of {len(finished)} attempts failed"
        yield Inconclusive("probes", f"{why}, so what they would earn is not known")


def explain_unsearched(observed: Observed) -> Iterator[Inconclusive]:
    """Say why there is no search, if nothing else says so."""
    if observed.noise <= WILD and observed.subjects:
        why = find_why_unsearchable(observed)
        if why:
            yield Inconclusive("search", why)
