// The timeline of the workers: a canvas with one lane each, of which only what is visible is drawn.
const ticksPerSecond = 1e7;
const shades = [
  ["forward", "forward"], ["backward_data", "backward data"], ["backward_weights", "backward weights"],
  ["update", "update"], ["loss", "loss"], ["other", "other computing"],
  ["communication", "communication"], ["waiting", "waiting"],
];

// Columns as typed arrays, with the end of every event.
const lanesOf = (timeline) => timeline.workers.map((worker) => {
  const begin = Float64Array.from(worker.begin);
  const end = begin.map((value, i) => value + worker.length[i]);
  return {begin, end, label: worker.label, minibatch: worker.minibatch, step: worker.step};
});

// The first event that ends after `moment`; events of a lane do not overlap.
const firstAfter = (lane, moment) => {
  let low = 0;
  let high = lane.end.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (lane.end[middle] <= moment) low = middle + 1; else high = middle;
  }
  return low;
};

// The beginnings of the steps, over all lanes.
const stepBegins = (lanes) => {
  const begins = new Map();
  for (const lane of lanes) {
    for (let i = 0; i < lane.begin.length; ++i) {
      const step = lane.step[i];
      if (!begins.has(step) || lane.begin[i] < begins.get(step)) begins.set(step, lane.begin[i]);
    }
  }
  return [...begins].sort((a, b) => a[0] - b[0]);
};

class TimelinePanel {
  // depth: how many of the last steps only let the pipeline run empty
  constructor(timeline, title, facts, depth) {
    this.depth = depth;
    this.labels = timeline.labels;
    this.lanes = lanesOf(timeline);
    this.steps = stepBegins(this.lanes);
    this.length = Math.max(1, ...this.lanes.map((lane) => lane.end.length ? lane.end[lane.end.length - 1] : 0));
    this.laneHeight = this.lanes.length <= 8 ? 30 : this.lanes.length <= 24 ? 20 : 12;
    this.gap = this.laneHeight > 14 ? 5 : 2;
    this.left = 78;
    this.axis = 30;
    this.redraws = 0;
    this.canvas = el("canvas", {
      tabindex: 0, role: "application",
      "aria-label": `${title}: timeline of ${plural(this.lanes.length, "worker")}; plus and minus zoom, arrow keys move`,
    });
    this.range = el("span", {class: "range"});
    this.node = el("div", {class: "panel"},
      el("div", {class: "caption"}, el("span", {}, el("b", {}, title), facts && " " + facts), this.range),
      el("div", {class: "lanes"}, this.canvas));
    this.showSteps(3);
    this.listen();
  }

  get width() { return this.canvas.clientWidth - this.left; }
  height() { return this.axis + this.lanes.length * (this.laneHeight + this.gap); }

  // `count` steps at the end, before the pipeline runs empty.
  showSteps(count) {
    const behind = this.steps.length - this.depth >= count ? this.steps.length - this.depth : this.steps.length;
    const first = this.steps[Math.max(0, behind - count)];
    this.setView(first[1], behind < this.steps.length ? this.steps[behind][1] : this.length);
  }
  showAll() { this.setView(0, this.length); }

  setView(from, to) {
    const span = Math.min(this.length, Math.max(20, to - from));
    this.from = Math.min(Math.max(0, from), this.length - span);
    this.to = this.from + span;
    this.drawSoon();
  }
  zoom(factor, at = 0.5) {
    const anchor = this.from + at * (this.to - this.from);
    const span = (this.to - this.from) * factor;
    this.setView(anchor - at * span, anchor + (1 - at) * span);
  }
  move(share) {
    const way = share * (this.to - this.from);
    this.setView(this.from + way, this.to + way);
  }

  drawSoon() {
    if (this.asked) return;
    this.asked = true;
    requestAnimationFrame(() => { this.asked = false; this.draw(); });
  }

  draw() {
    if (!this.canvas.isConnected || this.width <= 0) return;
    const ratio = devicePixelRatio || 1;
    const height = this.height();
    this.canvas.style.height = height + "px";
    this.canvas.width = Math.round(this.canvas.clientWidth * ratio);
    this.canvas.height = Math.round(height * ratio);
    const pen = this.canvas.getContext("2d");
    pen.scale(ratio, ratio);
    this.colours = timelineColours(pen);
    this.drawAxis(pen);
    let drawn = 0;
    this.lanes.forEach((lane, i) => { drawn += this.drawLane(pen, lane, i); });
    this.redraws += 1;
    Object.assign(this.canvas.dataset, {from: this.from, to: this.to, redraws: this.redraws, drawn});
    const shown = this.stepsInView();
    this.range.textContent = `${shown} · ${time((this.to - this.from) / ticksPerSecond)} of ${time(this.length / ticksPerSecond)}`;
  }

  stepsInView() {
    let first = null;
    let last = null;
    for (let i = 0; i < this.steps.length; ++i) {
      const end = i + 1 < this.steps.length ? this.steps[i + 1][1] : this.length;
      if (end <= this.from || this.steps[i][1] >= this.to) continue;
      if (first === null) first = this.steps[i][0];
      last = this.steps[i][0];
    }
    if (first === null) return "between steps";
    return first === last ? `step ${first + 1}` : `steps ${first + 1} to ${last + 1}`;
  }

  x(moment) { return this.left + (moment - this.from) / (this.to - this.from) * this.width; }
  y(worker) { return worker * (this.laneHeight + this.gap); }

  drawAxis(pen) {
    const bottom = this.height() - this.axis;
    pen.font = "12px system-ui, sans-serif";
    pen.textBaseline = "middle";
    this.lanes.forEach((lane, i) => {
      pen.fillStyle = this.colours.ground;
      pen.fillRect(this.left, this.y(i), this.width, this.laneHeight);
      if (this.laneHeight < 11) return;
      pen.fillStyle = this.colours.quiet;
      pen.textAlign = "left";
      pen.fillText(`worker ${i}`, 0, this.y(i) + this.laneHeight / 2 + 0.5);
    });
    // The unit is that of the view, so that marks in it are short.
    const [unit, name] = this.to / ticksPerSecond >= 2 ? [ticksPerSecond, "s"] : (this.to - this.from) / ticksPerSecond < 2e-4 ? [10, "µs"] : [1e4, "ms"];
    const marks = ticks(this.from / unit, this.to / unit, Math.max(3, this.width / 110));
    const step = marks.length > 1 ? marks[1] - marks[0] : 1;
    const places = Math.max(0, Math.min(6, -Math.floor(Math.log10(step) + 1e-9)));
    pen.textAlign = "center";
    for (const mark of marks) {
      const x = this.x(mark * unit);
      pen.fillStyle = this.colours.line;
      pen.fillRect(Math.round(x), bottom, 1, 5);
      pen.fillStyle = this.colours.quiet;
      const text = `${mark.toFixed(places)} ${name}`;
      const half = pen.measureText(text).width / 2;
      pen.fillText(text, Math.min(Math.max(x, this.left + half), this.left + this.width - half), bottom + 15);
    }
  }

  // How many rectangles it took. Events narrower than a pixel share one, in the colour of which
  // there is most.
  drawLane(pen, lane, worker) {
    const perPixel = (this.to - this.from) / this.width;
    const top = this.y(worker);
    const right = this.left + this.width;
    const share = new Map();
    let pixel = -1;
    let drawn = 0;
    const flush = () => {
      if (share.size === 0) return;
      let most = null;
      for (const [shade, length] of share) if (most === null || length > share.get(most)) most = shade;
      pen.fillStyle = this.colours[most];
      pen.fillRect(pixel, top, 1, this.laneHeight);
      share.clear();
      drawn += 1;
    };
    for (let i = firstAfter(lane, this.from); i < lane.begin.length && lane.begin[i] < this.to; ++i) {
      const label = this.labels[lane.label[i]];
      const shade = lane.minibatch[i] % 2 === 1 && label[1] !== "waiting" ? label[1] + "-odd" : label[1];
      const begin = Math.max(this.left, this.x(lane.begin[i]));
      const end = Math.min(right, this.x(lane.end[i]));
      if (end - begin < 1) {
        const at = Math.floor(begin);
        if (at !== pixel) { flush(); pixel = at; }
        share.set(shade, (share.get(shade) || 0) + (lane.end[i] - lane.begin[i]) + perPixel * 1e-3);
        continue;
      }
      flush();
      pixel = -1;
      const width = end - begin;
      pen.fillStyle = this.colours[shade] || this.colours.other;
      pen.fillRect(begin, top, width > 5 ? width - 1 : width, this.laneHeight);
      drawn += 1;
      if (width > 34 && this.laneHeight >= 18) this.write(pen, label, shade, begin, width, top);
    }
    flush();
    return drawn;
  }

  write(pen, label, shade, begin, width, top) {
    const text = label[1] === "waiting" ? "waiting" : label[0].replace(/^\w+ of /, "");
    pen.textAlign = "center";
    if (pen.measureText(text).width > width - 8) return;
    pen.fillStyle = shade === "waiting" ? this.colours.quiet : shade === "backward_weights" ? "#1d2329"
      : shade.endsWith("-odd") ? this.colours.onOdd : this.colours.onEven;
    pen.fillText(text, begin + width / 2, top + this.laneHeight / 2 + 0.5);
  }

  eventAt(clientX, clientY) {
    const box = this.canvas.getBoundingClientRect();
    const worker = Math.floor((clientY - box.top) / (this.laneHeight + this.gap));
    const lane = this.lanes[worker];
    const x = clientX - box.left;
    if (!lane || x < this.left) return null;
    const moment = this.from + (x - this.left) / this.width * (this.to - this.from);
    const slack = (this.to - this.from) / this.width;
    const i = firstAfter(lane, moment - slack);
    return i < lane.begin.length && lane.begin[i] <= moment + slack ? {worker, lane, i} : null;
  }

  describe({worker, lane, i}) {
    const [text, shade, size] = this.labels[lane.label[i]];
    return [
      shade === "waiting" ? `waiting in ${text}` : text,
      `${time((lane.end[i] - lane.begin[i]) / ticksPerSecond)} on worker ${worker}` +
        (size > 0 && shade === "communication" ? `, ${bytes(size)}` : ""),
      `minibatch ${lane.minibatch[i] + 1}, step ${lane.step[i] + 1}`,
    ].join("\n");
  }

  listen() {
    const canvas = this.canvas;
    let dragged = null;
    canvas.addEventListener("pointerdown", (event) => {
      dragged = event.clientX;
      canvas.setPointerCapture(event.pointerId);
      tip.hide();
    });
    canvas.addEventListener("pointerup", () => { dragged = null; });
    canvas.addEventListener("pointermove", (event) => {
      if (dragged !== null) {
        this.move((dragged - event.clientX) / this.width);
        dragged = event.clientX;
        return;
      }
      const found = this.eventAt(event.clientX, event.clientY);
      if (found) tip.show(this.describe(found), event.clientX, event.clientY); else tip.hide();
    });
    canvas.addEventListener("pointerleave", () => tip.hide());
    // The wheel belongs to the page until a timeline has been clicked.
    canvas.addEventListener("wheel", (event) => {
      if (document.activeElement !== canvas && !event.ctrlKey) return;
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      const at = Math.min(1, Math.max(0, (event.clientX - box.left - this.left) / this.width));
      if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) this.onmove(event.deltaX / this.width);
      else this.onzoom(Math.exp(Math.sign(event.deltaY) * Math.min(0.5, Math.abs(event.deltaY) / 300)), at);
    }, {passive: false});
    canvas.addEventListener("keydown", (event) => {
      const action = {
        "+": () => this.onzoom(0.5), "=": () => this.onzoom(0.5), "-": () => this.onzoom(2), "_": () => this.onzoom(2),
        ArrowLeft: () => this.onmove(-0.2), ArrowRight: () => this.onmove(0.2),
        Home: () => this.onmove(-1e9), End: () => this.onmove(1e9), 0: () => this.onreset(),
      }[event.key];
      if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      action();
    });
  }
}

const timelineColours = (pen) => {
  const colours = {ground: css("idle"), line: css("quiet"), quiet: css("quiet"), onEven: css("on-even"), onOdd: css("on-odd")};
  for (const [shade] of shades) {
    colours[shade] = css(shade);
    colours[shade + "-odd"] = css(shade + "-odd") || css(shade);
  }
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const hatch = tile.getContext("2d");
  hatch.strokeStyle = css("waiting");
  hatch.lineWidth = 2;
  for (const shift of [-8, 0, 8]) {
    hatch.beginPath();
    hatch.moveTo(shift - 1, 9);
    hatch.lineTo(shift + 9, -1);
    hatch.stroke();
  }
  colours.waiting = pen.createPattern(tile, "repeat");
  return colours;
};

// Panels above each other; buttons, keys and wheel act on all of them.
let openPanels = [];
const timelineSection = (run) => {
  openPanels = [];
  const record = run.record;
  if (!record) return null;
  const {predicted, measured} = record;
  const add = (timeline, title, facts) => {
    if (timeline && timeline.workers.some((worker) => worker.begin.length > 0)) openPanels.push(new TimelinePanel(timeline, title, facts, record.plan.depth || 0));
  };
  const step = (seconds) => seconds > 0 ? `· a step takes ${time(seconds)}` : "";
  add(measured && measured.timeline, "Measured", step(record.result ? record.result.step_seconds : 0));
  add(predicted.timeline, "Predicted", step(predicted.step_seconds));
  if (openPanels.length === 0) return null;
  const all = (action) => openPanels.forEach(action);
  for (const panel of openPanels) {
    panel.onzoom = (factor, at) => all((one) => one.zoom(factor, at));
    panel.onmove = (share) => panel.move(share);
    panel.onreset = () => all((one) => one.showSteps(3));
  }
  const button = (text, title, action) => el("button", {type: "button", title, "aria-label": title, onclick: () => all(action)}, text);
  const used = new Set(openPanels.flatMap((panel) => panel.labels.map((label) => label[1])));
  return section("timeline", "Timeline",
    el("p", {}, timelineLead(record)),
    el("div", {class: "tools"},
      button("+", "Zoom in (+)", (panel) => panel.zoom(0.5)),
      button("−", "Zoom out (-)", (panel) => panel.zoom(2)),
      button("←", "Earlier (left arrow)", (panel) => panel.move(-0.4)),
      button("→", "Later (right arrow)", (panel) => panel.move(0.4)),
      button("Last steps", "The last three steps (0)", (panel) => panel.showSteps(3)),
      button("All", "Everything that was kept", (panel) => panel.showAll()),
      el("span", {class: "hint"}, "Click a timeline, then use the wheel, drag, or + − ← →")),
    el("ul", {class: "legend"}, shades.filter(([shade]) => used.has(shade)).map(([shade, name]) =>
      el("li", {}, el("span", {class: "swatch " + shade, style: shade === "waiting" ? {} : {background: `var(--${shade})`}}), name)),
      el("li", {}, "minibatches in two shades by turns")),
    openPanels.map((panel) => panel.node));
};

const costsText = (source) => source === "analytic"
  ? "costs counted from operations and bytes, not measured (plait profile measures them; give its file to --profile)"
  : `costs measured: ${source}`;

const timelineLead = (record) => {
  const planned = record.predicted.step_seconds;
  const real = record.result ? record.result.step_seconds : 0;
  const source = `The prediction is the simulator's play of the same plan; ${costsText(record.predicted.source)}.`;
  if (!(planned > 0 && real > 0)) return source;
  const off = planned / real - 1;
  return `${source} Predicted ${time(planned)} per step, measured ${time(real)}: ` +
    `${Math.abs(off) < 0.005 ? "no difference" : `off by ${off > 0 ? "+" : "−"}${Math.abs(100 * off).toFixed(Math.abs(off) < 0.1 ? 1 : 0)} %`}. ` +
    "Both show the same number of steps at first, each with a time axis of its own.";
};

new ResizeObserver(() => openPanels.forEach((panel) => panel.drawSoon())).observe(document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => openPanels.forEach((panel) => panel.drawSoon()));
