// Line charts over epochs. A series is {name, group, colour, broken, points: [[x, y], ...]}; the values
// of a group (a run among several) share a line of the tip.
const chartSize = {width: 560, height: 280, left: 52, right: 14, top: 12, bottom: 36};

const extremes = (series, axis) => {
  const values = series.flatMap((one) => one.points.map((point) => point[axis]));
  return [smallest(values), largest(values)];
};

// Where a value lies. `log`: equal ratios, equal ways.
const scale = (from, to, begin, end, log) => {
  const place = log ? Math.log : (value) => value;
  const span = place(to) - place(from) || 1;
  return (value) => begin + (end - begin) * (place(value) - place(from)) / span;
};

const powersOfTen = (low, high) => {
  const list = [];
  for (let i = Math.ceil(Math.log10(low) - 1e-9); 10 ** i <= high * (1 + 1e-9); ++i) list.push(10 ** i);
  return list;
};

// options: {title, format, zero (y begins at 0), top (a bound of y), log}
const lineChart = (series, options) => {
  series = series.filter((one) => one.points.length > 0);
  if (series.length === 0) return null;
  const size = chartSize;
  const [least, most] = extremes(series, 1);
  const log = options.log && least > 0 && most / least > 20;
  let [firstX, lastX] = extremes(series, 0);
  if (firstX === lastX) { firstX -= 0.5; lastX += 0.5; }
  let [low, high] = extremes(series, 1);
  let marks = [];
  if (log) {
    low = 10 ** Math.floor(Math.log10(low));
    high = 10 ** Math.ceil(Math.log10(high) + 1e-9);
    marks = powersOfTen(low, high);
  } else {
    if (options.zero) low = Math.min(0, low);
    if (low === high) high = low + (low === 0 ? 1 : Math.abs(low) * 0.1);
    const step = niceStep(low, high, 5);
    low = Math.floor(low / step + 1e-9) * step;
    high = Math.ceil(high / step - 1e-9) * step;
    for (let i = 0; low + i * step <= high + step * 1e-6; ++i) marks.push(low + i * step);
    if (options.top !== undefined) {
      high = Math.min(high, options.top);
      marks = marks.filter((value) => value <= high + step * 1e-6);
    }
  }
  const x = scale(firstX, lastX, size.left, size.width - size.right, false);
  const y = scale(low, high, size.height - size.bottom, size.top, log);
  const epochs = ticks(firstX, lastX, 8).filter((value) => Number.isInteger(value));
  const cross = svg("line", {class: "cross", y1: size.top, y2: size.height - size.bottom, visibility: "hidden"});
  const picture = svg("svg", {
    viewBox: `0 0 ${size.width} ${size.height}`, role: "img", tabindex: 0,
    "aria-label": `${options.title} over epochs: ` + series.map((one) =>
      `${one.name} ends at ${options.format(one.points.at(-1)[1])}`).join(", "),
  },
  marks.map((value) => [
    svg("line", {class: "grid", x1: size.left, x2: size.width - size.right, y1: y(value), y2: y(value)}),
    svg("text", {x: size.left - 8, y: y(value) + 4, "text-anchor": "end"}, options.format(value, true)),
  ]),
  epochs.map((value) =>
    svg("text", {x: x(value), y: size.height - size.bottom + 18, "text-anchor": "middle"}, String(value))),
  svg("text", {x: size.width - size.right, y: size.height - 3, "text-anchor": "end"}, "epoch"),
  cross,
  series.map((one) => [
    svg("path", {
      class: one.broken ? "broken" : null, style: {stroke: `var(--${one.colour})`}, "data-series": one.name,
      d: one.points.map((point, i) => `${i === 0 ? "M" : "L"}${x(point[0]).toFixed(2)} ${y(point[1]).toFixed(2)}`).join(""),
    }),
    one.points.length <= 30 && one.points.map((point) =>
      svg("circle", {cx: x(point[0]), cy: y(point[1]), r: 2.6, style: {fill: `var(--${one.colour})`}})),
  ]));
  readable(picture, cross, series, x, options);
  return el("figure", {class: "chart", style: {margin: 0}}, el("h3", {}, options.title), picture);
};

// The values of an epoch, under the pointer or chosen with the arrow keys.
const readable = (picture, cross, series, x, options) => {
  const all = [...new Set(series.flatMap((one) => one.points.map((point) => point[0])))].sort((a, b) => a - b);
  let at = all.length - 1;
  const show = (clientX, clientY) => {
    const lines = new Map();
    for (const one of series) {
      const point = one.points.find((candidate) => candidate[0] === all[at]);
      const name = one.group || one.name;
      if (point) lines.set(name, [...(lines.get(name) || []), options.format(point[1])]);
    }
    cross.setAttribute("x1", x(all[at]));
    cross.setAttribute("x2", x(all[at]));
    cross.setAttribute("visibility", "visible");
    tip.show([`epoch ${all[at]}${options.values ? `: ${options.values}` : ""}`,
      ...[...lines].map(([name, values]) => `${name}: ${values.join(", ")}`)].join("\n"), clientX, clientY);
  };
  const hide = () => { cross.setAttribute("visibility", "hidden"); tip.hide(); };
  const onScreen = () => {
    const box = picture.getBoundingClientRect();
    return [box.left + box.width * x(all[at]) / chartSize.width, box.top + box.height * 0.3];
  };
  picture.addEventListener("pointermove", (event) => {
    const box = picture.getBoundingClientRect();
    const inside = (event.clientX - box.left) / box.width * chartSize.width;
    at = all.reduce((best, value, i) => Math.abs(x(value) - inside) < Math.abs(x(all[best]) - inside) ? i : best, 0);
    show(event.clientX, event.clientY);
  });
  picture.addEventListener("pointerleave", hide);
  picture.addEventListener("blur", hide);
  picture.addEventListener("keydown", (event) => {
    const move = {ArrowLeft: -1, ArrowRight: 1}[event.key];
    if (event.key === "Escape") return hide();
    if (!move) return;
    event.preventDefault();
    at = Math.min(all.length - 1, Math.max(0, at + move));
    show(...onScreen());
  });
};
