#!/usr/bin/python3
"""bench_flags_test.py PLAIT: every flag that a script of bench/ gives to plait is one that plait has.

The benchmarks take minutes and are not run by the tests; a flag that got another name would be noticed by whoever wants
figures. A string "--x" in a script is plait's, unless the scripts themselves take it (argparse) or it is another
program's.
"""
import glob
import os
import re
import subprocess
import sys

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
# mpirun's, and those of programs of bench/ itself.
OTHERS = {"--hostfile", "--map-by", "--bind-to", "--mca", "--allow-run-as-root", "--oversubscribe", "--prefix", "--cpus",
          "--rate", "--name", "--worker"}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def known_to(plait):
    def help_of(*words):
        return subprocess.run([plait, *words, "--help"], capture_output=True, text=True, check=True).stdout
    verbs = re.findall(r"^  (\w+) ", help_of().split("Examples")[0], re.M)
    return {flag for verb in verbs for flag in re.findall(r"--[a-z][a-z-]*", help_of(verb))}


def main():
    known = known_to(sys.argv[1])
    scripts = sorted(glob.glob(os.path.join(BENCH, "*.py")))
    texts = {os.path.basename(path): read(path) for path in scripts}
    taken = set(re.findall(r"add_argument\(\s*\"(--[a-z-]+)", "\n".join(texts.values())))
    wrong = 0
    for name, text in texts.items():
        for line, content in enumerate(text.splitlines(), 1):
            for flag in re.findall(r"[\"'](--[a-z][a-z-]*)[\"']", content):
                if flag not in known | taken | OTHERS:
                    wrong += 1
                    print(f"bench/{name}:{line}: no verb of plait has {flag}")
    print(f"{len(texts)} scripts, {len(known)} flags of plait, {wrong} unknown")
    return 1 if wrong or not known else 0


if __name__ == "__main__":
    sys.exit(main())
