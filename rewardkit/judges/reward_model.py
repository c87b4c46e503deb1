"""Judges `reward_model` and `reward_endpoint`: a trained reward model's score."""

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
from rewardkit.judges.connection import Connection
from rewardkit.judges.limits import Limits
from rewardkit.judges.model_judge import DEFAULT_LIMITS, AskingServer, column_text
from rewardkit.judges.session import Session, session_of
from rewardkit.primitives.primitive import VERDICT, Count, Primitive, note

logger = logging.getLogger(__name__)

NEEDS_MODELS = (
    "a reward model needs torch and transformers, of the extra 'models': pip install "
    "'reward-workbench[models]'"
)


def _map(option: str, value: Any) -> Any:
    if value == "sigmoid":
        return value
    ends = value if isinstance(value, tuple | list) else ()
    are_numbers = all(type(end) in (int, float) and math.isfinite(end) for end in ends)
    if len(ends) != 2 or not are_numbers or ends[0] >= ends[1]:
        raise ValueError(
            f"{option}={value!r} does not fit; give 'sigmoid', or (low, high): the "
            "logits that score 0 and 1"
        )
    return value


def _logit(name: str, logits: Sequence[float], label: int | None) -> float:
    """Return the single logit, or the log-odds of a label against the others.

    NotJudged: it is not finite. InputError: `label` does not fit the logits.
    """
    is_known = len(logits) == 1 if label is None else label < len(logits)
    if not is_known:
        raise InputError(
            f"{name!r} has {len(logits)} labels, and label={label}; give the number "
            "of the good one, from 0"
        )
    others = list(logits)
    logit = others.pop(label or 0)
    if others:
        largest = max(others)
        total = sum(math.exp(value - largest) for value in others)
        logit -= largest + math.log(total)
    if not math.isfinite(logit):
        raise NotJudged(f"the reward model gives {logit}, which is no score")
    return logit


def _judged(
    name: str, logits: Sequence[float], label: int | None, how: Any
) -> tuple[float | NotJudged, dict[str, Any]]:
    """Return the score for a text's logits, or NotJudged, and the verdict."""
    try:
        logit = _logit(name, logits, label)
    except (NotJudged, InputError) as error:
        return NotJudged(str(error)), {"reason": str(error)}
    if how == "sigmoid":
        score = (1 + math.tanh(logit / 2)) / 2
    else:
        low, high = how
        score = min(1.0, max(0.0, (logit - low) / (high - low)))
    return score, {"logit": logit, "reason": f"the logit is {logit:.4g}"}


def _messages(prompt: Any, completion: Any) -> list[dict[str, Any]]:
    """Return the conversation to score. NotJudged: no text, or no messages."""
    if not isinstance(completion, str):
        raise NotJudged("the completion is no text")
    if isinstance(prompt, str):
        prompt = [{"role": "user", "content": prompt}]
    is_list = isinstance(prompt, Sequence)
    if not is_list or not all(isinstance(message, Mapping) for message in prompt):
        raise NotJudged("the prompt is neither a text nor messages")
    return [*map(dict, prompt), {"role": "assistant", "content": completion}]


@dataclass(frozen=True, eq=False)
class _LoadedModel:
    """A model in memory, with its tokenizer.

    `special` matches its special tokens. `pad` is the id of the padding token, by which
    the model finds the end of a text; without one it reads one text at a time.
    `longest` is the most tokens that it reads.
    """

    tokenizer: Any
    model: Any
    special: re.Pattern[str]
    pad: int | None
    longest: int

    def tokens(self, prompt: Any, completion: Any, chat: bool) -> list[int]:
        """Return the tokens of the conversation.

        Special tokens spelled in the completion are encoded as plain text. NotJudged:
        the text is empty, or the template fails.
        """
        messages = _messages(prompt, completion)
        # a zero-width space splits the token
        plain = self.special.sub(
            lambda token: f"{token[0][0]}\u200b{token[0][1:]}", completion
        )
        messages[-1]["content"] = plain
        by_template = chat and bool(self.tokenizer.chat_template)
        text = f"{column_text(prompt)}\n{plain}"
        try:
            if by_template:
                text = self.tokenizer.apply_chat_template(messages, tokenize=False)
            encoded = self.tokenizer(
                text, add_special_tokens=not by_template, verbose=False
            )
        except Exception as error:  # a template is the model's own program
            raise NotJudged(
                f"its tokenizer does not take the messages: {describe_error(error)}"
            ) from None
        if not encoded["input_ids"]:
            raise NotJudged("there is nothing to read in prompt and completion")
        return list(encoded["input_ids"])

    def logits(self, texts: Sequence[Sequence[int]]) -> list[list[float]]:
        """Return the logits, (texts, labels), of texts as lists of tokens."""
        import torch

        shape = (len(texts), max(map(len, texts)))
        ids = torch.full(shape, self.pad or 0)
        mask = torch.zeros_like(ids)
        for row, text in enumerate(texts):
            ids[row, : len(text)] = torch.tensor(text)
            mask[row, : len(text)] = 1
        device = self.model.device
        with torch.inference_mode():
            output = self.model(
                input_ids=ids.to(device), attention_mask=mask.to(device)
            )
        return list(output.logits.float().tolist())


@cache
def _load(process: int, name_or_path: str, device: str) -> _LoadedModel:
    """Load the model, once per process.

    InputError: no such model, or it has no trained head.
    """
    try:
        import torch
        from transformers import AutoModelForSequenceClassification, AutoTokenizer
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(NEEDS_MODELS, name=error.name) from None
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
            "Hub with a model for sequence classification and its tokenizer"
        ) from None
    if missing := sorted(loading["missing_keys"]):
        raise InputError(
            f"{name_or_path!r} is no reward model: it has no {missing[0]!r}, which "
            "would be made up at random"
        )
    added = tokenizer.added_tokens_decoder.values()
    special = [token.content for token in added if token.special and token.content]
    special.sort(key=len, reverse=True)
    pattern = re.compile("|".join(map(re.escape, special)) or r"(?!)")
    config = model.config.get_text_config()
    positions = getattr(config, "max_position_embeddings", None) or math.inf
    longest = int(min(tokenizer.model_max_length, positions))
    return _LoadedModel(tokenizer, model, pattern, config.pad_token_id, longest)


@dataclass(frozen=True, repr=False, eq=False)
class reward_model(Primitive):
    """The score of a completion by a reward model of transformers; a batch component.

    `name_or_path` is a model for sequence classification, from a folder or the Hub,
    with one logit. If it has several labels, `label` is the index of the good one, and
    the logit is its log-odds against the others. `map` turns a logit into a score:
    "sigmoid", or (low, high), linear from 0 at low to 1 at high, and clipped.

    Prompt (a text or messages) and completion are formatted with the tokenizer's chat
    template. With ``chat=False``, or without a template, the text is prompt, line
    break, completion. A special token spelled in a completion is encoded as plain text.
    A text longer than `max_length` tokens (default: the model's limit) is cut to its
    first token and its end; its verdict says ``truncated``, and the number of such
    texts is logged. Each verdict has the ``logit``.

    A completion is not judged, with the reason in the verdict, if it is no text, the
    template fails, or the logit is not finite. ModuleNotFoundError: the extra 'models'
    is missing. InputError, before the first row: no such model, no trained head,
    several labels without `label`.

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
        """Load the model. InputError: as above."""
        _logit(
            self.name_or_path, [0.0] * self._model.model.config.num_labels, self.label
        )

    @property
    def _model(self) -> _LoadedModel:
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
                scores[row] = error
                verdicts[row]["reason"] = str(error)
        # longest first, so that a batch too large for memory fails at once
        order = sorted(texts, key=lambda row: len(texts[row]), reverse=True)
        size = self.batch_size if model.pad is not None else 1
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            batch = model.logits([texts[row] for row in rows])
            for row, logits in zip(rows, batch, strict=True):
                scores[row], verdict = _judged(
                    self.name_or_path, logits, self.label, self.map
                )
                verdicts[row] |= verdict
        if cut := sum("truncated" in verdict for verdict in verdicts):
            logger.warning(
                "%s: %d of %d texts had more than %d tokens, and lost their beginning",
                self.name_or_path,
                cut,
                len(verdicts),
                longest,
            )
        note(VERDICT, verdicts)
        return scores


class _Endpoint(Connection):
    """Requests to a server of logits, which become the text of the answer as JSON."""

    async def send(self, request: Mapping[str, Any]) -> dict[str, Any]:
        import openai

        url = self.server.base_url
        try:
            body = await self.client.post(url, body=dict(request), cast_to=object)
            logits = [float(value) for value in body["data"][0]["probs"]]
            if not logits or not all(map(math.isfinite, logits)):
                raise LookupError
        except openai.NotFoundError as error:
            self.end(
                f"there is no reward model {self.server.model!r} at "
                f"{self.server.address!r}; give the whole address, such as "
                f"'http://localhost:8000/classify' ({self.server.reason(error)})"
            )
            raise ValueError(self.ended) from None
        except (LookupError, TypeError, AttributeError):
            raise ValueError(f"it has no logits: {preview(body)}") from None
        return {
            "completion": json.dumps(logits),
            "finish_reason": "stop",
            "prompt_tokens": (body.get("usage") or {}).get("prompt_tokens"),
            "completion_tokens": 0,
        }


@dataclass(frozen=True, repr=False, eq=False)
class reward_endpoint(AskingServer):
    """The score of a completion by a reward model on a server; an async component.

    `url` is the full address of vLLM's /classify, or of a server that takes ``{"model",
    "messages", "use_activation": false}`` and returns ``{"data": [{"probs":
    [logits]}]}``. `model` is its name there; the key is OPENAI_API_KEY. The server
    formats prompt and completion with its own chat template, and interprets special
    tokens in them; ``chat=False`` sends prompt, line break, completion as ``input``.
    `map` and `label` are those of `reward_model`; `limits` and `cache` those of
    `judge`.

    A completion is not judged, with the reason, if it is no text or too long for the
    server, the call failed after all retries, the answer has no logits, or it has
    several and `label` is not set.

    >>> reward_endpoint("http://localhost:8000/classify", model="my/reward-model")
    rk.judges.reward_endpoint('http://localhost:8000/classify', model='my/reward-model')
    """

    url: str
    _: KW_ONLY
    model: str
    map: Annotated[Any, _map] = "sigmoid"
    label: Count | None = None
    chat: bool = True
    limits: Limits = DEFAULT_LIMITS
    cache: bool = True

    @property
    def session(self) -> Session:
        return session_of(
            _Endpoint, self.url, self.model, self.limits, None, self.cache
        )

    async def __call__(self, prompt: Any, completion: Any) -> float:
        request: dict[str, Any] = {"messages": _messages(prompt, completion)}
        if not self.chat:
            request = {"input": f"{column_text(prompt)}\n{completion}"}
        request["use_activation"] = False
        answers = await self.answers([(request, 0, json.loads)])
        answer = answers[0]
        score: float | NotJudged = NotJudged(answer.failed)
        verdict: dict[str, Any] = {"reason": answer.failed}
        if not answer.failed:
            score, verdict = _judged(self.model, answer.value, self.label, self.map)
        note(VERDICT, {**verdict, **self.expenses(answers)})
        if isinstance(score, NotJudged):
            raise score
        return score
