#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Documents and comments keep the rules of "Words" in CONTRIBUTING.md that can be measured.

Sentences have at most 30 words and lines at most 100 columns; tables, drawings and code blocks are
left out, and a piece of code counts as one word. Documents and comments avoid a list of phrases. No
two documents have the same row of numbers in a table. Links of documents lead to files and titles,
and the files and passes that documents name exist. Tests and suites have names in PascalCase.
"""

import inspect
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORDS, COLUMNS = 30, 100

# Each stands nearly always for a plainer noun or verb.
PHRASES = [
    r"what", r"who", r"whom", r"whoever", r"nobody", r"whatever", r"whichever",
    r"those (?:of|that|which|whose|with|without|in|for|to|by|above|below)", r"(?:has|have|had) none",
    r"tells?", r"told", r"asks?", r"asked", r"wants?", r"wanted", r"has to know",
    r"in turns?", r"by turns", r"hence", r"thereby", r"takes? away", r"taken away", r"comes? of",
    r"of which there", r"for want of", r"as ever", r"of theirs", r"the like", r"ours?", r"will do",
    r"(?:every|some|any)body", r"simply", r"thus", r"of course", r"by far", r"so too", r"told apart",
]

FENCE = re.compile(r"^\s*```")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ")
CODE = re.compile(r"`[^`]*`")
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:c|cc|h|inc|json|mjs|py|sh|txt))`")
PASS = re.compile(r"\*\*(\w+_\w+)\*\*")
QUOTED = re.compile(r'"[^"]*"')
END_OF_SENTENCE = re.compile(r"(?<=[.!?])[\")*]*\s+")
TOKEN = re.compile(r'R"([^\s()\\]{0,16})\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|'
                   r"//[^\n]*|/\*.*?\*/", re.DOTALL)
MARGIN = re.compile(r"^[ \t]*(?://+[<!]?|/\*+|\*(?!/))?")
TABLE = re.compile(r"\s*\||    |.*[^\s.!?]  +\S")
CONFLICT = re.compile(r"<{7} |>{7} ")
TEST = re.compile(r"^\s*TEST(?:_F|_P)?\((\w+),\s*(\w+)\)", re.MULTILINE)
PASCAL_CASE = re.compile(r"(?:DISABLED_)?[A-Z][A-Za-z0-9]*")


def lines_of(text):
    """Number and line of all lines outside of code blocks."""
    code = False
    for number, line in enumerate(text.split("\n"), 1):
        if FENCE.match(line):
            code = not code
        elif not code:
            yield number, line


def paragraphs(text):
    """Number of the first line and text of each paragraph and item, without tables and titles."""
    start, words, last = 0, [], 0
    for number, line in [*lines_of(text), (0, "")]:
        begins = not words or number != last + 1 or ITEM.match(line)
        if begins or not line.strip() or line.startswith(("|", "#", "<!--")):
            if words:
                yield start, " ".join(words)
            start, words = number, []
        if line.strip() and not line.startswith(("|", "#", "<!--")):
            words.append(ITEM.sub("", line).strip())
        last = number


def sentences(paragraph):
    plain = LINK.sub(r"\1", CODE.sub("code", paragraph))
    return END_OF_SENTENCE.split(plain)


def count_words(sentence):
    return sum(bool(re.search(r"\w", word)) for word in sentence.split())


def without_code(text):
    return QUOTED.sub("", LINK.sub(r"\1", CODE.sub("code", text)))


def find_phrases(text, phrases):
    return [match[0] for match in
            re.finditer(rf"\b(?:{'|'.join(phrases)})\b", text, re.IGNORECASE)]


def comments(text):
    """Number of the first line and lines of each comment; comments of whole lines are joined."""
    joined = re.sub(r"(?m)^([ \t]*)//[^\n]*(?:\n\1//[^\n]*)*",
                    lambda match: "/*" + match[0].replace("*/", "* /") + "*/", text)
    for match in TOKEN.finditer(joined):
        if match[0].startswith(("//", "/*")):
            lines = re.sub(r"^/\*(?=[ \t]*//)|\*/$", "", match[0]).split("\n")
            yield joined.count("\n", 0, match.start()) + 1, [MARGIN.sub("", line) for line in lines]


def comments_of_script(text):
    """The same for lines of # and for Python's texts about modules and functions."""
    for match in re.finditer(r'(?m)(?:^[ \t]*#[^!\n][^\n]*\n?)+|^[ \t]*"""((?:.|\n)*?)"""', text):
        lines = (inspect.cleandoc(match[1]).split("\n") if match[1] else
                 [re.sub(r"^[ \t]*#", "", line) for line in match[0].split("\n")])
        yield text.count("\n", 0, match.start()) + 1, lines


def paragraphs_of_comment(lines):
    """The sentences of a comment, without tables and drawings; an item is a paragraph."""
    words = []
    for line in [*lines, ""]:
        if not line.strip() or TABLE.match(line) or ITEM.match(line):
            if words:
                yield " ".join(words)
            words = []
        if not TABLE.match(line):
            words += ITEM.sub("", line).split()


def check_comment(lines):
    for phrase in find_phrases(without_code(" ".join(" ".join(lines).split())), PHRASES):
        yield f'"{phrase}"'
    for paragraph in paragraphs_of_comment(lines):
        for sentence in sentences(paragraph):
            if (count := count_words(sentence)) > WORDS:
                yield f"{count} words: {sentence[:60]} …"


def wide_comments(text):
    """Numbers of the lines with a comment beyond the last column."""
    for match in TOKEN.finditer(text):
        if match[0].startswith(("//", "/*")):
            first = text.count("\n", 0, match.start()) + 1
            before = match.start() - text.rfind("\n", 0, match.start()) - 1
            for number, line in enumerate(match[0].split("\n")):
                if len(line) + (before if number == 0 else 0) > COLUMNS:
                    yield first + number


def wide_comments_of_script(text):
    # Texts stand below the licence or the head of a class or function.
    for match in re.finditer(
            r'(?m)^[ \t]*#[^\n]*|(?:(?<=:\n)|(?<=MIT\n))[ \t]*"""(?:.|\n)*?"""', text):
        first = text.count("\n", 0, match.start()) + 1
        for number, line in enumerate(match[0].split("\n")):
            if len(line) > COLUMNS and " " in line.strip("# "):
                yield first + number


def check_tests(text):
    """Number of the line and name of each test or suite whose name is not in PascalCase."""
    for match in TEST.finditer(text):
        for name in match.groups():
            if not PASCAL_CASE.fullmatch(name):
                yield text.count("\n", 0, match.start(1)) + 1, name


def check_document(text):
    """Number of a line and fault."""
    section = ""
    for number, line in lines_of(text):
        if line.startswith("#"):
            section = line
        elif line.startswith("|") or " " not in line.strip() or LINK.fullmatch(line.strip()):
            pass
        elif len(line) > COLUMNS:
            yield number, f"{len(line)} columns"
        # This section has examples to avoid in its table.
        if line.startswith(("|", "#")) and section != "## Words":
            for phrase in find_phrases(without_code(line), PHRASES):
                yield number, f'"{phrase}"'
    for number, paragraph in paragraphs(text):
        for sentence in sentences(paragraph):
            if (count := count_words(sentence)) > WORDS:
                yield number, f"{count} words: {sentence[:60]} …"
        for phrase in find_phrases(without_code(paragraph), PHRASES):
            yield number, f'"{phrase}"'


def rows_of_numbers(text):
    """Rows of tables with two numbers or more."""
    for number, line in lines_of(text):
        if line.startswith("|") and sum(
                bool(re.fullmatch(r"[\d.,]*\d[\d.,]*", cell.strip())) for cell in line.split("|")) > 1:
            yield number, re.sub(r"\s+", " ", line)


def check_rows(documents):
    seen = {}
    for path, text in documents.items():
        for number, row in rows_of_numbers(text):
            if row in seen and seen[row][0] != path:
                yield f"{path}:{number}: the row of {':'.join(map(str, seen[row]))}: {row}"
            seen.setdefault(row, (path, number))


def anchors(text):
    """Names of a document's titles, as links have them."""
    titles = [line.lstrip("#").strip() for _, line in lines_of(text) if line.startswith("#")]
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def check_names(documents, paths):
    """Links, files and passes that do not exist. The paths are all files of the tree."""
    known = set(paths)
    for path in paths:
        known |= {str(folder) for folder in pathlib.PurePath(path).parents}
    top = {path.split("/")[0] for path in paths}
    stems = {pathlib.PurePath(path).stem for path in paths}
    for path, text in documents.items():
        for number, line in lines_of(text):
            for target in re.findall(r"\]\(([^)]+)\)", line):
                file, _, anchor = target.partition("#")
                if "://" in file:
                    continue
                file = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
                if file not in known:
                    yield f"{path}:{number}: no file {target}"
                elif anchor and anchor not in anchors(documents.get(file, "")):
                    yield f"{path}:{number}: no title {target}"
            for file in FILE.findall(line):
                if "NAME" not in file and file.split("/")[0] in top and file not in known:
                    yield f"{path}:{number}: no file {file}"
            for name in PASS.findall(line):
                if name not in stems:
                    yield f"{path}:{number}: no file of {name}"


def check_of_itself():
    """The checks find planted faults, at their lines."""
    long = "It " + "is " * WORDS + "long."
    assert list(check_document("# A b\n\nIt is `a b c`. It is short.\n")) == []
    assert [n for n, _ in check_document(f"Short.\n\n{long[:60]}\n{long[60:]}\n")] == [3]
    assert not list(check_document("It is. " * 12 + "\n" + "It is. " * 12))
    assert not list(check_document(f"| {long} |\n```\n{long} {long}\n```\n"))
    assert not list(check_document(f"* {long[:60]}\n* {long[60:]}\n"))
    assert [n for n, _ in check_document("a\n" + "a b. " * 21)] == [2]
    assert not list(check_document(f"![a b](docs/{'a' * COLUMNS})"))
    for phrase in ("See what it is.", "It is told\nof it.", "| Who is it? |"):
        assert len(list(check_document(phrase))) == 1, phrase
    assert not list(check_document('Avoid "what" and `who`.'))
    source = 'a(); // It is told\nchar b[] = "// whoever";\n/* Those\n * of */\n// has to\n// know\n'
    found = [(n, list(check_comment(lines))) for n, lines in comments(source)]
    assert found == [(1, ['"told"']), (3, ['"Those of"']), (5, ['"has to know"'])], found
    script = '#!/bin/who does\nx="# whoever"\n  # has\n  # none\n"""Those\nof"""\n'
    found = [(n, list(check_comment(lines))) for n, lines in comments_of_script(script)]
    assert found == [(3, ['"has none"']), (5, ['"Those of"'])], found
    for begin, end, allowed in (("/// ", "", 0), ("///    ", "", 1), ("/// | ", "", 1), ("/// a  ", "", 1),
                                ("/* ", " */", 0), ("// It is.  ", "", 0)):
        source = f"a();\n{begin}{long}{end}\n"
        faults = [fault for _, lines in comments(source) for fault in check_comment(lines)]
        assert len(faults) == 1 - allowed, (begin, faults)
    source = f"/// * {long[:60]}\n///   * {long[60:]}\n///\n/// {long[:60]}\n//\n// {long[60:]}\n"
    assert not [f for _, lines in comments(source) for f in check_comment(lines)]
    source = f"/// {long[:60]}\n/// {long[60:]}\n"
    assert [f for _, lines in comments(source) for f in check_comment(lines)]
    source = "TEST(A, B)\nTEST_F(A, b_c)\n  TEST_P(a, B2)\nTEST_P(A,\n       B_C)\n"
    assert list(check_tests(source)) == [(2, "b_c"), (3, "a"), (4, "B_C")]
    wide = "a" * COLUMNS
    source = f'{wide}a();\n// {wide}\n"{wide}"; // a\n/* a\n * {wide} */\nb("// {wide}"); // b\n'
    assert list(wide_comments(source)) == [2, 3, 5, 6], list(wide_comments(source))
    script = f'{wide} # a\n  # a {wide}\ndef b():\n"""A {wide}.\nB.\n"""\n# {wide}\n'
    assert list(wide_comments_of_script(script)) == [2, 4], list(wide_comments_of_script(script))
    assert len(list(check_rows({"a": "| x | 1 | 2.5 |\n", "b": "| x | 1 | 2.5 |\n"}))) == 1
    tree = ["a/b.md", "a/low_c.h", "d/e.md"]
    good = {"a/b.md": "# T `x_y`, z\n[t](#t-x_y-z) [e](../d/e.md#e) [d](../d)\n`a/low_c.h` **low_c**",
            "d/e.md": "# E\n[b](../a/b.md)\n```\n[x](x.md)\n```\n`other/x.h` `a/x_NAME.h` `x.h`"}
    assert not list(check_names(good, tree)), list(check_names(good, tree))
    for bad in ("[t](#u)", "[e](e.md)", "[e](../d/e.md#f)", "`a/low_d.h`", "**low_d**"):
        assert len(list(check_names(good | {"a/b.md": bad}, tree))) == 1, bad
    assert not list(check_rows({"a": "| x | 1 | a |\n", "b": "| x | 1 | a |\n"}))
    assert list(check_conflicts({"a": "b\n<<<<<<< c\n"})) == ["a:2: <<<<<<<"]


def list_files(*patterns):
    listed = subprocess.run(["git", "-c", "safe.directory=*", "ls-files", *patterns], cwd=ROOT,
                            stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return [path for path in listed if (ROOT / path).exists()]


def read_files(*patterns):
    return {path: (ROOT / path).read_text(encoding="utf-8") for path in list_files(*patterns)}


def check_conflicts(files):
    """Marks of a merge that was not finished."""
    for path, text in files.items():
        for number, line in enumerate(text.split("\n"), 1):
            if CONFLICT.match(line):
                yield f"{path}:{number}: {line[:7]}"


def main():
    check_of_itself()
    documents = read_files("*.md")
    sources = read_files("*.c", "*.cc", "*.h", "*.comp", "*.js", "*.mjs")
    scripts = read_files("*.py", "*meson.build", "ci/*", "tests/*/plant", "tests/at_isa_level")
    scripts = {path: text for path, text in scripts.items() if path not in documents | sources}
    faults = [f"{path}:{number}: {fault}" for path, text in documents.items()
              for number, fault in check_document(text)]
    faults += check_conflicts(documents | sources | scripts)
    faults += [f"{path}:{number}: the test's name {name}" for path, text in sources.items()
               for number, name in check_tests(text)]
    faults += check_rows(documents)
    faults += check_names(documents, list_files())
    for files, wide, find in ((sources, wide_comments, comments),
                              (scripts, wide_comments_of_script, comments_of_script)):
        for path, text in files.items():
            faults += [f"{path}:{number}: a comment beyond column {COLUMNS}"
                       for number in wide(text)]
            faults += [f"{path}:{number}: {fault} in a comment"
                       for number, lines in find(text) for fault in check_comment(lines)]
    for fault in faults:
        print(fault)
    print(f"{len(documents)} documents, {len(sources)} sources, {len(scripts)} scripts, "
          f"{len(faults)} faults")
    return 1 if faults or not documents or not sources else 0


if __name__ == "__main__":
    sys.exit(main())
