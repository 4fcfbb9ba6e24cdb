// Elements out of plain values. Text only ever becomes a text node, so nothing in the data is markup.
const svgNamespace = "http://www.w3.org/2000/svg";

const fill = (node, attributes, children) => {
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key === "style") Object.assign(node.style, value);
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
};

const el = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(svgNamespace, tag), attributes, children);

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();

const section = (id, title, ...children) => el("section", {id, "data-title": title}, el("h2", {}, title), ...children);

// One tip for the whole page, beside the pointer or the thing that is focused.
const tip = {
  node: document.getElementById("tip"),
  show(text, x, y) {
    this.node.textContent = text;
    this.node.hidden = false;
    const box = this.node.getBoundingClientRect();
    const left = x + 14 + box.width > innerWidth ? x - 14 - box.width : x + 14;
    const top = y + 14 + box.height > innerHeight ? y - 14 - box.height : y + 14;
    this.node.style.left = Math.max(4, left) + "px";
    this.node.style.top = Math.max(4, top) + "px";
  },
  hide() { this.node.hidden = true; },
};
