// SPDX-License-Identifier: MIT
// Adjustments that require a browser: the boxes that scroll, and the height of a page on a phone.
"use strict";
(() => {
  // A page opened from a folder cannot read other pages, which the search does for the text below its results.
  if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;

  // In the pages, every box that may scroll is a tab stop. Boxes without anything to scroll are removed from the stops.
  const STOP = ["tabindex", "role", "aria-label"];
  const scrolls = (box) => box.scrollWidth > box.clientWidth + 1 || box.scrollHeight > box.clientHeight + 1;
  const boxes = new Map();
  const look = (box) => {
    for (const name of STOP) {
      if (scrolls(box)) box.setAttribute(name, boxes.get(box)[name]);
      else box.removeAttribute(name);
    }
  };
  const watched = new ResizeObserver((entries) => entries.forEach((entry) => look(entry.target)));
  for (const box of document.querySelectorAll("[data-scrolls]")) {
    boxes.set(box, Object.fromEntries(STOP.map((name) => [name, box.getAttribute(name)])));
    look(box);
    watched.observe(box);
  }

  // On a phone, long tables and listings scroll in separate boxes. Sections of a page that is still too long are
  // folded; the parts of a long section are folded too.
  const NARROW = 740, LONG_BOX = 2500, LONG_PAGE = 7000, LONG_SECTION = 4000;
  const article = document.querySelector("article[role=main]");
  const level = (section) => [...section.children].find((x) => /^H[1-6]$/.test(x.tagName));
  const partsOf = (section) => [...section.children].filter((x) => x.matches("section") && level(x));
  const namesOf = (section) => [...section.children].filter((x) => x.matches("dl.py"));

  const folded = (summary, content) => {
    const details = document.createElement("details");
    details.className = "fold";
    details.append(document.createElement("summary"), ...content);
    details.firstChild.append(summary);
    return details;
  };
  const foldSection = (section) => {
    const heading = level(section);
    const content = [...section.childNodes].slice([...section.childNodes].indexOf(heading) + 1);
    for (const link of heading.querySelectorAll("a")) { // a summary cannot contain a link: the link moves into the section
      if (!link.matches(".headerlink")) {
        const line = document.createElement("p");
        link.replaceWith(...[...link.childNodes].map((x) => x.cloneNode(true)));
        line.append(link);
        content.unshift(line);
      } else link.remove();
    }
    section.append(folded(heading, content));
  };
  const foldName = (list) => {
    const name = document.createElement("code");
    name.textContent = list.querySelector("dt").id.split(".").pop();
    const place = document.createElement("div");
    list.replaceWith(place);
    place.append(folded(name, [list]));
  };
  const fold = (section) => {
    const long = partsOf(section).filter((part) => part.offsetHeight > LONG_SECTION);
    const members = [...section.querySelectorAll(":scope > dl.py.class > dd")].filter((x) => x.offsetHeight > LONG_SECTION);
    long.forEach(fold);
    members.forEach((list) => namesOf(list).forEach(foldName));
    partsOf(section).forEach(foldSection);
    namesOf(section).forEach(foldName);
  };

  const openTo = (target) => {
    for (let at = target?.closest("details"); at; at = at.parentElement.closest("details")) at.open = true;
  };
  const goToAnchor = () => {
    const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (!target || !article.contains(target)) return;
    openTo(target);
    const inside = [...target.children].find((x) => x.matches("details.fold"));
    if (inside) inside.open = true;
    target.scrollIntoView();
  };
  const offerAll = (heading) => {
    const button = document.createElement("button");
    const details = () => [...article.querySelectorAll("details.fold")];
    const say = () => (button.textContent = details().some((x) => !x.open) ? "Open all sections" : "Close all sections");
    button.type = "button";
    button.className = "fold-all";
    button.addEventListener("click", () => {
      const open = details().some((x) => !x.open);
      details().forEach((x) => (x.open = open));
      say();
    });
    say();
    heading.after(button);
  };
  const main = article?.querySelector(":scope > section");
  const arrange = () => {
    if (!main || !level(main) || window.innerWidth >= NARROW || article.offsetHeight <= LONG_PAGE) return;
    if (article.querySelector("details.fold")) {
      article.querySelector("details.fold").open = false;
      return;
    }
    const long = [...boxes.keys()].filter((box) => box.offsetHeight > LONG_BOX);
    long.forEach((box) => box.classList.add("boxed"));
    if (article.offsetHeight > LONG_PAGE) fold(main);
    const first = article.querySelector("details.fold");
    if (!first) return;
    first.open = true; // the first section stays open, unless it alone is too long
    if (article.offsetHeight > LONG_PAGE) first.open = false;
    offerAll(level(main));
  };
  arrange();
  // Pictures have a height only after loading. A section that is linked to, or opened by the reader, is not folded.
  window.addEventListener("load", () => {
    if (!location.hash && article?.querySelectorAll("details.fold[open]").length < 2) arrange();
  });
  goToAnchor();
  window.addEventListener("hashchange", goToAnchor);
  window.addEventListener("beforeprint", () => document.querySelectorAll("details.fold").forEach((x) => (x.open = true)));
})();
