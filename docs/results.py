#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Writes the plots and tables of these documents from results.json.  usage: results.py [--check]

A plot is an SVG file of horizontal bars. A table stands in a document behind a comment with its
name: <!-- table: NAME -->. With --check nothing is written, and the exit status is 1 if a file
differs from results.json.
"""

import json
import pathlib
import re
import sys
from xml.sax.saxutils import escape

FOLDER = pathlib.Path(__file__).parent
COLOURS = ["#2a6fbb", "#8a8f98", "#c9ccd1"]
WIDTH, LABEL, VALUE = 720, 210, 60
BAR, GAP, GROUP_GAP, HEAD = 18, 3, 14, 44
TABLE = re.compile(r"^<!-- table: (\w+) -->\n((?:\|.*\n)*)", re.MULTILINE)


def text(x, y, words, size=12, anchor="start", weight="normal"):
    return (f'<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}" '
            f'font-weight="{weight}">{escape(words)}</text>')


def draw(plot):
    series = list(plot["series"].items())
    scale = (WIDTH - LABEL - VALUE) / max(max(values) for _, values in series)
    parts = [text(8, 20, f'{plot["title"]}, {plot["unit"]}', 14, weight="bold")]
    y = HEAD
    for i, group in enumerate(plot["groups"]):
        for j, (name, values) in enumerate(series):
            width = max(values[i] * scale, 1)
            middle = y + BAR - 5
            if j == 0:
                parts.append(text(8, middle, group, weight="bold"))
            parts.append(text(LABEL - 8, middle, name, 11, "end"))
            parts.append(f'<rect x="{LABEL}" y="{y}" width="{width:.1f}" height="{BAR}" '
                         f'fill="{COLOURS[j]}"/>')
            parts.append(text(round(LABEL + width + 6, 1), middle, f"{values[i]:g}", 11))
            y += BAR + GAP
        y += GROUP_GAP
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" '
            f'viewBox="0 0 {WIDTH} {y}" font-family="sans-serif" fill="#24292f">\n'
            f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n")


def write_row(cells):
    return "|" + "|".join(f" {cell} " if cell else " " for cell in cells) + "|\n"


def write_table(rows):
    return write_row(rows[0]) + "|" + "---|" * len(rows[0]) + "\n" + "".join(map(write_row, rows[1:]))


def write_tables(document, tables):
    """The document with all of its tables from results.json, and their names."""
    names = []

    def replace(match):
        names.append(match[1])
        return f"<!-- table: {match[1]} -->\n{write_table(tables[match[1]])}"

    return TABLE.sub(replace, document), names


def make_files(results):
    """Path → text of all files that come from results.json."""
    files = {FOLDER / "images" / plot["image"]: draw(plot) for plot in results["plots"]}
    placed = []
    for document in sorted(FOLDER.glob("*.md")):
        written, names = write_tables(document.read_text(encoding="utf-8"), results["tables"])
        placed += names
        if names:
            files[document] = written
    if sorted(placed) != sorted(results["tables"]):
        sys.exit(f"documents have the tables {sorted(placed)}, "
                 f"results.json has {sorted(results['tables'])}")
    return files


def check_of_itself():
    """A changed cell is found, other text stays."""
    tables = {"t": [["", "a"], ["b", "1"]]}
    document = "x\n\n<!-- table: t -->\n| | a |\n|---|---|\n| b | 1 |\n\ny\n"
    assert write_tables(document, tables) == (document, ["t"])
    assert write_tables(document.replace("1", "2"), tables) == (document, ["t"])


def main():
    check_of_itself()
    if sys.argv[1:] not in ([], ["--check"]):
        print(__doc__)
        return 0 if sys.argv[1:] == ["--help"] else 2
    files = make_files(json.loads((FOLDER / "results.json").read_text(encoding="utf-8")))
    differ = [path for path, written in files.items()
              if not path.exists() or path.read_text(encoding="utf-8") != written]
    for path in differ:
        if "--check" in sys.argv:
            print(f"{path} differs from results.json: run docs/results.py")
        else:
            path.write_text(files[path], encoding="utf-8")
    return 1 if differ and "--check" in sys.argv else 0


if __name__ == "__main__":
    sys.exit(main())
