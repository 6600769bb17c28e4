"""Checks that classes say what they are, that no code is commented out, and that debts name an issue."""

import re

import source_tree

# A definition (not a forward declaration) at the left margin: what stands in a namespace.
_CLASS = re.compile(r"^class\s+(?:ABSL_\w+(?:\([^)]*\))?\s+|alignas\([^)]*\)\s+)*(\w+)(?:\s+final)?\s*(?::[^:]|\{|$)")
_TEMPLATE = re.compile(r"^template\s*<|^\s*typename|^\s+std::enable_if|^requires")

# A comment of one or no space that reads as a statement: an assignment, a call, or a block's brace. Examples in
# comments are indented by more, and so are no offence.
_CODE = re.compile(r"^\s*(?://|#) ?(?! )(?:"
                   r"(?:[\w:<>*&,\[\]().]+\s+)?[\w.\->\[\]]+\s*(?:[-+*/|&]?=)\s*[^=].*;"
                   r"|[\w:.\->]+\(.*\);"
                   r"|(?:return|delete|break|continue)\b[^.]*;"
                   r"|(?:if|for|while|switch)\s*\(.*\)\s*\{?"
                   r"|#\s*include\b.*"
                   r"|\}[;)]*)\s*$")
_PYTHON_CODE = re.compile(r"^\s*# ?(?! )(?:import \w+|from \w+ import .*|(?:if|for|while|def)\b.*:|\w+\(.*\)|return\b \w+)$")

_DEBT = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(.{0,8})")
_WITH_ISSUE = re.compile(r"^\(#\d+\): ")


def check_debts(tree, path):
    """Debts without the issue that will pay them."""
    for number, line in tree.lines(path):
        for word, rest in _DEBT.findall(line):
            if word != "TODO" or not _WITH_ISSUE.match(rest):
                yield f"{path}:{number}: {word} without an issue, as in 'TO" + "DO(#41): ...'"


def check_commented_code(tree, path):
    pattern = _PYTHON_CODE if path.endswith(".py") else _CODE
    for number, line in tree.lines(path):
        if pattern.match(line) and "NOLINT" not in line:
            yield f"{path}:{number}: commented-out code: {line.strip()}"


def check_classes(tree, path):
    """Classes that have no comment before them."""
    lines = tree.read(path).split("\n")
    for index, line in enumerate(lines):
        found = _CLASS.match(line)
        if not found or (line.rstrip().endswith(";") and "{" not in line):
            continue
        before = index - 1
        while before >= 0 and _TEMPLATE.match(lines[before]):
            before -= 1
        if before < 0 or not lines[before].lstrip().startswith("//"):
            yield f"{path}:{index + 1}: {found.group(1)} has no comment (what it is, who owns it, threads)"


def check(tree):
    problems = []
    for path in tree.select(".h", ".cc", ".cu", ".py", ".proto", ".sh", ".bzl", "BUILD.bazel"):
        if path.startswith("tests/lint/"):
            continue  # Its texts are examples of what it finds.
        problems += check_debts(tree, path)
        if path.endswith((".h", ".cc", ".cu", ".py")):
            problems += check_commented_code(tree, path)
        if path.endswith((".h", ".cc", ".cu")) and not path.startswith("tests/"):
            problems += check_classes(tree, path)
    return problems


if __name__ == "__main__":
    source_tree.main(check, __doc__)
