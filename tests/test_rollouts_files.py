"""Files of rollouts: JSONL, CSV and Parquet say the same, and broken ones say where."""

import json

import pandas as pd
import pytest

import rewardkit as rk

NAMES = ("rollout_id", "prompt_id", "prompt", "completion", "ground_truth", "step")
ROWS = [
    dict(zip(NAMES, values, strict=True))
    for values in [
        ("a", "012", "2+2?", "NA", "None", 1),
        ("b", "012", "2+2?", 'tw"o\n,', "4", 1),
        ("c", "013", "Größe?", "nan", "07", 2),
    ]
]


@pytest.fixture
def load(tmp_path):
    """load(name, content, **options) are the rollouts of a file of that content."""

    def loaded(name, content, **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return rk.load_rollouts(path, **options)

    return loaded


def lines(*rows):
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


@pytest.mark.parametrize("kind", ["jsonl", "ndjson", "csv", "parquet", "frame", "generator", "text path"])
def test_every_kind_of_source_gives_the_same_rollouts(kind, tmp_path):
    frame, path = pd.DataFrame(ROWS), tmp_path / f"r.{kind if kind != 'text path' else 'jsonl'}"
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "parquet":
        frame.to_parquet(path)
    else:
        path.write_text(lines(*ROWS))
    other = {"frame": frame, "generator": (dict(row) for row in ROWS), "text path": str(path)}
    rollouts, expected = rk.load_rollouts(other.get(kind, path)), rk.load_rollouts(ROWS)
    assert rollouts.columns() == expected.columns()
    assert rollouts.groups.tolist() == [0, 0, 1]
    assert (rollouts.mapping, rollouts.group_key) == (expected.mapping, expected.group_key)
    assert rollouts.fingerprint == expected.fingerprint


def test_csv_text_that_looks_like_a_missing_value_or_a_number_stays_text_and_an_empty_cell_is_missing(load):
    text = "prompt_id,completion,ground_truth,tag,n,own\n012,NA,None,NA,1,x\n1e5,null,007,None,2,\n,,,,,y\n"
    assert load("r.csv", text, columns={"policy": "own"}).columns() == {
        "rollout_id": [2, 3, 4], "prompt_id": ["012", "1e5", None], "completion": ["NA", "null", ""],
        "ground_truth": ["None", "007", None], "tag": ["NA", "None", None], "n": [1, 2, None],
        "policy": ["x", None, "y"],
    }  # fmt: skip


@pytest.mark.parametrize("cells", [("007", "7"), ("nan", "1"), ("1_000", "2"), ("Infinity", "3")])
def test_csv_text_that_a_number_would_not_give_back_stays_text_in_every_column(load, cells):
    text = f"completion,own,label\na,{cells[0]},012\nb,{cells[1]},013\n"
    rollouts = load("r.csv", text, group="own", columns={"ground_truth": "label"})
    assert rollouts.columns()["own"] == list(cells)
    assert rollouts.columns()["ground_truth"] == ["012", "013"]
    assert rollouts.groups.tolist() == [0, 1]


KEPT_OUT = [
    ({"completion": "fine", "rollout_id": "u"}, None),
    ('{"completion": "cut of', "broken JSON"),
    ("", None),
    ("[1, 2]", "not list"),
    ({"completion": 3}, "type int"),
    ({"prompt": "p"}, "has no completion"),
    ({"completion": None}, "has no completion"),
    ({"completion": "again", "rollout_id": "u"}, "repeats rollout_id 'u' of line 1"),
    ({"completion": [{"role": "user", "content": "nobody answered"}]}, "type list"),
    ({"completion": "x", "rollout_id": ["u"]}, "rollout_id of type list"),
    ("[" * 100_000, "broken JSON"),  # what Python's own reader refuses
    ('{"completion": "a", "n": ' + "9" * 5000 + "}", "broken JSON"),
    ({"completion": "fine too"}, None),
]


def test_what_cannot_be_used_is_kept_out_with_line_and_reason_and_counted(load, caplog):
    rollouts = load("r.jsonl", lines(*(row for row, _ in KEPT_OUT)))
    assert rollouts.columns()["completion"] == ["fine", "fine too"]
    assert rollouts.columns()["rollout_id"] == ["u", 13]  # the default is the line
    reasons = {item.line: item.reason for item in rollouts.rejected}
    expected = {at: said for at, (_, said) in enumerate(KEPT_OUT, start=1) if said}
    assert list(reasons) == list(expected)
    assert [line for line, said in expected.items() if said not in reasons[line]] == []
    assert rollouts.warnings[0].startswith("10 of 12 rows kept out (line 2: broken JSON")
    assert "and 7 more" in rollouts.warnings[0] and len(rollouts.summary()["rejected"]) == 10
    assert any("10 of 12 rows kept out" in message for message in caplog.messages)


@pytest.mark.parametrize(
    ("name", "content", "line", "said"),
    [
        ("r.csv", b'completion,n\nfine,1\n"a\nb",2,3\n', 4, "has 3 cells, and the header 2"),
        ("r.jsonl", b'{"completion": "fine"}\n{"completion": "caf\xe9"}\n', 2, "is not UTF-8"),
    ],
)
def test_a_row_that_is_not_whole_is_kept_out_and_not_altered(load, name, content, line, said):
    rollouts = load(name, content)
    assert rollouts.columns()["completion"] == ["fine"]
    (lost,) = rollouts.rejected
    assert lost.line == line and said in lost.reason


@pytest.mark.parametrize(
    ("content", "completions"),
    [
        (b'{"completion": "a"}\r\n{"completion": "b"}\r\n', ["a", "b"]),
        (b'\xef\xbb\xbf{"completion": "a"}\n', ["a"]),
        ('{"completion": "a\u2028b\u0085"}'.encode(), ["a\u2028b\u0085"]),
        (b'{"completion": "\\ud800\\u0000"}', ["\ud800\0"]),
    ],
    ids=["Windows line ends", "byte order mark", "line separators in text", "lone surrogate and NUL"],
)
def test_unusual_text_is_read_as_it_stands(load, content, completions):
    rollouts = load("r.jsonl", content)
    assert rollouts.columns()["completion"] == completions
    assert len(rollouts.fingerprint) == 16


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.jsonl", "", "is empty"),
        ("r.csv", "completion,prompt,completion\na,p,b\n", "completion"),
        ("r.jsonl", '{"completion": 1}\n{\n', "no usable row; line 1"),
        ("r.parquet", "not Parquet", "is not a .parquet file that can be read"),
        ("r.txt", "x", "ends in '.txt'"),
    ],
)
def test_a_file_without_a_usable_row_is_an_error_with_its_name(load, name, content, said):
    with pytest.raises(rk.RolloutsError) as raised:
        load(name, content)
    assert said in str(raised.value) and name in str(raised.value) and "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ([], "has no rows"),
        (pd.DataFrame([["a", "b"]], columns=["completion", "completion"]), "completion"),
        ("nowhere/r.jsonl", "there is no file 'nowhere/r.jsonl'"),
        ("gallery:arithmetics", "no rollouts for 'arithmetics'.*did you mean 'arithmetic'"),
    ],
)
def test_a_source_without_a_usable_row_is_an_error(source, said):
    with pytest.raises(rk.InputError, match=said):
        rk.load_rollouts(source)
