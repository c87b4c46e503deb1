"""The base class of records with a page, without the blocks of pages.

Blocks are imported when a record is first shown, as most scoring shows none.
"""

from __future__ import annotations

from typing import Any


class HasPage:
    """A record shown as HTML or Markdown in a notebook, and as text elsewhere.

    A subclass composes its `page`; a dataclass needs ``repr=False``.
    """

    def page(self) -> Any:
        """Return the `Page` of the record."""
        raise NotImplementedError

    def text(self, *, verbose: bool = False) -> str:
        """Return the record as plain text; `verbose` leaves nothing out."""
        return "\n".join(self.page().lines(verbose))

    def __repr__(self) -> str:
        return self.text()

    def _repr_html_(self) -> str:
        return str(self.page().html)

    def _repr_markdown_(self) -> str:
        return str(self.page().markdown)
