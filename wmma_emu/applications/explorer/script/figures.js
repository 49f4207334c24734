// SPDX-License-Identifier: MIT
// The two pictures of an operand: its matrix, and the registers of the lanes; as SVG, which is also what is exported.

const INK = DATA.ink;
const lane_colour = (lane) => DATA.colours[lane % 32];

const FIGURE_STYLE = `
.figure { font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; font-variant-numeric: tabular-nums; }
.figure text { fill: #57606a; font-size: 11px; text-anchor: middle; }
.figure .cell text { fill: ${INK}; }
.figure .cell .main { font-size: 12px; font-weight: 600; }
.figure .cell .less { font-size: 10px; }
.figure.registers .cell .less { font-size: 11px; }
.figure .cell .edge { fill: none; stroke: none; stroke-width: 1.25; }
.figure .heading { font-size: 12px; font-weight: 600; fill: #1b1f24; }
.figure .start { text-anchor: start; }
.figure .end { text-anchor: end; }
.figure .ruler.here { font-weight: 700; fill: #0a58b8; }
.figure.marked .cell .fill { opacity: 0.22; }
.figure.marked .cell text { fill: #57606a; font-weight: 400; }
.figure.marked .cell.band .fill { opacity: 0.75; }
.figure.marked .cell.lit .fill { opacity: 1; }
.figure.marked .cell.lit text, .figure.marked .cell.band text { fill: ${INK}; }
.figure.marked .cell.lit text { font-weight: 700; }
.figure .cell.lit .edge { stroke: ${INK}; stroke-width: 2; }
.figure .cell.band .edge { stroke: ${INK}; stroke-dasharray: 3 2; }
.figure .cell.strong .edge { stroke: ${INK}; stroke-width: 3.5; stroke-dasharray: none; }
.figure text.inside { fill: ${INK}; font-size: 11px; }
.figure .tensor-block, .figure .tile-block { cursor: crosshair; }
.figure .cell.unread .fill { fill-opacity: 0.35; }
.figure .cell.unread .main { font-style: italic; font-weight: 400; }
@media (prefers-color-scheme: dark) {
.figure text { fill: #9da7b3; }
.figure .cell.unread text { fill: #e6edf3; }
.figure.marked .cell:not(.lit, .band) text { fill: #9da7b3; }
.figure .heading { fill: #e6edf3; }
.figure .ruler.here { fill: #79b8ff; }
}`;

const svg_text = (x, y, text, kind = "", more = "") => `<text x="${x}" y="${y}"${kind && ` class="${kind}"`}${more}>${escape_html(text)}</text>`;
const svg_rect = (x, y, width, height, kind, more = "") => `<rect x="${x}" y="${y}" width="${width}" height="${height}" class="${kind}"${more}/>`;

/** The outline of a cell: within it, so that no neighbour covers it. */
const svg_edge = (x, y, width, height) => svg_rect(x + 1.5, y + 1.5, width - 4, height - 4, "edge");

/** The rows, lanes, columns and elements shown at once: for a wide wgmma, a warp and 32 columns. */
function window_of(layout, warp, part) {
  const columns = layout.lanes > 32 && layout.cols > 32 && layout.bits > 1 ? 32 : layout.cols;
  const parts = Math.ceil(layout.cols / columns);
  const elements = parts > 1 ? columns / 2 : layout.elements;
  const shown = Math.min(part, parts - 1);
  const rows = layout.lanes > 32 ? 16 : layout.rows;
  const [row, lane] = layout.lanes > 32 ? [16 * warp, 32 * warp] : [0, 0];
  const clip = (first, count, all) => ({ first, count: Math.min(count, all - first) });
  return { parts, part: shown, rows: { first: row, count: rows }, lanes: { first: lane, count: 32 },
    cols: clip(columns * shown, columns, layout.cols), elements: clip(elements * shown, elements, layout.elements) };
}

/** Rows and columns that a drawn cell covers: of single bits, a register's. */
function grain_of(layout) {
  if (layout.bits > 1) return [1, 1];
  return layout.indexWeights[0] === 1 ? [1, 32] : [32, 1];
}

/** Draw the matrix of an operand, with the lanes that hold each element. */
function matrix_figure(operand, entry, view) {
  const { layout, register } = operand;
  const [tall, wide] = grain_of(layout);
  const most = Math.max(...[0, layout.rows * layout.cols - 1].map((x) => layout.lanes_of(x).length));
  const least = wide > 1 ? 64 : most > 1 ? 56 : layout.lanes > 32 ? 38 : tall > 1 ? 48 : 34;
  const width = Math.max(least, ...range(layout.rows * layout.cols).flatMap((cell) => cell_lines(operand, cell, tall * wide)).map(text_room));
  const height = most > 2 ? 46 : 34;
  const addressed = operand.letter === "R";
  const side = addressed ? 78 : tall > 1 ? 56 : 30;
  const top = layout.matrices > 1 ? 44 : 24;
  const across = Math.ceil(view.cols.count / wide), down = Math.ceil(view.rows.count / tall);
  const block = { width: side + across * width + (layout.matrices > 1 ? 22 : 4), height: top + down * height + 10 };
  const beside = layout.matrices === 1 || block.width > 420 || innerWidth < 620 ? 1 : 2;
  const parts = [];
  for (let matrix = 0; matrix < layout.matrices; matrix++) {
    const x = (matrix % beside) * block.width, y = Math.floor(matrix / beside) * block.height;
    parts.push(matrix_block(operand, entry, view, { matrix, x: x + side, y: y + top, width, height, tall, wide, across, down }));
  }
  const size = [Math.min(beside, layout.matrices) * block.width, Math.ceil(layout.matrices / beside) * block.height];
  return figure("matrix", size, `${matrix_title(operand, entry)}: which lane and element holds each of its elements`, parts);
}

function matrix_title(operand, entry) {
  if (operand.matrix) return `Matrix A of ${entry.short}, after the move`;
  return operand.letter === "R" ? `Matrices of ${entry.short}` : `Matrix ${operand.letter} of ${entry.short}`;
}

function matrix_block(operand, entry, view, at) {
  const { layout } = operand;
  const { matrix, x, y, width, height, tall, wide, across, down } = at;
  const addressed = operand.letter === "R";
  const out = [];
  let name = operand.letter;
  if (addressed) name = `matrix ${matrix}, register${entry.fragment.registers / entry.count > 1 ? "s" : ""} ${upto(matrix * layout.registers / layout.matrices, layout.registers / layout.matrices).replace(/\d+/g, (r) => `r${r}`)}`;
  else if (layout.matrices > 1) name = `${operand.letter} of product ${matrix}, lanes ${spans(range(32).filter((l) => layout.matrix(layout.cell(0, l)) === matrix))}`;
  if (layout.matrices > 1) out.push(svg_text(x, y - 28, name[0].toUpperCase() + name.slice(1), "heading start"));
  for (let j = 0; j < across; j++) {
    const col = view.cols.first + j * wide;
    out.push(svg_text(x + (j + 0.5) * width, y - 8, upto(col, wide), "ruler", ` data-col="${col}" data-span="${wide}" data-matrix="${matrix}"`));
  }
  for (let i = 0; i < down; i++) {
    const row = view.rows.first + i * tall, base = y + i * height;
    const ruler = addressed ? `T${matrix * entry.rows + row} → row ${row}` : upto(row, tall);
    out.push(svg_text(x - 6, base + height / 2 + 4, ruler, "ruler end", ` data-row="${row}" data-span="${tall}" data-matrix="${matrix}"${addressed ? ` data-address="${matrix * entry.rows + row}"` : ""}`));
    out.push(`<g role="row" aria-rowindex="${row + 1}">`);
    for (let j = 0; j < across; j++)
      out.push(matrix_cell(operand, entry, layout.number_of(row, view.cols.first + j * wide, matrix), x + j * width, base, width, height, at));
    out.push("</g>");
  }
  return `<g role="grid" aria-label="${escape_html(name)}: rows and columns" aria-rowcount="${layout.rows}" aria-colcount="${layout.cols}">${out.join("")}</g>`;
}

/** The lines of a cell, each with its kind: the lanes that hold it, and the index or the register. */
function cell_lines({ layout, register }, cell, span) {
  const holders = layout.holders[cell], lanes = layout.lanes_of(cell), lines = [];
  for (let i = 0; i < lanes.length; i += 2) lines.push([lanes.slice(i, i + 2).map((l) => `T${l}`).join(" "), "main"]);
  const [[index]] = holders, indices = [...new Set(holders.map((h) => h[0]))];
  const repeated = indices.length > 2 ? ` +${indices.length - 1}` : indices.length > 1 ? ` x${indices[1]}` : "";
  lines.push([span > 1 ? `${register}${layout.register(index)}` : `x${index}${repeated}`, "less"]);
  return lines;
}

/** The width of a line with its margins, in characters of its kind: no character in use is wider. */
const text_room = ([text, kind]) => Math.ceil(text.length * { main: 7.4, less: 6.2 }[kind]) + 6;

function matrix_cell(operand, entry, cell, x, y, width, height, { tall, wide }) {
  const { layout, register } = operand;
  const holders = layout.holders[cell];
  const [index, lane] = holders[0];
  const lanes = layout.lanes_of(cell);
  const row = layout.row(cell), col = layout.col(cell);
  const fills = lanes.map((l, i) => svg_rect(x + (i * (width - 1)) / lanes.length, y, (width - 1) / lanes.length, height - 1, "fill", ` fill="${lane_colour(l)}"`)).join("");
  const span = tall * wide, lines = cell_lines(operand, cell, span);
  const step = height / (lines.length + 0.4);
  const texts = lines.map(([text, kind], i) => svg_text(x + width / 2, (y + (i + 0.95) * step).toFixed(1), text, kind)).join("");
  const where = span > 1 ? `row ${upto(row, tall)}, column ${upto(col, wide)}` : `row ${row}, column ${col}`;
  const what = span > 1 ? `all of register ${register}${layout.register(index)}` : `x[${index}], register ${register}${layout.register(index)}, ${bits_name(operand, index, entry)}`;
  const label = `${where}: ${lanes.map((l) => lane_name(layout, l)).join(", ")}, ${what}`;
  return `<g class="cell" role="gridcell" tabindex="-1" aria-colindex="${col + 1}" aria-label="${label}" data-cell="${cell}" data-row="${row}" data-col="${col}"`
    + ` data-lane="${lane}" data-index="${index}" data-register="${layout.register(index)}" data-bit="${bits_of(operand, index, entry)[0]}" data-matrix="${layout.matrix(cell)}"`
    + ` data-span="${tall} ${wide}" data-holders="${holders.map((h) => h.join("@")).join(" ")}">${fills}${svg_edge(x, y, width, height)}${texts}</g>`;
}

/** Draw the registers of the lanes, with the elements in their bits. */
function register_figure(operand, entry, view) {
  const { layout, register } = operand;
  const packed = layout.bits === 1 ? 32 : 1;
  const [tall, wide] = grain_of(layout);
  const columns = Math.ceil(view.elements.count / packed);
  const several = layout.matrices > 1 && operand.letter !== "R";
  const width = packed > 1 ? 74 : Math.max(layout.rows, layout.cols) > 99 ? 50 : 42;
  const height = 21, side = several ? 56 : layout.lanes > 32 ? 46 : 34, top = 48;
  const out = [];
  const each = layout.packed / packed;  // columns of a register
  for (let j = 0; j < columns; j += each) {
    const r = layout.register(view.elements.first + j * packed);
    const of = operand.letter === "R" ? `r${r}, matrix ${layout.matrix(layout.cell(r * layout.packed, 0))}` : `${register}${r}`;
    const x = side + j * width;
    out.push(svg_text(x + (each * width) / 2, 16, of, "heading", ` data-register="${r}"`));
    out.push(svg_rect(x + 3, 22, each * width - 6, 1.5, "fill", ' fill="#8c959f"'));
  }
  for (let j = 0; j < columns; j++) {
    const index = view.elements.first + j * packed;
    const bits = packed > 1 ? "0–31" : upto(...bits_of(operand, index, entry));
    out.push(svg_text(side + (j + 0.5) * width, 38, bits, "ruler"));
  }
  for (let i = 0; i < view.lanes.count; i++) {
    const lane = view.lanes.first + i, y = top + i * height;
    const name = `T${lane}${several ? ` · ${layout.matrix(layout.cell(0, lane))}` : ""}`;
    out.push(svg_text(side - 6, y + 15, name, "ruler end", ` data-lane="${lane}"`));
    out.push(`<g role="row" aria-rowindex="${lane + 1}">`);
    for (let j = 0; j < columns; j++) {
      const index = view.elements.first + j * packed;
      const cell = layout.cell(index, lane);
      const [row, col, matrix] = [layout.row(cell), layout.col(cell), layout.matrix(cell)];
      const unread = index >= layout.read;
      const name = packed > 1 ? `${upto(row, tall)}, ${upto(col, wide)}` : `${row}, ${col}`;
      const label = `${lane_name(layout, lane)}, register ${register}${layout.register(index)}, ${packed > 1 ? "bits 0–31" : bits_name(operand, index, entry)}: ${packed > 1 ? `row ${upto(row, tall)}, column ${upto(col, wide)}` : `${element_name(operand, cell)}, x[${index}]`}${unread ? ", a copy that is not read" : ""}`;
      const x = side + j * width;
      out.push(`<g class="cell${unread ? " unread" : ""}" role="gridcell" tabindex="-1" aria-colindex="${index + 1}" aria-label="${label}" data-cell="${cell}" data-row="${row}" data-col="${col}"`
        + ` data-lane="${lane}" data-index="${index}" data-register="${layout.register(index)}" data-bit="${bits_of(operand, index, entry)[0]}" data-matrix="${matrix}" data-span="${tall} ${wide}">`
        + svg_rect(x, y, width - 1, height - 1, "fill", ` fill="${lane_colour(lane)}"`) + svg_edge(x, y, width, height)
        + svg_text(x + width / 2, y + 15, name, "less") + "</g>");
    }
    out.push("</g>");
  }
  const grid = `<g role="grid" aria-label="Registers of ${operand.letter}: lanes and elements" aria-rowcount="${layout.lanes}" aria-colcount="${layout.elements}">${out.join("")}</g>`;
  return figure("registers", [side + columns * width + 8, top + view.lanes.count * height + 6],
    `Registers of ${operand.letter} of ${entry.short}: which element is in which bits of which register of each lane`, [grid]);
}

function figure(kind, [width, height], title, parts) {
  return `<svg xmlns="http://www.w3.org/2000/svg" class="figure ${kind}" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" role="group" aria-label="${escape_html(title)}">${parts.join("")}</svg>`;
}
