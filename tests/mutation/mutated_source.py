"""Writes a source with all its mutants in it, each chosen at run time by its number.

An edit replaces a range of the source. Edits nest, as expressions do; of the mutants in a program at most one is on, so
that a mutant is made of the original text, and only the branch that is not mutated holds the mutants inside of it.
"""

import os

PRELUDE = os.path.join(os.path.dirname(os.path.realpath(__file__)), "mutant_switch.inc")


class Mutant:
    """One change: `path`, `line`, `kind`, the range [begin, end) in bytes, and how its text is made.

    An expression whose kind begins with "condition" is used as a bool.
    `is_statement`: the range is a whole statement, and `text` is run in its place ("" for none). Else it is an
    expression, and `text` is the expression that replaces it.
    """

    def __init__(self, path, line, kind, begin, end, text, is_statement=False):
        self.path = path
        self.line = line
        self.kind = kind
        self.begin = begin
        self.end = end
        self.text = " ".join(text.split())
        self.is_statement = is_statement
        self.number = None
        self.original = ""

    def describe(self):
        was, now = " ".join(self.original.split()), " ".join(self.text.split())
        return f"{self.path}:{self.line}: {self.kind}: {shorten(was)}  ->  {shorten(now) or 'nothing'}"


def shorten(text, limit=100):
    return text if len(text) <= limit else text[:limit - 3] + "..."


def wrap(mutant, original):
    """The original, or the mutant where its number is chosen."""
    if mutant.kind.startswith("condition"):
        original = f"static_cast<bool>({original})"
    chosen = f"::sluice_mutation::IsOn({mutant.number})"
    if not mutant.is_statement:
        return f"({chosen} ? ({mutant.text}) : ({original}))"
    # Else belongs to the nearest if: braces keep it there.
    return f"{{ if ({chosen}) {{ {mutant.text} }} else {{ {original} }} }}"


def rewrite(source, mutants):
    """The source (bytes) with all mutants of one file written into it. Lines stay where they are, so that messages of
    the compiler name the mutant's: only the branch that is not mutated holds the line ends."""
    ranges = {}
    for mutant in mutants:
        ranges.setdefault((mutant.begin, mutant.end), []).append(mutant)
    ordered = sorted(ranges, key=lambda range_: (range_[0], -range_[1]))

    def render(begin, end, index):
        """The text of [begin, end) with the edits from `index` on that lie in it, and the first one that does not."""
        parts, at = [], begin
        while index < len(ordered) and ordered[index][0] < end:
            first, last = ordered[index]
            if first < at or last > end:  # Overlaps what is written already: macros do that.
                index += 1
                continue
            parts.append(source[at:first].decode())
            text, next_index = render(first, last, index + 1)
            for mutant in ranges[first, last]:
                text = wrap(mutant, text)
            parts.append(text)
            at, index = last, next_index
        parts.append(source[at:end].decode())
        return "".join(parts), index

    return render(0, len(source), 0)[0]


def with_prelude(text, path):
    """The text of a file that declares the switch first, with its lines as they were."""
    with open(PRELUDE, encoding="utf-8") as file:
        return f'{file.read()}\n#line 1 "{path}"\n{text}'
