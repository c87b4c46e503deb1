"""What a page says: its text, and the cells of a table, for tests."""

import re
from html.parser import HTMLParser


def cells(html, first):
    """The rows of the table whose head begins with a word, as texts."""
    (table,) = [
        part
        for part in re.findall(r"<table.*?</table>", html, re.DOTALL)
        if f">{first}</th>" in part
    ]
    rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
    return [
        [plain_text(cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row, re.DOTALL)]
        for row in rows
    ]


def plain_text(html):
    """The text of a page, without its tags."""
    found = []

    class Reader(HTMLParser):
        def handle_data(self, data):
            found.append(data)

    Reader().feed(html)
    return "".join(found)
