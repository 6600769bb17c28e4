"""The blocks of code in the texts for users (README.md and its like, tools/docs/*.md), and what a block promises.

A block is opened by ``` and its language:
- `console`: commands after "$ " with the output that they give. All of one text are run, in one folder. In those that
  are `console approximate` decimal fractions may be others: last digits of what is trained depend on the processor.
- `cpp NAME`: a program, or the lines of a function, that a target of tests/tools/docs builds.
- any other: nobody runs it, and a comment in the line before says why: <!-- not run: reason -->
"""

import glob
import os
import re

_OPENED = re.compile(r"^```(.*)$")
_NOT_RUN = re.compile(r"^<!-- not run: \S.* -->$")
_MEASURED = re.compile(r"\d[\d.,]*(?: ?(?:ns|us|ms|s)\b|%)")
_FRACTION = re.compile(r"\d+\.\d+(?:e[-+]?\d+)?")


class Block:
    """A fenced block: where it begins, language, name, lines, and whether a comment says why it is not run."""

    def __init__(self, path, line, info, excused):
        self.path, self.line, self.excused = path, line, excused
        self.language, _, self.name = info.strip().partition(" ")
        self.lines = []

    def commands(self):
        """(number of its line, command, lines of output) of each command."""
        found, here = [], None
        for number, line in enumerate(self.lines, self.line + 1):
            if here is not None:
                found[-1][1] += "\n" + line
                here = None if line == here else here
            elif line.startswith("$ "):
                found.append([number, line[2:], []])
                here = _here_document(line)
            elif found and not found[-1][2] and found[-1][1].endswith("\\"):
                found[-1][1] += "\n" + line
                here = _here_document(line)
            elif found:
                found[-1][2].append(line)
        return [tuple(command) for command in found]


def _here_document(line):
    """The word that ends the text which a command reads from the lines after it, or None."""
    found = re.search(r"<<\s*'?(\w+)'?", line)
    return found.group(1) if found else None


def blocks_of(path, text):
    """The blocks of a text. A block that is not closed ends with the text."""
    blocks, open_block, before = [], None, ""
    for number, line in enumerate(text.split("\n"), 1):
        fence = _OPENED.match(line)
        if open_block is not None and line == "```":
            open_block = None
        elif open_block is not None:
            open_block.lines.append(line)
        elif fence:
            open_block = Block(path, number, fence.group(1), bool(_NOT_RUN.match(before)))
            blocks.append(open_block)
        before = line
    return blocks


def texts(root):
    """{path from the root: text} of the texts at the top and of all guides."""
    paths = [path for pattern in ("*.md", "tools/docs/*.md") for path in sorted(glob.glob(os.path.join(root, pattern)))]
    found = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            found[os.path.relpath(path, root)] = file.read()
    return found


def matches(expected, output, approximate=False):
    """Whether an output is what a block shows. There, "..." stands for any text, as a line for any lines, and blanks
    for any number of blanks; times and percentages may be others, and decimal fractions, too, if `approximate`."""
    pattern = ""
    for line in filter(str.strip, expected):
        if line.strip() == "...":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += r"[ \t]*" + _pattern_of(line.strip(), approximate) + r"[ \t]*\n"
    text = "".join(line + "\n" for line in output.split("\n") if line.strip())
    return re.fullmatch(pattern, text) is not None


def _pattern_of(line, approximate):
    pattern, place = "", 0
    for found in _MEASURED.finditer(line):
        pattern += _numbers(line[place:found.start()], approximate)
        pattern += r"[\d.,]+%" if found.group().endswith("%") else r"[\d.,]+ ?[num]?s"
        place = found.end()
    return pattern + _numbers(line[place:], approximate)


def _numbers(text, approximate):
    if not approximate:
        return _literal(text)
    return r"\d+(?:\.\d+)?(?:e[-+]?\d+)?".join(map(_literal, _FRACTION.split(text)))


def _literal(text):
    parts = (r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in text.split("..."))
    return ".*".join(parts)
