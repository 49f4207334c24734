// SPDX-License-Identifier: MIT
// Answers: what a mark marks, in sentences.

/** Describe a mark in a sentence: { head, more } as HTML. */
function answer(mark, entry, chip, operands) {
  const operand = operands[mark.letter];
  const of = `<span class="of">of <code>${escape_html(entry.short)}</code> on ${chip.name}</span>`;
  const say = { element: say_element, lane: say_lane, register: say_register, index: say_index }[mark.kind];
  return say(mark, entry, operand, of);
}

const strong = (text) => `<strong>${escape_html(text)}</strong>`;

function say_element(mark, entry, operand, of) {
  const { layout, register } = operand;
  const { index, lane, cell } = mark;
  const place = `register ${strong(register + layout.register(index))}, ${strong(bits_name(operand, index, entry))}`;
  const head = `${strong(element_name(operand, cell))} ${of} is element ${strong(`x[${index}]`)} of `
    + `${strong(lane_name(layout, lane))} (${place}).`;
  const more = [];
  const others = layout.holders[cell].filter((x) => x[0] !== index || x[1] !== lane);
  if (others.length && layout.reads_copies)
    more.push(`${plural(others.length + 1, "lane")} hold it, and each copy is read: also ${others.map(([i, l]) => `x[${i}] of lane ${l}`).join(", ")}.`);
  else if (others.length)
    more.push(`${index < layout.read ? "Copies that are not read" : "A copy that is not read; the same element"}: ${others.map(([i]) => `x[${i}]`).join(", ")}.`);
  if (entry.kind === "move") more.push(...say_moved(cell, entry, operand));
  else more.push(say_product(cell, entry, operand));
  return { head, more: more.filter(Boolean).map((x) => `<p>${x}</p>`).join("") };
}

function say_moved(cell, entry, operand) {
  const layout = operand.layout;
  if (entry.before) {
    const other = operand.all[operand.letter === "A" ? "D" : "A"];
    const [[index, lane]] = other.layout.holders[cell];
    return [`${operand.letter === "A" ? "After the move it is" : "Before the move it was"} x[${index}] of lane ${lane} (register ${other.register}${other.layout.register(index)}, ${bits_name(other, index)}).`];
  }
  const row = layout.row(cell);
  const bytes = entry.sourceBits < 8 ? `${entry.sourceBits}-bit value ${layout.col(cell)} of the row` : `byte${layout.bits > 8 ? "s" : ""} ${upto(layout.col(cell) * layout.bits / 8, layout.bits / 8)} of the row`;
  return [`Row ${row} of matrix ${layout.matrix(cell)} ${entry.family === "stmatrix" ? "goes to" : "comes from"} the address that ${strong(`lane ${layout.matrix(cell) * entry.rows + row}`)} gives; the element is ${bytes}.`];
}

const KEPT = { "1:2": "that one", "2:4": "one of the two", "4:8": "one of the four" };

/** Return the formula of an element of D. */
function sum_of(entry, row, col) {
  const to = `D[${row}][${col}] = C[${row}][${col}] +`, bitwise = bitwise_of(entry);
  const a = `A[${row}][k]`, b = `B[k][${col}]`;
  const product = entry.scales ? `${a} · ${b} · scale_A[${row}][k / ${entry.scales[2]}] · scale_B[k / ${entry.scales[2]}][${col}]` : `${a} · ${b}`;
  if (bitwise) return `${to} the number of ones of A[${row}][k] ${bitwise} B[k][${col}] over all k.`;
  if (entry.metadata) return `${to} Σ<sub>k</sub> ${product}, where k runs over the ${entry.k / 2} of ${entry.k} columns of row ${row} of A that metadata keeps, which are multiplied by the rows k of B.`;
  return `${to} Σ<sub>k</sub> ${product}.`;
}

/** Name the elements of the other operands that an element is multiplied by or added to. */
function say_product(cell, entry, operand) {
  const { layout, all: { A, B, D } } = operand;
  const [row, col] = [layout.row(cell), layout.col(cell)];
  const matrix = layout.matrix(cell);
  const lanes_along = (other, axis, at) => {
    if (!other.layout) return "shared memory";
    const found = new Set();
    for (let i = 0; i < (axis === "row" ? other.layout.cols : other.layout.rows); i++)
      for (const lane of other.layout.lanes_of(axis === "row" ? other.layout.number_of(at, i, matrix) : other.layout.number_of(i, at, matrix))) found.add(lane);
    return `${other.layout.lanes > 32 ? "thread" : "lane"}${found.size === 1 ? "" : "s"} ${spans([...found].sort((a, b) => a - b))}`;
  };
  if (operand.letter === "C" || operand.letter === "D")
    return `${sum_of(entry, row, col)} ${entry.metadata ? `The packed row ${row} of A` : `Row ${row} of A`} is in ${lanes_along(A, "row", row)}, column ${col} of B in ${lanes_along(B, "col", col)}.`;
  const scale = say_scale(entry, operand.letter, row, col);
  if (entry.metadata)
    return operand.letter === "A" ? `In columns ${chunk_of(entry, col)} of row ${row}, ${kept_of(entry.metadata[0])}; this is ${KEPT[entry.metadata[0]]}, and metadata gives its column. It adds to row ${row} of D.${whole_column(entry, row, col)}${scale}`
      : `It adds to column ${col} of D in the rows for which metadata keeps column ${row} of A.${scale}`;
  return operand.letter === "A" ? `It is multiplied by row ${col} of B (${lanes_along(B, "row", col)}) and adds to row ${row} of D (${lanes_along(D, "row", row)}).${scale}`
    : `It is multiplied by column ${row} of A (${lanes_along(A, "col", row)}) and adds to column ${col} of D (${lanes_along(D, "col", col)}).${scale}`;
}

function chunk_of(entry, packed) {
  const [, chunk] = entry.metadata;
  const first = Math.floor(packed / (chunk / 2)) * chunk;
  return upto(first, chunk);
}

/** Locate the column of the whole A that has the number of a packed column. */
function whole_column(entry, row, col) {
  return ` Columns of A are counted in the packed matrix: column ${col} of the whole A, if metadata keeps it, is ${packed_places(entry, row, col)}.`;
}

/** List the packed columns that may hold a column of the whole A. */
function packed_places(entry, row, col) {
  const half = entry.metadata[1] / 2, first = Math.floor(col / entry.metadata[1]) * half;
  return range(half).map((i) => `A[${row}][${first + i}]`).join(half === 2 ? " or " : ", ");
}

/** List the elements in a lane's registers, one register per line. */
function register_lines(operand, lane, registers) {
  const { layout, register } = operand;
  return registers.map((r) => {
    const held = range(layout.packed).map((e) => r * layout.packed + e);
    const first = layout.cell(held[0], lane);
    const text = layout.packed > 4
      ? `<b>${short_name(operand, first)}</b> to <b>${short_name(operand, layout.cell(held.at(-1), lane))}</b> <i>x${upto(held[0], held.length)}</i>`
      : held.map((i) => `<span class="held"><b>${short_name(operand, layout.cell(i, lane))}</b> <i>x${i}</i></span>`).join(" ");
    return `<li${held[0] >= layout.read ? ' class="unread"' : ""}><b class="reg">${register}${r}</b> ${text}</li>`;
  }).join("");
}

const MOST_LINES = 16;

function say_lane({ lane }, entry, operand, of) {
  const { layout } = operand;
  const name = lane_name(layout, lane);
  const what = operand.letter === "R" ? "of the matrices" : `of ${operand.letter}`;
  let head = `${strong(name[0].toUpperCase() + name.slice(1))} holds ${plural(layout.elements, "element")} ${what} in ${plural(layout.registers, "register")}, ${of}.`;
  if (operand.letter === "R") head = `${say_address(lane, entry)} ${head}`;
  if (layout.matrices > 1 && entry.kind === "product") head += ` It works on product ${layout.matrix(layout.cell(0, lane))}.`;
  if (entry.before) {
    const { A, D } = operand.all;
    return { head: `${strong(name[0].toUpperCase() + name.slice(1))} holds 2 elements of A before the move, and 2 others after it, ${of}.`,
      more: `<ul class="registers">${register_lines(A, lane, [0])}${register_lines(D, lane, [0])}</ul>` };
  }
  const shown = range(Math.min(layout.registers, MOST_LINES));
  const rest = layout.registers > MOST_LINES ? `<p>… and ${operand.register}${MOST_LINES} to ${operand.register}${layout.registers - 1}, in the register view.</p>` : "";
  return { head, more: `<ul class="registers">${register_lines(operand, lane, shown)}</ul>${rest}` };
}

function say_address(lane, entry) {
  const matrix = Math.floor(lane / entry.rows);
  if (matrix >= entry.count) return `${strong(`Lane ${lane}`)} does not give the address of a row.${unread_addresses(entry)}`;
  return `${strong(`Lane ${lane}`)} gives the address of ${strong(`row ${lane % entry.rows} of matrix ${matrix}`)}.`;
}

function say_register({ register, lane }, entry, operand, of) {
  const { layout } = operand;
  if (lane !== undefined) {
    const name = lane_name(layout, lane);
    return { head: `Register ${strong(operand.register + register)} of ${strong(name)}, ${of}, holds:`,
      more: `<ul class="registers">${register_lines(operand, lane, [register])}</ul>` };
  }
  const held = range(layout.packed).map((e) => register * layout.packed + e);
  const parts = layout.bits === 1 ? `x[${held[0]}] to x[${held.at(-1)}], a bit each`
    : held.map((i) => `x[${i}] in ${bits_name(operand, i, entry)}`).join(", ");
  return { head: `Register ${strong(operand.register + register)} ${of} holds ${parts}.`, more: formula_lines(operand) };
}

function say_index({ index }, entry, operand, of) {
  const { layout } = operand;
  return { head: `Element ${strong(`x[${index}]`)} of ${operand.letter} ${of} is in register ${strong(operand.register + layout.register(index))}, ${strong(bits_name(operand, index, entry))}, in every lane.`,
    more: formula_lines(operand) };
}

function formula_lines(operand) {
  const lines = formulas_of(operand)?.lines;
  return lines?.row ? `<p>row = <code>${escape_html(lines.row)}</code>, col = <code>${escape_html(lines.col)}</code></p>` : "";
}
