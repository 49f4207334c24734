// SPDX-License-Identifier: MIT
// The handout: A, B, C and D of an instruction on one sheet of paper, readable without colours.

/** Rows and columns of a box of the handout: the elements that share a register, if these are adjacent. */
function box_of(layout) {
  const { packed, cols, indexWeights } = layout, bits = Math.log2(packed);
  const runs = (step) => packed > 1 && indexWeights.slice(0, bits).every((weight, bit) => weight === step << bit);
  return runs(1) ? [1, packed] : runs(cols) ? [packed, 1] : [1, 1];
}

/** The part of an operand that is shown: the first of four warps, and as many columns as the pattern needs. */
function handout_part(operand) {
  const { layout } = operand, rows = layout.lanes > 32 ? 16 : layout.rows;
  const cols = layout.lanes > 32 && layout.cols > 16 && "CD".includes(operand.letter) ? 16 : layout.cols;
  return { rows, cols, tall: box_of(layout)[0], wide: box_of(layout)[1] };
}

/** The labels of a box: its lanes, and below them the register, or the index if a register's elements are not adjacent. */
function box_lines(operand, row, col, matrix, [tall, wide]) {
  const { layout, register } = operand, holders = layout.holders[layout.number_of(row, col, matrix)];
  const lanes = layout.lanes_of(layout.number_of(row, col, matrix)).map((lane) => `T${lane % 32}`);
  const whole = tall * wide === layout.packed;
  const lines = [];
  for (let i = 0; i < lanes.length; i += 2) lines.push(lanes.slice(i, i + 2).join(" "));
  return [...lines, whole ? `${register}${layout.register(holders[0][0])}` : `x${holders[0][0]}`];
}

const svg_line = (x, y, text, size, more = "") => `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" font-size="${size}"${more}>${escape_html(text)}</text>`;

/** Draw a matrix of an operand: boxes of a width and height for each column and row. */
function handout_grid(operand, part, matrix, x, y, across, down) {
  const { layout } = operand, { rows, cols, tall, wide } = part, out = [];
  for (let j = 0; j < cols; j += wide) out.push(svg_line(x + (j + wide / 2) * across, y - 4, upto(j, wide), 8));
  for (let i = 0; i < rows; i += tall) {
    out.push(svg_line(x - 4, y + (i + tall / 2) * down + 3, upto(i, tall), 8, ' text-anchor="end"'));
    for (let j = 0; j < cols; j += wide) {
      const lanes = layout.lanes_of(layout.number_of(i, j, matrix));
      const [left, top, width, height] = [x + j * across, y + i * down, wide * across, tall * down];
      lanes.forEach((lane, nth) => out.push(`<rect x="${left + (nth * width) / lanes.length}" y="${top}" width="${width / lanes.length}" height="${height}" fill="${lane_colour(lane)}" fill-opacity="0.6"/>`));
      out.push(`<rect x="${left}" y="${top}" width="${width}" height="${height}" fill="none" stroke="#57606a" stroke-width="0.6" class="box" data-letter="${operand.letter}" data-row="${i}" data-col="${j}" data-matrix="${matrix}"/>`);
      const lines = box_lines(operand, i, j, matrix, [tall, wide]);
      const beside = width >= 38 && lines.length === 2 && height < 20 ? [lines.join(" ")] : lines;
      const step = height / (beside.length + 0.35);
      beside.forEach((text, nth) => out.push(svg_line(left + width / 2, top + (nth + 0.92) * step, text, nth === 0 ? 10 : 9, nth === 0 ? ' font-weight="600"' : "")));
    }
  }
  return out.join("");
}

/** The operands of a product, each with its drawn part: [letters, operand, part]. */
function drawn_operands(operands) {
  const { A, B, C, D } = operands, same = C.layout === D.layout;
  return { A, B, D, C: same ? null : C, title: same ? "C and D" : "D" };
}

/** Draw a product as it multiplies: A left of D, B above it; { svg, width, height }. */
function handout_product(operands, matrix, named) {
  const { A, B, C, D, title } = drawn_operands(operands);
  const [a, b, d, c] = [A, B, D, C].map((x) => (x?.layout ? handout_part(x) : null));
  const lines = (operand, part) => (part ? box_lines(operand, 0, 0, 0, [part.tall, part.wide]).length : 1);
  const room = (operand) => (operand?.layout && operand.layout.lanes_of(0).length > 1 ? 49 : 28);
  const high = Math.max(...[[A, a], [D, d], [C, c]].filter(([, part]) => part).map(([x, part]) => (11 * lines(x, part)) / part.tall));
  const of_a = a ? room(A) / a.wide : 0;
  const of_n = Math.max(...[[B, b], [D, d], [C, c]].filter(([, part]) => part).map(([x, part]) => room(x) / part.wide));
  const of_b = b ? (11 * lines(B, b)) / b.tall : 0;
  const side = 26, top = 30, gap = 22;
  const left = side + (a ? a.cols * of_a : 0) + gap + side;
  const above = top + (b ? b.rows * of_b : 22) + gap + 14;
  const width = left + d.cols * of_n + (c ? gap + side + c.cols * of_n : 0) + 4, height = above + d.rows * high + 4;
  const heading = (x, y, text) => svg_line(x, y, text, 12, ' font-weight="700" text-anchor="start"');
  const out = [heading(left, above - 18, `${title} ${D.rows} × ${D.cols} ${C ? D.format : `${operands.C.format === D.format ? D.format : `${operands.C.format}, ${D.format}`}`}${named}`)];
  out.push(handout_grid(D, d, matrix, left, above, of_n, high));
  if (c) out.push(heading(left + d.cols * of_n + gap + side, above - 18, `C ${C.rows} × ${C.cols} ${C.format}`), handout_grid(C, c, matrix, left + d.cols * of_n + gap + side, above, of_n, high));
  if (a) out.push(heading(side, above - 18, `A ${A.rows} × ${A.cols} ${A.format}${operands.A.role.includes("packed") ? ", packed" : ""}`), handout_grid(A, a, matrix, side, above, of_a, high));
  if (b) out.push(heading(left, top - 18, `B ${B.rows} × ${B.cols} ${B.format}`), handout_grid(B, b, matrix, left, top, of_n, of_b));
  else out.push(heading(left, top, "B: in shared memory, read through a descriptor"));
  return { svg: out.join(""), width, height };
}

/** Draw the registers after a move, the matrices next to each other. */
function handout_fragment(operand, matrix) {
  const part = handout_part(operand), across = 28 / part.wide, down = 22 / part.tall, [side, top] = [26, 30];
  const name = operand.letter === "R" ? `matrix ${matrix}` : operand.letter === "A" ? "A, before the move" : "A, after it";
  return { svg: svg_line(side, top - 18, name, 12, ' font-weight="700" text-anchor="start"') + handout_grid(operand, part, matrix, side, top, across, down),
    width: side + part.cols * across + 18, height: top + part.rows * down + 14 };
}

/** The whole drawing as one SVG; several products, or matrices, two per line. */
function handout_figure(entry, operands) {
  const blocks = entry.kind === "product"
    ? range(operands.D.layout.matrices).map((matrix) => handout_product(operands, matrix, operands.D.layout.matrices > 1 ? `, product ${matrix}` : ""))
    : Object.values(operands).flatMap((operand) => range(operand.layout.matrices).map((matrix) => handout_fragment(operand, matrix)));
  const beside = blocks.length > 1 ? 2 : 1, [{ width, height }] = blocks;
  const body = blocks.map((block, i) => `<g transform="translate(${(i % beside) * (width + 14)} ${Math.floor(i / beside) * (height + 8)})">${block.svg}</g>`).join("");
  const whole = [beside * (width + 14) - 14, Math.ceil(blocks.length / beside) * (height + 8) - 8].map(Math.ceil);
  return { wide: whole[0] > 1.15 * whole[1], svg: `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${whole.join(" ")}" role="img" aria-label="Which lane holds which element of ${Object.keys(operands).join(", ")} of ${escape_html(entry.short)}">${body}</svg>` };
}

/** The operands by name: C and D together if their layouts are equal. */
function distinct_operands(operands) {
  const same = operands.C && operands.C.layout === operands.D.layout;
  return Object.entries(operands).filter(([letter]) => !same || letter !== "C").map(([letter, x]) => [same && letter === "D" ? "C, D" : letter, x]);
}

/** The rules of the operands, a line for each. */
function handout_rules(operands) {
  const names = ["row", "col", "lane", "index"];
  const lines = distinct_operands(operands).filter(([, x]) => formulas_of(x)).map(([letters, operand]) => {
    const { lines: found } = formulas_of(operand), { layout } = operand;
    const cells = names.map((name) => `<td><code>${escape_html(found[name] ?? "")}</code></td>`).join("");
    return `<tr><th scope="row">${letters}</th><td>${plural(layout.elements, "element")} in ${plural(layout.registers, "register")}</td>${cells}</tr>`;
  });
  return lines.length ? `<table><caption class="unseen">Rules</caption><thead><tr><th scope="col"><span class="unseen">operand</span></th><th scope="col">a lane has</th>${names.map((x) => `<th scope="col">${x} =</th>`).join("")}</tr></thead><tbody>${lines.join("")}</tbody></table>` : "";
}

/** The notes on how to read the sheet, and on what it omits. */
function handout_notes(entry, chip, operands) {
  const notes = [], held = Object.values(operands).filter((x) => x.layout);
  const boxes = held.map((x) => box_of(x.layout)), packed = held.some((x) => x.layout.packed > 1);
  notes.push("T5 is lane 5 of the warp; a, b, c, d are the registers of the operands, 32 bits each (64 of f64). x[i] is element i of a lane: element e of register r is i = r · (elements in a register) + e.");
  if (entry.kind === "product" && operands.C.layout === operands.D.layout) notes.push("C has the layout of D, in registers c.");
  if (packed && boxes.some(([tall, wide]) => tall * wide > 1)) notes.push("A box of several elements is one register, with the elements in the order of their columns (for B: of their rows, if the box is tall), the first in the lowest bits.");
  if (held.some((x) => x.layout.lanes > 32)) notes.push("The sheet shows warp 0 of the warpgroup, rows 0 to 15; warp w has rows 16w to 16w + 15 in the same way. At most the first 16 columns of C and D are shown: each 8 further columns are in the next registers.");
  if (held.some((x) => x.layout.reads_copies)) notes.push("If a box names several lanes, each of them holds a copy.");
  else if (held.some((x) => x.layout.read < x.layout.elements)) notes.push("Further elements of a lane repeat those shown and are not read.");
  const cute = distinct_operands(operands).filter(([, x]) => cute_of(x)[0]).map(([letters, x]) => `${letters} ${cute_of(x)[0]}`);
  if (cute.length) notes.push(`In CuTe's notation, thread and value to the element: ${cute.join("; ")}.`);
  const named = [...machine_of(entry, chip), ...atoms_of(entry)];
  if (named.length) notes.push(`Also called ${named.slice(0, 4).join(", ")}.`);
  if (entry.metadata) notes.push(`A is sparse, ${entry.metadata[0]}, and packed: metadata gives the columns of its elements.`);
  if (entry.scales) notes.push(`A and B have block scales in ${entry.scales[0]}, one for ${entry.scales[2]} neighbours along k, in separate registers.`);
  if (entry.kind === "move" && !entry.before) notes.push(`Lane l gives the address of row l % ${entry.rows}${entry.count > 1 ? ` of matrix l / ${entry.rows}` : ""}: 16 bytes.`);
  return notes;
}

/** The sheet: { html, wide } of an entry on a chip. */
function handout_of(entry, chip, heading) {
  if (entry.kind === "tensor") return tensor_handout(entry, chip, heading);
  const operands = operands_of(entry, chip), { svg, wide } = handout_figure(entry, operands);
  const [source, status] = source_of(entry, chip, Object.values(operands)[0]);
  const html = `<header><${heading}>${escape_html(entry.short)}</${heading}><p><code>${escape_html(entry.name)}</code> on ${chip.name} (${chip.generation})${entry.kind === "product" ? ` · ${escape_html(equation_of(entry, operands))}` : ""}</p></header>
    <div class="sheet-figure">${svg}</div>${handout_rules(operands)}
    <ul>${handout_notes(entry, chip, operands).map((x) => `<li>${escape_html(x)}</li>`).join("")}</ul>
    <footer>Known from: ${escape_html(source)} (${status}). Written by wmma_emu ${DATA.version}.</footer>`;
  return { html, wide };
}

/** The sheet of an instruction with operands in tensor memory. */
function tensor_handout(entry, chip, heading) {
  const letters = Object.keys(tensor_operands(entry)).filter((x) => x !== "B");
  const figures = letters.map((letter) => `<div class="tensor-sheet">${tensor_figure(entry, letter)}</div>`).join("");
  const rules = letters.map((letter) => `<tr><th scope="row">${tensor_name(letter)}</th><td>${tensor_rules(entry, letter).map(([name, text]) => `${name}: <code>${escape_html(text)}</code>`).join("; ")}</td></tr>`).join("");
  const [source, status] = tensor_source(entry, tensor_operands(entry).D);
  return { wide: false, html: `<header><${heading}>${escape_html(entry.shape)} of ${escape_html(entry.family)}</${heading}><p><code>${escape_html(entry.name)}</code> on ${chip.name} (${chip.generation}) · D = A · B + D</p></header>
    <div class="sheet-figure tensors">${figures}</div>
    <table><caption class="unseen">Rules</caption><tbody>${rules}</tbody></table>
    <ul><li>D, and C, which it replaces, are in tensor memory: 128 lanes of 512 columns of 32 bits. A may be in tensor memory or in shared memory; B is in shared memory, read through a descriptor.</li>
    <li>Columns are counted from the operand's first column. Warp w of a warpgroup reads lanes 32w to 32w + 31; tcgen05.ld.32x32b loads lane 32w + t, column c into register c of thread t.</li></ul>
    <footer>Known from: ${escape_html(source)} (${status}). Written by wmma_emu ${DATA.version}.</footer>` };
}

/** What an instruction computes, in a line. */
function equation_of(entry, operands) {
  const several = operands.D.layout?.matrices > 1, bitwise = bitwise_of(entry);
  return bitwise ? `D = C + number of ones of A ${bitwise} B` : `${several ? "four products " : ""}D = A · B + C${entry.scales ? ", A and B with block scales" : ""}`;
}

/** Make the sheet as an element, and set the paper's orientation. */
function handout_sheet(entry, chip, heading = "h2") {
  const { html, wide } = handout_of(entry, chip, heading);
  at("paper").textContent = `@page { size: ${wide ? "landscape" : "portrait"}; margin: 10mm 11mm; }`;
  return make("article", { class: `handout${wide ? " wide" : ""}`, "aria-label": `Handout of ${entry.short}` }, html);
}
