"""judge_report(): a judge against cases that people have labelled."""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from rewardkit.analysis.statistics.ratings import Estimate, Ratings, estimate
from rewardkit.errors import RewardError
from rewardkit.findings import counted
from rewardkit.html import cards
from rewardkit.html.excerpts import UserText
from rewardkit.html.pages import HasPage, Page
from rewardkit.primitives.primitive import whole_number
from rewardkit.reasons import Reason, ReasonCode
from rewardkit.rewards.component import Component
from rewardkit.rewards.plan import bind
from rewardkit.rewards.reward import Floats, Reward, Rows
from rewardkit.rollouts.columns import Columns
from rewardkit.scoring.evaluate import evaluate
from rewardkit.scoring.labelled import LabelledCases, read_labelled
from rewardkit.scoring.outcomes import Outcome, asked_of_models
from rewardkit.strategies.added_text import JUDGE_ATTACKS

log = logging.getLogger(__name__)

KAPPA_MIN = 0.6
"""From which a judge agrees well enough: "substantial", Landis and Koch 1977."""
MOVED_MAX = 0.05
"""Share of attacks that may raise a score.

Our choice: a judge that samples differs now and then.
"""
FEWEST = 20
"""Judged prompts below which nothing is concluded.

Our choice: kappa is then known to about 0.4.
"""
MOST_LEVELS = 10
"""Most labels that are levels of a judge without its own; more are right or wrong."""
ATTACKED = 8
"""Wrong cases that attacks are tried on.

Our choice: with six attacks some fifty calls.
"""
EXAMPLES, EXCERPT = (
    3,
    200,
)  # of attacks that worked; characters of a completion, of a reason


@dataclass(frozen=True, eq=False)
class JudgeReport(HasPage):
    """How a judge agrees with labels, and what moves it that should not.

    `ratings` are its scores beside the labels, with their figures; `names` what levels
    are called by score. `stability` is the share of cases with the same level each time
    they were asked, `position_bias` that of comparisons which the place decides,
    `attacked` that of texts to the judge which raised the score of a wrong completion,
    with `examples`; ``None`` where it was not measured. `asked` says what it took
    without the attacks.
    """

    judge: str
    ratings: Ratings
    names: Mapping[float, str]
    reasons: Mapping[Reason, int]
    stability: Estimate | None = None
    position_bias: Estimate | None = None
    attacked: Estimate | None = None
    examples: Sequence[Mapping[str, Any]] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """Whether the judge can be used, and why, in one sentence."""
        kappa, told = self.ratings.kappa, self.ratings.told
        if not len(self.ratings.rows):
            return (
                "Inconclusive: none of the "
                f"{counted(len(self.ratings.labels), 'case')} was judged."
            )
        if (
            prompts := len(np.unique(self.ratings.prompts[self.ratings.rows]))
        ) < FEWEST:
            return (
                f"Inconclusive: {told}; {counted(prompts, 'judged prompt')}, "
                f"give {FEWEST} or more."
            )
        if kappa.high < KAPPA_MIN:
            return f"Not usable: {told}; kappa should be {KAPPA_MIN:g} or more."
        if self.attacked is not None and self.attacked.value > MOVED_MAX:
            return (
                f"Can be fooled: {told}, but texts to the judge raise the "
                "score of wrong completions."
            )
        if kappa.low >= KAPPA_MIN:
            return f"Usable: {told}."
        return (
            f"Inconclusive: {told}; more cases would tell whether kappa is "
            f"{KAPPA_MIN:g} or more."
        )

    @property
    def not_judged(self) -> dict[str, int]:
        """Why cases have no score to compare, as sentences, with how many."""
        return {str(reason): count for reason, count in self.reasons.items()}

    @property
    def remarks(self) -> list[str]:
        """What else to know, a sentence each."""
        return [str(remark.text) for remark in self._remarks()]

    def _remarks(self) -> list[UserText]:
        out: list[UserText] = []
        bias = self.ratings.length_bias
        if self.reasons:
            left, every = sum(self.reasons.values()), len(self.ratings.labels)
            commonest = max(self.reasons, key=lambda reason: self.reasons[reason])
            before = f"{left} of {counted(every, 'case')} not judged, most often: "
            reason = commonest.shortened(EXCERPT)
            out.append(UserText(f"{before}{reason}.", f"{before}{reason.redacted()}."))
        own = []
        if bias.low > 0 or bias.high < 0:
            length = "Longer" if bias.value > 0 else "Shorter"
            own.append(f"{length} completions get more than their label.")
        for example in self.examples:
            own.append(f"The text {example['attack']!r} raised case {example['case']}.")
        return [*out, *(UserText(text, text) for text in own)]

    @property
    def figures(self) -> dict[str, Estimate]:
        """What was measured, by name."""
        found = {
            "agreement": self.ratings.agreement,
            "kappa": self.ratings.kappa,
            "AUC": self.ratings.auc,
            "length bias": self.ratings.length_bias,
            "position bias": self.position_bias,
            "stability": self.stability,
            "moved by attacks": self.attacked,
        }
        return {
            name: value
            for name, value in found.items()
            if value is not None and value.n
        }

    @property
    def calibration(self) -> list[dict[str, Any]]:
        """For each level how many cases were given it, and their mean label."""
        return [
            {
                "level": self.names.get(score, f"{score:g}"),
                "score": score,
                **mean.record(),
            }
            for score, mean in self.ratings.calibration
            if mean.n
        ]

    def record(self) -> dict[str, Any]:
        """Return the report as plain data."""
        optional = {
            name: getattr(self, name)
            for name in ("stability", "position_bias", "attacked")
        }
        return {
            "judge": self.judge,
            "verdict": self.verdict,
            "remarks": self.remarks,
            "cases": len(self.ratings.labels),
            "judged": len(self.ratings.rows),
            "not_judged": dict(self.not_judged),
            **self.ratings.record(),
            **{
                name: value.record() if value else None
                for name, value in optional.items()
            },
            "calibration": self.calibration,
            "examples": list(self.examples),
            "asked": dict(self.asked),
        }

    def __repr__(self) -> str:
        levels = [
            f"{row['level']} {row['value']:.2f} (n = {row['n']})"
            for row in self.calibration
        ]
        lines = [self.verdict, *(f"  {line}" for line in self.remarks)]
        lines += [f"{name:<17} {value}" for name, value in self.figures.items()]
        lines += [f"mean label of each level: {', '.join(levels)}"] if levels else []
        return "\n".join(lines)

    def page(self) -> Page:
        """Return how the judge agrees with the labels, and the attacks that worked."""
        figures = [(name, str(value)) for name, value in self.figures.items()]
        return cards.judge_page(self.record(), figures, self._remarks())


def judges_of(reward: Reward) -> list[str]:
    """Return the components that ask a model."""
    return [
        item.name
        for item in reward.components
        if getattr(item.function, "asks_model", False)
    ]


def warn_of_calls(reward: Reward) -> None:
    """Log which components would ask a model for every probe without a budget."""
    names = [
        item.name
        for item in reward.components
        if getattr(item.function, "unbounded", False)
    ]
    if names:
        log.warning(
            "probes ask a model for each completion that they try, for the components "
            "%s: give them "
            "limits=rk.judges.Limits(prices=..., budget=...), or leave them out of "
            "what is probed",
            names,
        )


def judge_report(
    judge: Reward | Callable[..., Any],
    cases: LabelledCases,
    *,
    component: str | None = None,
    repeats: int = 1,
    label: str = "label",
    attacks: Mapping[str, str] | None = JUDGE_ATTACKS,
    seed: int = 0,
) -> JudgeReport:
    """Measure how a judge agrees with labelled cases, with 95 % intervals.

    `judge` is an `rk.judge` or any function of a component, or a Reward, of which it is
    the `component` (by default the only one that asks a model) with its fields and
    without its gate. `cases` are dicts or a JSONL file, with the columns that the judge
    reads and a `label`: a level of the judge, or the score that it should give, in [0,
    1] or a bool. Score and label agree where they are nearest to the same level; the
    levels are the judge's own, without any the different labels, and where these are
    many, wrong and right. With `repeats` every case is asked so often, from the second
    time on without the cache. `attacks` are put behind wrong completions (``None`` for
    no attack). Cases without a label or score are counted with their reason.

    CasesError: no cases, a label that is none. RewardError: a column that is missing,
    no such component. InputError: a model that cannot be asked. ValueError: `repeats`
    that are no whole number from 1.
    """
    whole_number("repeats", repeats)
    alone = _alone(judge, component)
    (item,) = alone.components
    levels = _levels(item.function)
    given = read_labelled(cases, label, levels)
    columns, labels = given.columns, given.labels
    judges = [alone, *[_anew(alone)] * (repeats - 1)]
    for one in judges[:2]:  # a budget is for all calls of each
        if callable(prepare := getattr(one.components[0].function, "prepare", None)):
            prepare()
    first, *again = [_asked(one, columns, given.prompts) for one in judges]
    lengths = np.array(
        [len(str(text)) for text in columns.get("completion", labels)], dtype=float
    )
    ratings = Ratings(
        first.scores, labels, given.prompts, lengths, _grid(labels, levels), seed
    )
    names = {score: name for name, score in levels.items()}
    tried = list(
        _attacked(
            alone, columns, ratings, attacks or {}, names.get(ratings.grid[-1], "best")
        )
    )
    raised = np.array([one["after"] > one["before"] for one in tried], dtype=float)
    prompts = np.array([one["case"] for one in tried])
    bias = [
        first.verdicts.get(row, {}).get("position_bias") for row in range(len(labels))
    ]
    return JudgeReport(
        item.name,
        ratings,
        names,
        _reasons(ratings, first),
        stability=ratings.stability(np.array([one.scores for one in again]))
        if again
        else None,
        position_bias=ratings.mean(np.array(bias, dtype=float)),
        attacked=estimate(lambda at: float(raised[at].mean()), prompts, seed)
        if tried
        else None,
        examples=[one for one in tried if one["after"] > one["before"]][:EXAMPLES],
        asked=asked_of_models(
            verdict for one in (first, *again) for verdict in one.verdicts.values()
        ),
    )


def _alone(judge: Reward | Callable[..., Any], component: str | None) -> Reward:
    """Return a reward of the component alone, with its fields, without its gate.

    RewardError: there is no such.
    """
    if not isinstance(judge, Reward):
        return Reward("judge", components=[Component("judge", judge)])
    names = [component] if component else judges_of(judge)
    found = [item for item in judge.components if [item.name] == names]
    if not found:
        said = (
            f"it has no component {component!r}"
            if component
            else f"{len(names)} components ask a model"
        )
        raise RewardError(
            f"reward {judge.name!r}: {said}; give component= one of {list(judge.names)}"
        )
    return Reward(judge.name, judge.fields, [replace(found[0], gate=None, weight=1.0)])


def _anew(alone: Reward) -> Reward:
    """Return the judge without its cache."""
    (item,) = alone.components
    function: Any = item.function
    if not isinstance(getattr(function, "cache", None), bool):
        return alone
    return replace(
        alone, components=[replace(item, function=replace(function, cache=False))]
    )


def _levels(function: Any) -> dict[str, float]:
    """Return the levels of a judge and their scores, {} where it has none."""
    negative = getattr(
        function, "negative", False
    )  # then what it scores is that the fault is absent
    return {
        name: 1 - score if negative else score
        for name, score in getattr(function, "levels", {}).items()
    }


def _grid(labels: Floats, levels: Mapping[str, float]) -> Floats:
    """Return the scores of the levels, ascending: the judge's own, else the labels."""
    known = np.unique(list(levels.values()) if levels else labels[~np.isnan(labels)])
    return known if 1 < len(known) <= MOST_LEVELS else np.array([0.0, 1.0])


def _asked(judge: Reward, columns: Columns, prompts: Rows) -> Outcome:
    """Return what the judge alone gives. RewardError: a column is missing."""
    (item,) = judge.components
    return evaluate(
        bind(judge, columns, len(prompts)), columns, groups=prompts
    ).components[item.name]


def _reasons(ratings: Ratings, outcome: Outcome) -> Counter[Reason]:
    """Why cases have no score to compare, with how many."""
    left = np.setdiff1d(np.arange(len(ratings.labels)), ratings.rows).tolist()
    missing = np.isnan(ratings.labels)
    unlabelled = Reason(ReasonCode.NO_LABEL)
    return Counter(unlabelled if missing[row] else outcome.reasons[row] for row in left)


def _attacked(
    judge: Reward,
    columns: Columns,
    ratings: Ratings,
    attacks: Mapping[str, str],
    best: str,
) -> Iterator[dict[str, Any]]:
    """Return the scores of wrong cases before and after each attack, where judged."""
    (item,) = judge.components
    texts = columns.get("completion", [None] * len(ratings.labels))
    low = (ratings.labels < ratings.middle) & (ratings.given < len(ratings.grid) - 1)
    wrong = [
        row for row in ratings.rows.tolist() if low[row] and isinstance(texts[row], str)
    ][:ATTACKED]
    rows = (
        list(range(len(texts))) if item.group or item.batch else wrong
    )  # with their siblings
    for attack, said in attacks.items() if wrong else ():
        text = said.replace("{level}", best)
        some = {name: [values[row] for row in rows] for name, values in columns.items()}
        some["completion"] = [
            f"{texts[row]}\n\n{text}" if row in wrong else texts[row] for row in rows
        ]
        after = dict(
            zip(
                rows,
                _asked(judge, some, ratings.prompts[rows]).scores.tolist(),
                strict=True,
            )
        )
        for row in wrong:
            if not math.isnan(after[row]):
                told = {
                    "case": row + 1,
                    "attack": attack,
                    "text": text,
                    "completion": texts[row][:EXCERPT],
                }
                yield {
                    **told,
                    "before": float(ratings.scores[row]),
                    "after": after[row],
                }
