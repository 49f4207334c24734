// SPDX-License-Identifier: MIT
// The other views: formulas, loads by ldmatrix, metadata of sparse operands.

/** The formulas of an operand: lines, and sources in C and Python under its name. */
function formulas_of(operand) {
  const found = operand.layout && DATA.formulas[operand.layout.number];
  if (!found || !found[1]) return null;
  const [lines, c, python] = found;
  return { lines, c: named(c, operand, "// "), python: named(python, operand, "# ") };
}

/** Insert the operand's name and the source of the layout into a function's source. */
function named(text, operand, comment) {
  const [source, status] = operand.source;
  const said = `${status[0].toUpperCase()}${status.slice(1)}; source: ${source}.`;
  const lines = [];
  for (const word of said.split(" ")) {
    if (lines.length && (lines.at(-1) + " " + word).length <= 100 - comment.length) lines[lines.length - 1] += ` ${word}`;
    else lines.push(word);
  }
  return text.replaceAll("OPERAND", operand.letter)
    .replace(/^(\/\/|#) @said.*$/m, lines.map((x) => comment + x).join("\n"));
}

const make = (tag, attributes = {}, html = "") => {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  node.innerHTML = html;
  return node;
};

const SHOWN = ["row", "col", "matrix", "lane", "index", "register", "bit"];

function formulas_panel(into, operand, language, turn) {
  const found = formulas_of(operand);
  into.replaceChildren();
  if (!found) {
    into.append(make("p", { class: "quiet" }, operand.layout ? "The page has no formulas of this fragment; the pictures show all of it."
      : `${operand.letter} is in shared memory: no lane holds it, and a descriptor defines its layout.`));
    return;
  }
  into.append(make("h2", {}, `Formulas of ${operand.letter}`), make("p", { class: "quiet" },
    `<i>lane</i> is 0 to ${operand.layout.lanes - 1}${operand.layout.lanes > 32 ? ", the thread of the warpgroup" : ""}; <i>index</i> counts the elements of a lane, x[0] to x[${operand.layout.elements - 1}]. Division is of integers.`));
  const lines = SHOWN.filter((x) => x in found.lines)
    .map((x) => `<div><dt>${x}</dt><dd><code>${escape_html(found.lines[x])}</code></dd></div>`).join("");
  const [cute, threads] = cute_of(operand), own = threads.endsWith(":1") ? "" : `; lanes of the threads <code>${escape_html(threads)}</code>`;
  const in_cute = cute ? `<div><dt>CuTe</dt><dd><code>${escape_html(cute)}</code>, thread and value to the element, counted down the columns of ${{ A: "m × k", B: "n × k" }[operand.letter] ?? "m × n"}${own}</dd></div>` : "";
  into.append(make("dl", { class: "formulas" }, lines + in_cute));
  const bar = make("div", { class: "bar", role: "group", "aria-label": "Language" });
  for (const [name, title] of [["c", "C"], ["python", "Python"]]) {
    const button = make("button", { type: "button", "aria-pressed": String(name === language), "data-language": name }, title);
    button.addEventListener("click", () => turn(name));
    bar.append(button);
  }
  const copy = make("button", { type: "button", class: "copy", "data-copy": language }, `Copy ${language === "c" ? "C" : "Python"}`);
  copy.addEventListener("click", () => copy_text(found[language], `The functions in ${language === "c" ? "C" : "Python"} are copied.`));
  bar.append(copy);
  into.append(bar, make("pre", { tabindex: "0", role: "region", "aria-label": `Functions in ${language === "c" ? "C" : "Python"}` }, `<code>${escape_html(found[language])}</code>`));
}

// --- ldmatrix and stmatrix -----------------------------------------------------------------------

const stored_name = (operand, plan) => `${operand.letter} stored by ${plan[0] === "row" ? "rows" : "columns"}`;
const place_name = (letter, row, col) => `${letter}[${row}][${col}]`;

/** The move of an operand's plan, on a chip that supports it. */
function move_of(plan, family, chip) {
  const entry = BY_NAME.get(`${family}.sync.aligned.m8n8.x${plan[3]}${plan[1] ? ".trans" : ""}.shared.b16`);
  return entry && is_on(entry, chip) ? entry : null;
}

/** A sentence on the addresses of lanes without a row, in a move on the shown chip; "" if there are none. */
function unread_addresses(move, chip = now.chip) {
  const read = move.count * move.rows;
  if (read >= 32) return "";
  const lanes = `lanes ${read} to 31`;
  if (move.family !== "ldmatrix" || !DATA.every_lane_needs_an_address.includes(chip.name)) return ` The addresses of ${lanes} do not count.`;
  return ` The addresses of ${lanes} are not read, but on ${chip.name} the addresses of all lanes must be valid: give them the addresses of lanes 0 to ${read - 1} again.`;
}

/** Row and column of the element whose address a lane gives, in a move of a plan (the first by default). */
function address_of(plan, layout, lane, nth = 0) {
  const [stored, , origins, count] = plan;
  const matrix = (lane % 32) >> 3;
  if (matrix >= count) return null;
  const [row, col] = origins[nth * count + matrix];
  const below = layout.lanes > 32 ? 16 * (lane >> 5) : 0;
  return stored === "row" ? [row + (lane % 8) + below, col] : [row + below, col + (lane % 8)];
}

function plans_for(operand) {
  return operand.layout && operand.layout.number >= 0 ? DATA.plans[operand.layout.number] : [];
}

/** How an operand of a product is loaded (and D stored) by moves of matrices. */
function loads_panel(into, operands, chip, go) {
  into.replaceChildren(make("h2", {}, "Loading with ldmatrix"), make("p", { class: "quiet" },
    "Each lane gives the address of 16 bytes of the tile, and the matrices are loaded into the registers in the order that the product requires. The tile is in shared memory in the named order; rows need not be contiguous."));
  const cards = make("div", { class: "cards" });
  for (const operand of Object.values(operands)) {
    const family = operand.letter === "D" ? "stmatrix" : "ldmatrix";
    for (const plan of plans_for(operand)) {
      const move = move_of(plan, family, chip);
      if (!move) continue;
      cards.append(load_card(operand, plan, move, go));
    }
  }
  if (cards.childElementCount) into.append(cards);
  else into.append(make("p", {}, `No ldmatrix of ${chip.name} fills these fragments without further shuffles.`));
}

const COUNTS = { 1: "one register", 2: "two registers", 4: "four registers" };

function load_card(operand, plan, move, go) {
  const [, , origins, count, row, col] = plan;
  const times = origins.length / count;
  const { layout } = operand;
  const below = layout.lanes > 32 ? ", 16 rows further down for each warp (lane within the warp)" : "";
  const verb = operand.letter === "D" ? "stores" : "loads";
  const registers = (nth) => `${operand.register}${upto(nth * count, count).replace("–", `–${operand.register}`)}`;
  const card = make("section", { class: "card", "aria-label": `${stored_name(operand, plan)}` },
    `<h3>${stored_name(operand, plan)}</h3>
    <p>${times > 1 ? `${times} times ` : ""}<code>${move.short}</code> ${verb} ${times > 1 ? `${COUNTS[count]} each` : registers(0)}.
    ${count < 4 ? `Lanes 0 to ${8 * count - 1} give addresses` : "Lane <i>lane</i> gives the address"} of
    <code class="address">${place_name(operand.letter, escape_html(row), escape_html(col))}</code>${times > 1 ? " in the first" : ""}${below}.${unread_addresses(move)}</p>`);
  if (times > 1)
    card.append(make("p", { class: "quiet" }, `The next ones begin at ${range(Math.min(times, 8)).slice(1).map((i) => `<code>${place_name(operand.letter, ...origins[i * count])}</code> (${registers(i)})`).join(", ")}${times > 8 ? ", …" : ""}.`));
  const cells = range(8 * count).map((lane) => `<td style="background:${lane_colour(lane)}"><b>T${lane}</b> ${place_name(operand.letter, ...address_of(plan, layout, lane))}</td>`);
  const lines = range(8).map((i) => `<tr>${range(count).map((j) => cells[8 * j + i]).join("")}</tr>`).join("");
  const heads = range(count).map((j) => `<th scope="col">matrix ${j} → ${operand.register}${j}</th>`).join("");
  card.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Addresses of ${stored_name(operand, plan)}` },
    `<table class="addresses"><caption class="unseen">Address of each lane</caption><thead><tr>${heads}</tr></thead><tbody>${lines}</tbody></table>`));
  const button = make("button", { type: "button" }, `Show ${move.short}`);
  button.addEventListener("click", () => go(move));
  card.append(button);
  return card;
}

/** The operands of products that a move loads, without duplicates of the tile and the fragment. */
function feeds_of(move, chip) {
  const family = move.family === "stmatrix" ? "stmatrix" : "ldmatrix";
  const found = new Map();
  for (const entry of ENTRIES) {
    if (entry.kind !== "product" || entry.family === "wmma.mma" || !is_on(entry, chip)) continue;
    const operands = operands_of(entry, chip);
    for (const letter of family === "stmatrix" ? ["D"] : ["A", "B"])
      for (const plan of plans_for(operands[letter])) {
        if (move_of(plan, family, chip) !== move) continue;
        const key = `${letter} ${entry.shape.replace(/n\d+/, entry.family.startsWith("wgmma") ? "nN" : "$&")} ${operands[letter].layout.bits} ${plan[0]} ${entry.family.includes("sp")}`;
        const known = found.get(key);
        if (known) known.formats.add(operands[letter].format);
        else found.set(key, { entry, operand: operands[letter], plan, formats: new Set([operands[letter].format]) });
      }
  }
  return [...found.values()];
}

function feeds_panel(into, move, chip, chosen, turn, go) {
  into.replaceChildren();
  const stores = move.family === "stmatrix";
  into.append(make("h2", {}, stores ? "What it stores" : "What it feeds"));
  const feeds = feeds_of(move, chip);
  if (!feeds.length) {
    into.append(make("p", { class: "quiet" }, `No operand of ${chip.name} is filled by this form alone, register by register.`));
    return;
  }
  const select = make("select", { id: "feed" });
  feeds.forEach((x, i) => {
    const shape = x.entry.family.startsWith("wgmma") ? x.entry.shape.replace(/n\d+/, "nN") : x.entry.shape;
    select.append(new Option(`${x.operand.letter} of ${x.entry.family} ${shape}, ${[...x.formats].join(" ")}, stored by ${x.plan[0] === "row" ? "rows" : "columns"}`, i));
  });
  const index = Math.min(chosen, feeds.length - 1);
  select.value = String(index);
  select.addEventListener("change", () => turn(Number(select.value)));
  const field = make("div", { class: "field" }, `<label for="feed">${stores ? "Registers of" : "To fill"}</label>`);
  field.append(select);
  const { entry, operand, plan } = feeds[index];
  into.append(field, load_card(operand, plan, move, () => go(entry, operand.letter)));
  into.querySelector(".card > button").textContent = `Show ${operand.letter} of ${entry.short}`;
}

// --- metadata ------------------------------------------------------------------------------------

/** "2 of 4 are kept" where the manual writes 2:4. */
const kept_of = (granularity) => `${granularity.replace(":", " of ")} ${granularity.startsWith("1:") ? "is" : "are"} kept`;

/** The lane and the nibble that describe a chunk of a row. */
function metadata_place(metadata, row, chunk, selector) {
  const [, , , , step, laneRow, laneChunk, nibbleRow, nibbleChunk] = metadata;
  return [weigh(row, laneRow) + weigh(chunk, laneChunk) + step * selector, weigh(row, nibbleRow) + weigh(chunk, nibbleChunk)];
}

function metadata_panel(into, entry, selector, turn) {
  const [granularity, chunk, chunks, selectors, , , , , , legal, rows] = entry.metadata;
  into.replaceChildren(make("h2", {}, "Metadata of the sparse A"), make("p", { class: "quiet" },
    `A row of A is cut into chunks of ${chunk} columns: ${kept_of(granularity)}. Four bits, a nibble, say which: nibble n is bits 4n to 4n + 3 of a lane's 32-bit metadata register. Here is, of each chunk of each row, the lane and its nibble${rows > 16 ? " (lane within the warp that holds the row)" : ""}.`));
  const bar = make("div", { class: "bar", role: "group", "aria-label": "Sparsity selector" }, "<span>Selector F</span>");
  for (const x of range(selectors)) {
    const button = make("button", { type: "button", "aria-pressed": String(x === selector), "data-selector": x }, String(x));
    button.addEventListener("click", () => turn(x));
    bar.append(button);
  }
  const head = range(chunks).map((c) => `<th scope="col">${upto(c * chunk, chunk)}</th>`).join("");
  const body = range(rows).map((row) => `<tr><th scope="row">row ${row}</th>${range(chunks).map((c) => {
    const [lane, nibble] = metadata_place(entry.metadata, row, c, selector);
    return `<td data-row="${row}" data-chunk="${c}" data-lane="${lane}" data-nibble="${nibble}" style="background:${lane_colour(lane)}"><b>T${lane}</b> n${nibble}</td>`;
  }).join("")}</tr>`).join("");
  into.append(bar, make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Metadata table" },
    `<table class="metadata"><caption class="unseen">Lane and nibble by row and columns, selector ${selector}</caption><thead><tr><th scope="col">columns</th>${head}</tr></thead><tbody>${body}</tbody></table>`));
  const binary = (x) => x.toString(2).padStart(4, "0");
  into.append(make("h3", {}, "Legal nibbles"), make("p", {},
    legal.map(([nibble, columns]) => `<span class="nibble"><code>${binary(nibble)}</code> keeps ${columns.length > 1 ? "columns" : "column"} ${columns.join(", ")}</span>`).join(" ")));
}

// --- the handout ---------------------------------------------------------------------------------

/** The sheet as it will be printed, with the button that prints it. */
function handout_panel(into, entry, chip) {
  const bar = make("div", { class: "bar" });
  const print = make("button", { type: "button", id: "print" }, "Print, or save as PDF");
  print.addEventListener("click", () => window.print());
  bar.append(print);
  into.replaceChildren(make("h2", {}, "Handout"), make("p", { class: "quiet" },
    "One sheet of A4 or Letter, with or without colours. This page prints as this sheet from every view."), bar, handout_sheet(entry, chip));
}
