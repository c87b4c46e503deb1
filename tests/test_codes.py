"""The table of codes: it has all that is reported, its page is up to date, and a finding speaks in any process."""

import pickle
import re
import subprocess
import sys
from pathlib import Path

from codes_page import PAGE, page, reporters

import rewardkit as rk
from rewardkit.analysis.suggestions import normalization
from rewardkit.findings import read_codes
from rewardkit.probes.options import FAMILIES
from rewardkit.strategies import STRATEGIES


def test_the_table_has_a_row_for_every_code_that_is_reported_and_for_no_other():
    codes, names = read_codes(), {probe.name for probe in STRATEGIES}
    assert set(codes["diagnosis"]) == set(reporters("diagnosis"))
    own = {code for code, row in codes["probe"].items() if "says" in row}
    assert own - names == set(reporters("probe")) - names
    assert set(codes["probe"]) <= set(reporters("probe")) | names
    assert set(codes["family"]) == set(FAMILIES)


def test_every_suggestion_that_a_finding_names_is_one_that_there_is():
    source = "".join(
        map(Path.read_text, Path(normalization.__file__).parent.glob("*.py"))
    )
    named = set()
    for row in read_codes()["diagnosis"].values():
        named |= set(row.get("answers", ()))
    assert {"looser_reading", "gate_component", "no_std"} <= named
    lacking = {code for code in named if f'"{code}"' not in source}
    assert lacking <= {f"{code}_components" for code in normalization.EACH}


def test_what_to_do_about_a_probe_is_no_template_as_nothing_fills_one_in():
    codes = read_codes()
    for row in (*codes["probe"].values(), *codes["family"].values()):
        advice = [row[column] for column in row if column.startswith("do")]
        assert "{%" not in "".join(advice)
        assert '"correct"' not in "".join(advice)  # a component may be called otherwise


def test_the_page_of_codes_is_as_the_table_has_it():
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(), "run `make codes`"
    assert not {"{%", "%}", "{{", "}}"} & set(re.findall(r"[{}%]{2}", written))


SAY_ALL = """
import pickle, sys
import rewardkit.findings
for item in pickle.load(sys.stdin.buffer):
    print(item.sentence, item.advice)
print(*(name for name in sys.modules if name.startswith(("rewardkit.analysis", "rewardkit.probes"))))
"""


def test_a_pickled_finding_says_the_same_in_a_process_that_knows_nothing_but_findings():
    rewards = [
        rk.load_reward(f"gallery:arithmetic.{name}") for name in ("flawed", "reward")
    ]
    rollouts = rk.load_rollouts(list(rk.load_rollouts("gallery:arithmetic"))[:240])
    findings = []
    for reward in rewards:
        findings += rk.diagnose(rk.score(reward, rollouts)).findings
        findings += rk.probe(reward, rollouts).findings
    assert {bool(item.family) for item in findings} == {True, False}
    done = subprocess.run(
        [sys.executable, "-c", SAY_ALL],
        input=pickle.dumps(findings),
        capture_output=True,
    )
    assert done.returncode == 0, done.stderr.decode()
    *said, modules = done.stdout.decode().splitlines()
    assert said == [f"{item.sentence} {item.advice}" for item in findings]
    assert not any(
        text.startswith(item.code) for text, item in zip(said, findings, strict=True)
    )
    assert modules == ""
