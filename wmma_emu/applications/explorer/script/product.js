// SPDX-License-Identifier: MIT
// All operands at once: A left of D, B above D, C at the right or below; small, on canvases.

const MAP_SIZES = { k: 136, m: 200, n: 190, cell: 12 };

/** The sizes of the cells along m, n and k, and whether C is below D. */
function scales(operands) {
  const { A, B, D } = operands;
  const wider = innerWidth >= 1800 ? 1.5 : innerWidth > 1180 && innerWidth < 1440 ? 0.82 : 1;
  const fit = (room, count, most = MAP_SIZES.cell) => Math.max(0.5, Math.min(most * wider, Math.floor((room * wider / count) * 2) / 2));
  const below = D.cols > 32 || innerWidth < 480;
  return { k: fit(D.cols > 32 ? 64 : MAP_SIZES.k, Math.max(A.cols, B.rows)), m: fit(MAP_SIZES.m, D.rows * D.layout.matrices),
    n: fit(D.cols > 32 ? 256 : 90, D.cols), below };
}

/** A small map of an operand, coloured by lane, highlighted like the pictures. */
class OperandMap {
  constructor(canvas, operand, entry, across, down) {
    Object.assign(this, { canvas, operand, entry, across, down });
    const { layout } = operand;
    const ratio = Math.max(1, Math.ceil(window.devicePixelRatio || 1));
    this.gap = layout.matrices > 1 ? 4 : 0;
    const per = layout.rows * down + this.gap;
    this.width = layout.cols * across;
    this.height = layout.matrices * per - this.gap;
    canvas.width = Math.ceil(this.width * ratio);
    canvas.height = Math.ceil(this.height * ratio);
    canvas.style.width = `${this.width}px`;
    canvas.style.height = `${this.height}px`;
    this.pen = canvas.getContext("2d");
    this.pen.scale(ratio, ratio);
    const [tall, wide] = grain_of(layout);
    this.places = [];
    for (let matrix = 0; matrix < layout.matrices; matrix++)
      for (let row = 0; row < layout.rows; row += tall)
        for (let col = 0; col < layout.cols; col += wide)
          this.places.push({ row, col, matrix, tall, wide, holders: layout.holders[layout.number_of(row, col, matrix)] });
    this.base = document.createElement("canvas");
    this.base.width = canvas.width;
    this.base.height = canvas.height;
    const pen = this.base.getContext("2d");
    pen.scale(ratio, ratio);
    for (const place of this.places) this.fill(pen, place);
  }

  box({ row, col, matrix, tall, wide }) {
    const top = matrix * (this.operand.layout.rows * this.down + this.gap);
    return [col * this.across, top + row * this.down, wide * this.across, tall * this.down];
  }

  fill(pen, place) {
    const [x, y, width, height] = this.box(place);
    const lanes = [...new Set(place.holders.map((h) => h[1]))];
    const gap = Math.min(width, height) >= 5 ? 0.5 : 0;
    lanes.forEach((lane, i) => {
      pen.fillStyle = lane_colour(lane);
      pen.fillRect(x + (i * width) / lanes.length, y, width / lanes.length - gap, height - gap);
    });
  }

  /** A thin outline within a cell: light colours alone are hard to see. */
  line(place, colour) {
    const [x, y, width, height] = this.box(place);
    this.pen.strokeStyle = colour;
    this.pen.lineWidth = 1;
    this.pen.strokeRect(x + 0.5, y + 0.5, width - 1, height - 1);
  }

  /** Draw the map with the highlighting of a mark. */
  draw(mark) {
    const { pen, operand, entry } = this;
    pen.clearRect(0, 0, this.width, this.height);
    pen.globalAlpha = mark ? 0.25 : 1;
    pen.drawImage(this.base, 0, 0, this.width, this.height);
    pen.globalAlpha = 1;
    this.lit = { strong: [], lit: [], band: [] };
    if (!mark) return;
    const light = light_of(mark, operand, entry);
    const line = getComputedStyle(this.canvas).color;
    const bands = [];
    for (const place of this.places) {
      const kind = lit(light, operand.layout, place);
      if (!kind) continue;
      if (kind === "band") pen.globalAlpha = 0.7;
      this.fill(pen, place);
      pen.globalAlpha = 1;
      if (kind !== "band" && Math.min(...this.box(place).slice(2)) >= 4) this.line(place, line);
      if (kind !== "band") this.lit[kind === "strong" ? "strong" : "lit"].push(place);
      if (kind.includes("band")) bands.push(place);
    }
    this.lit.band = bands;
    pen.strokeStyle = line;
    if (bands.length) {
      const boxes = bands.map((x) => this.box(x));
      const x = Math.min(...boxes.map((b) => b[0])), y = Math.min(...boxes.map((b) => b[1]));
      const right = Math.max(...boxes.map((b) => b[0] + b[2])), bottom = Math.max(...boxes.map((b) => b[1] + b[3]));
      pen.lineWidth = 1.5;
      pen.strokeRect(x + 0.75, y + 0.75, right - x - 1.5, bottom - y - 1.5);
    }
    for (const place of this.lit.strong) {
      const [x, y, width, height] = this.box(place);
      const grow = Math.max(0, 5 - Math.min(width, height)) / 2;
      pen.lineWidth = 2;
      pen.strokeRect(x - grow, y - grow, width + 2 * grow, height + 2 * grow);
    }
  }

  /** The element under a pointer, as a mark. */
  mark_at(event) {
    const { layout } = this.operand;
    const bounds = this.canvas.getBoundingClientRect();
    const px = ((event.clientX - bounds.left) * this.width) / bounds.width;
    const py = ((event.clientY - bounds.top) * this.height) / bounds.height;
    const per = layout.rows * this.down + this.gap;
    const matrix = Math.floor(py / per), row = Math.floor((py - matrix * per) / this.down), col = Math.floor(px / this.across);
    if (matrix < 0 || matrix >= layout.matrices || row < 0 || row >= layout.rows || col < 0 || col >= layout.cols) return null;
    return mark_of_cell(this.operand, layout.number_of(row, col, matrix));
  }
}

/** Build the arrangement into an element; returns the maps by letter. */
function draw_product(into, operands, entry, chosen, choose) {
  const maps = {};
  if (entry.kind === "move") {
    into.replaceChildren();
    return maps;
  }
  const size = scales(operands);
  into.className = `product${size.below ? " below" : ""}`;
  into.replaceChildren(...LETTERS.map((letter) => {
    const operand = operands[letter];
    const cell = document.createElement("div");
    cell.className = `operand at-${letter}`;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "name";
    button.setAttribute("aria-pressed", String(letter === chosen));
    button.innerHTML = `<b>${letter}</b> <span>${operand.rows} × ${operand.cols} ${operand.format}</span>`;
    button.addEventListener("click", () => choose(letter));
    cell.append(button);
    if (operand.layout) {
      const canvas = document.createElement("canvas");
      canvas.setAttribute("role", "img");
      canvas.setAttribute("aria-label", `Map of ${letter}: ${operand.rows} rows of ${operand.cols} elements, coloured by lane`);
      const across = letter === "A" ? size.k : size.n, down = letter === "B" ? size.k : size.m;
      maps[letter] = new OperandMap(canvas, operand, entry, across, down);
      cell.append(canvas);
    } else {
      const note = document.createElement("p");
      note.className = "absent";
      note.textContent = "in shared memory, read through a descriptor";
      cell.append(note);
    }
    return cell;
  }));
  return maps;
}
