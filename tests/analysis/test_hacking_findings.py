"""What a reward pays for beside the task, and the label: planted faults, and controls that stay silent."""

import numpy as np
import pytest
from planted.tables import outcomes, scores_of

import rewardkit as rk

PROMPTS, SIBLINGS = 60, 8
ROWS = PROMPTS * SIBLINGS
HACKS = {"length_bias", "column_bias", "truncated_paid", "label_disagrees", "label_unusable"}


class Drawn:
    """The rows of a seed: what is right, how long it is, and more numbers."""

    def __init__(self, seed):
        self.generator = np.random.default_rng(seed)
        self.right, self.groups = outcomes(self.generator, PROMPTS, SIBLINGS, 0.45, 0.4)
        self.length = self.generator.integers(5, 200, ROWS)
        self.noise = self.generator.random(ROWS)
        self.longer = np.clip(self.length / 200 + self.generator.normal(0, 0.15, ROWS), 0, 1)

    def scores(self, pays, weight=0.3, parts=None, components=None, **columns):
        """Scores of the task and of what else is paid for."""
        return scores_of(
            parts or {"task": self.right, "second": pays},
            self.groups,
            weights={"second": weight},
            columns={"completion": ["x" * size for size in self.length.tolist()], **columns},
            components=components or {"task": {"primary": True}},
        )

    def truth(self, flip):
        """A label that is the task but for this share of the rows."""
        return np.where(self.generator.random(ROWS) < flip, 1 - self.right, self.right).astype(bool)


def codes(scores, **options):
    return {item.code: item for item in rk.diagnose(scores, **options).findings}


@pytest.mark.parametrize("seed", range(2))
def test_what_pays_for_length_is_found_and_said_and_noise_is_no_bias(seed):
    drawn = Drawn(seed)
    assert not set(codes(drawn.scores(drawn.noise))) & HACKS
    found = codes(drawn.scores(drawn.longer))["length_bias"]
    assert found.severity == "warn" and found.evidence["longer"] and found.evidence["value"] > 0.75
    assert "with equal 'task', the longer one (in characters) gets the higher advantage" in found.sentence
    shorter = codes(drawn.scores(1 - drawn.longer))["length_bias"]
    assert "the shorter one (in characters) gets" in shorter.sentence and shorter.evidence["value"] < 0.25


@pytest.mark.parametrize("beside", [False, True], ids=["alone", "with a format"])
def test_a_task_that_is_scored_by_the_length_is_said_to_follow_it(beside):
    drawn = Drawn(2)
    for sign, value in ((1, 1.0), (-1, 0.0)):
        parts = {"judge": 0.5 + sign * drawn.length / 400, "second": drawn.noise > 0.1}
        parts = parts if beside else {"judge": parts["judge"]}
        components = {"judge": {"primary": True}}
        found = codes(drawn.scores(None, 0.1, parts=parts, components=components))["length_bias"]
        assert (found.component, found.severity, found.evidence["value"]) == ("judge", "warn", value)
        word = "longer" if sign > 0 else "shorter"
        assert f"that 'judge' tells apart, the {word} one" in found.sentence


def test_another_column_that_is_paid_for_is_named_once():
    drawn = Drawn(3)
    emojis = drawn.generator.integers(0, 10, ROWS)
    columns = {"emojis": emojis, "letters": drawn.length * 2.0}
    (found,) = rk.diagnose(drawn.scores(emojis / 9, **columns))["column_bias"]
    assert found.evidence["column"] == "emojis" and "with the higher 'emojis' gets" in found.sentence
    of_length = codes(drawn.scores(drawn.longer, **columns))
    assert set(of_length) & HACKS == {"length_bias"}  # `letters` is the length once more
    scores = drawn.scores(emojis / 9, temperature=drawn.noise, **columns)
    assert "column_bias" not in codes(scores, columns=["temperature"])  # those that were asked for
    alone = {"parts": {"second": drawn.longer}, "components": {"second": {"primary": False}}}
    assert not set(codes(drawn.scores(None, **alone))) & {"length_bias", "column_bias"}


# the label


def disagreeing(flip, seed=6):
    drawn = Drawn(seed)
    scores = drawn.scores(drawn.noise, ok=drawn.truth(flip))
    return scores, codes(scores, label="ok").get("label_disagrees")


def test_a_label_that_the_reward_does_not_follow_is_found_with_the_share_of_pairs():
    scores, found = disagreeing(0.15)
    label = scores.rollouts.table["ok"].to_numpy(dtype=float)
    agree = pairs = 0.0
    for group in np.unique(scores.groups):
        rows = np.flatnonzero(scores.groups == group)
        good, bad = rows[label[rows] == 1], rows[label[rows] == 0]
        gaps = scores.rewards[good][:, None] - scores.rewards[bad][None]
        agree += (gaps > 0).sum() + (gaps == 0).sum() / 2
        pairs += gaps.size
    assert found.evidence["value"] == pytest.approx(agree / pairs) and found.n == pairs
    assert found.evidence["interval"][0] < agree / pairs < found.evidence["interval"][1]
    assert found.severity == "warn" and "'ok'" in found.sentence
    rows = scores.rollouts.table
    as_text = rk.score(scores.reward, rows.assign(ok=rows["ok"].map(str)))  # texts of true and false
    assert codes(as_text, label="ok")["label_disagrees"].evidence == found.evidence
