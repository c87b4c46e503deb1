"""Write the page of all codes, `rewardkit/analysis/CODES.md`, anew: `python tests/codes_page.py`, or `make codes`."""

import re
from pathlib import Path

from rewardkit.analysis.diagnosis import SCORED_RULES, VIEW_RULES
from rewardkit.findings import read_codes
from rewardkit.monitoring.rules import RULES as MONITOR_RULES
from rewardkit.probes.probe import RULES as PROBE_RULES
from rewardkit.strategies import STRATEGIES

PAGE = Path(__file__).parent.parent / "rewardkit" / "analysis" / "CODES.md"


def reporters(section):
    """Code -> the module that reports it, of all that can be reported."""
    found = {}
    rules = {
        "diagnosis": (*SCORED_RULES, *VIEW_RULES, *MONITOR_RULES),
        "probe": PROBE_RULES,
    }
    for item in rules[section]:
        place = item.find.__module__.removeprefix("rewardkit.").replace(".", "/")
        found |= dict.fromkeys(item.codes, f"{place}.py")
    return found


def plain(template):
    """A template as a person reads it: names in italics, what depends on the evidence in brackets."""
    text = re.sub(r"\{\{[^}]*loop\.index[^}]*\}\}", "", template)
    text = re.sub(r"\{% ?for .*? in (\w+) ?%\}[; ]*", r"[for each of *\1*: ", text)
    text = re.sub(r"\{% ?endfor ?%\}", "]", text)
    text = re.sub(r"\{% ?if .*?%\}", "[", text)
    text = re.sub(r"\{% ?(?:else|elif .*?) ?%\}", " / ", text)
    text = re.sub(r"\{% ?endif ?%\}", "]", text)
    text = re.sub(
        r"\{\{ (?:'[^']*'[^\w]*format\W)?.*?(?:reason\.)?([a-z_]{2,}|n\b).*?\}\}",
        r"*\1*",
        text,
    )
    return text.replace("|", "\\|")


def table(names, rows):
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def own_rows(section):
    found = reporters(section)
    for code, row in read_codes()[section].items():
        row = row or read_codes()["probe"][code]
        if code in found and "says" in row:
            grave = row.get("severity", "by its risk")
            words = plain(row["says"]), plain(row.get("do", ""))
            yield [f"`{code}`", grave, *words, found[code]]


def probe_rows():
    codes = read_codes()
    for probe in sorted(STRATEGIES, key=lambda probe: (probe.family, probe.name)):
        rows = codes["probe"].get(probe.name, {}), codes["family"][probe.family]
        first = {
            name: row[name]
            for row in rows[::-1]
            for name in ("claim", "do")
            if name in row
        }
        words = probe.says, first.get("claim", ""), first["do"]
        yield [
            f"`{probe.name}`",
            probe.family,
            *(text.replace("|", "\\|") for text in words),
        ]


def page():
    return f"""# All codes of findings

Rendered from `rewardkit/findings.toml` by `make codes`; edit that file, not this one. *Names* in
a sentence come from the evidence of the finding, [ / ] stand around what depends on it.

## Of `rk.diagnose`

{table(["code", "severity", "sentence", "what to do", "reported by"], own_rows("diagnosis"))}

## Of `rk.probe`, with sentences of their own

{table(["code", "severity", "sentence", "what to do", "reported by"], own_rows("probe"))}

## Of `rk.probe`, one a strategy

Their severity is by their risk: what is earned, on how many prompts, and how easily a policy gets there.

{table(["code", "family", "what is tried", "what it means", "what to do"], probe_rows())}
"""


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
