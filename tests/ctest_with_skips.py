#!/usr/bin/env python3
"""ctest_with_skips.py BUILD ARG...: ctest ARG..., and before its summary what was skipped, with the reasons.

A process runs many cases, so ctest itself cannot tell that one of them was skipped. Nothing else is changed: what ctest
prints, in its order, with its summary at the end, and its exit code.
"""

import os
import re
import subprocess
import sys

SKIPPED_CASE = re.compile(r"^\[  SKIPPED \] (\S+)(?:, where .*)? \(\d+ ms\)$")
REASON = re.compile(r"^\S+:\d+: Skipped$")


def blocks(log):
    """(name of the test, lines of its output) for each test in ctest's log."""
    name, lines = None, None
    for line in log:
        line = line.rstrip("\n")
        begin = re.match(r"^\d+/\d+ Test: (.*)$", line)
        if begin and lines is None:
            name = begin[1]
        elif name and line == "Output:" and lines is None:
            lines = []
        elif lines is not None and line.endswith("<end of output>"):  # also behind a last line without its end
            lines.append(line.removesuffix("<end of output>"))
            yield name, lines
            name, lines = None, None
        elif lines is not None:
            lines.append(line)


def skipped_cases(lines):
    """(case, reason) for each skipped case of a GoogleTest program's output."""
    reason = None
    for line in lines:
        case = SKIPPED_CASE.match(line)
        if REASON.match(line):
            reason = []
        elif case:
            yield case[1], " ".join(reason or ["no reason given"])
            reason = None
        elif reason is not None and line:
            reason.append(line)


def print_skips(log, tests):
    """Lists skipped cases, and those of `tests`, tests that ctest knows to be skipped, with the end of their output."""
    found = []
    for name, lines in blocks(log):
        found += skipped_cases(lines)
        if name in tests:
            said = [line for line in lines if line and not re.fullmatch("-+", line)]
            found.append((name, said[-1] if said else "no reason given"))
    if found:
        print(f"Skipped ({len(found)}):")
        for name, reason in sorted(found):
            print(f"  {name}: {reason}")


def main():
    log = os.path.join(sys.argv[1], "Testing", "Temporary", "LastTest.log")
    if os.path.exists(log):
        os.remove(log)  # never that of an earlier run
    ctest = subprocess.Popen(["ctest", *sys.argv[2:]], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             text=True, errors="replace")
    summary = []
    try:
        for line in ctest.stdout:
            if summary or re.match(r"^\d+% tests passed, ", line):
                summary.append(line)
            else:
                print(line, end="", flush=True)
        ctest.wait()
    except KeyboardInterrupt:  # ctest has had it too
        ctest.wait()
    tests = {match[1] for line in summary if (match := re.match(r"^\s+\d+ - (\S+) \(Skipped\)", line))}
    if os.path.exists(log):
        with open(log, errors="replace") as lines:
            print_skips(lines, tests)
    print("\n" if summary else "", *summary, sep="", end="", flush=True)
    return ctest.returncode if ctest.returncode >= 0 else 128 - ctest.returncode


if __name__ == "__main__":
    sys.exit(main())
