"""judge: a rubric, and a model that says which of its levels a completion has."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from typing import Annotated, Any

from rewardkit.errors import NotJudged
from rewardkit.judges.limits import Limits
from rewardkit.judges.model_judge import ModelJudge, address, column_names, request_options
from rewardkit.judges.questions import levels_schema, question, read_object, with_marks
from rewardkit.judges.session import Answer
from rewardkit.primitives.notes import VERDICT, note

__all__ = ["judge"]

YES_NO = {"yes": 1.0, "no": 0.0}
DEFAULT = Limits()


def _scale(option: str, value: Any) -> Any:
    """Levels by name; ValueError where there are fewer than two, or one has no score in [0, 1]."""
    levels = {str(level): score for level, score in value.items()} if isinstance(value, Mapping) else {}
    known = all(
        isinstance(score, int | float) and not isinstance(score, bool) and 0 <= score <= 1
        for score in levels.values()
    )
    if not known or len(set(levels.values())) < 2:
        raise ValueError(
            f"{option}={value!r} is no scale; give two levels or more with scores in [0, 1], such as "
            "{'good': 1.0, 'fair': 0.5, 'poor': 0.0}"
        )
    return {level: float(score) for level, score in levels.items()}


def _criteria(option: str, value: Any) -> Any:
    if (
        not isinstance(value, Mapping)
        or not value
        or not all(isinstance(text, str) and text.strip() for item in value.items() for text in item)
    ):
        raise ValueError(f"{option}={value!r} does not fit; give {{name: what is asked for}}")
    return dict(value)


@dataclass(frozen=True, repr=False, eq=False)
class judge(ModelJudge):
    """The level that a model gives a completion by a rubric, as a score; an async component.

    `model` runs on an OpenAI-compatible server (vLLM, SGLang, llama.cpp, hosted) at `base_url`, by default
    OPENAI_BASE_URL or OpenAI's; the key is OPENAI_API_KEY. It is shown the `inputs` and the columns that the
    rubric names as ``{ground_truth}``, and answers with a reason and one of the levels of `scale`, which has
    their scores. With `criteria` each has a level, in one call (``one_call=True``) or in one each, and the
    score is their mean. Of several `samples` the score is the median; "agreement" in the verdict is the share
    that chose the most frequent level. ``negative=True``: the rubric describes a fault, and the score is 1
    where it is absent.

    Not judged, with the reason, is what has no usable answer: a missing column, a refusal, two answers that
    fit no level, a call that failed for good, a budget that is used up. Answers are cached on disk
    (``cache=False`` asks again), `recorded` ones come first. `options` go to the server, such as
    ``{"temperature": 1.0}``; ``None`` leaves one out. The verdict (level, reason, raw answer, tokens) stands
    in the scored table under ``verdict/<component>``, what it cost under ``cost/<component>``.

    ValueError: a scale without levels, an empty rubric, options that cannot be.

    >>> clear = judge("Is {completion} clear?", model="judge-1", scale={"clear": 1.0, "vague": 0.3})
    >>> clear.columns
    ('prompt', 'completion')
    >>> clear
    rk.judge('Is {completion} clear?', model='judge-1', scale={'clear': 1.0, 'vague': 0.3})
    """

    rubric: str
    _: KW_ONLY
    model: str
    base_url: Annotated[str, address] | None = None
    scale: Annotated[Mapping[str, float], _scale] | None = None
    inputs: Annotated[tuple[str, ...], column_names] = ("prompt", "completion")
    criteria: Annotated[Mapping[str, str], _criteria] | None = None
    one_call: bool = True
    samples: int = 1
    negative: bool = False
    limits: Limits = DEFAULT
    options: Annotated[Mapping[str, Any], request_options] | None = None
    cache: bool = True
    recorded: str | None = None

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
        names = list(self.criteria or {})
        calls = [names] if self.one_call or not names else [[name] for name in names]
        requests = [
            (self._request(some, columns, sample), sample, partial(self._read, some))
            for some in calls
            for sample in range(self.samples)
        ]
        answers = await self.answers(requests)
        verdict: dict[str, Any] = {"raw": [item.text for item in answers if isinstance(item, Answer)]}
        try:
            scores = []
            for at in range(len(calls)):
                score, told = self._median(answers[at * self.samples : (at + 1) * self.samples])
                scores.append(score)
                for name, value in told.items():
                    verdict[name] = value if at == 0 else _joined(verdict[name], value)
            return statistics.fmean(scores)
        except NotJudged as error:
            verdict["reason"] = str(error)
            raise
        finally:
            note(VERDICT, {**verdict, **self.paid(answers)})

    def _request(self, names: list[str], columns: Mapping[str, Any], sample: int) -> dict[str, Any]:
        """The request for the level of these criteria, or of the rubric alone."""
        criteria = {name: with_marks((self.criteria or {})[name]) for name in names}
        lines = [f"- {name}: {text}" for name, text in criteria.items()]
        levels = ", ".join(map(repr, self.levels))
        each = "for each criterion an object with" if names else "an object with"
        instructions = [
            "You judge a completion that a language model gave to a prompt.",
            with_marks(self.rubric),
            *(["The criteria:\n" + "\n".join(lines)] if lines else []),
            f"Levels: {levels}. Answer with JSON: {each} 'reason' (one or two sentences), then 'level' (one "
            "of the levels).",
        ]
        request = self.request(question("\n\n".join(instructions), columns), self._schema(names))
        if self.samples > 1:
            request = {**request, "temperature": 1.0, **(self.options or {}), "seed": sample}
        return request

    def _schema(self, names: list[str]) -> dict[str, Any]:
        return levels_schema(list(self.levels), names)

    def _read(self, names: list[str], text: str) -> dict[str, dict[str, str]]:
        """Reason and level by criterion, "" for the rubric alone."""
        found = read_object(text, self._schema(names))
        return found if names else {"": found}

    def _median(self, answers: Sequence[Answer | NotJudged]) -> tuple[float, dict[str, Any]]:
        """The score of one call's samples, and what the verdict tells. NotJudged: half of them failed."""
        judged = [item for item in answers if isinstance(item, Answer)]
        if 2 * len(judged) <= len(answers):
            raise next(item for item in answers if isinstance(item, NotJudged))
        scores, level, agreement = [], [], []
        for name in judged[0].value:
            chosen = [item.value[name]["level"] for item in judged]
            median = statistics.median(map(self.levels.__getitem__, chosen))
            scores.append(1.0 - median if self.negative else median)
            most, times = Counter(chosen).most_common(1)[0]
            level.append(f"{name}: {most}" if name else most)
            agreement.append(times / len(chosen))
        reasons = [
            f"{name}: {said['reason']}" if name else said["reason"] for name, said in judged[0].value.items()
        ]
        told: dict[str, Any] = {"level": "; ".join(level), "reason": "\n".join(reasons)}
        if self.samples > 1:
            told["agreement"] = statistics.fmean(agreement)
        return statistics.fmean(scores), told


def _joined(before: Any, value: Any) -> Any:
    """What two calls of one verdict tell, together."""
    return min(before, value) if isinstance(value, float) else f"{before}\n{value}"
