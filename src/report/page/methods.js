// What only some strategies have: late weights, residuals of a torn network, words of a sparse one,
// phases of nodes with weights of their own.
const meterTable = (id, names, rows, most) => el("div", {class: "scroll tall"}, el("table", {id},
  head([names[0]], [""], ...names.slice(1)),
  el("tbody", {}, rows.map(([name, value, ...texts]) => el("tr", {}, el("td", {class: "name"}, name),
    el("td", {class: "bars"}, el("div", {class: "meter", style: {width: 100 * value / most + "%"}})),
    texts.map((text) => number(text)))))));

const stalenessSection = (run) => {
  const most = stalenessOf(run);
  if (!(most > 0)) return null;
  // Neighbours with equal staleness are one row.
  const groups = [];
  for (const {name, staleness} of run.record.plan.blocks) {
    const before = groups[groups.length - 1];
    if (before && before.staleness === staleness) { before.last = name; before.count += 1; }
    else groups.push({first: name, last: name, count: 1, staleness});
  }
  const how = {stash: "every version that is still wanted is kept", rebuilt: "older weights are estimated from the newest ones and the mean update",
    ring: "older weights are rebuilt exactly from the updates", predicted: "blocks use weights predicted ahead instead"}[run.record.plan.old_weights];
  return section("staleness", "Staleness", el("p", {}, `How many updates the weights that a block computes with are behind plain SGD; from the plan.${how ? ` Here ${how}.` : ""}`),
    meterTable("stale", ["blocks", "number of blocks", "updates behind"], groups.map((group) => [
      group.count > 1 ? `${group.first} … ${group.last}` : group.first, group.staleness, String(group.count), String(group.staleness)]), most));
};

const residualsSection = (runs) => {
  const series = [];
  const used = runs.filter((run) => run.epochs.some((epoch) => epoch.residuals));
  if (used.length === 0) return null;
  for (const run of used) {
    for (const name of new Set(run.epochs.flatMap((epoch) => Object.keys(epoch.residuals || {})))) {
      series.push({name: runs.length > 1 ? `${run.name}, ${name}` : name, colour: runColour(runs.length > 1 ? runs.indexOf(run) : series.length),
        points: run.epochs.filter((epoch) => epoch.residuals && isNumber(epoch.residuals[name])).map((epoch) => [epoch.epoch, epoch.residuals[name]])});
    }
  }
  const shown = series.slice(0, 24);
  return section("residuals", "Parareal residuals",
    el("p", {}, "At every interface between pieces: how far what the piece before it gave (u) is from what the piece behind it began with (x), |u − x| / |x|, over the training steps of the epoch. 0 is the serial network."),
    el("ul", {class: "legend"}, shown.map((one) => el("li", {}, el("span", {class: "swatch", style: {background: `var(--${one.colour})`}}), one.name)),
      series.length > shown.length && el("li", {}, `and ${series.length - shown.length} more`)),
    el("div", {class: "charts"}, lineChart(shown, {title: "Residual", zero: true, log: true, format: (value, mark) => digits(value, mark ? 1 : 3)})));
};

const volumesSection = (run) => {
  const layers = run.record ? run.record.plan.volumes : [];
  if (layers.length === 0) return null;
  const words = (layer) => layer.forward_words + layer.backward_words;
  const sum = layers.reduce((all, layer) => all + words(layer), 0);
  return section("volumes", "Words of the partition",
    el("p", {}, `What the cut by rows sends for every sample, layer by layer: ${commas(sum)} words in all, ${commas(sum / layers.length)} per layer.`),
    meterTable("words", ["layer", "forward", "backward", "both"], layers.map((layer) =>
      [layer.name, words(layer), commas(layer.forward_words), commas(layer.backward_words), commas(words(layer))]),
      largest(layers.map(words))));
};

const phasesSection = (run) => {
  const lines = run.epochs.filter((epoch) => epoch.mode !== undefined && epoch.mode !== null);
  if (lines.length === 0) return null;
  const modes = run.record ? run.record.plan.modes : [];
  const name = (mode) => isNumber(mode) && modes[mode] !== undefined ? modes[mode] : String(mode);
  const spans = [];
  for (const line of lines) {
    const before = spans[spans.length - 1];
    if (before && before.line.mode === line.mode) { before.to = line.epoch; before.count += 1; }
    else spans.push({line, from: line.epoch, to: line.epoch, count: 1});
  }
  const kinds = [...new Set(spans.map((span) => name(span.line.mode)))];
  const colour = (span) => ["run-0", "run-2", "run-3", "run-1", "run-4"][kinds.indexOf(name(span.line.mode)) % 5];
  const epochs = (span) => span.from === span.to ? `epoch ${span.from}` : `epochs ${span.from} to ${span.to}`;
  return section("phases", "Exchange between nodes",
    el("p", {}, "How the nodes exchanged their weights, epoch by epoch."),
    el("div", {class: "phases"}, spans.map((span) => el("span", {
      title: `${epochs(span)}: ${name(span.line.mode)}`, style: {flex: `${span.count} 1 0`, background: `color-mix(in srgb, var(--${colour(span)}) 82%, black)`}}, name(span.line.mode)))),
    el("div", {class: "scroll tall"}, el("table", {id: "phase-table"}, head(["epochs"], ["phase"]),
      el("tbody", {}, spans.map((span) => el("tr", {}, el("td", {}, epochs(span)), el("td", {}, name(span.line.mode))))))));
};

const configurationSection = (run) => {
  const facts = [];
  const add = (name, text) => { if (text) facts.push(el("dt", {}, name), el("dd", {}, text)); };
  const machine = run.record && run.record.machine;
  const result = resultOf(run);
  add("Run", run.name);
  add("Model", run.settings.model);
  add("Data", run.settings.data);
  add("Strategy", strategyText(run));
  if (machine) {
    add("Machine", [machine.processor, machine.cores > 0 && plural(machine.cores, "core")].filter(Boolean).join(", "));
    add("Workers", `${plural(machine.nodes, "node")} with ${plural(machine.workers_per_node, "worker")}${machine.nodes > 1 ? " each" : ""}` +
      (result ? `, ${plural(result.threads, "thread")} per worker` : "") + (machine.mpi ? ", MPI processes" : ", threads of one process"));
  }
  if (run.record) add("Prediction", costsText(run.record.predicted.source));
  if (result && result.messages_sent > 0) add("Sent in all", `${bytes(result.bytes_sent)} in ${plural(result.messages_sent, "message")}`);
  if (result) add("Weights", result.weights_hash);
  return section("configuration", "Configuration", el("dl", {class: "facts"}, facts),
    el("details", {}, el("summary", {}, "config.toml"), el("pre", {tabindex: 0}, run.config)));
};
