"""append_cases(): cases at the end of a file, each once, under a name of its own; what is there stays."""

import json

import pytest

import rewardkit as rk
from rewardkit.errors import CasesError, InputError
from rewardkit.scoring.case_writing import append_cases

FOUR = {"name": "four", "completion": "4", "ground_truth": "4", "reward": 1.0}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cases.jsonl"


@pytest.mark.parametrize(
    "before",
    [
        b"",
        b'{"reward":0,   "completion":"1"}\r\n\r\n',
        '\ufeff{"completion": "é\u2028", "reward": 0}\n'.encode(),
    ],
)
def test_the_lines_that_are_there_keep_their_bytes_and_a_link_stays_a_link(path, before):
    path.with_suffix(".linked").write_bytes(before)
    path.symlink_to(path.with_suffix(".linked"))
    assert append_cases(path, [FOUR]) == 1 and path.is_symlink()
    assert path.read_bytes().startswith(before) and path.read_bytes().endswith(b'"reward": 1.0}\n')
    assert [case.name for case in rk.load_cases(path)] == ["line 1"] * bool(before) + ["four"]


@pytest.mark.parametrize(
    ("second", "added"),
    [
        ({**FOUR, "name": "other", "why": "because"}, 0),
        (dict(reversed(FOUR.items())), 0),
        ({**FOUR, "reward": 0.0}, 1),
        ({**FOUR, "tolerance": 0.1}, 1),
    ],
)
def test_a_case_is_written_once_whatever_it_is_called(path, second, added):
    assert append_cases(path, [FOUR]) == 1
    assert append_cases(path, [second, second]) == added
    assert append_cases(path, [second]) == 0
    assert len(rk.load_cases(path)) == 1 + added


def test_a_name_that_is_taken_gets_a_number_also_one_that_a_line_has_by_its_place(path):
    path.write_text('{"completion": "1", "reward": 0}\n')
    names = ("x", "x", "x", "line 1")
    cases = [{**FOUR, "completion": f"c{place}", "name": name} for place, name in enumerate(names)]
    assert append_cases(path, cases) == 4
    assert [case.name for case in rk.load_cases(path)] == ["line 1", "x", "x (2)", "x (3)", "line 1 (2)"]


@pytest.mark.parametrize(
    ("before", "case", "said"),
    [
        ("", {"completion": "4"}, "needs an expectation"),
        ("", {**FOUR, "extra": {1, 2}}, "cannot be written as JSON"),
        ("not JSON\n", FOUR, r"cases\.jsonl:2"),
    ],
)
def test_what_is_no_case_is_one_sentence_and_nothing_is_written(path, before, case, said):
    path.write_text(json.dumps(FOUR) + "\n" + before)
    whole = path.read_bytes()
    with pytest.raises(CasesError, match=said):
        append_cases(path, [{**FOUR, "completion": "5"}, case])
    assert path.read_bytes() == whole


def test_no_folder_and_the_bundled_cases_are_refused(tmp_path):
    for path, said in ((tmp_path / "no" / "cases.jsonl", "no folder"), ("gallery:arithmetic", "come with")):
        with pytest.raises(InputError, match=said):
            append_cases(path, [FOUR])
