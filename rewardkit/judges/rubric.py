"""Judge `judge`: a model chooses the level of a completion by a rubric."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import partial
from statistics import fmean
from typing import Annotated, Any

from rewardkit.errors import NotJudged
from rewardkit.judges.model_judge import (
    ModelJudge,
    object_of,
    question,
    read_object,
    with_marks,
)
from rewardkit.judges.session import ModelAnswer
from rewardkit.plain import is_number
from rewardkit.primitives.primitive import VERDICT, note

YES_NO = {"yes": 1.0, "no": 0.0}


def _scale(option: str, value: Any) -> Any:
    """Check the levels: two or more scores in [0, 1] by name."""
    scores = value if isinstance(value, Mapping) else {}
    levels: dict[str, float] = {}
    if all(is_number(score) and 0 <= score <= 1 for score in scores.values()):
        levels = {str(level): float(score) for level, score in scores.items()}
    is_twice = len(levels) < len(scores)  # 1 and "1"
    if is_twice or len(set(levels.values())) < 2:
        raise ValueError(
            f"{option}={value!r} is no scale; give two levels or more with scores in "
            "[0, 1], such as {'good': 1.0, 'fair': 0.5, 'poor': 0.0}"
        )
    return levels


def _criteria(option: str, value: Any) -> Any:
    texts = [*value.keys(), *value.values()] if isinstance(value, Mapping) else []
    are_texts = all(isinstance(text, str) and text.strip() for text in texts)
    if not texts or not are_texts:
        raise ValueError(
            f"{option}={value!r} does not fit; give {{name: what is asked for}}"
        )
    return dict(value)


@dataclass(frozen=True, repr=False, eq=False)
class judge(ModelJudge):
    """The level that a model gives a completion by a rubric; an async component.

    `model` runs on an OpenAI-compatible server (vLLM, SGLang, llama.cpp, hosted) at
    `base_url`, by default OPENAI_BASE_URL or OpenAI's; the key is OPENAI_API_KEY. It
    reads the `inputs` and the columns that the rubric names, as ``{ground_truth}``, and
    answers with a reason and one of the levels of `scale`, which maps them to scores.
    With `criteria`, each criterion gets a level, in one call (``one_call=True``) or one
    call each, and the score is their mean. With several `samples`, the score is their
    median, and the verdict's "agreement" is the share of the most frequent level.
    ``negative=True``: the rubric describes a fault, and its absence scores 1.

    A completion without a usable answer is not judged, with the reason: a missing
    column, a refusal, two invalid answers, a call that failed after all retries, an
    exhausted budget. Answers are cached on disk (``cache=False`` asks again);
    `recorded` answers are used first. `options` are sent to the server, such as
    ``{"temperature": 1.0}``; ``None`` removes one. The scored table has the verdict
    (level, reason, raw answer, tokens) in ``verdict/<component>`` and the cost in
    ``cost/<component>``.

    ValueError: a scale without levels, an empty rubric, invalid options.

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

    async def __call__(self, /, **columns: Any) -> float:
        for name in self.columns:
            if columns[name] is None:
                raise NotJudged(f"there is no {name!r}")
        names = list(self.criteria or {}) or [""]  # "" without criteria
        calls = [[name] for name in names]
        if self.one_call:
            calls = [names]
        requests = []
        for call_names in calls:
            for sample in range(self.samples):
                request = self._request(call_names, columns, sample)
                requests.append((request, sample, partial(self._read, call_names)))
        answers = await self.answers(requests)
        verdict = {
            "raw": [answer.text for answer in answers if answer.text],
            **self.expenses(answers),
        }
        medians = []
        try:
            for place, name in enumerate(names):
                first = 0 if self.one_call else place * self.samples
                samples = answers[first : first + self.samples]
                medians.append(self._median(name, samples))
            scores, levels, reasons, agreement = zip(*medians, strict=True)
            verdict |= {"level": "; ".join(levels), "reason": "\n".join(reasons)}
            if self.samples > 1:
                verdict["agreement"] = fmean(agreement)
            return fmean(scores)
        except NotJudged as error:
            verdict["reason"] = str(error)
            raise
        finally:
            note(VERDICT, verdict)

    def _request(
        self, names: list[str], columns: Mapping[str, Any], sample: int
    ) -> dict[str, Any]:
        """Return the request for the levels of these criteria, or of the rubric."""
        instructions = [
            "You judge a completion that a language model gave to a prompt.",
            with_marks(self.rubric),
        ]
        form = "an object with"
        if self.criteria:
            lines = [f"- {name}: {with_marks(self.criteria[name])}" for name in names]
            instructions.append("The criteria:\n" + "\n".join(lines))
            form = "for each criterion an object with"
        levels = ", ".join(map(repr, self.levels))
        instructions.append(
            f"Levels: {levels}. Answer with JSON: {form} 'reason' (one or two "
            "sentences), then 'level' (one of the levels)."
        )
        messages = question("\n\n".join(instructions), columns)
        request = self.request(messages, self._schema(names))
        if self.samples > 1:
            request["temperature"] = 1.0
            request |= self.options or {}
            request["seed"] = sample
        return request

    def _schema(self, names: list[str]) -> dict[str, Any]:
        """Return the schema of an answer: a reason and a level for each criterion."""
        level = {"enum": list(self.levels)}
        schema = object_of({"reason": {"type": "string"}, "level": level})
        if self.criteria:
            return object_of(dict.fromkeys(names, schema))
        return schema

    def _read(self, names: list[str], text: str) -> dict[str, dict[str, str]]:
        """Return reason and level by criterion."""
        answer = read_object(text, self._schema(names))
        if self.criteria:
            return answer
        return {"": answer}

    def _median(
        self, name: str, answers: Sequence[ModelAnswer]
    ) -> tuple[float, str, str, float]:
        """Return score, level, reason and agreement of a criterion.

        NotJudged: at least half of the samples failed.
        """
        judged = [answer.value[name] for answer in answers if not answer.failed]
        if 2 * len(judged) <= len(answers):
            raise NotJudged(next(answer.failed for answer in answers if answer.failed))
        levels = [answer["level"] for answer in judged]
        score = statistics.median(self.levels[level] for level in levels)
        if self.negative:
            score = 1.0 - score
        commonest, times = Counter(levels).most_common(1)[0]
        start = f"{name}: " if name else ""
        reason = start + judged[0]["reason"]
        return score, start + commonest, reason, times / len(levels)
