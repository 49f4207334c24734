// SPDX-License-Identifier: MIT
// Questions: what is typed into the find box becomes a mark.
//
// A mark says what is lit: { letter, kind, ... } with kind "element" (cell, index, lane), "lane" (lane), "register"
// (register, lane or none) or "index" (index).

class Misread extends Error {}

const NUMBERS = String.raw`\s*(\d+)\s*`;
const PLACES = [
  new RegExp(String.raw`^([abcdmr])?\s*\[${NUMBERS}\]\s*\[${NUMBERS}\](?:\s*\[${NUMBERS}\])?$`, "i"),
  new RegExp(String.raw`^([abcdmr])?\s*[(\[]${NUMBERS}[, ]${NUMBERS}(?:[, ]${NUMBERS})?[)\]]$`, "i"),
];
const MATRIX_PLACE = new RegExp(String.raw`^m(\d+)\s*(?:\[${NUMBERS}\]\s*\[${NUMBERS}\]|[(\[]${NUMBERS}[, ]${NUMBERS}[)\]])$`, "i");
const ROW_COL = /^(?:([abcdmr])\s*[:,]?\s*)?row\s*=?\s*(\d+)\s*,?\s*(?:and\s*)?col(?:umn)?\s*=?\s*(\d+)(?:\s*,?\s*(?:matrix|product)\s*=?\s*(\d+))?$/i;
const WORDS = [
  ["warp", /\bwarp\s*[:=]?\s*(\d+)/i],
  ["lane", /(?:\b(?:lane|thread)\s*[:=]?\s*|\b[tl]\s?)(\d+)\b/i],
  ["register", /\b(?:register|reg)\s*[:=]?\s*([abcdr])?(\d+)\b/i],
  ["index", /\b(?:x|element|index|i)\s*[:=]?\s*\[?\s*(\d+)\s*\]?/i],
  ["bit", /\bbits?\s*[:=]?\s*(\d+)(?:\s*[-–]\s*\d+)?/i],
  ["named", /\b([abcdr])(\d+)\b/i],
  ["letter", /\b(?:operand\s+)?([abcdr])\b/i],
];

/** Read a question.
 *
 * context: { entry, chip, letter }. Returns { entry, letter, mark }; throws Misread with what is legal. */
function read_question(text, context) {
  let question = text.trim().replace(/\s+/g, " ");
  let { entry, letter } = context;
  const of = question.match(/^(.+?) (?:of|in) (.+)$/i);
  if (of && !/^(operand )?[abcdr]$/i.test(of[2])) {
    [entry] = search(of[2].replace(/[?.]+$/, ""), context.chip);
    if (!entry) throw new Misread(`No instruction matches “${of[2]}”.`);
    question = of[1];
  } else if (BY_NAME.has(question.toLowerCase()) && /\./.test(question)) {
    return { entry: BY_NAME.get(question.toLowerCase()), letter, mark: null };
  }
  const chip = chip_for(entry, context.chip);
  const operands = operands_of(entry, chip);
  const choose = (given) => {
    const wanted = entry.kind === "move" && entry.fragment && !entry.before ? "R" : (given ?? letter).toUpperCase();
    letter = wanted in operands ? wanted : Object.keys(operands)[0];
    if (given && !/[mr]/i.test(given) && letter !== given.toUpperCase())
      throw new Misread(`${entry.short} has no operand ${given.toUpperCase()}; it has ${Object.keys(operands).join(", ")}.`);
    const operand = operands[letter];
    if (!operand.layout) throw new Misread(`${letter} of ${entry.short} lies in shared memory: no lane holds it.`);
    return operand;
  };
  const place = read_place(question);
  if (place) return { entry, letter: (choose(place.letter), letter), mark: element_mark(choose(place.letter), place) };
  const said = read_words(question);
  const given = said.letter ?? said.named?.[0];
  const operand = choose(given);
  return { entry, letter, mark: words_mark(operand, said, question) };
}

function read_place(question) {
  let found = question.match(MATRIX_PLACE);
  if (found) return { letter: "m", matrix: Number(found[1]), row: Number(found[2] ?? found[4]), col: Number(found[3] ?? found[5]) };
  found = question.match(ROW_COL);
  if (found) return { letter: found[1], row: Number(found[2]), col: Number(found[3]), matrix: found[4] && Number(found[4]) };
  found = PLACES.map((x) => question.match(x)).find(Boolean);
  if (!found) return null;
  const numbers = found.slice(2).filter((x) => x !== undefined).map(Number);
  const [row, col] = numbers.slice(-2);
  return { letter: found[1], row, col, matrix: numbers.length > 2 ? numbers[0] : undefined };
}

function element_mark(operand, { row, col, matrix = 0 }) {
  const layout = operand.layout;
  const within = (name, value, count) => {
    if (value >= count) throw new Misread(`${operand.letter === "R" ? "A matrix" : operand.letter} has ${plural(count, name)}: there is no ${name} ${value}; legal ${count > 1 ? `are 0 to ${count - 1}` : "is 0"}.`);
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
  let rest = question.replace(/[,.;]/g, " ").replace(/\bx\s*\[\s*(\d+)\s*\]/gi, "x$1").replace(/\b(and|holds?|what|does|of)\b/gi, " ");
  for (const [name, pattern] of WORDS) {
    const found = rest.match(pattern);
    if (!found) continue;
    rest = rest.replace(found[0], " ");
    if (name === "register") [said.register, said.letter] = [Number(found[2]), found[1]];
    else if (name === "named") said.named = [found[1], Number(found[2])];
    else if (name === "letter") said.letter = found[1];
    else said[name] = Number(found[1]);
  }
  if (said.named && said.register === undefined) said.register = said.named[1];
  const left = rest.trim();
  if (left || (!Object.keys(said).length))
    throw new Misread(`“${left || question}” says no place. Type a lane (T5, lane 5), a register (a1, register 1), an element (x3), `
      + "both (T5 a1), or a row and a column: (9, 17), A[9][17].");
  return said;
}

function words_mark(operand, said, question) {
  const layout = operand.layout;
  const legal = (what, value, count, of) => {
    if (value !== undefined && value >= count)
      throw new Misread(`There is no ${what} ${value}: ${of}; legal ${count > 1 ? `are 0 to ${count - 1}` : "is 0"}.`);
  };
  let { lane, register, index } = said;
  if (said.warp !== undefined) {
    legal("warp", said.warp, layout.lanes / 32, layout.lanes > 32 ? "a warpgroup has 4 warps" : "one warp executes it");
    legal("lane", lane, 32, "a warp has 32 lanes");
    lane = 32 * said.warp + (lane ?? 0);
  }
  const letter = operand.letter;
  legal("lane", lane, layout.lanes, layout.lanes > 32 ? "a warpgroup has 128 threads" : "a warp has 32 lanes");
  legal("register", register, layout.registers, `${letter} has ${plural(layout.registers, "register")} a lane`);
  legal("element x", index, layout.elements, `${letter} has ${plural(layout.elements, "element")} a lane`);
  legal("bit", said.bit, layout.registerBits, `a register has ${layout.registerBits} bits`);
  if (said.bit !== undefined && register !== undefined)
    index = register * layout.packed + Math.floor(said.bit / layout.bits);
  if (register !== undefined && index !== undefined && layout.register(index) !== register)
    throw new Misread(`x[${index}] is in register ${operand.register}${layout.register(index)}, not in ${operand.register}${register}; say one of them.`);
  if (lane !== undefined && index !== undefined) return mark_of_holder(operand, index, lane);
  if (index !== undefined) return { letter, kind: "index", index };
  if (register !== undefined) return { letter, kind: "register", register, ...(lane === undefined ? {} : { lane }) };
  if (lane !== undefined) return { letter, kind: "lane", lane };
  if (said.letter) return null;
  throw new Misread(`“${question}” names no lane, register or element.`);
}
