"""Checks the machine code of each family of kernels: bytes per op against code_size.txt, which holds those of the last
release. A family may grow by a tenth, and by 4 KiB; one that is not listed is held to the bytes per op of a new family.
`--write` writes the file anew: after a change that is worth its bytes, or that saves some."""

import argparse
import os
import re
import subprocess
import sys

# What a new family may take for an op, before anybody has looked at it: the median is 9 KiB.
NEW_BYTES_PER_OP = 48 << 10
# What a listed one may grow by, of compilers and of small changes.
GROWTH = 1.1
SLACK_BYTES = 4 << 10

_OBJECT = re.compile(r"(?:^|/)(kernels/\w+)/(?:_objs/\w+/\w+(?:\.pic)?\.o|lib\w+(?:\.pic)?\.a)$")
_MEMBER = re.compile(r"^File: .*\((\w+)(?:\.pic)?\.o\)$")
# An entry of `readelf --sections`: name, type, address, offset, size, entry size, flags.
_SECTION = re.compile(r"^\s*\[\s*\d+\]\s+\S*\s+PROGBITS\s+[0-9a-f]+\s+[0-9a-f]+\s+([0-9a-f]+)\s+[0-9a-f]+\s+(\w+)\s")
_TABLE = re.compile(r"KernelRow k\w+\[\] = \{(.*?)\n\};", re.DOTALL)
# The first argument of a row or of a function that makes one, and not of .Types("T", ...).
_OP = re.compile(r'(?<![.\w])\w+(?:<[^"()]*>)?\(\s*"(_?[A-Z]\w*)"')


def code_bytes(path):
    """{source without its ending: bytes of the sections with instructions} of an object or of an archive's members."""
    result = subprocess.run(["readelf", "--sections", "--wide", path], stdout=subprocess.PIPE, text=True, check=True)
    name, sizes = os.path.basename(path).partition(".")[0], {}
    for line in result.stdout.splitlines():
        member, section = _MEMBER.match(line), _SECTION.match(line)
        if member:
            name = member.group(1)
        elif section and "X" in section.group(2):
            sizes[name] = sizes.get(name, 0) + int(section.group(1), 16)
    return sizes


def ops_of(text):
    """The names of the ops in the tables of a source."""
    return {op for table in _TABLE.findall(text) for op in _OP.findall(table)}


def families_of(objects, root):
    """{family ("kernels/math/cast"): (ops, bytes)} of those objects that hold a table of kernels."""
    families = {}
    for path in objects:
        found = _OBJECT.search(path)
        if not found:
            continue
        for member, size in code_bytes(path).items():
            name = f"{found.group(1)}/{member}"
            try:
                with open(os.path.join(root, name + ".cc"), encoding="utf-8") as source:
                    ops = ops_of(source.read())
            except FileNotFoundError:
                continue
            if ops:
                families[name] = len(ops), size
    return families


def read_listed(path):
    with open(path, encoding="utf-8") as lines:
        rows = [line.split() for line in lines if line.strip() and not line.startswith("#")]
    return {name: (int(ops), int(size)) for name, ops, size in rows}


def check(families, listed):
    problems = []
    for name, (ops, size) in sorted(families.items()):
        per_op = size / ops
        if name not in listed:
            limit = NEW_BYTES_PER_OP
        else:
            limit = listed[name][1] / listed[name][0] * GROWTH + SLACK_BYTES
        if per_op > limit:
            problems.append(f"{name}.cc: {per_op:,.0f} bytes of code for each of {ops} ops, at most {limit:,.0f}: instantiate"
                            " fewer types, or --write code_size.txt and say why")
    return problems


def format_list(families):
    lines = ["# Machine code of each family of kernels, optimised build: ops, bytes. See check_code_size.py.\n"]
    lines += [f"{name} {ops} {size}\n" for name, (ops, size) in sorted(families.items())]
    return "".join(lines)


def report(families):
    """The families, the largest first, and the sum."""
    rows = sorted(((size, ops, name) for name, (ops, size) in families.items()), reverse=True)
    rows.append((sum(row[0] for row in rows), sum(row[1] for row in rows), f"{len(rows)} families"))
    return "".join(f"{size:>10,} bytes {ops:>4} ops {size / ops:>9,.0f} bytes/op  {name}\n" for size, ops, name in rows)


def main():
    here = os.path.dirname(os.path.realpath(__file__))
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", help="a file that names archives and objects, one a line")
    parser.add_argument("--root", default=os.path.dirname(os.path.dirname(here)), help="the checkout")
    parser.add_argument("--write", action="store_true", help="write code_size.txt instead of checking")
    arguments = parser.parse_args()
    with open(arguments.list, encoding="utf-8") as lines:
        families = families_of(lines.read().split(), arguments.root)
    listing = os.path.join(arguments.root, "tests/lint/code_size.txt")
    if arguments.write:
        with open(listing, "w", encoding="utf-8") as out:
            out.write(format_list(families))
    problems = check(families, read_listed(listing))
    print(report(families) + "\n".join(problems + [f"{len(problems)} problems in {len(families)} families"]))
    sys.exit(1 if problems or not families else 0)


if __name__ == "__main__":
    main()
