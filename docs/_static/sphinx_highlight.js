// SPDX-License-Identifier: MIT
// Marks the words of a search on the page that it found; it replaces Sphinx's file of this name, which inserts HTML
// elements into pictures and fails there.
"use strict";
const SPHINX_HIGHLIGHT_ENABLED = true;

const _UNMARKED = "svg, style, script, button, select, textarea, .highlighted";

/** Mark a word in the pieces of text below an element, except in pictures and controls; the search calls it too. */
const _highlightText = (root, word, className) => {
  const texts = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found = [];
  while (texts.nextNode()) {
    const text = texts.currentNode;
    if (!text.parentElement.closest(_UNMARKED) && text.data.toLowerCase().includes(word)) found.push(text);
  }
  found.forEach((text) => _mark(text, word, className));
};

const _mark = (text, word, className) => {
  const rest = text.splitText(text.data.toLowerCase().indexOf(word));
  const behind = rest.splitText(word.length);
  const mark = document.createElement("span");
  mark.className = className;
  rest.replaceWith(mark);
  mark.append(rest);
  if (behind.data.toLowerCase().includes(word)) _mark(behind, word, className);
};

const SphinxHighlight = {
  highlightSearchWords: () => {
    const address = new URL(window.location);
    const words = localStorage.getItem("sphinx_highlight_terms") || address.searchParams.get("highlight") || "";
    localStorage.removeItem("sphinx_highlight_terms");
    if (address.searchParams.has("highlight")) {
      address.searchParams.delete("highlight");
      window.history.replaceState({}, "", address);
    }
    const article = document.querySelector("article[role=main]") || document.body;
    for (const word of words.toLowerCase().split(/\s+/).filter(Boolean)) _highlightText(article, word, "highlighted");
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
  if (typeof Search === "undefined") SphinxHighlight.highlightSearchWords(); // not on the results page
  SphinxHighlight.initEscapeListener();
});
