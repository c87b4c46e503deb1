"""Findings about a reward, their evidence and their sentences.

Diagnosis and probes report findings. `findings.toml`, beside this file, is the table of
all codes: the severity, the statement and the advice of each. It is read for the first
sentence, so that a finding reads the same in any process.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rewardkit.plain import values_by_field, write_order
from rewardkit.reasons import Reason

if TYPE_CHECKING:
    from jinja2 import Environment, Template

SEVERITIES = ("high", "warn", "info")
NOT_DECIDED = "not decided"
"""The verdict for too few observations."""
SEVERITY_MARKS = {"high": "\u25cf high", "warn": "\u25b2 warn", "info": "\u25cb info"}
"""Marks that tell severities apart by shape, not only by colour."""
HIGH_RISK, WARN_RISK = 0.4, 0.12
"""Risks (share of the ceiling x share of the prompts x ease) from which a finding is
"high" or "warn"."""

NAMED = 3
"""Components that a sentence names, at most."""
BY_PROBING = "found by probing"
"""First words of the `why` of a case that a probe wrote."""
BEATS = 1.05
"""Gain above which a wrong answer beats a right one. Our choice."""
AS_MUCH = 0.95
"""Gain from which a wrong answer earns about as much as a right one. Our choice."""
SEE_COMPONENTS = (
    "See which component pays: rk.explain(reward, {...}) with the columns of the "
    "example."
)
"""Advice for a code without advice in the table."""


@cache
def read_codes() -> dict[str, dict[str, dict[str, Any]]]:
    """Read the table of all codes: section -> code, family or kind -> row.

    The sections are "diagnosis", "probe", "family" and "kind"; `findings.toml` explains
    the columns.
    """
    import tomllib  # scoring alone reads no finding

    text = Path(__file__).with_suffix(".toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def severity_of(risk: float) -> str:
    """Return the severity of a risk."""
    if risk >= HIGH_RISK:
        return "high"
    return "warn" if risk >= WARN_RISK else "info"


@dataclass(frozen=True)
class Example:
    """A completion that shows a finding: its columns, its reward and the expected one.

    `expected` is a range of rewards, or None where the call only has to return. `right`
    and `wrong` are the rewards of a right and a wrong answer to the same prompt. With
    `of_rollouts`, where no truth is known, they are the rewards of the best and the
    worst paid rollout. `outcome` says what happened in place of a reward, an error or a
    timeout; `reason` is its record. `beside` has the columns of a right completion that
    must earn more than the example, or of a wrong one that must earn less.
    """

    rollout_id: Any
    columns: Mapping[str, Any]
    reward: float
    expected: tuple[float, float] | None
    right: float = math.nan
    wrong: float = math.nan
    probe: str = ""
    outcome: str = ""
    reason: Reason | None = None
    of_rollouts: bool = False
    beside: Mapping[str, Any] | None = None

    @property
    def completion(self) -> str:
        """Return the text of the completion."""
        return str(self.columns.get("completion"))

    @property
    def ends(self) -> tuple[str, str]:
        """Return phrases for the completions that earn `right` and `wrong`."""
        if self.of_rollouts:
            return "the best rollout", "the least"
        return "a right answer", "a wrong one"

    @property
    def scale(self) -> str:
        """Say what right and wrong answers earn, or return "" if it is not known."""
        if math.isnan(self.right):
            return ""
        best, worst = self.ends
        return f"{best} earns {self.right:.6g}, {worst} {self.wrong:.6g}"

    @property
    def snippet(self) -> str:
        """Return a line of Python that repeats the call of `reward`."""
        columns = self.columns.items()
        arguments = ", ".join(f"{name}={as_code(value)}" for name, value in columns)
        outcome = self.outcome or f"{self.reward:.6g}"
        if self.scale:
            outcome += f"; {self.scale}"
        return f"reward({arguments}).reward  # {outcome}"

    def case(self, why: str) -> dict[str, Any] | None:
        """Return the case for a case file, or None without an expected reward."""
        if self.expected is None:
            return None
        reasons = f"{BY_PROBING}: {why}"
        if self.scale:
            reasons += f" Here {self.scale}."
        name = f"{self.probe} ({self.rollout_id})"
        order = self._order()
        if order:
            return {"name": name, **order, "why": reasons}
        return {
            "name": name,
            **self.columns,
            "reward": [round(value, 6) for value in self.expected],
            "why": reasons,
        }

    def _order(self) -> dict[str, Any]:
        """Return the order of the example and `beside` that a case should demand.

        {} without a completion of the same prompt to compare with: the case then holds
        a range of rewards. Unlike a range, an order survives a change of weights.
        """
        beside = self.beside
        if beside is None or self.expected is None or self.of_rollouts:
            return {}
        for name in ("prompt", "prompt_id", "ground_truth"):  # of the same prompt
            if beside.get(name) != self.columns.get(name):
                return {}
        least, most = self.expected
        if most < self.reward and self.reward >= self.right:
            return write_order(beside, self.columns)
        if self.reward < least and self.reward <= self.wrong:
            return write_order(self.columns, beside)
        return {}

    def record(self) -> dict[str, Any]:
        """Return the example as plain data."""
        plain = values_by_field(self)
        del plain["of_rollouts"], plain["beside"]
        plain["columns"] = {name: _cut(value) for name, value in self.columns.items()}
        plain["expected"] = list(self.expected) if self.expected else None
        plain["reason"] = self.reason.record() if self.reason else None
        plain["snippet"] = self.snippet
        return plain


@dataclass(frozen=True)
class Finding:
    """A fact about a reward that a person should know, with its evidence.

    `component` is None for the reward as a whole; `part` is the data source, "" for all
    rows. `evidence` holds the variables of the sentence: the measured `value`, its 95 %
    `interval` if it has one, and all that the templates of its code name. With
    `inconclusive` the interval includes the threshold, and about `n_needed` prompts
    would decide. `n` is the size of the sample behind the value. `rollout_ids` are rows
    worth reading, `suggestions` the codes of suggestions that may help.

    `accepted` is the reason why a baseline accepts the finding, `accepted_until` the
    day on which that acceptance ended. Only a finding of a probe has a `family` and
    `examples`, the clearest first; its evidence lists other probes that report the same
    fault under `also`.
    """

    code: str
    severity: str
    component: str | None
    evidence: Mapping[str, Any]
    n: int
    threshold: float | None = None
    rollout_ids: tuple[Any, ...] = ()
    suggestions: tuple[str, ...] = ()
    part: str = ""
    family: str = ""
    examples: tuple[Example, ...] = ()
    accepted: str = ""
    accepted_until: str = ""

    def __post_init__(self) -> None:
        if self.examples:
            ids = dict.fromkeys(example.rollout_id for example in self.examples)
            object.__setattr__(self, "rollout_ids", tuple(ids))

    @property
    def sentence(self) -> str:
        """Say what is wrong and, for a diagnosis, what to do about it."""
        if self.family or not self.advice:
            return self.statement
        return f"{self.statement} {self.advice}"

    @property
    def statement(self) -> str:
        """Say what is wrong, without what to do about it."""
        text = self._render("says") or str(self.evidence.get("says", self.code))
        if self.family:
            text = self._add_subject(text)
        elif self.part:
            text = f"Where {self.part}, {text[:1].lower()}{text[1:]}"
        if self.accepted_until:
            text += f" (accepted until {self.accepted_until}, over)"
        return text

    @property
    def advice(self) -> str:
        """Say what to do about the finding, or what would decide an unclear one."""
        if self.family:
            return self._advice_of_probe
        trait = self.evidence.get("trait")
        return self._inconclusive or self._render(f"do_for_{trait}", "do")

    def _text(self, *columns: str) -> str:
        """Return the first text that the table of codes has in one of these columns.

        The row of the code comes first, then that of its family, then that of its kind;
        "" if none has a text. A code with an empty row under "diagnosis" takes its text
        from "probe".
        """
        places = [("probe", self.code)]
        if self.family:
            kind = str(self.evidence.get("kind"))
            places += [("family", self.family), ("kind", kind)]
        elif read_codes()["diagnosis"].get(self.code, True):  # no empty row
            places = [("diagnosis", self.code)]
        for section, name in places:
            row = read_codes()[section].get(name, {})
            for column in columns:
                if column in row:
                    return str(row[column])
        return ""

    def _render(self, *columns: str) -> str:
        return _template(self._text(*columns)).render(self._variables())

    def _variables(self) -> dict[str, Any]:
        """Return the variables of templates: the evidence and phrases made of it."""
        if not self.family:
            who = f"Component {self.component!r}" if self.component else "The reward"
            measured = with_interval(self.evidence)
            variables = {**self.evidence, "component": self.component}
            return {**variables, "who": who, "measured": measured}
        trials = int(self.evidence.get("tried", self.n))
        hits = int(self.evidence.get("found", trials))
        many = f"All {trials:,}" if hits == trials else f"{hits:,} of {trials:,}"
        return {
            **self.evidence,
            "n": self.n,
            "tried": trials,
            "reason": _describe_reason(self.evidence),
            "who": "The component" if self.component else "The reward",
            "claim": self._text("claim"),
            "gains": _describe_gain(self.evidence),
            "loses": _describe_loss(self.evidence.get("gain", 1.0)),
            "where": f"on {hits} of {counted(trials, 'prompt')}",
            "many": many,
        }

    def _add_subject(self, text: str) -> str:
        """Append the components and the part of the log to `text`."""
        names = self.evidence.get("components") or [self.component]
        if len(names) > 1:
            text += f" Components: {most(names, NAMED)}."
        elif names[0]:
            text += f" Component: {names[0]}."
        if self.part:
            text += f" Part of the log: {self.part}."
        return text

    @property
    def fault(self) -> str:
        """Name the kind of fault that a probe reports, such as "hole"."""
        trait = self.evidence.get("trait")
        return self._text(f"fault_for_{trait}", "fault") or "hole"

    @property
    def _advice_of_probe(self) -> str:
        trait, answers = self.evidence.get("trait"), self.evidence.get("answers")
        columns = []
        if not self.evidence.get("truth", True):
            columns.append("do_without_truth")
        if answers in ("list", "json"):
            columns.append("do_for_lists")
        columns += [f"do_for_{trait}", f"do_for_{answers}"]
        if self.component:
            columns.append("do_in_component")
        return self._text(*columns, "do") or SEE_COMPONENTS

    @property
    def _inconclusive(self) -> str:
        """Say why the numbers do not decide and how many would; "" if they decide."""
        if not self.evidence.get("inconclusive"):
            return ""
        few, needed = self.evidence.get("too_few"), self.evidence.get("n_needed")
        if few:
            verb = "is" if few == 1 else "are"
            return (
                f"Inconclusive: {counted(few, 'group')} {verb} too few for a verdict."
            )
        if needed:
            prompts = f"{float(f'{needed:.2g}'):,.0f}"
            return f"Inconclusive: too few prompts (about {prompts} needed in all)."
        return (
            f"Inconclusive: the interval includes the threshold of {self.threshold:g}."
        )

    @property
    def order(self) -> tuple[int, float]:
        """Return the sort key, worst first: the severity, then the risk or the cost."""
        worth = self.evidence.get("risk", self.evidence.get("cost", 0.0))
        return SEVERITIES.index(self.severity), -float(worth)

    @property
    def gravity(self) -> str:
        """Return the severity, or "info" for an accepted finding."""
        return "info" if self.accepted else self.severity

    @property
    def key(self) -> str:
        """Return the name of the finding in a baseline, the same for every seed.

        It joins the code, the component, the part and a detail: the ingredients of an
        exploit, or the type of an error.
        """
        names = (self.code, self.component, self.part, self._detail)
        return "/".join(filter(None, names))

    @property
    def cause(self) -> str:
        """Return the key without the component, as not every tool can name that."""
        return replace(self, component=None).key

    @property
    def _detail(self) -> str:
        """Return a text that sets the finding apart from others of its code, or ""."""
        if self.code == "exploit":
            return str(self.evidence.get("says", ""))
        reason = self.evidence.get("reason")
        if self.code in ("raises", "always_errors") and isinstance(reason, Reason):
            return reason.error
        return ""

    @property
    def cases(self) -> list[dict[str, Any]]:
        """Return the cases for a case file."""
        cases = [example.case(self.sentence) for example in self.examples]
        return [case for case in cases if case is not None]

    def record(self) -> dict[str, Any]:
        """Return the finding as plain data."""
        evidence = dict(self.evidence)
        for name, value in evidence.items():
            if isinstance(value, Reason):
                evidence[name] = str(value)
        plain = {
            "code": self.code,
            "severity": self.severity,
            "component": self.component,
            "part": self.part,
            "sentence": self.sentence,
            "evidence": evidence,
            "n": self.n,
            "threshold": self.threshold,
            "rollout_ids": list(self.rollout_ids),
            "accepted": self.accepted,
            "accepted_until": self.accepted_until,
        }
        if not self.family:
            return {**plain, "suggestions": list(self.suggestions)}
        return {
            **plain,
            "family": self.family,
            "examples": [example.record() for example in self.examples],
            "cases": self.cases,
        }


Findings = Sequence[Finding]


@dataclass(frozen=True)
class Rule:
    """A function that looks for findings of some `codes`.

    `find` takes a subject and the findings of the rules before it, so that one cause is
    reported once. Its keyword-only parameters are thresholds with defaults.
    """

    codes: tuple[str, ...]
    find: Callable[..., Iterable[Finding]]

    @cached_property
    def thresholds(self) -> dict[str, float]:
        """Return the defaults of the thresholds, by name."""
        return dict(getattr(self.find, "__kwdefaults__", None) or {})


def rule(*codes: str) -> Callable[[Callable[..., Iterable[Finding]]], Rule]:
    """Return a decorator that makes a function the Rule for these codes."""
    return lambda find: Rule(codes, find)


def run_rules(
    rules: Iterable[Rule],
    subject: Any,
    *,
    thresholds: Mapping[str, float] | None = None,
    after_rule: Callable[[], None] | None = None,
) -> list[Finding]:
    """Run rules on a subject and return their findings, in the order of the rules.

    Args:
        rules: the rules; each gets the findings of those before it.
        subject: the object that the rules examine, such as a `View`.
        thresholds: values that replace the defaults of the rules.
        after_rule: called after each rule, to report progress.
    """
    findings: list[Finding] = []
    for entry in rules:
        limits = entry.thresholds
        if thresholds is not None:
            limits = {name: thresholds[name] for name in limits}
        findings += entry.find(subject, findings, **limits)
        if after_rule is not None:
            after_rule()
    return findings


# --- text


@cache
def _environment() -> Environment:
    from jinja2 import Environment  # slow to import, and only sentences need it

    environment = Environment()  # plain text: pages escape it
    environment.filters |= {
        "percent": percent,
        "number": short_number,
        "counted": counted,
        "code": repr,
        "amounts": list_amounts,
        "capital": lambda text: f"{text[:1].upper()}{text[1:]}",
    }
    return environment


def list_amounts(amounts: Mapping[str, float]) -> str:
    """List amounts with signs; less than a thousandth of the largest counts as 0.

    >>> list_amounts({"exact": -0.145, "short": 0.0977, "form": 9.7e-17})
    'exact -0.145, short +0.0977, form +0'
    >>> list_amounts({"judge": math.nan, "short": 0.0977})
    'judge not known, short +0.0977'
    """
    sizes = [abs(amount) for amount in amounts.values() if not math.isnan(amount)]
    least = max(sizes, default=0.0) / 1000
    texts = []
    for name, amount in amounts.items():
        if math.isnan(amount):
            texts.append(f"{name} not known")
            continue
        if abs(amount) <= least:
            amount = 0.0
        texts.append(f"{name} {amount:+.3g}")
    return ", ".join(texts)


@cache
def _template(text: str) -> Template:
    return _environment().from_string(text)


def _describe_reason(evidence: Mapping[str, Any]) -> str:
    """Say why most calls failed, and count the other types of error."""
    reason, errors = str(evidence.get("reason", "")), evidence.get("errors", ())
    if not errors:
        return reason
    (_, count), *others = errors
    listed = ", ".join(f"{error} ({number})" for error, number in others)
    return f"{reason} ({count}); {listed}"


def _describe_gain(evidence: Mapping[str, Any]) -> str:
    """Compare the reward of a completion with that of a right answer, in words."""
    if evidence.get("beyond"):
        return "earned more than any rollout"
    best = "the right answer" if evidence.get("truth", True) else "the best rollout"
    if evidence.get("knows") == "known":
        best = "a proper answer"
    gain = evidence.get("gain", 0.0)
    if gain < AS_MUCH:
        return f"closed {percent(gain)} of the gap to {best}"
    if gain <= BEATS:
        return f"earned about as much as {best}"
    return f"beat {best}"


def _describe_loss(share: float) -> str:
    """Say what share of the credit for a right answer was lost."""
    if share >= AS_MUCH:
        return "got no credit"
    return f"lost {percent(share)} of its credit"


def most(names: Sequence[str], limit: int = 4) -> str:
    """List the first `limit` names and the number of the others."""
    listed = ", ".join(names[:limit])
    if len(names) > limit:
        listed += f" and {len(names) - limit} more"
    return listed


def counted(number: int, noun: str) -> str:
    """Write a number with its noun, in the plural if it is not 1.

    >>> counted(1, "group"), counted(2000, "group")
    ('1 group', '2,000 groups')
    """
    if number != 1:
        noun += "s"
    return f"{number:,} {noun}"


def describe_size(rows: int, sampled_from: int) -> str:
    """Say how many rollouts there are, and of how many they are a sample (0: of none).

    >>> describe_size(250, 2000)
    '250 of 2,000 rollouts (a sample)'
    """
    if sampled_from:
        return f"{rows:,} of {counted(sampled_from, 'rollout')} (a sample)"
    return counted(rows, "rollout")


LARGEST_WRITTEN_OUT = 1e9
"""Absolute value from which numbers are written with an exponent."""


def short_number(value: float, digits: int = 3) -> str:
    """Write a number for a person: few digits, and 0 in place of rounding noise.

    >>> short_number(0.123456), short_number(-9.3e-18), short_number(1600)
    ('0.123', '0', '1,600')
    """
    if abs(value) < 1e-12:
        return "0"
    if 999.5 <= abs(value) < LARGEST_WRITTEN_OUT:
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def number_range(low: float, high: float) -> str:
    """Write the ends of a range for a person: "0.12 to 1,600"."""
    return f"{short_number(low)} to {short_number(high)}"


def percent(share: float) -> str:
    """Write a share for a person: 0.1712 -> 17 %, 0.0012 -> 0.1 %, NaN -> -."""
    if math.isnan(share):
        return "-"
    value = 100 * share
    if abs(value) < 1e-9:
        return "0 %"
    if abs(value) < 0.05:
        return "under 0.1 %"
    if abs(value) >= 10:
        return f"{value:.0f} %"
    return f"{value:.1f} %"


def with_interval(evidence: Mapping[str, Any]) -> str:
    """Write the measured `value` as a share, with its `interval` if there is one."""
    value = percent(evidence.get("value", math.nan))
    low, high = evidence.get("interval", (math.nan, math.nan))
    if math.isnan(low) or {percent(low), percent(high)} == {value}:
        return value
    return f"{value} ({percent(low).removesuffix(' %')} to {percent(high)})"


LONGEST_WRITTEN_OUT = 400
"""Characters of a text that is written as code as it is. Our choice."""


def as_code(value: Any) -> str:
    """Write a value as Python code; in a long text, repeats become multiplications.

    >>> as_code("a" * 30000 + "!")
    "'a' * 30000 + '!'"
    """
    if not isinstance(value, str) or len(value) <= LONGEST_WRITTEN_OUT:
        return repr(value)
    pieces = []
    end = 0
    for run in islice(re.finditer(r"(.{1,12}?)\1{19,}", value, re.DOTALL), 12):
        if run.start() > end:
            pieces.append(repr(value[end : run.start()]))
        pieces.append(f"{run[1]!r} * {len(run[0]) // len(run[1])}")
        end = run.end()
    if end < len(value):
        pieces.append(repr(value[end:]))
    return " + ".join(pieces)


def _cut(value: Any, longest: int = 6000) -> Any:
    """Return the value, or the beginning of a very long text."""
    if not isinstance(value, str) or len(value) <= longest:
        return value
    return f"{value[:longest]}... ({len(value) - longest} more characters)"
