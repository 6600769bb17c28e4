"""Checks that every Debian package which a build or a test reaches is listed in tools/setup/packages.txt, or is a
dependency of one that is listed, in a section that is installed by then.

Reached are: system headers that are included, libraries that are linked, programs that scripts, build rules and tests
call, Python modules, directories of Bazel's rules. Each is looked up on this machine, and dpkg names its package; that
it is installed here proves nothing. What is not here, where packages of its sections are not either (those of .ci/run,
on a machine that only runs tools/test), is left to a machine that has them. Scripts that no target and no script with
ensure_packages names (comparisons with TensorFlow) are left alone: nothing is installed for them.
"""

import os
import re

import build_files
import debian
import python_calls
import shell_words
import source_tree

PACKAGES = "tools/setup/packages.txt"
SETUP = "tools/setup/setup.sh"
SYSTEM_LIBRARIES = "tools/bazel/sys.BUILD"

# What each part of Bazel's targets is built with: tools/sluice, tools/test and .ci/run install these sections.
BUILD, TEST, CI = ("build",), ("build", "test"), ("build", "test", "ci")

# Called only where the machine has them; the script says what to do otherwise.
_OPTIONAL_PROGRAMS = {"sudo"}

# C++ functions whose string literals are commands of the shell.
_SHELL_LITERAL = re.compile(r'\b(?:(?:system|popen)\([^"\n;]*?|RunSluiceInto\(\{[^}]*\}, )"((?:[^"\\\n]|\\.)*)"')
_EXEC_LITERAL = re.compile(r'\b(?:execl|execlp|execv|execvp|posix_spawnp?)\((?:[^"\n;]*?)"((?:[^"\\\n]|\\.)*)"')
_MAKE_VARIABLE = re.compile(
    r"\$\((?:location|locations|execpath|rootpath|RULEDIR|BINDIR|GENDIR|SRCS|OUTS)[^()]*\)|\$[@<^]")


def read_sections(text):
    """{section: [package]} of packages.txt."""
    sections, current = {}, None
    for line in text.split("\n"):
        line = line.partition("#")[0].strip()
        if line.startswith("["):
            current = sections.setdefault(line.strip("[]"), [])
        elif line and current is not None:
            current.append(line.split()[0])
    return sections


class Reach:
    """Everything of the system that the files of a checkout reach, with the sections installed by then."""

    def __init__(self, tree):
        self.found = []  # (path, line, sections, what, path on this machine or None)
        self._tree = tree
        self._workspace = build_files.Workspace(tree)
        self._sections = {}  # file or label -> sections
        self._functions = {name for path in tree.files if self._is_shell(path)
                           for name in shell_words.Script(tree.read(path)).functions}
        self._place_targets()
        self._place_scripts()
        for path in sorted(self._sections):
            if path in tree.files:
                self._read_file(path, self._sections[path])
        for label in sorted(set(self._sections) & set(self._workspace.targets)):
            self._read_target(self._workspace.targets[label], self._sections[label])
        self._read_bazel_settings()

    def _is_shell(self, path):
        return path.endswith(".sh") or os.path.splitext(path)[1] == "" and re.match(
            r"#!\S*(?:/| )(?:ba)?sh\b", self._tree.read(path)[:80]) is not None

    def _place_targets(self):
        """Notes which targets and files each command builds; what several build needs the least that is installed."""
        workspace = self._workspace
        for labels, sections in ((["//tools/cli:sluice"], BUILD),
                                 (workspace.below("tests/") + workspace.below("tools/examples/"), TEST),
                                 (workspace.below(""), CI)):
            targets, files = workspace.closure(labels)
            for name in [*targets, *files]:
                self._sections.setdefault(name, sections)
        for path in self._tree.select(".bzl"):
            self._sections.setdefault(path, BUILD)

    def _place_scripts(self):
        """Scripts say themselves what they install; what they name, or import, runs after it."""
        pending = []
        for path in filter(self._is_shell, self._tree.files):
            found = re.search(r"^\s*ensure_packages ([a-z_ ]+)$", self._tree.read(path), re.M)
            if found:
                pending.append((path, tuple(found.group(1).split())))
            elif "ensure_binary" in self._tree.read(path):
                pending.append((path, BUILD))
        pending += [(path, sections) for path, sections in self._sections.items() if path.endswith(".py")]
        while pending:
            path, sections = pending.pop(0)
            self._sections[path] = min(sections, self._sections.get(path, sections), key=len)
            for other in self._tree.select(".py"):
                folder, name = os.path.split(other)
                named = (rf"^(?:import|from) {name[:-3]}\b" if path.endswith(".py") else rf"\b{re.escape(name)}\b")
                near = folder == os.path.dirname(path) or not path.endswith(".py")
                if other not in self._sections and near and re.search(named, self._tree.read(path), re.M):
                    pending.append((other, sections))

    def _add(self, path, line, sections, what, found):
        self.found.append((path, line, sections, what, found))

    def _add_program(self, path, line, sections, name):
        if name in self._functions or name in _OPTIONAL_PROGRAMS or name == "sluice":
            return
        if name.startswith("/"):
            self._add(path, line, sections, f"program {name}", name if os.path.exists(name) else None)
        elif "/" not in name:
            self._add(path, line, sections, f"program {name}", debian.find_program(name))

    def _read_file(self, path, sections):
        if path.endswith((".h", ".cc", ".cu")):
            self._read_cpp(path, sections)
        elif path.endswith(".py"):
            calls = python_calls.PythonCalls(self._tree.read(path), path)
            for line, name in calls.programs:
                self._add_program(path, line, sections, name)
            for line, name in calls.modules:
                if not any(other.endswith(f"/{name}.py") for other in self._tree.files):
                    self._add(path, line, sections, f"Python module {name}", debian.find_python_module(name))
        elif self._is_shell(path):
            for line, name in shell_words.Script(self._tree.read(path)).calls:
                self._add_program(path, line, sections, name)

    def _read_cpp(self, path, sections):
        for line, name, _ in self._tree.includes(path):
            folder, file = os.path.split(name)
            made = f"//{folder}:{file}" in self._workspace.targets
            ours = name in self._tree.files or os.path.join(os.path.dirname(path), name) in self._tree.files
            if not made and not ours:
                self._add(path, line, sections, f"header {name}", debian.find_header(name))
        text = self._tree.read(path)
        for found in _SHELL_LITERAL.finditer(text):
            line = text.count("\n", 0, found.start()) + 1
            for _, name in shell_words.Script(found.group(1)).calls:
                self._add_program(path, line, sections, name)
        for found in _EXEC_LITERAL.finditer(text):
            self._add_program(path, text.count("\n", 0, found.start()) + 1, sections, found.group(1))

    def _read_target(self, target, sections):
        for option in build_files.flatten(target.attributes.get("linkopts")):
            if option.startswith("-l"):
                self._add(target.path, target.line, sections, f"library {option}", debian.find_library(option))
        if target.kind == "genrule":
            command = _MAKE_VARIABLE.sub("./made", target.attributes["cmd"]).replace("$$", "$")
            for _, name in shell_words.Script(command).calls:
                self._add_program(target.path, target.line, sections, name)
        if target.path == SYSTEM_LIBRARIES:
            for name in build_files.flatten(target.attributes.get("srcs")):
                found = os.path.join("/usr", name)
                self._add(target.path, target.line, sections, f"file {found}", found if os.path.exists(found) else None)

    def _read_bazel_settings(self):
        """What Bazel calls by itself, and what its configurations make it call."""
        if "WORKSPACE" not in self._tree.files or ".bazelrc" not in self._tree.files:
            return
        self._add("WORKSPACE", 1, BUILD, "compiler gcc, which Bazel calls", debian.find_program("gcc"))
        for line, text in self._tree.lines("WORKSPACE"):
            for path in re.findall(r'path = "(/usr/[^"]+)"', text):
                self._add("WORKSPACE", line, BUILD, f"directory {path}", path if os.path.exists(path) else None)
        for line, text in self._tree.lines(".bazelrc"):
            config = re.match(r"\w+:?([\w-]*)\s", text)
            sections = self._sections_of_config(config.group(1)) if config else BUILD
            names = [*re.findall(r"--repo_env=CC=(\S+)", text),
                     *("ld." + linker for linker in re.findall(r"-fuse-ld=(\w+)", text))]
            for name in names if sections else []:
                self._add_program(".bazelrc", line, sections, name)

    def _sections_of_config(self, config, depth=8):
        """The sections installed where a configuration is used; None where no script of ours uses it."""
        if not config:
            return BUILD
        users = [self._sections[path] for path in self._sections
                 if path in self._tree.files and path.endswith((".py", "/run", "/test"))
                 and re.search(rf"--config={config}\b(?!-)", self._tree.read(path))]
        for _, text in self._tree.lines(".bazelrc"):
            used = re.match(rf"\w+:([\w-]+)\s.*--config={config}\b(?!-)", text)
            if used and depth:
                users.append(self._sections_of_config(used.group(1), depth - 1))
        return min((sections for sections in users if sections), key=len, default=None)


def packages_of(listed, sections):
    return [package for section in sections for package in listed.get(section, [])]


def check(tree):
    if PACKAGES not in tree.files:
        return [f"{PACKAGES}:1: does not exist"]
    listed = read_sections(tree.read(PACKAGES))
    reach, packages = Reach(tree), debian.Packages()
    packages.look_up(found for *_, found in reach.found if found)
    installed, problems, seen = {}, [], set()
    for path, line, sections, what, found in reach.found:
        if sections not in installed:
            installed[sections] = packages.with_dependencies(packages_of(listed, sections))
        where = " and ".join(f"[{section}]" for section in sections)
        owners = packages.owners(found) if found else set()
        if (path, what) in seen or owners & installed[sections]:
            continue
        seen.add((path, what))
        if found is None and not all(map(packages.is_installed, packages_of(listed, sections))):
            continue
        if not owners:
            place = f"{found} belongs to no Debian package" if found else "this machine does not have it"
            problems.append(f"{path}:{line}: reaches {what}, but {place}: install its package, and list it in "
                            f"{PACKAGES}, section [{sections[-1]}]")
        else:
            problems.append(f"{path}:{line}: reaches {what} of package {' or '.join(sorted(owners))}, which {where} of "
                            f"{PACKAGES} neither list nor depend on: list it in [{sections[-1]}]")
    return problems


if __name__ == "__main__":
    source_tree.main(check, __doc__)
