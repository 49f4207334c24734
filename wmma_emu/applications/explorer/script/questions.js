// SPDX-License-Identifier: MIT
// Questions: the text in the Find box is parsed into a mark.
//
// A mark selects what is highlighted: { letter, kind, ... } with kind "element" (cell, index, lane), "lane" (lane), "register"
// (register, lane or none) or "index" (index).

class Misread extends Error {}

/** A typed integer; one beyond JavaScript's exact integers stays exact. */
const integer = (digits) => (Number.isSafeInteger(Number(digits)) ? Number(digits) : BigInt(digits));

const NUMBERS = String.raw`\s*(\d+)\s*`;
const PLACES = [
  new RegExp(String.raw`^([abcdmr])?\s*\[${NUMBERS}\]\s*\[${NUMBERS}\](?:\s*\[${NUMBERS}\])?$`, "i"),
  new RegExp(String.raw`^([abcdmr])?\s*[(\[]${NUMBERS}[, ]${NUMBERS}(?:[, ]${NUMBERS})?[)\]]$`, "i"),
];
const MATRIX_PLACE = new RegExp(String.raw`^m(\d+)\s*(?:\[${NUMBERS}\]\s*\[${NUMBERS}\]|[(\[]${NUMBERS}[, ]${NUMBERS}[)\]])$`, "i");
const ROW_COL = /^(?:([abcdmr])\s*[:,]?\s*)?row\s*=?\s*(\d+)\s*,?\s*(?:and\s*)?col(?:umn)?\s*=?\s*(\d+)(?:\s*,?\s*(?:matrix|product)\s*=?\s*(\d+))?(?:\s*,?\s*([abcdmr]))?$/i;
const WORDS = [
  ["tid", /\btid\s*[:=]?\s*(\d+)/i],
  ["warp", /\bwarp\s*[:=]?\s*(\d+)/i],
  ["lane", /(?:\b(?:lane|thread)\s*[:=]?\s*|\b[tl]\s?)(\d+)\b/i],
  ["register", /\b(?:register|reg)\s*[:=]?\s*([abcdr])?(\d+)\b/i],
  ["index", /\b(?:x|element|index|i)\s*[:=]?\s*\[?\s*(\d+)\s*\]?/i],
  ["bit", /\bbits?\s*[:=]?\s*(\d+)(?:\s*[-–]\s*\d+)?/i],
  ["named", /\b([abcdr])(\d+)\b/i],
  ["letter", /\b(?:operand\s+)?([abcdr])\b/i],
];

const FORM = "Ask for a position, and add the instruction and the chip if others are meant: "
  + "T5, a1, x3, (9, 3), C[1][12] of wmma m16n16k16 on sm_70.";

const NUMBERED = /^(?:cta|tid|lanes?|threads?|warp|register|reg|row|col|column|matrix|product|element|index|bits?)$/i;
const PLACE_WORD = /^(?:(?:cta|tid|lane|thread|warp|register|reg|row|col|column|matrix|product|element|index|bits?|[xtli])[:=]?\[?\d+\]?|[abcdr]\d*:?|m?\d*[(\[].*[)\]]|s?[abcdr][(\[].*[)\]])$/i;

/** Split a question into its position and the rest, which names an instruction: "C[1][12] of wmma m16n16k16". */
function parted(text) {
  const tokens = without_english(text.trim().replace(/[?!.;,]+$/, ""))
    .replace(/\b([abcdmr])\s+(?=[(\[])/gi, "$1").replace(/\]\s+\[/g, "][").replace(/\b(ldmatrix|stmatrix)\s+(x[124])\b/gi, "$1.$2")
    .replace(/(k(?:128|256))\s+b1\b/gi, "$1.b1").replace(/\s*([:=])\s*(?=\d)/g, "$1")
    .replace(/[(\[]\s*\d+(?:\s*[, ]\s*\d+)*\s*[)\]]/g, (x) => x.trim().replace(/\s*[, ]\s*/g, (y) => (/\d/.test(y) ? y : ",")).replace(/([(\[]),|,([)\]])/g, "$1$2"))
    .split(/\s+/).filter(Boolean);
  const plain = (x) => x?.replace(/[,;.]+$/, "") ?? "";
  const of_place = (i) => PLACE_WORD.test(plain(tokens[i])) || (NUMBERED.test(plain(tokens[i])) && /^\d+\b/.test(tokens[i + 1] ?? ""))
    || (/^\d+(?:[-–]\d+)?$/.test(plain(tokens[i])) && NUMBERED.test(plain(tokens[i - 1])));
  const along = (i, step) => {
    let end = i;
    for (let j = i; j >= 0 && j < tokens.length && of_place(j); j += step) end = j + step;
    return end;
  };
  const first = along(0, 1), last = first ? tokens.length - 1 : along(tokens.length - 1, -1);
  const [place, rest] = first ? [tokens.slice(0, first), tokens.slice(first)] : [tokens.slice(last + 1), tokens.slice(0, last + 1)];
  return { place: place.join(" "), rest: rest.join(" ") };
}

const asks_for_place = (text) => !CUTE_TEXT.test(text) && !LOOKS.atom.test(text.trim()) && !LOOKS.machine.test(text) && !LOOKS.fragment.test(text) && /[[(]|^(?:[tl]\d|lane|thread|warp|row|reg)/i.test(parted(text).place);

/** The chip that a question ends on: "... on sm_70", "... on h100". */
function parted_chip(text) {
  const found = text.match(/^(.*?)\s*\bon\s+(?!(?:lane|thread|warp|register|row|col|[tx]\d))(?:an?\s+|the\s+)?([^\[\]()]+?)[?.\s]*$/i);
  if (!found) return { question: text, chip: null };
  const chip = chip_named(found[2]);
  if (!chip) throw new Misread(`No chip is called “${cut(found[2])}”, in “${cut(text)}”. Chips are ${CHIPS.map((x) => x.name).join(", ")}, or ${CHIPS.map((x) => x.products[0]).join(", ")}.`);
  return { question: found[1], chip };
}

/** Read a question.
 *
 * context: { entry, chip, letter }. Returns { entry, chip, letter, mark, place, note }; throws Misread with the legal values. */
function read_question(text, context) {
  const whole = text.trim().replace(/\s+/g, " ");
  if (CUTE_TEXT.test(whole)) return find_cute(whole, context);
  const { question, chip: on } = parted_chip(whole);
  const { place, rest } = parted(without_registers(question));
  let wanted = on ?? context.chip, { entry, letter } = context, note = "";
  if (rest) {
    const named = instruction_of(rest, place, wanted, whole);
    [entry, note] = named;
    letter = named[2] ?? letter;
    if (!on && named[3]) wanted = named[3];
  }
  if (!place && !rest && !on) throw new Misread(`“${cut(whole)}” does not name a position. ${FORM}`);
  if (on && !is_on(entry, on))
    throw new Misread(`${on.name} does not support ${entry.short}; the chips that do are ${chips_of(entry).map((x) => x.name).join(", ")}.`);
  if (entry.kind === "tensor" && entry !== context.entry) letter = "D";
  const chip = chip_for(entry, wanted);
  if (!place) return { entry, chip, letter, mark: null, place, note };
  const spot = read_spot(place, entry, letter, context.tab, rest);
  if (spot) return { entry, chip, letter: spot.letter ?? letter, mark: null, spot: spot.text, place, note };
  const found = read_mark(place, entry, letter, operands_of(entry, chip), !rest);
  return { entry, chip, ...found, place, note: [note, found.note].filter(Boolean).join(" ") };
}

/** A line of disassembly without its registers. */
const without_registers = (text) => text.replace(/^\s*(?:\/\*[0-9a-f]+\*\/\s*)?/i, "").replace(/\b(\w?\w?MMA[.\w]*)\s+R\d+\b.*$/i, "$1");

/** A position that is not a lane's register: in tensor memory, of a block scale, in a tile of several warps; else null. */
function read_spot(place, entry, letter, tab, rest) {
  if (entry.kind === "tensor") return read_tensor_spot(place, entry, letter);
  if (/^s[ab]\s*[(\[]/i.test(place)) return read_scale_spot(place, entry);
  return tab === "tile" && !rest && can_tile(entry) ? read_tile_spot(place, entry, letter) : null;
}

/** The instruction that a question names, and a note if several match. */
function instruction_of(query, place, chip, whole) {
  const other = named_otherwise(query, chip);
  if (other) return [other.entries[0], other.note, other.letter, other.chip];
  const searched = (text) => (query_parts(text).some((x) => x.length > 1) ? search(text, chip, {}, names_part) : []);
  const named = query.split(" ").filter((x) => /^w?g?mma\b|matrix\b|m\d+n\d+/i.test(x)).join(" ");
  let found = searched(query);
  if (!found.length && !place) found = searched(query = named);
  if (!found.length) {
    throw new Misread(place ? `No instruction matches “${cut(query)}”, in “${cut(whole)}”. ${FORM}`
      : `“${cut(whole)}” does not name a position. ${FORM}`);
  }
  const [entry] = found, here = found.filter((x) => is_on(x, chip)).length || found.length;
  const exact = [entry.name, entry.short].includes(query.toLowerCase());
  return [entry, exact || here < 2 ? "" : `${here} instructions match “${cut(query)}”; this is the first: ${entry.short}.`];
}

function read_mark(question, entry, letter, operands, bare) {
  const choose = (given) => {
    const wanted = entry.kind === "move" && entry.fragment && !entry.before ? "R" : (given ?? letter).toUpperCase();
    letter = Object.hasOwn(operands, wanted) ? wanted : Object.keys(operands)[0];
    if (given && !/[mr]/i.test(given) && letter !== given.toUpperCase())
      throw new Misread(`${entry.short} has no operand ${given.toUpperCase()}; it has ${Object.keys(operands).join(", ")}.`);
    const operand = operands[letter];
    if (!operand.layout) throw new Misread(`${letter} of ${entry.short} is in shared memory: no lane holds it.`);
    return operand;
  };
  const place = read_place(question);
  if (place) {
    const operand = choose(place.letter);
    const hint = bare ? ` To ask of another instruction, name it: ${question} of wmma m16n16k16.` : "";
    return { letter, mark: element_mark(operand, place, entry, hint) };
  }
  const said = read_words(question);
  const operand = choose(said.letter ?? said.named?.[0]);
  const note = said.tid === undefined ? "" : thread_note(operand.layout, said);
  return { letter, mark: words_mark(operand, said, question), note };
}

function read_place(question) {
  let found = question.match(MATRIX_PLACE);
  if (found) return { letter: "m", matrix: integer(found[1]), row: integer(found[2] ?? found[4]), col: integer(found[3] ?? found[5]) };
  found = question.match(ROW_COL);
  if (found) return { letter: found[1] ?? found[5], row: integer(found[2]), col: integer(found[3]), matrix: found[4] && integer(found[4]) };
  found = PLACES.map((x) => question.match(x)).find(Boolean);
  if (!found) return null;
  const numbers = found.slice(2).filter((x) => x !== undefined).map(integer);
  const [row, col] = numbers.slice(-2);
  return { letter: found[1], row, col, matrix: numbers.length > 2 ? numbers[0] : undefined };
}

function element_mark(operand, { row, col, matrix = 0 }, entry, hint) {
  const layout = operand.layout;
  const packed = operand.letter === "A" && entry.metadata;
  const within = (name, value, count) => {
    if (value < count) return;
    const whose = operand.letter !== "R" ? `${operand.letter} of ${entry.short}` : name === "matrix" ? entry.short : `A matrix of ${entry.short}`;
    const whole = packed && name === "column" && value < entry.k
      ? ` Columns of a sparse A are counted in the packed matrix: column ${value} of the whole A, if metadata keeps it, is ${packed_places(entry, row, value)}.` : "";
    throw new Misread(`${whose} has ${plural(count, name, name === "matrix" ? "matrices" : undefined)}: there is no ${name} ${cut(String(value))}; `
      + `legal ${count > 1 ? `values are 0 to ${count - 1}` : "is only 0"}.${whole || hint}`);
  };
  within("matrix", matrix, layout.matrices);
  within("row", row, layout.rows);
  within("column", col, layout.cols);
  return mark_of_cell(operand, layout.number_of(row, col, matrix));
}

function mark_of_cell(operand, cell, lane = null) {
  const holders = operand.layout.holders[cell];
  const [index, held] = holders.find((x) => x[1] === lane) ?? holders[0];
  return { letter: operand.letter, kind: "element", cell, index, lane: held };
}

function mark_of_holder(operand, index, lane) {
  return { letter: operand.letter, kind: "element", cell: operand.layout.cell(index, lane), index, lane };
}

function read_words(question) {
  const said = {};
  let rest = question.replace(/[,.;]/g, " ").replace(/\bx\s*\[\s*(\d+)\s*\]/gi, "x$1");
  for (const [name, pattern] of WORDS) {
    const found = rest.match(pattern);
    if (!found) continue;
    rest = rest.replace(found[0], " ");
    if (name === "register") [said.register, said.letter] = [integer(found[2]), found[1]];
    else if (name === "named") said.named = [found[1], integer(found[2])];
    else if (name === "letter") said.letter = found[1];
    else said[name] = integer(found[1]);
  }
  if (said.named && said.register === undefined) said.register = said.named[1];
  const left = rest.trim();
  if (left || (!Object.keys(said).length))
    throw new Misread(`“${cut(left || question)}” does not name a position${left && left !== question ? `, in “${cut(question)}”` : ""}. ${FORM}`);
  return said;
}

/** Replace a thread of a block by its lane, and return a note that names it; a block counts its threads along x first. */
function thread_note(layout, said) {
  const { tid } = said, group = layout.lanes > 32 ? "warpgroup" : "warp";
  if (said.lane !== undefined || said.warp !== undefined) throw new Misread("threadIdx.x determines warp and lane; give either threadIdx.x or these.");
  if (tid > 1023) throw new Misread(`There is no threadIdx.x = ${cut(String(tid))}: a block has at most 1024 threads; legal values are 0 to 1023.`);
  said.lane = tid % layout.lanes;
  const lane = layout.lanes > 32 ? `thread ${said.lane} of warpgroup` : `lane ${said.lane} of warp`;
  return `threadIdx.x = ${tid} is ${lane} ${Math.floor(tid / layout.lanes)} of a block whose threads are numbered along x; every ${group} has the same layout.`;
}

function words_mark(operand, said, question) {
  const layout = operand.layout;
  const legal = (what, value, count, of) => {
    if (value !== undefined && value >= count)
      throw new Misread(`There is no ${what} ${cut(String(value))}: ${of}; legal ${count > 1 ? `values are 0 to ${count - 1}` : "is only 0"}.`);
  };
  let { lane, register, index } = said;
  if (said.warp !== undefined) {
    legal("warp", said.warp, layout.lanes / 32, layout.lanes > 32 ? "a warpgroup has 4 warps" : "one warp executes it");
    legal("lane", lane, 32, "a warp has 32 lanes");
    lane = 32 * said.warp + (lane ?? 0);
  }
  const letter = operand.letter;
  legal("lane", lane, layout.lanes, layout.lanes > 32 ? "a warpgroup has 128 threads" : "a warp has 32 lanes");
  legal("register", register, layout.registers, `${letter} has ${plural(layout.registers, "register")} per lane`);
  legal("element x", index, layout.elements, `${letter} has ${plural(layout.elements, "element")} per lane`);
  legal("bit", said.bit, layout.registerBits, `a register has ${layout.registerBits} bits`);
  if (said.bit !== undefined && register !== undefined)
    index = register * layout.packed + Math.floor(said.bit / layout.bits);
  if (register !== undefined && index !== undefined && layout.register(index) !== register)
    throw new Misread(`x[${index}] is in register ${operand.register}${layout.register(index)}, not in ${operand.register}${register}; give only one of them.`);
  if (lane !== undefined && index !== undefined) return mark_of_holder(operand, index, lane);
  if (index !== undefined) return { letter, kind: "index", index };
  if (register !== undefined) return { letter, kind: "register", register, ...(lane === undefined ? {} : { lane }) };
  if (lane !== undefined) return { letter, kind: "lane", lane };
  if (said.letter) return null;
  throw new Misread(`“${question}” does not name a lane, register or element.`);
}
