"""Tables of texts in tests: a row a line, cells between two colons."""


def read_table(text):
    """Return the rows of a table: ⏎ stands for the end of a line, '' for no text."""
    rows = []
    for line in text.strip("\n").splitlines():
        cells = line.replace("⏎", "\n").split(" :: ")
        rows.append(tuple("" if cell == "''" else cell for cell in cells))
    return rows


def read_blocks(text):
    """Return blocks of text by the names behind two signs of equality before them."""
    blocks = {}
    for block in f"\n{text}".split("\n== ")[1:]:
        name, _, content = block.partition("\n")
        blocks[name] = content.strip("\n")
    return blocks
