"""OpenAI's Python graders, which are read only."""

import pytest

import rewardkit as rk
from rewardkit.targets.export import export


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("float(item['reference_answer'] in sample['output_text'])", [1, 0, 0, 1]),
        ("1.5 * (sample['output_json'] == 2) - 0.5", [-0.5, -0.5, -0.5, 1]),
        ("len(sample['choices'][0]['message']['content'])", [18, 18, 0, 1]),
        ("item.pop('level') + 0 * len(item.get('answer'))", [2, 2, 1, 1]),  # a column, by any name
        ("None if not sample['output_text'] else True", [1, 1, None, 1]),
        ("float(sample['output_text'])", [None, None, None, 2]),  # no zero, as it would be there
    ],
)
def test_a_grader_is_read(reads, body, expected):
    said = "read as OpenAI's graders: it takes sample and item"
    reads(f"def f(sample, item) -> float: return {body}", expected, said)


def test_a_grader_that_gives_a_text_is_told(load):
    with pytest.raises(rk.RewardError, match=r"f returned '1' of type str .*grade\(sample, item\) -> float"):
        load("def f(sample, item): return '1'")


def test_none_is_written(tmp_path):
    with pytest.raises(rk.RewardError, match="OpenAI's graders is a target to read only; nothing is written"):
        export(rk.load_reward("gallery:arithmetic"), to="openai", path=tmp_path / "grade.py")
    assert not list(tmp_path.iterdir())
