"""How the result of probing looks: a page of text for a terminal, and one of escaped HTML for a notebook."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rewardkit.analysis.rendering import SEVERITY_MARKS
from rewardkit.findings import Example, Finding, percent
from rewardkit.html.markup import card, code, escaped, folded, listed, marked, quoted
from rewardkit.probes.results.baseline import changes
from rewardkit.probes.results.excerpts import Shown, field_spans, one_line, shown, visible
from rewardkit.probes.results.fixes import fix_for
from rewardkit.probes.results.sentences import most
from rewardkit.probes.results.summary import earnings, ran, tried, verdict
from rewardkit.rewards.reward import Reward

if TYPE_CHECKING:
    from rewardkit.probes.probe import ProbeResult

__all__ = ["finding_text", "findings_page", "page", "rest_page", "text"]

WIDTH = 110  # characters of a line in a terminal
INDENT = 7 * " "  # below the mark of the severity
FULL, OTHERS = 3, 4  # findings that are shown with an example, and with a line each
EXCERPT = 70  # characters of a completion on one line
LINES, HEAD = 12, 8  # of a whole completion in a terminal, and how many of them stand before a gap
SNIPPET = 1200  # characters of the lines that show a finding, in a terminal
READY = {"high": " is not ready", "warn": " is usable"}


# --- both


def _head(result: ProbeResult) -> str:
    ready = READY[result.alarms[0].severity] if result.alarms else ""
    return f"{one_line(result.reward.name)}{ready}: {verdict(result)}"


def _effort(result: ProbeResult) -> str:
    """How much was tried, where the verdict does not say it, and what does not apply here."""
    left = len(result.probes) - len(ran(result)) - len(result.untried)
    done = f"Tried: {tried(result)}; " if tried(result) not in verdict(result) else ""
    return f"{done}{left} probes do not apply" if left > 0 and ran(result) else done.rstrip("; ")


def _alarms(findings: Sequence[Finding]) -> list[Finding]:
    return [item for item in findings if item.severity != "info" and not item.accepted]


def _known(findings: Sequence[Finding]) -> dict[str, list[str]]:
    """A line each of what is for information and of what is accepted."""
    minor = [item for item in findings if item.severity == "info" and not item.accepted]
    accepted = [item for item in findings if item.accepted]
    return {
        "For information": [f"{item.code}: {_sentence(item)} {fix_for(item)}" for item in minor],
        "Accepted": [f"{item.code}: {_sentence(item)} {one_line(item.accepted)}" for item in accepted],
    }


def _rest(result: ProbeResult, *, texts: bool = True) -> dict[str, list[str]]:
    """A line each of what could not be decided, of what changed in a baseline, and of what answers earn."""
    open_ = [f"{one_line(item.probe)}: {one_line(item.why, 600)}" for item in result.inconclusive]
    if result.untried:
        open_.append(f"not tried, as the budget was over (budget=..., --budget): {most([*result.untried])}")
    changed = list(map(one_line, changes(result)))
    return {"Inconclusive": open_, "Baseline": changed, "What answers earn": earnings(result, texts=texts)}


def _sentence(finding: Finding) -> str:
    return one_line(finding.sentence, 2000)


def _numbers(finding: Finding) -> list[str]:
    """The rate with its interval, and the other probes of the same cause."""
    evidence, lines = finding.evidence, []
    if "interval" in evidence:
        around = " to ".join(map(percent, evidence["interval"]))
        lines.append(f"rate: {percent(float(evidence['value']))} of {finding.n} (95 % interval {around})")
    return lines + [f"same cause: {', '.join(evidence.get('also', ()))}"] * bool(evidence.get("also"))


def _clearest(examples: Sequence[Example]) -> list[tuple[Example, list[Any]]]:
    """The examples with different completions, the shortest first, each with its rollouts."""
    found: dict[str, tuple[Example, list[Any]]] = {}
    for item in examples:
        found.setdefault(item.completion, (item, []))[1].append(item.rollout_id)
    return sorted(found.values(), key=lambda pair: len(pair[0].completion))


def _about(example: Example, of: Sequence[Any], *, texts: bool = True) -> str:
    """Which rollout, which truth, and what it earned."""
    names = ", ".join(one_line(name, 40) for name in of if name is not None)
    where = names if not names or names.startswith("case ") else f"rollout{'s' * (len(of) > 1)} {names}"
    truth = ""
    if texts and "ground_truth" in example.columns and len(of) == 1:
        truth = f"truth {one_line(repr(example.columns['ground_truth']), 60)}"
    said = one_line(example.said)
    earned = "no reward" if math.isnan(example.reward) else f"earns {example.reward:.4g}"
    if said:
        earned = f"earns {said}" if ", before " in said else f"{earned} ({said})"
    elif example.scale:
        earned += f"; {example.scale}"
    return f"{', '.join(filter(None, (where, truth))) or 'example'}: {earned}"


def _read(example: Example, finding: Finding, reward: Reward, longest: int = 420) -> Shown | None:
    """Its completion to read, ``None`` where it is not to be shown; no field is taken from what hangs."""
    if "completion" not in example.columns:
        return None
    text = example.completion
    if not text.strip():
        return Shown(f"(white space: {one_line(repr(text), 60)})" if text else "(nothing)", {})
    whole = longest > EXCERPT and finding.family != "hang"
    return shown(text, field_spans(reward, example.columns) if whole else {}, longest=longest)


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
    return "\n".join([_head(result), *(_whole(result, loaded) if verbose else _short(result))])


def _short(result: ProbeResult) -> Iterator[str]:
    alarms, rest = _alarms(result.findings), _rest(result)
    full = FULL if len(alarms) <= FULL else FULL - 1
    for item in alarms[:full]:
        yield "\n" + finding_text(item, result.reward, verbose=False)
    yield ""
    others = [one_line(_headline(item), WIDTH) for item in alarms[full:]]
    yield from others[:OTHERS]
    if others[OTHERS:]:
        yield f"and {len(others) - OTHERS} more"
    yield _effort(result)
    for title in ("Inconclusive", "Baseline"):
        several = f" (and {len(rest[title]) - 1} more)" if alarms and rest[title][1:] else ""
        for line in rest[title][: 1 if alarms else None]:
            yield f"{title}: {one_line(line, 2 * (WIDTH - 20) if alarms else 600)}{several}"
    if result.findings:
        yield "All of it: --verbose, or text(verbose=True)"


def _whole(result: ProbeResult, loaded: str) -> Iterator[str]:
    alarms = _alarms(result.findings)
    if alarms and loaded:
        yield f"\nThe lines that show a finding are for {loaded}"
    for item in alarms:
        yield "\n" + finding_text(item, result.reward)
    for title, lines in (_known(result.findings) | _rest(result)).items():
        if lines:
            yield "\n  ".join([f"\n{title}:", *lines])
    yield f"\n{_effort(result)}"


def _headline(finding: Finding) -> str:
    return f"{SEVERITY_MARKS[finding.severity]} {finding.code}: {_sentence(finding)}"


def finding_text(finding: Finding, reward: Reward, *, verbose: bool = True) -> str:
    """One finding for a terminal: what is wrong, the shortest example in a line, and what to do.

    Where it is `verbose` all examples in full, its rate with an interval, and the lines that show it.
    """
    body, examples = [], _clearest(finding.examples)
    for example, of in examples if verbose else examples[:1]:
        read = _read(example, finding, reward) if verbose else _read(example, finding, reward, EXCERPT)
        lines = read.bracketed().split("\n") if read else []
        lines = [" ".join(lines)] if lines and not verbose else lines
        if (left := len(lines) - LINES) > 0:
            lines[HEAD : HEAD + left + 1] = [f"⟨{left + 1} lines⟩"]
        body += [_about(example, of), *(f"| {line}" for line in lines)]
    if verbose:
        snippet = _snippet(finding)
        cut = " ... (whole in finding.examples, and with --json)" if len(snippet) > SNIPPET else ""
        body += [*_numbers(finding), *[f"shown by: {snippet[:SNIPPET]}{cut}"] * bool(snippet)]
        head = [_headline(finding)]
    else:
        said = one_line(_headline(finding), 2 * (WIDTH - len(INDENT)))
        head = textwrap.wrap(said, WIDTH, subsequent_indent=INDENT, break_on_hyphens=False)
        body = [one_line(line, WIDTH - len(INDENT)) for line in body]
    return "\n".join([*head, *(f"{INDENT}{line}" for line in (*body, f"fix: {fix_for(finding)}"))])


# --- HTML


def page(result: ProbeResult, *, texts: bool = True) -> str:
    """The result as HTML: verdict, findings worst first, what is open; more examples and the rest are folded.

    It has no colours of its own but for marks. Without `texts` no completion and no truth is in it, but for
    what sentences of findings quote.
    """
    body = findings_page(result, result.findings, texts=texts) + rest_page(result, texts=texts)
    return card(f"Probes: {_head(result)}", f"<p>{escaped(_effort(result))}</p>{body}")


def findings_page(result: ProbeResult, findings: Sequence[Finding], *, texts: bool = True) -> str:
    """Some of the findings as HTML: alarms, what is for information, what is accepted."""
    alarms = [_finding_html(item, result.reward, texts=texts) for item in _alarms(findings)]
    others = folded(f"{len(alarms) - FULL} more", "".join(alarms[FULL:])) if alarms[FULL:] else ""
    return "".join(alarms[:FULL]) + others + _folds(_known(findings))


def rest_page(result: ProbeResult, *, texts: bool = True) -> str:
    """As HTML what is inconclusive, what a baseline accepts that has changed, and what answers earn."""
    return _folds(_rest(result, texts=texts), opened=("Inconclusive", "Baseline"))


def _folds(sections: Mapping[str, list[str]], opened: Collection[str] = ()) -> str:
    return "".join(
        folded(f"{title} ({len(lines)})", listed(map(escaped, lines)), is_open=title in opened)
        for title, lines in sections.items()
        if lines
    )


def _finding_html(finding: Finding, reward: Reward, *, texts: bool) -> str:
    examples = []
    for example, of in _clearest(finding.examples):
        read = _read(example, finding, reward) if texts else None
        completion = quoted(marked(read.text, read.spans)) if read else ""
        examples.append(f"<p>{escaped(_about(example, of, texts=texts))}</p>{completion}")
    more = "".join(examples[1:]) + listed(map(escaped, _numbers(finding)))
    if texts and (snippet := _snippet(finding)):
        more += code(snippet)
    return (
        f"<p><b>{SEVERITY_MARKS[finding.severity]}</b> <code>{escaped(finding.code)}</code>: "
        f"{escaped(_sentence(finding))}</p>{''.join(examples[:1])}"
        f"<p><b>Fix:</b> {escaped(fix_for(finding))}</p>"
        + (folded("more, and the lines that show it", more) if more else "")
    )
