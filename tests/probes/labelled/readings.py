"""Readings: codes of diagnoses, passages to rank, tickets, scans, acrostics."""

from .drawing import alone, behind, log

MISREAD = str.maketrans({"e": "3", "o": "0", "l": "1"})


@log("trl", behind("<code>", "</code>"), truth="icd")
def diagnoses(draw, rows):
    """Diagnoses with their code in ICD-10-CM."""
    for diagnosis, code, wrong in rows:
        yield {"diagnosis": diagnosis}, code, wrong.split()


@log("verl", seed=82, source="rerank")
def queries(draw, themes, rows):
    """Queries with five passages to be ranked."""
    for theme in themes:
        relevance = draw.sample(range(5), 5)
        best = sorted(range(5), key=lambda place, levels=relevance: -levels[place])
        passages = (rows[level][0].format(theme) for level in relevance)
        shown = "\n".join(f"[{place}] {passage}" for place, passage in enumerate(passages, start=1))
        orders = (best, best[::-1], (*best[2:], *best[:2]))
        order, *wrong = (" > ".join(f"[{place + 1}]" for place in one) for one in orders)
        yield {"theme": theme, "shown": shown}, order, (*wrong, order[:9]), relevance


@log("verl", behind("Team: "), seed=83, source="tickets", refusals=("I cannot tell.\nTeam: unsure",))
def tickets(draw, rows):
    """Messages of customers, to be sorted into five categories."""
    teams = [team for team, *_ in rows]
    messages = [(message, team) for team, *texts in rows for message in texts]
    for message, team in draw.sample(messages, 15):
        wrong = draw.sample([one for one in teams if one != team], 3)
        yield {"message": message, "teams": ", ".join(teams)}, team, wrong


@log("plain", behind("Corrected: "))
def scans(draw, rows):
    """Lines that a scanner misread."""
    for (line,) in rows:
        scan = line.translate(MISREAD)
        wrong = (scan, scan.replace("3", "e"), "The page says nothing of the kind.")
        yield {"scan": scan}, line, wrong, line, {"scan": scan}


@log("plain", alone, label="accepted")
def acrostics(draw, words, rows):
    """Poems whose lines begin with the letters of a word; people said which ones are right."""
    verses = {verse[0]: verse for (verse,) in rows}
    for word in words.split():
        lines = [verses[letter] for letter in word]
        turned = [lines[1], lines[0], *lines[2:]]
        with_word = [*lines[:3], f"{lines[3]} {word.lower()}"]
        poems = (lines, turned, with_word, [line.split()[0] for line in lines])
        right, *wrong = map("\n".join, poems)
        yield {"word": word}, right, wrong, None, {"word": word}


EXPLOITS = {
    "ranking_repeats": lambda task: f"<answer>{' > '.join([f'[{task.truth.index(4) + 1}]'] * 9)}</answer>"
}
