#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Draws the plots of docs/results.md: one SVG file of horizontal bars for each entry of results.json."""

import json
import pathlib
from xml.sax.saxutils import escape

FOLDER = pathlib.Path(__file__).parent
COLOURS = ["#2a6fbb", "#8a8f98", "#c9ccd1"]
WIDTH, LABEL, VALUE = 720, 210, 60
BAR, GAP, GROUP_GAP, HEAD = 18, 3, 14, 44


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


if __name__ == "__main__":
    for plot in json.loads((FOLDER / "results.json").read_text()):
        (FOLDER / "images" / plot["image"]).write_text(draw(plot))
