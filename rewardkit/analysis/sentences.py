"""What the findings of a diagnosis say: code -> sentence behind "component 'x'" or "the reward"."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rewardkit.findings import SENTENCES, percent

__all__: list[str] = []


def _share(evidence: Mapping[str, Any]) -> str:
    """The value as a share, with its interval."""
    low, high = evidence.get("interval", (math.nan, math.nan))
    around = "" if math.isnan(low) else f" ({percent(low)} to {percent(high)})"
    return f"{percent(evidence['value'])}{around}"


def _constant(e: Mapping[str, Any]) -> str:
    if e["penalty"]:
        return (
            f"never varies: it is {e['value']:g} on every row, so the penalty never fires and cannot teach "
            "anything yet"
        )
    return f"never varies: it is {e['value']:g} on every scored row, so it adds nothing to any advantage"


def _of_length(e: Mapping[str, Any]) -> str:
    """Who pays for the length: the reward among siblings that are alike, or the task itself."""
    declared = f", as {e['declared']!r} declares" if e.get("declared") else ""
    if e["alike"]:
        return (
            f"pays for {'longer' if e['longer'] else 'shorter'} completions: of two siblings {e['alike']} "
            f"the longer (in {e['unit']}) has the higher advantage in {_share(e)} of the pairs{declared}"
        )
    return (
        f"follows the length: of two siblings that it tells apart the longer (in {e['unit']}) has the higher "
        f"score in {_share(e)} of the pairs; a label would say whether these are the better ones{declared}"
    )


def _lost(e: Mapping[str, Any]) -> str:
    """What an error or abstention did to the rewards of its rows."""
    if e["reward_missing"] >= 1:
        return "their reward is missing, not low"
    if e["reward_missing"] > 0:
        return f"the reward of {percent(e['reward_missing'])} of them is missing, not low"
    return "it is not paid, so no reward is lost" if not e["paid"] else "these rows are paid without it"


def _split(e: Mapping[str, Any]) -> str:
    kinds = (("all wrong", e["all_wrong"]), ("all right", e["all_right"]), ("otherwise tied", e["otherwise"]))
    return ", ".join(f"{percent(share)} {kind}" for kind, share in kinds if share > 0)


def _mismatch(e: Mapping[str, Any]) -> str:
    """Logged against recomputed: the rows that differ, and those that the log alone has."""
    told = []
    if e["rows"]:
        told.append(
            f"is not the one in the log ({e['column']}) in {e['rows']} of {e['compared']} rows "
            f"({percent(e['value'])}), by up to {e['largest']:.4g}: mean {e['mean_here']:.4g} here, "
            f"{e['mean_logged']:.4g} in the log"
        )
    if e["missing"]:
        told.append(f"is missing in {e['missing']} rows where the log has one ({e['column']})")
    return " and ".join(told) + "; the run was trained on another reward, or the log has other columns"


def _unread(e: Mapping[str, Any]) -> str:
    """The keys of a function's dicts that were not there on the sample, and in how many rows they are."""
    keys = ", ".join(f"{key!r} in {rows} of {e['rows']} rows" for key, rows in e["keys"].items())
    return (
        f"leaves out numbers that {e['function']} returned under keys which it did not give on the sample "
        f"that it was read by: {keys}; have it return the same keys for every completion"
    )


SENTENCES |= {
    "log_mismatch": _mismatch,
    "unread_keys": _unread,
    "label_disagrees": lambda e: (
        f"orders two siblings as {e['label']!r} does in only {_share(e)} of the pairs that it tells apart "
        "(ties count half): the others push the policy the wrong way, or not at all"
    ),
    "label_unusable": lambda e: f"cannot be held against the label: {e['reason']}",
    "length_bias": _of_length,
    "column_bias": lambda e: (
        f"pays for {'more' if e['longer'] else 'less'} {e['column']}: of two siblings {e['alike']} the one "
        f"with more has the higher advantage in {_share(e)} of the pairs"
    ),
    "truncated_paid": lambda e: (
        f"pays completions that were cut at their greatest length ({percent(e['cut'])} of all): {_share(e)} "
        "of them earn more than their siblings on average without having earned the task"
    ),
    "drift": lambda e: (
        f"rises over the steps by {e['reward_change']:.3g} while {e['what']} "
        f"{'rises' if e['value'] > 0 else 'falls'} by {abs(e['value']):.3g} (mean {e['mean']:.3g}): read "
        "what is paid in the last step"
    ),
    "log_not_compared": lambda e: (
        f"cannot be held against the log: it has {e['logged']}, no total, and no component here is called so"
    ),
    "constant": _constant,
    "sparse": lambda e: (
        f"is sparse: {_share(e)} of the completions earn its minimum and in "
        f"{percent(e['groups_at_minimum'])} of the groups "
        "all of them do, where it cannot tell better from worse"
    ),
    "starved": lambda e: f"is nearly never earned: its mean is {_share(e)} of its range",
    "saturated": lambda e: (
        f"is nearly always earned: its mean is {_share(e)} of its range, so it can hardly tell completions "
        "apart"
    ),
    "binary": lambda e: (
        f"is all or nothing: every miss earns the same, however near it was ({percent(e['value'])} earn it)"
    ),
    "clustered": lambda e: (
        f"takes few values (as varied as {e['levels']:.1f} equally likely levels): two siblings earn the "
        f"same in {_share(e)} of all pairs"
        + (
            f", and all of them in {percent(e['tied_groups'])} of the groups, which give no gradient"
            if e["tied_groups"] > 0
            else ""
        )
    ),
    "collapsed_outputs": lambda e: (
        f"often sees identical siblings: {_share(e)} of the sibling pairs are the same text "
        f"({percent(e['groups'])} of the groups contain such a pair), which no reward can tell apart"
    ),
    "outliers": lambda e: (
        f"has outliers: {e['rows']} scores ({percent(e['share'])}) lie far from all others (median "
        f"{e['median']:.3g}), up to {e['extreme']:.3g}, and make {_share(e)} of what siblings differ in; "
        + (
            "in their groups no other difference counts"
            if e["scaled"]
            else "without scaling they outvote the other groups"
        )
    ),
    "bimodal": lambda e: (
        f"has two kinds of prompts, with few between: {percent(e['share'])} earn {e['low']:.3g} on average, "
        f"the others {e['high']:.3g}; siblings of either kind differ less, so look at what the first have in "
        "common, and at each kind by itself"
    ),
    "not_finite": lambda e: (
        f"is infinite in {e['rows']} rows ({percent(e['value'])}), as a trainer's float32 holds it; they are "
        "left out of all figures here, as not judged"
        + (", but in training one makes the gradient of its whole batch NaN" if e["paid"] else "")
    ),
    "not_enough": lambda e: f"cannot be judged in full: {e['reason']}",
    "high_variance": lambda e: (
        f"is carried by few groups: the tenth of the groups with the widest spread holds {_share(e)} of "
        "all unscaled advantage"
    ),
    "amplified_noise": lambda e: (
        f"differs only a little within {_share(e)} of the live groups (standard deviation under a tenth of "
        f"the typical {e['typical_std']:.3g}); "
        f"dividing by it blows these differences up to {percent(e['advantage_share'])} of all advantage"
    ),
    "zero_std_groups": lambda e: (
        f"gives no gradient in {_share(e)} of the groups ({_split(e)}), in which "
        + (
            f"{e['dropped_by']!r} does not vary, so that they are dropped"
            if e.get("dropped_by")
            else "all siblings earn the same"
        )
    ),
    "dead": lambda e: (
        "varies between prompts but never among siblings, so it adds nothing to any group advantage"
    ),
    "dominant": lambda e: (
        f"holds {_share(e)} of the squared advantage, with {percent(e['declared'])} of the declared weight"
        + (
            f" (more than {e['over']!r}, which is declared heavier and holds {percent(e['over_value'])})"
            if e.get("over")
            else ""
        )
        + (f"; that is its design ({e['why']})" if e.get("why") else "")
        + (f", as {e['weak']!r} hardly varies" if e.get("weak") else "")
    ),
    "redundant": lambda e: (
        f"says the same as {e['other']!r} (correlation {e['value']:.2f}): both weights pay for one thing"
        if e["sign"] > 0
        else f"takes back what {e['other']!r} pays (correlation -{e['value']:.2f} of what they pay siblings)"
    ),
    "opposed": lambda e: (
        f"is tied in {_share(e)} of the groups although at least two of its components vary there: "
        f"{e['components']} cancel"
    ),
    "of_siblings": lambda e: (
        f"depends on the siblings ({e['value']:.3g} completions a group here): the same completion may score "
        "otherwise in another group, so compare its scores within groups, not between prompts or runs"
    ),
    "gate_rarely_open": lambda e: (
        f"is behind a gate that is open for only {_share(e)} of the completions: it rarely counts"
    ),
    "abstentions": lambda e: f"was not judged in {_share(e)} of the rows (most often: {e['reason']})",
    "errors": lambda e: f"failed in {_share(e)} of the rows (most often: {e['reason']}): {_lost(e)}",
    "out_of_range": lambda e: (
        f"left its declared range in {_share(e)} of the rows (most often: {e['reason']}): {_lost(e)}"
    ),
}
