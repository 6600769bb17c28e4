"""A copy of the checkout with mutants in it, built once; mutants that do not compile are taken out again."""

import os
import re
import shutil
import subprocess

import mutated_source

MAX_ROUNDS = 10
_PLACE = re.compile(r"^([\w./+-]+):(\d+)(?::\d+)?: ?(error|.*required from|.*note:)?", re.M)


class Copy:
    """A copy of the tracked and new files of a checkout, which stays between runs so that Bazel's state stays, too."""

    def __init__(self, source, folder, bazel):
        self.root = os.path.join(folder, "tree")
        self._source = source
        self._bazel = bazel
        listed = subprocess.run(["git", "-C", source, "ls-files", "-co", "--exclude-standard", "-z"],
                                stdout=subprocess.PIPE, check=True).stdout.decode().split("\0")
        self.files = sorted(name for name in set(listed) if name and os.path.isfile(os.path.join(source, name)))
        self._delete_others()
        for name in self.files:
            self.restore(name)

    def _delete_others(self):
        known = set(self.files)
        for folder, _, names in os.walk(self.root):
            for name in names:
                path = os.path.join(folder, name)
                if os.path.relpath(path, self.root) not in known:
                    os.remove(path)

    def restore(self, name):
        """Gives a file the text that it has in the checkout."""
        with open(os.path.join(self._source, name), "rb") as file:
            self.write(name, file.read())
        shutil.copymode(os.path.join(self._source, name), os.path.join(self.root, name))

    def write(self, name, text):
        """Writes a file when that changes it: Bazel looks at its time."""
        path = os.path.join(self.root, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            with open(path, "rb") as file:
                if file.read() == text:
                    return
        with open(path, "wb") as file:
            file.write(text)

    def read(self, name):
        with open(os.path.join(self._source, name), "rb") as file:
            return file.read()

    def bazel(self, *arguments):
        """Runs Bazel in the copy: (status, what it printed)."""
        run = subprocess.run([*self._bazel, *arguments], cwd=self.root, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        return run.returncode, run.stdout

    def folder_of_outputs(self, checkout=None):
        run = subprocess.run(["bazel", "info", "bazel-bin"], cwd=checkout or self.root, stdin=subprocess.DEVNULL,
                             stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, check=True)
        return run.stdout.strip()


def write_mutants(copy, mutants):
    """Writes the mutated sources; files that have no mutant left get their own text."""
    by_path = {}
    for mutant in mutants:
        by_path.setdefault(mutant.path, []).append(mutant)
    for path in copy.files:
        if path in by_path:
            text = mutated_source.rewrite(copy.read(path), by_path[path])
            copy.write(path, mutated_source.with_prelude(text, path).encode())
        elif path.endswith((".cc", ".h")):
            copy.write(path, copy.read(path))


def blamed(output, mutants):
    """The mutants that stand where the compiler found errors, or that it needed to come there."""
    by_path, found = {}, set()
    for mutant in mutants:
        by_path.setdefault(mutant.path, []).append(mutant)
    files_with_errors = set()
    for place in _PLACE.finditer(output):
        path, line, what = place.group(1), int(place.group(2)), place.group(3) or ""
        if path not in by_path or not what:
            continue
        here = [m for m in by_path[path] if m.line <= line <= m.line + m.original.count("\n")]
        found.update(here)
        if what == "error" and not here:
            files_with_errors.add(path)
    for path in files_with_errors:
        if not any(mutant.path == path for mutant in found):
            found.update(by_path[path])
    return found


def build(copy, mutants, targets, say):
    """Builds the targets with as many of the mutants as compile. Returns those."""
    for _ in range(MAX_ROUNDS):
        write_mutants(copy, mutants)
        paths = sorted({mutant.path for mutant in mutants})
        pattern = "^(" + "|".join(re.escape(path) for path in paths) + ")$"
        # Mutants make warnings; how fast the code is does not matter.
        options = [f"--per_file_copt={pattern}@-w,-O1"] if paths else []
        status, output = copy.bazel("build", "--keep_going", *options, "--", *targets)
        if status == 0:
            return mutants
        wrong = blamed(output, mutants)
        if not wrong:
            raise RuntimeError("the copy does not build, and no mutant is where the errors are:\n" + output[-8000:])
        say(f"{len(wrong)} mutants do not compile")
        mutants = [mutant for mutant in mutants if mutant not in wrong]
    raise RuntimeError(f"there are still errors after {MAX_ROUNDS} rounds")
