#!/usr/bin/python3
"""demo_test.py BUILD FOLDER: ./run demo, with a few steps of everything. The shape of its table and its report; no times."""
import os
import re
import subprocess
import sys

DEMO = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench", "demo.py")
ROWS = ["serial", "data_parallel", "layerpipe sync", "layerpipe async", "parareal", "data_parallel", "daso", "dense network",
        "pruned 90 %", "pruned, sparse_rows"]
HEADINGS = r"what +workers +speedup +accuracy +sent/step +memory +what it costs"
CELLS = r" +\d+ +\d+\.\d\dx +\d+\.\d\d% +(-|[\d.]+ [KM]?i?B) +[\d.]+ [KM]iB +\S.*"


def wrong(table, errors, report):
    """What is not as it should be; None: nothing."""
    lines = table.splitlines()
    heads = [i for i, line in enumerate(lines) if re.fullmatch(HEADINGS, line)]
    if len(heads) != 1:
        return "no line of headings"
    too_long = [line for line in lines if len(line) > 100]
    if too_long:
        return f"longer than 100 columns: {too_long[0]}"
    rows = [(i, line) for i, line in enumerate(lines) if re.search(r"\dx +\d", line)]
    if len(rows) != len(ROWS):
        return f"{len(rows)} rows instead of {len(ROWS)}"
    for (i, line), name in zip(rows, ROWS):
        if not re.fullmatch(re.escape(name) + CELLS, line):
            return f"not a row of {name}: {line}"
        if not re.match("    [A-Z].*[.]$", lines[i + 1]):
            return f"no line says when to choose {name}: {lines[i + 1]}"
    if rows[0][1].split()[2] != "1.00x":
        return "serial is the reference, but is not 1.00x"
    counts = re.findall(r"^\[ ?(\d+) of (\d+)\]", errors, re.M)
    if not counts or counts[-1][0] != counts[-1][1]:
        return f"the progress ends with {counts[-1:]}"
    if not os.path.getsize(report):
        return "the report is empty"
    return None


def main():
    build, folder = sys.argv[1:]
    ran = subprocess.run([sys.executable, DEMO, "--build", build, "--folder", folder, "--quick"], capture_output=True, text=True,
                         check=False)
    print(ran.stderr + ran.stdout)
    if ran.returncode != 0:
        return ran.returncode
    found = wrong(ran.stdout, ran.stderr, os.path.join(folder, "report.html"))
    print(f"demo_test: {found}" if found else "demo_test: all there")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
