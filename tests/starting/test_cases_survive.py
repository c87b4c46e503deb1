"""The cases that a task starts with, after the reward is edited: none fails for nothing, and a worse reward fails."""

import pytest

import rewardkit as rk

pytestmark = pytest.mark.integration

FORM = '"format",\n            rk.measure.tags("think", "answer"),\n            weight=0.2,'
CORRECT = "rk.verify.numbers_equal,\n            weight=1.0,\n            primary=True,"
FUNCTIONS = '''

def ten_points(prediction, ground_truth):
    """10 for a right answer."""
    return 10 * rk.verify.numbers_equal(prediction, ground_truth)


def wrong(prediction, ground_truth):
    """Full credit for what is wrong."""
    return 1.0 - rk.verify.numbers_equal(prediction, ground_truth)


def answered(prediction):
    """Full credit for any answer."""
    return float(prediction is not None)


reward = rk.Reward('''

# what is edited, (text, its replacement) in the reward's file
ORDINARY_EDITS = {
    "weight halved": [("weight=1.0", "weight=0.5")],
    "weight of the form doubled": [("weight=0.2", "weight=0.4")],
    "component renamed": [('"correct"', '"right_answer"')],
    "component split": [
        (
            FORM,
            '"tagged",\n            rk.measure.tags("answer"),\n            weight=0.1,\n'
            '        ),\n        rk.Component(\n            "thought",\n'
            '            rk.measure.tags("think"),\n            weight=0.1,',
        )
    ],
    "component removed": [("weight=0.1", "weight=0.0")],
    "gate added to the form": [
        ("weight=0.2", 'weight=0.2,\n            gate=rk.gate("correct", at_least=1.0)')
    ],
    "gate added to the whole": [
        (
            "    components=[",
            '    gate=rk.gate("format", at_least=1.0),\n    components=[',
        )
    ],
    "range changed": [
        ("rk.verify.numbers_equal,", "ten_points,\n            range=(0, 10),"),
        ("weight=1.0", "weight=0.1"),
        ("at_least=1.0", "at_least=10.0"),
    ],
    "limits changed": [("full_until=16, zero_from=32", "full_until=30, zero_from=60")],
    "answer read otherwise": [('rk.extract.tag("answer")', "rk.extract.number()")],
}

REGRESSIONS = {
    "sign turned": [("weight=1.0", "weight=-1.0")],
    "wrong answers are paid": [("rk.verify.numbers_equal", "wrong")],
    "any answer is paid": [("rk.verify.numbers_equal", "answered")],
    "the truth is not asked for": [
        ("weight=1.0", "weight=0.0"),
        ('gate=rk.gate("correct", at_least=1.0),', ""),
    ],
    "another tag is read": [('extract.tag("answer")', 'extract.tag("think")')],
    "nothing is read": [('extract.tag("answer")', 'extract.tag("result")')],
    "everything is judged alike": [
        ("rk.verify.numbers_equal", "rk.measure.repetition()")
    ],
}


@pytest.fixture
def edited(sums, tmp_path):
    """The reward of the task after an edit of its file."""

    def make(changes):
        text = sums.reward.read_text()
        for old, new in changes:
            assert old in text, old
            text = text.replace(old, new)
        path = tmp_path / "edited.py"
        path.write_text(text.replace("reward = rk.Reward(", FUNCTIONS.strip("\n"), 1))
        return rk.load_reward(str(path))

    return make


@pytest.mark.parametrize("edit", ORDINARY_EDITS)
def test_no_case_fails_for_an_ordinary_edit(sums, edited, edit):
    reward = edited(ORDINARY_EDITS[edit])
    result = rk.check(reward, sums.cases)
    assert (result.passed, result.failed) == (sums.decided, 0), result.text()
    assert result.is_met


@pytest.mark.parametrize("fault", REGRESSIONS)
def test_a_reward_that_got_worse_fails(sums, edited, fault):
    result = rk.check(edited(REGRESSIONS[fault]), sums.cases)
    assert result.failed == sums.decided > 0
