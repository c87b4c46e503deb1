"""judge: a rubric, and a model that says which of its levels a completion has."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from statistics import fmean
from typing import Annotated, Any

from rewardkit.errors import NotJudged
from rewardkit.judges.model_judge import ModelJudge
from rewardkit.judges.questions import object_of, question, read_object, with_marks
from rewardkit.judges.session import Answer
from rewardkit.primitives.notes import VERDICT, note

YES_NO = {"yes": 1.0, "no": 0.0}


def _scale(option: str, value: Any) -> Any:
    """Check levels by name: two or more, each with a score in [0, 1]."""
    levels = (
        {str(level): score for level, score in value.items()}
        if isinstance(value, Mapping)
        else {}
    )
    known = all(
        isinstance(score, int | float)
        and not isinstance(score, bool)
        and 0 <= score <= 1
        for score in levels.values()
    )
    if not known or len(set(levels.values())) < 2:
        raise ValueError(
            f"{option}={value!r} is no scale; give two levels or more with scores in "
            "[0, 1], such as "
            "{'good': 1.0, 'fair': 0.5, 'poor': 0.0}"
        )
    return {level: float(score) for level, score in levels.items()}


def _criteria(option: str, value: Any) -> Any:
    if (
        not isinstance(value, Mapping)
        or not value
        or not all(
            isinstance(text, str) and text.strip()
            for item in value.items()
            for text in item
        )
    ):
        raise ValueError(
            f"{option}={value!r} does not fit; give {{name: what is asked for}}"
        )
    return dict(value)


@dataclass(frozen=True, repr=False, eq=False)
class judge(ModelJudge):
    """The level that a model gives a completion by a rubric; an async component.

    `model` runs on an OpenAI-compatible server (vLLM, SGLang, llama.cpp, hosted) at
    `base_url`, by default OPENAI_BASE_URL or OpenAI's; the key is OPENAI_API_KEY. It is
    shown the `inputs` and the columns that the rubric names as ``{ground_truth}``, and
    answers with a reason and one of the levels of `scale`, which has their scores. With
    `criteria` each has a level, in one call (``one_call=True``) or in one each, and the
    score is their mean. Of several `samples` the score is the median; "agreement" in
    the verdict is the share that chose the most frequent level. ``negative=True``: the
    rubric describes a fault, and the score is 1 where it is absent.

    Not judged, with the reason, is what has no usable answer: a missing column, a
    refusal, two answers that fit no level, a call that failed for good, a budget that
    is used up. Answers are cached on disk (``cache=False`` asks again), `recorded` ones
    come first. `options` go to the server, such as ``{"temperature": 1.0}``; ``None``
    leaves one out. The verdict (level, reason, raw answer, tokens) stands in the scored
    table under ``verdict/<component>``, what it cost under ``cost/<component>``.

    ValueError: a scale without levels, an empty rubric, options that cannot be.

    >>> levels = {"clear": 1.0, "vague": 0.3}
    >>> clear = judge("Is {completion} clear?", model="j-1", scale=levels)
    >>> clear.columns
    ('prompt', 'completion')
    >>> clear
    rk.judge('Is {completion} clear?', model='j-1', scale={'clear': 1.0, 'vague': 0.3})
    """

    _: KW_ONLY
    scale: Annotated[Mapping[str, float], _scale] | None = None
    criteria: Annotated[Mapping[str, str], _criteria] | None = None
    one_call: bool = True
    samples: int = 1
    negative: bool = False

    @property
    def factory(self) -> str:
        return "rk.judge"

    @property
    def rubrics(self) -> tuple[str, ...]:
        return (self.rubric, *(self.criteria or {}).values())

    @property
    def levels(self) -> Mapping[str, float]:
        """The levels and their scores, by default yes and no."""
        return self.scale or YES_NO

    async def __call__(self, **columns: Any) -> float:
        if missing := [name for name in self.columns if columns[name] is None]:
            raise NotJudged(f"there is no {missing[0]!r}")
        names = list(self.criteria or {}) or [""]  # "" for the rubric alone
        calls = [names] if self.one_call else [[name] for name in names]
        asked = [(some, sample) for some in calls for sample in range(self.samples)]
        answers = await self.answers(
            [
                (
                    self._request(some, columns, sample),
                    sample,
                    partial(self._read, some),
                )
                for some, sample in asked
            ]
        )
        verdict = {
            "raw": [answer.text for answer in answers if answer.text],
            **self.paid(answers),
        }
        try:
            told = []
            for name in names:
                of = [
                    answer
                    for (some, _), answer in zip(asked, answers, strict=True)
                    if name in some
                ]
                told.append(self._median(name, of))
            scores, levels, reasons, agreement = zip(*told, strict=True)
            verdict |= {"level": "; ".join(levels), "reason": "\n".join(reasons)}
            verdict |= {"agreement": fmean(agreement)} if self.samples > 1 else {}
            return fmean(scores)
        except NotJudged as error:
            verdict["reason"] = str(error)
            raise
        finally:
            note(VERDICT, verdict)

    def _request(
        self, names: list[str], columns: Mapping[str, Any], sample: int
    ) -> dict[str, Any]:
        """Make the request for the levels of these criteria, or of the rubric alone."""
        lines = [
            f"- {name}: {with_marks(self.criteria[name])}"
            for name in names
            if self.criteria
        ]
        levels = ", ".join(map(repr, self.levels))
        each = (
            "for each criterion an object with" if self.criteria else "an object with"
        )
        instructions = [
            "You judge a completion that a language model gave to a prompt.",
            with_marks(self.rubric),
            *(["The criteria:\n" + "\n".join(lines)] if lines else []),
            f"Levels: {levels}. Answer with JSON: {each} 'reason' (one or two "
            "sentences), then 'level' (one "
            "of the levels).",
        ]
        request = self.request(
            question("\n\n".join(instructions), columns), self._schema(names)
        )
        if self.samples > 1:
            request = {
                **request,
                "temperature": 1.0,
                **(self.options or {}),
                "seed": sample,
            }
        return request

    def _schema(self, names: list[str]) -> dict[str, Any]:
        """Return the schema of an answer: a reason and a level for each criterion."""
        one = object_of(
            {"reason": {"type": "string"}, "level": {"enum": list(self.levels)}}
        )
        return object_of(dict.fromkeys(names, one)) if self.criteria else one

    def _read(self, names: list[str], text: str) -> dict[str, dict[str, str]]:
        """Reason and level by criterion."""
        found = read_object(text, self._schema(names))
        return found if self.criteria else {"": found}

    def _median(
        self, name: str, answers: Sequence[Answer]
    ) -> tuple[float, str, str, float]:
        """Score, level, reason and agreement of a criterion.

        NotJudged: half of the samples failed.
        """
        judged = [answer.value[name] for answer in answers if not answer.failed]
        if 2 * len(judged) <= len(answers):
            raise NotJudged(next(answer.failed for answer in answers if answer.failed))
        levels = [one["level"] for one in judged]
        median = statistics.median(self.levels[level] for level in levels)
        most, times = Counter(levels).most_common(1)[0]
        start = f"{name}: " if name else ""
        reason = start + judged[0]["reason"]
        return (
            1.0 - median if self.negative else median,
            start + most,
            reason,
            times / len(levels),
        )
