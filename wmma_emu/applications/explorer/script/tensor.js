// SPDX-License-Identifier: MIT
// tcgen05.mma: its instructions, and the addresses of their operands in tensor memory.

const PATHS = DATA.paths.map(([letter, rows, group, parts, half]) => ({ letter, rows, group, parts, half }));
const TENSOR = DATA.tensor.map(([prefix, m, k, ns, d, held, scale, vector, sparsity, chips, path, sources]) =>
  ({ prefix, m, k, ns, d, held, scale, vector, sparsity, chips, path: PATHS[path], sources }));
const TENSOR_NAME = /^(tcgen05\.mma[\w.:]*?)\.m(\d+)n(\d+)(?:k(\d+))?\.(\w+)\.(\w+)\.(\w+)(?:\.(ue\w+))?$/;

/** The entry of a row at a size, with formats of A and B. */
function tensor_entry(row, n, a, b) {
  const name = `${row.prefix}.m${row.m}n${n}k${row.k}.${row.d}.${a}.${b}${row.scale && `.${row.scale}`}`;
  return { kind: "tensor", name, short: name, family: row.prefix.split(".cta_group")[0], m: row.m, n, k: row.k, shape: `m${row.m}n${n}k${row.k}`,
    formats: [row.d, a, b, row.d], type: a, chips: row.chips, row, path: row.path, stored: {}, metadata: null, scales: null };
}

/** The listed instruction of each row: with the largest n, and one format for A and B. */
function listed_tensor_entries() {
  const usual = (row) => Number(row.m !== 128);
  return [...TENSOR].sort((a, b) => usual(a) - usual(b)).flatMap((row) => row.held.map(([format]) => tensor_entry(row, row.ns.at(-1), format, format)));
}

const MADE = new Map();

/** The entry of a whole name, of any legal n and formats; parts with only one legal value are optional in the name. */
function named_tensor_entry(name) {
  const found = name?.match(TENSOR_NAME);
  if (!found) return undefined;
  const plain = (x) => x.replace(".cta_group::1", "").replace(".block_scale", "").replace(/\.scale_vec::[12]x(?!.*nvf4)/i, "").toLowerCase();
  const [, prefix, m, n, k, d, a, b, scale] = found;
  const row = TENSOR.find((x) => plain(x.prefix) === plain(prefix) && x.m === Number(m) && x.ns.includes(Number(n)) && (k === undefined || x.k === Number(k))
    && x.d === d && [a, b].every((format) => x.held.some((y) => y[0] === format)) && (scale === undefined || x.scale === scale));
  if (!row) return undefined;
  const made = tensor_entry(row, Number(n), a, b), listed = BY_NAME.get(made.name);
  if (listed) return listed;
  if (!MADE.has(made.name)) MADE.set(made.name, made);
  return MADE.get(made.name);
}

/** The sizes that a word names: { m, n, k }, with optional m and k. */
function sizes_in(word) {
  const found = word.match(/^(?:m(\d+))?n(\d+)(?:k(\d+))?$/);
  return found && { m: found[1] && Number(found[1]), n: Number(found[2]), k: found[3] && Number(found[3]) };
}

/** Whether an entry of tcgen05.mma can have a size, though it is listed at another. */
function has_size(entry, word) {
  const size = entry.kind === "tensor" ? sizes_in(word) : null;
  return Boolean(size) && [undefined, entry.m].includes(size.m) && entry.row.ns.includes(size.n) && [undefined, entry.k].includes(size.k);
}

/** An entry at the size that words name. */
function sized(entry, words) {
  const size = entry.kind === "tensor" ? words.flatMap((x) => x.split(/[.:]+/)).map(sizes_in).find(Boolean) : null;
  return size && size.n !== entry.n ? named_tensor_entry(tensor_entry(entry.row, size.n, entry.formats[1], entry.formats[2]).name) ?? entry : entry;
}

function tensor_operands(entry) {
  const { m, n, k, row } = entry, [d, a, b] = entry.formats, packed = row.sparsity ? 2 : 1;
  const make = (letter, format, rows, cols, role) => ({ letter, format, rows, cols, role, layout: null, register: letter.toLowerCase() });
  const found = { D: make("D", d, m, n, "m × n"), A: make("A", a, m, k / packed, packed > 1 ? "m × k/2, packed" : "m × k"), B: make("B", b, k, n, "k × n") };
  if (row.sources[1] >= 0) Object.assign(found, { SA: make("SA", row.scale, m, row.vector, "m × scales"), SB: make("SB", row.scale, row.vector, n, "scales × n") });
  return found;
}

const tensor_name = (letter) => ({ SA: "scale_A", SB: "scale_B" })[letter] ?? letter;

function tensor_source(entry, operand) {
  const number = { A: entry.row.held.find((x) => x[0] === entry.formats[1])[3], SA: entry.row.sources[1], SB: entry.row.sources[2] }[operand.letter];
  return DATA.sources[number ?? entry.row.sources[0]];
}

/** All addresses of an element: { cta, lane, column, bit, bits }; null if it is in shared memory. */
function tensor_places(entry, letter, row, col) {
  const { path, row: held } = entry, own = row % path.rows, cta = Math.floor(row / path.rows);
  const lane_of = (r, part) => (path.half ? 32 * Math.floor(r / 16) + (r % 16) : r + path.rows * part);
  const at = (of, lane, position, bits) => ({ cta: of, lane, column: Math.floor(position / 32), bit: position % 32, bits });
  const width = entry.n / path.parts;
  if (letter === "D") return [at(cta, lane_of(own, Math.floor(col / width)), 32 * (col % width), DATA.bits[entry.formats[0]] ?? 32)];
  if (letter === "A") {
    const [, bits, shift] = held.held.find((x) => x[0] === entry.formats[1]), own_bits = DATA.bits[entry.formats[1]] ?? bits;
    const lanes = [...new Set(range(path.parts).map((part) => lane_of(own, part)))];
    return lanes.map((lane) => at(cta, lane, col * bits + shift, own_bits));
  }
  const scale = (of, line, block, lanes) => lanes.map((lane) => at(of, lane + (line % 32), 8 * (4 * Math.floor(line / 32) + block), 8));
  if (letter === "SA") return scale(cta, own, col, range(4).map((x) => 32 * x));
  if (letter === "SB") {
    const copies = 4 / path.parts, part = Math.floor(col / width);
    return range(path.group).flatMap((of) => scale(of, col % width, row, range(copies).map((x) => 32 * (copies * part + x))));
  }
  return null;
}

/** The elements of an operand in one word of tensor memory, or in all: [row, col] of each. */
function tensor_elements(entry, letter, cta, lane, column) {
  const { rows, cols } = tensor_operands(entry)[letter], found = [];
  for (let row = 0; row < rows; row++)
    for (let col = 0; col < cols; col++)
      if (tensor_places(entry, letter, row, col).some((x) => x.cta === cta && x.lane === lane && x.column === column)) found.push([row, col]);
  return found;
}

/** Columns of tensor memory that an operand takes. */
function tensor_columns(entry, letter) {
  const { rows, cols } = tensor_operands(entry)[letter], width = entry.n / entry.path.parts;
  const last = { D: [rows - 1, width - 1], SB: [rows - 1, width - 1] }[letter] ?? [Math.min(rows, entry.path.rows) - 1, cols - 1];
  return 1 + Math.max(...tensor_places(entry, letter, ...last).map((x) => x.column));
}

// --- the loading threads --------------------------------------------------------------------------------

const TENSOR_LOADS = Object.fromEntries(DATA.tensor_loads.map(([name, coded, source, status]) => [name, { name, layout: new Layout(coded, -1), source, status }]));

/** The thread of four warps, and its register, that receives a word by a load of a shape. */
function tensor_thread({ lane, column }, { layout }) {
  const warp = lane >> 5, half = layout.rows === 16 ? (lane >> 4) & 1 : 0, first = column - (column % layout.cols);
  const [[register, thread]] = layout.holders[layout.number_of(lane % layout.rows, column % layout.cols)];
  return { warp, thread, register, address: [32 * warp + 16 * half, first] };
}

/** The word of tensor memory that a thread of four warps receives in a register, by a load of a shape at column 0. */
function tensor_word(thread, register, half, { layout }) {
  const cell = layout.cell(register, thread % 32);
  return { lane: 32 * (thread >> 5) + 16 * half + layout.row(cell), column: layout.col(cell) };
}

// --- questions and answers -----------------------------------------------------------------------

const TENSOR_FORM = "Ask for an element, D[20][40], A[3][5], scale_A[40][1]; for a word of tensor memory, lane 84 column 8, on the second of two CTAs cta 1 lane 84 column 8; or for a thread's register, T84 r8.";

/** Parse a question about tensor memory: a position for `tensor_answer`. */
function read_tensor_spot(text, entry, letter) {
  const operands = tensor_operands(entry);
  const within = (what, value, count) => {
    if (value >= count) throw new Misread(`There is no ${what} ${cut(String(value))} here; legal ${count > 1 ? `values are 0 to ${count - 1}` : "is only 0"}.`);
    return Number(value);
  };
  let found = text.match(/^(?:cta\s*[:=]?\s*(\d+)\s*,?\s*)?(?:lane|row of tensor memory)\s*[:=]?\s*(\d+)\s*,?\s*(?:and\s+)?col(?:umn)?\s*[:=]?\s*(\d+)$/i);
  if (found) {
    const shown = Object.hasOwn(operands, letter) && letter !== "B" ? letter : "D";
    const [cta, lane, column] = [within("CTA", integer(found[1] ?? "0"), entry.path.group), within("lane of tensor memory", integer(found[2]), 128), within("column of tensor memory", integer(found[3]), 512)];
    return { kind: "word", letter: shown, cta, lane, column, text: `${entry.path.group > 1 ? `cta ${cta} ` : ""}lane ${lane} column ${column}` };
  }
  found = text.match(/^(?:(?:thread|tid|t)\s*[:=]?\s*(\d+)|warp\s*[:=]?\s*(\d+)\s*,?\s*(?:lane|t)\s*[:=]?\s*(\d+))\s*,?\s*(?:register|reg|r|d)\s*[:=]?\s*(\d+)$/i);
  if (found) {
    const thread = found[1] !== undefined ? within("thread of four warps", integer(found[1]), 128) : 32 * within("warp of four", integer(found[2]), 4) + within("lane of a warp", integer(found[3]), 32);
    const register = within("register", integer(found[4]), 128);
    return { kind: "thread", letter: "D", thread, register, text: `T${thread} r${register}` };
  }
  const place = read_place(text.replace(/^scales?[_ ]?(?:of\s+)?([ab])/i, "s$1").replace(/^s([ab])/i, "$1"));
  if (!place || place.matrix !== undefined) throw new Misread(`“${cut(text)}” does not name a position in tensor memory. ${TENSOR_FORM}`);
  const of_scales = /^s(?:cales?[_ ]?(?:of\s+)?)?[ab]/i.test(text);
  const named = place.letter ? (of_scales ? `S${place.letter.toUpperCase()}` : place.letter.toUpperCase()) : Object.hasOwn(operands, letter) ? letter : "D";
  const which = named === "C" ? "D" : named;
  if (!operands[which]) throw new Misread(`${entry.short} has no ${tensor_name(which)}${of_scales && entry.row.scale ? " whose address is known: for k = 96 it appears only in figures of the manual" : ""}; it has ${Object.keys(operands).map(tensor_name).join(", ")}.`);
  if (which === "B") throw new Misread(`B of tcgen05.mma is always in shared memory, read through a descriptor; D${operands.SA ? ", A and the scales are" : " and A are"} in tensor memory.`);
  const { rows, cols } = operands[which];
  const whose = (what, value, count) => {
    if (value >= count) throw new Misread(`${tensor_name(which)} of ${entry.shape} has ${plural(count, what)}: there is no ${what} ${cut(String(value))}; legal ${count > 1 ? `values are 0 to ${count - 1}` : "is only 0"}.`);
    return Number(value);
  };
  const [row, col] = [whose("row", place.row, rows), whose("column", place.col, cols)];
  return { kind: "element", letter: which, row, col, text: `${tensor_name(which)}[${row}][${col}]` };
}

const tensor_place_name = (entry, { cta, lane, column }) => `${entry.path.group > 1 ? `${strong(`CTA ${cta}`)}, ` : ""}${strong(`lane ${lane}`)}, ${strong(`column ${column}`)}`;

/** Name the thread that loads a word, in the chosen shape. */
function say_tensor_thread(place, load) {
  const { warp, thread, register, address } = tensor_thread(place, load);
  return `<p><code>tcgen05.ld.${load.name}</code> of warp ${warp}, at lane ${address[0]}, column ${address[1]}, loads it into ${strong(`lane ${thread}`)} of the warp (thread ${32 * warp + thread} of four warps), register ${strong(`r${register}`)}.</p>`;
}

function tensor_answer(spot, entry, chip, shape) {
  const load = TENSOR_LOADS[shape] ?? TENSOR_LOADS["32x32b"];
  const of = `<span class="of">of <code>${escape_html(entry.short)}</code> on ${chip.name}</span>`;
  if (spot.kind === "thread") {
    const places = (load.layout.rows === 16 ? [0, 1] : [0]).map((half) => tensor_word(spot.thread, spot.register, half, load));
    const lines = places.map((place) => {
      const [held] = place.column < tensor_columns(entry, "D") ? tensor_elements(entry, "D", 0, place.lane, place.column) : [];
      return `<p>From lane ${32 * (place.lane >> 5) + (load.layout.rows === 16 ? 16 * ((place.lane >> 4) & 1) : 0)}, column 0: lane ${place.lane}, column ${place.column} of tensor memory, ${held ? `which holds ${strong(`D[${held[0]}][${held[1]}]`)}` : "which does not hold an element of D"}.</p>`;
    });
    return { head: `${strong(`Thread ${spot.thread}`)} (warp ${spot.thread >> 5}, lane ${spot.thread % 32}) receives in register ${strong(`r${spot.register}`)} by <code>tcgen05.ld.${load.name}</code>, ${of}:`, more: lines.join(""), places: places.map((x) => ({ ...x, cta: 0 })) };
  }
  if (spot.kind === "word") {
    const found = tensor_elements(entry, spot.letter, spot.cta, spot.lane, spot.column), name = tensor_name(spot.letter);
    const place = { cta: spot.cta, lane: spot.lane, column: spot.column };
    const listed = found.slice(0, 8).map(([row, col]) => strong(`${name}[${row}][${col}]`)).join(", ");
    return { head: `${tensor_place_name(entry, place)} of tensor memory, counted from the first column of ${name}, holds ${found.length ? listed : `no element of ${name}`} ${of}.`,
      more: /^S/.test(spot.letter) ? "" : say_tensor_thread(place, load), places: [place], elements: found };
  }
  const places = tensor_places(entry, spot.letter, spot.row, spot.col), [first] = places, { bit, bits } = first;
  const copies = places.length > 1 ? `<p>${plural(places.length, "copy", "copies")}: ${entry.path.group > 1 ? places.map((x) => `CTA ${x.cta} lane ${x.lane}`).join(", ") : `lanes ${places.map((x) => x.lane).join(", ")}`}, in the same column.</p>` : "";
  return { head: `${strong(spot.text)} ${of} is in ${tensor_place_name(entry, first)} of tensor memory, ${strong(`bits ${upto(bit, bits)}`)}.`,
    more: `<p>Columns are counted from the first column of ${tensor_name(spot.letter)}.</p>${copies}${/^S/.test(spot.letter) ? "" : say_tensor_thread(first, load)}`, places, elements: [[spot.row, spot.col]] };
}

// --- pictures ------------------------------------------------------------------------------------

/** Contiguous blocks of an operand: rows and columns, and their addresses in tensor memory. */
function tensor_blocks(entry, letter) {
  const { rows, cols } = tensor_operands(entry)[letter], { path } = entry, blocks = [];
  const width = entry.n / path.parts, tall = path.half ? 16 : 32;
  const add = (row, high, col, wide) => {
    const [far] = tensor_places(entry, letter, row, col + wide - 1).slice(-1), down = tensor_places(entry, letter, row + high - 1, col);
    const places = tensor_places(entry, letter, row, col).map((x, i) => ({ cta: x.cta, lane: x.lane, lanes: (letter === "SB" ? Math.abs(tensor_places(entry, letter, row, col + wide - 1)[i].lane - x.lane) : down[i].lane - x.lane) + 1,
      column: x.column, columns: (letter === "SB" ? down[i].column : far.column) - x.column + 1 }));
    blocks.push({ row, high, col, wide, places });
  };
  if (letter === "SB") for (let col = 0; col < cols; col += Math.min(32, width - (col % width))) add(0, rows, col, Math.min(32, width - (col % width)));
  else for (let row = 0; row < rows; row += letter === "SA" ? 32 : tall)
    for (let col = 0; col < cols; col += letter === "D" ? width : cols) add(row, letter === "SA" ? 32 : tall, col, letter === "D" ? width : cols);
  return blocks;
}

/** Colours distinguish the warps that read the lanes; for scales, the columns. */
const block_colour = (block, letter) => lane_colour((8 * (/^S/.test(letter) ? block.places[0].column : block.places[0].lane >> 5) + 2) % 32);

/** Draw an operand's blocks, tensor memory with the same blocks, and the requested element in both. */
function tensor_figure(entry, letter, found = null) {
  const { rows, cols } = tensor_operands(entry)[letter], blocks = tensor_blocks(entry, letter), columns = tensor_columns(entry, letter);
  const name = tensor_name(letter), out = [];
  const across = Math.min(/^S/.test(letter) ? 44 : 6, Math.max(1.1, 300 / cols)), down = Math.min(12, Math.max(1.5, 280 / rows)), [left, top] = [44, 44];
  const wide = Math.max(cols * across, 90), held = Math.min(/^S/.test(letter) ? 60 : 12, Math.max(1.1, 300 / columns)), high = 2.4;
  const of_memory = left + wide + 74;
  out.push(svg_text(left, 16, `${name}: ${rows} × ${cols}`, "heading start"));
  const label = (x, y, width, height, lines) => lines.map((text, i) => (6.3 * text.length < width && height > 13 * lines.length ? svg_text(x + width / 2, y + height / 2 + 4 + 13 * (i - (lines.length - 1) / 2), text, "inside") : "")).join("");
  const box = (x, y, width, height, block, nth, kind, lines) => {
    out.push(`<g class="tensor-block" data-block="${nth}" data-kind="${kind}"><rect x="${x}" y="${y}" width="${width}" height="${height}" fill="${block_colour(block, letter)}" stroke="${INK}" stroke-width="0.8"/>${label(x, y, width, height, lines)}</g>`);
  };
  blocks.forEach((block, nth) => {
    const [{ cta, lane, lanes, column, columns: taken }] = block.places;
    const cta_name = entry.path.group > 1 ? `CTA ${cta}, ` : "";
    box(left + block.col * across, top + block.row * down, block.wide * across, block.high * down, block, nth, "matrix",
      [`${cta_name}lanes ${upto(lane, lanes)}`, `column${taken > 1 ? "s" : ""} ${upto(column, taken)}`]);
    if (!block.col) out.push(svg_text(left - 6, top + block.row * down + 10, String(block.row), "ruler end"));
    if (!block.row) out.push(svg_text(left + block.col * across + 4, top - 6, String(block.col), "ruler start"));
  });
  for (let cta = 0; cta < entry.path.group; cta++) {
    const y = top + cta * (128 * high + 46);
    out.push(svg_text(of_memory, y - 28, `Tensor memory${entry.path.group > 1 ? ` of CTA ${cta}` : ""}: 128 lanes`, "heading start"));
    out.push(svg_rect(of_memory, y, Math.max(columns, 1) * held, 128 * high, "cells", ' fill="none" stroke="#8c959f"'));
    for (let lane = 0; lane < 128; lane += 32) out.push(svg_text(of_memory - 6, y + lane * high + 10, String(lane), "ruler end"));
    out.push(svg_text(of_memory + 4, y - 8, `columns 0 to ${columns - 1}`, "ruler start"));
    blocks.forEach((block, nth) => block.places.filter((x) => x.cta === cta).forEach((x) => box(of_memory + x.column * held, y + x.lane * high, x.columns * held, x.lanes * high, block, nth, `memory-${cta}`,
      letter === "SB" ? [`columns ${upto(block.col, block.wide)}`] : [`rows ${upto(block.row, block.high)}`, ...(letter === "D" && entry.path.parts > 1 ? [`columns ${upto(block.col, block.wide)}`] : [])])));
  }
  const mark = (x, y, width, height, kind) => out.push(`<rect x="${(x - 3).toFixed(1)}" y="${(y - 3).toFixed(1)}" width="${(width + 6).toFixed(1)}" height="${(height + 6).toFixed(1)}" class="spot" data-kind="${kind}" fill="none" stroke="#0a58b8" stroke-width="3"/>`);
  for (const [row, col] of found?.elements ?? []) mark(left + col * across, top + row * down, across, down, "matrix");
  for (const { cta, lane, column } of found?.places ?? []) if (column < columns) mark(of_memory + column * held, top + cta * (128 * high + 46) + lane * high, held, high, "memory");
  const size = [of_memory + Math.max(columns * held, 190) + 10, Math.max(top + rows * down, top + entry.path.group * (128 * high + 46) - 36) + 10].map(Math.ceil);
  return `<svg xmlns="http://www.w3.org/2000/svg" class="figure tensor" width="${size[0]}" height="${size[1]}" viewBox="0 0 ${size.join(" ")}" role="img" aria-label="The addresses of ${name} of ${escape_html(entry.short)} in tensor memory">${out.join("")}</svg>`;
}

/** The rule of an operand, in lines. */
function tensor_rules(entry, letter) {
  const { path, row: held } = entry, own = path.group > 1 ? `row % ${path.rows}` : "row", width = entry.n / path.parts;
  const lane = (part) => (path.half ? `${own} / 16 * 32 + ${own} % 16`.replaceAll("row % 64", "(row % 64)") : part ? `${own} + ${path.rows} * (${part})` : own);
  const rules = path.group > 1 && letter !== "SB" ? [["CTA", `row / ${path.rows}`]] : [];
  if (letter === "D") return [...rules, ["lane", lane(path.parts > 1 && !path.half ? `col / ${width}` : "")], ["column", path.parts > 1 ? `col % ${width}` : "col"], ["bits", upto(0, DATA.bits[entry.formats[0]] ?? 32)]];
  if (letter === "A") {
    const [, bits, shift] = held.held.find((x) => x[0] === entry.formats[1]);
    return [...rules, ["lane", `${lane("")}${path.parts > 1 ? `, and again ${range(path.parts).slice(1).map((x) => `${x * path.rows}`).join(", ")} lanes further` : ""}`],
      ["column", bits < 32 ? `k / ${32 / bits}` : "k"], ["bits", bits < 32 ? `from k % ${32 / bits} * ${bits}${shift ? ` + ${shift}` : ""}, ${plural(DATA.bits[entry.formats[1]] ?? bits, "bit")}` : "0–31"]];
  }
  const line = letter === "SA" ? own : path.parts > 1 ? `(col % ${width})` : "col";
  return [...rules, ["lane", `${line} % 32, copies ${letter === "SB" && path.parts > 1 ? "in both quarters of the part that has the column" : "in all four quarters of 32"}`], ["column", `${line} / 32`], ["byte", `scale factor ID + number of the scale along k`]];
}

function tensor_panel(into, entry, chip, letter, shape, spot, turn, choose, ask_spot) {
  const operands = tensor_operands(entry), found = spot ? tensor_answer(spot, entry, chip, shape) : null;
  const shown = letter === "B" || !Object.hasOwn(operands, letter) ? "D" : letter;
  const bar = (title, name, values, chosen, text, act) => {
    const made = make("div", { class: "bar", role: "group", "aria-label": title }, `<span>${title}</span>`);
    for (const x of values) {
      const button = make("button", { type: "button", "aria-pressed": String(x === chosen), [`data-${name}`]: x }, text(x));
      button.addEventListener("click", () => { act(x); into.querySelector(`[data-${name}="${x}"]`)?.focus(); });
      made.append(button);
    }
    return made;
  };
  const sizes = make("div", { class: "bar" }), select = make("select", { id: "tensor-n" });
  for (const n of entry.row.ns) select.append(new Option(`n = ${n}`, n));
  select.value = String(entry.n);
  select.addEventListener("change", () => { choose(named_tensor_entry(tensor_entry(entry.row, Number(select.value), entry.formats[1], entry.formats[2]).name)); at("tensor-n")?.focus(); });
  sizes.append(make("label", { for: "tensor-n" }, "<span>Columns of D</span>"), select);
  const [source, status] = tensor_source(entry, operands[shown]);
  const figure = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Picture of tensor memory" }, tensor_figure(entry, shown, found?.elements?.length && spot.letter !== shown ? null : found));
  figure.querySelector("svg").addEventListener("click", (event) => {
    const node = event.target.closest(".tensor-block");
    if (!node) return;
    const block = tensor_blocks(entry, shown)[Number(node.dataset.block)], box = node.querySelector("rect").getBoundingClientRect();
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((v) => Math.min(0.999, Math.max(0, v)));
    if (node.dataset.kind === "matrix") return ask_spot(`${tensor_name(shown)}[${block.row + Math.floor(y * block.high)}][${block.col + Math.floor(x * block.wide)}]`);
    const cta = Number(node.dataset.kind.split("-")[1]), place = block.places.find((p) => p.cta === cta);
    ask_spot(`${entry.path.group > 1 ? `cta ${cta} ` : ""}lane ${place.lane + Math.floor(y * place.lanes)} column ${place.column + Math.floor(x * place.columns)}`);
  });
  const rules = tensor_rules(entry, shown).map(([name, text]) => `<div><dt>${name}</dt><dd><code>${escape_html(text)}</code></dd></div>`).join("");
  const load = TENSOR_LOADS[shape] ?? TENSOR_LOADS["32x32b"];
  into.replaceChildren(make("h2", {}, "Tensor memory"), make("p", { class: "quiet" },
    `D, and C, which it replaces, are in tensor memory: 128 lanes of 512 columns of 32 bits. A may be in tensor memory too, or in shared memory like B. ${entry.row.scale ? "The block scales are in tensor memory. " : ""}${entry.path.group > 1 ? "Two CTAs work together, each with half of the rows of D. " : ""}Warp w of a warpgroup reads lanes 32w to 32w + 31. Data path ${entry.path.letter}.`),
    bar("Operand", "tensor-operand", Object.keys(operands).filter((x) => x !== "B"), shown, tensor_name, (x) => turn("letter", x)),
    sizes, bar("Loaded by tcgen05.ld", "tensor-load", Object.keys(TENSOR_LOADS), load.name, (x) => `.${x}`, (x) => turn("load", x)));
  const beside = make("div", { class: "beside" });
  const said = make("div", { class: "rules" });
  said.append(make("h3", {}, `The addresses of ${tensor_name(shown)}`), make("dl", { class: "formulas" }, rules), make("p", { class: "quiet" }, `Known from: <span class="status ${status}">${status}</span> ${escape_html(source)}. The load: <span class="status ${load.status}">${load.status}</span> ${escape_html(load.source)}.`));
  beside.append(figure, said);
  into.append(beside);
}
