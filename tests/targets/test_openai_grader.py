"""OpenAI's Python graders, which are read only."""

import pytest

import rewardkit as rk
from rewardkit.errors import RewardError
from rewardkit.targets.export import export


@pytest.mark.parametrize(
    "body, expected",
    [
        pytest.param(
            "return float(item['reference_answer'] in sample['output_text'])", [1, 0, 0, 1], id="documented"
        ),
        pytest.param(
            "return 1.5 * (sample['output_json'] == 2) - 0.5", [-0.5, -0.5, -0.5, 1], id="output_json"
        ),
        pytest.param("return len(sample['choices'][0]['message']['content'])", [18, 18, 0, 1], id="choices"),
        pytest.param(
            "return item.pop('level') + 0 * len(item.get('answer'))", [2, 2, 1, 1], id="a column, by any name"
        ),
        pytest.param("return None if not sample['output_text'] else True", [1, 1, None, 1], id="not judged"),
    ],
)
def test_a_grader_is_read(load, rewards, body, expected):
    reward = load(f"def f(sample, item) -> float:\n    {body}")
    assert "read as OpenAI's graders: it takes sample and item" in reward.origin
    assert rewards(reward) == expected


def test_an_error_is_no_zero_as_it_would_be_there(load, rollouts):
    reward = load("def f(sample, item):\n    return float(sample['output_text'])")
    scores = rk.score(reward, rollouts)
    assert scores.table["status/f"].tolist() == ["error", "error", "error", "scored"]


def test_a_grader_that_gives_a_text_is_told(load):
    with pytest.raises(RewardError, match=r"f returned '1' of type str .*grade\(sample, item\) -> float"):
        load("def f(sample, item):\n    return '1'")


def test_none_is_written(tmp_path):
    with pytest.raises(
        RewardError, match="OpenAI's graders is a target to read only; nothing is written for it"
    ):
        export(rk.load_reward("gallery:arithmetic"), to="openai", path=tmp_path / "grade.py")
    assert not list(tmp_path.iterdir())
