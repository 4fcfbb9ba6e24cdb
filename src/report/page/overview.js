// The head of the page, the comparison of runs, and the curves.
const last = (run) => run.epochs.length > 0 ? run.epochs[run.epochs.length - 1] : null;
const resultOf = (run) => (run.record && run.record.result) || null;

// A figure of the result, or of the last epoch where the run did not come to its end.
const figure = (run, key) => {
  const result = resultOf(run);
  if (result && isNumber(result[key])) return result[key];
  const epoch = last(run);
  return epoch && isNumber(epoch[key]) ? epoch[key] : null;
};
const workersOf = (run) => (run.record ? run.record.plan.workers : run.settings.workers) || 1;
const sentPerStep = (run) => {
  const found = run.record && run.record.measured && run.record.measured.breakdown;
  return found ? found.bytes.flat().reduce((all, value) => all + value, 0) : null;
};
const stalenessOf = (run) => run.record ? Math.max(0, ...run.record.plan.blocks.map((block) => block.staleness)) : null;
// A file by its name and folder, whatever the path to it.
const modelText = (run) => /[/\\]/.test(run.settings.model) ? run.settings.model.split(/[/\\]/).slice(-2).join("/") : run.settings.model;
const titleOf = (run) => `${modelText(run)} on ${run.settings.data}`;
const runColours = 12;
const runColour = (i) => `run-${i % runColours}`;
// Images per second over those of the first run that trains the same network.
const speedup = (runs) => (run) => {
  const same = runs.filter((one) => one.settings.model === run.settings.model && figure(one, "images_per_second") > 0);
  return same.length > 1 && same.includes(run) ? figure(run, "images_per_second") / figure(same[0], "images_per_second") : null;
};
const strategyText = (run) => `${run.settings.strategy}, ${plural(workersOf(run), "worker")}`;

const settingsText = (run) => {
  const {settings} = run;
  const result = resultOf(run);
  return [
    strategyText(run),
    `batch ${settings.batch}` + (settings.microbatches > 1 ? ` in ${settings.microbatches} microbatches` : ""),
    settings.optimizer && `${settings.optimizer}, rate ${settings.lr}`,
    result && `${plural(result.epochs, "epoch")}, ${plural(result.steps, "step")}`,
    result && result.interrupted && "interrupted",
  ].filter(Boolean).join(" · ");
};

const figuresOf = (run) => {
  const accuracy = figure(run, "test_accuracy");
  const result = resultOf(run);
  const list = [];
  const add = (name, text, note) => list.push(el("div", {}, el("dt", {}, name), el("dd", {"data-figure": name}, text, note && el("small", {}, note))));
  const best = largest(run.epochs.map((epoch) => isNumber(epoch.test_accuracy) ? epoch.test_accuracy : -1));
  if (accuracy !== null) add("Test accuracy", percent(accuracy, 2), best > accuracy ? `best ${percent(best, 2)}` : null);
  if (figure(run, "test_loss") !== null) add("Test loss", digits(figure(run, "test_loss"), 4));
  if (figure(run, "train_loss") !== null) add("Train loss", digits(figure(run, "train_loss"), 4));
  if (figure(run, "images_per_second") !== null) add("Images per second", digits(figure(run, "images_per_second")));
  if (result) {
    const expected = run.record.predicted.utilisation;
    add("Utilisation", percent(result.utilisation, 0), expected > 0 ? `predicted ${percent(expected, 0)}` : null);
    add("Time of a step", time(result.step_seconds), "median");
    if (sentPerStep(run) > 0) add("Sent per step", bytes(sentPerStep(run)), "all workers");
    if (stalenessOf(run) > 0) add("Largest staleness", plural(stalenessOf(run), "update"));
    add("Memory", bytes(result.peak_memory_bytes), "largest process");
    add("Training took", duration(result.seconds));
  }
  return list.length > 0 ? el("dl", {class: "figures", id: "figures"}, list) : null;
};

const progressOf = (run) => {
  const progress = run.progress;
  if (!progress || progress.ended) return null;
  const share = progress.total_steps > 0 ? progress.step / progress.total_steps : 0;
  const left = progress.seconds_left > 0 ? ` · about ${duration(progress.seconds_left)} left` : "";
  return el("div", {class: "progress", id: "progress"},
    el("div", {class: "track"}, el("div", {class: "done", style: {width: 100 * share + "%"}})),
    el("p", {}, progress.lost ? "The run has ended or cannot be reached; this is what it said last."
      : progress.step === 0 ? "Starting."
      : `Running: epoch ${progress.epoch}, step ${commas(progress.step)} of ${commas(progress.total_steps)} · ` +
        `loss ${digits(progress.loss)} · ${digits(progress.images_per_second)} images/s${left}`));
};

const header = (runs, run) => runs.length > 1
  ? el("header", {}, el("h1", {}, `${runs.length} runs compared`),
      el("p", {class: "subtitle"}, [...new Set(runs.map(titleOf))].join(", ")))
  : el("header", {}, el("h1", {}, titleOf(run)),
      el("p", {class: "subtitle"}, settingsText(run)),
      el("p", {class: "subtitle"}, run.name),
      !resultOf(run) && !run.progress && el("p", {class: "subtitle", id: "unfinished"}, "This run has not come to its end. " +
        (run.record ? "Timeline and times are of an epoch's last steps." : "It has no report.json: curves and settings are all there is.")),
      progressOf(run), figuresOf(run));

const compareSection = (runs, chosen, choose) => {
  if (runs.length < 2) return null;
  const columns = [
    ["test accuracy", (run) => figure(run, "test_accuracy"), (value) => percent(value, 2), Math.max],
    ["test loss", (run) => figure(run, "test_loss"), (value) => digits(value, 4), Math.min],
    ["images/s", (run) => figure(run, "images_per_second"), (value) => digits(value), Math.max],
    ["speedup", speedup(runs), (value) => value.toFixed(2) + "x", null],
    ["utilisation", (run) => figure(run, "utilisation"), (value) => percent(value, 0), Math.max],
    ["median step", (run) => figure(run, "step_seconds"), time, null],
    ["sent per step", sentPerStep, (value) => value > 0 ? bytes(value) : "0", null],
    ["staleness", stalenessOf, String, null],
    ["memory", (run) => figure(run, "peak_memory_bytes"), bytes, null],
    ["took", (run) => figure(run, "seconds"), duration, null],
  ].filter(([, value]) => runs.some((run) => value(run) !== null));
  const bests = columns.map(([, value, , better]) => {
    const values = runs.map(value).filter((one) => one !== null);
    return better && new Set(values).size > 1 ? better(...values) : null;
  });
  return section("compare", "Comparison", el("p", {}, "The best of a column in bold; speedup: over the first run that trains the same network. Choose a run to see its details below."),
    el("div", {class: "scroll"}, el("table", {id: "comparison"},
      el("thead", {}, el("tr", {}, el("th", {class: "first"}, "run"), el("th", {}, "strategy"), el("th", {class: "n"}, "workers"),
        columns.map(([name], i) => el("th", {class: i + 1 === columns.length ? "n last" : "n"}, name)))),
      el("tbody", {}, runs.map((run, i) => el("tr", {class: i === chosen ? "chosen" : "pick"},
        el("td", {class: "name"}, el("span", {class: "swatch", style: {background: `var(--${runColour(i)})`, marginRight: "8px"}}),
          el("a", {href: "#time", onclick: () => choose(i)}, run.name)),
        el("td", {}, run.settings.strategy), el("td", {class: "n"}, String(workersOf(run))),
        columns.map(([, value, text], column) => {
          const one = value(run);
          return el("td", {class: "n" + (one !== null && one === bests[column] ? " best" : "")}, one === null ? "–" : text(one));
        })))))));
};

// Where the sections about one run begin.
const detailsHead = (runs, run) => runs.length < 2 ? null
  : el("div", {class: "details"}, el("h2", {}, run.name), el("p", {class: "subtitle"}, settingsText(run)));

const pointsOf = (run, key) => run.epochs.filter((epoch) => isNumber(epoch[key])).map((epoch) => [epoch.epoch, epoch[key]]);

// Two losses of many runs in one picture would be too many lines.
const runsInOneChart = 4;

const curvesSection = (runs) => {
  if (runs.every((run) => run.epochs.length === 0)) return null;
  const several = runs.length > 1;
  const apart = runs.length > runsInOneChart;
  const lines = (key, name, broken) => runs.map((run, i) => ({
    name: several ? `${run.name}, ${name}` : name, group: several && run.name, colour: several || !broken ? runColour(i) : "run-1", broken: several && broken, points: pointsOf(run, key)}));
  const losses = (title, series, values) => lineChart(series,
    {title, zero: true, values, format: (value, mark) => mark ? digits(value, value >= 1 ? 2 : 1 + (value < 0.1)) : digits(value, 4)});
  const loss = apart
    ? [losses("Train loss", lines("train_loss", "train loss", false)), losses("Test loss", lines("test_loss", "test loss", false))]
    : losses("Loss", [...lines("train_loss", "train loss", false), ...lines("test_loss", "test loss", true)], several && "train, test");
  const accuracy = lineChart(lines("test_accuracy", "test accuracy", false),
    {title: "Test accuracy", top: 1, format: (value, mark) => mark ? +(100 * value).toFixed(2) + " %" : percent(value, 2)});
  const names = several
    ? [...runs.map((run, i) => el("li", {}, el("span", {class: "swatch", style: {background: `var(--${runColour(i)})`}}), run.name)),
       ...(apart ? [] : [el("li", {}, el("span", {class: "dash"}), "train loss, accuracy"), el("li", {}, el("span", {class: "dash broken"}), "test loss")])]
    : [el("li", {}, el("span", {class: "swatch", style: {background: "var(--run-0)"}}), "train loss, test accuracy"),
       el("li", {}, el("span", {class: "swatch", style: {background: "var(--run-1)"}}), "test loss")];
  return section("curves", "Curves", el("ul", {class: "legend"}, names), el("div", {class: "charts"}, loss, accuracy), epochsTable(runs));
};

const epochsTable = (runs) => el("details", {}, el("summary", {}, "The numbers of every epoch"),
  el("div", {class: "scroll tall"}, el("table", {id: "epochs"},
    el("thead", {}, el("tr", {}, runs.length > 1 && el("th", {}, "run"),
      ["epoch", "train loss", "test loss", "test accuracy", "learning rate", "images/s", "seconds"].map((name) => el("th", {class: "n"}, name)))),
    el("tbody", {}, runs.flatMap((run) => run.epochs.map((epoch) => {
      const cell = (key, text) => el("td", {class: "n"}, isNumber(epoch[key]) ? text(epoch[key]) : "–");
      return el("tr", {}, runs.length > 1 && el("td", {class: "name"}, run.name),
        cell("epoch", String), cell("train_loss", (value) => value.toFixed(4)), cell("test_loss", (value) => value.toFixed(4)),
        cell("test_accuracy", (value) => percent(value, 2)), cell("learning_rate", (value) => String(+value.toPrecision(4))),
        cell("images_per_second", digits), cell("seconds", (value) => digits(value)));
    }))))));
