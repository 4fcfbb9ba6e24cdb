// The section of the timelines: what was measured above what was predicted.
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
  ? "costs counted from operations and bytes, not measured (--cost measured measures them)"
  : source === "measured" ? "costs measured on this machine" : `costs: ${source}`;

const timelineLead = (record) => {
  const planned = record.predicted.step_seconds;
  const real = record.result ? record.result.step_seconds : 0;
  const mode = record.plan.modes.length > 1 ? ` in its first mode (weights between nodes ${record.plan.modes[0]})` : "";
  const source = `The prediction is the simulator's play of the same plan${mode}; ${costsText(record.predicted.source)}.`;
  if (!(planned > 0 && real > 0)) return source;
  const off = planned / real - 1;
  return `${source} Predicted ${time(planned)} per step, measured ${time(real)}: ` +
    `${Math.abs(off) < 0.005 ? "no difference" : `off by ${off > 0 ? "+" : "−"}${Math.abs(100 * off).toFixed(Math.abs(off) < 0.1 ? 1 : 0)} %`}. ` +
    "Both show the same number of steps at first, each with a time axis of its own.";
};

new ResizeObserver(() => openPanels.forEach((panel) => panel.drawSoon())).observe(document.body);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => openPanels.forEach((panel) => panel.drawSoon()));
