"""How many CPU seconds compiling takes: of each family of kernels, or of the sources that are named.

  tools/bench/compile_cost.py --generated bazel-bin [--flags=-O2] [kernels/array/gather.cc ...]

Compiles each source once with the flags of .bazelrc and of kernel_family.bzl, one after the other, and prints CPU seconds
(user and system, which other programs on the machine hardly change), bytes of instructions, and both for each op. The
slowest come first. `--generated`: where protoc's headers stand, as Bazel has built them.
"""

import argparse
import glob
import os
import re
import resource
import subprocess
import sys
import tempfile

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__))))
sys.path.insert(0, os.path.join(_ROOT, "tests", "lint"))
import check_code_size  # noqa: E402  (what a family and its ops are)


def flags_of_checkout(root):
    """The compiler's flags for optimised builds of families."""
    with open(os.path.join(root, ".bazelrc"), encoding="utf-8") as file:
        rc = file.read()
    with open(os.path.join(root, "kernels", "kernel_family.bzl"), encoding="utf-8") as file:
        copts = re.search(r"LOOP_COPTS = \[(.*?)\]", file.read(), re.DOTALL).group(1)
    common = re.findall(r"--copt=(\S+)", re.search(r"^build --copt=.*$", rc, re.MULTILINE).group(0))
    return ["-std=c++17", "-O2", "-g0", "-ffunction-sections", "-fdata-sections"] + common + re.findall(r'"(-\S+)"', copts)


def cost_of(source, flags, compiler):
    """(CPU seconds, bytes of instructions) of compiling one source."""
    with tempfile.TemporaryDirectory() as folder:
        made = os.path.join(folder, "made.o")
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([compiler] + flags + ["-c", source, "-o", made], check=True, cwd=_ROOT)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
        return seconds, sum(check_code_size.code_bytes(made).values())


def families(root):
    """{source: ops} of all sources with a table of kernels."""
    found = {}
    for path in sorted(glob.glob("kernels/*/*.cc", root_dir=root)):
        with open(os.path.join(root, path), encoding="utf-8") as source:
            ops = check_code_size.ops_of(source.read())
        if ops:
            found[path] = len(ops)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="*", help="sources (default: all families of kernels)")
    parser.add_argument("--generated", action="append", default=[], help="a folder of generated headers")
    parser.add_argument("--flags", default="", help="more flags, separated by spaces: they come last")
    parser.add_argument("--compiler", default="g++")
    arguments = parser.parse_args()
    ops = families(_ROOT)
    flags = flags_of_checkout(_ROOT) + [f"-I{folder}" for folder in ["."] + arguments.generated] + arguments.flags.split()
    rows = []
    for source in arguments.sources or ops:
        seconds, size = cost_of(source, flags, arguments.compiler)
        rows.append((seconds, size, ops.get(source, 0), source))
    rows.sort(reverse=True)
    rows.append((sum(row[0] for row in rows), sum(row[1] for row in rows), sum(row[2] for row in rows),
                 f"{len(rows)} sources"))
    for seconds, size, count, source in rows:
        each = f"{seconds / count:>6.2f} s/op {size / count:>9,.0f} bytes/op" if count else " " * 31
        print(f"{seconds:>7.2f} s {size:>10,} bytes {count:>4} ops {each}  {source}")


if __name__ == "__main__":
    main()
