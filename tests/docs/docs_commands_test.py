"""Every command of README.md, CONTRIBUTING.md and docs/ does what the page says it can: docs_commands_test.py PLAIT.

Each page gets a folder of its own, in which its commands run in their order, with small stand-ins for data and files
(stand_ins.py). SUBSTITUTED says what is changed on the way, and why; no flag is left out. Not run, only looked up:
`./run X` (would build, or measure for hours): `./run help` must know X; NOT_RUN has the rest. Exit code 77: no bash.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from doc_commands import commands_of  # noqa: E402
from stand_ins import IMAGES, furnish, missing  # noqa: E402

SOURCE = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SECONDS = 240  # of one command; the usual one takes two
LIMITS = f"--train-limit {IMAGES} --test-limit {IMAGES}"
# (what, by what, why). Each must be of use somewhere.
SUBSTITUTED = [
    (r"\b(train|profile)( .*)--batch \d+", rf"\1\2--batch {IMAGES}", "time: no more than the images there are"),
    (r"\b(plan)( .*)--batch \d+(?= .*--out)", rf"\1\2--batch {IMAGES}", "the same: the plan is trained"),
    (r"\bplait (train|eval)(?= .*--model)(?!.*--(?:batch|plan))", rf"plait \1 --batch {IMAGES}", "time: the same"),
    (r"\bplait train(?= .*--model)", f"plait train {LIMITS}", "time: glyphs are thousands"),
    (r"--epochs \d+", "--epochs 2", "time"),
    (r"\bplait train(?= .*--model)(?!.*--(?:epochs|strategy daso))", "plait train --epochs 1", "time; daso has phases"),
    (r"\bplait profile ", "plait profile --steps 1 ", "time: ten steps by default"),
    (r"(profile .*)--model vgg16 (?=.*--out)", r"\1--model lenet ", "time: measures four batches, and all cores at once"),
    (r"\bplait plan (?!.*--(?:cost|profile|help|plan))", "plait plan --cost analytic ", "time: networks would be measured"),
    (r"\bplait train(?= .*--model)(?!.*--(?:cost|profile|resume))", "plait train --cost analytic", "time: the same"),
    (r"radixnet:1024x120", "radixnet:1024x12", "time"),
    (r"mpirun -n \d+ (?=.*--strategy daso)(.*)", r"\1 --nodes 2 --workers-per-node 2", "needs several nodes"),
    (r"mpirun (.*)-n \d+", r"mpirun \1-n 2", "time: two cores"),
    (r"--threads [2-9]\d*", "--threads 1", "time: two cores"),
    (r"--model M\b", "--model lenet", "a letter that stands for a value, as the next ones"),
    (r"--batch B\b", f"--batch {IMAGES}", "the same"),
    (r"--pieces N\b", "--pieces 2", "the same"),
    (r"plait VERB", "plait train", "the same"),
    (r"data fetch mnist;", "data fetch --help;", "needs the network"),
    (r"--prefix P$", "--prefix prefix", "P is a file on this page already"),
]
NOT_RUN = {"tensorboard --logdir runs": "another project's program"}


def pages():
    names = ["README.md", "CONTRIBUTING.md"] + sorted(glob.glob("docs/*.md", root_dir=SOURCE))
    for name in names:
        with open(os.path.join(SOURCE, name), encoding="utf-8") as file:
            yield name, file.read()


def substituted(text, used):
    for what, by, _why in SUBSTITUTED:
        changed = re.sub(what, by, text)
        if changed != text:
            used.add(what)
        text = changed
    return text


def environment(scratch):
    """Open MPI needs to be told that root may, and that there are more processes than cores."""
    return {**os.environ, "PATH": f"{scratch}/bin:{os.environ['PATH']}", "MANPAGER": "cat", "SLURM_JOB_ID": "1", "SLURM_CPUS_PER_TASK": "1",
            "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_rmaps_base_oversubscribe": "1", "XDG_CACHE_HOME": f"{scratch}/cache"}


def bash(text, scratch):
    """Exit code and what was printed."""
    try:
        ran = subprocess.run(["bash", "-o", "pipefail", "-c", text], cwd=scratch, env=environment(scratch), text=True,
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             errors="replace", timeout=SECONDS, check=False)
        return ran.returncode, ran.stdout
    except subprocess.TimeoutExpired as late:
        return 124, f"{(late.stdout or b'').decode(errors='replace')}\nnot done after {SECONDS} s"


def known_to_run(words, help_text):
    """Whether ./run help has a line for it; of a benchmark also its name."""
    line = re.search(rf"^\./run {re.escape(words[1])}\b.*", help_text, re.M)
    return words[1] == "help" or (line and (words[1] != "bench" or len(words) < 3 or words[2] in line[0]))


class Tally:
    def __init__(self, plait):
        self.plait = plait
        self.build = os.path.dirname(plait)
        self.help_text = subprocess.run(["./run", "help"], cwd=SOURCE, capture_output=True, text=True, check=True).stdout
        self.ran = self.changed = self.pages = 0
        self.not_run = {}
        self.failures = []
        self.used = set()

    def leave(self, why):
        self.not_run[why] = self.not_run.get(why, 0) + 1

    def fail(self, command, text, output):
        tail = "\n".join(f"    {line[:300]}" for line in output.strip().splitlines()[-6:])
        self.failures.append(f"{command.page}:{command.line}: {text.strip()}\n{tail}")

    def why_not(self, text):
        """Why a command is not run; None: it is."""
        if text in NOT_RUN:
            self.used.add(text)
            return NOT_RUN[text]
        if "mpirun" in text and not shutil.which("mpirun"):
            return "no mpirun here"
        if "| man " in text and not shutil.which("man"):
            return "no man here"
        if text.startswith("cmake --install") and not os.path.exists(f"{self.build}/cmake_install.cmake"):
            return "the program is in no build folder"
        return None

    def try_command(self, command, scratch):
        words = command.text.split()
        if words[0] == "./run":
            if not known_to_run(words, self.help_text):
                self.fail(command, command.text, "./run help does not know it")
            return self.leave("./run is only looked up in its help")
        text = substituted(command.text, self.used)
        if why := self.why_not(text):
            return self.leave(why)
        for earlier in missing(text, scratch):
            code, output = bash(earlier, scratch)
            if code != 0:
                return self.fail(command, f"{earlier}   (a stand-in for the page's own)", output)
        code, output = bash(text, scratch)
        if code != 0 and "built without" in output:
            return self.leave("not in this build")
        self.ran += 1
        self.changed += text != command.text
        if code != 0:
            self.fail(command, text, f"{output}\nexit code {code}")
        return None

    def try_page(self, name, content):
        commands = commands_of(name, content)
        if not commands:
            return
        self.pages += 1
        with tempfile.TemporaryDirectory(prefix="plait-docs-") as scratch:
            furnish(scratch, self.plait, self.build)
            for command in commands:
                self.try_command(command, scratch)

    def ended(self):
        for entry in [what for what, _by, _why in SUBSTITUTED] + list(NOT_RUN):
            if entry not in self.used:
                self.failures.append(f"no page needs this entry of the test any more: {entry}")
        print("\n".join(self.failures))
        reasons = "; ".join(f"{count} {why}" for why, count in self.not_run.items())
        print(f"{self.ran} commands of {self.pages} pages ran, {self.changed} substituted, "
              f"{sum(self.not_run.values())} not run: {reasons}; {len(self.failures)} failed")
        return 1 if self.failures else 0


def main():
    if not shutil.which("bash"):
        print("skipped: no bash")
        return 77
    tally = Tally(os.path.abspath(sys.argv[1]))
    for name, content in pages():
        tally.try_page(name, content)
    return tally.ended()


if __name__ == "__main__":
    sys.exit(main())
