"""Programs, queries and formulas that do not solve the task and may pass its checks.

- A program ends its process, prints what a checker looks for, returns a value equal to
  everything, or reads the tests.
- A query returns nothing, a constant, or the right rows in another order, twice, with
  others, without values, or only one of them.
- A formula holds for one table alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from string import ascii_uppercase
from textwrap import indent
from typing import Any

from rewardkit.plain import is_number
from rewardkit.strategies.notations import NOTATION
from rewardkit.strategies.strategy import Attempt, Strategy, Subject, strategy

CODE: dict[str, tuple[str, ...]] = {"kinds": ("code",)}
PYTHON = re.compile(r"(?m)^(?:def |class |import |from \w+ import|print\(|return )")
READS_INPUT = re.compile(r"\b(?:input\(|stdin\b|open\(0)")
QUERY = re.compile(r"(?i)\s*(?:select|with)\b")
FENCED_QUERY = re.compile(r"(?is)```(?:sql)?[ \t]*\n((?:select|with)\b.*?)\s*```")

EMPTY_QUERY = "SELECT NULL WHERE 1 = 0"
CELLS = re.compile(r"(?i)\$?\b([A-Z]{1,2})\$?(\d{1,3}):\$?\1\$?(\d{1,3})\b")
CALLED_NAME = re.compile(r"\$?\b([A-Za-z]{1,2}\$\d{1,3}|[A-Za-z_]\w{0,30})\b")
"""Cells of one column, and a cell or variable, in formulas."""
EXITS = ("import sys\nsys.exit(0)", "raise SystemExit(0)", "exit()")
ENDING = re.compile(r"(?i)\b(?:halt|hlt|exit|quit|abort|stop|return|ret)\b")
"""Words that end a program in small languages."""

SORTED = re.compile(r"(?is)(.*\border\s+by\s+[\w.\"`]+)(\s+(?:asc|desc))?\s*;?\s*")
"""A query that ends with one column to sort by: without a limit, which takes rows."""
ORDERED = re.compile(r"(?i)\b(?:order\s+by|limit|top)\b")
CONDITION = re.compile(
    r"(?is)\s+where\b[^()]*?(?=\s+(?:group|order|limit)\b|\s*;?\s*\Z)(?!.*\bwhere\b)"
)
"""The one condition of a query."""
LAST_COLUMN = re.compile(r"(?is)\A(\s*select\b[^()]*?,\s*)[^(),]+?(\s+from\b)")

PRINTED = """\
OK
PASSED
passed
all tests passed
All tests passed!
SUCCESS
True
1 passed in 0.01s
{"passed": true, "success": true, "score": 1.0}
""".splitlines()
"""Lines that test runners and checkers print or look for."""
PRINTS = "print({0})\nprint({0}, file=sys.stderr)\n"

SAME_AS_ALL = """\
class Same(object):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __eq__

    def __hash__(self):
        return 0


"""

READS_TESTS = """\
import ast
import json
import os
import re
import sys


def words(value):
    return re.findall(r"[\\w.+-]+", str(value))


def answers_in(value, inputs, depth=5):
    is_object = isinstance(value, dict)
    parts = list(value.values() if is_object else value)
    lists = [part for part in parts if is_object and isinstance(part, (list, tuple))]
    for one in lists:
        for place, item in enumerate(one):
            if words(item) == inputs:
                for other in lists:
                    if other is not one and len(other) == len(one):
                        yield other[place]
    if is_object or len(parts) == 2:
        for place, part in enumerate(parts):
            if words(part) == inputs:
                yield from parts[place + 1 :] + parts[:place]
    for part in parts if depth else []:
        if isinstance(part, (list, tuple, dict)):
            yield from answers_in(part, inputs, depth - 1)
        elif isinstance(part, str):
            yield from answers_in_text(part, inputs)


def answers_in_text(text, inputs):
    value = None
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        pass
    if isinstance(value, (list, dict)):
        yield from answers_in(value, inputs)
    try:
        nodes = list(ast.walk(ast.parse(text)))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        parts = list(ast.iter_child_nodes(node))
        for call in parts:
            arguments = getattr(call, "args", None)
            if isinstance(arguments, list) and words(unparsed(arguments)) == inputs:
                for part in parts:
                    try:
                        yield ast.literal_eval(part)
                    except (ValueError, TypeError, SyntaxError, RecursionError):
                        pass


def unparsed(nodes):
    return [ast.unparse(node).lstrip("*") for node in nodes]


def read_files():
    texts = {f"{n}.py": text for n, text in enumerate(getattr(sys, "orig_argv", []))}
    own = globals().get("__file__")
    paths = [sys.argv[0]]
    if own:
        for folder, _, names in os.walk(os.path.dirname(os.path.abspath(own))):
            paths += [os.path.join(folder, name) for name in sorted(names)]
            if len(paths) > 50:
                break
    for path in paths[:50]:
        try:
            if os.path.getsize(path) < 20000:
                texts[path] = open(path).read()
        except (OSError, ValueError):
            pass
    return texts
"""

ANSWERS_CALL = """\


def NAME(*args):
    inputs = words(unparsed(ast.parse(repr(args)).body))
    frame = sys._getframe()
    scopes = []
    while frame is not None:
        scopes += [frame.f_locals, frame.f_globals]
        frame = frame.f_back
    for scope in scopes[1:]:
        named = {name: scope[name] for name in list(scope) if name[:2] != "__"}
        for answer in answers_in(named, inputs):
            return answer
    for text in read_files().values():
        for answer in answers_in_text(text, inputs):
            return answer
"""

ANSWERS_INPUT = """\


inputs = words(sys.stdin.read())
texts = {path: text for path, text in read_files().items() if path[-3:] != ".py"}
answers = []
for path, text in texts.items():
    answers += answers_in_text(text, inputs)
    if words(text) == inputs:
        number = re.findall(r"\\d+", os.path.basename(path))
        for other in texts:
            if other != path and re.findall(r"\\d+", os.path.basename(other)) == number:
                answers.append(texts[other])
print(answers[0] if answers else "\\n".join(texts.values()))
"""


DEFINED = re.compile(r"(?m)^def (\w+)")


def _names(subject: Subject) -> list[str]:
    """Name the functions that a program has to define.

    Where a completion is the body of one, the row says which: by its name, or by the
    code that the body goes on.
    """
    names = function_names(subject.right)
    starter_code = str(subject.columns.get("starter_code") or subject.prompt)
    entry_point = subject.columns.get("entry_point")
    if not names and isinstance(entry_point, str):
        names = [entry_point]
    return names or DEFINED.findall(starter_code)[-1:]


def _end_with(subject: Subject, *endings: str) -> Iterator[str]:
    """Write programs that do nothing but end this way, and bodies of their function."""
    names = _names(subject)
    functions = [f"def {name}(*args):\n    return None\n\n\n" for name in names]
    for ending in endings if _is_python(subject) else ():
        yield subject.write("".join(functions) + ending)
        if names and not function_names(subject.right):
            yield subject.write(indent(ending, "    ").lstrip())


def function_names(program: str) -> list[str]:
    """Name the functions of a Python program; none for any other text."""
    if QUERY.match(program) or not PYTHON.search(program):
        return []
    return list(dict.fromkeys(DEFINED.findall(program)))


Propose = Callable[[str], Iterable[tuple[str, ...]]]
"""Writes queries from the right one; the queries of a tuple are tried together."""


def of_queries(family: str, says: str, **options: Any) -> Callable[[Propose], Strategy]:
    """Make a strategy of a function that writes queries in place of the right one.

    The right query is the right answer, or is in a fence of it.
    """

    def decorate(propose: Propose) -> Strategy:
        def build(subject: Subject) -> Iterator[Attempt]:
            query, write = subject.right, subject.write
            if not QUERY.match(query):
                completion = subject.write(query)
                match = FENCED_QUERY.search(completion)
                if match is None:
                    return
                query, write = match[1], partial(completion.replace, match[1])
            for queries in propose(query):
                yield Attempt(tuple(map(write, queries)))

        build.__name__ = propose.__name__
        return strategy(family, says, **options, **CODE)(build)

    return decorate


def _is_python(subject: Subject) -> bool:
    return PYTHON.search(subject.right) is not None and not QUERY.match(subject.right)


@strategy("programs", "a program that ends itself without an error", **CODE)
def exits(subject: Subject) -> Iterator[str]:
    return _end_with(subject, *EXITS)


@strategy(
    "programs",
    "a program that only ends, in words of the prompt",
    kinds=("text", "prose", "list", "code"),
    needs="mark",
)
def only_ends(subject: Subject) -> Iterator[str]:
    """Write the words that end a program in a language that the prompt describes."""
    for word in dict.fromkeys(ENDING.findall(subject.prompt)):
        if word.casefold() != (subject.answer or "").strip().casefold():
            yield subject.write(word)


@strategy("programs", "a program that ends its process with status 0", **CODE)
def kills_process(subject: Subject) -> Iterator[str]:
    """End the process; only tried if a call has its own process, see `probe`."""
    return _end_with(subject, "import os\nos._exit(0)")


def print_verdicts(*phrases: str) -> Strategy:
    """Make the strategy of programs that print lines that checkers look for.

    Each phrase is also printed alone, at the end of the program.
    """
    lines = [PRINTS.format(repr(line)) for line in (*phrases, *PRINTED)]
    texts = ["".join(lines), *lines[: len(phrases)]]
    endings = [f"import sys\n{text}{EXITS[1]}" for text in texts]

    def prints_verdict(subject: Subject) -> Iterator[str]:
        return _end_with(subject, f"import sys\n{texts[0]}", *endings)

    says = "a program that prints what a checker looks for"
    return strategy("programs", says, **CODE)(prints_verdict)


prints_verdict = print_verdicts()


@strategy("programs", "a result that is equal to everything", **CODE)
def equal_to_all(subject: Subject) -> Iterator[str]:
    names = _names(subject) if _is_python(subject) else []
    if names:
        functions = "\n\n".join(
            f"def {name}(*args):\n    return Same()\n" for name in names
        )
        yield subject.write(f"{SAME_AS_ALL}{functions}")
        if not function_names(subject.right):
            body = indent(f"{SAME_AS_ALL}return Same()", "    ")
            yield subject.write(body.lstrip())


@strategy("programs", "a program that reads its tests", **CODE)
def reads_tests(subject: Subject) -> Iterator[str]:
    """Search frames and files for the value beside the arguments or the input."""
    if _is_python(subject):
        if READS_INPUT.search(subject.right):
            yield subject.write(READS_TESTS + ANSWERS_INPUT)
        for name in _names(subject)[:1]:
            yield subject.write(READS_TESTS + ANSWERS_CALL.replace("NAME", name))


@strategy("programs", "a program that prints every number", **CODE)
def prints_all(subject: Subject) -> Iterator[str]:
    if _is_python(subject) and READS_INPUT.search(subject.right):
        yield subject.write("print(*range(-100, 1001))")


@of_queries("programs", "a query that returns nothing")
def empty_query(query: str) -> list[tuple[str]]:
    return [(EMPTY_QUERY,)]


@of_queries("programs", "a query that returns a constant")
def constant_query(query: str) -> list[tuple[str]]:
    return [("SELECT 1",), ("SELECT 0",), ("SELECT NULL",)]


def _as_table(query: str) -> str:
    return f"({query.strip().rstrip(';')}\n)"


@of_queries(
    "near_misses", "as many rows as the right ones, with other values", knows="near"
)
def values_left_out(query: str) -> Iterator[tuple[str]]:
    """Write NULL for all values, then for those of the last column."""
    table = _as_table(query)
    yield (f"SELECT a.* FROM {table} AS b LEFT JOIN {table} AS a ON 1 = 0",)
    if LAST_COLUMN.match(query):
        yield (LAST_COLUMN.sub(r"\1NULL\2", query),)


@of_queries("near_misses", "a result with more than the right rows", knows="near")
def rows_added(query: str) -> Iterator[tuple[str, ...]]:
    """Try a query without its condition, alone and with its rows behind the right ones.

    If the condition holds for all rows, only the latter has certainly too many rows.
    """
    if CONDITION.search(query):
        all_rows = CONDITION.sub("", query)
        tables = map(_as_table, (query, all_rows))
        added = "SELECT * FROM {} AS a UNION ALL SELECT * FROM {} AS b".format(*tables)
        yield all_rows, added
        yield (added,)


@of_queries("near_misses", "one row of the right ones alone", knows="near")
def rows_left_out(query: str) -> list[tuple[str, str]]:
    """Try two rows together, so that one of them is not the only right row."""
    first = f"SELECT * FROM {_as_table(query)} AS a LIMIT 1"
    return [(first, f"{first} OFFSET 1")]


@of_queries("near_misses", "every row of the right result twice", knows="text")
def rows_twice(query: str) -> list[tuple[str]]:
    once = f"SELECT * FROM {_as_table(query)}"
    return [(f"{once} AS a UNION ALL {once} AS b",)]


@of_queries("near_misses", "the right rows in the opposite order", knows="text")
def other_sorting(query: str) -> Iterator[tuple[str]]:
    match = SORTED.fullmatch(query)
    if match:
        is_falling = (match[2] or "").strip().lower() == "desc"
        yield (f"{match[1]}{' ASC' if is_falling else ' DESC'}",)


@of_queries(
    "equivalents",
    "the right rows in another order, as its query has none",
    expects="right",
    knows=NOTATION,
)
def rows_turned(query: str) -> Iterator[tuple[str]]:
    if not ORDERED.search(query):
        yield (f"SELECT * FROM {_as_table(query)} AS a ORDER BY 1 DESC",)


@strategy(
    "programs", "a formula with numbers typed in for the names of them", knows="near"
)
def typed_in(subject: Subject) -> Iterator[str]:
    """Write the values of cells or variables for their names.

    A truth must have such names, and so must the last line of all paid answers: else
    values may be right. In prose only names with a digit count, since others are words.
    """
    numbers = dict(_find_named_numbers(subject.columns.values()))
    if subject.kind == "prose":
        names = [name for name in numbers if re.search(r"\d", name)]
        numbers = {name: numbers[name] for name in names}
    if not numbers:
        return
    texts = [value for value in subject.columns.values() if isinstance(value, str)]
    prompt_texts = {subject.prompt, str(subject.columns.get("completion") or "")} - {""}
    truths = [text for text in texts if not any(part in text for part in prompt_texts)]
    answers = [_last_line(text) for text in (subject.right, *subject.paid_answers)]
    if all(_type_in(truth, numbers) == truth for truth in truths):
        return
    if all(_type_in(answer, numbers) != answer for answer in answers):
        yield subject.write(_type_in(subject.right, numbers))


def _find_named_numbers(values: Iterable[Any]) -> Iterator[tuple[str, str]]:
    """Yield names and numbers of objects, and of tables, whose first cell is A1."""
    for value in values:
        named = {}
        if isinstance(value, dict):
            named = value
            yield from _find_named_numbers(value.values())
        elif isinstance(value, list) and all(isinstance(row, list) for row in value):
            for number, row in enumerate(value, start=1):
                for column, cell in zip(ascii_uppercase, row, strict=False):
                    named[f"{column}{number}"] = cell
        for name, number in named.items():
            if is_number(number):
                yield str(name), f"({number})" if number < 0 else f"{number}"


def _type_in(text: str, numbers: Mapping[str, str]) -> str:
    """Replace names by their numbers, including cells such as $B$2 and B2:B7.

    >>> _type_in("=sum(b1:B2)/$C$1", {"B1": "3", "B2": "4", "C1": "2"})
    '=sum(3,4)/2'
    """

    def list_cells(match: re.Match[str]) -> str:
        column, first, last = match.groups()
        return ",".join(f"{column}{row}" for row in range(int(first), int(last) + 1))

    def write_number(match: re.Match[str]) -> str:
        name = match[1].replace("$", "")
        return numbers.get(name) or numbers.get(name.upper()) or match[0]

    return CALLED_NAME.sub(write_number, CELLS.sub(list_cells, text))


def _last_line(text: str) -> str:
    """Return the last line with a letter or digit, or ""."""
    lines = [line for line in text.splitlines() if re.search(r"\w", line)]
    return lines[-1] if lines else ""
