"""What primitives cannot be made of or asked with: the call, and words of the sentence that says so."""

import math

import pytest

import rewardkit as rk

extract, measure, verify, weigh, gate = rk.extract, rk.measure, rk.verify, rk.weigh, rk.gate
TAG = extract.tag("a")


REFUSED = (
    (lambda: extract.after(" \n"), "marker=' \\n'", "empty"),
    (lambda: extract.after("#", until="word"), "until='word'", "'line'"),
    (lambda: extract.pattern("("), "pattern '(' does not compile"),
    (lambda: extract.pattern("a", group=1), "no group 1", "[0]"),
    (lambda: extract.pattern("a", timeout=0), "timeout=0", "above 0"),
    (lambda: extract.json_value("a..b"), "path='a..b'", "empty key"),
    (lambda: extract.tool_call(""), "name=''", "name of a tool"),
    (lambda: extract.choice("AA"), "options='AA'", "different"),
    (lambda: extract.gsm8k("loose"), "mode='loose'", "'strict'", "'flexible'"),
    (lambda: extract.answer_phrase(language="de"), "language='de'", "'any'"),
    (lambda: extract.within(TAG), "within takes extractors", "none"),
    (lambda: extract.within(extract.every(TAG), TAG), "every(within("),
    (lambda: extract.boxed(which="middle"), "which='middle' is not known; use one of 'first', 'last'"),
    (lambda: rk.siblings.novelty("cosine"), "method='cosine'", "'ratio'"),
    (lambda: rk.siblings.majority(same="math_equal"), "same='math_equal'", "give a function"),
    (lambda: rk.siblings.rank(of="a b"), "of='a b'", "name of an earlier component"),
    (lambda: rk.siblings.length(zero_from=1), "zero_from=1", "above 1"),
    (lambda: measure.tags(), "tags('think', 'answer')"),
    (lambda: measure.tags("a b"), "'a b' cannot be read"),
    (lambda: measure.tags("a", "A+"), "each name once", "('a', 'A+')"),
    (lambda: measure.keywords(), "one or more words"),
    (lambda: measure.keywords("a", mode="count"), "full_at=None do not go together"),
    (lambda: measure.regex("(" * 5000 + ")" * 5000), "does not compile", "recursion"),
    (lambda: measure.repetition(kind="loop", ngram=3), "ngram=3", "kind='loop'"),
    (lambda: measure.length(), "full_until=None, zero_from=None, full_from=0"),
    (lambda: measure.length(full_until=5, zero_from=5), "length", "full_until=5, zero_from=5"),
    (lambda: measure.length(full_until=5, zero_from=9, full_from=3, zero_until=3), "zero_until=3"),
    (lambda: measure.overlong(limit=5, buffer=6), "buffer=6 is more than limit=5"),
    (lambda: measure.turns(full_until=5, zero_from=5), "turns", "full_until=5, zero_from=5"),
    (lambda: measure.tool_calls(mode="all"), "mode='all'", "names of tools"),
    (lambda: measure.calls_within(2, zero_from=2), "zero_from=2", "whole number from 3"),
    (lambda: measure.json_schema({"type": "strin"}), '"strin"', "at $.type"),
    (lambda: measure.json_schema({"$ref": "http://e.org/a"}), "'http://e.org/a'", "nothing is fetched"),
    (lambda: measure.json_schema({"$ref": "#/$defs/x"}), "'/$defs/x' does not exist"),
    (lambda: measure.json_schema({"$schema": "http://e.org"}), "Unknown meta-schema: 'http://e.org'"),
    (lambda: measure.json_schema({"enum": {1, 2}}), "what JSON cannot"),
    (lambda: measure.json_schema("person.json"), "schema='person.json'", "dict"),
    (lambda: verify.numbers_equal("1", "1", absolute=math.inf), "absolute=inf"),
    (lambda: verify.closeness("1", None, zero_at=0), "zero_at=0", "above 0"),
    (lambda: verify.closeness("1", None, steps=(0.1, 0.5)), "pairs of (error, credit)"),
    (lambda: verify.closeness("1", "1", steps=((0.1, 0.5), (0.1, 0.4))), "errors that rise"),
    (lambda: verify.closeness("1", "1", steps=((0, 1),), zero_at=2), "exclude each other"),
    (lambda: verify.matches("a", "a", exact=True, unicode_form="NFKC"), "exclude each other"),
    (lambda: verify.choice_equal("A", "A", options="Aa"), "options='Aa'", "two or more"),
    (lambda: verify.json_equal("1", "1", text="loose"), "text='loose'", "'exact', 'matches'"),
    (lambda: gate("c"), "gate('c') has no condition", "at_least="),
    (lambda: gate("", at_least=1), "'' is not the name of a column"),
    (lambda: gate("c", at_least=2, at_most=1), "never open", "at_least=2"),
    (lambda: weigh.standardise(clip=0), "clip=0"),
)


@pytest.mark.parametrize(("call", "words"), [(call, words) for call, *words in REFUSED])
def test_an_option_without_meaning_is_refused_in_a_sentence(call, words):
    with pytest.raises((ValueError, TypeError)) as caught:
        call()
    assert [word for word in words if word not in str(caught.value)] == [], str(caught.value)
