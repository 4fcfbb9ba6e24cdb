// One timeline: a canvas with a lane per worker, of which only what is visible is drawn.
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
