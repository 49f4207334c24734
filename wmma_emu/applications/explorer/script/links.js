// SPDX-License-Identifier: MIT
// The link to the documentation of the chosen instruction, if the address of the documentation is known.

const TENSOR_PAGE = "how-to/use-tensor-memory.html";
const MOVES_PAGE = "how-to/see-who-loads-what.html";

/** Address of the documentation's page of an entry, from the documentation's front page. */
function page_path(entry) {
  if (entry.kind === "move") return MOVES_PAGE;
  if (entry.kind === "tensor") return TENSOR_PAGE;
  const anchor = entry.name.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-|-$/g, "");
  return `${DATA.pages.names[DATA.pages.of[ENTRIES.indexOf(entry)]]}.html#${anchor}`;
}

function show_links() {
  const link = at("reference");
  if (!link) return;
  link.href = DATA.documentation + page_path(now.entry);
  link.textContent = `Reference of ${now.entry.family}`;
}
