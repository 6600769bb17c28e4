"""Checks the texts for people who use Sluice: they are short, their links lead somewhere, and the index lists them."""

import os
import re

import source_tree

MAX_README_WORDS = 1200
MAX_PARAGRAPH_LINES = 6
MAX_COLUMNS = 120
TOP_TEXTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
GUIDES = "tools/docs/"
INDEX = GUIDES + "README.md"

_LINK = re.compile(r'\]\(([^)\s]+)\)|<img src="([^"]+)"')
# Lines that are no part of the paragraph before them; those of tables and pictures may be long.
_STARTS = re.compile(r"^\s*(?:[-*] |\d+\. |#|\||<|!\[)")
_MAY_BE_LONG = re.compile(r"^\s*(?:\||!\[|<img )")


def prose(tree, path):
    """(number, line) outside of blocks of code."""
    inside = False
    for number, line in tree.lines(path):
        if line.startswith("```"):
            inside = not inside
            yield number, ""
        else:
            yield number, "" if inside else line


def check_paragraphs(tree, path):
    length = 0
    for number, line in prose(tree, path):
        length = 0 if not line.strip() else 1 if _STARTS.match(line) else length + 1
        if length == MAX_PARAGRAPH_LINES + 1:
            yield f"{path}:{number}: a paragraph has more than {MAX_PARAGRAPH_LINES} lines"
        if len(line) > MAX_COLUMNS and not _MAY_BE_LONG.match(line):
            yield f"{path}:{number}: {len(line)} columns, at most {MAX_COLUMNS}"


def links_of(tree, path):
    """(line, path in the tree) of the links to files."""
    for number, line in prose(tree, path):
        for found in _LINK.finditer(line):
            target = (found.group(1) or found.group(2)).partition("#")[0]
            if target and "://" not in target:
                yield number, os.path.normpath(os.path.join(os.path.dirname(path), target))


def check_links(tree, path):
    for number, target in links_of(tree, path):
        if target not in tree.files:
            yield f"{path}:{number}: there is no file {target}"


def check_index(tree, guides):
    listed = {target for _, target in links_of(tree, INDEX)} if INDEX in tree.files else set()
    for path in guides:
        if path != INDEX and path not in listed:
            yield f"{path}:1: {INDEX} does not list it"


def check(tree):
    guides = [path for path in tree.select(".md", under=GUIDES) if os.path.dirname(path) + "/" == GUIDES]
    problems = [*check_index(tree, guides)]
    for path in [*guides, *(text for text in TOP_TEXTS if text in tree.files)]:
        problems += [*check_paragraphs(tree, path), *check_links(tree, path)]
    words = len(tree.read("README.md").split()) if "README.md" in tree.files else 0
    if words > MAX_README_WORDS:
        problems.append(f"README.md:1: {words} words, at most {MAX_README_WORDS}: {GUIDES} is for the rest")
    return problems


if __name__ == "__main__":
    source_tree.main(check, __doc__)
