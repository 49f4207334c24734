// SPDX-License-Identifier: MIT
// CuTe's notation of layouts, ((4,8),(2,2,2)):((32,1),(16,8,128)): shown of each operand, and found when it is typed.

const CUTE_TEXT = /^\s*\(.*\)\s*:\s*\(.*\)\s*$|\bLayout\s*</s;

/** Parse the nested integers of a string; throws Misread. */
function cute_tuple(tokens, text) {
  const token = tokens.shift();
  if (/^\d+$/.test(token ?? "")) return Number(token);
  if (token !== "(") throw new Misread(`“${cut(text)}” is not a CuTe layout; write it as ((4,8),(2,2,2)):((32,1),(16,8,128)).`);
  const parts = [];
  while (tokens.length && tokens[0] !== ")") {
    parts.push(cute_tuple(tokens, text));
    if (tokens[0] === ",") tokens.shift();
  }
  if (tokens.shift() !== ")") throw new Misread(`“${cut(text)}” lacks a closing parenthesis.`);
  return parts;
}

/** Parse shape and stride, as CuTe prints them or as C++ writes their types. */
function cute_layout(text) {
  const cpp = /\bLayout\s*</.test(text), plain = text.replace(/\b(?:Int|C)\s*<\s*(\d+)\s*>(?:\{\})?/g, "$1");
  const tokens = (cpp ? plain.replace(/\b(?:cute::)?(?:Layout|Shape|Stride)\s*</g, "(").replace(/>/g, ")") : plain).match(/_?\d+|[(),:]/g)?.map((x) => x.replace("_", "")) ?? [];
  const whole = (part) => {
    const read = cute_tuple(part, text);
    if (part.length) throw new Misread(`“${cut(text)}” continues after its last parenthesis.`);
    return read;
  };
  const colon = tokens.indexOf(":"), pair = cpp ? whole(tokens) : colon < 0 ? [] : [tokens.slice(0, colon), tokens.slice(colon + 1)].map(whole);
  if (pair.length !== 2) throw new Misread(`“${cut(text)}” has no strides; write it as ((4,8),(2,2,2)):((32,1),(16,8,128)).`);
  return pair;
}

/** Sizes and strides of a mode, flat. */
function cute_flat(shape, stride, text) {
  if (Array.isArray(shape) !== Array.isArray(stride) || (Array.isArray(shape) && shape.length !== stride.length))
    throw new Misread(`Shape and stride of “${cut(text)}” are not nested in the same way.`);
  return Array.isArray(shape) ? shape.flatMap((x, i) => cute_flat(x, stride[i], text)) : [[shape, stride]];
}

/** The function of a (thread, value) layout: the element's number for each thread and value. */
function cute_table(text) {
  const [shape, stride] = cute_layout(text);
  if (!Array.isArray(shape) || shape.length !== 2) throw new Misread(`“${cut(text)}” does not have the two modes, thread and value, of a register layout.`);
  const offsets = shape.map((part, i) => {
    const modes = cute_flat(part, stride[i], text), size = modes.reduce((all, [count]) => all * count, 1);
    if (size > 1 << 14 || size < 1) throw new Misread(`A mode of “${cut(text)}” has size ${size}; layouts of registers have 32 or 128 threads.`);
    return range(size).map((x) => { let rest = x, sum = 0; for (const [count, step] of modes) { sum += (rest % count) * step; rest = Math.floor(rest / count); } return sum; });
  });
  return { threads: offsets[0].length, values: offsets[1].length, key: `${offsets[0]}|${offsets[1]}`, at: (thread, value) => offsets[0][thread] + offsets[1][value] };
}

let known_tables = null;
/** Numbers of the layouts that are a function, by its key. */
function cute_numbers() {
  if (known_tables) return known_tables;
  known_tables = new Map();
  DATA.cute.forEach(([text], number) => {
    if (!text) return;
    const { key } = cute_table(text);
    if (!known_tables.has(key)) known_tables.set(key, []);
    known_tables.get(key).push(number);
  });
  return known_tables;
}

const cute_of = (operand) => (operand.layout?.number >= 0 ? DATA.cute[operand.layout.number] : ["", ""]);

/** The operands that have a layout: { entry, chip, letter, note }, the shown instruction's first. Throws Misread if there is none. */
function find_cute(text, context) {
  const table = cute_table(text), numbers = cute_numbers().get(table.key) ?? [], found = [];
  for (const entry of ENTRIES) {
    if (entry.kind !== "product") continue;
    for (const [mask, ...own] of entry.groups)
      LETTERS.forEach((letter, i) => { if (numbers.includes(own[i])) found.push({ entry, letter, mask, here: (mask >> context.chip.bit) & 1 }); });
  }
  if (!found.length) throw new Misread(`No operand of these instructions has this layout: ${table.threads} threads of ${plural(table.values, "value")}.${cute_difference(table, context)}`);
  const rank = (x) => (x.entry === context.entry ? 0 : 2) + (x.here ? 0 : 4) + (x.letter === context.letter ? 0 : 1);
  found.sort((a, b) => rank(a) - rank(b));
  const [first] = found, entries = new Set(found.map((x) => x.entry)).size;
  const letters = [...new Set(found.filter((x) => x.entry === first.entry && x.mask === first.mask).map((x) => x.letter))];
  return { entry: first.entry, chip: first.here ? context.chip : CHIPS.find((x) => (first.mask >> x.bit) & 1), letter: first.letter, mark: null,
    note: `${letters.join(" and ")} of ${first.entry.short} ${letters.length > 1 ? "have" : "has"} this layout.${entries > 1 ? ` So ${entries === 2 ? "has an operand of another instruction" : `have operands of ${entries - 1} other instructions`}.` : ""}` };
}

/** The first difference from the chosen operand's layout, if both have equally many threads and values. */
function cute_difference(table, context) {
  const operand = operands_of(context.entry, chip_for(context.entry, context.chip))[context.letter], [own] = operand ? cute_of(operand) : [""];
  if (!own) return "";
  const here = cute_table(own);
  if (here.threads !== table.threads || here.values !== table.values) return ` ${context.letter} of ${context.entry.short} has ${own}.`;
  for (let thread = 0; thread < here.threads; thread++)
    for (let value = 0; value < here.values; value++)
      if (here.at(thread, value) !== table.at(thread, value))
        return ` ${context.letter} of ${context.entry.short} has ${own}: value ${value} of thread ${thread} is element ${here.at(thread, value)} there, and ${table.at(thread, value)} in yours.`;
  return "";
}
