"""Checks that our objects do nothing before main. protoc's output is exempt."""

import argparse
import os
import re
import subprocess
import sys

_MEMBER = re.compile(r"^File: .*\((.*)\)$|^File: (.*)$")
# Where compilers put calls that run before main.
_SECTION = re.compile(r"\s\.(?:init_array|ctors|preinit_array)(?:\.\d+)?\s")


def members_with_initialisers(archive):
    """The objects of an archive (or the object itself) that have a section of initialisers."""
    result = subprocess.run(["readelf", "--wide", "--section-headers", archive], stdout=subprocess.PIPE, text=True,
                            check=True)
    member = os.path.basename(archive)
    found = []
    for line in result.stdout.splitlines():
        named = _MEMBER.match(line)
        if named:
            member = os.path.basename(named.group(1) or named.group(2))
        elif _SECTION.search(line) and member not in found:
            found.append(member)
    return found


def is_exempt(member):
    return re.search(r"\.pb(?:\.pic)?\.o$", member) is not None


def check(archives):
    return [f"{archive}({member}): runs code before main (an object with a constructor that is not constexpr?)"
            for archive in archives for member in members_with_initialisers(archive) if not is_exempt(member)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", help="a file that names archives and objects, one a line")
    with open(parser.parse_args().list, encoding="utf-8") as lines:
        archives = lines.read().split()
    problems = check(archives)
    print("\n".join(problems + [f"{len(problems)} problems in {len(archives)} archives"]))
    sys.exit(1 if problems or not archives else 0)


if __name__ == "__main__":
    main()
