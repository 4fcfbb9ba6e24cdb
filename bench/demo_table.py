"""What the runs of the demo have shown, as a table of at most 100 columns, with a line under each row."""

import json
import statistics

HEADINGS = ("what", "workers", "speedup", "accuracy", "sent/step", "memory", "what it costs")


class Measured:
    """The run folders of one row: the same training, once per round."""

    def __init__(self, folders):
        self.epochs = [[json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
                       for folder in folders]
        self.result = json.loads((folders[0] / "report.json").read_text())["result"]

    @property
    def images_per_second(self):
        """Of training alone: the median of the epochs of all rounds."""
        return statistics.median(epoch["images_per_second"] for epochs in self.epochs for epoch in epochs)

    @property
    def accuracy(self):
        return self.result["test_accuracy"]

    @property
    def best_accuracy(self):
        return max(epoch["test_accuracy"] for epoch in self.epochs[0])

    def seconds_to(self, accuracy):
        """Of training, up to the end of the first epoch that has it."""
        seconds = 0
        for epoch in self.epochs[0]:
            seconds += epoch["seconds"]
            if epoch["test_accuracy"] >= accuracy:
                return seconds
        return None

    @property
    def sent_per_step(self):
        return self.result["bytes_sent"] / self.result["steps"]

    @property
    def memory(self):
        """Of the worker that holds most."""
        return max(share["memory_bytes"] for share in self.result["shares"])


def with_unit(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "B" or count >= 100 else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:.1f} GiB"


def cells(row, measured, reference):
    """`row`: with `what` is trained and its `cost`."""
    late = measured.result["staleness_max"]
    cost = row.cost.format(staleness=f"{late} update{'' if late == 1 else 's'}")
    return (row.what, str(measured.result["workers"]), f"{measured.images_per_second / reference.images_per_second:.2f}x",
            f"{100 * measured.accuracy:.2f}%", with_unit(measured.sent_per_step) if measured.sent_per_step else "-",
            with_unit(measured.memory), cost)


def table(rows):
    """`rows`: cells and the line under them; None: a new part begins, with `line` as its title."""
    filled = [HEADINGS, *(row for row, _ in rows if row)]
    widths = [max(len(row[i]) for row in filled) for i in range(len(HEADINGS))]

    def text(row):
        middle = [cell.rjust(width) for cell, width in zip(row[1:-1], widths[1:-1])]
        return "  ".join([row[0].ljust(widths[0]), *middle, row[-1]])

    lines = [text(HEADINGS)]
    for row, line in rows:
        lines += [text(row), f"    {line}"] if row else ["", line]
    return "\n".join(lines) + "\n"


def same_accuracy(one, other):
    """The highest whole percent that both reach, as a share."""
    return int(100 * min(one.best_accuracy, other.best_accuracy)) / 100
