let specs = {};
const themes = JSON.parse(document.getElementById("themes").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const LEGEND_ENTRY_PX = 180;
const LANE_AXIS_PX = 120;
const NARROW_PX = 600;
const views = new Map();
let queue = Promise.resolve();

function configFor(width) {
  const config = structuredClone(dark.matches ? themes.dark : themes.light);
  config.legend.columns = Math.max(1, Math.floor(width / LEGEND_ENTRY_PX));
  if (width < NARROW_PX) config.legend.orient = "bottom";
  return config;
}

// Lanes of a concatenated chart do not fill their container by themselves.
function fitted(spec, width) {
  const copy = structuredClone(spec);
  for (const lane of copy.vconcat || []) lane.width = Math.max(120, width - LANE_AXIS_PX - 40);
  return copy;
}

async function drawOne(place) {
  const name = place.id.slice("figure-".length);
  if (views.has(name)) return;
  views.set(name, null);
  const actions = { export: true, source: false, compiled: false, editor: false };
  const width = place.clientWidth;
  // `ast`: expressions are interpreted, because the page's policy allows no `eval`.
  const options = { mode: "vega-lite", ast: true, renderer: "svg", actions, config: configFor(width), downloadFileName: name };
  views.set(name, await vegaEmbed(place, fitted(specs[name], width), options));
  document.body.dataset.drawn = String(views.size);
  document.body.dataset.drawnMs = String(Math.round(performance.now()));
}

function draw(place) {
  queue = queue.then(() => drawOne(place));
  return queue;
}

const places = [...document.querySelectorAll(".plot")];

// The specifications are JSON, or compressed JSON in base64.
async function readSpecs() {
  const element = document.getElementById("specs");
  if (element.type !== "application/gzip") return JSON.parse(element.textContent);
  const bytes = Uint8Array.from(atob(element.textContent), (character) => character.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).json();
}

function drawAgain() {
  const drawn = places.filter((place) => views.has(place.id.slice("figure-".length)));
  for (const view of views.values()) if (view) view.finalize();
  views.clear();
  for (const place of drawn) draw(place);
}

function drawAll() {
  for (const fold of document.querySelectorAll("details")) fold.open = true;
  for (const place of places) draw(place);
  return queue;
}

// A link to lost records marks them in the delivery figure.
async function markLost(link) {
  const place = document.getElementById("figure-delivery");
  if (!place) return;
  await draw(place);
  const view = views.get("delivery").view;
  await view.signal("shown_from", Number(link.dataset.from)).signal("shown_to", Number(link.dataset.to)).runAsync();
}

for (const link of document.querySelectorAll("a[data-from]")) link.addEventListener("click", () => { markLost(link); });
for (const button of document.querySelectorAll("button[data-copy]")) {
  button.addEventListener("click", async () => {
    const source = document.getElementById(button.dataset.copy);
    try {
      await navigator.clipboard.writeText(source.textContent);
      button.textContent = "copied";
    } catch { // A page from another machine has no clipboard, and a browser may refuse it.
      getSelection().selectAllChildren(source);
      button.textContent = "selected: press Ctrl-C";
    }
  });
}
// A link into a folded part opens it.
function openTarget() {
  const target = location.hash.length > 1 && document.getElementById(location.hash.slice(1));
  if (target && target.tagName === "DETAILS") target.open = true;
}
window.addEventListener("hashchange", openTarget);
openTarget();

dark.addEventListener("change", drawAgain);
window.addEventListener("beforeprint", drawAll);
let width = window.innerWidth;
window.addEventListener("resize", () => {
  if (window.innerWidth !== width) { width = window.innerWidth; drawAgain(); }
  else drawNear();
});

// Figures are drawn when they come near the window: most of them lie below it, or are folded.
const MARGIN_PX = 200;

function isNear(place) {
  const box = place.getBoundingClientRect();
  return box.width > 0 && box.top < window.innerHeight + MARGIN_PX && box.bottom > -MARGIN_PX;
}

async function drawNear() {
  const missing = places.filter((place) => isNear(place) && !views.has(place.id.slice("figure-".length)));
  if (!missing.length) return;
  for (const place of missing) draw(place);
  await queue;
  await drawNear(); // A figure is higher or lower than its empty place: others may have come near.
}

window.addEventListener("scroll", drawNear, { passive: true });
document.addEventListener("toggle", drawNear, true);

readSpecs().then((read) => {
  specs = read;
  return location.hash === "#all" ? drawAll() : drawNear();
}).then(() => { document.body.dataset.firstMs = String(Math.round(performance.now())); });
