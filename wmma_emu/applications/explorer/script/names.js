// SPDX-License-Identifier: MIT
// Other names of instructions: machine code, CuTe's atoms, fragments of mma.h. They are data; this file looks them up.

const LOOKS = { machine: new RegExp(DATA.names.patterns.machine, "i"), atom: new RegExp(DATA.names.patterns.atom, "i"), fragment: new RegExp(DATA.names.patterns.fragment, "is") };

const own_shape = (entry, name) => name.replace("@", `${entry.m}x${entry.n}x${entry.k}`);

/** Machine instructions of a product: [mask of chips, names] for groups of chips. */
function machine_groups(entry) {
  if (entry.kind !== "product") return [];
  return DATA.names.machine[DATA.names.of[ENTRIES.indexOf(entry)][1]].map(([mask, ...names]) => [mask, names.map((x) => own_shape(entry, x))]);
}

const machine_of = (entry, chip) => machine_groups(entry).find(([mask]) => (mask >> chip.bit) & 1)?.[1] ?? [];

/** The CuTe atoms of an instruction. */
function atoms_of(entry) {
  return entry.kind === "product" ? DATA.names.cute[DATA.names.of[ENTRIES.indexOf(entry)][0]].map((x) => own_shape(entry, x)) : [];
}

const uncounted = (name) => name.replace(/^\d+x /, "");

let known_machine = null;
/** Every machine instruction in capitals: the entries that compile to it, with chips and the number of steps. */
function machine_uses() {
  if (known_machine) return known_machine;
  known_machine = new Map();
  for (const entry of ENTRIES)
    for (const [mask, names] of machine_groups(entry))
      for (const name of names) {
        const key = uncounted(name).toUpperCase();
        if (!known_machine.has(key)) known_machine.set(key, []);
        known_machine.get(key).push({ entry, mask, several: name !== uncounted(name) || names.length > 1, name: uncounted(name) });
      }
  return known_machine;
}

/** Entries of a machine instruction; modifiers that are not in the tables, such as .reuse, may follow its name. */
function named_by_machine(text, chip) {
  const uses = machine_uses(), [typed] = text.toUpperCase().match(LOOKS.machine), words = typed.split(".");
  const beginning = (name) => [...uses.keys()].filter((x) => x.startsWith(name)).sort((a, b) => Number(b.startsWith(`${name}.`)) - Number(a.startsWith(`${name}.`)));
  while (words.length > 2 && !uses.has(words.join(".")) && !beginning(words.join(".")).length) words.pop();
  const wanted = words.join("."), names = uses.has(wanted) ? [wanted] : beginning(wanted);
  if (!names.length) throw new Misread(`No instruction compiles to ${cut(typed)} on any chip. Machine instructions have names such as HMMA.16816.F32.`);
  const there = (mask) => (mask >> chip.bit) & 1;
  const found = names.flatMap((name) => uses.get(name));
  found.sort((a, b) => Number(a.several) - Number(b.several) || Number(there(b.mask)) - Number(there(a.mask)) || Number(b.entry.family === "mma.sync") - Number(a.entry.family === "mma.sync"));
  const entries = [...new Set(found.map((x) => x.entry))], [first] = found;
  const on = there(first.mask) ? chip : CHIPS.find((x) => (first.mask >> x.bit) & 1);
  return { entries, chip: on, note: `On ${on.name} ${first.entry.short} compiles to ${first.name}.${entries.length > 1 ? ` So ${entries.length === 2 ? "does another" : `do ${entries.length - 1} others`}, some in several steps.` : ""}` };
}

/** An atom's name in capitals, without namespaces and wrappers, and its template arguments. */
function atom_parts(text) {
  const inner = text.trim().replace(/^(?:(?:cute::)?(?:MMA_Atom|MMA_Traits|TiledMMA)\s*<\s*)+/i, "");
  const [, spaced, last, given] = inner.match(/((?:\w+::)*)(\w+)\s*(?:<([^>]*))?/) ?? [null, "", "", ""];
  const spaces = spaced.toUpperCase().split("::"), number = spaces.find((x) => /^SM\d+$/.test(x)), name = last.toUpperCase();
  const rest = number && name.match(/^G?MMA_(?=\d)(.*)$/);
  return { name: rest ? `${number}_${spaces.includes("SPARSE") ? "SPARSE_" : ""}${rest[1]}` : name,
    given: (given ?? "").split(",").map((x) => x.split("::").at(-1).trim()).filter(Boolean) };
}

let known_atoms = null;
function atom_uses() {
  if (known_atoms) return known_atoms;
  known_atoms = new Map();
  for (const entry of ENTRIES)
    for (const atom of atoms_of(entry)) {
      const { name, given } = atom_parts(atom);
      if (!known_atoms.has(name)) known_atoms.set(name, []);
      known_atoms.get(name).push({ entry, given });
    }
  return known_atoms;
}

/** Formats that a name means, as C++ and CuTe write them. */
function formats_named(name) {
  const plain = name.toLowerCase().trim().replace(/\s+/g, "_").replace(/^(?:(?:nvcuda|wmma|cutlass|cute|detail|experimental)::)+/, "");
  return Object.keys(CALLED).filter((format) => CALLED[format].split(" ").includes(plain));
}

/** Entries of a CuTe atom. */
function named_by_atom(text) {
  const { name, given } = atom_parts(text);
  if (Object.hasOwn(DATA.names.tensor, name)) return named_by_tensor_atom(name, given);
  const uses = atom_uses().get(name);
  if (!uses) {
    const shape = name.match(/\d+X\d+(?:X\d+)?/)?.[0], begin = name.split("_")[0];
    const near = [...atom_uses().keys()].filter((x) => x.startsWith(`${begin}_`) && (!shape || x.includes(shape))).concat([...atom_uses().keys()].filter((x) => shape && x.includes(shape)));
    const shown = [...new Set(near)].slice(0, 3).map((x) => x.replace(/(?<=\d)X(?=\d)/g, "x"));
    throw new Misread(`No CuTe atom of these instructions is called ${cut(text.trim())}.${shown.length ? ` Near are ${shown.join(", ")}.` : " Atoms are named like SM80_16x8x16_F32F16F16F32_TN."}`);
  }
  const fits = (own) => given.every((x, i) => own[i] === undefined || own[i].toLowerCase() === x.toLowerCase());
  const found = uses.filter((x) => fits(x.given)), entries = [...new Set((found.length ? found : uses).map((x) => x.entry))];
  return { entries, note: entries.length > 1 ? `Its template arguments say which of ${entries.length} instructions it is; this is the first.` : "" };
}

/** The entry of an atom of tcgen05.mma; its template arguments are formats of A, B and D, then m and n. */
function named_by_tensor_atom(name, given) {
  const plain = entry_named(DATA.names.tensor[name]), numbers = given.filter((x) => /^\d+$/.test(x)).map(Number);
  const [a, b, d] = given.map(formats_named).filter((x) => x.length).map((x) => x[0]);
  const [m = plain.m, n = plain.n] = numbers, row = TENSOR.find((x) => x.prefix === plain.row.prefix && x.k === plain.k && x.m === m && x.d === (d ?? plain.formats[0]) && x.scale === plain.row.scale);
  const made = row && named_tensor_entry(tensor_entry(row, n, a ?? plain.formats[1], b ?? a ?? plain.formats[2]).name);
  if (!made) throw new Misread(`${name} has no such size or types: ${cut(given.join(", "))}.`);
  return { entries: [made], note: given.length < 5 ? "Types and sizes are its template arguments; without them this is one of many." : "" };
}

/** Entry and operand of a fragment of mma.h; null where too little is said, which is searched for as words. */
function named_by_fragment(text) {
  const given = text.match(LOOKS.fragment).groups.arguments.split(">")[0].split(",").map((x) => x.trim().replace(/^const\s+/, ""));
  const use = given[0]?.split("::").at(-1), layout = given[5]?.split("::").at(-1);
  if (given.length < 5 || !Object.hasOwn({ matrix_a: 1, matrix_b: 1, accumulator: 1 }, use)) return null;
  const [format] = formats_named(given[4].replace(/\s*\{?$/, ""));
  const usual = layout ?? { matrix_a: "row_major", matrix_b: "col_major" }[use];
  const name = [use, ...given.slice(1, 4), format, use === "accumulator" ? null : usual].filter(Boolean).join();
  const found = DATA.names.fragments[name];
  if (!found) throw new Misread(`mma.h has no ${cut(text)}: no fragment ${use} of m${given[1]}n${given[2]}k${given[3]} in ${cut(given[4])}.`);
  return { entries: [entry_named(found)], letter: { matrix_a: "A", matrix_b: "B", accumulator: "D" }[use], note: use === "accumulator" ? "An accumulator is C and D, which have the same layout." : "" };
}

/** The entries that a string names as machine code, an atom or a fragment: { entries, note, letter, chip }; or null. */
function named_otherwise(text, chip) {
  if (LOOKS.fragment.test(text)) return named_by_fragment(text);
  if (LOOKS.atom.test(text.trim())) return named_by_atom(text);
  const machine = text.match(LOOKS.machine);  // "bmma" alone is a word of mma.h, too
  if (machine && (machine[0].includes(".") || !search(text, chip).length)) return named_by_machine(text, chip);
  return null;
}

/** A line of PTX, or of inline assembly: the name ends where its operands, a quote or a backslash begin. */
const PTX_LINE = /(?:^|[\s"{])((?:mma|wmma|wgmma|tcgen05)\.[\w.:]+)\s*[{;"\\]/i;

/** Entries that a typed text leaves, whatever names them; one without a letter or a digit names nothing. */
function find_entries(text, chip, facets = {}) {
  try {
    const [, name] = text.match(PTX_LINE) ?? [], line = name && entry_named(name.toLowerCase());
    if (line) return [line];
    if (text.trim() && !query_parts(text).length) return [];
    if (CUTE_TEXT.test(text)) return [find_cute(text, now).entry];
    return named_otherwise(text, chip)?.entries ?? search(text, chip, facets);
  } catch (error) {
    if (!(error instanceof Misread)) throw error;
    return [];
  }
}
