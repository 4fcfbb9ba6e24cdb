// Where the time and the bytes went: bars with numbers, and a matrix.
const computeShades = ["forward", "backward_data", "backward_weights", "update", "other"];
const computeOf = (worker) => computeShades.reduce((sum, shade) => sum + worker[shade], 0);

const stack = (parts, whole, extra = "") => el("div", {class: "stack " + extra, role: "img", "aria-label":
  parts.map(([shade, value]) => `${shade.replace("_", " ")} ${time(value)}`).join(", ")},
  parts.filter(([, value]) => value > 0).map(([shade, value]) => el("div", {
    class: "segment " + shade,
    title: `${shade.replace("_", " ")}: ${time(value)} per step`,
    style: {width: 100 * value / whole + "%", ...(shade === "waiting" ? {} : {backgroundColor: `var(--${shade})`})},
  })));

const workerParts = (worker) => [...computeShades, "communication", "waiting"].map((shade) => [shade, worker[shade]]);

const legendOf = (list) => el("ul", {class: "legend"}, list.map(([shade, name]) => el("li", {},
  el("span", {class: "swatch " + shade, style: shade === "waiting" ? {} : {background: `var(--${shade})`}}), name)));

const number = (text, extra = "") => el("td", {class: "n " + extra}, text);
const head = (...names) => el("thead", {}, el("tr", {}, names.map((name) =>
  typeof name === "string" ? el("th", {class: "n"}, name) : el("th", {}, name[0]))));

const stragglerNote = (found, span, workers) => {
  if (!found) return null;
  const others = workers > 2 ? "the others" : "the other one";
  const planned = found.planned === null ? "" : found.planned > 1.2
    ? ` The plan itself gives it ${digits(found.planned)} times the work of ${others}: another cut or fewer workers may do better.`
    : ` The plan gives it about as much work as ${others}, so look at the worker: its core may be shared, or slower.`;
  return el("p", {class: "note", id: "straggler"}, `Worker ${found.worker} holds ${others} up: it computes ${time(found.compute)} per step, ${others} ${time(found.others)}. ` +
    `That costs about ${time(found.cost)} of every step` + (span > 0 ? ` (${percent(found.cost / span, 0)}).` : ".") + planned);
};

const workersTable = (run) => {
  const {measured, predicted, plan} = run.record;
  const shown = (measured && measured.breakdown) || predicted.breakdown;
  if (!shown) return null;
  const beside = measured && measured.breakdown ? predicted.breakdown : null;
  const longest = (found) => largest(found.workers.map((worker) => worker.span)) || 1;
  // The whole run's shares, as the terminal has them; while it runs, of the steps shown.
  const shares = (run.record.result && run.record.result.shares) || [];
  const busy = (worker, i) => shown === predicted.breakdown ? computeOf(worker) / longest(shown)
    : shares[i] && Number.isFinite(shares[i].busy) ? shares[i].busy : computeOf(worker) / (worker.span || 1);
  const between = (worker) => Math.max(0, worker.span - computeOf(worker) - worker.communication - worker.waiting);
  return el("div", {class: "scroll tall", tabindex: shown.workers.length > 10 ? 0 : null}, el("table", {id: "workers"},
    head(["worker"], [beside ? "share of a step; below it in thin, as predicted" : "share of a step, as predicted"],
      "computing", "communication", "waiting", "between tasks", "busy", ...(beside ? ["predicted"] : [])),
    el("tbody", {}, shown.workers.map((worker, i) => el("tr", {},
      el("td", {}, String(i)),
      el("td", {class: "bars"}, stack(workerParts(worker), longest(shown)),
        beside && stack(workerParts(beside.workers[i]), longest(beside), "thin")),
      number(time(computeOf(worker))), number(time(worker.communication)), number(time(worker.waiting)),
      number(time(between(worker))), number(percent(busy(worker, i), 0)),
      beside && number(percent(computeOf(beside.workers[i]) / longest(beside), 0)))))));
};

const blocksTable = (run) => {
  const {measured, predicted} = run.record;
  const shown = (measured && measured.breakdown) || predicted.breakdown;
  if (!shown || shown.blocks.length === 0) return null;
  const beside = measured && measured.breakdown ? predicted.breakdown : null;
  const sum = (block) => block.forward + block.backward_data + block.backward_weights;
  const total = (found) => found.blocks.reduce((all, block) => all + sum(block), 0) || 1;
  const most = largest(shown.blocks.map(sum)) || 1;
  const expected = new Map(beside ? beside.blocks.map((block) => [block.name, sum(block) / total(beside)]) : []);
  const all = total(shown);
  return el("div", {class: "scroll tall", tabindex: shown.blocks.length > 14 ? 0 : null}, el("table", {id: "blocks"},
    head(["block"], ["per step, all workers together"], "forward", "backward data", "backward weights", "share", ...(beside ? ["predicted"] : [])),
    el("tbody", {}, shown.blocks.map((block) => el("tr", {},
      el("td", {class: "name"}, block.name),
      el("td", {class: "bars"}, stack(["forward", "backward_data", "backward_weights"].map((shade) => [shade, block[shade]]), most, "clear")),
      number(time(block.forward)), number(time(block.backward_data)), number(time(block.backward_weights)),
      number(percent(sum(block) / all)),
      beside && number(expected.has(block.name) ? percent(expected.get(block.name)) : "–"))))));
};

const timeSection = (run) => {
  if (!run.record) return null;
  const {measured, predicted} = run.record;
  const found = (measured && measured.breakdown) || predicted.breakdown;
  if (!found) return null;
  const span = largest(found.workers.map((worker) => worker.span));
  const of = measured && measured.breakdown
    ? `Means over the last ${plural(found.steps, "step")} of the trace.`
    : "As the simulator expects it; what was measured comes after the first epoch.";
  const tasks = run.record.plan.tasks;
  return section("time", "Where the time went", el("p", {}, of),
    stragglerNote(measured && measured.straggler, span, found.workers.length),
    legendOf(shades.filter(([shade]) => shade !== "loss").map(([shade, name]) => [shade, shade === "other" ? "loss, loading" : name])),
    el("h3", {}, "Per worker"), workersTable(run),
    tasks.length > 1 && el("details", {}, el("summary", {}, "Who does what (F forward, D backward data, G backward weights)"),
      el("div", {class: "scroll tall"}, el("table", {}, el("tbody", {}, tasks.map((text, i) =>
        el("tr", {}, el("td", {}, `worker ${i}`), el("td", {class: "words"}, text))))))),
    el("h3", {style: {marginTop: "28px"}}, "Per block"), blocksTable(run));
};

const messagesSection = (run) => {
  if (!run.record) return null;
  const {measured, predicted} = run.record;
  const found = (measured && measured.breakdown) || predicted.breakdown;
  if (!found || found.bytes.length < 2) return null;
  const matrix = found.bytes;
  const most = largest(matrix.flat());
  if (!(most > 0)) return null;
  const small = matrix.length > 16;
  const sum = matrix.flat().reduce((all, value) => all + value, 0);
  const cell = (value, from, to) => {
    const depth = Math.round(12 + 68 * value / most);
    const title = `worker ${from} to worker ${to}: ${bytes(value)} per step`;
    if (value === 0) return el("td", {class: "none", title}, small || from === to ? "" : "0");
    return el("td", {title, style: {
      background: `color-mix(in srgb, var(--heat) ${depth}%, var(--paper))`,
      color: depth > 52 ? "#ffffff" : "var(--text)"}}, small ? "" : bytes(value));
  };
  return section("messages", "Messages",
    el("p", {}, `${bytes(sum)} per step, from the worker of the row to the worker of the column. Sums over a group count as spread evenly over its members.`),
    el("div", {class: "scroll"}, el("table", {class: "matrix" + (small ? " small" : ""), id: "matrix"},
      el("thead", {}, el("tr", {}, el("th", {}, small ? "" : "from \\ to"), matrix.map((_, to) => el("th", {}, small && to % 8 ? "" : String(to))))),
      el("tbody", {}, matrix.map((row, from) => el("tr", {}, el("th", {}, small && from % 8 ? "" : String(from)),
        row.map((value, to) => cell(value, from, to))))))));
};
