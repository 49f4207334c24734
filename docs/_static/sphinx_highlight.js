// SPDX-License-Identifier: MIT
// Marks the words of a search on the page that it found; it stands in for Sphinx's own file of this name, which writes
// elements of HTML into pictures and fails there.
"use strict";
const SPHINX_HIGHLIGHT_ENABLED = true;

const SphinxHighlight = {
  _left: "svg, style, script, button, select, textarea, .highlighted",

  /** The pieces of text in which a word stands, but for those in pictures and controls. */
  _places: (word) => {
    const root = document.querySelector("article[role=main]") || document.body;
    const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const found = [];
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (!text.parentElement.closest(SphinxHighlight._left) && text.data.toLowerCase().includes(word)) found.push(text);
    }
    return found;
  },

  _mark: (text, word) => {
    const rest = text.splitText(text.data.toLowerCase().indexOf(word));
    const behind = rest.splitText(word.length);
    const mark = document.createElement("span");
    mark.className = "highlighted";
    rest.replaceWith(mark);
    mark.append(rest);
    if (behind.data.toLowerCase().includes(word)) SphinxHighlight._mark(behind, word);
  },

  highlightSearchWords: () => {
    const address = new URL(window.location);
    const words = localStorage.getItem("sphinx_highlight_terms") || address.searchParams.get("highlight") || "";
    localStorage.removeItem("sphinx_highlight_terms");
    if (address.searchParams.has("highlight")) {
      address.searchParams.delete("highlight");
      window.history.replaceState({}, "", address);
    }
    for (const word of words.toLowerCase().split(/\s+/).filter(Boolean)) {
      SphinxHighlight._places(word).forEach((text) => SphinxHighlight._mark(text, word));
    }
  },

  hideSearchWords: () => {
    document.querySelectorAll("span.highlighted").forEach((mark) => mark.classList.remove("highlighted"));
    localStorage.removeItem("sphinx_highlight_terms");
  },

  initEscapeListener: () => {
    document.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.altKey && !event.ctrlKey && !event.metaKey) SphinxHighlight.hideSearchWords();
    });
  },
};

_ready(() => {
  if (typeof Search === "undefined") SphinxHighlight.highlightSearchWords(); // not on the page of results itself
  SphinxHighlight.initEscapeListener();
});
