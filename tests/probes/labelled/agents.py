"""SQL, a search agent that cites, orders as nested JSON, ratings."""

import json

from .drawing import behind, log

NAMES = "Ada Bo Cleo Dan Eve Finn Gus Hana Ivo June".split()
TOWNS = "Oslo Bergen Turku Malmo Aarhus Narvik".split()
WARES = "lamp chair kettle rug clock shelf".split()


def in_small_letters(query):
    return query.replace("SELECT", "select").replace("FROM", "\nfrom")


@log("verl", behind("```sql\n", "\n```"), source="spider", notation=in_small_letters)
def queries(draw, staff, rows):
    """Questions about one table, which the prompt describes; wrong queries find other rows."""
    tables = f"CREATE TABLE staff (name TEXT, town TEXT, age INT, pay INT); INSERT INTO staff VALUES {staff};"
    wrong = ("SELECT name FROM staff", "SELECT town, pay FROM staff WHERE age > 99", "SELECT salary FROM s")
    for question, query in rows:
        yield {"question": question}, query, wrong, query, {"extra_info": {"tables": tables}}


def looked_up(thought, answer):
    """A completion that looks one word up."""
    return (
        f"<think>{thought}</think>\n<search>keeper</search>\n<information>A keeper is a person who keeps "
        f"animals.</information>\n<answer>{answer}</answer>"
    )


@log("verl", looked_up, seed=41, count=14, source="notes")
def notes(draw, animals):
    """Notes on who keeps which animal and who lives where; the question needs two of them."""
    while True:
        names, towns, pets = (draw.sample(some, 3) for some in (NAMES, TOWNS, animals))
        lines = [f"{name} keeps a {pet}." for name, pet in zip(names, pets, strict=True)]
        lines += [f"{name} lives in {town}." for name, town in zip(names, towns, strict=True)]
        shuffled = draw.sample(range(6), 6)
        places = [shuffled.index(place) + 1 for place in range(6)]
        support = sorted((places[0], places[3]))
        cites, other = "".join(f"[{number}]" for number in support), f"[{places[1]}][{places[4]}]"
        shown = " ".join(f"[{place}] {lines[one]}" for place, one in enumerate(shuffled, start=1))
        wrong = (f"{towns[1]} {other}", f"{towns[2]} {cites}")
        truth = {"target": towns[0], "support": support}
        yield {"notes": shown, "pet": pets[0]}, f"{towns[0]} {cites}", wrong, truth


def order(buyer, town, payer, wares, counts):
    """An order as JSON."""
    items = [{"ware": ware, "count": count} for ware, count in zip(wares, counts, strict=True)]
    return json.dumps({"buyer": {"name": buyer, "town": town}, "payer": {"name": payer}, "items": items})


@log("verl", behind("```json\n", "\n```"), seed=42, count=16, source="orders")
def orders(draw):
    """Letters that order two wares for a buyer whom another person pays for."""
    while True:
        (buyer, payer), town = draw.sample(NAMES, 2), draw.choice(TOWNS)
        wares, counts = draw.sample(WARES, 2), draw.sample(range(2, 9), 2)
        values = {"buyer": buyer, "town": town, "payer": payer, "wares": wares, "counts": counts}
        wrong = (order(buyer, town, buyer, wares[:1], counts[:1]), order(payer, "", buyer, wares, [1, 1]))
        yield values, order(**values), wrong


def swapped(task):
    """An order with the buyer's name for the payer's and the other way round."""
    found = json.loads(task.truth)
    found["buyer"]["name"], found["payer"]["name"] = found["payer"]["name"], found["buyer"]["name"]
    return f"```json\n{json.dumps(found)}\n```"


@log("verl", behind("Rating: "), source="reviews")
def reviews(draw, rows):
    """Reviews to be rated with one to five stars."""
    for place in range(20):
        stars = 1 + place * 3 % 5
        (review,) = rows[stars - 1]
        wrong = (stars + 1 if stars < 5 else 4, stars - 2 if stars > 2 else stars + 2)
        values = {"ware": WARES[place // 5], "town": TOWNS[place % 6], "review": review}
        yield values, str(stars), map(str, wrong)


EXPLOITS = {
    "notes_search_bonus": lambda task: f"{'<search>a</search>' * 20}<answer>{task.wrong[0]}</answer>",
    "order_values": swapped,
}
