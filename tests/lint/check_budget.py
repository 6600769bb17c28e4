"""Checks the length of files and functions. `Kept whole: <reason>` in a comment allows an exception."""

import json
import subprocess

import source_tree

MAX_FILE_LINES = 500
MAX_FUNCTION_LINES = 60
EXCEPTION = "Kept whole:"


def functions_of(tree, paths):
    """(path, name, first line, last line) of each function, as universal-ctags sees it."""
    command = ["ctags", "--quiet", "--output-format=json", "--fields=+neK", "--kinds-C++=f", "--kinds-Python=fm",
               "--language-force=auto", "--langmap=C++:+.cu.h", "-f", "-", "-L", "-"]
    result = subprocess.run(command, input="\n".join(paths), stdout=subprocess.PIPE, text=True, check=True,
                            cwd=tree.root)
    for line in result.stdout.splitlines():
        tag = json.loads(line)
        if "end" in tag:
            yield tag["path"], tag["name"], tag["line"], tag["end"]


def is_exception(tree, path, first, last):
    """Whether a function, or the comment before it, says why it is kept whole."""
    lines = tree.read(path).split("\n")
    while first > 1 and lines[first - 2].lstrip().startswith(("//", "#", "template")):
        first -= 1
    return any(EXCEPTION in line for line in lines[first - 1:last])


def check(tree):
    problems = []
    sources = tree.select(".h", ".cc", ".cu", ".py")
    for path in sources + tree.select(".sh", ".bzl", "BUILD.bazel", "tools/sluice", "tools/test", ".ci/run"):
        count = tree.read(path).count("\n")
        if count > MAX_FILE_LINES and EXCEPTION not in tree.read(path):
            problems.append(f"{path}:1: {count} lines, at most {MAX_FILE_LINES}")
    for path, name, first, last in functions_of(tree, sources):
        if last - first + 1 > MAX_FUNCTION_LINES and not is_exception(tree, path, first, last):
            problems.append(f"{path}:{first}: {name} has {last - first + 1} lines, at most {MAX_FUNCTION_LINES}")
    return problems


if __name__ == "__main__":
    source_tree.main(check, __doc__)
