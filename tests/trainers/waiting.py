"""A user's file of rewards, some of whose functions are waited for: what is exported of it is all of it."""

import asyncio

import rewardkit as rk


def share(completion, ground_truth):
    """The share of characters that the truth has; not judged without any."""
    return (
        sum(letter in ground_truth for letter in completion) / len(completion)
        if completion
        else None
    )


def digits(completion):
    """Whether there is a digit; cannot tell where the first letter is a sign."""
    rk.note("length", len(completion))
    return (
        None
        if not completion[:1].isalnum()
        else any(letter.isdigit() for letter in completion)
    )


async def judge(completion):
    """An endpoint that takes its time."""
    await asyncio.sleep(0.001)
    return float(completion[:1].islower())


async def slow(completion):
    await asyncio.sleep(0.001)
    return len(completion) / 64 if completion else None


def none(completion):
    return None


def abstains(completion):
    return None if len(completion) % 2 else 1.0


def made(name, weights, **options):
    """A reward of functions of this file."""
    parts = [
        rk.Component(part.__name__, part, weight=weight, range=None)
        for part, weight in weights.items()
    ]
    return rk.Reward(name, components=parts, **options)


def tiny():
    return made("tiny", {share: 0.75, digits: -0.5, judge: 2.0})


def waiting():
    return made("waiting", {slow: 1.0})


def half_judged():
    return made("waiting", {slow: 1.0, none: 1.0})


def half():
    return made("half", {abstains: 1.0})
