"""Form first, then brevity: what is paid beside the answer changes with the step.

What it is for: long runs whose rollouts have a `step`. Form is worth 0.3 at step 0 and
fades to nothing at step 400, when it is learned or never will be; brevity of right
answers counts from step 400 on. Being right is worth 1.0 throughout, so rewards of
different steps can be compared by `correct`; the rewards themselves cannot. A row
without a readable step is not judged: guessing one would pay it by another rule than
its neighbours.

What it misses: the clock knows nothing of the policy: where form is not learned by step
400, its signal is gone all the same. A group must be of one step (it is, unless samples
are kept and used again later). A sentence that names the tags in their order earns the
form as well, 0.3 of 1.3 at step 0, which `rk.probe` finds (`tags_named`): it is a small
price for a form that may have text around it.
"""

from __future__ import annotations

import rewardkit as rk

FADED_AT = 400


def early_form(form: float, step: object) -> float | None:
    """Fade the form's score to 0.0 at step 400; None without a step."""
    at = rk.verify.read_number(step)
    return None if at is None else form * min(1.0, max(0.0, 1.0 - float(at) / FADED_AT))


def late_and_right(correct: float, step: object) -> bool | None:
    """Whether a right answer comes at step 400 or later; ``None`` without a step."""
    at = rk.verify.read_number(step)
    return None if at is None else correct == 1.0 and at >= FADED_AT


reward = rk.Reward(
    "curriculum-v1",
    fields={"prediction": rk.extract.tag("answer")},
    components=[
        rk.Component(
            "correct",
            rk.verify.numbers_equal,
            weight=1.0,
            primary=True,
            why="the task itself",
        ),
        rk.Component(
            "form",
            rk.measure.tags("think", "answer"),
            weight=0.0,
            why="recorded: whether it is learned",
        ),
        rk.Component(
            "early_form",
            early_form,
            weight=0.3,
            why="first the parser has to find an answer",
        ),
        rk.Component(
            "late_brevity",
            rk.measure.length(full_until=20, zero_from=60),
            weight=0.2,
            gate=rk.gate(late_and_right),
            why="brevity before the policy can reason would cost it the reasoning",
        ),
    ],
)
