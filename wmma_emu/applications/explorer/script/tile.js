// SPDX-License-Identifier: MIT
// A tile that several warps multiply: the warp, lane and register of each element.
//
// Warps are numbered along m first, and are adjacent; if a warp computes several products, the tile of all
// warps is repeated, along m and along n. That is CuTe's TiledMMA<Atom, Layout<Shape<M, N, _1>>> without a permutation.

const TILE_WARPS = ["1x1", "2x1", "1x2", "2x2", "4x1", "1x4", "4x2", "2x4", "4x4", "8x1"];
const TILE_REPEATS = ["1x1", "2x1", "1x2", "2x2", "1x4", "2x4", "4x2", "4x4"];
const pair_of = (text) => text.split("x").map(Number);

/** Whether an instruction can be tiled: it must be of one warp, and of one product. */
const can_tile = (entry) => entry.kind === "product" && !entry.family.startsWith("wgmma") && Object.values(operands_of(entry, chips_of(entry)[0])).every((x) => x.layout?.matrices === 1);

/** The rows and columns of an operand's tile, and the number of products along each. */
function tile_size(operand, warps, repeats) {
  const [along_m, along_n] = pair_of(warps).map((x, i) => x * pair_of(repeats)[i]), { letter, layout } = operand;
  const down = letter === "B" ? 1 : along_m, across = letter === "A" ? 1 : along_n;
  return { rows: layout.rows * down, cols: layout.cols * across, down, across };
}

/** The warps that hold a block of an operand, and its products: [i, j], null for all. */
function tile_block(letter, block_row, block_col, warps) {
  const [wide_m, wide_n] = pair_of(warps);
  const m = letter === "B" ? null : block_row, n = letter === "A" ? null : block_col;
  const ms = m === null ? range(wide_m) : [m % wide_m], ns = n === null ? range(wide_n) : [n % wide_n];
  return { warps: ns.flatMap((y) => ms.map((x) => x + wide_m * y)).sort((a, b) => a - b),
    product: [m === null ? null : Math.floor(m / wide_m), n === null ? null : Math.floor(n / wide_n)] };
}

/** The position of an element of the tile: the warps that hold it, its index in their operand, and the products. */
function tile_place(operand, warps, row, col) {
  const { letter, layout } = operand, cell = layout.number_of(row % layout.rows, col % layout.cols);
  return { ...tile_block(letter, Math.floor(row / layout.rows), Math.floor(col / layout.cols), warps), cell, holders: layout.holders[cell] };
}

/** Elements of the tile that a lane of a warp holds at an index, one for each product: [row, col]. */
function tile_holders(operand, warps, repeats, warp, lane, index) {
  const { down, across } = tile_size(operand, warps, repeats), { letter, layout } = operand, cell = layout.cell(index, lane), found = [];
  for (let i = 0; i < down; i++)
    for (let j = 0; j < across; j++)
      if (tile_block(letter, i, j, warps).warps.includes(warp)) found.push([i * layout.rows + layout.row(cell), j * layout.cols + layout.col(cell)]);
  return found;
}

/** Parse a question about the tile. */
function read_tile_spot(text, entry, letter) {
  const all = operands_of(entry, now.chip), [wide_m, wide_n] = pair_of(now.warps);
  const legal = (what, value, count) => {
    if (value >= count) throw new Misread(`There is no ${what} ${cut(String(value))} here; legal ${count > 1 ? `values are 0 to ${count - 1}` : "is only 0"}.`);
    return Number(value);
  };
  const held = text.match(/^([abcd])?\s*:?\s*warp\s*[:=]?\s*(\d+)\s*,?\s*(?:lane|thread|t|l)\s*[:=]?\s*(\d+)\s*,?\s*(?:x|element|index)\s*[:=]?\s*\[?\s*(\d+)\s*\]?(?:\s*,?\s*(?:of\s+)?([abcd]))?$/i);
  if (held) {
    const which = (held[1] ?? held[5] ?? letter).toUpperCase(), { layout } = all[which];
    const [warp, lane, index] = [legal("warp", integer(held[2]), wide_m * wide_n), legal("lane", integer(held[3]), 32), legal(`element x of ${which}`, integer(held[4]), layout.elements)];
    return { kind: "held", letter: which, warp, lane, index, text: `${which}: warp ${warp} lane ${lane} x${index}` };
  }
  const place = read_place(text);
  if (!place) return null;
  const which = (place.letter ?? letter).toUpperCase(), operand = all[which];
  if (!operand || place.matrix !== undefined) return null;
  const { rows, cols } = tile_size(operand, now.warps, now.repeats);
  const within = (what, value, count) => {
    if (value >= count) throw new Misread(`The tile of ${which} has ${plural(count, what)}: there is no ${what} ${cut(String(value))}; legal values are 0 to ${count - 1}. More warps, or more products a warp, make it larger.`);
    return Number(value);
  };
  const [row, col] = [within("row", place.row, rows), within("column", place.col, cols)];
  return { kind: "element", letter: which, row, col, text: `${which}[${row}][${col}]` };
}

/** The number of an element among all of a lane's, those of all products of its warp: products count along m first. */
function tile_value(operand, repeats, [i, j], index) {
  const block = operand.letter === "A" ? i : operand.letter === "B" ? j : i + pair_of(repeats)[0] * j;
  return block * operand.layout.elements + index;
}

/** A sentence on the products of a warp that an element belongs to. */
function product_name(operand, [i, j], repeats, index) {
  if (repeats === "1x1") return "";
  const value = tile_value(operand, repeats, [i, j], index);
  const all = ` Of all elements that the lane holds of ${operand.letter}, it is number ${strong(String(value))}, in register ${strong(operand.register + operand.layout.register(value))}.`;
  if (i === null) return ` It is B of the products in column ${j} of the warp's products.${all}`;
  return j === null ? ` It is A of the products in row ${i} of the warp's.${all}` : ` It belongs to product (${i}, ${j}) of the warp's.${all}`;
}

function tile_answer(spot, entry, chip, operands, warps, repeats) {
  const operand = operands[spot.letter], of = `<span class="of">of the tile of ${pair_of(warps).join(" × ")} warps of <code>${escape_html(entry.short)}</code> on ${chip.name}</span>`;
  if (spot.kind === "held") {
    const found = tile_holders(operand, warps, repeats, spot.warp, spot.lane, spot.index).map(([row, col]) => strong(`${spot.letter}[${row}][${col}]`));
    return { head: `${strong(`Lane ${spot.lane} of warp ${spot.warp}`)} holds in ${strong(`x[${spot.index}]`)} of ${spot.letter}: ${found.slice(0, 16).join(", ")} ${of}.`,
      more: found.length > 1 ? `<p>One for each of its ${found.length} ${spot.letter === "A" ? "rows" : spot.letter === "B" ? "columns" : "products"}${found.length > 16 ? ", of which 16 are named" : ""}.</p>` : "" };
  }
  const { warps: holding, product, cell, holders } = tile_place(operand, warps, spot.row, spot.col), [[index, lane]] = holders;
  const place = `register ${strong(operand.register + operand.layout.register(index))}, ${strong(bits_name(operand, index, entry))}`;
  const lanes = [...new Set(holders.map((x) => x[1]))];
  return { head: `${strong(spot.text)} ${of} is element ${strong(`x[${index}]`)} of ${strong(`lane ${lane} of warp${holding.length > 1 ? "s" : ""} ${spans(holding)}`)} (${place}).`,
    more: `<p>There it is ${short_name(operand, cell)}${lanes.length > 1 ? `, copies of which are in lanes ${spans(lanes.sort((a, b) => a - b))}` : ""}.${product_name(operand, product, repeats, index)} Thread ${holding.length > 1 ? "numbers" : "number"} in the block, if it has no other warps: ${holding.map((warp) => 32 * warp + lane).join(", ")}.</p>` };
}

const warp_colour = (warp) => lane_colour((4 * warp + 2 * (warp >> 3)) % 32);

/** Draw A left of D and B above it, a box for each product's part. */
function tile_figure(entry, operands, warps, repeats, spot) {
  const sizes = Object.fromEntries(["A", "B", "D"].map((letter) => [letter, tile_size(operands[letter], warps, repeats)]));
  const fit = (room, count, most) => Math.max(0.6, Math.min(most, room / count));
  const row = fit(420, sizes.D.rows, 7), col = fit(520, sizes.D.cols, 9), k = fit(170, sizes.A.cols, 7);
  const [side, top, gap] = [40, 40, 60], left = side + sizes.A.cols * k + gap, above = top + sizes.B.rows * k + gap - 8, out = [];
  const draw = (letter, x, y, across, down) => {
    const { rows, cols, down: blocks_down, across: blocks_across } = sizes[letter], { layout } = operands[letter];
    const [wide, high] = [layout.cols * across, layout.rows * down];
    out.push(svg_text(x, y - 22, `${letter}: ${rows} × ${cols} ${operands[letter].format}`, "heading start"));
    for (let i = 0; i < blocks_down; i++)
      for (let j = 0; j < blocks_across; j++) {
        const { warps: holding, product } = tile_block(letter, i, j, warps), name = `w${holding.join(" w")}`;
        const fills = holding.map((w, nth) => `<rect x="${(x + j * wide + (nth * wide) / holding.length).toFixed(2)}" y="${(y + i * high).toFixed(2)}" width="${(wide / holding.length).toFixed(2)}" height="${high.toFixed(2)}" fill="${warp_colour(w)}"/>`).join("");
        const texts = [name, ...(repeats !== "1x1" && high > 30 ? [`(${product.map((p) => p ?? "·").join(", ")})`] : [])];
        const shown = 7 * name.length < wide ? texts : name.length > 3 && wide > 26 ? [`${holding.length} warps`].filter((t) => 6 * t.length < wide) : [];
        out.push(`<g class="tile-block" data-letter="${letter}" data-row="${i}" data-col="${j}" data-warps="${holding.join(" ")}">${fills}<rect x="${(x + j * wide).toFixed(2)}" y="${(y + i * high).toFixed(2)}" width="${wide.toFixed(2)}" height="${high.toFixed(2)}" fill="none" stroke="${INK}" stroke-width="0.8" class="whole"/>`
          + shown.map((t, nth) => svg_text(x + (j + 0.5) * wide, y + (i + 0.5) * high + 4 + 13 * (nth - (shown.length - 1) / 2), t, "inside")).join("") + "</g>");
      }
    for (let i = 0; i < blocks_down; i++) if (high > 11 || i === 0) out.push(svg_text(x - 5, y + i * high + 10, String(i * layout.rows), "ruler end"));
    for (let j = 0; j < blocks_across; j++) if (wide > 24 || j === 0) out.push(svg_text(x + j * wide + 2, y - 6, String(j * layout.cols), "ruler start"));
    const marks = !spot || spot.letter.replace("C", "D") !== letter ? [] : spot.kind === "element" ? [[spot.row, spot.col]] : tile_holders(operands[spot.letter], warps, repeats, spot.warp, spot.lane, spot.index);
    for (const [r, c] of marks) out.push(`<rect x="${(x + c * across - 3).toFixed(1)}" y="${(y + r * down - 3).toFixed(1)}" width="${(across + 6).toFixed(1)}" height="${(down + 6).toFixed(1)}" class="spot" fill="none" stroke="#0a58b8" stroke-width="3"/>`);
  };
  draw("D", left, above, col, row);
  draw("A", side, above, k, row);
  draw("B", left, top, col, k);
  const size = [left + sizes.D.cols * col + 12, above + sizes.D.rows * row + 10].map(Math.ceil);
  return `<svg xmlns="http://www.w3.org/2000/svg" class="figure tile" width="${size[0]}" height="${size[1]}" viewBox="0 0 ${size.join(" ")}" role="img" aria-label="Which warps hold which parts of A, B and D of a tile of ${escape_html(entry.short)}">${out.join("")}</svg>`;
}

function tile_panel(into, entry, operands, letter, warps, repeats, spot, turn, ask_spot) {
  const bar = (title, name, values, chosen) => {
    const made = make("div", { class: "bar", role: "group", "aria-label": title }, `<span>${title}</span>`);
    for (const x of values) {
      const button = make("button", { type: "button", "aria-pressed": String(x === chosen), [`data-${name}`]: x }, x.replace("x", " × "));
      button.addEventListener("click", () => { turn(name, x); into.querySelector(`[data-${name}="${x}"]`)?.focus(); });
      made.append(button);
    }
    return made;
  };
  const { rows, cols } = tile_size(operands.D, warps, repeats), count = pair_of(warps)[0] * pair_of(warps)[1];
  const figure = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Picture of the tile" }, tile_figure(entry, operands, warps, repeats, spot));
  figure.querySelector("svg").addEventListener("click", (event) => {
    const node = event.target.closest(".tile-block");
    if (!node) return;
    const box = node.querySelector(".whole").getBoundingClientRect(), { layout } = operands[node.dataset.letter];
    const [x, y] = [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height].map((v) => Math.min(0.999, Math.max(0, v)));
    ask_spot(`${node.dataset.letter}[${Number(node.dataset.row) * layout.rows + Math.floor(y * layout.rows)}][${Number(node.dataset.col) * layout.cols + Math.floor(x * layout.cols)}]`);
  });
  into.replaceChildren(make("h2", {}, `A tile of ${rows} × ${cols}, by ${plural(count, "warp")}`), make("p", { class: "quiet" },
    "Warps are numbered along m first. The warps of a row read the same rows of A, those of a column the same columns of B. With several products a warp, the tile of all warps is repeated, as by CuTe's TiledMMA without a permutation. "
    + "Point at a place, or ask: D[20][12], A[17][3], warp 1 lane 5 x2."),
    bar("Warps along m × n", "warps", TILE_WARPS, warps), bar("Products a warp", "repeats", TILE_REPEATS, repeats), figure,
    make("p", { class: "quiet" }, "The other views show the position of an element within its product, and the sources."));
}
