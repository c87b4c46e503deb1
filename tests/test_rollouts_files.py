"""Files of rollouts: JSONL, CSV and Parquet say the same, and broken ones say where."""

import json

import pandas as pd
import pytest

import rewardkit as rk

ROWS = [
    {
        "rollout_id": "a",
        "prompt_id": "012",
        "prompt": "2+2?",
        "completion": "NA",
        "ground_truth": "None",
        "step": 1,
    },
    {
        "rollout_id": "b",
        "prompt_id": "012",
        "prompt": "2+2?",
        "completion": 'tw"o\n,',
        "ground_truth": "4",
        "step": 1,
    },
    {
        "rollout_id": "c",
        "prompt_id": "013",
        "prompt": "Größe?",
        "completion": "nan",
        "ground_truth": "07",
        "step": 2,
    },
]


@pytest.fixture
def write(tmp_path):
    def written(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
        return path

    return written


def lines(*rows):
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


@pytest.fixture(params=["jsonl", "ndjson", "csv", "parquet", "frame", "dicts", "generator", "text path"])
def source(request, write, tmp_path):
    frame = pd.DataFrame(ROWS)
    if request.param in ("jsonl", "ndjson"):
        return write(f"r.{request.param}", lines(*ROWS))
    if request.param in ("csv", "parquet"):
        path = tmp_path / f"r.{request.param}"
        frame.to_csv(path, index=False) if request.param == "csv" else frame.to_parquet(path)
        return path
    made = {"frame": frame, "dicts": ROWS, "generator": (dict(row) for row in ROWS)}
    return made.get(request.param) if request.param in made else str(write("r.jsonl", lines(*ROWS)))


def test_every_kind_of_source_gives_the_same_rollouts(source):
    expected = rk.load_rollouts(ROWS)
    rollouts = rk.load_rollouts(source)
    assert rollouts.columns() == expected.columns()
    assert rollouts.groups.tolist() == [0, 0, 1]
    assert (rollouts.mapping, rollouts.group_key) == (expected.mapping, expected.group_key)
    assert rollouts.fingerprint == expected.fingerprint


def test_csv_text_that_looks_like_a_missing_value_or_a_number_stays_text(write):
    path = write("r.csv", "prompt_id,completion,ground_truth,tag,n\n012,NA,None,NA,1\n1e5,null,007,None,2\n")
    columns = rk.load_rollouts(path).columns()
    assert columns["prompt_id"] == ["012", "1e5"]
    assert columns["completion"] == ["NA", "null"]
    assert columns["ground_truth"] == ["None", "007"]
    assert columns["tag"] == ["NA", "None"]
    assert columns["n"] == [1, 2]


@pytest.mark.parametrize("cells", [("007", "7"), ("nan", "1"), ("1_000", "2"), ("Infinity", "3")])
def test_csv_text_that_a_number_would_not_give_back_stays_text_in_every_column(write, cells):
    path = write("r.csv", f"completion,own\na,{cells[0]}\nb,{cells[1]}\n")
    rollouts = rk.load_rollouts(path, group="own")
    assert rollouts.columns()["own"] == list(cells)
    assert rollouts.groups.tolist() == [0, 1]


def test_csv_text_stays_text_under_a_name_that_columns_gives(write):
    path = write("r.csv", "completion,label\na,012\nb,013\n")
    assert rk.load_rollouts(path, columns={"ground_truth": "label"}).columns()["ground_truth"] == [
        "012",
        "013",
    ]


def test_an_empty_csv_cell_is_a_missing_value_except_as_completion(write):
    columns = rk.load_rollouts(write("r.csv", "completion,ground_truth,n\n,,\na,b,3\n")).columns()
    assert (columns["completion"], columns["ground_truth"], columns["n"]) == (
        ["", "a"],
        [None, "b"],
        [None, 3],
    )


def test_a_csv_row_with_more_cells_than_the_header_is_kept_out(write):
    rollouts = rk.load_rollouts(write("r.csv", 'completion,n\n"a\nb",1\nc,2,3\n'))
    assert rollouts.columns()["completion"] == ["a\nb"]
    assert [(item.line, "more cells" in item.reason) for item in rollouts.rejected] == [(4, True)]


def test_a_csv_row_with_fewer_cells_is_kept_out(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text("completion,ground_truth,step\nfine,1,2\nshort,1\n")
    rollouts = rk.load_rollouts(path)
    assert rollouts.table.completion.tolist() == ["fine"]
    assert [(item.line, item.reason) for item in rollouts.rejected] == [
        (3, "has fewer cells than the header's 3")
    ]


def test_two_csv_columns_of_one_name_are_an_error(write):
    with pytest.raises(rk.RolloutsError, match="completion"):
        rk.load_rollouts(write("r.csv", "completion,prompt,completion\na,p,b\n"))


def test_two_dataframe_columns_of_one_name_are_an_error():
    with pytest.raises(rk.RolloutsError, match="completion"):
        rk.load_rollouts(pd.DataFrame([["a", "b"]], columns=["completion", "completion"]))


def test_what_cannot_be_used_is_kept_out_with_line_and_reason(write):
    path = write(
        "r.jsonl",
        lines(
            {"completion": "fine", "rollout_id": "u"},
            '{"completion": "cut of',
            "",
            "[1, 2]",
            {"completion": 3},
            {"prompt": "p"},
            {"completion": None},
            {"completion": "again", "rollout_id": "u"},
            {"completion": [{"role": "user", "content": "nobody answered"}]},
            {"completion": "x", "rollout_id": ["u"]},
            {"completion": "fine too"},
        ),
    )
    rollouts = rk.load_rollouts(path)
    assert rollouts.columns()["completion"] == ["fine", "fine too"]
    assert rollouts.columns()["rollout_id"] == ["u", 11]
    reasons = {item.line: item.reason for item in rollouts.rejected}
    assert list(reasons) == [2, 4, 5, 6, 7, 8, 9, 10]
    for at, said in {
        2: "broken JSON",
        4: "not list",
        5: "type int",
        6: "has no completion",
        7: "has no completion",
        8: "repeats rollout_id 'u' of line 1",
        9: "type list",
        10: "rollout_id of type list",
    }.items():
        assert said in reasons[at], f"line {at}"


def test_rows_kept_out_are_counted_in_a_warning_and_in_the_summary(write, caplog):
    rollouts = rk.load_rollouts(write("r.jsonl", lines({"completion": "a"}, *["{"] * 5)))
    assert rollouts.warnings[0].startswith("5 of 6 rows kept out (line 2: broken JSON")
    assert "and 2 more" in rollouts.warnings[0]
    assert len(rollouts.summary()["rejected"]) == 5
    assert any("5 of 6 rows kept out" in message for message in caplog.messages)


def test_no_row_is_lost_between_used_and_kept_out(write):
    content = lines({"completion": "a"}, "{", {"completion": 1}, {"completion": "b"}, "7", {"x": 1})
    rollouts = rk.load_rollouts(write("r.jsonl", content))
    assert len(rollouts) + len(rollouts.rejected) == 6


def test_the_default_rollout_id_is_the_line(write):
    assert rk.load_rollouts(write("r.jsonl", lines({"completion": "a"}, "", {"completion": "b"}))).columns()[
        "rollout_id"
    ] == [1, 3]


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"completion": "a", "n": ' + "9" * 5000 + "}"],
    ids=["deep nesting", "5,000 digits"],
)
def test_json_that_python_refuses_is_a_broken_line_and_not_a_crash(write, text):
    rollouts = rk.load_rollouts(write("r.jsonl", lines(text, {"completion": "b"})))
    assert [(item.line, item.reason[:11]) for item in rollouts.rejected] == [(1, "broken JSON")]
    assert rollouts.columns()["completion"] == ["b"]


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
def test_unusual_text_is_read_as_it_stands(write, content, completions):
    rollouts = rk.load_rollouts(write("r.jsonl", content))
    assert rollouts.columns()["completion"] == completions
    assert len(rollouts.fingerprint) == 16


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.jsonl", "", "is empty"),
        ("r.csv", "", "is empty"),
        ("r.jsonl", "\n\n", "has no rows"),
        ("r.csv", "prompt,completion\n", "has no rows"),
        ("r.jsonl", '{"completion": 1}\n{\n', "no usable row; line 1"),
        ("r.parquet", "not Parquet", "is not a Parquet file that can be read"),
        ("r.txt", "x", "ends in '.txt'"),
    ],
)
def test_a_file_without_a_usable_row_is_an_error(write, name, content, said):
    path = write(name, content)
    with pytest.raises(rk.RolloutsError) as raised:
        rk.load_rollouts(path)
    assert said in str(raised.value)
    assert name in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("nothing", [[], [1, 2], pd.DataFrame({"completion": []})])
def test_a_source_in_memory_without_a_usable_row_is_an_error(nothing):
    with pytest.raises(rk.RolloutsError):
        rk.load_rollouts(nothing)


def test_a_file_that_is_not_there_is_an_error_with_its_name(tmp_path):
    for missing in (tmp_path / "no.jsonl", tmp_path):
        with pytest.raises(rk.RolloutsError, match="there is no file"):
            rk.load_rollouts(missing)


def test_the_bundled_rollouts_have_a_name_of_their_own():
    assert len(rk.load_rollouts("gallery:arithmetic")) == 1600
    with pytest.raises(rk.InputError):
        rk.load_rollouts("gallery:arithmetics")


def test_a_line_that_is_not_utf_8_is_kept_out_and_not_altered(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'{"completion": "fine"}\n{"completion": "caf\xe9"}\n')
    rollouts = rk.load_rollouts(path)
    assert rollouts.table.completion.tolist() == ["fine"]
    ((line, reason),) = [(item.line, item.reason) for item in rollouts.rejected]
    assert (line, reason.split(" (")[0]) == (2, "is not UTF-8")


def test_a_row_without_an_id_gets_one_that_no_other_row_has():
    rollouts = rk.load_rollouts([{"completion": "a", "rollout_id": 2}, {"completion": "b"}])
    assert rollouts.table.rollout_id.tolist() == [2, "line-2"]
    assert rollouts.rejected == ()
