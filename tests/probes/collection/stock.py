"""What the rollouts of short answers are made of: questions, answers, and wrong ones of the same kind."""

from __future__ import annotations

NAMES = ("Mia", "Tom", "Ada", "Jonas", "Priya", "Wen", "Sara", "Omar")
THINGS = ("apples", "pens", "cards", "shells", "buttons", "coins", "plums", "bricks")
OPENERS = ("Let me see.", "First I look at what is given.", "I go step by step.", "This is not hard.", "")
CLOSERS = ("", "", "I check it once more: yes.", "That seems right.")

ODD = (
    ("Tom has 8 pens and loses 8. How many has he?", "0", ("8", "1", "16", "-1")),
    ("It is 5 degrees and gets 12 degrees colder. What is it then?", "-7", ("7", "17", "-17", "-6")),
    ("What is half of 5?", "2.5", ("2", "3", "25", "10")),
    ("What is 40 minus 52?", "-12", ("12", "-13", "92", "-22")),
    ("A pool loses 9 of 9 litres. What is left?", "0", ("9", "18", "1", "-9")),
    ("What is a quarter of 31?", "7.75", ("7.5", "775", "8", "7")),
    (
        "A diver at 18 metres below the sea (-18) sinks 15 more. Where is she?",
        "-33",
        ("33", "-3", "3", "-32"),
    ),
    ("What is 0.3 times 0.5?", "0.15", ("1.5", "15", "0.8", "0.51")),
    ("An account holds 20 and 65 is taken. What does it show?", "-45", ("45", "85", "-85", "-46")),
    ("What is 19 times 0?", "0", ("19", "190", "1", "20")),
    ("What is 1 divided by 8?", "0.125", ("0.8", "8", "0.25", "125")),
    ("What is 3 minus 30?", "-27", ("27", "33", "-33", "-26")),
    ("A plank of 6.4 metres is cut in two. How long is each?", "3.2", ("3", "12.8", "32", "3.4")),
    ("What is 71 minus 71?", "0", ("71", "142", "1", "17")),
    ("What is 9 minus 100?", "-91", ("91", "109", "-109", "-92")),
    ("What is 4.5 plus 4.3?", "8.8", ("8", "88", "9", "0.2")),
)

CAPITALS = (
    ("France", "Paris"),
    ("Italy", "Rome"),
    ("Norway", "Oslo"),
    ("Peru", "Lima"),
    ("Japan", "Tokyo"),
    ("Kenya", "Nairobi"),
    ("Canada", "Ottawa"),
    ("Austria", "Vienna"),
    ("Portugal", "Lisbon"),
    ("Egypt", "Cairo"),
    ("Cuba", "Havana"),
    ("Greece", "Athens"),
    ("Poland", "Warsaw"),
    ("Nepal", "Kathmandu"),
    ("Chile", "Santiago"),
    ("Ireland", "Dublin"),
    ("Czechia", "Prague"),
    ("Argentina", "Buenos Aires"),
    ("Hungary", "Budapest"),
    ("Qatar", "Doha"),
)

ALIASES = (
    ("Holland", ("Netherlands", "The Netherlands"), ("Belgium", "Denmark", "Germany", "Norway")),
    ("Burma", ("Myanmar", "Burma"), ("Laos", "Thailand", "Nepal", "India")),
    ("Persia", ("Iran", "Persia"), ("Iraq", "Oman", "Syria", "Turkey")),
    ("Siam", ("Thailand", "Siam"), ("Laos", "Vietnam", "Malaysia", "China")),
    ("Ceylon", ("Sri Lanka", "Ceylon"), ("India", "Nepal", "Bhutan", "Maldives")),
    ("the Ivory Coast", ("Ivory Coast", "Cote d'Ivoire"), ("Ghana", "Mali", "Togo", "Benin")),
    ("Swaziland", ("Eswatini", "Swaziland"), ("Lesotho", "Malawi", "Zambia", "Botswana")),
    ("Dahomey", ("Benin", "Dahomey"), ("Togo", "Niger", "Ghana", "Gabon")),
    ("Upper Volta", ("Burkina Faso", "Upper Volta"), ("Niger", "Mali", "Chad", "Benin")),
    ("the Gold Coast", ("Ghana", "Gold Coast"), ("Togo", "Gambia", "Guinea", "Liberia")),
    ("Abyssinia", ("Ethiopia", "Abyssinia"), ("Eritrea", "Sudan", "Kenya", "Somalia")),
    ("the Czech Republic", ("Czechia", "Czech Republic"), ("Slovakia", "Austria", "Poland", "Hungary")),
)

SETS = (
    (
        "Which are the primary colours?",
        "red, yellow, blue",
        ("red, green, blue", "red, yellow, black", "pink, green, grey"),
    ),
    (
        "Which three planets are nearest to the sun?",
        "Mercury, Venus, Earth",
        ("Mercury, Venus, Mars", "Mars, Venus, Earth", "Mars, Saturn, Pluto"),
    ),
    (
        "Which are the Baltic states?",
        "Estonia, Latvia, Lithuania",
        ("Estonia, Latvia, Poland", "Finland, Latvia, Lithuania", "Poland, Russia, Finland"),
    ),
    (
        "Which three states can water be in?",
        "solid, liquid, gas",
        ("solid, liquid, light", "solid, dust, gas", "warm, cold, wet"),
    ),
    (
        "What are the three sides of a right triangle made of?",
        "base, height, hypotenuse",
        ("base, height, angle", "base, area, hypotenuse", "area, angle, tip"),
    ),
    ("Which are the vowels a, e and the one after e?", "a, e, i", ("a, e, o", "a, u, i", "b, c, d")),
    (
        "Which are the months of summer in the north?",
        "June, July, August",
        ("June, July, May", "July, August, October", "March, April, May"),
    ),
    ("Which are the first three letters?", "A, B, C", ("A, B, D", "B, C, E", "X, Y, Z")),
    (
        "Which three meals are eaten in a day?",
        "breakfast, lunch, dinner",
        ("breakfast, lunch, tea", "brunch, lunch, dinner", "soup, rice, bread"),
    ),
    (
        "Which are the noble gases up to argon?",
        "helium, neon, argon",
        ("helium, neon, oxygen", "hydrogen, neon, argon", "iron, zinc, tin"),
    ),
    (
        "Which coins are below ten cents?",
        "one, two, five",
        ("one, two, six", "one, three, five", "seven, eight, nine"),
    ),
    ("What are the axes of space called?", "x, y, z", ("x, y, w", "x, v, z", "p, q, r")),
)

EXPRESSIONS = (
    (
        "Add one half and one quarter.",
        r"\frac{3}{4}",
        (r"\frac{2}{6}", r"\frac{3}{5}", r"\frac{1}{4}", r"\frac{4}{3}"),
    ),
    ("Simplify 10/14.", r"\frac{5}{7}", (r"\frac{7}{5}", r"\frac{5}{14}", r"\frac{10}{7}", r"\frac{5}{8}")),
    ("Expand (x+1)^2.", "x^2+2x+1", ("x^2+1", "x^2+x+1", "2x+2", "x^2+2x+2")),
    ("Take the derivative of x^3.", "3x^2", ("x^2", "3x", "2x^3", "3x^3")),
    ("What is the root of 8?", r"2\sqrt{2}", (r"\sqrt{2}", r"4\sqrt{2}", r"2\sqrt{3}", "4")),
    ("Add one third and one sixth.", r"\frac{1}{2}", (r"\frac{2}{9}", r"\frac{1}{3}", r"\frac{1}{9}", "2")),
    ("Factor x^2-1.", "(x-1)(x+1)", ("(x-1)^2", "(x+1)^2", "(x-1)(x+2)", "x(x-1)")),
    ("Half the circumference of the unit circle?", r"\pi", (r"2\pi", r"\frac{\pi}{2}", "3", r"\pi^2")),
    (
        "Multiply 2/3 by 4/5.",
        r"\frac{8}{15}",
        (r"\frac{6}{8}", r"\frac{8}{8}", r"\frac{10}{12}", r"\frac{8}{5}"),
    ),
    ("Integrate 2x (without the constant).", "x^2", ("2", "x", "2x^2", "x^3")),
    (
        "Subtract 1/5 from 1/2.",
        r"\frac{3}{10}",
        (r"\frac{1}{3}", r"\frac{3}{7}", r"\frac{7}{10}", r"\frac{10}{3}"),
    ),
    ("Solve 2x = 9.", r"\frac{9}{2}", (r"\frac{2}{9}", "9", r"\frac{9}{4}", r"\frac{7}{2}")),
    ("What is the root of 18?", r"3\sqrt{2}", (r"2\sqrt{3}", "9", r"3\sqrt{3}", r"\sqrt{2}")),
    ("Simplify a+a+b.", "2a+b", ("a^2+b", "2ab", "a+b", "2a+2b")),
)
