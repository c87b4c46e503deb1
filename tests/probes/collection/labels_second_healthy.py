"""The labels of second_healthy.py: what judges rightly, however it may look."""

from __future__ import annotations

import functools

from .labelled import Labelled, show

__all__ = ["LABELS"]


def healthy(name, data, why, *shows, **more):
    """A label of a reward in second_healthy.py, under its own name."""
    return Labelled(name, "second_healthy.py", name, data, (), why, shows, held_aside=True, **more)


final = functools.partial(show, ground_truth="84")
france = functools.partial(show, ground_truth="D", data_source="geo-quiz", extra_info={})
query = functools.partial(show, ground_truth="SELECT title FROM films WHERE budget > 35", data_source="sql")
TIMER = '{"name": "set_timer", "arguments": {"minutes": 9, "label": "Ada"}}'
call = functools.partial(show, ground_truth=TIMER)
sums = functools.partial(
    show, ground_truth={"target": 64, "numbers": [3, 13, 17]}, data_source="countdown", extra_info={}
)
boxed = functools.partial(show, ground_truth=r"\frac{5}{8}")


def said(text):
    """A completion as chat messages."""
    return [{"role": "assistant", "content": text}]


LABELS = (
    healthy(
        "exact_last_line",
        "final_lines",
        "Strict: one announcement, on the last line, in the words of the truth.",
        final("Sure.\nFinal answer: 84 \n"),
        final("Sure.\nFinal answer: 84.0", expected="low"),
        final("Final answer: 83\nFinal answer: 84", expected="low"),
    ),
    healthy(
        "signed_letter",
        "lettered",
        "On a scale from -1 to 1 no letter is between wrong and right.",
        france("Answer: (D)", expected=1.0),
        france("Answer: (B)", expected=-1.0),
        france("Answer: (B) or (D)", expected=-0.5),
    ),
    healthy(
        "iso_date",
        "dates",
        "Strict: another form of the same day is not what was asked for.",
        show("<think>Hm.</think><answer>\n2022-09-30\n</answer>", "2022-09-30"),
        show("<think>Hm.</think><answer>30 September 2022</answer>", "2022-09-30", "low"),
        show("<think><answer>2022-09-30</answer></think>", "2022-09-30", "low"),
    ),
    healthy(
        "verdict_word",
        "verdicts",
        "Two classes: a wrong verdict earns nothing, and none at all loses a half.",
        show("<think>Hm.</think><answer>No</answer>", "no", 1.0),
        show("<think>Hm.</think><answer>yes</answer>", "no", 0.0),
        show("<think>Hm.</think><answer>yes and no</answer>", "no", -0.5),
    ),
    healthy(
        "whole_call",
        "tool_calls",
        "Strict: one call after the thought, the same as the wanted one.",
        call(f"<think>Hm.</think><tool_call>\n{TIMER}\n</tool_call>"),
        call(f"<think><tool_call>{TIMER}</tool_call></think>", expected="low"),
        call("<tool_call>{}</tool_call>", expected="low"),
    ),
    healthy(
        "judged_where_there_is_a_truth",
        "gaps",
        "Nothing is said of prompts that have no truth.",
        show("<answer>84</answer>", "", "none"),
        show("", "", "none"),
        show("<answer>84</answer>", "84", 1.0),
    ),
    healthy(
        "invoice_as_read",
        "invoices",
        "Strict: all of the fields or nothing, in one fence; the order of the keys is free.",
        show('```json\n{"b": 2, "a": true}\n```', '{"a": true, "b": 2}'),
        show('```json\n{"a": true}\n```', '{"a": true, "b": 2}', "low"),
        show("```json\n{}\n```", '{"a": true, "b": 2}', "low"),
    ),
    healthy(
        "same_value_boxed",
        "boxed_values",
        "Lenient on purpose: a fraction, a slash and a decimal are the same value.",
        boxed(r"\boxed{5/8}"),
        boxed(r"\boxed{ 0.625 }"),
        boxed(r"\boxed{\dfrac{10}{16}}"),
        boxed(r"\boxed{0.62}", expected="low"),
        boxed(r"\boxed{-\frac{5}{8}}", expected="low"),
    ),
    healthy(
        "same_query",
        "queries",
        "Layout, case and the last semicolon are free; anything else is another query.",
        query("```sql\nselect title\nfrom films\nwhere budget > 35;\n```"),
        query("```sql\nSELECT title FROM films WHERE budget >= 35\n```", expected="low"),
        query("```sql\nSELECT budget FROM films WHERE title > 35\n```", expected="low"),
    ),
    healthy(
        "same_syntax",
        "code",
        "The same syntax tree, however it is laid out; broken source is wrong and no error.",
        show("```python\ndef f(x):  # twice\n  return (2 * x)\n```", "def f(x):\n    return 2 * x"),
        show("```python\ndef f(x):\n    return 2 *\n```", "def f(x):\n    return 2 * x", 0.0),
        show("```python\n```", "def f(x):\n    return 2 * x", 0.0),
    ),
    healthy(
        "exact_match_of_names",
        "short_texts",
        "SQuAD's exact match: case, articles and punctuation are free, and it waits for a service.",
        show("<answer>the PARIS!</answer>", "Paris"),
        show("<answer>Paris or Rome</answer>", "Paris", "low"),
        show("<answer></answer>", "Paris", "low"),
    ),
    healthy(
        "quantity",
        "quantities",
        "The number with another unit is a part of the way, and it is said to be.",
        show("Answer: 75 km/h", "75 km/h", 1.0),
        show("Answer: 75 km", "75 km/h", 0.3),
        show("Answer: 57 km/h", "75 km/h", 0.0),
    ),
    healthy(
        "graded_call",
        "tool_calls",
        "A little for a call that can be run and for some of its arguments, and it is said to be a part.",
        call(f"<tool_call>{TIMER}</tool_call>", expected=1.0),
        call(f"<tool_call>{TIMER.replace('9', '8')}</tool_call>", expected=0.235),
        call('<tool_call>{"name": "", "arguments": {}}</tool_call>', expected=0.1),
    ),
    healthy(
        "label_overlap",
        "ticket_labels",
        "An overlap by its nature, squared so that a list of everything is not worth much.",
        show('Labels: ["login", "billing"]', ["billing", "login"], 1.0),
        show('Labels: ["login", "cancel"]', ["billing", "login"], 1 / 9),
        show("Labels: []", ["billing", "login"], 0.0),
    ),
    healthy(
        "cost_of_the_label",
        "entailments",
        "Costs: nothing for the right label and less than nothing for all else.",
        show("Label: neutral", "neutral", 0.0),
        show("Label: neutral", "entailment", -1.0),
        show("Label: none of them", "neutral", -2.0),
    ),
    healthy(
        "spare_words",
        "tagged_numbers",
        "The bonus for few words is behind a gate that only right answers open.",
        final("<think>Hm.</think><answer>84</answer>", expected=1.0),
        final("<think>Hm.</think><answer>85</answer>", expected=0.1),
        final(f"<think>{'word ' * 300}</think><answer>84</answer>", expected=0.8),
    ),
    healthy(
        "shortest_of_the_group",
        "tagged_numbers",
        "A bonus among siblings that is declared as one, for right answers only.",
        final("<think>Hm.</think><answer>84</answer>"),
        final("<answer>85</answer>", expected="low"),
    ),
    healthy(
        "overlong_is_punished",
        "lettered",
        "Long completions lose as much whether they are right or not; no length earns anything.",
        france("Answer: (D)", expected=1.0),
        france("word " * 400 + "\nAnswer: (D)", expected=0.49),
        france("word " * 900, expected=-2.0),
    ),
    healthy(
        "chat_functions",
        "chat_final_lines",
        "Two functions of a trainer's list: two for the number and a tenth for its form.",
        show(said("Sure.\nFinal answer: 84"), "84", 2.1),
        show(said("Sure.\nFinal answer: 85"), "84", 0.1),
        show(said("84"), "84", 0.0),
    ),
    healthy(
        "form_of_its_source",
        "mixed_sources",
        "Two sources, each strictly in its own form.",
        show("So.\n#### 84", "84", data_source="gsm8k"),
        show("So. The answer is (B).", "B", data_source="mmlu"),
        show("The answer is (A). The answer is (B).", "B", "low", data_source="mmlu"),
        show("So.\n#### 840", "84", "low", data_source="gsm8k"),
    ),
    healthy(
        "makes_the_target",
        "equations",
        "Any expression that makes the target of the numbers is right, and nothing is evaluated by Python.",
        sums("<answer>(13) + 17*3</answer>", expected=1.0),
        sums("<answer>64</answer>", expected=0.1),
        sums("<answer>9**9**9</answer>", expected=0.0),
    ),
)
