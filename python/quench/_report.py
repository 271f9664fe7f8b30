"""What is said about a result: as text, and as a page."""
from __future__ import annotations

import html


class Report:
    """Printed, it is text. A notebook shows the page, which is one file that needs no network (docs/report.md)."""

    def __init__(self, text: str, page: str) -> None:
        self.text, self.html = text, page

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        # A frame of its own: its styles and scripts do not touch the notebook's. Its links lead within it, not to the notebook.
        page = self.html.replace("<head>", '<head><base href="about:srcdoc">', 1)
        return (f'<iframe srcdoc="{html.escape(page)}" style="width: 100%; height: 640px; border: 0" '
                'title="report of quench"></iframe>')
