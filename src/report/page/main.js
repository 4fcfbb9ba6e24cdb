// Puts the page together, and keeps it new while a run goes on.
let data = given;
let chosen = 0;

const sections = () => {
  const run = data.runs[chosen];
  return [
    compareSection(data.runs, chosen, choose), curvesSection(data.runs), residualsSection(data.runs), detailsHead(data.runs, run),
    timelineSection(run), timeSection(run), messagesSection(run), stalenessSection(run), volumesSection(run), phasesSection(run),
    configurationSection(run),
  ].filter(Boolean);
};

const render = () => {
  const run = data.runs[chosen];
  document.title = `${data.runs.length > 1 ? `${data.runs.length} runs` : `${run.settings.model}, ${run.settings.strategy}`} · plait report`;
  const list = sections();
  document.getElementById("page").replaceChildren(header(data.runs, run), ...list);
  document.getElementById("links").replaceChildren(...list.filter((one) => one.id).map((one) => el("a", {href: "#" + one.id}, one.dataset.title)));
  if (data.runs.length > 1) {
    document.getElementById("chooser").hidden = false;
    document.getElementById("run").replaceChildren(...data.runs.map((one, i) => el("option", {value: i, selected: i === chosen}, one.name)));
  }
  openPanels.forEach((panel) => panel.drawSoon());
};

const choose = (i) => {
  chosen = i;
  const {scrollY} = window;
  render();
  scrollTo(0, scrollY);
};

document.getElementById("run").addEventListener("change", (event) => choose(Number(event.target.value)));
render();

// A running run: what changes comes every two seconds, the timeline after every epoch; when it ends, everything once more.
const replace = (id, node) => {
  const old = document.getElementById(id);
  if (old && node) old.replaceWith(node);
};
const fetchAll = async () => (await fetch("data.json", {cache: "no-store"})).json();
const showTimeline = async (run) => {
  const fresh = (await fetchAll()).runs[0];
  run.record = fresh.record;
  const inUse = document.activeElement && document.activeElement.closest("#timeline");
  if (!inUse) replace("timeline", timelineSection(run));
  replace("time", timeSection(run));
  replace("messages", messagesSection(run));
};
let timelinesShown = 0;
const follow = async () => {
  const run = data.runs[0];
  try {
    const news = await (await fetch("progress.json", {cache: "no-store"})).json();
    if (news.progress.ended) {
      data = await fetchAll();
      data.runs[0].progress = {ended: true};
      return render();
    }
    const grew = news.epochs.length !== run.epochs.length;
    Object.assign(run, {progress: news.progress, epochs: news.epochs});
    document.querySelector("header").replaceWith(header(data.runs, run));
    if (grew) {
      if (document.getElementById("curves")) {
        replace("curves", curvesSection(data.runs));
        replace("residuals", residualsSection(data.runs));
      } else render();
    }
    if (news.progress.timelines !== timelinesShown) {
      timelinesShown = news.progress.timelines;
      await showTimeline(run);
    }
  } catch {
    run.progress = {...run.progress, lost: true};
    document.querySelector("header").replaceWith(header(data.runs, run));
  }
  setTimeout(follow, 2000);
};
if (isLive) follow();
