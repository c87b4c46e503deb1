"""Tables of texts in tests: a row a line, cells between two colons."""


def read_table(text):
    r"""Return the rows of a table: \n stands for the end of a line, '' for no text."""
    rows = []
    for line in text.strip("\n").splitlines():
        cells = line.replace(r"\n", "\n").split(" :: ")
        rows.append(tuple("" if cell == "''" else cell for cell in cells))
    return rows
