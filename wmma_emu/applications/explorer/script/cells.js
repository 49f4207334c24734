// SPDX-License-Identifier: MIT
// The cells of a picture: pointing, clicking, and walking among them with the keys.

/** One cell of each picture can be reached by Tab: the last focused one, or a marked one, or the first. */
function set_entrance() {
  for (const id of ["matrix", "registers"]) {
    if (!drawn[id]) continue;
    for (const { node } of drawn[id].cells) node.setAttribute("tabindex", "-1");
    const chosen = now.mark && drawn[id].cells.find(({ node }) => Number(node.dataset.cell) === now.mark.cell && now.mark.letter === now.letter);
    (chosen ?? drawn[id].cells[0]).node.setAttribute("tabindex", "0");
  }
}

function mark_of_node(id, node) {
  const data = node.dataset;
  return id === "registers" ? mark_of_holder(operand_now(), Number(data.index), Number(data.lane))
    : mark_of_cell(operand_now(), Number(data.cell), Number(data.lane));
}

function neighbour(id, node, key, far) {
  const rows = [...drawn[id].svg.querySelectorAll('[role="row"]')].map((row) => [...row.querySelectorAll(".cell")]);
  const y = rows.findIndex((row) => row.includes(node)), x = rows[y].indexOf(node);
  const row = { ArrowUp: y - 1, ArrowDown: y + 1, PageUp: Math.max(0, y - 8), PageDown: Math.min(rows.length - 1, y + 8) }[key] ?? y;
  if (key === "Home") return far ? rows[0][0] : rows[y][0];
  if (key === "End") return far ? rows.at(-1).at(-1) : rows[y].at(-1);
  const col = { ArrowLeft: x - 1, ArrowRight: x + 1 }[key] ?? x;
  return rows[row]?.[Math.min(col, (rows[row]?.length ?? 0) - (key === "ArrowRight" ? 0 : 1))];
}

function watch_picture(id) {
  const box = at(id).querySelector(".scroll");
  const cell_of = (event) => event.target.closest?.(".cell");
  box.addEventListener("pointerover", (event) => { if (event.pointerType !== "touch") hover(cell_of(event) ? mark_of_node(id, cell_of(event)) : null); });
  box.addEventListener("pointerleave", () => hover(null));
  box.addEventListener("click", (event) => {
    const node = cell_of(event);
    if (!node) return;
    const mark = mark_of_node(id, node);
    move_to(id, node);
    pin(JSON.stringify(mark) === JSON.stringify(now.mark) ? null : mark);
  });
  box.addEventListener("focusin", (event) => {
    const node = cell_of(event);
    if (node && !now.mark && node.matches(":focus-visible")) hover(mark_of_node(id, node));
  });
  box.addEventListener("focusout", () => hover(null));
  box.addEventListener("keydown", (event) => {
    const node = cell_of(event);
    if (!node || event.altKey || event.metaKey) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      pin(mark_of_node(id, node));
      return;
    }
    if (!/^(Arrow|Home|End|Page)/.test(event.key)) return;
    event.preventDefault();
    const next = neighbour(id, node, event.key, event.ctrlKey);
    if (!next) return;
    move_to(id, next);
    next.focus();
    if (now.mark) pin(mark_of_node(id, next), "replace");
  });
}

function move_to(id, node) {
  for (const { node: other } of drawn[id].cells) if (other.getAttribute("tabindex") === "0") other.setAttribute("tabindex", "-1");
  node.setAttribute("tabindex", "0");
}
