// SPDX-License-Identifier: MIT
// Pictures as files: SVG, PNG, and TikZ for LaTeX.

/** Let the browser save a file. */
function save_file(name, blob) {
  const link = make("a", { download: name.replace(/[:]+/g, "-") });
  link.href = URL.createObjectURL(blob);
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  say(`Saved ${link.download}`);
}

const file_name = (id, ending) => `${now.entry.short}.${now.letter}.${id}.${ending}`;

function save_svg(id) {
  save_file(file_name(id, "svg"), new Blob([exported(drawn[id].svg)], { type: "image/svg+xml" }));
}

/** Save a picture as PNG, three pixels for each of the drawing's units, on white. */
async function save_png(id) {
  const { width, height } = drawn[id].svg.viewBox.baseVal, sharper = 3;
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(exported(drawn[id].svg, false))}`;
  await image.decode();
  const canvas = make("canvas", { width: sharper * width, height: sharper * height });
  canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
  canvas.toBlob((blob) => save_file(file_name(id, "png"), blob), "image/png");
}

const TEX = { "\\": "\\textbackslash{}", "→": "$\\to$", "–": "--", "·": "$\\cdot$", _: "\\_", "&": "\\&", "%": "\\%", "#": "\\#" };
const tex = (text) => text.replace(/[\\→–·_&%#]/g, (x) => TEX[x]);

/** A drawn picture as a whole TikZ document: its cells in the colours of their lanes, and its labels. */
function tikz_of(svg, title) {
  const colours = [], out = [];
  const colour = (hex) => {
    if (!colours.includes(hex)) colours.push(hex);
    return `lane${colours.indexOf(hex)}`;
  };
  const number = (node, name) => Number(node.getAttribute(name));
  for (const node of svg.querySelectorAll("rect.fill, text")) {
    const [x, y] = [number(node, "x"), number(node, "y")];
    if (node.tagName === "rect") {
      const strong = node.parentNode.classList.contains("lit") ? ", draw, thick" : ", draw=white";
      out.push(`\\path[fill=${colour(node.getAttribute("fill").slice(1).toUpperCase())}${strong}] (${x},${y}) rectangle (${x + number(node, "width")},${y + number(node, "height")});`);
    } else {
      const style = getComputedStyle(node), anchor = { start: "base west", end: "base east" }[style.textAnchor] ?? "base";
      const size = parseFloat(style.fontSize) < 11 ? "\\tiny" : "\\scriptsize";
      out.push(`\\node[anchor=${anchor}, inner sep=0, font=${size}${Number(style.fontWeight) > 500 ? "\\bfseries" : ""}] at (${x},${y}) {${tex(node.textContent)}};`);
    }
  }
  return [`% ${title}`, `% Written by wmma_emu ${DATA.version}; compile it with pdflatex, or take the tikzpicture.`, "\\documentclass[tikz]{standalone}", "\\begin{document}",
    "\\sffamily", ...colours.map((hex, i) => `\\definecolor{lane${i}}{HTML}{${hex}}`), "\\begin{tikzpicture}[x=0.75pt, y=-0.75pt]",
    ...out, "\\end{tikzpicture}", "\\end{document}", ""].join("\n");
}

function save_tikz(id) {
  const { svg } = drawn[id];
  save_file(file_name(id, "tex"), new Blob([tikz_of(svg, svg.getAttribute("aria-label"))], { type: "application/x-tex" }));
}

function watch_saves() {
  for (const [name, save] of [["save", save_svg], ["png", save_png], ["tikz", save_tikz]])
    for (const button of document.querySelectorAll(`[data-${name}]`)) button.addEventListener("click", () => save(button.dataset[name]));
}
