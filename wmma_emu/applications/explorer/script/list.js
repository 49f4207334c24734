// SPDX-License-Identifier: MIT
// The list of instructions, filtered while the user types.

const MOST_OPTIONS = 200;
let options = [], active = -1;

function open_list(text = at("instruction").value) {
  const box = at("found");
  const exact = text === now.entry.short;
  const found = asks_for_place(text) ? [] : find_entries(exact ? "" : text, now.chip, facets());
  options = found.slice(0, MOST_OPTIONS);
  if (exact && options.includes(now.entry)) options = [now.entry, ...options.filter((x) => x !== now.entry)];
  active = options.length && !exact && text ? 0 : -1;
  box.innerHTML = options.map((x, i) => `<div role="option" id="option-${i}" aria-selected="${i === active}" data-at="${i}"${is_on(x, now.chip) ? "" : ' class="elsewhere"'}>
    <code>${escape_html(x.short)}</code> <span>${is_on(x, now.chip) ? x.family : `on ${chips_of(x).map((y) => y.name).join(" ")}`}</span></div>`).join("")
    + (found.length > options.length ? `<div class="rest">and ${found.length - options.length} more: type to narrow</div>` : "")
    + (found.length ? "" : `<div class="rest">Nothing matches. ${asks_for_place(text) ? "Ask for a position in the Find box." : "Try m16n8k16, bf16, half, sparse, ldmatrix."}</div>`);
  box.hidden = false;
  at("instruction").setAttribute("aria-expanded", "true");
  mark_option(active);
}

function close_list() {
  at("found").hidden = true;
  at("instruction").setAttribute("aria-expanded", "false");
  at("instruction").removeAttribute("aria-activedescendant");
}

function mark_option(index) {
  at("found").querySelector('[aria-selected="true"]')?.setAttribute("aria-selected", "false");
  active = index;
  const node = at(`option-${index}`);
  if (!node) return;
  node.setAttribute("aria-selected", "true");
  node.scrollIntoView({ block: "nearest" });
  at("instruction").setAttribute("aria-activedescendant", node.id);
}

function show_name() {
  at("instruction").value = now.entry.short;
  at("instruction").removeAttribute("aria-invalid");
}

function watch_list() {
  const input = at("instruction"), box = at("found");
  input.addEventListener("focus", () => input.select());
  input.addEventListener("click", () => open_list());
  input.addEventListener("input", () => open_list());
  input.addEventListener("blur", () => { close_list(); leave(input.value.trim()); });
  input.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      if (box.hidden) open_list();
      else mark_option((active + (event.key === "ArrowDown" ? 1 : -1) + options.length) % Math.max(1, options.length));
    } else if (event.key === "Enter") {
      event.preventDefault();
      if (!box.hidden && options[Math.max(active, 0)]) take(options[Math.max(active, 0)]);
      else leave(input.value.trim());
    } else if (event.key === "Escape") {
      event.stopPropagation();
      show_name();
      close_list();
    }
  });
  box.addEventListener("pointerdown", (event) => {
    event.preventDefault();  // the input keeps the focus, so that the list stays until the click
    const node = event.target.closest("[data-at]");
    if (node) take(options[Number(node.dataset.at)]);
  });
  /** Choose the typed instruction if it is unique; else keep the text, and show why nothing was chosen. */
  function leave(text) {
    if (!text || text === now.entry.short) return show_name();
    const named = entry_named(text.toLowerCase()), found = named ? [named] : asks_for_place(text) ? [] : find_entries(text, now.chip);
    const here = found.filter((x) => is_on(x, now.chip));
    if (found.length === 1 || here.length === 1) return take(found.length === 1 ? found[0] : here[0]);
    const why = asks_for_place(text) ? "asks for a place: type it into Find"
      : found.length ? `matches ${found.length} instructions: choose one` : "matches no instruction";
    notice(`“${cut(text)}” ${why}; ${now.entry.short} is still shown.`);
    input.setAttribute("aria-invalid", "true");
  }
  function take(entry) {
    close_list();
    choose_entry(entry);
    show_name();
    if (at("notice").hidden) say(`${now.entry.short} on ${now.chip.name}`);
  }
}
