"""Small tables as HTML, for notebooks."""

from html import escape


def html_table(title, header, rows, marked=None):
    """A table with a title; the row with the index ``marked`` is bold."""
    lines = [f"<table><caption>{escape(title)}</caption>", _row(header, "th")]
    for k, row in enumerate(rows):
        lines.append(_row(row, "th" if k == marked else "td"))
    return "\n".join([*lines, "</table>"])


def _row(cells, tag):
    texts = (f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells)
    return f"<tr>{''.join(f'<{tag}>{escape(text)}</{tag}>' for text in texts)}</tr>"
