"""Checks that every header compiles alone, with the guard and in the order the style asks for.

A source file that includes its own header first proves that header with each build; only headers without such a
source are compiled here. What compiled once is remembered by its content and that of all it includes.
"""

import concurrent.futures
import hashlib
import os
import subprocess
import tempfile

import source_tree

COMPILE = ["g++", "-std=c++17", "-fsyntax-only", "-x", "c++", "-Wall", "-Wextra"]
CACHE = os.path.join(os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "sluice", "lint_headers")


def guard_of(path):
    return "SLUICE_" + path.upper().replace("/", "_").replace(".", "_").replace("-", "_") + "_"


def check_guard(tree, path):
    """Problems with the include guard, which comes before all else and is closed at the end."""
    lines = [line for line in tree.read(path).split("\n") if line.strip()]
    guard = guard_of(path)
    if lines[:2] != [f"#ifndef {guard}", f"#define {guard}"] or lines[-1] != f"#endif  // {guard}":
        return [f"{path}:1: the include guard must be {guard}"]
    return []


def own_header(path):
    """The header that a source belongs to: its own name, that of its test or of its CUDA twin."""
    stem = os.path.splitext(path)[0]
    if path.startswith("tests/") and stem.endswith("_test"):
        stem = stem[:-len("_test")]
        if not os.path.dirname(stem).startswith("tests/testing"):
            stem = stem[len("tests/"):]
    return stem + ".h"


def check_order(tree, path):
    """Problems with the place of the source's own header; and the header that is proven by it, or None."""
    header = own_header(path)
    if header not in tree.files:
        return [], None
    included = [name for _, name, angled in tree.includes(path) if not angled]
    first = next(iter(tree.includes(path)), (1, "", True))
    if header in included and first[1] != header:
        return [f"{path}:{first[0]}: its own header '{header}' must be included first"], None
    proven = header if first[1] == header and not path.startswith("tests/") else None
    return [], proven


def digest_of(tree, path, version):
    """A name for the header's content, that of all our headers it includes, and the compiler."""
    digest, seen, pending = hashlib.sha256(version), set(), [path]
    while pending:
        name = pending.pop()
        if name in seen or name not in tree.files:
            continue
        seen.add(name)
        digest.update(tree.read(name).encode())
        for _, included, angled in tree.includes(name):
            if not angled:
                pending.append(included)
                if included.endswith(".pb.h"):
                    pending.append(included[:-len(".pb.h")] + ".proto")
    return digest.hexdigest()


def generate_protos(tree, folder):
    """C++ of all protos, for headers that include it."""
    protos = tree.select(".proto")
    if protos:
        subprocess.run(["protoc", "-I.", f"--cpp_out={folder}", *protos], cwd=tree.root, check=True)


def compile_alone(tree, path, generated):
    """The problem with a header as a translation unit of its own, or None."""
    result = subprocess.run([*COMPILE, "-I.", f"-I{generated}", "-I/usr/include/eigen3", path], cwd=tree.root,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if result.returncode == 0:
        return None
    why = next((line for line in result.stdout.splitlines() if "error" in line), "it does not compile alone")
    return f"{path}:1: does not compile alone: {why}"


def compile_all(tree, headers):
    """Problems of the headers that have not been compiled with this content before."""
    version = subprocess.run(["g++", "--version"], stdout=subprocess.PIPE, check=True).stdout
    os.makedirs(CACHE, exist_ok=True)
    unknown = [(path, os.path.join(CACHE, digest_of(tree, path, version))) for path in headers]
    unknown = [(path, mark) for path, mark in unknown if not os.path.exists(mark)]
    problems = []
    if not unknown:
        return problems
    with tempfile.TemporaryDirectory() as generated, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        generate_protos(tree, generated)
        results = pool.map(lambda item: compile_alone(tree, item[0], generated), unknown)
        for (_, mark), problem in zip(unknown, results):
            if problem:
                problems.append(problem)
            else:
                open(mark, "w", encoding="utf-8").close()
    return problems


def check(tree):
    problems, proven = [], set()
    for path in tree.select(".cc", ".cu"):
        found, header = check_order(tree, path)
        problems += found
        proven.add(header)
    headers = [path for path in tree.select(".h") if not path.startswith("tools/bazel/")]
    for path in headers:
        problems += check_guard(tree, path)
    return problems + compile_all(tree, [path for path in headers if path not in proven])


if __name__ == "__main__":
    source_tree.main(check, __doc__)
