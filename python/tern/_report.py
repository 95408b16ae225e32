# SPDX-License-Identifier: Apache-2.0
"""Texts that notebooks show better."""

import html


class Report(str):
    """A text; in a notebook, its page where it has one, else the text as it is."""

    page = None

    @classmethod
    def make(cls, text, page=None):
        report = cls(text)
        report.page = page
        return report

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        if self.page is None:
            return f"<pre>{html.escape(self)}</pre>"
        # The page has styles of its own, which the notebook keeps.
        return f'<iframe style="width: 100%; height: 40em; border: 0" srcdoc="{html.escape(self.page)}"></iframe>'


def table(rows):
    """Columns as wide as their widest cell; numbers to the right."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [
            cell.ljust(width) if i == 0 or i == len(row) - 1 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)
