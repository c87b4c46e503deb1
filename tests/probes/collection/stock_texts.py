"""What the rollouts of longer answers are made of: articles with summaries, explanations, sentences, code."""

from __future__ import annotations

SUMMARIES = (
    (
        "The town council met on Monday night. After two hours of debate it voted to build a bridge over "
        "the river by 2030, at a cost of nine million, so that children need not walk around the hill to "
        "school.",
        "The council decided to build a bridge over the river by 2030.",
        "The town council voted to build a bridge over the river by 2030.",
    ),
    (
        "A storm reached the coast in the early morning. Winds tore roofs from forty houses, and the "
        "harbour was closed until the evening, but nobody was hurt, the fire brigade said.",
        "A storm damaged forty houses on the coast, but nobody was hurt.",
        "A storm tore roofs from forty houses on the coast, but nobody was hurt.",
    ),
    (
        "For three years the museum was shut while its halls were painted and its heating renewed. On "
        "Friday it opens again with a show of maps, and on the first day entry is free for everyone.",
        "The museum opens again on Friday after three years with a show of maps.",
        "After three years the museum opens again on Friday with a show of maps.",
    ),
    (
        "Farmers of the valley report that the dry spring has halved the harvest of cherries. Prices have"
        " doubled at the market, and several orchards will plant almonds, which need less water.",
        "A dry spring halved the harvest of cherries and prices doubled.",
        "The dry spring has halved the cherry harvest and prices doubled.",
    ),
    (
        "The night train between the two capitals will run again from December. It leaves at nine, has "
        "beds for two hundred people, and takes eleven hours, which is less than before the war.",
        "The night train between the two capitals runs again from December.",
        "The night train between the two capitals will run again from December.",
    ),
    (
        "Researchers counted the swifts above the old town for ten summers. Their number fell by a third,"
        " most likely because renovated houses have no gaps under the roof where the birds could nest.",
        "The number of swifts fell by a third as renovated houses leave no gaps to nest.",
        "The swifts fell by a third because renovated houses have no gaps to nest.",
    ),
    (
        "The library lends out tools since last week: drills, ladders and sewing machines. Whoever has a "
        "card may keep them for five days, and volunteers show on Saturdays how they are used.",
        "The library now lends tools to card holders for five days.",
        "The library now lends out tools for five days to whoever has a card.",
    ),
    (
        "A baker in the north has baked the same bread for fifty years. Now that he retires, his two "
        "apprentices take over the shop, and they promised to keep both the oven and the recipe.",
        "Two apprentices take over a baker's shop and keep his recipe.",
        "As the baker retires his two apprentices take over the shop and keep the recipe.",
    ),
    (
        "The school replaced homework in the first two years by half an hour of reading at noon. Teachers"
        " say that the children read more at home since then, and parents quarrel with them less.",
        "The school replaced homework by half an hour of reading and children read more.",
        "The school replaced homework by reading at noon and the children read more at home.",
    ),
    (
        "Engineers found cracks in the old dam when the lake was drained for the first time in decades. "
        "It will be closed to visitors for a year while the wall is filled with new concrete.",
        "The old dam is closed for a year because engineers found cracks.",
        "The old dam will be closed for a year because engineers found cracks in it.",
    ),
    (
        "The football club of the village, founded by eleven miners, reached the national league for the "
        "first time. Its ground holds only nine hundred people, so home games move to the city.",
        "The village football club reached the national league and plays home games in the city.",
        "The football club of the village reached the national league, and home games move to the city.",
    ),
    (
        "From next month electric buses replace the diesel ones on all six lines. They are charged over "
        "night at the depot, and the quieter engines should please those who live along the main road.",
        "Electric buses replace the diesel buses on all lines next month.",
        "Electric buses replace the diesel ones on all six lines from next month.",
    ),
)

ESSAYS = (
    (
        "is the sky blue",
        "Short waves of light are scattered by the air more than long ones. So blue reaches us from all "
        "sides.",
    ),
    (
        "do leaves fall in autumn",
        "A tree loses water through its leaves and cannot replace it from frozen ground. It sheds them to"
        " last the winter.",
    ),
    (
        "does ice float",
        "Water expands as it freezes, so that ice weighs less than the same volume of water. What is "
        "lighter floats.",
    ),
    (
        "do we see lightning before thunder",
        "Light is far faster than sound. The further the storm, the longer the sound needs.",
    ),
    (
        "is bread full of holes",
        "Yeast eats sugar and gives off gas. The dough is elastic and holds the bubbles.",
    ),
    (
        "do magnets attract iron",
        "Iron has small regions that act as magnets. A strong magnet turns them so that they pull.",
    ),
    (
        "is the sea salty",
        "Rivers wash salts out of the rocks. The water evaporates and leaves them in the sea.",
    ),
    (
        "do cats purr",
        "A muscle in the throat trembles as they breathe. They do it when content, and also to calm "
        "themselves.",
    ),
    (
        "are there seasons",
        "The axis of the earth is tilted. Each half leans to the sun for a part of the year.",
    ),
    ("do onions make us cry", "Cutting sets free a gas that stings. The eye washes it out with tears."),
    ("is glass clear", "Its electrons take up no light that we can see. So this light passes through."),
    (
        "does metal feel cold",
        "It leads the warmth of the hand away quickly. Wood of the same temperature does not.",
    ),
)

SENTENCES = (
    ("The old lighthouse still guards our quiet bay", "lighthouse"),
    ("My neighbour paints every fence in bright green", "fence"),
    ("A hungry fox crossed the frozen field", "fox"),
    ("She keeps seven letters in a wooden drawer", "letters"),
    ("Rain fell on the market until noon", "market"),
    ("The violin sounded sad through the thin wall", "violin"),
    ("We crossed the desert before the sun rose", "desert"),
    ("An orange balloon drifted over the stadium", "balloon"),
    ("His grandfather repaired clocks for forty years", "clocks"),
    ("The ferry leaves when the fog is gone", "ferry"),
    ("Nobody had opened that window for months", "window"),
    ("Two engineers measured the bridge at night", "bridge"),
)

CODE = (
    (
        "double(x) that doubles a number.",
        "def double(x):\n    return 2 * x",
        (
            "def double(x):\n    return x ** 2",
            "def double(x):\n    return 2 + x",
            "def double(x):\n    pass",
        ),
    ),
    (
        "last(items) that gives the last item.",
        "def last(items):\n    return items[-1]",
        (
            "def last(items):\n    return items[0]",
            "def last(items):\n    return items[1]",
            "def last(items):\n    pass",
        ),
    ),
    (
        "is_even(n).",
        "def is_even(n):\n    return n % 2 == 0",
        (
            "def is_even(n):\n    return n % 2 == 1",
            "def is_even(n):\n    return n / 2 == 0",
            "def is_even(n):\n    return True",
        ),
    ),
    (
        "total(items) that adds up a list.",
        "def total(items):\n    return sum(items)",
        (
            "def total(items):\n    return len(items)",
            "def total(items):\n    return max(items)",
            "def total(items):\n    return 0",
        ),
    ),
    (
        "shout(text) that writes it in capitals.",
        "def shout(text):\n    return text.upper()",
        (
            "def shout(text):\n    return text.lower()",
            "def shout(text):\n    return text.title()",
            "def shout(text):\n    return text",
        ),
    ),
    (
        "count(items, value).",
        "def count(items, value):\n    return items.count(value)",
        (
            "def count(items, value):\n    return len(items)",
            "def count(items, value):\n    return items.index(value)",
            "def count(items, value):\n    return 0",
        ),
    ),
    (
        "backwards(text).",
        "def backwards(text):\n    return text[::-1]",
        (
            "def backwards(text):\n    return text[:-1]",
            "def backwards(text):\n    return text[::1]",
            "def backwards(text):\n    return text",
        ),
    ),
    (
        "absolute(x).",
        "def absolute(x):\n    return x if x >= 0 else -x",
        (
            "def absolute(x):\n    return -x",
            "def absolute(x):\n    return x if x <= 0 else -x",
            "def absolute(x):\n    return x",
        ),
    ),
    (
        "area(width, height).",
        "def area(width, height):\n    return width * height",
        (
            "def area(width, height):\n    return width + height",
            "def area(width, height):\n    return 2 * width",
            "def area(width, height):\n    pass",
        ),
    ),
    (
        "words(text) that splits at spaces.",
        "def words(text):\n    return text.split()",
        (
            "def words(text):\n    return list(text)",
            "def words(text):\n    return text.strip()",
            "def words(text):\n    return [text]",
        ),
    ),
    (
        "smallest(items).",
        "def smallest(items):\n    return min(items)",
        (
            "def smallest(items):\n    return max(items)",
            "def smallest(items):\n    return items[0]",
            "def smallest(items):\n    return 0",
        ),
    ),
    (
        "unique(items) as a set.",
        "def unique(items):\n    return set(items)",
        (
            "def unique(items):\n    return list(items)",
            "def unique(items):\n    return items",
            "def unique(items):\n    return sorted(items)",
        ),
    ),
)
