"""Files that are written whole or not at all."""

import os

import pytest

from rewardkit.rollouts.write import write_whole


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    file = tmp_path / "a.txt"
    file.write_text("old")

    def full(path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space"):
        write_whole(file, full)
    assert file.read_text() == "old" and os.listdir(tmp_path) == ["a.txt"]


def test_a_folder_that_cannot_be_written_is_told_of_the_file_that_was_meant(tmp_path, monkeypatch):
    """A disk that is read-only refuses even to remove what is not there; found in the wild."""

    def refuse(path, *_, **__):
        raise OSError(30, "Read-only file system", str(path))

    monkeypatch.setattr("os.open", refuse)
    monkeypatch.setattr("pathlib.Path.unlink", refuse)
    with pytest.raises(OSError, match=r"Read-only file system: '.*/a\.txt'$") as told:
        write_whole(tmp_path / "a.txt", lambda path: path.write_text("x"))
    assert told.value.filename == str(tmp_path / "a.txt")
