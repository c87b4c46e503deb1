"""Contract, probes and mutants as fragments of escaped HTML, and what a report's first page says of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd

from rewardkit.findings import Finding, counted
from rewardkit.html import markup
from rewardkit.html.excerpts import one_line, shown
from rewardkit.notebook.redaction import redacted_finding, redacted_reason
from rewardkit.notebook.scorecard import Point, Tile, cases_tile, points_of_probes, probe_tiles
from rewardkit.probes.mutants.results import Judged, MutantResult
from rewardkit.probes.probe import ProbeResult
from rewardkit.probes.results import rendering
from rewardkit.probes.results.sentences import fix_for
from rewardkit.probes.results.summary import FAULTS, alarms_in_words, kind_of_alarm, tried, verdict
from rewardkit.rollouts.package_data import GALLERY
from rewardkit.scoring.cases import CheckResult
from rewardkit.scoring.deadlines import TimeLimit

__all__ = [
    "Checked",
    "contract",
    "contract_caption",
    "mutants",
    "probes",
    "probes_caption",
    "trying_again",
]

MIME = "application/vnd.rewardkit.checked+json"
SURVIVORS = 8  # that are open
FAULT = "broken contract"


# --- contract and probes


def _faults(result: ProbeResult) -> list[Finding]:
    return [item for item in result.findings if kind_of_alarm(item) == FAULT]


def _others(result: ProbeResult) -> list[Finding]:
    return [item for item in result.findings if kind_of_alarm(item) != FAULT]


def contract_caption(result: ProbeResult) -> str:
    """Whether the contract holds, in a few words."""
    alarms = [item for item in _faults(result) if item in result.alarms]
    if alarms:
        return alarms_in_words(alarms)
    if any(getattr(item, "asks_model", False) for item in result.reward.functions):
        return "no broken contract found; a model asked again may answer differently, so answers are cached"
    if not any(callable(item) and TimeLimit.needed(item) for item in result.reward.functions):
        return "no broken contract: it is made of rewardkit's own functions, which keep it"
    return "no broken contract found"


def contract(result: ProbeResult, *, redact: bool) -> str:
    """What of the contract is broken, with examples."""
    return rendering.findings_page(result, _shown(_faults(result), redact), texts=not redact)


def probes_caption(result: ProbeResult) -> str:
    """What a policy would find, in a few words."""
    alarms = [item for item in _others(result) if item in result.alarms]
    if alarms:
        return f"{alarms_in_words(alarms)} in {tried(result)}"
    if any(item.code in FAULTS for item in result.findings):
        return f"not known before the reward gives rewards: it judged none of {tried(result)}"
    return verdict(result) if not result.alarms else f"no hole found in {tried(result)}"


def probes(result: ProbeResult, *, redact: bool) -> str:
    """What is paid or lost wrongly, what could not be decided, and what right and wrong answers earn."""
    found = rendering.findings_page(result, _shown(_others(result), redact), texts=not redact)
    return found + rendering.rest_page(result, texts=not redact)


def _shown(findings: Sequence[Finding], redact: bool) -> list[Finding]:
    return [redacted_finding(item) for item in findings] if redact else list(findings)


# --- mutants


def mutants(found: MutantResult, *, redact: bool, again: str = "") -> str:
    """The changes that no case notices, where each shows most, and the cases that would notice them.

    `again` is code that makes the same result anew, as `trying_again` writes it.
    """
    if found.stopped:
        cause = redacted_reason(found.cause) if redact and found.cause else found.cause
        why = found.stopped + (f" ({cause})" if cause else "")
        return f"<p>{markup.escaped(one_line(why[0].upper() + why[1:], 600))}.</p>"
    next_step = _proposed(found, redact=redact, again=again)
    parts = [next_step] if found.missed else []
    if found.survived:
        parts.append(_survivors(found.survived[:SURVIVORS], found.rollouts, redact=redact))
    if others := found.survived[SURVIVORS:]:
        body = _survivors(others, found.rollouts, redact=redact)
        parts.append(markup.folded(f"and {len(others)} more", body))
    if same := len(found.not_told_apart):
        them = "the cases" + (f" and {counted(found.rollouts, 'rollout')}" if found.rollouts else "")
        parts.append(
            f"<p>{same} {'gives' if same == 1 else 'give'} the same reward for all of {them} and "
            f"{'does' if same == 1 else 'do'} not count.</p>"
        )
    if found.not_tried:
        rows = [(item.mutant.sentence, item.reason) for item in found.not_tried]
        body = markup.table(("what was to be changed", "why it was not tried"), rows, stacked=True)
        many = f"{len(rows)} {'was' if len(rows) == 1 else 'were'} not tried and do not count"
        parts.append(markup.folded(f"{many}", body))
    parts += [] if found.missed else [next_step]
    parts += [f"<p>Left out: {markup.escaped(one_line(line))}</p>" for line in found.left_out]
    return "".join(parts)


def trying_again(
    reward: str, rollouts: str, cases: str, reading: Mapping[str, Any], *, as_: str = "", **options: Any
) -> str:
    """Code that tries the mutants of a check anew and adds the proposed cases to its case file.

    `reading` is how `load_rollouts` was called and `options` how `mutants` was, beside what is None or empty;
    proposed cases do not go to the bundled ones, but to a file of their own.
    """
    path = "proposed_cases.jsonl" if cases.startswith(GALLERY) else cases
    read = _keywords(rollouts, reading if reading.get("join") else {**reading, "on": None})
    logged = (
        f"rollouts = rk.load_rollouts({read})"
        if rollouts
        else f"rollouts = [case.columns for case in rk.load_cases({cases!r})]"
    )
    loaded = "reward = rk.load_reward(" + _keywords(reward, {"as_": as_}) + ", rollouts=rollouts)"
    given = ["reward", repr(cases), *(["rollouts"] if rollouts else [])]
    given += [f"{name}={value!r}" for name, value in options.items() if value not in (None, [], "")]
    tried = f"rk.mutants({', '.join(given)})"
    return "\n".join(("import rewardkit as rk", logged, loaded, f"{tried}.write_cases({path!r})"))


def _keywords(first: str, options: Mapping[str, Any]) -> str:
    said = [f"{name}={value!r}" for name, value in options.items() if value not in (None, {}, [], "")]
    return ", ".join([repr(first), *said])


def _survivors(judged: Sequence[Judged], rollouts: int, *, redact: bool) -> str:
    header = ("what was changed", "code", "rollouts that differ", "most on", "reward → mutant's")
    rows = [_survivor(item, rollouts, redact=redact) for item in judged]
    return markup.table(header if redact else (*header, "completion"), rows, stacked=True)


def _survivor(item: Judged, rollouts: int, *, redact: bool) -> tuple[str, ...]:
    first = item.differences[0] if item.differences else None
    code = f"{one_line(item.mutant.before, 120)} → {one_line(item.mutant.after, 120)}"
    differs = f"{item.differs:,} of {rollouts:,}" if rollouts else ""
    told = (item.mutant.sentence, code, item.reason or differs)
    if first is None:
        return (*told, "", "", *[""] * (not redact))
    place = f"case {first.case}" if first.case else f"rollout {first.rollout_id}"
    most = (one_line(place), first.rewards)
    text = () if redact else (one_line(shown(first.completion, longest=160).text),)
    return (*told, *most, *text)


def _proposed(found: MutantResult, *, redact: bool, again: str) -> str:
    if not found.next_step:
        return ""
    head = f"<p><b>Next:</b> {markup.escaped(found.next_step)}.</p>"
    if not found.proposed_cases or redact:
        return head
    lines = "\n".join(json.dumps(case, ensure_ascii=False, default=str) for case in found.proposed_cases)
    head += markup.folded("proposed cases", markup.code(lines))
    return head + (f"<p>To add them all, when they are read:</p>{markup.code(again)}" if again else "")


# --- in short


@dataclass(frozen=True)
class Checked:
    """What the check notebook came to, in short: shown in the notebook, and read back by the report.

    `line` is the verdict with how much was tried; `tiles` answer whether cases, exploits and contract hold;
    `points` are what was found, as it may be shown; `rows` the questions of the notebook with their answers.
    """

    line: str
    tiles: tuple[Tile, ...]
    points: tuple[Point, ...]
    rows: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls,
        result: ProbeResult,
        checked: CheckResult | None,
        found: MutantResult | None,
        *,
        redact: bool = False,
    ) -> Checked:
        """From what the notebook found; without cases `checked` and `found` are None."""
        told = verdict(result)
        line = told if tried(result) in told else f"{told}; {tried(result)}"
        return cls(
            line,
            (cases_tile(checked, found), *probe_tiles(result)),
            tuple(points_of_probes(result, redact=redact)),
            tuple(_answers(result, checked, found, _shown(result.alarms, redact)).items()),
        )

    @classmethod
    def found(cls, notebook: Any) -> Checked | None:
        """From an executed notebook that shows it; ``None`` where it does not."""
        shown = (output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", []))
        record = next((data[MIME] for data in shown if MIME in data), None)
        if record is None:
            return None
        tiles = tuple(Tile(**item) for item in record["tiles"])
        points = tuple(Point(**item) for item in record["points"])
        return cls(
            record["line"], tiles, points, tuple((question, answer) for question, answer in record["rows"])
        )

    def record(self) -> dict[str, Any]:
        """It as plain data."""
        return asdict(self)

    @property
    def table(self) -> pd.DataFrame:
        """One row a question, with its answer."""
        return pd.DataFrame(list(self.rows), columns=["question", "answer"], dtype=object)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        rows = markup.table(("question", "answer"), self.rows, stacked=True)
        return {"text/html": markup.card("", rows), "text/plain": self.line, MIME: self.record()}


def _answers(
    result: ProbeResult,
    checked: CheckResult | None,
    found: MutantResult | None,
    alarms: Sequence[Finding],
) -> dict[str, str]:
    cases = (
        "no cases were given"
        if checked is None
        else f"{checked.passed} of {len(checked.cases)} cases passed, {checked.failed} missed"
    )
    strong = "no cases were given" if found is None else found.verdict
    return {
        "Does it give what was written down?": cases,
        "Does it keep its contract?": contract_caption(result),
        "What would a policy find?": probes_caption(result),
        "Is the case file strong enough?": strong,
        "What next?": _next(checked, found, alarms, result),
    }


def _next(
    checked: CheckResult | None,
    found: MutantResult | None,
    alarms: Sequence[Finding],
    result: ProbeResult,
) -> str:
    """The first thing to do."""
    grave = f"{alarms[0].code}: {fix_for(alarms[0])}" if alarms else ""
    if checked is not None and checked.misses and not (alarms and alarms[0].code in FAULTS):
        mend = f"mend what case {checked.misses[0].case!r} misses, or what it expects"
        return f"{mend}; then {grave}" if grave else mend
    if grave:
        return grave
    if found is not None and found.stopped:
        return "mend why the reward judges nothing, which stands with the mutants"
    if found is not None and found.proposed_cases:
        return "add the proposed cases to the case file, after reading them"
    if found is not None and found.survived:
        return found.next_step
    if result.inconclusive:
        return f"{result.inconclusive[0].why}"
    return (
        "nothing" if checked is not None else "write cases for what the reward must give, and check them here"
    )
