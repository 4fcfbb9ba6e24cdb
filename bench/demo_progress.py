"""Runs the steps of the demo one after the other and says which one runs, how long it has all taken and how long it will."""

import subprocess
import sys
import tempfile
import time


def clock(seconds):
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Progress:
    """`expected`: seconds of every step on some machine, in their order; only their ratios matter."""

    def __init__(self, expected):
        self.expected = expected
        self.done = 0
        self.begin = self.begun_at = time.monotonic()  # of all, and of the step that runs
        self.redraws = sys.stderr.isatty()

    def run(self, title, command):
        """One step: what `command` prints on stdout. Its failure ends the demo."""
        self.begun_at = time.monotonic()
        self.draw(title)
        with tempfile.TemporaryFile("w+") as errors:
            with subprocess.Popen(command, text=True, stdout=subprocess.PIPE, stderr=errors) as process:
                answer = self.wait(title, process)
            if process.returncode != 0:
                errors.seek(0)
                sys.exit(f"\ndemo: {' '.join(command)} failed (exit code {process.returncode}):\n{errors.read().strip()}")
        self.done += 1
        return answer

    def wait(self, title, process):
        while True:
            try:
                return process.communicate(timeout=0.5)[0]
            except subprocess.TimeoutExpired:
                if self.redraws:
                    self.draw(title)

    def note(self, text):
        """What the step that has just ended has shown."""
        passed = f"[{self.done:2d} of {len(self.expected)}] {text}"
        print(f"\r\x1b[K{passed}" if self.redraws else passed, file=sys.stderr, flush=True)

    def draw(self, title):
        if not self.redraws and self.done:  # a log file gets one line per step, from note()
            return
        passed = time.monotonic() - self.begin
        text = f"[{self.done + 1:2d} of {len(self.expected)}] {title} ... {clock(passed)} so far{self.left(passed)}"
        print(f"\r\x1b[K{text}" if self.redraws else text, file=sys.stderr, end="" if self.redraws else "\n", flush=True)

    def left(self, passed):
        """By what the steps before took, beside what was expected of them."""
        if self.done < 2:
            return f", about {clock(max(sum(self.expected) - passed, 0))} left"
        before = sum(self.expected[:self.done])
        seconds = sum(self.expected) / before * (self.begun_at - self.begin) - passed
        return f", about {clock(max(seconds, 0))} left"
