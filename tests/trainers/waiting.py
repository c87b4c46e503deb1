"""A user's file of rewards, some of whose functions are waited for: what is exported of it is all of it."""

import asyncio

import rewardkit as rk


def share(completion, ground_truth):
    """The share of characters that the truth has; not judged without any."""
    return sum(letter in ground_truth for letter in completion) / len(completion) if completion else None


def digits(completion):
    """Whether there is a digit; cannot tell where the first letter is a sign."""
    rk.note("length", len(completion))
    return None if not completion[:1].isalnum() else any(letter.isdigit() for letter in completion)


async def judge(completion):
    """An endpoint that takes its time."""
    await asyncio.sleep(0.001)
    return float(completion[:1].islower())


def tiny(**options):
    return rk.Reward(
        "tiny",
        components=[
            rk.Component("share", share, weight=0.75),
            rk.Component("digits", digits, weight=-0.5),
            rk.Component("judge", judge, weight=2.0),
        ],
        **options,
    )


async def slow(completion):
    await asyncio.sleep(0.001)
    return len(completion) / 64 if completion else None


def nothing(completion):
    return None


def waiting():
    return rk.Reward("waiting", components=[rk.Component("slow", slow, range=None)])


def half_judged():
    parts = [rk.Component("slow", slow, range=None), rk.Component("none", nothing)]
    return rk.Reward("waiting", components=parts)
