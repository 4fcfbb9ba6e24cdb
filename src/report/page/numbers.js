// Numbers as people read them.
const largest = (list) => list.reduce((most, value) => Math.max(most, value), -Infinity);
const smallest = (list) => list.reduce((least, value) => Math.min(least, value), Infinity);
const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

const commas = (value) => Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, ",");
const digits = (value, count = 3) => {
  if (value === 0) return "0";
  const size = Math.floor(Math.log10(Math.abs(value))) + 1;
  return size >= count ? commas(value) : value.toFixed(Math.min(8, count - size));
};
const percent = (share, places = 1) => (100 * share).toFixed(places) + " %";
const time = (seconds) => {
  if (seconds === 0) return "0";
  if (seconds < 1e-3) return digits(seconds * 1e6) + " µs";
  if (seconds < 1) return digits(seconds * 1e3) + " ms";
  return digits(seconds) + " s";
};
const duration = (seconds) => {
  if (seconds < 60) return seconds.toFixed(1) + " s";
  const whole = Math.round(seconds);
  const two = (value) => String(value).padStart(2, "0");
  const hours = Math.floor(whole / 3600);
  return hours > 0 ? `${hours}:${two(Math.floor(whole / 60) % 60)}:${two(whole % 60)} h`
                   : `${Math.floor(whole / 60)}:${two(whole % 60)} min`;
};
const bytes = (value) => {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) { value /= 1024; ++unit; }
  return (unit === 0 ? Math.round(value) : value.toFixed(value < 10 ? 2 : 1)) + " " + units[unit];
};
const plural = (count, word) => `${commas(count)} ${word}${count === 1 ? "" : "s"}`;

// A round number of which about `count` fit between `low` and `high`.
const niceStep = (low, high, count) => {
  const rough = (high - low) / count;
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough * 0.999);
};
// The multiples of it from `low` to `high`.
const ticks = (low, high, count) => {
  if (!(high > low)) return [low];
  const step = niceStep(low, high, count);
  const list = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) list.push(i * step);
  return list;
};
