"""The files of a checkout, and what all checks have in common."""

import argparse
import os
import re
import subprocess
import sys

# The directories whose code is bound by the layers, lowest first.
LAYERS = ["graph", "frames", "rendezvous", "kernels", "executor", "tools"]

_INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


class SourceTree:
    """The tracked and the new files of a checkout (all files, where there is no git). Reads each file once."""

    def __init__(self, root):
        self.root = root
        self._texts = {}
        listed = subprocess.run(["git", "-C", root, "ls-files", "-co", "--exclude-standard", "-z"],
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        if listed.returncode == 0:
            names = listed.stdout.decode().split("\0")
        else:
            names = [os.path.relpath(os.path.join(folder, name), root)
                     for folder, _, files in os.walk(root) for name in files]
        self.files = sorted(name for name in set(names) if name and os.path.isfile(os.path.join(root, name)))

    def select(self, *suffixes, under=""):
        """The files with one of the suffixes, below a directory."""
        return [name for name in self.files if name.endswith(suffixes) and name.startswith(under)]

    def read(self, name):
        if name not in self._texts:
            with open(os.path.join(self.root, name), encoding="utf-8", errors="replace") as file:
                self._texts[name] = file.read()
        return self._texts[name]

    def lines(self, name):
        """(number from 1, line) of a file."""
        return enumerate(self.read(name).split("\n"), 1)

    def includes(self, name):
        """(line, path, whether in angle brackets) of each include."""
        for number, line in self.lines(name):
            found = _INCLUDE.match(line)
            if found:
                yield number, found.group(2), found.group(1) == "<"


def main(check, description):
    """Runs `check(tree)`, which returns a list of problems ("path:line: text"), over a checkout. Exits 1 for any."""
    parser = argparse.ArgumentParser(description=description)
    default = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
    parser.add_argument("--root", default=default, help="the checkout (default: the one of this script)")
    problems = check(SourceTree(parser.parse_args().root))
    for problem in problems:
        print(problem)
    print(f"{len(problems)} problems")
    sys.exit(1 if problems else 0)
