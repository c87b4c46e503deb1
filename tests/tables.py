"""Tables of texts in tests: a row a line, cells between two colons."""

import json


def read_table(text):
    r"""Return the rows of a table: \n stands for the end of a line, '' for no text."""
    rows = []
    for line in text.strip("\n").splitlines():
        cells = line.replace(r"\n", "\n").split(" :: ")
        rows.append(tuple("" if cell == "''" else cell for cell in cells))
    return rows


def read_blocks(text):
    """Return blocks of text by the names behind two signs of equality before them."""
    blocks = {}
    for block in f"\n{text}".split("\n== ")[1:]:
        name, _, content = block.partition("\n")
        blocks[name] = content.strip("\n")
    return blocks


def read_values(text):
    """Return the rows of a table whose cells are JSON, but for the last, which says why."""
    rows = []
    for line in text.strip("\n").splitlines():
        *cells, why = line.split(" :: ")
        rows.append((*map(json.loads, cells), why))
    return rows
