#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Weft authors
# SPDX-License-Identifier: MIT
"""Adds up the results of `meson test` in the build folders given.

usage: count_tests.py BUILD…

Meson's log has the result of each test program, GoogleTest's XML file beside it (BUILD/NAME.xml)
the results of its cases. A program without such a file counts as one case. A program may fail
without a failed case: it crashed, or a sanitizer reported an error at its end. It then counts as
one more failed case, and so does a program whose filter selects no case, or a folder without a log.

A case of the end-to-end tests is a sweep. It prints the number of combinations that it ran and
skipped, with the reasons, and this script prints the sums.

Prints the failures and the skipped tests with their reasons, and as the last line `N passed, N
failed`. The exit status is 0 if at least one test passed and none failed.
"""

import collections
import json
import pathlib
import re
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
        try:
            cases = [(f"{program}: {name}", outcome, message)
                     for name, outcome, message in gtest_cases(report)]
        except ElementTree.ParseError as error:
            cases = [(program, "failed", f"{report.name} cannot be read: {error}")]
        if not cases and result in GOOD:
            cases = [(program, "failed", "none of its cases matches the filter")]
    elif result == "SKIP":
        cases = [(program, "skipped", entry.get("stdout", "").strip())]
    elif result in GOOD:
        cases = [(program, "passed", "")]
    if result not in GOOD + ("SKIP",) and not any(case[1] == "failed" for case in cases):
        cases.append((program, "failed", f"{result}, exit status {entry['returncode']}"))
    return cases


def sweep_counts(output):
    """(run, {reason: skipped}) that the end-to-end tests printed."""
    run = sum(int(number) for number in re.findall(r"^cases: (\d+) run", output, re.MULTILINE))
    skipped = collections.Counter()
    for number, reason in re.findall(r"^  skipped +(\d+): (.*)$", output, re.MULTILINE):
        skipped[reason] += int(number)
    return run, skipped


def log_entries(folder):
    log = folder / "meson-logs/testlog.json"
    return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []


def main(folders):
    count = collections.Counter()
    skipped = collections.Counter()
    sweeps_run, sweeps_skipped = 0, collections.Counter()
    for folder in map(pathlib.Path, folders):
        entries = log_entries(folder)
        if not entries:
            count["failed"] += 1
            print(f"failed: {folder}: no test ran")
        for entry in entries:
            run, left_out = sweep_counts(entry.get("stdout", ""))
            sweeps_run += run
            sweeps_skipped += left_out
            for name, outcome, message in program_cases(folder, entry):
                count[outcome] += 1
                first_line = message.strip().split("\n")[0]
                if outcome == "failed":
                    print(f"failed: {folder}: {name}: {first_line}")
                elif outcome == "skipped":
                    # GoogleTest's message starts with the place in the source; the reason follows.
                    skipped[message.strip().split("\n")[-1] or "no reason given"] += 1
    for reason, number in sorted(skipped.items()):
        print(f"skipped: {number}: {reason}")
    if sweeps_run:
        print(f"combinations in sweeps: {sweeps_run} run, {sweeps_skipped.total()} left out")
    for reason, number in sorted(sweeps_skipped.items()):
        print(f"left out: {number}: {reason}")
    print(f"{count['passed']} passed, {count['failed']} failed")
    return 0 if count["passed"] and not count["failed"] else 1


if __name__ == "__main__":
    if sys.argv[1:2] in (["-h"], ["--help"]):
        sys.exit(print(__doc__))
    sys.exit(main(sys.argv[1:]))
