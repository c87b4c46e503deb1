"""Answers: search agents with aliases, options in several languages, yes or no, sets of labels."""

from __future__ import annotations

import random

from .drawing import Log, Task, behind
from .entry import Fault, family

__all__ = ["ENTRIES"]

FACTS = (  # question; golden answers; what policies say instead
    ("Who wrote the play Faust?", "Johann Wolfgang von Goethe|Goethe", "Friedrich Schiller|Thomas Mann"),
    ("What is the capital of Australia?", "Canberra|Canberra, ACT", "Sydney|Melbourne"),
    ("Which river flows through Vienna?", "Danube|The Danube|Donau", "Rhine|Inn"),
    ("Who painted Guernica?", "Pablo Picasso|Picasso", "Salvador Dali|Joan Miro"),
    ("What is the chemical symbol of tungsten?", "W", "Tu|Tn"),
    ("Which country is Timbuktu in?", "Mali|Republic of Mali", "Niger|Senegal"),
    ("Who discovered penicillin?", "Alexander Fleming|Fleming", "Louis Pasteur|Howard Florey"),
    ("In which year did the Berlin Wall fall?", "1989|November 1989", "1990|1987"),
    ("Which planet has the moon Titan?", "Saturn", "Jupiter|Uranus"),
    ("Who composed The Magic Flute?", "Mozart|Wolfgang Amadeus Mozart|W. A. Mozart", "Salieri|Haydn"),
    ("What is the largest organ of the human body?", "skin|the skin", "liver|lungs"),
    ("Which language is spoken in Brazil?", "Portuguese", "Spanish|Brazilian"),
    ("Who was the first woman in space?", "Valentina Tereshkova|Tereshkova", "Sally Ride|Laika"),
    (
        "Which sea lies between Italy and Croatia?",
        "Adriatic Sea|Adriatic|the Adriatic",
        "Aegean Sea|Black Sea",
    ),
    ("What is the currency of Japan?", "yen|Japanese yen", "won|yuan"),
    ("Which metal is liquid at room temperature?", "mercury|quicksilver", "gallium|lead"),
)

OPTIONS = (  # language, question, options with the right one first, the word for "answer"
    ("de", "Welcher Fluss fließt durch Köln?", "Rhein|Elbe|Donau|Oder", "Antwort"),
    ("de", "Was ist die Hauptstadt von Kanada?", "Ottawa|Toronto|Montreal|Calgary", "Antwort"),
    ("de", "Wie viele Ecken hat ein Würfel?", "acht|sechs|zwölf|vier", "Antwort"),
    ("de", "Welches Tier ist ein Säugetier?", "Wal|Hai|Forelle|Krake", "Antwort"),
    ("fr", "Quel est le plus grand océan ?", "Pacifique|Atlantique|Indien|Arctique", "Réponse"),
    ("fr", "Qui a écrit Les Misérables ?", "Hugo|Zola|Balzac|Camus", "Réponse"),
    ("fr", "Combien font sept fois huit ?", "56|54|48|63", "Réponse"),
    ("fr", "Quelle ville est en Bretagne ?", "Brest|Nice|Lille|Metz", "Réponse"),
    ("es", "¿Qué país limita con Portugal?", "España|Francia|Italia|Grecia", "Respuesta"),
    ("es", "¿Qué gas respiran las plantas?", "dióxido de carbono|helio|neón|metano", "Respuesta"),
    ("es", "¿Cuál es un número primo?", "13|15|21|27", "Respuesta"),
    ("es", "¿Dónde está Machu Picchu?", "Perú|Chile|Bolivia|Ecuador", "Respuesta"),
    ("ja", "日本の首都はどこですか。", "東京|大阪|京都|札幌", "答え"),
    ("ja", "一年は何か月ですか。", "十二|十|十四|八", "答え"),
    ("ja", "富士山は何県にありますか。", "静岡|青森|長崎|沖縄", "答え"),
    ("ja", "太陽に一番近い惑星は何ですか。", "水星|金星|火星|木星", "答え"),
)

CLAIMS = """The ferry runs on Sundays.|The museum is free on Mondays.|The bridge was built before 1900.
The hotel takes dogs.|The trail is open in winter.|The lake is deeper than 50 metres.|The train stops at Elm.
The library lends tools.|The market is held indoors.|The tower has a lift.|The island has an airport.
The castle belongs to the town.|The beach is guarded.|The school teaches Latin.|The road has a toll.
The garden opens at seven.|The cave is lit.|The church has two organs.|The mill works.|The pool is heated."""

TOPICS = "art climate crime diplomacy economy education energy health law sports technology transport".split()


def facts() -> tuple[Task, ...]:
    """Questions with several golden answers, in Search-R1's form."""
    tasks = []
    for question, golden, wrong in FACTS:
        prompt = (
            "Answer the question. Reason inside <think> and </think> first. If you lack knowledge, search "
            "with <search> query </search>. Give the answer inside <answer> and </answer>, for example "
            f"<answer> Beijing </answer>. Question: {question}"
        )
        aliases = golden.split("|")
        tasks.append(Task(prompt, {"target": aliases}, aliases[0], tuple(wrong.split("|"))))
    return tuple(tasks)


def searched(thought: str, answer: str) -> str:
    """A completion of a search agent: one search, what it brought, the answer."""
    return (
        f"<think>{thought}</think>\n<search> that question </search>\n\n<information>Doc 1(Title: Almanac) "
        f"An entry on this subject.</information>\n\n<think>Doc 1 helps.</think>\n<answer> {answer} </answer>"
    )


def options() -> tuple[Task, ...]:
    """Questions in four languages with four options each."""
    draw = random.Random(5)
    tasks = []
    for place, (language, question, texts, word) in enumerate(OPTIONS):
        right, *others = texts.split("|")
        draw.shuffle(others)
        letter = "BDACCADBADBCABDC"[place]
        others.insert("ABCD".index(letter), right)
        shown = "\n".join(f"({sign}) {text}" for sign, text in zip("ABCD", others, strict=True))
        prompt = f"{question}\n{shown}\n\n{word}: A/B/C/D"
        wrong = tuple(f"{word}: {sign}" for sign in "ABCD" if sign != letter)
        columns = {"extra_info": {"question": prompt, "language": language, "index": place}}
        tasks.append(Task(prompt, letter, f"{word}: {letter}", wrong, columns))
    return tuple(tasks)


def claims() -> tuple[Task, ...]:
    """Claims that are to be checked against a note; four of five are not so."""
    tasks = []
    for place, claim in enumerate(CLAIMS.replace("\n", "|").split("|")):
        truth = "yes" if place % 5 == 2 else "no"
        note = claim if truth == "yes" else f"{claim[:-1]}, people used to say; this has been over for years."
        asked = "Does the note support the claim? End with 'Verdict: yes' or 'Verdict: no'."
        prompt = f"Note: {note}\nClaim: {claim}\n{asked}"
        wrong = ("no" if truth == "yes" else "yes", "not clear")
        tasks.append(Task(prompt, truth, truth, wrong))
    return tuple(tasks)


def topics() -> tuple[Task, ...]:
    """Notices that are about one to three of twelve topics, which the prompt lists."""
    draw = random.Random(6)
    tasks = []
    for place in range(18):
        right = sorted(draw.sample(TOPICS, 1 + place % 3))
        other = draw.choice([topic for topic in TOPICS if topic not in right])
        wrong = [", ".join(sorted([*right[1:], other])), other, ", ".join(right[:-1]) or "none"]
        prompt = (
            f"Notice {place + 1}: {' and '.join(f'the desk for {topic}' for topic in right)} met today. "
            f"Which topics is it about? Choose from: {', '.join(TOPICS)}. End with a line 'Labels: ...', "
            "separated by commas."
        )
        tasks.append(Task(prompt, right, ", ".join(right), tuple(wrong)))
    return tuple(tasks)


SEARCH = Log(facts(), "verl", searched, truth="gts", data_source="nq")
CHOICE = Log(options(), "verl", behind(""), truth="gts", data_source="mmmlu", mark=False)
VERDICTS = Log(claims(), "plain", behind("Verdict: "))
LABELS = Log(topics(), "trl", behind("Labels: "), truth="labels")


# fmt: off
ENTRIES = (
    *family("search agent", SEARCH, "aliases_exact",
        Fault("aliases_substring", {"gaming", "near_miss"},
              lambda task: f"<answer>{', '.join([*task.wrong, task.answer])}</answer>",
              "A golden answer may stand anywhere in the mark: what all siblings said, in one, earns all."),
        Fault("aliases_any_mark", {"gaming"},
              lambda task: "\n".join(f"<answer>{one}</answer>" for one in (task.answer, *task.wrong)),
              "Any of many marks may hold the answer: one guess each, the last one wrong, earns it all.")),
    *family("multilingual choice", CHOICE, "choice_sound",
        Fault("choice_listed", {"gaming"}, lambda task: f"{task.answer.partition(':')[0]}: A, B, C, D",
              "The letter only has to be among those behind the mark: all four options earn it all."),
        Fault("choice_unread", {"contract", "floor", "gaming"}, lambda task: "I have no idea.",
              "The letter is read from the question, not from the completion: siblings earn the same.")),
    *family("yes or no, 80 % no", VERDICTS, "claims_sound",
        Fault("claims_negated", {"gaming", "near_miss"}, lambda task: "Hard to say.\nVerdict: not yes",
              "The verdict only has to contain the truth: 'not yes' holds both, 'not clear' holds 'no'.")),
    *family("set of labels", LABELS, "labels_f1",
        Fault("labels_recall", {"gaming"}, lambda task: f"Labels: {', '.join(TOPICS)}",
              "Recall without precision: to list the twelve topics of the prompt earns it all.")),
)
# fmt: on
