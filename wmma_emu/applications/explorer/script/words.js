// SPDX-License-Identifier: MIT
// Names of lanes, elements and bits.

const escape_html = (text) => String(text).replace(/[&<>"]/g, (x) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[x]);
const upto = (first, count) => (count === 1 ? `${first}` : `${first}–${first + count - 1}`);
const cut = (text) => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
const plural = (count, what, many = `${what}s`) => `${count} ${count === 1 ? what : many}`;

/** "xor" or "and" where single bits are not multiplied: the ones of A xor B, or of A and B, are counted. */
const bitwise_of = (entry) => entry.name.match(/\.(xor|and)\.popc/)?.[1];

/** Name a lane; in a warpgroup, a thread. */
function lane_name(layout, lane) {
  return layout.lanes > 32 ? `thread ${lane} (warp ${lane >> 5}, lane ${lane % 32})` : `lane ${lane}`;
}

/** Name an element of an operand's matrix. */
function element_name(operand, cell) {
  const layout = operand.layout;
  const several = layout.matrices > 1 && operand.letter !== "R";
  return short_name(operand, cell) + (several ? ` of product ${layout.matrix(cell)}` : "");
}

/** Name an element without its product. */
function short_name(operand, cell) {
  const layout = operand.layout;
  return `${operand.letter === "R" ? `M${layout.matrix(cell)}` : operand.matrix ?? operand.letter}[${layout.row(cell)}][${layout.col(cell)}]`;
}

/** The lowest bit of an element in its register, and its number of bits, without padding. */
function bits_of(operand, index, entry) {
  const { layout } = operand;
  const width = operand.width ?? (entry?.kind === "move" ? Math.min(entry.sourceBits, layout.bits) : layout.bits);
  return [layout.bit(index) + (operand.shift ?? 0), width];
}

/** Name the bits that an element takes in its register. */
function bits_name(operand, index, entry) {
  const [low, width] = bits_of(operand, index, entry);
  return `bit${width === 1 ? "" : "s"} ${upto(low, width)}`;
}

/** Whether an element has padding around it. */
const is_padded = (operand) => operand.width < operand.layout?.bits;
