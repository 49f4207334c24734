// SPDX-License-Identifier: MIT
// The choices and the pinned mark in the address: a link opens the same view, and the browser's history works.

const at = (id) => document.getElementById(id);
document.head.append(make("style", {}, FIGURE_STYLE));

const now = { chip: null, entry: null, letter: "A", tab: "layout", mark: null, warp: 0, part: 0, language: "c", selector: 0, scales: [0, 0, 0, 0], feed: 0, step: 0, lowering: "", spot: "", load: "32x32b", warps: "2x2", repeats: "1x1" };
let asked = null;  // the question that is answered: { place, mark, note }
let operands = {}, maps = {}, drawn = {}, hovered = null;

const operand_now = () => operands[now.letter];

/** Write the state as a fragment. */
function fragment() {
  const said = new URLSearchParams({ chip: now.chip.name, i: now.entry.short, op: now.letter });
  const put = (name, value, plain) => { if (value !== undefined && value !== null && value !== plain) said.set(name, value); };
  put("view", now.tab, "layout");
  if (now.mark) {
    put("at", now.mark.letter, now.letter);
    put("lane", now.mark.lane);
    if (now.mark.kind === "element" || now.mark.kind === "index") put("x", now.mark.index);
    if (now.mark.kind === "register") put("reg", now.mark.register);
  }
  put("warp", now.warp, 0);
  put("part", now.part, 0);
  put("lang", now.language, "c");
  put("selector", now.selector, 0);
  put("scales", now.scales.join("-"), "0-0-0-0");
  put("feed", now.feed, 0);
  put("step", now.step, 0);
  put("lowering", now.lowering, "");
  put("spot", now.spot, "");
  put("load", now.load, "32x32b");
  put("warps", now.warps, "2x2");
  put("repeats", now.repeats, "1x1");
  return `#${said.toString().replaceAll("%3A", ":")}`;
}

/** Parse the state from a fragment; missing or illegal parts have their initial values. */
function read_fragment(text) {
  const said = new URLSearchParams(text.replace(/^#/, ""));
  const given = (name, count) => {
    const value = said.get(name) ?? "";
    return /^\d{1,6}$/.test(value) && Number(value) < count ? Number(value) : undefined;
  };
  const number = (name, count) => given(name, count) ?? 0;
  const asked = said.get("i"), on = said.get("chip");
  const entry = entry_named(asked ?? undefined), chip = on === null ? null : chip_named(on);
  now.entry = entry ?? BY_NAME.get(DATA.default.instruction);
  now.chip = chip_for(now.entry, chip ?? CHIP_BY_NAME.get(DATA.default.chip));
  let wrong = "";
  if (asked !== null && !entry) wrong = `${cut(asked)}, which this page does not know`;
  else if (on !== null && !chip) wrong = `the chip ${cut(on)}, which this page does not know`;
  else if (chip && chip !== now.chip) wrong = `${now.entry.short} on ${chip.name}, which has no such instruction`;
  notice(wrong && `The link asks for ${wrong}; ${now.entry.short} on ${now.chip.name} is shown.`);
  operands = operands_of(now.entry, now.chip);
  now.letter = Object.hasOwn(operands, said.get("op")) ? said.get("op") : Object.keys(operands)[0];
  now.tab = said.get("view") ?? "layout";
  now.language = said.get("lang") === "python" ? "python" : "c";
  now.selector = number("selector", now.entry.metadata?.[3] ?? 1);
  now.scales = scale_selectors(said.get("scales") ?? "", now.entry.scales);
  now.feed = number("feed", 1000);
  now.step = number("step", 1000);
  now.lowering = said.get("lowering") ?? "";
  now.load = Object.hasOwn(TENSOR_LOADS, said.get("load")) ? said.get("load") : "32x32b";
  now.warps = TILE_WARPS.includes(said.get("warps")) ? said.get("warps") : "2x2";
  now.repeats = TILE_REPEATS.includes(said.get("repeats")) ? said.get("repeats") : "1x1";
  now.spot = wrong ? "" : spot_given(said.get("spot") ?? "");
  now.mark = null;
  const letter = Object.hasOwn(operands, said.get("at")) ? said.get("at") : now.letter;
  const layout = operands[letter].layout;
  if (layout && !wrong) {
    const lane = given("lane", layout.lanes), index = given("x", layout.elements), register = given("reg", layout.registers);
    if (index !== undefined) now.mark = lane === undefined ? { letter, kind: "index", index } : mark_of_holder(operands[letter], index, lane);
    else if (register !== undefined) now.mark = { letter, kind: "register", register, ...(lane === undefined ? {} : { lane }) };
    else if (lane !== undefined) now.mark = { letter, kind: "lane", lane };
  }
  now.warp = number("warp", 4);
  now.part = number("part", 64);
  if (!said.has("warp") && !said.has("part")) show_mark_in_window();
  if (!wrong && !now.mark && ["lane", "x", "reg"].some((x) => said.has(x)))
    notice(`The link asks for a position that ${letter} of ${now.entry.short} on ${now.chip.name} does not have; nothing is pinned.`);
}

/** The position that a link asks for, if any. */
function spot_given(text) {
  if (!text) return "";
  try {
    const spot = read_spot(parted(text).place, now.entry, now.letter, now.tab, "");
    if (spot?.letter && Object.hasOwn(operands, spot.letter)) now.letter = spot.letter;
    return spot?.text ?? "";
  } catch (error) {
    if (!(error instanceof Misread)) throw error;
    notice(`The link asks for a position that does not exist. ${error.message}`);
    return "";
  }
}

/** Update the address with the state: as a new entry of the history, or replacing the last. */
function keep(how = "push") {
  const text = fragment();
  if (text === location.hash) return;
  history[how === "push" ? "pushState" : "replaceState"](null, "", text);
}
