#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Adds up the results of `meson test` in the build folders given.

Meson's log tells how each test program ended, GoogleTest's XML file beside it (BUILD/NAME.xml) how
each of its cases did. A program without such a file counts as one case. One that failed although
none of its cases did (it crashed half way, or a sanitizer complained at its end) counts as one
failed case more.

Prints what failed, what was skipped and why, and as the last line `N passed, N failed`. The exit
status is 0 when something passed and nothing failed.
"""

import collections
import json
import pathlib
import sys
import xml.etree.ElementTree as ElementTree

GOOD = ("OK", "EXPECTEDFAIL")


def gtest_cases(report):
    """(name, outcome, message) for each case of a GoogleTest XML file."""
    for case in ElementTree.parse(report).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        failure, skipped = case.find("failure"), case.find("skipped")
        if failure is not None:
            yield name, "failed", failure.get("message", "")
        elif skipped is not None:
            yield name, "skipped", skipped.get("message", "")
        elif case.get("status") != "notrun":
            yield name, "passed", ""


def program_cases(folder, entry):
    """The cases of one test program, an entry of Meson's log."""
    program = entry["name"].split(" / ")[-1]
    result = entry["result"]
    report = folder / f"{program}.xml"
    cases = []
    if report.exists():
        cases = [(f"{program}: {name}", outcome, message)
                 for name, outcome, message in gtest_cases(report)]
    elif result == "SKIP":
        cases = [(program, "skipped", entry.get("stdout", "").strip())]
    elif result in GOOD:
        cases = [(program, "passed", "")]
    if result not in GOOD + ("SKIP",) and not any(case[1] == "failed" for case in cases):
        cases.append((program, "failed", f"{result}, exit status {entry['returncode']}"))
    return cases


def main(folders):
    count = collections.Counter()
    skipped = collections.Counter()
    for folder in map(pathlib.Path, folders):
        for line in (folder / "meson-logs/testlog.json").read_text().splitlines():
            for name, outcome, message in program_cases(folder, json.loads(line)):
                count[outcome] += 1
                first_line = message.strip().split("\n")[0]
                if outcome == "failed":
                    print(f"failed: {folder}: {name}: {first_line}")
                elif outcome == "skipped":
                    # GoogleTest's message starts with the place in the source; the reason follows.
                    skipped[message.strip().split("\n")[-1] or "no reason given"] += 1
    for reason, number in skipped.items():
        print(f"skipped: {number}: {reason}")
    print(f"{count['passed']} passed, {count['failed']} failed")
    return 0 if count["passed"] and not count["failed"] else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
