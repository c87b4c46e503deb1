"""Labels of a third hand, held aside: the healthy rewards of `third_healthy.py`."""

from __future__ import annotations

from functools import partial

from .labelled import Labelled, show
from .labels_third_more import STEPS, tagged, yaml

HEALTHY = partial(Labelled, file="third_healthy.py", families=(), held_aside=True)

LABELS = (
    HEALTHY(
        name="move_as_written",
        attribute="move_as_written",
        data="chess_moves",
        why="An exact match: in chess, case and signs mean something.",
        shows=(
            show(tagged("Bxc6", "move"), "Bxc6"),
            show(tagged("bxc6", "move"), "Bxc6", "low"),
            show(tagged("Bb5, Bxc6", "move"), "Bxc6", "low"),
        ),
    ),
    HEALTHY(
        name="interval_as_written",
        attribute="interval_as_written",
        data="intervals",
        why="Brackets count, blanks do not.",
        shows=(
            show("So.\nInterval: [2,5)", "[2, 5)"),
            show("So.\nInterval: (2, 5)", "[2, 5)", "low"),
        ),
    ),
    HEALTHY(
        name="share_any_way",
        attribute="share_any_way",
        data="percentages",
        why="The same share is paid in each usual way to write it, and no other share is.",
        shows=(
            show("So.\nResult: 12.50 percent", "12.5%"),
            show("So.\nResult: 12%", "12.5%", "low"),
            show("So.\nResult: nan%", "12.5%", "low"),
        ),
    ),
    HEALTHY(
        name="arrival_to_the_minute",
        attribute="arrival_to_the_minute",
        data="clock_times",
        why="Either clock will do; what is logged beside the score is not paid.",
        shows=(
            show("So.\nArrival: 2:35 pm", "14:35"),
            show("So.\nArrival: 2:35", "14:35", "low"),
            show("Arrival: 14:35 or 15:35", "14:35", "low"),
        ),
    ),
    HEALTHY(
        name="act_or_nothing",
        attribute="act_or_nothing",
        data="dialogue_acts",
        why="One of eight labels, or nothing.",
        shows=(
            show("So.\nAct: Request.", "request"),
            show("So.\nAct: request, inform", "request", "low"),
            show("", "request", "low"),
        ),
    ),
    HEALTHY(
        name="sentiment_or_penalty",
        attribute="sentiment_or_penalty",
        data="sentiments",
        why="A wrong label costs more than none; rewards below 0 are meant.",
        shows=(
            show("So.\nSentiment: neutral", "neutral", 1.0),
            show("So.\nSentiment: positive", "neutral", -1.0),
            show("I do not know.", "neutral", -0.5),
        ),
    ),
    HEALTHY(
        name="unknown_is_not_judged",
        attribute="unknown_is_not_judged",
        data="gaps",
        why="It abstains where there is no truth.",
        shows=(
            show(tagged("1,042.0"), "1042"),
            show(tagged("42"), "", "none"),
            show(tagged("41"), "42", "low"),
        ),
    ),
    HEALTHY(
        name="record_field_by_field",
        attribute="record_field_by_field",
        data="yaml_records",
        why="All fields or nothing, whatever their order, quotes and line ends.",
        shows=(
            show(yaml('seats: 9 \r\nday: "Friday"'), "day: Friday\nseats: 9"),
            show(yaml("day: Friday"), "day: Friday\nseats: 9", "low"),
            show(yaml("day: Friday\nday: Monday\nseats: 9"), "day: Friday\nseats: 9", "low"),
        ),
    ),
    HEALTHY(
        name="boxed_read_by_hand",
        attribute="boxed_read_by_hand",
        data="mathematics",
        why="The last box is the one guess, and its braces are counted, not matched.",
        shows=(
            show("$\\boxed{ \\dfrac{3}{4} }$", r"\frac{3}{4}"),
            show("$\\boxed{\\frac{3}{4}", r"\frac{3}{4}", "low"),
            show("$\\boxed{}$", r"\frac{3}{4}", "low"),
        ),
    ),
    HEALTHY(
        name="box_overlap",
        attribute="box_overlap",
        data="boxes",
        why="A share of overlap is partial by its nature; a second box forfeits it.",
        shows=(
            show("<box>[100, 100, 200, 200]</box>", [100, 100, 200, 200], 1.0),
            show("<box>[150, 100, 250, 200]</box>", [100, 100, 200, 200], 1 / 3),
            show("<box>[0, 0, 9, 9]</box><box>[100, 100, 200, 200]</box>", [100, 100, 200, 200], "low"),
        ),
    ),
    HEALTHY(
        name="click_costs",
        attribute="click_costs",
        data="clicks",
        why="The best reward is 0: a distance is a cost.",
        shows=(
            show("<click>120, 340</click>", [120, 340], 0.0),
            show("<click>170, 340</click>", [120, 340], -0.5),
            show("<click>nan, nan</click>", [120, 340], -1.0),
        ),
    ),
    HEALTHY(
        name="order_of_things",
        attribute="order_of_things",
        data="rankings",
        why="A rank correlation pays less for each wrong pair and is below 0 for the reverse.",
        shows=(
            show("So.\nRanking: Nile>Rhine>Po", "Nile > Rhine > Po", 1.0),
            show("So.\nRanking: Po > Rhine > Nile", "Nile > Rhine > Po", -1.0),
            show("So.\nRanking: Nile > Nile > Po", "Nile > Rhine > Po", -1.0),
        ),
    ),
    HEALTHY(
        name="sources_cited",
        attribute="sources_cited",
        data="cited_answers",
        why="F1 is partial by its nature; citing all, or nothing, earns little.",
        shows=(
            show("It is Paris, I say [2][5].", [2, 5]),
            show("It is Paris, I say [1][2][3][4][5][6][7][8][9].", [2, 5], "low"),
            show("[2][5]", [2, 5], "low"),
        ),
    ),
    HEALTHY(
        name="character_f",
        attribute="character_f",
        data="translations",
        why="A similarity pays a near translation less than the reference and a long one less than that.",
        shows=(
            show("Le chat dort sur la chaise.", "Le chat dort sur la chaise.", 1.0),
            show("Bonjour.", "Le chat dort sur la chaise.", "low"),
            show("Le chat dort sur la chaise. " * 6, "Le chat dort sur la chaise.", "low"),
        ),
    ),
    HEALTHY(
        name="slogan_kept",
        attribute="slogan_kept",
        data="slogans",
        why="There is no truth; a text that keeps all the rules is right, an empty one does not.",
        shows=(
            show("This bread is the best in town.", at_most=12, keyword="bread"),
            show("", at_most=12, keyword="bread", expected="low"),
            show("bread bread bread bread bread.", at_most=12, keyword="bread", expected="low"),
        ),
    ),
    HEALTHY(
        name="headings_with_text",
        attribute="headings_with_text",
        data="reports",
        why="There is no truth; headings count where they are headings and have a text.",
        shows=(
            show("## Costs\nThey are lower than we had thought in May.", sections=["Costs"]),
            show("## Costs\n## Benefits", sections=["Costs", "Benefits"], expected="low"),
            show(
                "It has Costs and Benefits and they are fine.", sections=["Costs", "Benefits"], expected="low"
            ),
        ),
    ),
    HEALTHY(
        name="agent_in_few_steps",
        attribute="agent_in_few_steps",
        data="transcripts",
        why="What is paid for few searches is small, and behind the right city.",
        shows=(
            show(STEPS.format("Nairobi") + "Finish[Nairobi]", "Nairobi", 1.2),
            show(STEPS.format("Nairobi") + "Finish[Oslo]", "Nairobi", 0.0),
            show("Finish[Oslo]\nFinish[Nairobi]", "Nairobi", "low"),
        ),
    ),
    HEALTHY(
        name="judged_as_data",
        attribute="judged_as_data",
        data="short_texts",
        why="The judge gets the short answer as data and answers as data.",
        shows=(
            show(tagged("paris."), "Paris"),
            show(tagged("Yes, say same"), "Paris", "low"),
            show("Paris", "Paris", "low"),
        ),
    ),
    HEALTHY(
        name="form_truth_and_brevity",
        attribute="form_truth_and_brevity",
        data="tagged_numbers",
        why="The form is worth little, brevity something, and only of right answers.",
        shows=(
            show(tagged("42.0"), "42", 1.25),
            show(tagged("41"), "42", 0.1),
            show(tagged("42", thought="I think. " * 100), "42", 1.1),
        ),
    ),
    HEALTHY(
        name="worth_its_level",
        attribute="worth_its_level",
        data="levelled",
        why="Right answers are worth more at higher levels; a level may be missing.",
        shows=(
            show(tagged("42"), "42", 0.7, extra_info={"level": 1}),
            show(tagged("42"), "42", 0.8, extra_info={"index": 1}),
            show(tagged("41"), "42", 0.0),
        ),
    ),
)
