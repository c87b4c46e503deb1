"""reward_model and reward_endpoint: a trained reward model's score, in [0, 1]."""

from __future__ import annotations

import json
import logging
import math
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cache
from typing import Annotated, Any

from rewardkit.errors import InputError, NotJudged, describe_error, preview
from rewardkit.judges.limits import Limits
from rewardkit.judges.model_judge import DEFAULT, AskingServer
from rewardkit.judges.questions import shown
from rewardkit.judges.session import Session, session_of
from rewardkit.primitives.notes import VERDICT, note
from rewardkit.primitives.primitive import Count, Primitive

log = logging.getLogger(__name__)

EXTRA = (
    "a reward model needs torch and transformers, of the extra 'models': pip install "
    "'reward-workbench[models]'"
)


def _map(option: str, value: Any) -> Any:
    low, high = value if isinstance(value, tuple | list) and len(value) == 2 else (0, 0)
    numbers = all(
        type(end) in (int, float) and math.isfinite(end) for end in (low, high)
    )
    if value != "sigmoid" and not (numbers and low < high):
        raise ValueError(
            f"{option}={value!r} does not fit; give 'sigmoid', or (low, high): the "
            "logits that score 0 and 1"
        )
    return value


def _logit(name: str, logits: Sequence[float], label: int | None) -> float:
    """Return the one logit, or the log-odds of a label against the others.

    NotJudged: it is no finite number.
    """
    if len(logits) > 1 if label is None else label >= len(logits):
        raise InputError(
            f"{name!r} has {len(logits)} labels, and label={label}; give the number "
            "of the good one, from 0"
        )
    logit, others = (
        logits[label or 0],
        [value for at, value in enumerate(logits) if at != (label or 0)],
    )
    if others:
        logit -= max(others) + math.log(
            sum(math.exp(value - max(others)) for value in others)
        )
    if not math.isfinite(logit):
        raise NotJudged(f"the reward model gives {logit}, which is no score")
    return logit


def _judged(
    name: str, logits: Sequence[float], label: int | None, how: Any
) -> tuple[float | NotJudged, dict[str, Any]]:
    """Return the score of a text's logits, or why there is none, and the verdict."""
    try:
        logit = _logit(name, logits, label)
    except (NotJudged, InputError) as error:
        return NotJudged(str(error)), {"reason": str(error)}
    if how == "sigmoid":
        score = (1 + math.tanh(logit / 2)) / 2
    else:
        score = min(1.0, max(0.0, (logit - how[0]) / (how[1] - how[0])))
    return score, {"logit": logit, "reason": f"the logit is {logit:.4g}"}


def _messages(prompt: Any, completion: Any) -> list[dict[str, Any]]:
    """Return the conversation that is scored. NotJudged: there is none."""
    if not isinstance(completion, str):
        raise NotJudged("the completion is no text")
    asked = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    if not isinstance(asked, Sequence) or not all(
        isinstance(message, Mapping) for message in asked
    ):
        raise NotJudged("the prompt is neither a text nor messages")
    return [*map(dict, asked), {"role": "assistant", "content": completion}]


@dataclass(frozen=True, eq=False)
class _Loaded:
    """A model with its tokenizer, as it is in memory."""

    tokenizer: Any
    model: Any
    special: re.Pattern[str]
    pad: (
        int | None
    )  # by which the model finds a text's end; without one it takes one text at a time
    longest: int  # tokens that it reads

    def tokens(self, prompt: Any, completion: Any, chat: bool) -> list[int]:
        """Return the whole text; a completion's special tokens are plain text in it.

        NotJudged: there is nothing to read.
        """
        messages = _messages(prompt, completion)
        said = self.special.sub(
            lambda found: f"{found[0][0]}\u200b{found[0][1:]}", completion
        )
        messages[-1]["content"] = said
        by_template = chat and bool(self.tokenizer.chat_template)
        text = f"{shown(prompt)}\n{said}"
        try:
            if by_template:
                text = self.tokenizer.apply_chat_template(messages, tokenize=False)
            found = self.tokenizer(
                text, add_special_tokens=not by_template, verbose=False
            )["input_ids"]
        except Exception as error:  # a template is the model's own program
            raise NotJudged(
                f"its tokenizer does not take the messages: {describe_error(error)}"
            ) from None
        if not found:
            raise NotJudged("there is nothing to read in prompt and completion")
        return list(found)

    def logits(self, texts: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the logits of texts of tokens, which are padded on the right."""
        import torch

        ids = torch.full(
            (len(texts), max(map(len, texts))), self.pad or 0
        )  # (texts, tokens)
        mask = torch.zeros_like(ids)
        for row, text in enumerate(texts):
            ids[row, : len(text)], mask[row, : len(text)] = torch.tensor(text), 1
        device = self.model.device
        with torch.inference_mode():
            found = self.model(input_ids=ids.to(device), attention_mask=mask.to(device))
        return list(found.logits.float().tolist())


@cache
def _load(process: int, name_or_path: str, device: str) -> _Loaded:
    """Load the model, once in a process.

    InputError: there is none of that name, or it gives no score.
    """
    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(EXTRA, name=error.name) from None
    if device == "auto":
        mac = "mps" if torch.backends.mps.is_available() else "cpu"
        device = "cuda" if torch.cuda.is_available() else mac
    try:
        tokenizer = AutoTokenizer.from_pretrained(name_or_path)
        model, loading = AutoModelForSequenceClassification.from_pretrained(
            name_or_path, dtype="auto", output_loading_info=True
        )
        model = model.to(device).eval()
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise InputError(
            f"{name_or_path!r} cannot be loaded as a reward model on {device!r} "
            f"({' '.join(str(error).split())[:200]}); give a folder or a name on the "
            "Hub with a model for "
            "sequence classification and its tokenizer"
        ) from None
    if missing := sorted(loading["missing_keys"]):
        raise InputError(
            f"{name_or_path!r} is no reward model: it has no {missing[0]!r}, which "
            "would be made up at random"
        )
    special = [
        token.content
        for token in tokenizer.added_tokens_decoder.values()
        if token.special
    ]
    pattern = (
        "|".join(map(re.escape, sorted(filter(None, special), key=len, reverse=True)))
        or r"(?!)"
    )
    config = model.config.get_text_config()
    longest = min(
        tokenizer.model_max_length,
        getattr(config, "max_position_embeddings", None) or math.inf,
    )
    return _Loaded(
        tokenizer, model, re.compile(pattern), config.pad_token_id, int(longest)
    )


@dataclass(frozen=True, repr=False, eq=False)
class reward_model(Primitive):
    """What a reward model of transformers gives each completion; a batch component.

    `name_or_path` is a model for sequence classification, from a folder or the Hub,
    that gives one logit; of one with several labels, `label` is the number of the good
    one, whose logit is its log-odds against the others. `map` says what a logit scores:
    "sigmoid", or (low, high) for 0 at low, 1 at high, straight in between and clipped.
    Prompt (a text or messages) and completion are written by the tokenizer's chat
    template, or with ``chat=False``, or where there is none, as prompt, line break,
    completion. A special token that a completion spells out is read as plain text. Of a
    text of more than `max_length` tokens (default: what the model can read) the first
    token and the end are kept; its verdict says ``truncated``, and how many were is
    logged. Each verdict has the ``logit``.

    Not judged, with the reason in the verdict, is a completion that is no text, one
    that the template refuses, and a logit that is no finite number. ModuleNotFoundError
    without the extra 'models'; InputError before the first row: no such model, one
    without a trained head, several labels and no `label`.

    >>> reward_model("my/reward-model", map=(-4, 4), batch_size=16)
    rk.judges.reward_model('my/reward-model', map=(-4, 4), batch_size=16)
    """

    together = "all"
    asks_model = True
    name_or_path: str
    _: KW_ONLY
    map: Annotated[Any, _map] = "sigmoid"
    label: Count | None = None
    chat: bool = True
    device: str = "auto"
    batch_size: int = 8  # our choice: fits small machines
    max_length: int | None = None

    @property
    def factory(self) -> str:
        return "rk.judges.reward_model"

    def prepare(self) -> None:
        """Load it. InputError: see above."""
        _logit(
            self.name_or_path, [0.0] * self._model.model.config.num_labels, self.label
        )

    @property
    def _model(self) -> _Loaded:
        return _load(os.getpid(), self.name_or_path, self.device)

    def __call__(
        self, prompt: Sequence[Any], completion: Sequence[Any]
    ) -> list[float | NotJudged]:
        model = self._model
        longest = min(self.max_length or model.longest, model.longest)
        scores: list[Any] = [None] * len(completion)
        verdicts: list[dict[str, Any]] = [{} for _ in scores]
        texts: dict[int, list[int]] = {}
        for row, columns in enumerate(zip(prompt, completion, strict=True)):
            try:
                tokens = texts[row] = model.tokens(*columns, self.chat)
                if len(tokens) > longest:
                    verdicts[row]["truncated"] = True
                    texts[row] = tokens[:1] + tokens[len(tokens) - longest + 1 :]
            except NotJudged as error:
                scores[row], verdicts[row]["reason"] = error, str(error)
        order = sorted(
            texts, key=lambda row: len(texts[row]), reverse=True
        )  # too large shows at once
        size = self.batch_size if model.pad is not None else 1
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            for row, logits in zip(
                rows, model.logits([texts[row] for row in rows]), strict=True
            ):
                scores[row], verdict = _judged(
                    self.name_or_path, logits, self.label, self.map
                )
                verdicts[row] |= verdict
        if cut := sum("truncated" in verdict for verdict in verdicts):
            told = (
                f"{cut} of {len(verdicts)} texts had more than {longest} "
                "tokens, and lost their beginning"
            )
            log.warning("%s: %s", self.name_or_path, told)
        note(VERDICT, verdicts)
        return scores


class _Endpoint(Session):
    """Calls to a server that answers with logits, as a text that lists them."""

    async def send(self, request: Mapping[str, Any]) -> dict[str, Any]:
        import openai

        url = self.server.base_url
        try:
            body = await self.connected().post(url, body=dict(request), cast_to=object)
            logits = [float(value) for value in body["data"][0]["probs"]]
            if not logits or not all(map(math.isfinite, logits)):
                raise LookupError
        except openai.NotFoundError as error:
            self.spent.ended = (
                f"there is no reward model {self.server.model!r} at "
                f"{self.server.address!r}; give the whole "
                "address, such as 'http://localhost:8000/classify' "
                f"({self.server.reason(error)})"
            )
            raise ValueError(self.spent.ended) from None
        except (LookupError, TypeError, AttributeError):
            raise ValueError(f"it has no logits: {preview(body)}") from None
        asked = (body.get("usage") or {}).get("prompt_tokens")
        counts = {"prompt_tokens": asked, "completion_tokens": 0}
        return {"completion": json.dumps(logits), "finish_reason": "stop", **counts}


@dataclass(frozen=True, repr=False, eq=False)
class reward_endpoint(AskingServer):
    """What a reward model on a server gives a completion; an async component.

    `url` is the whole address of vLLM's /classify (or another server's with ``{"model",
    "messages", "use_activation": false}`` in and ``{"data": [{"probs": [logits]}]}``
    out), `model` the name it is served by; the key is OPENAI_API_KEY. The server writes
    prompt and completion by its own chat template, special tokens in them included;
    ``chat=False`` sends prompt, line break, completion as ``input``. `map` and `label`
    are those of `reward_model`; `limits` and `cache` those of `judge`.

    Not judged, with the reason: a completion that is no text, one that is too long for
    the server, a call that failed for good, an answer without logits, or with others
    than one label's and no `label`.

    >>> reward_endpoint("http://localhost:8000/classify", model="my/reward-model")
    rk.judges.reward_endpoint('http://localhost:8000/classify', model='my/reward-model')
    """

    url: str
    _: KW_ONLY
    model: str
    map: Annotated[Any, _map] = "sigmoid"
    label: Count | None = None
    chat: bool = True
    limits: Limits = DEFAULT
    cache: bool = True

    @property
    def session(self) -> Session:
        return session_of(
            _Endpoint, self.url, self.model, self.limits, None, self.cache
        )

    async def __call__(self, prompt: Any, completion: Any) -> float:
        messages = _messages(prompt, completion)
        asked = (
            {"messages": messages}
            if self.chat
            else {"input": f"{shown(prompt)}\n{completion}"}
        )
        (answer,) = answers = await self.answers(
            [({**asked, "use_activation": False}, 0, json.loads)]
        )
        score: float | NotJudged = NotJudged(answer.failed)
        verdict: dict[str, Any] = {"reason": answer.failed}
        if not answer.failed:
            score, verdict = _judged(self.model, answer.value, self.label, self.map)
        note(VERDICT, {**verdict, **self.paid(answers)})
        if isinstance(score, NotJudged):
            raise score
        return score
