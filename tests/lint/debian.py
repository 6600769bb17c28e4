"""Which Debian package owns a file of this machine, and what a package brings along. Needs dpkg, no network."""

import collections
import glob
import os
import re
import subprocess

PROGRAM_FOLDERS = ("/usr/bin", "/usr/sbin", "/bin", "/sbin")
LIBRARY_FOLDERS = ("/usr/lib/gcc/*/*", "/usr/lib/*-linux-gnu", "/usr/lib")
PYTHON_FOLDERS = ("/usr/lib/python3/dist-packages",)

# In the compiler's order: the C++ library, the compiler's own, the machine's own, all others.
HEADER_FOLDERS = ("/usr/include/c++/*", "/usr/include/*-linux-gnu/c++/*", "/usr/lib/gcc/*/*/include",
                  "/usr/include/*-linux-gnu", "/usr/include", "/usr/include/eigen3")


def find(name, folders):
    """The path of `name` in the first folder (a pattern) that holds it, or None."""
    for pattern in folders:
        for folder in sorted(glob.glob(pattern), reverse=True):
            if os.path.exists(os.path.join(folder, name)):
                return os.path.join(folder, name)
    return None


def find_program(name):
    return find(name, PROGRAM_FOLDERS)


def find_header(name):
    return find(name, HEADER_FOLDERS)


def find_library(option):
    """The file that the linker takes for "-lNAME" or "-l:FILE"."""
    name = option[2:]
    names = [name[1:]] if name.startswith(":") else [f"lib{name}.so", f"lib{name}.a"]
    return next((path for path in (find(name, LIBRARY_FOLDERS) for name in names) if path), None)


def find_python_module(name):
    """The path of a module that a package brings, not the standard library."""
    return find(name, PYTHON_FOLDERS) or find(name + ".py", PYTHON_FOLDERS)


def spellings(path):
    """The names under which dpkg may know a file: as it is, after links (alternatives), without /usr (merged)."""
    folder, name = os.path.split(path)
    candidates = [path, os.path.join(os.path.realpath(folder), name), os.path.realpath(path)]
    for candidate in list(candidates):
        candidates.append(candidate[len("/usr"):] if candidate.startswith("/usr/") else "/usr" + candidate)
    return list(dict.fromkeys(os.path.normpath(candidate) for candidate in candidates))


class Packages:
    """The packages that are installed on this machine."""

    def __init__(self):
        self._owners = {}  # path -> set of package names
        self._depends = {}  # package -> [[alternative]]
        self._providers = collections.defaultdict(set)
        self._base = {"apt"}
        self._read_status()

    def _read_status(self):
        fields = "${Package}\t${db:Status-Status}\t${Essential}\t${Priority}\t${Provides}\t${Pre-Depends}, ${Depends}\n"
        listed = subprocess.run(["dpkg-query", "-W", "-f", fields], stdout=subprocess.PIPE, text=True, check=True)
        for line in listed.stdout.splitlines():
            package, status, essential, priority, provides, depends = line.split("\t")
            if status != "installed":
                continue
            if essential == "yes" or priority == "required":
                self._base.add(package)
            self._depends[package] = [clause for clause in parse_relations(depends) if clause]
            for clause in parse_relations(provides):
                self._providers[clause[0]].add(package)

    def is_installed(self, package):
        return package in self._depends

    def owners(self, path):
        """The packages that brought a file (several may share a directory); empty where none did."""
        self.look_up([path])
        return self._owners[path]

    def look_up(self, paths):
        """Asks dpkg for the owners of many files at once."""
        unknown = sorted(set(paths) - set(self._owners))
        names = {path: spellings(path) for path in unknown}
        wanted = sorted({name for path in unknown for name in names[path]})
        by_name = collections.defaultdict(set)
        if wanted:
            found = subprocess.run(["dpkg-query", "-S", *wanted], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True, check=False, env={**os.environ, "LC_ALL": "C"})
            for line in found.stdout.splitlines():
                packages, _, name = line.partition(": ")
                if not line.startswith("diversion by"):
                    by_name[name].update(package.strip().split(":")[0] for package in packages.split(","))
        for path in unknown:
            self._owners[path] = next((by_name[name] for name in names[path] if by_name[name]), set())

    def with_dependencies(self, packages):
        """The packages, what every Debian holds, and all that they depend on (what they recommend is not installed)."""
        reached, pending = set(), list(packages) + sorted(self._base)
        while pending:
            package = pending.pop()
            if package in reached:
                continue
            reached.add(package)
            for clause in self._depends.get(package, []):
                pending.extend(self._chosen(clause))
        return reached

    def _chosen(self, clause):
        """What apt takes of "a | b": the first that is a package, else what provides the first."""
        for name in clause:
            if name in self._depends:
                return [name]
        return sorted(self._providers[clause[0]])[:1]


def parse_relations(text):
    """[[name of an alternative]] of "a (>= 1), b:any | c"."""
    clauses = [clause.strip() for clause in text.split(",")]
    return [[re.split(r"[\s:(]", name.strip(), 1)[0] for name in clause.split("|")] for clause in clauses if clause]
