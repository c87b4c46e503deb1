"""The base of records that show themselves, without what pages are made of.

That is imported when a record is shown, as many score and look at no page.
"""

from __future__ import annotations

from typing import Any


class HasPage:
    """A record that shows itself: as HTML or Markdown in a notebook, as text elsewhere.

    A record inherits this and composes its `page`; a dataclass needs ``repr=False``.
    """

    def page(self) -> Any:
        """Return what the record says of itself, a `Page`."""
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
