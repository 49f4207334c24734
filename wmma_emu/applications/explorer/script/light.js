// SPDX-License-Identifier: MIT
// Highlighting: the elements of each operand that a mark selects, their appearance, and the picture as a file.

/** The parts of an operand that a mark highlights: tests for lanes, registers, elements, rows and columns. */
function light_of(mark, operand, entry) {
  const light = { lane: mark?.lane, cell: null, register: null, index: null, rows: null, cols: null, matrix: 0 };
  if (!mark || !operand.layout) return light;
  const layout = operand.layout;
  const own = mark.letter === operand.letter;
  if (own && mark.kind === "register") light.register = mark.register;
  if (own && mark.kind === "index") light.index = mark.index;
  if (mark.kind !== "element") return light;
  const from = operand.all[mark.letter].layout;
  const [row, col] = [from.row(mark.cell), from.col(mark.cell)];
  light.matrix = from.matrix(mark.cell);
  const sums = (letter) => letter === "C" || letter === "D";
  if (own || (sums(mark.letter) && sums(operand.letter)) || entry.kind === "move") {
    light.cell = layout.number_of(row, col, light.matrix);
    return light;
  }
  const one = (x) => [x, x];
  if (sums(mark.letter)) {
    if (operand.letter === "A") light.rows = one(row);
    else light.cols = one(col);
  } else if (mark.letter === "A") {
    if (operand.letter === "B") light.rows = met_rows(entry, col);
    else light.rows = one(row);
  } else if (operand.letter === "A") light.cols = entry.metadata ? met_cols(entry, row) : one(row);
  else light.cols = one(col);
  return light;
}

const met_rows = (entry, col) => {
  if (!entry.metadata) return [col, col];
  const chunk = entry.metadata[1], first = Math.floor(col / (chunk / 2)) * chunk;
  return [first, first + chunk - 1];
};
const met_cols = (entry, row) => {
  const chunk = entry.metadata[1], first = Math.floor(row / chunk) * (chunk / 2);
  return [first, first + chunk / 2 - 1];
};

/** The highlighting of a position of an operand: "strong", "lit", "band" or nothing. */
function lit(light, layout, { row, col, matrix, tall = 1, wide = 1, holders }) {
  if (light.cell !== null && layout.matrix(light.cell) === matrix) {
    const [r, c] = [layout.row(light.cell), layout.col(light.cell)];
    if (r >= row && r < row + tall && c >= col && c < col + wide) return "strong";
  }
  const on_lane = light.lane !== undefined && holders.some(([, lane]) => lane === light.lane);
  if (light.register !== null) {
    const found = holders.some(([index, lane]) => layout.register(index) === light.register && (light.lane === undefined || lane === light.lane));
    if (found) return light.lane === undefined ? "lit" : "strong";
  }
  if (light.index !== null && holders.some(([index]) => index === light.index)) return "lit";
  const meets = (rows, cols) => (!rows || (rows[0] < row + tall && rows[1] >= row)) && (!cols || (cols[0] < col + wide && cols[1] >= col));
  const band = (light.rows || light.cols) && matrix === light.matrix && meets(light.rows, light.cols);
  if (on_lane) return band ? "lit band" : "lit";
  return band ? "band" : "";
}

/** The cells of a drawn picture, prepared for highlighting. */
function cells_of(svg) {
  return [...svg.querySelectorAll(".cell")].map((node) => {
    const data = node.dataset;
    const [tall, wide] = data.span.split(" ").map(Number);
    const holders = data.holders ? data.holders.split(" ").map((x) => x.split("@").map(Number)) : [[Number(data.index), Number(data.lane)]];
    return { node, row: Number(data.row), col: Number(data.col), matrix: Number(data.matrix), tall, wide, holders, kind: "" };
  });
}

/** Highlight cells of a drawn picture. */
function light_figure(drawn, mark, operand, entry) {
  const light = light_of(mark, operand, entry);
  drawn.svg.classList.toggle("marked", Boolean(mark));
  for (const place of drawn.cells) {
    const kind = mark ? lit(light, operand.layout, place) : "";
    if (kind === place.kind) continue;
    place.node.classList.remove("strong", "lit", "band");
    if (kind) place.node.classList.add(...(kind === "strong" ? ["strong", "lit"] : kind.split(" ")));
    place.kind = kind;
  }
  const at = light.cell === null ? null : { row: operand.layout.row(light.cell), col: operand.layout.col(light.cell), matrix: operand.layout.matrix(light.cell) };
  for (const ruler of drawn.svg.querySelectorAll(".ruler, .heading[data-register]")) {
    const data = ruler.dataset, covers = (first, x) => x >= Number(first) && x < Number(first) + Number(data.span);
    const here = Boolean(mark) && (
      (at && Number(data.matrix) === at.matrix && ((data.row !== undefined && covers(data.row, at.row)) || (data.col !== undefined && covers(data.col, at.col))))
      || (data.lane !== undefined && Number(data.lane) === mark.lane) || (data.address !== undefined && mark.kind === "lane" && Number(data.address) === mark.lane) || (data.register !== undefined && Number(data.register) === light.register));
    ruler.classList.toggle("here", Boolean(here));
  }
}

/** The picture as a file: with its light and dark styles and its title, without attributes of the page. */
function exported(svg, by_night = true) {
  const copy = svg.cloneNode(true), box = svg.viewBox.baseVal;
  copy.setAttribute("width", box.width);
  copy.setAttribute("height", box.height);
  const title = copy.getAttribute("aria-label");
  copy.setAttribute("role", "img");
  copy.removeAttribute("style");
  for (const node of copy.querySelectorAll("[tabindex], [role], [aria-label]"))
    for (const name of ["tabindex", "role", "aria-rowindex", "aria-colindex", "aria-rowcount", "aria-colcount"]) node.removeAttribute(name);
  const night = "@media (prefers-color-scheme: dark)";
  const whole = `${FIGURE_STYLE}\n.figure .back { fill: #ffffff; } ${night} { .figure .back { fill: #0d1117; } }`;
  const style = by_night ? whole : whole.replaceAll(night, "@media not all");
  const head = `<title>${escape_html(title)}</title><style>${style}</style><rect width="100%" height="100%" class="back"/>`;
  return new XMLSerializer().serializeToString(copy).replace(/>/, `>${head}`) + "\n";
}
