// SPDX-License-Identifier: MIT
// Choosing a chip, an instruction, an operand; pinning a mark.

function choose_entry(entry, letter = now.letter, mark = null) {
  if (!is_on(entry, now.chip)) {
    const before = now.chip;
    now.chip = chip_for(entry, before);
    say(`${entry.short} is not on ${before.name}; the chip is now ${now.chip.name}.`);
  }
  const lane = now.mark?.kind === "lane" ? now.mark.lane : null;
  Object.assign(now, { entry, warp: 0, part: 0, selector: 0, feed: 0, step: 0, mark });
  operands = operands_of(entry, now.chip);
  now.letter = letter in operands ? letter : Object.keys(operands)[0];
  const layout = operand_now().layout;
  if (!mark && lane !== null && layout && lane < layout.lanes) now.mark = { letter: now.letter, kind: "lane", lane };
  if (mark) show_mark_in_window();
  keep();
  show();
}

function choose_chip(chip) {
  now.chip = chip;
  if (!is_on(now.entry, chip)) {
    const wanted = now.entry, found = nearest(wanted, chip);
    choose_entry(found);
    say(`${chip.name} has no ${wanted.short}; shown is ${found.short}.`);
    return;
  }
  choose_entry(now.entry, now.letter);
}

function choose_operand(letter) {
  now.letter = letter;
  if (now.mark?.kind === "lane") now.mark = { ...now.mark, letter };
  if (!operand_now().layout && now.mark?.letter === letter) now.mark = null;
  keep();
  show();
}

/** Pin a mark, or let go of it. */
function pin(mark, how = "push") {
  now.mark = mark;
  if (mark) show_mark_in_window();
  keep(how);
  if (mark && mark.letter !== now.letter && operands[mark.letter].layout) {
    now.letter = mark.letter;
    keep("replace");
    show();
  } else if (!draw_pictures()) light();
}

/** Of a wide operand, turn to the warp and columns where the mark is. */
function show_mark_in_window() {
  const { mark } = now, layout = mark && operands[mark.letter].layout;
  if (!layout || layout.lanes === 32) return;
  if (mark.lane !== undefined) now.warp = mark.lane >> 5;
  const { parts } = window_of(layout, 0, 0);
  const index = mark.kind === "register" ? mark.register * layout.packed : mark.index;
  if (parts > 1 && index !== undefined) now.part = index >> 4;
}
