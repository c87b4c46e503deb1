"""The golden table: 300 rollouts for each gallery reward, and for rewards with every status, as plain rows.

`python tests/golden/tables.py` writes it anew. Only for a change that CHANGELOG tells people of.
"""

from __future__ import annotations

import gzip
import json
import math
from pathlib import Path

import rewardkit as rk

HERE = Path(__file__).parent
TABLE = HERE / "scores.jsonl.gz"
FINGERPRINTS = HERE / "fingerprints.json"
ROWS = 300
TEXTS = [
    "", " \n", "<answer>", "<answer></answer>", "\\boxed{", "#### ", "{", "null", "NaN", "1e999",
    "\x00\ud800\u202e", "a" * 5000, "<answer>34</answer><answer>35</answer>",
    "The answer is \\boxed{\\frac{1}{2}}.",
]  # fmt: skip
WITHOUT = ("__init__", "judged_aspects", "judged_clarity", "pairwise")
"""Rewards that ask models, which have recorded answers for their cases alone, are not in the table."""
GALLERY = sorted(
    path.stem
    for path in (HERE.parents[1] / "rewardkit/gallery").glob("*.py")
    if path.stem not in WITHOUT
)


def rollouts_for(name: str, reward: rk.Reward) -> list[dict]:
    """Its cases as they are, then with one another's completions, without a truth, and with odd texts."""
    cases = [dict(case.columns) for case in rk.load_cases(f"gallery:{name}")]
    rows = []
    for place in range(ROWS):
        row = dict(cases[place % len(cases)])
        turn = place // len(cases)
        if turn and place % 7 == 3:
            row["ground_truth"] = None
        elif turn and place % 5 == 1:
            row["completion"] = TEXTS[place % len(TEXTS)]
        elif turn:
            row["completion"] = cases[(place * 3 + turn) % len(cases)].get(
                "completion", ""
            )
        rows.append(
            {column: row.get(column) for column in (*reward.needs, "completion")}
        )
        rows[-1] |= {"prompt_id": f"p{place // 4}", "rollout_id": place}
    return rows


def number_in(completion):
    """A field that fails, and that has no value."""
    if "!" in completion:
        raise ValueError("an exclamation")
    return (
        float(completion)
        if completion.strip("-.0123456789") == "" and completion
        else None
    )


def odd(completion):
    """Everything that a component may return, right and wrong."""
    return {
        "0": None,
        "1": 1,
        "2": float("nan"),
        "3": 7.0,
        "4": "text",
        "5": True,
        "6": math.inf,
    }.get(completion, 0.5)


def positive(prediction):
    """A component that fails where the field is missing."""
    return prediction > 0


def shares(completion):
    """A group component: the rank of each length among its siblings."""
    return [
        sorted(map(len, completion)).index(len(text)) / max(1, len(completion) - 1)
        for text in completion
    ]


def short_list(completion):
    """A batch component that returns numbers of numpy."""
    import numpy as np

    return np.array([min(1.0, len(text) / 10) for text in completion])


def with_every_status() -> dict[str, rk.Reward]:
    """Rewards of functions that fail in every way, behind gates of every kind, added up in every way."""
    components = [
        rk.Component("odd", odd, weight=2.0),
        rk.Component(
            "positive", positive, weight=1.0, gate=rk.gate("odd", at_least=0.5)
        ),
        rk.Component(
            "rank",
            shares,
            weight=0.5,
            group=True,
            gate=rk.gate(lambda prediction: prediction != 3),
        ),
        rk.Component(
            "short",
            short_list,
            weight=-0.25,
            batch=True,
            gate=rk.gate("positive", at_most=0.5),
        ),
        rk.Component(
            "after", lambda positive, rank: positive * rank, weight=0.0, range=None
        ),
        rk.Component(
            "by_field",
            lambda completion: 1.0,
            weight=0.1,
            gate=rk.gate("prediction", equals=-2.0),
        ),
    ]
    rewards = {}
    for aggregation in ("weighted_sum", "weighted_mean", "product", "minimum"):
        for on_missing in ("nan", "zero", "skip"):
            parts = [
                part
                for part in components
                if part.weight > 0 or aggregation == "weighted_sum"
            ]
            rewards[f"{aggregation}-{on_missing}"] = rk.Reward(
                f"{aggregation}-{on_missing}",
                {"prediction": number_in},
                [
                    part
                    for part in parts
                    if part.name != "after" or aggregation == "weighted_sum"
                ],
                aggregation=aggregation,
                on_missing=on_missing,
                gate=rk.gate("odd", at_most=0.9) if on_missing == "zero" else None,
                transform=rk.weigh.standardise() if on_missing == "skip" else None,
            )
    return rewards


def rollouts_with_every_status() -> list[dict]:
    """Completions that bring out each of them, in groups of five."""
    texts = ["0", "1", "2", "3", "4", "5", "6", "-2", "no!", "words", "12.5", ""]
    completions = [texts[(place * 7 + place // 12) % 12] for place in range(ROWS)]
    return [
        {
            "completion": completion,
            "prompt_id": f"p{place // 5}",
            "data_source": "ab"[place % 2],
        }
        for place, completion in enumerate(completions)
    ]


def plain(value):
    """A value as JSON has it, floats to the last bit."""
    if isinstance(value, float):
        return None if math.isnan(value) else float(value).hex()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    return value if isinstance(value, str | int | bool | None) else repr(value)


def rows_of(name: str, scores: rk.Scores) -> list[str]:
    """Each scored row as a line: reward, and of each component score, status, and whether it has a reason."""
    lines = []
    for place, row in enumerate(scores.table.to_dict("records")):
        kept = {
            key: plain(value)
            if not key.startswith("error/")
            else isinstance(value, str)
            for key, value in row.items()
            if key.startswith(
                ("field/", "score/", "status/", "error/", "gate/", "reward")
            )
        }
        lines.append(json.dumps([name, place, kept], sort_keys=True))
    return lines


def scored(**options) -> list[str]:
    """The whole table, as lines; `options` are those of `rk.score`."""
    lines = []
    for name in GALLERY:
        reward = rk.load_reward(f"gallery:{name}")
        lines += rows_of(name, rk.score(reward, rollouts_for(name, reward), **options))
    for name, reward in with_every_status().items():
        lines += rows_of(
            name, rk.score(reward, rollouts_with_every_status(), **options)
        )
    parts = with_every_status()
    route = rk.Route(
        "data_source", {"a": parts["weighted_sum-nan"], "b": parts["product-zero"]}
    )
    lines += rows_of("route", rk.score(route, rollouts_with_every_status(), **options))
    return lines


def fingerprints() -> dict[str, dict[str, str]]:
    """Reward of the gallery -> its fingerprints, with the hash of its source file."""
    return {
        name: rk.load_reward(f"gallery:{name}").record()["fingerprints"]
        for name in GALLERY
    }


if __name__ == "__main__":
    TABLE.write_bytes(
        gzip.compress("\n".join(scored()).encode(errors="surrogatepass"), mtime=0)
    )
    FINGERPRINTS.write_text(json.dumps(fingerprints(), indent=1) + "\n")
