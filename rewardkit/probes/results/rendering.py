"""How the result of probing looks: text for a terminal, and a short page of escaped HTML for a notebook."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rewardkit.analysis.rendering import SEVERITY_MARKS
from rewardkit.findings import Example, Finding, percent
from rewardkit.html.markup import aligned, card, code, escaped, folded, listed, marked, quoted, table
from rewardkit.probes.results.baseline import Accepted, grown, stale
from rewardkit.probes.results.excerpts import Shown, field_spans, one_line, shown, visible
from rewardkit.probes.results.fixes import fix_for
from rewardkit.probes.results.summary import Written, ran, tried, verdict, written
from rewardkit.rewards.reward import Reward

if TYPE_CHECKING:
    from rewardkit.probes.probe import ProbeResult

__all__ = ["calibration_page", "finding_text", "findings_page", "page", "rest_page", "text"]

LINES, HEAD = 12, 8  # of a completion in a terminal, and how many of them stand before a gap
OF_SEVERAL_CALLS = (
    "hidden_state",
    "differs_between_calls",
    "depends_on_order",
    "depends_on_siblings",
    "changes_arguments",
    "undeclared_column",
    "not_picklable",
)
SNIPPET = 1200  # characters of a snippet that a terminal is shown


# --- both


def _head(result: ProbeResult) -> str:
    return f"{one_line(result.reward.name)}: {verdict(result)}"


def _effort(result: ProbeResult) -> str:
    """How much was tried, where the verdict does not say it, and what does not apply here."""
    left = len(result.probes) - len(ran(result)) - len(result.untried)
    other = f"{left} of the probes do not apply here" if left > 0 and ran(result) else ""
    done = tried(result) if tried(result) not in verdict(result) else ""
    return "; ".join(filter(None, (done, other)))


def _order(findings: Sequence[Finding]) -> tuple[list[Finding], ...]:
    """The alarms, what is for information, and what is accepted."""
    alarms = [item for item in findings if item.severity != "info" and not item.accepted]
    minor = [item for item in findings if item.severity == "info" and not item.accepted]
    return alarms, minor, [item for item in findings if item.accepted]


def _headline(finding: Finding) -> str:
    return f"{one_line(finding.sentence, 2000)}{_rate(finding)}"


def _rate(finding: Finding) -> str:
    """The rate with its interval, where the sentence does not say it."""
    low, high = finding.evidence.get("interval", (math.nan, math.nan))
    around = f"({percent(low)} to {percent(high)})"
    if math.isnan(low) or around in finding.sentence:
        return ""
    return f" [{percent(float(finding.evidence['value']))} {around} of {finding.n}]"


def _clearest(examples: Sequence[Example]) -> list[tuple[Example, list[Any]]]:
    """The examples with different completions, each with the rollouts that it was made from."""
    found: dict[str, tuple[Example, list[Any]]] = {}
    for item in examples:
        found.setdefault(item.completion, (item, []))[1].append(item.rollout_id)
    return list(found.values())


def _about(example: Example, of: Sequence[Any], *, texts: bool) -> str:
    """Which rollout, which truth, and what it earned."""
    names = ", ".join(one_line(name, 40) for name in of if name is not None)
    rollouts = "rollouts" if len(of) > 1 else "rollout"
    where = names if names.startswith("case ") else f"{rollouts} {names}" if names else ""
    truth = ""
    if texts and "ground_truth" in example.columns and len(of) == 1:
        truth = f"truth {one_line(repr(example.columns['ground_truth']), 120)}"
    return f"{', '.join(filter(None, (where, truth))) or 'example'}: {_earned(example)}"


def _earned(example: Example) -> str:
    got = f"{example.reward:.4g}"
    if example.said:
        said = one_line(example.said)
        if said.startswith(f"{example.reward:.6g}, "):
            return f"earns {said}"
        return f"no reward ({said})" if math.isnan(example.reward) else f"earns {got} ({said})"
    return f"earns {got}; {example.scale}" if example.scale else f"earns {got}"


def _read(example: Example, finding: Finding, reward: Reward) -> Shown | None:
    """Its completion to read, ``None`` where it is not to be shown; no field is taken from what hangs."""
    if "completion" not in example.columns:
        return None
    spans = {} if finding.family == "hang" else field_spans(reward, example.columns)
    return shown(example.completion, spans)


def _snippet(finding: Finding) -> str:
    """The shortest lines that show it; what no single call shows is shown by probing for it."""
    if finding.code in OF_SEVERAL_CALLS:
        return 'rk.probe(reward, rollouts, only="contract")'
    lines = [item.snippet for item in finding.examples if "completion" in item.columns]
    return " ".join(visible(min(lines, key=len)).splitlines()) if lines else ""


def _span(pair: tuple[float, float]) -> str:
    low, high = (f"{value + 0.0:.4g}" for value in pair)
    return low if low == high else f"{low} to {high}"


def _missing(result: ProbeResult) -> list[str]:
    """What could not be decided, and what would decide it."""
    lines = [f"{one_line(item.probe)}: {one_line(item.why, 600)}" for item in result.inconclusive]
    if result.untried:
        names = ", ".join(result.untried)
        lines.append(f"not tried, as the budget was over: {names}; give more seconds, budget=... (--budget)")
    return lines


def _changed(result: ProbeResult) -> list[str]:
    """What became of the entries of a baseline that do not fit any more."""
    lines = [
        f"{one_line(item.key)} was accepted as {entry.severity} on {entry.date} and is {item.severity} now: "
        "it counts again"
        for item, entry in grown(result)
    ]
    return lines + [
        f"{one_line(entry.finding)}, accepted on {entry.date}, is not found any more: take it out of the file"
        for entry in stale(result)
    ]


def _entry(result: ProbeResult, finding: Finding) -> Accepted | None:
    return result.baseline.entry(finding) if result.baseline is not None else None


# --- text


def text(result: ProbeResult, *, loaded: str = "") -> str:
    """The result for a terminal; `loaded` is the line of Python that gives the `reward` of the snippets."""
    alarms, minor, accepted = _order(result.findings)
    lines = [_head(result), *filter(None, [_effort(result)]), *_calibrated_text(result)]
    if alarms and loaded:
        lines += ["", f"The lines that show a finding are for {loaded}"]
    for item in alarms:
        lines += ["", finding_text(item, result.reward)]
    if minor:
        lines += ["", "For information:"]
        lines += [f"  {SEVERITY_MARKS['info']}  {item.code}: {_headline(item)}" for item in minor]
    if missing := _missing(result):
        lines += ["", "Inconclusive:", *(f"  {line}" for line in missing)]
    if accepted:
        lines += ["", "Accepted:"]
        lines += [f"  {_accepted(result, item)}: {_headline(item)}" for item in accepted]
    if changed := _changed(result):
        lines += ["", "Baseline:", *(f"  {line}" for line in changed)]
    return "\n".join(lines)


def finding_text(finding: Finding, reward: Reward) -> str:
    """One finding for a terminal: sentence, examples, what shows it and what to do."""
    lines = [f"{SEVERITY_MARKS[finding.severity]}  {finding.code} ({finding.family}): {_headline(finding)}"]
    for item, of in _clearest(finding.examples):
        lines.append(f"  {_about(item, of, texts=True)}")
        if (read := _read(item, finding, reward)) is not None:
            lines += [f"    | {line}" for line in _lines(read)]
    if snippet := _snippet(finding):
        long = f"{snippet[:SNIPPET]} ... (whole in finding.examples, and with --json)"
        lines.append(f"  shown by: {snippet if len(snippet) <= SNIPPET else long}")
    return "\n".join([*lines, f"  next: {fix_for(finding)}"])


def _lines(read: Shown) -> list[str]:
    """The lines of a completion, without the middle of many."""
    whole = read.bracketed()
    if not read.text.strip():
        return [_blank(read.text)]
    lines = whole.split("\n")
    if len(lines) > LINES:
        tail = LINES - HEAD - 1
        lines = [*lines[:HEAD], f"⟨{len(lines) - HEAD - tail} lines⟩", *lines[-tail:]]
    return lines


def _blank(text: str) -> str:
    """A completion in which nothing can be seen, in words."""
    return f"(white space: {one_line(repr(text), 60)})" if text else "(nothing)"


def _calibrated_text(result: ProbeResult) -> list[str]:
    lines: list[str] = []
    for item in written(result):
        lines += ["", _calibration(item)]
        lines += [f"  {line}" for line in aligned(_earnings(item))]
        if item.subject.answer is not None:
            read = shown(item.subject.reference, field_spans(result.reward, _reference(item)))
            lines += [f"    | {line}" for line in _lines(read)]
    return lines


def _calibration(item: Written) -> str:
    where = f"[{one_line(item.part)}] " if item.part else ""
    prompts = f"{item.prompts} prompt{'s' * (item.prompts != 1)}"
    if item.subject.answer is None:
        return f"{where}Calibrated on {prompts}: no truth is asked for, so rollouts stand for answers"
    kinds = ", ".join(item.kinds)
    return (
        f"{where}Calibrated on {prompts} (answers: {kinds}), written as {one_line(item.subject.format.name)}"
    )


def _earnings(item: Written) -> list[tuple[str, str]]:
    if item.subject.answer is None:
        return [("the best rollout earns", _span(item.right)), ("the worst", _span(item.wrong))]
    return [
        ("a right answer earns", _span(item.right)),
        ("a wrong one in the same form", _span(item.wrong)),
        ("a wrong one in no form", _span(item.plain)),
        ("the least of all", _span(item.floor)),
    ]


def _reference(item: Written) -> dict[str, Any]:
    return {**item.subject.columns, "completion": item.subject.reference}


def _accepted(result: ProbeResult, finding: Finding) -> str:
    entry = _entry(result, finding)
    since = f" on {entry.date}" if entry else ""
    return f"{finding.code} ({finding.severity}), accepted{since}: {one_line(finding.accepted)}"


# --- HTML


def page(result: ProbeResult, *, texts: bool = True) -> str:
    """The result as HTML: verdict, calibration, findings worst first, what is open, what is accepted.

    It has no colours of its own but for marks. Without `texts` no completion and no truth is in it, but for
    what sentences of findings quote.
    """
    effort = _effort(result)
    parts = [
        f"<p>{escaped(effort)}</p>" if effort else "",
        calibration_page(result, texts=texts),
        findings_page(result, result.findings, texts=texts),
        rest_page(result),
    ]
    return card(f"Probes of {_head(result)}", "".join(parts))


def rest_page(result: ProbeResult) -> str:
    """As HTML what is inconclusive, and what a baseline accepts that has changed."""
    parts = []
    if missing := _missing(result):
        parts.append(f"<p><b>Inconclusive</b></p>{listed(map(escaped, missing))}")
    if changed := _changed(result):
        parts.append(f"<p><b>Baseline</b></p>{listed(map(escaped, changed))}")
    return "".join(parts)


def findings_page(result: ProbeResult, findings: Sequence[Finding], *, texts: bool = True) -> str:
    """Some of the findings as HTML: alarms, what is for information, what is accepted."""
    alarms, minor, accepted = _order(findings)
    parts = ["".join(_finding_html(item, result.reward, texts=texts) for item in alarms)]
    if minor:
        parts.append(folded(f"{len(minor)} for information", listed(map(_minor_html, minor))))
    if accepted:
        rows = [
            (item.code, item.severity, entry.date if entry else "", one_line(item.accepted), _headline(item))
            for item in accepted
            for entry in [_entry(result, item)]
        ]
        header = ("accepted", "severity", "on", "reason", "what it is")
        parts.append(table(header, rows))
    return "".join(parts)


def _finding_html(finding: Finding, reward: Reward, *, texts: bool) -> str:
    head = (
        f"<p><b>{SEVERITY_MARKS[finding.severity]}</b> <code>{escaped(finding.code)}</code>: "
        f"{escaped(_headline(finding))}</p>"
    )
    return head + listed(_examples_html(finding, reward, texts=texts)) + _next_html(finding, texts=texts)


def _examples_html(finding: Finding, reward: Reward, *, texts: bool) -> Iterator[str]:
    for item, of in _clearest(finding.examples):
        read = _read(item, finding, reward) if texts else None
        body = ""
        if read is not None:
            nothing = "" if read.text.strip() else f"<em>{escaped(_blank(read.text))}</em>"
            body = quoted(nothing or marked(read.text, read.spans))
        yield escaped(_about(item, of, texts=texts)) + body


def _next_html(finding: Finding, *, texts: bool) -> str:
    snippet = _snippet(finding) if texts else ""
    shows = folded("the lines that show it", code(snippet)) if snippet else ""
    return f"<p><b>Next:</b> {escaped(fix_for(finding))}</p>{shows}"


def _minor_html(finding: Finding) -> str:
    return f"<code>{escaped(finding.code)}</code>: {escaped(_headline(finding))}. {escaped(fix_for(finding))}"


def calibration_page(result: ProbeResult, *, texts: bool = True) -> str:
    """As HTML how answers are written, and what they earn, a part after the other."""
    return "".join(_calibrated_html(item, result.reward, texts=texts) for item in written(result))


def _calibrated_html(item: Written, reward: Reward, *, texts: bool) -> str:
    rows = _earnings(item)
    body = table([name for name, _ in rows], [[value for _, value in rows]])
    if texts and item.subject.answer is not None:
        read = shown(item.subject.reference, field_spans(reward, _reference(item)))
        body += quoted(marked(read.text, read.spans))
    return folded(_calibration(item), body)
