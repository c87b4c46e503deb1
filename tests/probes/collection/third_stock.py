"""What the rollouts of `third_data.py` are made of: questions, answers, and wrong ones of the same kind."""

from __future__ import annotations

MOVES = (
    ("After 1.e4 e5 2.Nf3 Nc6, which move is the Ruy Lopez?", "Bb5", ("Bc4", "Nc3", "d4")),
    ("After 1.e4 e5 2.Nf3 Nc6, which move is the Italian Game?", "Bc4", ("Bb5", "c4", "d4")),
    ("After 1.e4 e5 2.Nf3 Nc6, which move is the Scotch Game?", "d4", ("d3", "Bc4", "Nc3")),
    ("Which Black move makes 1.e4 e5 2.Nf3 Nc6 3.Nc3 the Four Knights?", "Nf6", ("d6", "Bc5", "Nge7")),
    ("After 1.d4 Nf6 2.c4 e6 3.Nc3, which move is the Nimzo-Indian?", "Bb4", ("b5", "Bd6", "d5")),
    ("After 3.Bb5 a6 in the Ruy Lopez, which is the Exchange Variation?", "Bxc6", ("Ba4", "Nxe5", "Be2")),
    ("How does Black mostly take back in the Exchange Ruy Lopez?", "dxc6", ("bxc6", "Qf6", "Nge7")),
    ("After 1.d4 d5, which move is the Queen's Gambit?", "c4", ("e4", "Nc3", "Nf3")),
    ("How does Black accept the Queen's Gambit?", "dxc4", ("e6", "c6", "Nf6")),
    ("Which reply to 1.e4 is the Sicilian?", "c5", ("e5", "e6", "c6")),
    ("Which reply to 1.e4 is the French?", "e6", ("e5", "c6", "c5")),
    ("Which reply to 1.e4 is the Scandinavian?", "d5", ("d6", "Nf6", "e5")),
    ("With which move does Scholar's mate end?", "Qxf7#", ("Qf7", "Bxf7+", "Qh5")),
    ("With which move does Fool's mate end?", "Qh4#", ("Qh5#", "Qg4", "Qf6")),
    ("After 4.a3 in the Nimzo-Indian, how does Black take on c3?", "Bxc3+", ("Bd6", "Be7", "Ba5")),
    ("With which move does White's b-pawn take back on c3?", "bxc3", ("Bxc3", "Qxc3", "Nxc3")),
    ("Bishop and b-pawn may take on c6. How is the bishop's move written?", "Bxc6", ("bxc6", "Bc6", "Nxc6")),
)  # fmt: skip

RANKED = (
    ("largest to smallest", ("Jupiter", "Earth", "Mars", "Moon")),
    ("longest to shortest", ("Nile", "Danube", "Rhine", "Thames")),
    ("heaviest to lightest", ("elephant", "horse", "dog", "mouse")),
    ("highest to lowest", ("Everest", "Elbrus", "Etna", "Vesuvius")),
    ("oldest to newest", ("wheel", "printing", "railway", "radio")),
    ("fastest to slowest", ("falcon", "cheetah", "rabbit", "tortoise")),
    ("largest to smallest", ("Russia", "Brazil", "Spain", "Malta")),
    ("hottest to coldest", ("lava", "steam", "tea", "ice")),
    ("longest to shortest", ("century", "decade", "month", "hour")),
    ("heaviest to lightest", ("gold", "iron", "wood", "cork")),
    ("largest to smallest", ("cello", "viola", "violin", "piccolo")),
    ("most to fewest legs", ("centipede", "spider", "beetle", "hen")),
    ("most to fewest sides", ("octagon", "hexagon", "square", "triangle")),
    ("deepest to shallowest", ("Pacific", "Baltic", "pond", "puddle")),
)

ACTS = ("inform", "request", "confirm", "deny", "greet", "thank", "apologise", "offer")
UTTERANCES = (
    ("The train leaves at nine.", "inform"),
    ("Could you tell me the price?", "request"),
    ("Yes, that is what I meant.", "confirm"),
    ("No, I never ordered that.", "deny"),
    ("Good morning to you all!", "greet"),
    ("That was very kind of you.", "thank"),
    ("I should not have been so late, forgive me.", "apologise"),
    ("Shall I carry that for you?", "offer"),
    ("The museum is shut on Mondays.", "inform"),
    ("What time do you open?", "request"),
    ("Right, two tickets it is.", "confirm"),
    ("That is not my bag.", "deny"),
    ("Hello there!", "greet"),
    ("I am so grateful.", "thank"),
    ("Pardon me, my mistake.", "apologise"),
    ("I could book a table, if you like.", "offer"),
)

REVIEWS = (
    ("I would buy it again at once.", "positive"),
    ("It broke on the second day.", "negative"),
    ("It is a kettle. It heats water.", "neutral"),
    ("The best hotel of our trip.", "positive"),
    ("Nobody answered my letters.", "negative"),
    ("The parcel came on Tuesday.", "neutral"),
    ("My children love it.", "positive"),
    ("A waste of money.", "negative"),
    ("There are three sizes.", "neutral"),
    ("It works like a charm.", "positive"),
    ("The soup was cold and so was the waiter.", "negative"),
    ("It has a blue cover.", "neutral"),
    ("I have never slept so well.", "positive"),
    ("The paint comes off.", "negative"),
    ("It is made in Poland.", "neutral"),
    ("They went out of their way to help.", "positive"),
)

EVENTS = ("Spring Concert", "Chess Evening", "Book Fair", "Open Day", "Film Night", "Harvest Market")
PLACES = ("Town Hall", "Library", "Old Mill", "School Yard", "Harbour", "Museum")
DAYS = ("Monday", "Tuesday", "Thursday", "Friday", "Saturday")

TRANSLATIONS = (
    ("The cat sleeps on the chair.", "Le chat dort sur la chaise.", "Le chat dort sur une chaise."),
    ("We will leave tomorrow morning.", "Nous partirons demain matin.", "Nous partons demain matin."),
    (
        "My sister has bought a new car.",
        "Ma soeur a achete une nouvelle voiture.",
        "Ma soeur a achete une voiture neuve.",
    ),
    (
        "It has been raining for three days.",
        "Il pleut depuis trois jours.",
        "Il pleut depuis maintenant trois jours.",
    ),
    (
        "Where is the nearest pharmacy?",
        "Ou est la pharmacie la plus proche ?",
        "Ou se trouve la pharmacie la plus proche ?",
    ),
    ("He never drinks coffee.", "Il ne boit jamais de cafe.", "Il ne boit jamais du cafe."),
    (
        "The shops close at six.",
        "Les magasins ferment a six heures.",
        "Les magasins ferment vers six heures.",
    ),
    ("I forgot my keys at the office.", "J'ai oublie mes cles au bureau.", "J'ai oublie les cles au bureau."),
    ("This book is very interesting.", "Ce livre est tres interessant.", "Ce livre-ci est tres interessant."),
    ("They live near the station.", "Ils habitent pres de la gare.", "Ils vivent pres de la gare."),
    ("You must drink more water.", "Tu dois boire plus d'eau.", "Vous devez boire plus d'eau."),
    ("The soup is too salty.", "La soupe est trop salee.", "Cette soupe est trop salee."),
    ("She works in a hospital.", "Elle travaille dans un hopital.", "Elle travaille a l'hopital."),
    ("Our neighbours have two dogs.", "Nos voisins ont deux chiens.", "Les voisins ont deux chiens."),
)

SLOGANS = (
    ("bread", "Our bread leaves the oven at five and your shop at seven."),
    ("bicycle", "A bicycle that folds in ten seconds and weighs less than your shopping."),
    ("tea", "Real tea needs four minutes and no sugar at all."),
    ("library", "Your library lends tools and games as well as books."),
    ("lamp", "One lamp for reading and another for falling asleep."),
    ("garden", "Even a small garden feeds more bees than you think."),
    ("train", "Take the night train and wake up by the sea."),
    ("shoes", "These shoes have walked to Rome and would do it again."),
    ("soap", "Plain soap from three oils and nothing you cannot spell."),
    ("museum", "The museum opens late on Fridays and costs nothing then."),
    ("umbrella", "An umbrella that survives the wind of Bergen."),
    ("honey", "We sell honey from the roofs of this very town."),
)

REGEXES = (
    ("a year of four digits", r"\d{4}", (r"\d+", r"\d{2}", r"[a-z]{4}"), ("1999", "2024"), ("99", "20245")),
    (
        "a lower-case user name of 3 to 12 letters",
        r"[a-z]{3,12}",
        (r"[a-z]+\d", r"\w+", r"[a-z]{1,3}"),
        ("anna", "aaaaaaaa"),
        ("a", "a" * 44 + "!", "a" * 20),
    ),
    ("a time such as 09:30", r"\d\d:\d\d", (r"\d+", r"\d:\d", r".*"), ("09:30", "23:59"), ("9.30", "9:3")),
    (
        "a hex colour such as #a0ff00",
        r"#[0-9a-f]{6}",
        (r"#\w+", r"[0-9a-f]{6}", r"#\d{6}"),
        ("#a0ff00", "#000000"),
        ("#a0f", "a0ff00"),
    ),
    (
        "a plate such as AB-123",
        r"[A-Z]{2}-\d{3}",
        (r"[A-Z]+\d+", r"\w+", r".+"),
        ("AB-123", "XY-007"),
        ("A-123", "AB123"),
    ),
    ("a price such as 12.50", r"\d+\.\d\d", (r"\d+", r"\d+\.\d", r".*"), ("12.50", "0.99"), ("12", "12.5")),
    (
        "a word without capitals",
        r"[a-z]+",
        (r"[A-Z]+", r"\w+", r".*"),
        ("word", "aaaaaaaaaaaa"),
        ("Word", "a" * 44 + "1"),
    ),
    ("a version such as v1.2", r"v\d+\.\d+", (r"v\d+", r"\d+\.\d+", r".+"), ("v1.2", "v10.0"), ("1.2", "v1")),
    ("a bit string", r"[01]+", (r"\d+", r"[01]", r"\w+"), ("0101", "1"), ("012", "")),
    ("yes or no", r"yes|no", (r"yes", r"\w+", r"no"), ("yes", "no"), ("yesno", "maybe")),
    (
        "an identifier of letters and underscores",
        r"[a-z_]+",
        (r"[a-z]+", r"\w+", r"_+"),
        ("my_name", "aa_aa"),
        ("my-name", "a" * 44 + "-"),
    ),
    (
        "a year from 1900 to 1999",
        r"19\d\d",
        (r"\d{4}", r"19", r"1\d\d\d"),
        ("1900", "1984"),
        ("1899", "2000"),
    ),
)

REPORTS = (
    ("a water leak in the cellar", ("Findings", "Causes", "Next steps")),
    ("a late delivery of paper", ("Background", "Impact", "Remedy")),
    ("the new cycle lane", ("Costs", "Benefits", "Open questions")),
    ("a school without heating", ("Situation", "Options", "Recommendation")),
    ("the lost library books", ("Overview", "Numbers", "Measures")),
    ("noise near the airport", ("Method", "Results", "Outlook")),
    ("the town's spring fair", ("Programme", "Visitors", "Lessons")),
    ("an outage of the ticket shop", ("Timeline", "Root cause", "Prevention")),
    ("the harvest of this year", ("Weather", "Yield", "Prices")),
    ("a bridge in need of paint", ("Condition", "Risks", "Budget")),
    ("the club's finances", ("Income", "Expenses", "Forecast")),
    ("a trial of electric buses", ("Purpose", "Experience", "Conclusion")),
)
