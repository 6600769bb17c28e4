"""Checks that our objects do nothing before main. Exempt: protoc's output, and the files of the program (not of any
library) that read the command line with CLI11."""

import argparse
import os
import re
import subprocess
import sys

_MEMBER = re.compile(r"^File: .*\((.*)\)$|^File: (.*)$")
_RELOCATIONS = re.compile(r"^Relocation section '\.rela(\.\S+)'")
# Where compilers put pointers to functions that run before main, and where those functions stand.
_POINTERS = re.compile(r"^\.(?:init_array|ctors|preinit_array)(?:\.\d+)?$")
# Plain ".text.startup" is code that runs at the start because it is called: kernels/at_start.h.
_FUNCTIONS = re.compile(r"^\.text\.startup\._GLOBAL__.*$")
_SYMBOL = re.compile(r"^[0-9a-f]+\s+[0-9a-f]+\s+R_\S+\s+[0-9a-f]+\s+(\S+)")

# What <iostream> brings into every file, and Abseil's headers bring <iostream>: a reference count of the standard
# library's, not an initialiser of ours.
_STREAMS = {"_ZStL8__ioinit", ".bss._ZStL8__ioinit", "_ZNSt8ios_base4InitC1Ev", "_ZNSt8ios_base4InitD1Ev",
            "__dso_handle", "__cxa_atexit"}


def initialisers_of(archive):
    """{member: symbols that its code before main touches} of an archive or an object, streams' own left out."""
    result = subprocess.run(["readelf", "--wide", "--relocs", archive], stdout=subprocess.PIPE, text=True, check=True)
    member, section, runs, touched = os.path.basename(archive), "", set(), {}
    for line in result.stdout.splitlines():
        if _MEMBER.match(line):
            member = os.path.basename(next(group for group in _MEMBER.match(line).groups() if group))
        elif _RELOCATIONS.match(line):
            section = _RELOCATIONS.match(line).group(1)
            if _POINTERS.match(section):
                runs.add(member)
        elif _FUNCTIONS.match(section) and _SYMBOL.match(line):
            touched.setdefault(member, set()).add(_SYMBOL.match(line).group(1))
    return {member: touched.get(member, {"?"}) - _STREAMS for member in runs if touched.get(member, {"?"}) - _STREAMS}


# The front end of the program, one target a command: CLI11 defines its validators as globals in its header, so that
# every file which reads a command line has them. No library of ours includes it.
_COMMAND_LINE = re.compile(r"(?:^|/)tools/cli/(?:run/|train/)?(?:_objs/\w+/\w+\.o|lib\w+\.(?:a|lo|so))$")


def is_exempt(archive, member):
    """Whether an object may run code before main: protoc's output, and the files that read the command line."""
    return re.search(r"\.pb(?:\.pic)?\.o$", member) is not None or _COMMAND_LINE.search(archive) is not None


def check(archives):
    return [f"{archive}({member}): runs code before main, which touches {', '.join(sorted(symbols)[:4])}"
            for archive in archives for member, symbols in sorted(initialisers_of(archive).items())
            if not is_exempt(archive, member)]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("list", help="a file that names archives and objects, one a line")
    with open(parser.parse_args().list, encoding="utf-8") as lines:
        archives = lines.read().split()
    problems = check(archives)
    print("\n".join(problems + [f"{len(problems)} problems in {len(archives)} files"]))
    sys.exit(1 if problems or not archives else 0)


if __name__ == "__main__":
    main()
