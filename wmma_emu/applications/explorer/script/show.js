// SPDX-License-Identifier: MIT
// The display of the chosen instruction: lists, tabs, facts, pictures, and highlighting.

function say(text) { at("said").textContent = text; }

/** Show a notice, also to screen readers, when something else is shown than was requested; or clear it. */
function notice(text) {
  at("notice").textContent = text;
  at("notice").hidden = !text;
  if (text) say(text);
}

/** Redraw everything. */
function show() {
  hovered = null;
  show_choice();
  show_tabs();
  maps = {};
  drawn = {};
  if (now.entry.kind !== "tensor") {
    show_overview();
    draw_pictures();
  }
  show_panel();
  light();
  reveal();
}

const FACETS = [["family", "all families"], ["shape", "all shapes"], ["type", "all types"]];

function facets() { return Object.fromEntries(FACETS.map(([name]) => [name, at(name).value])); }

function show_choice() {
  const chip = at("chip");
  if (!chip.options.length)
    for (const x of CHIPS) chip.append(new Option(`${x.name} · ${x.generation}`, x.name));
  chip.value = now.chip.name;
  if (at("instruction") !== document.activeElement) show_name();
  at("mnemonic").textContent = now.entry.name;
  at("count").textContent = `on ${chips_of(now.entry).map((x) => x.name).join(" ")}`;
  show_links();
  show_facets();
  show_examples();
}

/** Suggest questions that the chosen instruction can answer. */
function show_examples() {
  const { layout, register } = operand_now();
  const buttons = document.querySelectorAll(".try");
  if (now.entry.kind === "tensor") {
    ["D[20][4]", "lane 52 column 4", "T52 r4", now.entry.row.sources[1] < 0 ? "A[9][3]" : "scale_A[40][0]"].forEach((text, i) => { buttons[i].textContent = text; });
    return;
  }
  if (!layout) return;
  const near = (wanted, count) => Math.min(wanted, count - 1);
  const texts = ["lane 5", `T5 ${register}${near(1, layout.registers)}`, `x${near(3, layout.elements)}`,
    `(${near(9, layout.rows)}, ${near(3, layout.cols)})`];
  document.querySelectorAll(".try").forEach((button, i) => { if (i < texts.length) button.textContent = texts[i]; });
}

/** Fill the lists of families, shapes and types with the options that match the others. */
function show_facets() {
  const chosen = facets();
  for (const [name, all] of FACETS) {
    const others = { ...chosen, [name]: "" };
    const there = new Set(search("", now.chip, others).filter((x) => is_on(x, now.chip)).map((x) => x[name]));
    const values = [...there].sort(name === "shape" ? (a, b) => a.localeCompare(b, "en", { numeric: true }) : () => 0);
    const select = at(name);
    select.replaceChildren(new Option(all, ""), ...values.map((x) => new Option(x, x)));
    select.value = there.has(chosen[name]) ? chosen[name] : "";
  }
}

const TABS = {
  layout: ["Layout", () => now.entry.kind !== "tensor"],
  tensor: ["Tensor memory", () => now.entry.kind === "tensor"],
  formulas: ["Formulas", () => now.entry.kind === "product"],
  loads: [null, () => (now.entry.kind === "move" && !now.entry.before) || (now.entry.family !== "wmma.mma" && Object.values(operands).some((x) => plans_for(x).length))],
  metadata: ["Metadata", () => Boolean(now.entry.metadata)],
  scales: ["Block scales", () => Boolean(now.entry.scales)],
  schedule: ["Step by step", () => Boolean(schedule_now())],
  tile: ["Tile of warps", () => can_tile(now.entry)],
  handout: ["Handout", () => true],
};

function tab_title(name) {
  if (name !== "loads") return TABS[name][0];
  if (now.entry.kind === "product") return "ldmatrix";
  return now.entry.family === "stmatrix" ? "What it stores" : "What it feeds";
}

function show_tabs() {
  const there = Object.keys(TABS).filter((x) => TABS[x][1]());
  if (!there.includes(now.tab)) [now.tab] = there;
  at("tabs").replaceChildren(...there.map((name) => {
    const chosen = name === now.tab;
    const tab = make("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-selected": String(chosen),
      "aria-controls": `view-${name}`, tabindex: chosen ? "0" : "-1" }, tab_title(name));
    tab.addEventListener("click", () => turn_to(name));
    return tab;
  }));
  const tab = at(`tab-${now.tab}`);
  at("tabs").scrollLeft = tab.offsetLeft + tab.offsetWidth > at("tabs").clientWidth ? tab.offsetLeft - 16 : 0;
  for (const name of Object.keys(TABS)) at(`view-${name}`).hidden = name !== now.tab;
}

function turn_to(name) {
  now.tab = name;
  keep();
  show_tabs();
  show_panel();
  if (name === "layout") {
    light();
    reveal();
  }
}

function show_panel() {
  const go = (entry, letter) => { now.tab = "layout"; choose_entry(entry, letter ?? now.letter); scrollTo({ top: 0 }); };
  const again = (name) => (value) => { now[name] = value; keep("replace"); show_panel(); };
  if (now.tab === "formulas") {
    formulas_panel(at("view-formulas"), operand_now(), now.language, again("language"));
    at("view-formulas").prepend(operand_bar());
  } else if (now.tab === "loads") {
    if (now.entry.kind === "move") feeds_panel(at("view-loads"), now.entry, now.chip, now.feed, again("feed"), go);
    else loads_panel(at("view-loads"), operands, now.chip, go);
  } else if (now.tab === "metadata") metadata_panel(at("view-metadata"), now.entry, now.selector, again("selector"));
  else if (now.tab === "scales") scales_panel(at("view-scales"), now.entry, now.scales, again("scales"));
  else if (now.tab === "schedule") schedule_panel(at("view-schedule"), schedule_now(), now.step, again("step"), again("lowering"));
  else if (now.tab === "tensor") {
    tensor_panel(at("view-tensor"), now.entry, now.chip, now.letter, now.load, now.spot && read_tensor_spot(now.spot, now.entry, now.letter),
      (name, value) => { if (name === "letter") now.spot = ""; now[name] = value; keep("replace"); show_panel(); light(); }, (entry) => choose_entry(entry), (text) => ask_here(text));
  } else if (now.tab === "tile") {
    tile_panel(at("view-tile"), now.entry, operands, now.letter, now.warps, now.repeats, now.spot && read_tile_spot(now.spot, now.entry, now.letter),
      (name, value) => { now.spot = ""; now[name] = value; keep("replace"); show_panel(); light(); }, (text) => ask_here(text));
  } else if (now.tab === "handout") handout_panel(at("view-handout"), now.entry, now.chip);
}

function operand_bar() {
  const bar = make("div", { class: "bar", role: "group", "aria-label": "Operand" });
  for (const [letter, operand] of Object.entries(operands)) {
    const button = make("button", { type: "button", "aria-pressed": String(letter === now.letter), "data-operand": letter }, letter);
    button.addEventListener("click", () => {
      choose_operand(letter);
      [...document.querySelectorAll(`[data-operand="${letter}"]`)].find((x) => x.checkVisibility())?.focus();
    });
    bar.append(button);
  }
  return bar;
}

function show_overview() {
  const { entry } = now;
  at("equation").textContent = entry.kind === "move"
    ? { ldmatrix: "Rows of memory → registers", stmatrix: "Registers → rows of memory", movmatrix: "A transposed in registers" }[entry.family]
    : equation_of(entry, operands).replace(/^f/, "F");
  maps = draw_product(at("product"), operands, entry, now.letter, choose_operand);
  for (const [letter, map] of Object.entries(maps)) {
    map.canvas.addEventListener("pointermove", (event) => hover(map.mark_at(event)));
    map.canvas.addEventListener("pointerleave", () => hover(null));
    map.canvas.addEventListener("click", (event) => {
      const mark = map.mark_at(event);
      if (!mark) return;
      now.letter = letter;
      hovered = null;
      now.mark = mark;
      show_mark_in_window();
      keep();
      show();
    });
  }
  if (entry.before) {
    at("product").className = "";
    at("product").replaceChildren(operand_bar(), make("p", { class: "quiet" }, "Register a holds A before the move, and register d holds its transpose after it: row r, column c becomes row c, column r."));
  }
  show_facts();
}

function show_facts() {
  const { entry, chip } = now, operand = operand_now(), { layout } = operand;
  const facts = [];
  const [source, status] = source_of(entry, chip, operand);
  if (entry.kind === "product") facts.push([operand.letter, `${operand.layout?.matrices > 1 ? `${layout.matrices} × ` : ""}${operand.rows} × ${operand.cols} (${operand.role}) ${operand.format}${operand.stored ? `, ${operand.stored}` : ""}`]);
  else facts.push(["moves", entry.before ? "an 8 × 8 matrix of 16-bit elements, from register a0 to d0" : `${entry.count} × ${layout.rows} × ${layout.cols} ${entry.sourceBits}-bit elements, rows of 16 bytes`]);
  if (entry.kind === "move" && !entry.before)
    facts.push(["addresses", `lane <i>l</i> gives row <code>l % ${entry.rows}</code>${entry.count > 1 ? ` of matrix <code>l / ${entry.rows}</code>` : ""}${unread_addresses(entry) && `.${unread_addresses(entry)}`}`]);
  if (layout) {
    facts.push(["a lane", `${plural(layout.elements, "element")}, ${plural(layout.registers, "register")} of ${layout.registerBits} bits${layout.packed > 1 ? `, ${layout.packed} in each, lowest bits first` : ""}`]);
    if (is_padded(operand)) facts.push(["each value", `is ${operand.width} bits of its byte, ${bits_name(operand, 0, entry)} of the first; the other bits are ignored`]);
    if (entry.scales && "AB".includes(operand.letter))
      facts.push(["scales", `${plural(entry.scales[1], "scale")} of ${entry.scales[0]} for each ${operand.letter === "A" ? "row" : "column"}, one for ${entry.scales[2]} neighbours along k, in another register: <button type="button" id="to-scales">Block scales</button>`]);
    if (layout.reads_copies) facts.push(["copies", `${layout.holders[0].length} lanes hold each element; each copy is read for another block of D`]);
    else if (layout.read < layout.elements) facts.push(["copies", `x[${layout.read}] to x[${layout.elements - 1}] repeat the ones before and are not read`]);
  } else facts.push(["a lane", "nothing: the instruction reads B from shared memory"]);
  if (entry.family.startsWith("wgmma") && operand.letter === "A") facts.push(["note", "A may be in shared memory instead; this view shows A in registers"]);
  if (entry.family.startsWith("wgmma") && "CD".includes(operand.letter)) facts.push(["note", "C and D are the same registers: the instruction adds to them"]);
  const lines = layout && formulas_of(operand)?.lines;
  if (lines) facts.push(["row", `<code>${escape_html(lines.row)}</code>`], ["col", `<code>${escape_html(lines.col)}</code>`], ["lane", `<code>${escape_html(lines.lane)}</code>`], ["index", `<code>${escape_html(lines.index)}</code>`]);
  if (entry.kind === "product") {
    const machine = machine_of(entry, chip), atoms = atoms_of(entry), code = (x) => `<code>${escape_html(x)}</code>`;
    if (machine.length) facts.push(["machine code", machine.map(code).join(", ")]);
    if (atoms.length) facts.push(["CuTe atom", atoms.map(code).join(", ")]);
  }
  const [cute, threads] = cute_of(operand);
  if (cute) facts.push(["CuTe layout", `<code>${escape_html(cute)}</code>${threads === "32:1" || threads === "128:1" ? "" : `, threads <code>${escape_html(threads)}</code>`}`]);
  facts.push(["known from", `<span class="status ${status}">${status}</span> ${escape_html(source)}`]);
  at("facts").innerHTML = facts.map(([name, text]) => `<div><dt>${name}</dt><dd>${text}</dd></div>`).join("");
  at("to-scales")?.addEventListener("click", () => turn_to("scales"));
}

const entry_title = (operand) => (!operand.matrix && !now.entry.before ? `Matrix ${operand.letter}` : `Matrix A ${operand.matrix ? "after" : "before"}`);

/** Redraw the pictures that are outdated; returns whether anything was drawn. */
function draw_pictures() {
  const operand = operand_now(), { layout } = operand;
  const wanted = `${now.entry.name} ${now.chip.name} ${now.letter} ${now.warp} ${now.part}`;
  if (drawn.what === wanted) return false;
  for (const id of ["matrix", "registers"]) at(id).hidden = !layout;
  at("windows").replaceChildren(...(innerWidth < 1181 && now.entry.kind === "product" ? [operand_bar()] : []));
  drawn = { what: wanted };
  if (!layout) {
    at("windows").append(make("p", { class: "note" }, `<b>B is in shared memory.</b> ${escape_html(now.entry.short)} reads its ${operand.rows} × ${operand.cols} elements of ${operand.format} through a 64-bit matrix descriptor; no register of any lane holds them. Choose A, C or D.`));
    return true;
  }
  const view = window_of(layout, now.warp, now.part);
  show_windows(layout, view);
  for (const [id, draw] of [["matrix", matrix_figure], ["registers", register_figure]]) {
    at(id).querySelector(".scroll").innerHTML = draw(operand, now.entry, view);
    const svg = at(id).querySelector("svg");
    drawn[id] = { svg, cells: cells_of(svg) };
  }
  at("matrix-title").textContent = operand.letter === "R" ? "Rows of memory" : entry_title(operand);
  at("registers-title").textContent = `Registers of ${operand.letter === "R" ? "the lanes" : now.letter}`;
  fit_pictures();
  set_entrance();
  light();
  return true;
}

/** Scale both pictures to fit next to each other; if that is impossible, each to the available width, and unscaled on a narrow screen. */
function fit_pictures() {
  if (!drawn.matrix) return;
  const pictures = ["matrix", "registers"].map((id) => drawn[id].svg), beside = 24;
  const natural = pictures.map((svg) => svg.viewBox.baseVal);
  const room = (at("pictures").clientWidth - beside) / natural.reduce((sum, box) => sum + box.width, 0);
  const tallest = Math.max(...natural.map((box) => box.height));
  const beside_each_other = Math.min(2, room, Math.max(1, (innerHeight - 100) / tallest));
  pictures.forEach((svg, i) => {
    const alone = Math.max(1, Math.min(1.5, at("pictures").clientWidth / natural[i].width));
    const zoom = innerWidth < 1181 ? 1 : room < 0.85 ? alone : beside_each_other;
    svg.setAttribute("width", Math.floor(natural[i].width * zoom));
    svg.setAttribute("height", Math.floor(natural[i].height * zoom));
  });
}

function show_windows(layout, view) {
  const add = (title, name, count, text) => {
    const bar = make("div", { class: "bar", role: "group", "aria-label": title }, `<span>${title}</span>`);
    for (const x of range(count)) {
      const button = make("button", { type: "button", "aria-pressed": String(x === now[name]), [`data-${name}`]: x }, text(x));
      button.addEventListener("click", () => {
        now[name] = x;
        keep("replace");
        draw_pictures();
        at("windows").querySelector(`[data-${name}="${x}"]`)?.focus();
      });
      bar.append(button);
    }
    at("windows").append(bar);
  };
  if (layout.lanes > 32) add("Warp", "warp", 4, (x) => String(x));
  if (view.parts > 1) add("Columns", "part", view.parts, (x) => upto(32 * x, Math.min(32, layout.cols - 32 * x)));
}

/** Highlight the pinned mark, or else the mark under the pointer, everywhere; and show the answer. */
function light() {
  const mark = now.mark ?? hovered;
  for (const map of Object.values(maps)) map.draw(mark);
  for (const id of ["matrix", "registers"]) if (drawn[id]) light_figure(drawn[id], mark, operand_now(), now.entry);
  at("release").hidden = !now.mark && !now.spot;
  const box = at("answer");
  box.setAttribute("aria-live", now.mark ? "polite" : "off");
  box.classList.remove("wrong");
  if (now.spot) {
    const { head, more } = spot_answer();
    box.setAttribute("aria-live", "polite");
    box.innerHTML = `<p class="head">${head}</p>${more}`;
  } else if (mark) {
    const { head, more } = answer(mark, now.entry, now.chip, operands);
    const note = asked?.mark === now.mark && now.mark ? asked.note : "";
    box.innerHTML = `<p class="head">${head}</p>${more}${note && `<p class="quiet">${escape_html(note)}</p>`}`;
  } else box.innerHTML = `<p class="quiet">Point at a cell, or ask. A click pins the answer.</p>`;
  place_answer(Boolean(now.mark || now.spot));
}

/** Answer a question about tensor memory, a block scale, or a tile of several warps. */
function spot_answer() {
  if (now.entry.kind === "tensor") return tensor_answer(read_tensor_spot(now.spot, now.entry, now.letter), now.entry, now.chip, now.load);
  if (/^scale/.test(now.spot)) return scale_answer(read_scale_spot(now.spot, now.entry), now.entry, now.chip, now.scales);
  return tile_answer(read_tile_spot(now.spot, now.entry, now.letter), now.entry, now.chip, operands, now.warps, now.repeats);
}

/** Show a position that is not a lane's register. */
function show_spot(text, letter = now.letter) {
  Object.assign(now, { spot: text, mark: null, letter });
  keep();
  show();
}

/** Answer for the cell under the pointer. */
function ask_here(text) {
  const spot = read_spot(text.replace(/^scale_/, "S"), now.entry, now.letter, now.tab, "");
  const { scrollY } = window;
  show_spot(spot.text, spot.letter ?? now.letter);
  scrollTo({ top: scrollY, behavior: "instant" });
}

/** On a narrow screen an answer is at the lower edge, over the page; the keyboard can scroll a long one. */
function place_answer(said) {
  document.body.classList.toggle("answered", said);
  const reply = at("reply");
  if (reply.scrollHeight > reply.clientHeight + 1) reply.setAttribute("tabindex", "0");
  else reply.removeAttribute("tabindex");
}

function hover(mark) {
  if (now.mark || now.spot || JSON.stringify(mark) === JSON.stringify(hovered)) return;
  hovered = mark;
  light();
}
