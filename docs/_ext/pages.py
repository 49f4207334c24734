# SPDX-License-Identifier: MIT
"""The pages that are generated from the tables when the site is built, and the function that writes them."""

from pathlib import Path

from docs._ext.command_page import command_page
from docs._ext.finding_pages import finding_pages
from docs._ext.instruction_pages import instruction_pages
from docs._ext.table_pages import table_pages

__all__ = ["generated_pages", "write_pages"]


def generated_pages() -> dict[str, str]:
    """Return every page that is generated from the tables, as Markdown, by its name within the site."""
    return instruction_pages() | table_pages() | command_page() | finding_pages()


def write_pages(folder: Path) -> None:
    """Write the generated pages that are new or changed; delete pages that are no longer generated."""
    pages = {folder / f"{name}.md": text for name, text in generated_pages().items()}
    for path, text in pages.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
    for path in {found for page in pages for found in page.parent.glob("*.md")} - set(pages):
        path.unlink()
