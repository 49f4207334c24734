// SPDX-License-Identifier: MIT
// Layouts: from weights of bits to elements, and back.

const DATA = JSON.parse(document.getElementById("data").textContent);

/** Sum of the weights of the bits that are set in a number. */
function weigh(number, weights) {
  let total = 0;
  for (let bit = 0; bit < weights.length; bit++) if ((number >> bit) & 1) total += weights[bit];
  return total;
}

/** A layout decoded from the page's data: the element that a lane holds at an index, and the lanes that hold an element. */
class Layout {
  constructor([rows, cols, matrices, bits, elements, read, laneWeights, indexWeights], number) {
    Object.assign(this, { rows, cols, matrices, bits, elements, read, laneWeights, indexWeights, number });
    this.lanes = 1 << laneWeights.length;
    this.registerBits = Math.max(bits, 32);
    this.packed = this.registerBits / bits;
    this.registers = elements / this.packed;
  }

  /** Number of the matrix element: along rows, matrix after matrix. */
  cell(index, lane) { return weigh(lane, this.laneWeights) + weigh(index, this.indexWeights); }

  number_of(row, col, matrix = 0) { return (matrix * this.rows + row) * this.cols + col; }
  row(cell) { return Math.floor(cell / this.cols) % this.rows; }
  col(cell) { return cell % this.cols; }
  matrix(cell) { return Math.floor(cell / (this.rows * this.cols)); }
  register(index) { return Math.floor(index / this.packed); }
  bit(index) { return (index % this.packed) * this.bits; }

  /** All holders of each element, by lowest index and then lane: [index, lane] pairs for each cell. */
  get holders() {
    if (!this.known) {
      this.known = Array.from({ length: this.rows * this.cols * this.matrices }, () => []);
      for (let index = 0; index < this.elements; index++)
        for (let lane = 0; lane < this.lanes; lane++) this.known[this.cell(index, lane)].push([index, lane]);
    }
    return this.known;
  }

  /** Lanes that hold an element, ascending, each once. */
  lanes_of(cell) { return [...new Set(this.holders[cell].map(([, lane]) => lane))].sort((a, b) => a - b); }

  /** Whether the instruction reads copies in several lanes. */
  get reads_copies() { return this.read * this.lanes > this.rows * this.cols * this.matrices; }
}

/** Numbers 0 to count - 1. */
const range = (count) => Array.from({ length: count }, (_, i) => i);

/** "4–7, 9" of ascending numbers. */
function spans(numbers) {
  const parts = [];
  for (const x of numbers) {
    const last = parts.at(-1);
    if (last && last[1] === x - 1) last[1] = x;
    else parts.push([x, x]);
  }
  return parts.map(([a, b]) => (a === b ? `${a}` : b === a + 1 ? `${a}, ${b}` : `${a}–${b}`)).join(", ");
}
