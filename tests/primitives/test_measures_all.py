"""What holds for all measures, gates and transforms: scores, missing values, pickle, repr; frozen."""

import dataclasses
import pickle
import re

import inventory
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rewardkit as rk

measure, weigh, gate = rk.measure, rk.weigh, rk.gate


def name_of(made):
    return repr(made).partition("(")[0]


def no_hits(text):
    return text == "0 hits"


def letters(text):
    return list(text)


OF_TEXT = (
    *inventory.MEASURES,
    measure.tags("think?", "step+(answer)", partial=True, outside="before", prefilled=True),
    measure.length(full_until=2, zero_from=10, unit="tokens", tokenizer=letters),
    measure.keywords("So", mode="any", case=True),
    measure.json_schema({"required": ["a"]}, partial=True),
    measure.regex(r"so$|^<", timeout=0.5),
)
OF_MESSAGES = (
    *inventory.TRANSCRIPTS,
    measure.tool_calls("search", "read", mode="all"),
    measure.calls_within(2, name="search", zero_from=9),
    measure.failed_calls(failed=no_hits),
    measure.repeated_calls(retries=0, failed=no_hits),
)
BESIDE_A_TRUTH = measure.similarity(), measure.similarity("token_set"), measure.citations("f1", label="Doc")
OTHERS = (
    weigh.standardise(clip=2.5, within="batch"),
    weigh.min_max(),
    weigh.rank(within="batch"),
    gate("correct", at_least=0.0, at_most=0.5),
    gate("flag", equals=False),
    gate(no_hits),
)
ALL = (*OF_TEXT, *OF_MESSAGES, *BESIDE_A_TRUTH, *OTHERS)
NAMES = {name: getattr(module, name) for module in (measure, weigh) for name in module.__all__}
NAMES |= {"gate": gate, "no_hits": no_hits, "letters": letters}


@pytest.mark.parametrize("made", ALL, ids=repr)
def test_what_is_made_is_a_frozen_record_that_prints_as_the_call_that_makes_it(made):
    again = eval(repr(made), NAMES)
    assert (again, hash(again), dataclasses.replace(made)) == (made, hash(made), made)
    assert [made == other for other in ALL].count(True) == 1
    if not {"no_hits", "letters"} & set(re.findall(r"\w+", repr(made))):  # functions of no importable module
        assert pickle.loads(pickle.dumps(made)) == made
    with pytest.raises(AttributeError):
        made.within = made.timeout = None


@pytest.mark.parametrize("made", ALL, ids=repr)
def test_a_wrong_type_of_any_option_is_refused_in_a_sentence_that_names_it(made):
    for option in dataclasses.fields(made):
        for wrong in (object(), b"", [object()]) if option.name != "equals" else ():
            with pytest.raises((ValueError, TypeError)) as caught:
                dataclasses.replace(made, **{option.name: wrong})
            assert {option.name, "pattern", "limits"} & set(re.findall(r"\w+", str(caught.value))), (
                caught.value
            )


PIECES = "<think>|</think>|<answer>|</answer>|so|first| |\n|a|\ud800|\x00|\u202e".split("|")
TEXTS = st.lists(st.sampled_from(PIECES), max_size=25).map("".join) | st.text(max_size=40)


@pytest.mark.parametrize("made", OF_TEXT, ids=repr)
@given(completion=TEXTS)
def test_a_measure_of_text_is_a_score_that_white_space_around_it_leaves_alone(made, completion):
    score = made(completion)
    assert isinstance(score, float)
    assert 0.0 <= score <= 1.0
    if getattr(made, "unit", "words") == "words" and name_of(made) != "regex":
        assert made(f"\n {completion}\t") == score
    assert made(completion) == score


@pytest.mark.parametrize("made", [*OF_TEXT, *OF_MESSAGES], ids=repr)
def test_what_is_no_text_or_no_list_of_messages_is_not_judged(made):
    others = (["so"],) if made in OF_TEXT else ({"role": "assistant"}, b"")
    for missing in (None, float("nan"), 5, *others):
        assert made(missing) is None, missing
