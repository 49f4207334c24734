// SPDX-License-Identifier: MIT
// Step by step: the machine instructions of a product, if they are known.

const SCHEDULES = DATA.schedules;

/** [first, count, first, count, ...] as numbers. */
function unspanned(spans) {
  const numbers = [];
  for (let i = 0; i < spans.length; i += 2) for (let x = 0; x < spans[i + 1]; x++) numbers.push(spans[i] + x);
  return numbers;
}

/** The schedule of an instruction on a chip, as objects; null where it is one machine instruction, or not known.
 *
 * If several compilers' sequences are known, it is the named one, or else the newest. */
function schedule_of(entry, chip, wanted) {
  const groups = entry.kind === "product" ? SCHEDULES.of[ENTRIES.indexOf(entry)] : null;
  const there = (groups ?? []).filter(([mask]) => (mask >> chip.bit) & 1);
  if (!there.length) return null;
  const lowerings = there.map(([, head]) => SCHEDULES.heads[head][0]);
  const found = there[Math.max(0, lowerings.indexOf(wanted))];
  const [lowering, machine, sums, before, after, inside, finish, note, source, status, m, n, terms] = SCHEDULES.heads[found[1]];
  const held = (number) => {
    if (number < 0) return null;
    const [lanes, registers, elements] = SCHEDULES.held[number].map(unspanned);
    return { lanes, registers, elements };
  };
  const none = (x) => (x < 0 ? null : x);
  const part = (number) => {
    const [threadgroup, octet, matrix, top, bottom, left, right, a, b, c, d, b_threadgroup] = SCHEDULES.parts[number];
    return { threadgroup: none(threadgroup), octet: none(octet), matrix, rows: [top, bottom], cols: [left, right],
      a: held(a), b: held(b), c: held(c), d: held(d), b_threadgroup: none(b_threadgroup) };
  };
  const steps = SCHEDULES.bodies[found[2]].map((which, number) => {
    const [opcode, set, step, ks, rounded, start, transposed, parts] = SCHEDULES.steps[which];
    return { number, opcode, set: none(set), step: none(step), ks: unspanned(ks), rounded: rounded.map(unspanned), start,
      transposed: Boolean(transposed), parts: parts.map(part) };
  });
  return { entry, lowering, lowerings, machine, sums, before, after, inside, finish, note, source, status, shape: [m, n, terms], steps };
}

function schedule_now() { return schedule_of(now.entry, now.chip, now.lowering); }

const STARTS = { c: "C", d: "what the instructions before left", zero: "zero" };
const register_names = (letter, held) => (held ? spans(held.registers).replace(/\d+/g, (x) => letter + x) : "–");

const ORDINALS = ["first", "second"];

/** The registers that a step adds to and writes: C or D, or separate sums that become D at the end. */
function sums_names(schedule, step) {
  const { finish } = schedule;
  const each = finish === "add_c" || finish === "add_sums_and_c";  // each step then has its own sums
  const name = each ? ORDINALS[step.number] : finish === "none" ? "d" : "sums";
  const before = each ? ORDINALS[step.number - 1] : name;
  const converted = finish === "none" && step.set === null && schedule.entry.formats[3] !== schedule.sums ? ` as ${schedule.sums}` : "";
  const registers = (what, held) => {
    if (what.length === 1) return register_names(what, held);
    const runs = runs_of(held.registers).map(([first, count]) => upto(first, count));
    return `${what} ${runs.join(", ")}`;
  };
  return {
    adds: (part) => (part.c ? (step.start === "d" ? registers(before, part.c) : register_names("c", part.c) + converted) : "zero"),
    writes: (part) => registers(name, part.d),
  };
}

/** Ascending numbers as runs of neighbours: [first, count] of each. */
function runs_of(numbers) {
  const runs = [];
  for (const x of numbers) {
    const last = runs.at(-1);
    if (last && last[0] + last[1] === x) last[1]++;
    else runs.push([x, 1]);
  }
  return runs;
}

function schedule_panel(into, schedule, chosen, turn, lower) {
  const { steps, entry } = schedule;
  const number = Math.min(chosen, steps.length - 1), step = steps[number];
  const packed = entry.metadata ? "A is packed: k counts its elements, and B is drawn with the rows that they meet, which metadata says" : "";
  const focused = document.activeElement?.dataset?.step;
  into.replaceChildren(make("h2", {}, `${escape_html(schedule.machine)}`), make("p", { class: "quiet" },
    `${[packed, schedule.before, schedule.inside, schedule.after, schedule.note].filter(Boolean).map((x) => `${escape_html(x[0].toUpperCase() + x.slice(1))}.`).join(" ")}`));
  if (schedule.lowering !== "native") {
    const choice = make("div", { class: "bar", role: "group", "aria-label": "Lowering" }, "<span>As lowered by</span>");
    for (const name of schedule.lowerings) {
      const one = make("button", { type: "button", "aria-pressed": String(name === schedule.lowering), "data-lowering": name },
        name.replace("-", " "));
      one.addEventListener("click", () => {
        lower(name);
        into.querySelector(`[data-lowering="${name}"]`)?.focus();
      });
      choice.append(one);
    }
    into.append(choice);
  }
  const bar = make("div", { class: "stepper", role: "group", "aria-label": "Machine instructions" });
  const button = (name, text, to, off) => {
    const node = make("button", { type: "button", "data-step": name, ...(off ? { disabled: "" } : {}) }, text);
    node.addEventListener("click", () => turn(to));
    return node;
  };
  const slider = make("input", { type: "range", min: "0", max: String(steps.length - 1), value: String(number), "data-step": "slider",
    "aria-label": "Machine instruction", "aria-valuetext": `instruction ${number} of 0 to ${steps.length - 1}` });
  slider.addEventListener("input", () => turn(Number(slider.value)));
  bar.append(button("back", "◀ Back", number - 1, number === 0), slider, button("next", "Next ▶", number + 1, number === steps.length - 1),
    make("strong", {}, `Instruction ${number} of 0 to ${steps.length - 1}`));
  into.append(bar);
  const named = step.set !== null ? `, set ${step.set}, step ${step.step}` : "";
  into.append(make("p", { class: "step-head", role: "status" },
    `<code>${step.opcode}</code>${named}: adds the ${bitwise_of(entry) ? `ones of A ${bitwise_of(entry)} B at` : "products of"} <b>k = ${spans(step.ks)}</b> to <b>${STARTS[step.start]}</b>${
      step.parts.length > 1 ? "" : `, for rows ${upto(step.parts[0].rows[0], step.parts[0].rows[1] - step.parts[0].rows[0])} and columns ${upto(step.parts[0].cols[0], step.parts[0].cols[1] - step.parts[0].cols[0])} of D`}.${
      step.rounded.length > 1 ? ` Inside, k is summed and rounded in turn: ${step.rounded.map(spans).join("; then ")}.` : ""}${
      step.transposed ? " The machine's first operand is B: it computes the transpose." : ""}`));
  const figure = make("div", { class: "scroll" });
  figure.innerHTML = schedule_figure(schedule, number);
  const walk = make("div", { class: "walk" });
  walk.append(figure, parts_table(schedule, step));
  into.append(walk);
  into.append(make("p", { class: "quiet" }, `<span class="status ${schedule.status}">${schedule.status}</span> ${escape_html(schedule.source)}`));
  if (focused) (into.querySelector(`[data-step="${focused}"]:not([disabled])`) ?? slider).focus();
}

const part_colour = (part) => (part.threadgroup === null ? lane_colour(2) : lane_colour(4 * part.threadgroup + 2));

/** Draw A, B and D of a step: the blocks read and written, and the terms added to each element of D so far. */
function schedule_figure(schedule, number) {
  const [m, n, terms] = schedule.shape;
  const { steps } = schedule, step = steps[number], { writes } = sums_names(schedule, step);
  const matrices = 1 + Math.max(...step.parts.map((x) => x.matrix));
  const size = matrices > 1 ? 20 : Math.max(9, Math.min(17, Math.floor(288 / Math.max(m, n))));
  const deep = Math.max(4, Math.min(size, Math.floor(208 / terms)));
  const side = 30, gap = 26, top = 24;
  const left = side + terms * deep + gap, above = top + terms * deep + gap;
  const block = [left + n * size + 24, above + m * size + 20];
  const beside = matrices > 1 ? 2 : 1;
  const out = [];
  for (let matrix = 0; matrix < matrices; matrix++) {
    const x = (matrix % beside) * block[0], y = Math.floor(matrix / beside) * block[1];
    const parts = step.parts.filter((p) => p.matrix === matrix);
    const grid = (gx, gy, rows, cols, w, h, name) => {
      out.push(svg_text(gx, gy - 8, name, "heading start"), svg_rect(gx, gy, cols * w, rows * h, "cells", ' fill="none" stroke="#8c959f"'));
      for (let i = 4; i < rows; i += 4) out.push(`<line x1="${gx}" x2="${gx + cols * w}" y1="${gy + i * h}" y2="${gy + i * h}" stroke="#8c959f" stroke-opacity="0.4"/>`);
      for (let j = 4; j < cols; j += 4) out.push(`<line x1="${gx + j * w}" x2="${gx + j * w}" y1="${gy}" y2="${gy + rows * h}" stroke="#8c959f" stroke-opacity="0.4"/>`);
    };
    // Blocks that several threadgroups share have a stripe and a name for each.
    const box = (px, py, w, h, sharing, label, kind) => {
      const [part] = sharing;
      const stripes = sharing.map((x, i) => `<rect x="${px + (i * w) / sharing.length}" y="${py}" width="${w / sharing.length}" height="${h}" fill="${part_colour(x)}"/>`).join("");
      const lines = [];
      for (let i = 0; i < label.length; i += Math.max(1, Math.floor(w / 30))) lines.push(label.slice(i, i + Math.max(1, Math.floor(w / 30))).join(" "));
      const names = w > 24 && h > 12 * lines.length ? lines.map((text, i) => `<text x="${px + w / 2}" y="${py + h / 2 + 4 + 12 * (i - (lines.length - 1) / 2)}" style="fill:${INK}">${text}</text>`).join("") : "";
      out.push(`<g class="part ${kind}" data-threadgroup="${sharing.map((x) => x.threadgroup ?? "").join(" ")}" data-rows="${part.rows.join(" ")}" data-cols="${part.cols.join(" ")}" data-matrix="${matrix}">`
        + `${stripes}<rect x="${px}" y="${py}" width="${w}" height="${h}" fill="none" stroke="${INK}" stroke-width="1.5"/>${names}</g>`);
    };
    const names_of = (sharing) => (sharing[0].threadgroup === null ? [] : sharing.map((x) => `TG${x.threadgroup}`));
    const shared = (axis) => [...new Set(parts.map((x) => x[axis].join(" ")))].map((key) => parts.filter((x) => x[axis].join(" ") === key));
    const suffix = matrices > 1 ? ` of product ${matrix}` : "";
    grid(x + side, y + above, m, terms, deep, size, `A${schedule.entry.metadata ? ", packed" : ""}${suffix}`);
    grid(x + left, y + top, terms, n, size, deep, `B${schedule.entry.metadata ? ", rows that A meets" : ""}${suffix}`);
    grid(x + left, y + above, m, n, size, size, `D${suffix}`);
    for (const [k0, kn] of runs_of(step.ks)) for (const sharing of shared("rows"))
      box(x + side + k0 * deep, y + above + sharing[0].rows[0] * size, kn * deep, (sharing[0].rows[1] - sharing[0].rows[0]) * size, sharing, names_of(sharing), "of-a");
    for (const [k0, kn] of runs_of(step.ks)) for (const sharing of shared("cols"))
      box(x + left + sharing[0].cols[0] * size, y + top + k0 * deep, (sharing[0].cols[1] - sharing[0].cols[0]) * size, kn * deep, sharing, names_of(sharing), "of-b");
    const sum = Array.from({ length: m * n }, () => 0);
    for (const earlier of steps.slice(0, number))
      for (const part of earlier.parts.filter((p) => p.matrix === matrix))
        for (let r = part.rows[0]; r < part.rows[1]; r++) for (let c = part.cols[0]; c < part.cols[1]; c++) sum[r * n + c] += earlier.ks.length;
    sum.forEach((done, i) => {
      if (done) out.push(`<rect x="${x + left + (i % n) * size + 1}" y="${y + above + Math.floor(i / n) * size + 1}" width="${size - 2}" height="${size - 2}" fill="#8c959f" fill-opacity="${(0.5 * Math.min(1, done / terms)).toFixed(2)}" class="done" data-done="${done}"/>`);
    });
    for (const part of parts) box(x + left + part.cols[0] * size, y + above + part.rows[0] * size, (part.cols[1] - part.cols[0]) * size, (part.rows[1] - part.rows[0]) * size, [part],
      part.threadgroup === null ? [writes(part)] : names_of([part]), "of-d");
  }
  const title = `Instruction ${number} of 0 to ${steps.length - 1}: ${step.opcode}, k ${spans(step.ks)}; grey is what earlier steps have made`;
  return `<svg xmlns="http://www.w3.org/2000/svg" class="figure steps" width="${beside * block[0]}" height="${Math.ceil(matrices / beside) * block[1]}" viewBox="0 0 ${beside * block[0]} ${Math.ceil(matrices / beside) * block[1]}" role="img" aria-label="${escape_html(title)}">${out.join("")}</svg>`;
}

function parts_table(schedule, step) {
  const { adds, writes } = sums_names(schedule, step);
  const lanes = (held) => (held ? `T${spans(held.lanes)}` : "–");
  const several = step.parts.length > 1;
  const lines = step.parts.map((part) => `<tr>${several ? `<th scope="row" style="background:${part_colour(part)};color:${INK}">threadgroup ${part.threadgroup}${part.octet === null ? "" : `, octet ${part.octet}`}</th>` : ""}
    <td>${lanes(part.d)}</td><td>${upto(part.rows[0], part.rows[1] - part.rows[0])}</td><td>${upto(part.cols[0], part.cols[1] - part.cols[0])}</td>
    <td>${register_names("a", part.a)}</td><td>${register_names("b", part.b)}${part.b && several && part.b_threadgroup !== null && part.b_threadgroup !== part.threadgroup ? ` of threadgroup ${part.b_threadgroup}` : ""}</td>
    <td>${adds(part)}</td><td>${writes(part)}</td></tr>`).join("");
  const box = make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Registers of the instruction" });
  box.innerHTML = `<table class="parts"><caption class="unseen">The blocks of each threadgroup in this instruction</caption><thead><tr>${several ? '<th scope="col">threadgroup</th>' : ""}<th scope="col">lanes</th><th scope="col">rows of D</th><th scope="col">columns</th>`
    + `<th scope="col">reads of A</th><th scope="col">of B</th><th scope="col">adds to</th><th scope="col">writes</th></tr></thead><tbody>${lines}</tbody></table>`;
  return box;
}
