// SPDX-License-Identifier: MIT
// The catalogue: instructions and matrix moves, by chip, and by the names that users type.

const CHIPS = DATA.chips.map(([name, generation, products], bit) => ({ name, generation, products, bit }));
const LAYOUTS = DATA.layouts.map((row, number) => new Layout(row, number));
const LETTERS = ["A", "B", "C", "D"];
const FAMILIES = ["mma.sync", "wmma.mma", "mma.sp", "mma.sp::ordered_metadata", "wgmma", "wgmma.sp",
  "ldmatrix", "stmatrix", "movmatrix", "tcgen05.mma", "tcgen05.mma.sp", "tcgen05.mma.ws", "tcgen05.mma.ws.sp"];

function family_of(name) {
  if (name.startsWith("wgmma.mma_async.sp.")) return "wgmma.sp";
  if (name.startsWith("wgmma.")) return "wgmma";
  return FAMILIES.findLast((x) => name.startsWith(x));
}

/** A mnemonic without its optional parts. */
function short_of(name) {
  const text = name.replaceAll(".sync.aligned", "").replaceAll(".mma_async", "").replaceAll(".row.col", "");
  return name.startsWith("mma.sync.") ? text.slice(4) : text;
}

/** Other names of formats than PTX's. */
const CALLED = DATA.names.formats;

function words_of(entry) {
  const { families, scaled } = DATA.names;
  const words = [entry.name, entry.short, entry.family, entry.shape, families[entry.family] ?? ""];
  words.push(...new Set((entry.formats ?? []).map((x) => CALLED[x] ?? "")));
  if (entry.family === "wmma.mma")
    words.push(entry.formats.includes("b1") ? "bmma bmma_sync" : "", entry.name.includes("row") ? "row_major" : "",
      entry.name.includes("col") ? "col_major" : "");
  const scale = entry.kind === "tensor" ? entry.row.scale : entry.scales?.[0];
  if (scale) words.push(scaled[`${scale} ${entry.type}`]);
  return words.join(" ").toLowerCase();
}

function instruction_entry([name, types, binding, metadata, scales, held]) {
  const family = family_of(name);
  const [, m, n, k] = name.match(/\.m(\d+)n(\d+)k(\d+)/).map(Number);
  const formats = DATA.types[types].split(".");
  const groups = DATA.bindings[binding];
  const stored = name.match(/\.(row|col)\.(row|col)/);
  return {
    kind: "product", name, short: short_of(name), family, m, n, k, shape: `m${m}n${n}k${k}`, formats,
    type: formats[1], chips: groups.reduce((mask, [bits]) => mask | bits, 0), groups,
    stored: stored ? { A: stored[1], B: stored[2] } : {},
    metadata: metadata < 0 ? null : DATA.metadata[metadata], scales: scales < 0 ? null : DATA.scales[scales],
    held: held < 0 ? null : DATA.held[held],
  };
}

function move_entry([name, fragment, rows, sourceBits, known, before]) {
  const chips = known.reduce((mask, [bit]) => mask | (1 << bit), 0);
  const shape = name.match(/\.(m\d+n\d+)/)[1];
  const type = name.split(".").find((x) => /^b\d/.test(x));
  return {
    kind: "move", name, short: short_of(name), family: name.split(".")[0], shape, type, chips, rows, sourceBits, known,
    fragment: new Layout(fragment, -1), before: before ? new Layout(before, -1) : null,
    count: Number(name.match(/\.x(\d)/)?.[1] ?? 1), trans: name.includes(".trans"),
  };
}

const ENTRIES = [...DATA.instructions.map(instruction_entry), ...DATA.moves.map(move_entry), ...listed_tensor_entries()];
for (const entry of ENTRIES) entry.words = words_of(entry);
const BY_NAME = new Map(ENTRIES.flatMap((x) => [[x.name, x], [x.short, x]]));
const CHIP_BY_NAME = new Map(CHIPS.map((x) => [x.name, x]));

/** The words of a chip's name that distinguish it: not the maker or the board, unless there are no others. */
function chip_words(text) {
  const words = text.toLowerCase().split(/[\s_-]+/).filter(Boolean), { maker, board } = DATA.names.chips;
  const kept = words.filter((x) => !new RegExp(`^(?:${maker}|${board})$`).test(x));
  return kept.length ? kept : words;
}

/** A name in the form of the table; a GeForce by its generation. */
function plain_chip(words) {
  const { maker, socket, geforce } = DATA.names.chips, joined = words.join("");
  const whole = joined.replace(new RegExp(`^(?:${maker})+`), "") || joined, plain = whole.replace(new RegExp(socket), "") || whole;
  const found = plain.match(new RegExp(`^(?:${geforce})$`));
  return found ? `rtx${found[1]}xx` : plain;
}

/** The chip of a name: sm_90, h100, 4090, NVIDIA H100 80GB HBM3, Hopper; a generation means its first chip. */
function chip_named(text) {
  const called = DATA.names.chips.called, words = chip_words(text), plain = plain_chip(words), last = words.at(-1);
  const known = (name) => CHIP_BY_NAME.get(Object.hasOwn(called, name) ? called[name] : called[`rtx${name}`]);
  const whole = known(plain), part = words.length > 1 ? known(plain_chip(words.slice(0, -1))) : undefined;
  if (whole || (part && part.generation.toLowerCase().replaceAll(",", "").split(" ").includes(last))) return whole ?? part;
  return CHIPS.find((x) => plain.length > 2 && x.generation.toLowerCase().startsWith(plain));
}

const is_on = (entry, chip) => (entry.chips >> chip.bit) & 1;
const chips_of = (entry) => CHIPS.filter((x) => is_on(entry, x));

/** The parts of a query, all of which must match: "16, 16, 16" is the shape m16n16k16. */
function query_parts(text) {
  return text.toLowerCase()
    .replace(/\b(\d+)\s*[,x×]\s*(\d+)\s*[,x×]\s*(\d+)\b/g, "m$1n$2k$3")
    .split(/[^a-z0-9_.:]+/).map((x) => x.replace(/^[.:]+|[.:]+$/g, "")).filter(Boolean);
}

const has_whole = (entry, part) => entry.words.includes(part) || has_size(entry, part);
const has_pieces = (entry, part) => part.split(/[.:]+/).every((piece) => has_whole(entry, piece));

/** The entry of a name, whole or without optional parts; tcgen05.mma has more sizes than are listed. */
const entry_named = (name) => BY_NAME.get(name) ?? named_tensor_entry(name);

const has_part = (entry, part) => has_whole(entry, part) || has_pieces(entry, part);

/** Words of an entry, whole and in the pieces between dots. */
const vocabulary_of = (entry) => (entry.vocabulary ??= new Set(entry.words.split(/\s+/).flatMap((x) => [x, ...x.split("-"), ...x.split(/[.:]+/)])));

/** Whether a word is one of the entry's, not the beginning or the middle of one; in sizes, m, n and k are optional. */
const names_piece = (entry, piece) => vocabulary_of(entry).has(piece) || has_size(entry, piece)
  || (/^(?:m\d+)?(?:n\d+)?(?:k\d+)?$/.test(piece) && new RegExp(`${piece}(?!\\d)`).test(entry.shape));
const names_part = (entry, part) => names_piece(entry, part) || part.split(/[.:]+/).every((piece) => names_piece(entry, piece));

/** The entries that match a query and the choices: exact names first, then the chip's entries. */
function search(text, chip, { family = "", shape = "", type = "" } = {}, fits = has_part) {
  const parts = query_parts(text), named = named_tensor_entry(text.trim().toLowerCase());
  if (named) return [named];
  const found = ENTRIES.filter((x) => (!family || x.family === family) && (!shape || x.shape === shape)
    && (!type || x.type === type) && parts.every((part) => fits(x, part)));
  const plain = text.trim().toLowerCase();
  const rank = (x) => (x.name === plain || x.short === plain ? 0 : 2 + (is_on(x, chip) ? 0 : 4)
    - (plain && x.short.startsWith(plain) ? 1 : 0) - (parts.every((part) => has_whole(x, part)) ? 0.5 : 0));
  return found.map((x, i) => [rank(x), i, x]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map((x) => sized(x[2], parts));
}

/** The chip to show an entry on: the wanted one, or else the best-measured one, or the newest. */
function chip_for(entry, wanted) {
  const known = CHIP_BY_NAME.get(DATA.default.chip);
  return [wanted, known].find((x) => is_on(entry, x)) ?? chips_of(entry).at(entry.kind === "tensor" ? 0 : -1);
}

/** The nearest entry on a chip that does not support one: a different shape, then types, then family. */
function nearest(entry, chip) {
  const there = ENTRIES.filter((x) => is_on(x, chip) && x.kind === entry.kind);
  const alike = (x) => 8 * (x.family === entry.family) + 4 * (x.type === entry.type) + 2 * (x.shape === entry.shape)
    + (String(x.formats) === String(entry.formats));
  const best = Math.max(...there.map(alike));
  return there.find((x) => alike(x) === best) ?? ENTRIES.find((x) => is_on(x, chip));
}

/** The operands of an entry on a chip, by letter, each with its layout; `absent` gives the reason if an operand has none. */
function operands_of(entry, chip) {
  const operands = entry.kind === "tensor" ? tensor_operands(entry) : entry.kind === "move" ? move_operands(entry) : product_operands(entry, chip);
  for (const operand of Object.values(operands)) operand.all = operands;
  return operands;
}

function product_operands(entry, chip) {
  const bits = entry.groups.find(([mask]) => (mask >> chip.bit) & 1);
  const [d, a, b, c] = entry.formats;
  const formats = { A: a, B: b, C: c, D: d };
  const operands = {};
  LETTERS.forEach((letter, i) => {
    const number = bits[1 + i];
    const [width, shift] = (i < 2 && entry.held?.slice(2 * i, 2 * i + 2)) || [];
    operands[letter] = {
      letter, register: letter.toLowerCase(), format: formats[letter], layout: number < 0 ? null : LAYOUTS[number],
      width, shift, stored: entry.stored[letter], source: DATA.sources[bits[5]],
      role: { A: entry.metadata ? "m × k/2, packed" : "m × k", B: "k × n" }[letter] ?? "m × n",
      rows: letter === "B" ? entry.k : entry.m, cols: letter === "A" ? entry.k / (entry.metadata ? 2 : 1) : entry.n,
    };
  });
  return operands;
}

function move_operands(entry) {
  const make = (letter, register, layout, role) => ({
    letter, register, layout, role, format: entry.type, rows: layout.rows, cols: layout.cols, source: null,
  });
  if (entry.before)
    return { A: make("A", "a", entry.before, "before"), D: { ...make("D", "d", entry.fragment, "after"), matrix: "A" } };
  return { R: make("R", "r", entry.fragment, "rows of memory") };
}

/** The source of a layout: text and status. */
function source_of(entry, chip, operand) {
  return entry.kind === "tensor" ? tensor_source(entry, operand) : entry.kind === "move" ? entry.known.find(([bit]) => bit === chip.bit).slice(1) : operand.source;
}
