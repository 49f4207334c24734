// SPDX-License-Identifier: MIT
// Choosing a chip, an instruction, an operand; pinning a mark.

function choose_entry(entry, letter = now.letter, mark = null, spot = "") {
  if (!is_on(entry, now.chip)) {
    const before = now.chip;
    now.chip = chip_for(entry, before);
    notice(`${entry.short} is not on ${before.name}; the chip is now ${now.chip.name}.`);
  } else notice("");
  const lane = now.mark?.kind === "lane" ? now.mark.lane : null;
  Object.assign(now, { entry, warp: 0, part: 0, selector: 0, scales: [0, 0, 0, 0], feed: 0, step: 0, lowering: "", mark, spot });
  operands = operands_of(entry, now.chip);
  now.letter = Object.hasOwn(operands, letter) ? letter : Object.keys(operands)[0];
  const layout = operand_now().layout;
  if (!mark && lane !== null && layout && lane < layout.lanes) now.mark = { letter: now.letter, kind: "lane", lane };
  if (mark) show_mark_in_window();
  keep();
  show();
}

function choose_chip(chip) {
  const { entry, mark } = now;
  now.chip = chip;
  if (!is_on(entry, chip)) {
    const found = nearest(entry, chip);
    choose_entry(found);
    notice(`${chip.name} does not support ${entry.short}; ${found.short} is shown.`);
    return;
  }
  const again = mark && same_question(mark);
  choose_entry(entry, now.letter, again);
  if (mark && !now.mark) notice(`The pinned element is not in ${entry.short} on ${chip.name}.`);
}

/** The mark on the newly chosen chip: the answer to the question, or else the same element of the matrix. */
function same_question(mark) {
  const before = operands[mark.letter].layout, there = operands_of(now.entry, now.chip), operand = there[mark.letter];
  if (asked?.mark === mark) {
    try {
      asked.mark = read_question(asked.place, { ...now, letter: mark.letter }).mark;
      return asked.mark;
    } catch (error) {
      if (error instanceof Misread) return null;
      throw error;
    }
  }
  const { layout } = operand;
  if (!layout || mark.lane >= layout.lanes || mark.register >= layout.registers) return null;
  if (mark.kind === "index") return mark.index < layout.elements ? mark : null;
  if (mark.kind !== "element") return mark;
  const [row, col, matrix] = [before.row(mark.cell), before.col(mark.cell), before.matrix(mark.cell)];
  return row < layout.rows && col < layout.cols && matrix < layout.matrices
    ? mark_of_cell(operand, layout.number_of(row, col, matrix)) : null;
}

function choose_operand(letter) {
  now.letter = letter;
  now.spot = "";
  if (now.mark?.kind === "lane") now.mark = { ...now.mark, letter };
  if (!operand_now().layout && now.mark?.letter === letter) now.mark = null;
  keep();
  show();
}

/** Pin a mark, or unpin it. */
function pin(mark, how = "push") {
  now.mark = mark;
  if (now.spot) {
    now.spot = "";
    keep(how);
    show_panel();
  }
  if (mark) show_mark_in_window();
  keep(how);
  if (mark && mark.letter !== now.letter && operands[mark.letter].layout) {
    now.letter = mark.letter;
    keep("replace");
    show();
  } else if (!draw_pictures()) light();
  reveal();
}

/** Scroll the figures, and not the page, to the first cell that the mark lights, unless one of them is in view. */
function reveal() {
  if (!now.mark) return;
  for (const id of ["matrix", "registers"]) {
    const box = at(id).querySelector(".scroll"), room = box.getBoundingClientRect();
    const lit = [...box.querySelectorAll(".cell.strong")];
    if (!lit.length) lit.push(...box.querySelectorAll(".cell.lit"));
    if (!lit.length || !room.width) continue;
    const bounds = lit.map((x) => x.getBoundingClientRect());
    const right = room.left + box.clientWidth, bottom = room.top + box.clientHeight;
    const inside = (x) => x.left >= room.left && x.right <= right && x.top >= room.top && x.bottom <= bottom;
    if (bounds.some(inside)) continue;
    const [first] = bounds, beside = 24;  // so that a neighbour is seen, too
    const by = (low, high, from, to) => (high > to ? high - to + beside : low < from ? low - from - beside : 0);
    box.scrollBy({ left: by(first.left, first.right, room.left, right), top: by(first.top, first.bottom, room.top, bottom), behavior: "instant" });
  }
  uncover();
}

/** Scroll the page where the answer, at the lower edge of a narrow screen, covers the tapped cell. */
function uncover() {
  const reply = at("reply");
  if (getComputedStyle(reply).position !== "fixed") return;
  const top = reply.getBoundingClientRect().top;
  const covered = [...document.querySelectorAll("#view-layout .cell.strong")].map((x) => x.getBoundingClientRect())
    .find((x) => x.bottom > top && x.top < innerHeight);
  if (covered) scrollBy({ top: covered.bottom - top + 24, behavior: "instant" });
}

/** In a wide operand, show the warp and columns of the mark. */
function show_mark_in_window() {
  const { mark } = now, layout = mark && operands[mark.letter].layout;
  if (!layout || layout.lanes === 32) return;
  if (mark.lane !== undefined) now.warp = mark.lane >> 5;
  const { parts } = window_of(layout, 0, 0);
  const index = mark.kind === "register" ? mark.register * layout.packed : mark.index;
  if (parts > 1 && index !== undefined) now.part = index >> 4;
}
