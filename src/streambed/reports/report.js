const specs = JSON.parse(document.getElementById("specs").textContent);
const themes = JSON.parse(document.getElementById("themes").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");
const LEGEND_ENTRY_PX = 210;
let drawn = [];

function configFor(width) {
  const config = structuredClone(dark.matches ? themes.dark : themes.light);
  config.legend.columns = Math.max(1, Math.floor(width / LEGEND_ENTRY_PX));
  return config;
}

async function draw() {
  drawn.splice(0).forEach((result) => result.finalize());
  for (const [name, spec] of Object.entries(specs)) {
    const place = document.getElementById("figure-" + name);
    const actions = { export: true, source: false, compiled: false, editor: false };
    const options = { mode: "vega-lite", renderer: "svg", actions, config: configFor(place.clientWidth), downloadFileName: name };
    drawn.push(await vegaEmbed(place, structuredClone(spec), options));
  }
  document.body.dataset.drawn = String(drawn.length);
}

dark.addEventListener("change", draw);
draw();
