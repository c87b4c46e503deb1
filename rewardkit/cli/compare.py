"""`rewardkit compare`: what differs between two scored tables."""

from __future__ import annotations

import rewardkit as rk
from rewardkit.cli.command import Answer, Options, command
from rewardkit.cli.scores import is_met, with_reward


@command(
    "A B --training --label --seed --timeout --fail-on --json",
    {
        "--cases CASES": "Cases, to list those that B loses and gains; a lost one is high.",
        "--reward-a REWARD": "The reward that scored A, to run on the cases.",
        "--reward-b REWARD": "The reward that scored B, to run on the cases.",
    },
)
def compare(options: Options) -> Answer:
    """Say what differs between the scores A and B.

    Definition, rewards, advantages, ranks, cases and findings. A and B are folders that
    `rewardkit score -o` wrote, or their Parquet files; rows are matched by rollout_id.
    The folders tell of a reward but cannot run it, so that --cases needs both rewards
    too.

    Example:
      rewardkit score gallery:arithmetic.flawed gallery:arithmetic -o old
      rewardkit score gallery:arithmetic gallery:arithmetic -o new
      rewardkit compare old new
    """
    both = ((options.a, options.reward_a), (options.b, options.reward_b))
    sides = [with_reward(rk.load_scores(path), name, path) for path, name in both]
    limit = (
        options.time_limit(*(side.reward for side in sides)) if options.cases else None
    )
    comparison = rk.compare(
        *sides,
        cases=options.cases,
        timeout=limit,
        **options.select("training label seed"),
    )
    return Answer(
        comparison.record(),
        str(comparison),
        is_met(comparison.worst_new, options.fail_on),
    )
