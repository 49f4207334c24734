// SPDX-License-Identifier: MIT
// The page: questions, files, the clipboard, and the beginning.

async function copy_text(text, said) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");  // pages opened from a file cannot use the clipboard API
    area.remove();
  }
  toast(said);
}

let toasted;
function toast(text) {
  say(text);
  document.querySelector(".toast")?.remove();
  const node = make("div", { class: "toast", "aria-hidden": "true" }, escape_html(text));
  document.body.append(node);
  clearTimeout(toasted);
  toasted = setTimeout(() => node.remove(), 2000);
}

/** Show example questions; a click asks one. */
function show_help() {
  pin(null);
  const box = at("answer");
  box.setAttribute("aria-live", "polite");
  box.innerHTML = `<p class="head">Ask for a lane, a register, an element or a position in a matrix; add the instruction and the chip if others are meant. For example:</p>
    <p>${EXAMPLES.map((x) => `<button type="button" class="try">${escape_html(x)}</button>`).join(" ")}</p>`;
  place_answer(true);
}

function ask(text) {
  notice("");
  if (!text.trim()) return pin(null);
  if (asks_for_help(text)) return show_help();
  try {
    const found = read_question(text, now);
    if (found.mark) asked = found;
    if (found.mark && now.tab !== "layout") turn_to("layout");  // where it can be seen
    if (found.spot && /^scale/.test(found.spot) && found.entry.scales) now.tab = "scales";
    const { chip } = now;
    if (found.chip) now.chip = found.chip;
    if (found.entry !== now.entry || now.chip !== chip) choose_entry(found.entry, found.letter, found.mark, found.spot);
    else if (found.spot) show_spot(found.spot, found.letter);
    else if (!found.mark) choose_operand(found.letter);
    else pin(found.mark);
    if (!found.mark && found.note) notice(found.note);
    set_entrance();
  } catch (error) {
    if (!(error instanceof Misread)) throw error;
    now.mark = null;
    now.spot = "";
    light();
    at("answer").setAttribute("aria-live", "polite");
    at("answer").classList.add("wrong");
    at("answer").innerHTML = `<p class="head">${escape_html(error.message)}</p>`;
    place_answer(true);
  }
}

/** The values on which the arrangement of the pictures depends. */
const arrangement = () => [480, 620, 901, 1181, 1440, 1800].map((width) => innerWidth < width).join();

function start() {
  read_fragment(location.hash);
  show();
  addEventListener("popstate", () => { read_fragment(location.hash); show(); });
  at("chip").addEventListener("change", () => choose_chip(CHIP_BY_NAME.get(at("chip").value)));
  for (const [name] of FACETS) at(name).addEventListener("change", () => {
    show_facets();
    const left = search("", now.chip, facets()).filter((x) => is_on(x, now.chip));
    if (left.length && !left.includes(now.entry)) choose_entry(left[0]);
  });
  watch_list();
  at("narrow").addEventListener("click", () => {
    const narrowed = document.querySelector(".choice").classList.toggle("narrowed");
    at("narrow").setAttribute("aria-expanded", String(narrowed));
  });
  at("ask").addEventListener("submit", (event) => { event.preventDefault(); ask(at("question").value); });
  document.querySelector(".ask").addEventListener("click", (event) => {
    const button = event.target.closest(".try");
    if (!button) return;
    at("question").value = button.textContent;
    ask(button.textContent);
  });
  for (const id of ["matrix", "registers"]) watch_picture(id);
  watch_saves();
  at("release").addEventListener("click", () => { pin(null); at("question").focus(); });
  at("link").addEventListener("click", () => copy_text(location.href, "The link to this view is copied."));
  at("tabs").addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const tabs = [...at("tabs").children], next = tabs[(tabs.indexOf(event.target) + step + tabs.length) % tabs.length];
    next.click();
    at(next.id).focus();
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.matches?.("input, select, textarea");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      at("question").focus();
      at("question").select();
    } else if (event.key === "Escape") {
      if (now.mark || now.spot || at("answer").classList.contains("wrong")) pin(null);
      else if (hovered) hover(null);
    }
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", light);
  // The handout is printed, whatever view is shown.
  const print_handout = () => handout_panel(at("view-handout"), now.entry, now.chip);
  addEventListener("beforeprint", print_handout);
  matchMedia("print").addEventListener("change", (event) => { if (event.matches) print_handout(); });
  let arranged = arrangement();
  addEventListener("resize", () => {
    if (arrangement() === arranged) return fit_pictures();
    arranged = arrangement();
    show();
  });
}

// The numbers that the pictures show, for users' scripts and for tests.
globalThis.explorer = { DATA, ENTRIES, BY_NAME, CHIP_BY_NAME, operands_of, search, find_entries, named_otherwise, entry_named, read_question, EMPTY_WORDS, EXAMPLES, tensor_places, tensor_thread, tensor_columns, TENSOR_LOADS, machine_of, atoms_of, tile_place, tile_holders, tile_value, CHIPS, now, Misread, address_of, plans_for, metadata_place, formulas_of, source_of, page_path,
  state: () => ({ ...now, chip: now.chip.name, entry: now.entry.name }), marked: () => Object.fromEntries(Object.entries(maps).map(([x, map]) => [x, map.lit])) };
start();
