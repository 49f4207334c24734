// SPDX-License-Identifier: MIT
// Block scales: the lane and byte of the scale of each row of A, or column of B, and block of k.

/** The lane and byte of the scale of a row of A or a column of B, and a block of k. */
function scale_place(scales, letter, line, block, thread, byte) {
  const [, , , , a, b] = scales;
  const [, , step, lanes] = letter === "A" ? a : b;
  return [weigh(line, lanes) + step * thread, byte + block];
}

/** A sentence that names the scale of an element; columns of a sparse A are columns of the whole A. */
function say_scale(entry, letter, row, col) {
  if (!entry.scales) return "";
  const [, , block] = entry.scales, k = letter === "B" ? row : entry.metadata ? 2 * col : col;
  const first = Math.floor(k / block) * block;
  return letter === "A" ? ` Its scale applies to row ${row} and columns ${upto(first, block)}${entry.metadata ? " of the whole A" : ""}.`
    : ` Its scale applies to rows ${upto(first, block)} and column ${col}.`;
}

/** Parse thread-id and byte-id, of A and of B, from an address; 0 if a value is missing or illegal. */
function scale_selectors(text, scales) {
  const said = text.split("-").map(Number);
  if (!scales || said.length !== 4) return [0, 0, 0, 0];
  const [, , , byteIds, [, threadsA], [, threadsB]] = scales;
  const legal = [range(threadsA), byteIds, range(threadsB), byteIds];
  return legal.map((values, i) => (values.includes(said[i]) ? said[i] : 0));
}

/** Parse "SA[9][1]", a row of A, or "SB[0][5]", a column of B, and a block of k. */
function read_scale_spot(text, entry) {
  if (!entry.scales) {
    const chips = CHIPS.filter((chip) => ENTRIES.some((x) => x.scales && is_on(x, chip))).map((x) => x.name).join(" and ");
    throw new Misread(`${entry.short} has no block scales; instructions that have them are found by “block scales”${chips && `, on ${chips}`}.`);
  }
  const { letter, row, col } = read_place(text.replace(/^scale_/, "").replace(/^s(?=[ab])/i, ""));
  const [, count, , , [rows], [cols]] = entry.scales, of_a = letter.toUpperCase() === "A";
  const [line, block] = of_a ? [row, col] : [col, row];
  const within = (what, value, most) => {
    if (value >= most) throw new Misread(`scale_${letter.toUpperCase()} of ${entry.short} has ${plural(most, what)}: there is no ${what} ${cut(String(value))}; legal ${most > 1 ? `values are 0 to ${most - 1}` : "is only 0"}.`);
  };
  within(of_a ? "row" : "column", line, of_a ? rows : cols);
  within(of_a ? "column" : "row", block, count);
  return { kind: "scale", letter: letter.toUpperCase(), line: Number(line), block: Number(block), text: `scale_${letter.toUpperCase()}[${row}][${col}]` };
}

function scale_answer({ letter, line, block, text }, entry, chip, chosen) {
  const [format, , size] = entry.scales, [thread, byte] = letter === "A" ? chosen.slice(0, 2) : chosen.slice(2);
  const [lane, place] = scale_place(entry.scales, letter, line, block, thread, byte), k = upto(block * size, size);
  return { head: `${strong(text)} <span class="of">of <code>${escape_html(entry.short)}</code> on ${chip.name}</span>, in ${format}, is ${strong(`byte ${place}`)} (bits ${upto(8 * place, 8)}) of the register of scales of ${letter} of ${strong(`lane ${lane}`)}.`,
    more: `<p>It is the scale of ${letter === "A" ? `row ${line} and columns ${k} of A` : `rows ${k} and column ${line} of B`}, with thread-id ${thread} and byte-id ${byte}, which can be chosen below.</p>` };
}

function scales_panel(into, entry, chosen, turn) {
  const [format, count, block, byteIds, a, b, source, status] = entry.scales;
  const whole = entry.metadata ? ` of the whole A, those that are left out counted` : "";
  into.replaceChildren(make("h2", {}, "Block scales of A and B"), make("p", { class: "quiet" },
    `Every ${block} neighbouring columns${whole} share a scale in each row of A, and as many rows in each column of B: ${plural(count, "scale")} a row and a column, in the format ${format}. `
    + "A product of two elements is multiplied by the scales of both. Each lane gives a 32-bit register of scales of A and one of B; two selectors of each, constants of the instruction, say what is read: "
    + "thread-id the lanes, byte-id the bytes. The others may hold anything."));
  const cards = make("div", { class: "cards" });
  for (const [letter, [lines, threads], at] of [["A", a, 0], ["B", b, 2]]) {
    const [thread, byte] = chosen.slice(at, at + 2);
    const card = make("section", { class: "card", "aria-label": `Scales of ${letter}` }, `<h3>scale_${letter}</h3>`);
    for (const [name, nth, values] of [["thread-id", 0, range(threads)], ["byte-id", 1, byteIds]]) {
      const bar = make("div", { class: "bar", role: "group", "aria-label": `${name} of ${letter}` }, `<span>${name}</span>`);
      for (const x of values) {
        const button = make("button", { type: "button", "aria-pressed": String(x === chosen[at + nth]), [`data-${name}-${letter.toLowerCase()}`]: x }, String(x));
        button.addEventListener("click", () => turn(chosen.map((old, i) => (i === at + nth ? x : old))));
        bar.append(button);
      }
      card.append(bar);
    }
    const line = letter === "A" ? "row" : "column";
    const head = range(count).map((j) => `<th scope="col">k ${upto(j * block, block)}</th>`).join("");
    const body = range(lines).map((i) => `<tr><th scope="row">${line} ${i}</th>${range(count).map((j) => {
      const [lane, place] = scale_place(entry.scales, letter, i, j, thread, byte);
      return `<td data-line="${i}" data-block="${j}" data-lane="${lane}" data-byte="${place}" style="background:${lane_colour(lane)}"><b>T${lane}</b> byte ${place}</td>`;
    }).join("")}</tr>`).join("");
    card.append(make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": `Table of the scales of ${letter}` },
      `<table class="metadata scales"><caption class="unseen">Lane and byte by ${line} and part of k, thread-id ${thread}, byte-id ${byte}</caption><thead><tr><th scope="col">${line}</th>${head}</tr></thead><tbody>${body}</tbody></table>`));
    cards.append(card);
  }
  into.append(cards, make("p", { class: "quiet" }, `Known from: <span class="status ${status}">${status}</span> ${escape_html(source)}`));
}
