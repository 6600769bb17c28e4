"""Checks what a repository of ours holds: fixed top-level names, READMEs, sizes, no traces of a machine."""

import os
import re

import source_tree

TOP_LEVEL = {"BUILD.bazel", "WORKSPACE", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "graph",
             "frames", "rendezvous", "kernels", "executor", "tools", "tests"}
MAX_FILE_BYTES = 1 << 20
MAX_README_LINES = 60

# Written in pieces, so that this file does not offend.
_MACHINE_PATH = re.compile(r"(?:^|[^A-Za-z0-9_.])/(?:w" r"ork|f" r"arm|r" r"oot|ho" r"me)/[\w.]")
_REGISTRY = re.compile("|".join(re.escape(host) for host in [
    "pypi." "org", "files." "pythonhosted.org", "deb." "debian.org", "snapshot." "debian.org", "registry." "npmjs.org",
    "crates" ".io", "proxy." "golang.org", "conda." "anaconda.org", "repo1." "maven.org"]))

# Macros of other directories that a BUILD file uses.
_LOAD = re.compile(r'^load\("//([^:"]+):([^"]+)"', re.MULTILINE)

# Directories whose folders are data, each described by the README above them.
_DATA = ("tests/goldens/", "tests/corpus/", "tests/fuzz/", "tools/docs/keras_trainer/", "tools/examples/digit_reader/")


def check_top_level(tree):
    for name in sorted({path.split("/")[0] for path in tree.files}):
        if name not in TOP_LEVEL and not name.startswith("."):
            yield f"{name}:1: the top-level names are fixed (DESIGN.md section 1)"


def check_readmes(tree):
    """Every directory with code of ours has a short README, and so has a directory of data."""
    folders = {os.path.dirname(path) for path in tree.files if path.startswith((*source_tree.LAYERS, "tests/"))}
    folders = {folder for folder in folders if not (folder + "/").startswith(_DATA)}
    folders |= {parent for folder in folders for parent in [folder.split("/")[0]]}
    folders |= {d.rstrip("/") for d in _DATA}
    for folder in sorted(folders):
        inhabited = any(path.startswith(folder + "/") for path in tree.files)
        if inhabited and f"{folder}/README.md" not in tree.files and not folder.startswith("tools/bazel/"):
            yield f"{folder}:1: has no README.md"
    for path in tree.select("/README.md"):
        lines = tree.read(path).count("\n")
        if lines > MAX_README_LINES:
            yield f"{path}:1: {lines} lines, at most {MAX_README_LINES}"


def check_contents(tree):
    for path in tree.files:
        size = os.path.getsize(os.path.join(tree.root, path))
        if size > MAX_FILE_BYTES:
            yield f"{path}:1: {size} bytes, at most {MAX_FILE_BYTES}"
        elif path.startswith(_DATA) or not is_text(tree, path):
            continue
        for number, line in tree.lines(path):
            if _MACHINE_PATH.search(line):
                yield f"{path}:{number}: names a path of one machine"
            if _REGISTRY.search(line):
                yield f"{path}:{number}: names a package registry"


def is_text(tree, path):
    with open(os.path.join(tree.root, path), "rb") as file:
        return b"\0" not in file.read(4096)


def check_targets(tree):
    """Every source belongs to a target of its directory: its name, or its stem, stands in the BUILD file or a macro."""
    for path in tree.select(".cc", ".cu", ".h", ".proto"):
        folder, name = os.path.split(path)
        while folder and f"{folder}/BUILD.bazel" not in tree.files:
            folder, parent = os.path.split(folder)
            name = f"{parent}/{name}"
        macros = [other for other in tree.select(".bzl", under=folder + "/") if os.path.dirname(other) == folder]
        build = "".join(tree.read(other) for other in [f"{folder}/BUILD.bazel", *macros]) if folder else ""
        loaded = (f"{package}/{file}" for package, file in _LOAD.findall(build))
        build += "".join(tree.read(other) for other in loaded if other in tree.files)
        if f'"{name}"' not in build and f'"{os.path.splitext(name)[0]}"' not in build:
            yield f"{path}:1: belongs to no target"


def check_public_targets(tree):
    """What the README and the guides tell programs to depend on can be seen from their packages."""
    texts = [path for path in tree.files if path == "README.md" or re.match(r"tools/docs/\w+\.md$", path)]
    for path, (number, line) in ((path, numbered) for path in texts for numbered in tree.lines(path)):
        for folder, name in re.findall(r"`//([a-z_/]+)(?::([a-z_]+))?`", line):
            build = f"{folder}/BUILD.bazel"
            rule = f'name = "{name or os.path.basename(folder)}",'
            text = tree.read(build) if build in tree.files else ""
            if '"//visibility:public"' not in text.partition(rule)[2].partition("\n)\n")[0]:
                yield f"{path}:{number}: //{folder}:{name or os.path.basename(folder)} is not visible to everybody"


def check(tree):
    return [*check_top_level(tree), *check_readmes(tree), *check_contents(tree), *check_targets(tree),
            *check_public_targets(tree)]


if __name__ == "__main__":
    source_tree.main(check, __doc__)
