"""Checks that a class's name means one class: of two with a name, the linker keeps one's functions for both."""

import re

import source_tree

_OPEN = re.compile(r"^(?:inline )?namespace(?: ([\w:]+))? \{$")
_CLOSE = re.compile(r"^\}\s*// namespace\b")
# A definition at the left margin: what stands in a namespace, and not in a class.
_CLASS = re.compile(r"^(?:class|struct|union)\s+(?:ABSL_\w+(?:\([^)]*\))?\s+|alignas\([^)]*\)\s+)*(\w+)(?:\s+final)?"
                    r"\s*(?::[^:].*|\{.*)?$")


def classes_in(tree, path):
    """(line, name with its namespaces) of each class that other files could name."""
    namespaces = []
    for number, line in tree.lines(path):
        opened = _OPEN.match(line)
        if opened:
            namespaces.append(opened.group(1))
        elif _CLOSE.match(line) and namespaces:
            namespaces.pop()
        found = _CLASS.match(line)
        if found and None not in namespaces:
            yield number, "::".join(namespaces + [found.group(1)])


def check(tree):
    problems, first = [], {}
    for path in tree.select(".h", ".cc", ".cu"):
        for number, name in classes_in(tree, path):
            place = first.setdefault(name, f"{path}:{number}")
            if not place.startswith(path + ":"):
                problems.append(f"{path}:{number}: {name} is also the name of another class, at {place}")
    return problems


if __name__ == "__main__":
    source_tree.main(check, __doc__)
