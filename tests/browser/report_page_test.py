"""The report page in a real browser: report_page_test.py PLAIT. Exit code 77: no browser here."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import chromium  # noqa: E402

PLAIT = os.path.abspath(sys.argv.pop()) if len(sys.argv) > 1 else ""
SMALL = ["--model", "lenet", "--data", "glyphs", "--train-limit", "256", "--test-limit", "128", "--batch", "32",
         "--epochs", "4", "--threads", "1", "--pin", "none", "--json", "--quiet"]
ODD_NAME = "odd </script> & \"name\""


def percent(share, places):
    return f"{100 * share:.{places}f} %"


class ReportPage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="plait-page-")
        cls.browser = chromium.Browser()
        cls.serial = cls.train("--run-dir", "serial")
        cls.pipe = cls.train("--cost", "analytic", "--run-dir", ODD_NAME, "--strategy", "layerpipe", "--workers", "2", "--pipeline", "async")

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        cls.folder.cleanup()

    @classmethod
    def plait(cls, *words):
        ran = subprocess.run([PLAIT, *words], cwd=cls.folder.name, capture_output=True, text=True, timeout=300)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    @classmethod
    def train(cls, *words):
        return json.loads(cls.plait("train", *SMALL, *words))

    def path(self, *names):
        return os.path.join(self.folder.name, *names)

    def record(self, run):
        with open(self.path(run, "report.json"), encoding="utf-8") as file:
            return json.load(file)

    def epochs(self, run):
        with open(self.path(run, "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def open(self, *names, dark=False):
        page = self.browser.page(dark=dark)
        page.open("file://" + "/".join(map(quoted, self.path(*names).split("/"))))
        self.addCleanup(lambda: self.assertEqual(page.complaints(), []))
        return page

    def text(self, page, selector):
        return page.evaluate(f"document.querySelector({json.dumps(selector)}).textContent")

    # -- what is there

    def test_figures_are_those_of_the_run(self):
        page = self.open("serial", "report.html")
        self.assertTrue(self.text(page, "[data-figure='Test accuracy']").startswith(percent(self.serial["test_accuracy"], 2)))
        self.assertAlmostEqual(float(self.text(page, "[data-figure='Train loss']")), self.serial["train_loss"], delta=1e-3)
        self.assertEqual(self.text(page, "[data-figure='Utilisation']").split(" %")[0], f"{100 * self.serial['utilisation']:.0f}")
        self.assertIn("lenet on glyphs", self.text(page, "h1"))
        self.assertIn("strategy", self.text(page, "pre"))
        self.assertIsNone(page.evaluate("document.querySelector('#messages')"), "one worker sends nothing")

    def test_nothing_comes_from_the_network(self):
        page = self.open(ODD_NAME, "report.html")
        for address in page.requests():
            self.assertRegex(address, "^(file|data):")

    def test_epochs_are_those_of_the_metrics(self):
        page = self.open("serial", "report.html")
        rows = page.evaluate("[...document.querySelectorAll('#epochs tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        expected = self.epochs("serial")
        self.assertEqual(len(rows), len(expected))
        for row, epoch in zip(rows, expected):
            self.assertEqual(row[0], str(epoch["epoch"]))
            self.assertEqual(row[1], f"{epoch['train_loss']:.4f}")
            self.assertEqual(row[3], percent(epoch["test_accuracy"], 2))

    def test_curves_go_through_the_metrics(self):
        page = self.open("serial", "report.html")
        for series, key in (("train loss", "train_loss"), ("test loss", "test_loss"), ("test accuracy", "test_accuracy")):
            path = page.evaluate(f"document.querySelector('path[data-series=\"{series}\"]').getAttribute('d')")
            places = [float(point.split()[1]) for point in re.findall(r"[\d.]+ [\d.]+", path)]
            values = [epoch[key] for epoch in self.epochs("serial")]
            self.assertEqual(len(places), len(values), series)
            low, high = values.index(min(values)), values.index(max(values))
            slope = (places[high] - places[low]) / (values[high] - values[low])
            self.assertLess(slope, 0, "up is more")
            for place, value in zip(places, values):
                self.assertAlmostEqual(place, places[low] + slope * (value - values[low]), delta=0.1, msg=series)

    def test_bars_are_those_of_the_breakdown(self):
        page = self.open(ODD_NAME, "report.html")
        breakdown = self.record(ODD_NAME)["measured"]["breakdown"]
        longest = max(worker["span"] for worker in breakdown["workers"])
        for i, worker in enumerate(breakdown["workers"]):
            widths = page.evaluate(
                f"Object.fromEntries([...document.querySelectorAll('#workers tbody tr')[{i}].querySelector('.stack').children]"
                ".map(s => [s.className.split(' ')[1], parseFloat(s.style.width)]))")
            for shade in ("forward", "backward_data", "backward_weights", "communication", "waiting"):
                self.assertAlmostEqual(widths.get(shade, 0), 100 * worker[shade] / longest, delta=0.01, msg=shade)
        rows = page.evaluate("[...document.querySelectorAll('#blocks tbody tr')].map(r => r.cells[0].textContent)")
        self.assertEqual(rows, [block["name"] for block in breakdown["blocks"]])
        cell = page.evaluate("document.querySelectorAll('#matrix tbody tr')[0].cells[2].textContent")
        number, unit = cell.split()
        sent = breakdown["bytes"][0][1] / 1024 ** ["B", "KiB", "MiB", "GiB"].index(unit)
        decimals = len(number.partition(".")[2])
        self.assertAlmostEqual(float(number), sent, delta=0.6 * 10 ** -decimals)

    def test_staleness_is_the_plans(self):
        page = self.open(ODD_NAME, "report.html")
        late = {block["name"]: block["staleness"] for block in self.record(ODD_NAME)["plan"]["blocks"]}
        self.assertGreater(max(late.values()), 0)
        first = page.evaluate("[...document.querySelectorAll('#stale tbody tr')[0].cells].map(c => c.textContent)")
        self.assertEqual(first[-1], str(late[first[0].split(" …")[0]]))

    def test_prediction_stands_beside_what_was_measured(self):
        page = self.open(ODD_NAME, "report.html")
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.panel b')].map(b => b.textContent)"), ["Measured", "Predicted"])
        self.assertIn("costs counted", self.text(page, "#timeline p"))

    # -- the timeline

    def view(self, page, panel=0):
        return page.evaluate(f"(() => {{ const d = document.querySelectorAll('.panel canvas')[{panel}].dataset;"
                             "return [Number(d.from), Number(d.to), Number(d.redraws), Number(d.drawn)]; })()")

    def click(self, page, name):
        page.evaluate(f"[...document.querySelectorAll('.tools button')].find(b => b.textContent === {json.dumps(name)}).click()")
        page.settle()

    def test_buttons_and_keys_zoom_and_move(self):
        page = self.open("serial", "report.html")
        begin, end, *_ = self.view(page)
        span = end - begin
        self.assertGreater(span, 0)
        self.click(page, "+")
        begin, end, *_ = self.view(page)
        self.assertAlmostEqual((end - begin) / span, 0.5, places=6)
        page.evaluate("document.querySelector('.panel canvas').focus()")
        page.key("+", "+")
        zoomed = self.view(page)
        self.assertAlmostEqual((zoomed[1] - zoomed[0]) / span, 0.25, places=6)
        page.key("ArrowLeft")
        moved = self.view(page)
        self.assertLess(moved[0], zoomed[0])
        self.assertAlmostEqual(moved[1] - moved[0], zoomed[1] - zoomed[0], places=3)
        page.key("ArrowRight")
        self.assertAlmostEqual(self.view(page)[0], zoomed[0], places=3)
        page.key("-", "-")
        self.assertAlmostEqual((lambda v: v[1] - v[0])(self.view(page)) / span, 0.5, places=6)
        self.click(page, "−")
        self.assertAlmostEqual((lambda v: v[1] - v[0])(self.view(page)) / span, 1, places=6)
        self.click(page, "All")
        self.assertEqual(self.view(page)[0], 0)
        self.click(page, "Last steps")
        self.assertAlmostEqual((lambda v: v[1] - v[0])(self.view(page)), span, places=3)

    def test_mouse_zooms_moves_and_tells(self):
        page = self.open("serial", "report.html")
        page.evaluate("document.querySelector('#timeline').scrollIntoView()")
        page.settle()
        x, y = page.evaluate("(() => { const b = document.querySelector('.panel canvas').getBoundingClientRect(); return [b.left + 500, b.top + 10]; })()")
        before = self.view(page)
        page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
        page.settle()
        self.assertEqual(self.view(page)[:2], before[:2], "until it is clicked the wheel scrolls the page")
        page.evaluate("document.querySelector('#timeline').scrollIntoView()")
        page.settle()
        x, y = page.evaluate("(() => { const b = document.querySelector('.panel canvas').getBoundingClientRect(); return [b.left + 500, b.top + 10]; })()")
        page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        page.mouse("mouseReleased", x, y, button="left", clickCount=1)
        page.mouse("mouseWheel", x, y, deltaX=0, deltaY=-120)
        page.settle()
        zoomed = self.view(page)
        self.assertLess(zoomed[1] - zoomed[0], before[1] - before[0])
        page.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        page.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
        page.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
        page.settle()
        self.assertLess(self.view(page)[0], zoomed[0])
        for place in range(300, 1200, 30):  # there are gaps between steps
            page.mouse("mouseMoved", place, y)
            page.settle()
            if page.evaluate("!document.getElementById('tip').hidden"):
                break
        self.assertRegex(self.text(page, "#tip"), r"on worker 0.*\nminibatch \d+, step \d+")

    def test_fifty_thousand_events_are_merged_and_stay_responsive(self):
        run = self.path("many")
        os.mkdir(run)
        with open(self.path("serial", "config.toml"), encoding="utf-8") as source, open(os.path.join(run, "config.toml"), "w", encoding="utf-8") as copy:
            copy.write(source.read())
        record = self.record(ODD_NAME)
        timeline = record["measured"]["timeline"]
        count = 25000
        for worker in timeline["workers"]:
            worker.update(label=[i % len(timeline["labels"]) for i in range(count)], begin=[40 * i for i in range(count)],
                          length=[30] * count, minibatch=[i // 50 for i in range(count)], step=[i // 50 for i in range(count)])
        with open(os.path.join(run, "report.json"), "w", encoding="utf-8") as file:
            json.dump(record, file)
        self.plait("report", "many")
        page = self.open("many", "report.html")
        self.click(page, "All")
        begin, end, redraws, drawn = self.view(page)
        self.assertEqual((begin, end), (0, 40 * (count - 1) + 30))
        width = page.evaluate("document.querySelector('.panel canvas').clientWidth")
        self.assertLessEqual(drawn, 2 * (width + 1), "one rectangle per pixel and lane at most")
        self.assertGreater(drawn, width, "and the lanes are full")
        page.evaluate("document.querySelector('.panel canvas').focus()")
        for key in ("+", "+", "+", "-", "ArrowLeft", "ArrowRight", "+", "+", "+"):
            page.key(key, key if len(key) == 1 else None)
        after = self.view(page)
        self.assertGreaterEqual(after[2], redraws + 9)
        self.assertAlmostEqual((end - begin) / (after[1] - after[0]), 32, places=3)
        self.assertLess(after[3], 2 * (width + 1))

    # -- several runs, colours, live

    def test_several_runs_are_compared(self):
        self.plait("report", "serial", ODD_NAME, "--out", "both.html")
        page = self.open("both.html")
        rows = page.evaluate("[...document.querySelectorAll('#comparison tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        self.assertEqual([row[1] for row in rows], ["serial", "layerpipe"])
        self.assertEqual([row[2] for row in rows], ["1", "2"])
        self.assertEqual([row[3] for row in rows], [percent(run["test_accuracy"], 2) for run in (self.serial, self.pipe)])
        self.assertEqual(page.evaluate("document.querySelectorAll('#curves path').length"), 6)
        self.assertIsNone(page.evaluate("document.querySelector('#stale')"))
        page.evaluate("(() => { const s = document.getElementById('run'); s.value = '1'; s.dispatchEvent(new Event('change')); })()")
        page.settle()
        self.assertIsNotNone(page.evaluate("document.querySelector('#stale') && 1"))
        self.assertIn("layerpipe", self.text(page, ".details"))
        self.assertEqual(len(self.record(ODD_NAME)["measured"]["breakdown"]["workers"]),
                         page.evaluate("document.querySelectorAll('#workers tbody tr').length"))

    def test_ten_runs_have_ten_colours_and_fit_the_window(self):
        names = [f"run-number-{i}-of-a-long-name" for i in range(10)]
        for name in names:
            shutil.copytree(self.path("serial"), self.path(name))
        self.plait("report", *names, "--out", "ten.html")
        page = self.open("ten.html")
        colours = page.evaluate("[...document.querySelectorAll('#comparison .swatch')].map(s => getComputedStyle(s).backgroundColor)")
        self.assertEqual(len(set(colours)), 10)
        self.assertEqual(page.evaluate("[...document.querySelectorAll('#curves h3')].map(h => h.textContent)"),
                         ["Train loss", "Test loss", "Test accuracy"])
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 1366)
        self.assertLessEqual(page.evaluate("document.querySelector('#comparison').scrollWidth"),
                             page.evaluate("document.querySelector('#compare .scroll').clientWidth"))
        self.assertEqual(page.evaluate("[...document.querySelectorAll('#comparison tbody tr')].map(r => r.cells[6].textContent)"),
                         ["1.00x"] * 10)

    def test_light_and_dark_both_have_contrast(self):
        def brightness(page, what):
            colour = page.evaluate(f"getComputedStyle(document.body).{what}")
            return sum(int(part) for part in re.findall(r"\d+", colour)[:3]) / 3
        light = self.open("serial", "report.html")
        self.assertGreater(brightness(light, "backgroundColor") - brightness(light, "color"), 150)
        dark = self.open("serial", "report.html", dark=True)
        self.assertGreater(brightness(dark, "color") - brightness(dark, "backgroundColor"), 150)

    def test_fits_a_laptop_and_a_narrow_window(self):
        for width in (1366, 640):
            page = self.browser.page(width=width)
            page.open("file://" + self.path("serial", "report.html"))
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), width)

    def test_a_folder_without_trace_and_metrics_gives_a_page_without_them(self):
        run = self.path("bare")
        os.mkdir(run)
        with open(os.path.join(run, "config.toml"), "w", encoding="utf-8") as file:
            file.write("model = \"lenet\"\n")
        self.plait("report", "bare")
        page = self.open("bare", "report.html")
        self.assertEqual(page.evaluate("[...document.querySelectorAll('section')].map(s => s.id)"), ["configuration"])
        self.assertIn("not come to its end", self.text(page, "#unfinished"))

    def test_a_running_run_can_be_watched(self):
        words = [word for word in SMALL if word != "--quiet"]
        words[words.index("--epochs") + 1] = "400"
        with open(self.path("live.err"), "w+", encoding="utf-8") as err:
            run = subprocess.Popen([PLAIT, "train", *words, "--run-dir", "live", "--live"], cwd=self.folder.name,
                                   stdout=subprocess.DEVNULL, stderr=err)
            try:
                self.watch(run)
            finally:
                run.kill()
                run.wait()

    def watch(self, run):
        deadline = time.monotonic() + 60
        found = None
        while not found and time.monotonic() < deadline:
            with open(self.path("live.err"), encoding="utf-8") as err:
                found = re.search(r"http://127\.0\.0\.1:\d+/", err.read())
            time.sleep(0.05)
        self.assertTrue(found)
        page = self.browser.page()
        page.open(found.group())
        page.until("document.querySelector('#progress') && /step/.test(document.querySelector('#progress').textContent)")
        rows = "document.querySelectorAll('#epochs tbody tr').length"
        page.until(rows + " > 0")
        before = page.evaluate(rows)
        page.until(f"{rows} > {before}")
        page.until("document.querySelectorAll('.panel b').length === 2")
        self.assertEqual(page.evaluate("[...document.querySelectorAll('.panel b')].map(b => b.textContent)"), ["Measured", "Predicted"])
        self.assertIn("Means over the last", self.text(page, "#time p"))
        run.send_signal(2)
        page.until("/interrupted/.test(document.querySelector('.subtitle').textContent)")
        run.wait(60)
        for address in page.requests():
            self.assertTrue(address.startswith((found.group(), "data:")), address)
        self.assertEqual(page.complaints(), [])


def quoted(name):
    """A part of a path as it stands in an address."""
    from urllib.parse import quote
    return quote(name)


if __name__ == "__main__":
    if not chromium.find():
        print("skipped: no Chromium here; apt-get install chromium")
        sys.exit(77)
    unittest.main(verbosity=2)
