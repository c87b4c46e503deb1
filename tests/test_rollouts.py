"""Rollouts: what is read of tables and files, under which names, in which groups, and what is kept out."""

import copy
import json
import logging
import os
import random

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from trainer_logs import values

import rewardkit as rk
from rewardkit.rollouts.paths import write_whole
from rewardkit.rollouts.values import as_column, column_values


def prompts(texts):
    return rk.load_rollouts([{"prompt": text, "completion": "c"} for text in texts])


TURNS = [
    {"role": "assistant", "content": "first"},
    {"role": "user", "content": "no"},
    {"role": "assistant", "content": [{"type": "text", "text": "last"}]},
]
CHAT = [{"role": "user", "content": "2+2?"}, *TURNS]


@pytest.mark.parametrize(
    ("row", "columns", "expected", "why"),
    [
        ({"response": "c"}, None, {"completion": "c"}, "usual names"),
        ({"completion": "c", "ground_truth": "4", "answer": "b"}, None, {"ground_truth": "4", "answer": "b"},
         "a canonical name comes first, and its alias is a column of the user's own"),
        ({"solution": "b", "answer": "4", "response": "r"}, None, {"ground_truth": "4", "solution": "b"},
         "the first alias wins"),
        ({"completion": "not this", "text": "this"}, {"completion": "text"}, {"completion": "this"},
         "columns= comes before every name"),
        ({"answer": "a", "prompt": "p"}, {"completion": "answer"}, {"completion": "a", "ground_truth": None},
         "what columns= takes is not taken a second time by its alias"),
        ({"completion": "", "n": float("nan")}, None, {"completion": "", "n": None}, "missing is None"),
        ({"completion": TURNS}, None, {"completion": "last"}, "chat becomes the last turn of the assistant"),
        ({"messages": CHAT}, None, {"completion": "last", "messages": CHAT, "prompt": CHAT[:1]},
         "and messages, which stay, and begin with the prompt"),
        ({"messages": CHAT[:-1], "completion": "c"}, None,
         {"prompt": CHAT[:-1], "messages": [*CHAT[:-1], {"role": "assistant", "content": "c"}]},
         "messages without the answer that stands beside them are the prompt"),
        ({"messages": CHAT[:-1], "completion": "first"}, None, {"prompt": CHAT[:1], "messages": CHAT[:-1]},
         "messages that end with what was said to the answer are no prompt"),
        ({"chat": CHAT, "tags": [{"role": "user"}]}, None, {"completion": "last", "messages": CHAT, "prompt": CHAT[:1]},
         "messages are known by their form where no name is known"),
        ({"chat": CHAT, "completion": "c"}, None, {"completion": "c", "chat": CHAT, "messages": None},
         "and not beside a completion"),
        ({"chat": CHAT, "talk": TURNS}, {"messages": "talk"}, {"messages": TURNS, "chat": CHAT},
         "columns= comes before a form"),
        ({"completion": "c", "source": "web"}, None, {"data_source": "web"}, "where a prompt comes from"),
        ({"completion": "c", "source": "Es regnet seit heute."}, None,
         {"data_source": None, "source": "Es regnet seit heute."}, "a sentence to translate is no data source"),
    ],
)  # fmt: skip
def test_columns_are_known_by_the_usual_names_or_by_those_that_are_given(
    row, columns, expected, why
):
    for source in ([row], pd.DataFrame([row])):
        rollouts = rk.load_rollouts(source, columns=columns)
        assert {name: rollouts[0].get(name) for name in expected} == expected, why


def test_a_column_can_have_a_second_name_that_begins_as_a_canonical_one():
    rows = [{"prompt": "2+2?", "completion": "4", "label": "four"}] * 2
    rollouts = rk.load_rollouts(rows, columns={"ground_truth_labels": "label"})
    assert rollouts.table["ground_truth_labels"].tolist() == ["four"] * 2
    with pytest.raises(rk.RolloutsError, match="did you mean 'ground_truth'"):
        rk.load_rollouts(rows, columns={"ground_trut": "label"})


def test_of_two_columns_of_messages_the_first_is_taken_and_said(tmp_path):
    (tmp_path / "1.jsonl").write_text(json.dumps({"chat": CHAT, "talk": CHAT}))
    (tmp_path / "config.jsonl").write_text('{"lr": 1}')
    rollouts = rk.load_rollouts(tmp_path)
    assert rollouts.mapping["messages"] == "chat"
    assert any(
        "took 'chat' for the conversations, not 'talk'" in note
        for note in rollouts.notes
    )


SPLIT = [
    {"prompt_id": 1, "policy": policy, "step": step}
    for policy in "ab"
    for step in (1, 2)
]
IDS = [("1", "a"), (None, "a"), (None, "a"), (None, None), (None, None)]
IDS = [{"prompt_id": one, "prompt": text} for one, text in IDS]
SEEDS = [
    {"prompt": "p", "seed": seed, "part": part} for seed in (1, 2) for part in "ab"
]


@pytest.mark.parametrize(
    ("rows", "group", "key", "groups", "why"),
    [
        (
            [*SPLIT, *SPLIT],
            None,
            "prompt_id policy step",
            [0, 1, 2, 3] * 2,
            "split by policy and step",
        ),
        (
            [{"prompt": text} for text in "abab"],
            None,
            "prompt",
            [0, 1, 0, 1],
            "never by the order of rows",
        ),
        (IDS, None, "prompt_id", [0, 1, 1, 2, 3], "no id: the prompt"),
        (SEEDS, "seed", "seed", [0, 0, 1, 1], "group= names a column"),
        (
            [{"task_id": at // 2} for at in range(4)],
            None,
            "task_id",
            [0, 0, 1, 1],
            "no prompts: the task",
        ),
    ],
)
def test_rows_of_one_prompt_are_a_group(rows, group, key, groups, why):
    rollouts = rk.load_rollouts(
        [{"completion": "c", **row} for row in rows], group=group
    )
    assert (rollouts.groups.tolist(), rollouts.group_key) == (
        groups,
        tuple(key.split()),
    ), why


def test_groups_are_counted_by_size_and_odd_sizes_are_warned_of(caplog):
    assert prompts("aaabbbcd").group_sizes == {1: 2, 3: 2}
    caplog.clear()
    assert ["group sizes are mixed" in text for text in prompts("aab").warnings] == [
        True
    ]
    assert [
        "every group has one completion" in text for text in prompts("ab").warnings
    ] == [True]
    assert [record.levelno for record in caplog.records] == [logging.WARNING] * 2
    assert prompts("aabb").warnings == () and len(caplog.records) == 2


def test_the_summary_and_the_repr_report_mapping_group_key_and_histogram():
    rollouts = rk.load_rollouts(
        [{"question": prompt, "response": "c"} for prompt in "aab"]
    )
    summary = rollouts.summary()
    assert (
        summary["mapping"]
        == rollouts.mapping
        == {"prompt": "question", "completion": "response"}
    )
    assert list(rollouts.table) == ["rollout_id", "prompt", "completion"]
    assert (summary["group_key"], summary["groups"]) == (["prompt"], 2)
    assert summary["group_sizes"] == {"1": 1, "2": 1}
    assert json.loads(json.dumps(summary)) == summary
    assert "completion from response" in repr(
        rollouts
    ) and "Groups: 2 by prompt" in repr(rollouts)


def test_the_callers_table_list_and_dicts_are_never_changed():
    rows = [{"question": "q", "response": TURNS, "n": None}, {"response": "x"}]
    frame, columns = pd.DataFrame(rows, index=[7, 9]), {"completion": "response"}
    before, kept = copy.deepcopy(rows), frame.copy(deep=True)
    rk.load_rollouts(rows, columns=columns)
    rk.load_rollouts(frame, columns=columns)
    assert rows == before and columns == {"completion": "response"}
    pd.testing.assert_frame_equal(frame, kept)


def test_a_row_is_a_dict_and_select_takes_positions_or_a_mask():
    rollouts = rk.load_rollouts(
        [{"completion": text, "n": at} for at, text in enumerate("abc")]
    )
    assert (
        rollouts[1] == {"rollout_id": 2, "completion": "b", "n": 1}
        and type(rollouts[1]["n"]) is int
    )
    assert list(rollouts)[:2] == [rollouts[0], rollouts[1]]
    assert values(rollouts.select([2, 0]), "completion") == ["c", "a"]
    assert values(rollouts[1:], "completion") == ["b", "c"] and len(rollouts[:0]) == 0
    assert values(rollouts.select(np.array([True, False, True])), "completion") == [
        "a",
        "c",
    ]
    assert (
        len(rollouts.select([])) == len(rollouts.select(np.zeros(3, dtype=bool))) == 0
    )
    with pytest.raises(
        IndexError, match="there is no row 3; of 3 rollouts the last is row 2"
    ):
        rollouts[3]
    with pytest.raises(
        TypeError, match=r"rollouts\['completion'\] is no row; give a position"
    ):
        rollouts["completion"]


cells = (
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False)
)


@given(st.lists(cells | st.lists(st.integers()), min_size=1))
def test_a_column_gives_its_values_back_as_they_were(values):
    returned = column_values(as_column(values))
    assert returned == values
    if not {int, float} <= set(
        map(type, values)
    ):  # whole and other numbers together become floats
        assert [type(value) for value in returned] == [type(value) for value in values]


# Files


@pytest.fixture
def load(tmp_path):
    """load(name, content, **options) are the rollouts of a file of that content."""

    def loaded(name, content, **options):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return rk.load_rollouts(path, **options)

    return loaded


def lines(*rows):
    return "".join(
        (row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows
    )


def test_every_kind_of_source_gives_the_same_rollouts(tmp_path):
    names = ("rollout_id", "prompt_id", "prompt", "completion", "ground_truth", "step")
    rows = [
        ("a", "012", "2+2?", "NA", "None", 1),
        ("b", "012", "2+2?", 'tw"o\n,', "4", 1),
        ("c", "013", "Größe?", "nan", "07", 2),
    ]
    rows = [dict(zip(names, row, strict=True)) for row in rows]
    frame, expected = pd.DataFrame(rows), rk.load_rollouts(rows)
    frame.to_csv(tmp_path / "r.csv", index=False)
    frame.to_parquet(tmp_path / "r.parquet")
    for kind in ("jsonl", "ndjson"):
        (tmp_path / f"r.{kind}").write_text(lines(*rows))
    files = [tmp_path / f"r.{kind}" for kind in ("jsonl", "ndjson", "csv", "parquet")]
    for source in (*files, str(files[0]), frame, (dict(row) for row in rows)):
        rollouts = rk.load_rollouts(source)
        assert rollouts.columns() == expected.columns(), source
        assert (rollouts.mapping, rollouts.groups.tolist()) == (
            expected.mapping,
            [0, 0, 1],
        )
        assert rollouts.fingerprint == expected.fingerprint
    assert (
        rk.load_rollouts([{**rows[0], "step": 3}, *rows[1:]]).fingerprint
        != expected.fingerprint
    )


def test_csv_text_that_looks_like_a_missing_value_or_a_number_stays_text_and_an_empty_cell_is_missing(
    load,
):
    text = "prompt_id,completion,ground_truth,tag,n,own\n012,NA,None,NA,1,x\n1e5,null,007,None,2,\n,,,,,y\n"
    assert load("r.csv", text, columns={"policy": "own"}).columns() == {
        "rollout_id": [2, 3, 4], "prompt_id": ["012", "1e5", None], "completion": ["NA", "null", ""],
        "ground_truth": ["None", "007", None], "tag": ["NA", "None", None], "n": [1, 2, None],
        "policy": ["x", None, "y"],
    }  # fmt: skip


def test_csv_columns_of_true_and_false_are_that_but_for_texts(load):
    text = "completion,passed,ground_truth,tag\na,True,True,True\nTrue,,False,x\n"
    assert load("r.csv", text).columns() == {
        "rollout_id": [2, 3], "completion": ["a", "True"], "ground_truth": ["True", "False"],
        "passed": [True, None], "tag": ["True", "x"],
    }  # fmt: skip


@pytest.mark.parametrize(
    "cells", [("007", "7"), ("nan", "1"), ("1_000", "2"), ("Infinity", "3")]
)
def test_csv_text_that_a_number_would_not_give_back_stays_text_in_every_column(
    load, cells
):
    text = f"completion,own,label\na,{cells[0]},012\nb,{cells[1]},013\n"
    rollouts = load("r.csv", text, group="own", columns={"ground_truth": "label"})
    assert values(rollouts, "own") == list(cells) and rollouts.groups.tolist() == [0, 1]
    assert values(rollouts, "ground_truth") == ["012", "013"]


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
    assert values(rollouts, "completion") == ["fine", "fine too"]
    assert values(rollouts, "rollout_id") == ["u", 13]  # the default is the line
    reasons = {item.line: item.reason for item in rollouts.rejected}
    expected = {at: said for at, (_, said) in enumerate(KEPT_OUT, start=1) if said}
    assert list(reasons) == list(expected)
    assert [line for line, said in expected.items() if said not in reasons[line]] == []
    assert rollouts.warnings[0].startswith(
        "10 of 12 rows kept out (line 2: broken JSON"
    )
    assert (
        "and 7 more" in rollouts.warnings[0]
        and len(rollouts.summary()["rejected"]) == 10
    )
    assert any("10 of 12 rows kept out" in message for message in caplog.messages)


@pytest.mark.parametrize(
    ("name", "content", "line", "said"),
    [
        (
            "r.csv",
            b'completion,n\nfine,1\n"a\nb",2,3\n',
            4,
            "has 3 cells, and the header 2",
        ),
        (
            "r.jsonl",
            b'{"completion": "fine"}\n{"completion": "caf\xe9"}\n',
            2,
            "is not UTF-8",
        ),
    ],
)
def test_a_row_that_is_not_whole_is_kept_out_and_not_altered(
    load, name, content, line, said
):
    rollouts = load(name, content)
    assert values(rollouts, "completion") == ["fine"]
    (lost,) = rollouts.rejected
    assert lost.line == line and said in lost.reason


@pytest.mark.parametrize(
    ("content", "completions"),
    [
        (
            b'{"completion": "a"}\r\n{"completion": "b"}\r\n',
            ["a", "b"],
        ),  # line ends of Windows
        (b'\xef\xbb\xbf{"completion": "a"}\n', ["a"]),  # byte order mark
        ('{"completion": "a\u2028b\u0085"}'.encode(), ["a\u2028b\u0085"]),
        (b'{"completion": "\\ud800\\u0000"}', ["\ud800\0"]),
    ],
)
def test_unusual_text_is_read_as_it_stands(load, content, completions):
    rollouts = load("r.jsonl", content)
    assert (
        values(rollouts, "completion") == completions
        and len(rollouts.fingerprint) == 16
    )


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("r.jsonl", "", "is empty"),
        ("r.csv", "completion,prompt,completion\na,p,b\n", "completion"),
        ("r.jsonl", '{"completion": 1}\n{\n', "no usable row; line 1"),
        ("r.parquet", "not Parquet", "is not a .parquet file that can be read"),
        ("r.txt", "x", "ends in '.txt'"),
        ("r.txt", "idx: 1, seqlen: 3, reward is 1.\nprompt is \n4\n", "no usable row"),
    ],
)
def test_a_file_without_a_usable_row_is_an_error_with_its_name(
    load, name, content, said
):
    with pytest.raises(rk.RolloutsError) as raised:
        load(name, content)
    assert (
        said in str(raised.value)
        and name in str(raised.value)
        and "\n" not in str(raised.value)
    )


def steps(*blocks, prompts=2):
    """Rows with two siblings a prompt, block after block of one step."""
    row = {"completion": "c"}
    return [
        {**row, "step": step, "prompt": f"p{at}"}
        for step in blocks
        for at in range(prompts)
        for _ in range(2)
    ]


def test_steps_that_are_no_numbers_are_said_as_no_run_is_seen_then():
    rows = [{"completion": "x", "step": step} for step in (1, 1, "two", 2)]
    (said,) = [text for text in rk.load_rollouts(rows).warnings if "no number" in text]
    assert said.startswith("In 1 of 4 rows the step is no number, such as 'two'")
    others = rk.load_rollouts([row for row in rows if row["step"] != "two"])
    assert not [text for text in others.warnings if "no number" in text]


@pytest.mark.parametrize(
    ("rows", "said", "why"),
    [
        (steps(1, 2, 3, 2, 3), "1 time, first from 3 to 2 at rollout 13", "restarted"),
        (steps(3, 2, 1), "2 times, first from 3 to 2 at rollout 5", "reversed"),
        (steps(1, 2, 3), "", "in order"),
        (sorted(steps(1, 2, 3), key=lambda row: row["prompt"]), "", "by prompt"),
        (random.Random(0).sample(steps(1, 2, 3, prompts=9), 54), "", "in no order"),
        ([{"completion": "c", "step": "b"}, {"completion": "c", "step": "a"}], "", "texts"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)  # fmt: skip
def test_steps_that_go_backwards_are_said_with_the_place(rows, said, why):
    falls = [text for text in rk.load_rollouts(rows).warnings if "backwards" in text]
    assert len(falls) == bool(said), why
    assert said in " ".join(falls)


TWICE = pd.DataFrame([["a", "b"]], columns=["completion", "completion"])
OTHER = [{"text": "x", "policy": "p"}]
TEXT = {"completion": "text"}


@pytest.mark.parametrize(
    ("source", "options", "said"),
    [
        ([], {}, "has no rows"),
        (TWICE, {}, "completion"),
        ("nowhere/r.jsonl", {}, "there is no file 'nowhere/r.jsonl'"),
        ("gallery:arithmetics", {}, "no rollouts for 'arithmetics'.*did you mean 'arithmetic'"),
        (OTHER, {}, "no column holds the completions.*text.*completion, response, solution_str"),
        ([{"step": 1, "loss": 0.3}], {}, r"these are curves, numbers alone \(step, loss\)"),
        (OTHER, {"columns": {"completion": "txet"}}, r"did you mean 'text'\?"),
        (OTHER, {"columns": {"completions": "text"}}, r"did you mean 'completion'\?"),
        (OTHER, {"columns": TEXT, "group": "polcy"}, r"'polcy'.*did you mean 'policy'\?"),
    ],
)  # fmt: skip
def test_a_source_without_a_usable_row_and_a_name_that_is_not_there_are_an_error(
    source, options, said
):
    with pytest.raises(rk.InputError, match=said):
        rk.load_rollouts(source, **options)


def test_a_write_that_fails_leaves_the_old_file_and_names_it(tmp_path, monkeypatch):
    """A disk that is read-only refuses even to remove what is not there; found in the wild."""
    file = tmp_path / "a.txt"
    file.write_text("old")

    def full(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    def refuse(path, *_, **__):
        raise OSError(30, "Read-only file system", str(path))

    with pytest.raises(OSError, match="No space"):
        write_whole(file, full)
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]
    monkeypatch.setattr("os.open", refuse)
    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    with pytest.raises(OSError, match=r"Read-only file system: '.*/a\.txt'$") as told:
        write_whole(file, lambda path: path.write_text("x"))
    assert told.value.filename == str(file)


@pytest.mark.parametrize(
    ("name", "values", "is_offered"),
    [
        ("resolved", [True, False, False, True], True),
        ("resolved", [True, None, False, True], True),
        ("resolved", [True, True, False, False], False),  # the same for all of a prompt
        ("resolved", [1, 0, 0, 1], False),
        ("is_truncated", [True, False, False, True], False),
    ],
)
def test_a_column_of_true_and_false_that_tells_siblings_apart_may_be_a_label(
    name, values, is_offered
):
    rows = [
        {"prompt_id": at // 2, "completion": "x", name: value}
        for at, value in enumerate(values)
    ]
    assert rk.load_rollouts(rows).possible_labels == [name] * is_offered


def test_a_completion_of_several_turns_keeps_them_behind_its_prompt():
    question, guess = (
        {"role": "user", "content": "Guess."},
        {"role": "assistant", "content": "7"},
    )
    turns = [guess, {"role": "user", "content": "Too low."}, {**guess, "content": "8"}]
    for prompt in ("Guess.", [question]):
        row = rk.load_rollouts([{"prompt": prompt, "completion": turns}])[0]
        assert (row["completion"], row["messages"]) == ("8", [question, *turns])
    assert (
        "messages"
        not in rk.load_rollouts([{"prompt": "Guess.", "completion": [guess]}])[0]
    )
