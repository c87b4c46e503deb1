"""How the result of probing looks: a page of text for a terminal, and one of escaped HTML for a notebook."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from rewardkit.answers.formats import REASONING
from rewardkit.findings import SEVERITY_MARKS, Example, Finding, counted, most, percent
from rewardkit.html.excerpts import (
    LINE,
    Excerpt,
    make_excerpt,
    one_line,
    user_texts_are_hidden,
    visible,
)
from rewardkit.html.markup import card, escaped, html_of, marked, render
from rewardkit.html.pages import redact_finding
from rewardkit.primitives.messages import turns_before
from rewardkit.probes.results.baseline import changes
from rewardkit.probes.results.summary import earnings, ran, tried, verdict
from rewardkit.rewards.reward import Reward
from rewardkit.scoring.explain import field_spans

if TYPE_CHECKING:
    from rewardkit.probes.probe import ProbeResult

WIDTH = 110  # characters of a line in a terminal
INDENT = 7 * " "  # below the mark of the severity
FULL, OTHERS = 3, 4  # findings that are shown with an example, and with a line each
EXCERPT = 70  # characters of a completion on one line
SNIPPET = 1200  # characters of the lines that show a finding, in a terminal
OPEN = ("Inconclusive", "Baseline")
READY = {"high": " is not ready", "warn": " is usable"}


# --- both


def _head(result: ProbeResult) -> str:
    ready = READY[result.alarms[0].severity] if result.alarms else ""
    return f"{one_line(result.reward.name)}{ready}: {verdict(result)}"


def _effort(result: ProbeResult) -> str:
    """How much was tried, where the verdict does not say it, and what does not apply here."""
    left = len({*result.probes} - {*ran(result)} - {*result.untried})
    done = f"Tried: {tried(result)}; " if tried(result) not in verdict(result) else ""
    apply = f"{counted(left, 'probe')} {'does' if left == 1 else 'do'} not apply"
    return f"{done}{apply}" if left > 0 and ran(result) else done.rstrip("; ")


def _alarms(findings: Sequence[Finding]) -> list[Finding]:
    return [item for item in findings if item.severity != "info" and not item.accepted]


def _known(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """A line each of what is for information and of what is accepted."""
    lines: dict[str, list[str]] = {"For information": [], "Accepted": []}
    for item in findings:
        if item.accepted:
            lines["Accepted"].append(
                f"{item.code}: {_sentence(item)} {one_line(item.accepted)}"
            )
        elif item.severity == "info":
            lines["For information"].append(
                f"{item.code}: {_sentence(item)} {item.advice}"
            )
    return lines


def _rest(result: ProbeResult, *, texts: bool = True) -> dict[str, list[str]]:
    """A line each of what could not be decided, of what changed in a baseline, and of what answers earn."""
    open_ = [
        f"{one_line(item.probe)}: {one_line(item.why, 600)}"
        for item in result.inconclusive
    ]
    if result.untried:
        open_.append(
            f"not tried, as the budget was over (budget=...): {most([*result.untried])}"
        )
    changed = list(map(one_line, changes(result)))
    return {
        "Inconclusive": open_,
        "Baseline": changed,
        "What answers earn": earnings(result, texts=texts),
    }


def _sentence(finding: Finding) -> str:
    return one_line(finding.sentence, 2000)


def _headline(finding: Finding) -> str:
    return f"{SEVERITY_MARKS[finding.severity]} {finding.code}: {_sentence(finding)}"


def _numbers(finding: Finding) -> list[str]:
    """The rate with its interval, and the other probes of the same cause."""
    evidence, lines = finding.evidence, []
    if "interval" in evidence and finding.code != "hang":
        rate, low, high = map(percent, (evidence["value"], *evidence["interval"]))
        lines.append(f"rate: {rate} of {finding.n} (95 % interval {low} to {high})")
    if also := evidence.get("also"):
        lines.append(f"same cause: {', '.join(also)}")
    return lines


def clearest(finding: Finding) -> list[Example]:
    """The examples with different completions, the shortest first."""
    different = {item.completion: item for item in reversed(finding.examples)}
    return sorted(reversed(different.values()), key=lambda item: len(item.completion))


def turns_of(example: Example, longest: int = 150) -> str:
    """What a transcript has before its completion, on one line; "" without one."""
    return one_line(
        turns_before(example.columns.get("messages")).removesuffix(": "), longest
    )


def _about(example: Example, *, texts: bool = True) -> str:
    """What it earned and right answers earn, which a line has room for; of which rollout, and the rest."""
    about, said = one_line(example.rollout_id, 40), one_line(example.said)
    about = about if about.startswith("case ") else f"for the prompt of rollout {about}"
    earned = (
        "no reward" if math.isnan(example.reward) else f"earns {example.reward:.4g}"
    )
    earned += f" ({said})" if said else f"; {example.scale}" if example.scale else ""
    earned = f"earns {said}" if ", before " in said else earned
    known = texts and "ground_truth" in example.columns
    truth = (
        f"; truth {one_line(repr(example.columns['ground_truth']), 60)}"
        if known
        else ""
    )
    return f"{earned}; {about}{truth}"


def _read(
    example: Example, finding: Finding, reward: Reward, longest: int = 420
) -> Excerpt | None:
    """Its completion to read, ``None`` where it is not to be shown; no field is taken from what hangs.

    An excerpt leaves our own filler for the reasoning out, so that there is room for what matters.
    """
    if "completion" not in example.columns:
        return None
    text = example.completion
    if not text.strip():
        return Excerpt(
            f"(white space: {one_line(repr(text), 60)})" if text else "(nothing)", {}
        )
    if longest <= EXCERPT:
        text = text.replace(REASONING, "…")
    whole = longest > EXCERPT and finding.family != "hang"
    return make_excerpt(
        text, field_spans(reward, example.columns) if whole else {}, longest=longest
    )


def _snippet(finding: Finding) -> str:
    """The shortest lines that show it; what no single call shows is shown by probing for it."""
    if finding.evidence.get("kind") == "contract":
        return 'rk.probe(reward, rollouts, only="contract")'
    lines = [item.snippet for item in finding.examples if "completion" in item.columns]
    return " ".join(visible(min(lines, key=len)).splitlines()) if lines else ""


# --- text


def text(result: ProbeResult, *, verbose: bool = False, loaded: str = "") -> str:
    """The result for a terminal: the verdict, the worst findings with an example each, and what was tried.

    Where it is `verbose` all that was found; `loaded` is the line of Python that gives the `reward` of the
    snippets.
    """
    return "\n".join(
        [_head(result), *(_whole(result, loaded) if verbose else _short(result))]
    )


def _short(result: ProbeResult) -> Iterator[str]:
    alarms, rest = _alarms(result.findings), _rest(result)
    full = FULL if len(alarms) <= FULL else FULL - 1
    for item in alarms[:full]:
        yield f"\n{finding_text(item, result.reward, verbose=False)}"
    yield ""
    yield from (
        one_line(_headline(item), WIDTH) for item in alarms[full : full + OTHERS]
    )
    if (left := len(alarms) - full - OTHERS) > 0:
        yield f"and {left} more"
    yield _effort(result)
    for title in ("Inconclusive", "Baseline"):
        if rest[title]:
            yield one_line(
                f"{title}: {'; '.join(rest[title])}", (2 if alarms else 8) * WIDTH
            )
    if result.findings:
        yield "All of it: text(verbose=True)"


def _whole(result: ProbeResult, loaded: str) -> Iterator[str]:
    alarms = _alarms(result.findings)
    if alarms and loaded:
        yield f"\nThe lines that show a finding are for {loaded}"
    yield from (f"\n{finding_text(item, result.reward)}" for item in alarms)
    for title, lines in (_known(result.findings) | _rest(result)).items():
        if lines:
            yield "\n  ".join([f"\n{title}:", *lines])
    yield f"\n{_effort(result)}"


def finding_text(finding: Finding, reward: Reward, *, verbose: bool = True) -> str:
    """One finding for a terminal: what is wrong, the shortest example in a line, and what to do.

    Where it is `verbose` all examples in full, its rate with an interval, and the lines that show it.
    """
    if verbose:
        head = [_headline(finding)]
        body = [
            line for item in clearest(finding) for line in _lines(item, finding, reward)
        ]
        body += _numbers(finding)
        if snippet := _snippet(finding):
            cut = (
                " ... (whole in finding.examples, and with --json)"
                if len(snippet) > SNIPPET
                else ""
            )
            body.append(f"shown by: {snippet[:SNIPPET]}{cut}")
    else:
        said = one_line(_headline(finding), 2 * (WIDTH - len(INDENT)))
        head = textwrap.wrap(
            said, LINE.get(), subsequent_indent=INDENT, break_on_hyphens=False
        )
        body = []
        for example in clearest(finding)[:1]:
            read = _read(example, finding, reward, EXCERPT)
            turns = turns_of(example, 60)
            behind = f"({turns}) " if turns else ""
            body += [_about(example), *([f"| {behind}{read.text}"] if read else [])]
        body = [one_line(line, WIDTH - len(INDENT)) for line in body]
    return "\n".join(
        [*head, *(f"{INDENT}{line}" for line in (*body, f"fix: {finding.advice}"))]
    )


def _lines(example: Example, finding: Finding, reward: Reward) -> list[str]:
    """An example in full: what it earned, and the lines of its completion."""
    read = _read(example, finding, reward)
    lines = read.bracketed().split("\n") if read else []
    turns = turns_of(example)
    return [
        _about(example),
        *([f"| ({turns})"] if turns else []),
        *(f"| {line}" for line in lines),
    ]


# --- HTML


def page(result: ProbeResult) -> str:
    """The result as HTML: verdict, findings worst first, what is open; more examples and the rest are folded.

    It has no colours of its own but for marks.
    """
    findings, texts = result.findings, not user_texts_are_hidden()
    if not texts:
        findings = tuple(map(redact_finding, findings))
    body = findings_page(result, findings, texts=texts)
    body += rest_page(result, texts=texts)
    return card(f"Probes: {_head(result)}", f"<p>{escaped(_effort(result))}</p>{body}")


def findings_page(
    result: ProbeResult, findings: Sequence[Finding], *, texts: bool = True
) -> str:
    """Some of the findings as HTML: alarms, what is for information, what is accepted."""
    alarms = [_told(item, result.reward, texts=texts) for item in _alarms(findings)]
    return render(
        "findings", alarms=alarms, full=FULL, sections=_known(findings), opened=OPEN
    )


def rest_page(result: ProbeResult, *, texts: bool = True) -> str:
    """As HTML what is inconclusive, what a baseline accepts that has changed, and what answers earn."""
    return render(
        "findings",
        alarms=[],
        full=FULL,
        sections=_rest(result, texts=texts),
        opened=OPEN,
    )


def _told(finding: Finding, reward: Reward, *, texts: bool) -> dict[str, Any]:
    """A finding as its template takes it; without `texts` no completion is in it."""
    examples = []
    for example in clearest(finding):
        read = _read(example, finding, reward) if texts else None
        completion = html_of(marked(read.text, read.spans)) if read else ""
        examples.append((_about(example, texts=texts), completion))
    return {
        "mark": SEVERITY_MARKS[finding.severity],
        "code": finding.code,
        "sentence": _sentence(finding),
        "examples": examples,
        "fix": finding.advice,
        "numbers": _numbers(finding),
        "snippet": _snippet(finding) if texts else "",
    }
