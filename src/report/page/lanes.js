// The events of a timeline, lane by lane, ready to be searched; and the colours they are drawn in.
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
