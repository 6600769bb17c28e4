"""tools/sluice builds exactly when a source has changed, and installs nothing where that is forbidden.

Runs the real scripts in a small checkout of its own, with programs in the place of Bazel and Debian's tools that
write down how they were called.
"""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", ".."))

BAZEL = """#!/bin/bash
case "$1" in
  build) echo build >>"$LOG"; [[ ! -e "$FAIL" ]] || { echo "no such symbol" >&2; exit 1; }
         mkdir -p "$BIN/tools/cli"; printf '#!/bin/bash\\necho "ran $*"; exit 3\\n' >"$BIN/tools/cli/sluice"
         chmod +x "$BIN/tools/cli/sluice" ;;
  info) echo "$BIN" ;;
esac
"""
DPKG_QUERY = '#!/bin/bash\n[[ "${!#}" == mold && -e "$MISSING" ]] || printf installed\n'


class WrapperTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.write("checkout/graph/a.cc", "int x;\n")
        shutil.copytree(os.path.join(ROOT, "tools", "setup"), self.path("checkout/tools/setup"))
        shutil.copy(os.path.join(ROOT, "tools", "sluice"), self.path("checkout/tools/sluice"))
        self.write("bin/bazel", BAZEL, executable=True)
        self.write("bin/dpkg-query", DPKG_QUERY, executable=True)
        self.write("bin/apt-get", '#!/bin/bash\necho "apt-get" >>"$LOG"\n', executable=True)
        self.write("log", "")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, executable=False):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        if executable:
            os.chmod(self.path(name), 0o755)

    def sluice(self, *arguments, **variables):
        environment = {"PATH": self.path("bin") + ":/usr/bin:/bin", "HOME": self.path("home"), "LOG": self.path("log"),
                       "BIN": self.path("out"), "FAIL": self.path("fail"), "MISSING": self.path("missing"), **variables}
        return subprocess.run([self.path("checkout/tools/sluice"), *arguments], env=environment, cwd=self.folder,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)

    def calls(self):
        """What was called since the last time."""
        with open(self.path("log"), encoding="utf-8") as file:
            calls = file.read().split()
        self.write("log", "")
        return calls

    def test_runs_the_program_with_its_arguments_and_status(self):
        result = self.sluice("show", "a b")
        self.assertEqual((result.stdout, result.returncode), ("ran show a b\n", 3))

    def test_builds_when_a_file_was_edited_added_or_deleted_and_only_then(self):
        self.sluice()
        self.assertEqual(self.calls(), ["build"])
        result = self.sluice()
        self.assertEqual((self.calls(), result.stderr), ([], ""))
        for change in (lambda: self.write("checkout/graph/a.cc", "int y;\n"),
                       lambda: self.write("checkout/graph/b.cc", "int z;\n"),
                       lambda: os.rename(self.path("checkout/graph/b.cc"), self.path("checkout/graph/c.cc")),
                       lambda: os.remove(self.path("checkout/graph/c.cc"))):
            change()
            self.sluice()
            self.assertEqual(self.calls(), ["build"])
        self.sluice()
        self.assertEqual(self.calls(), [])

    def test_says_why_a_build_failed_and_builds_again(self):
        self.write("fail", "")
        result = self.sluice()
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn("no such symbol", result.stderr)
        os.remove(self.path("fail"))
        self.assertEqual(self.sluice().returncode, 3)

    def test_names_missing_packages_where_installing_is_forbidden(self):
        self.write("missing", "")
        result = self.sluice(SLUICE_NO_INSTALL="1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("apt-get install mold\n", result.stderr)
        self.assertEqual(self.calls(), [])

    @unittest.skipUnless(os.geteuid() == 0, "would ask for a password")
    def test_installs_missing_packages_and_says_which(self):
        self.write("missing", "")
        result = self.sluice()
        self.assertIn("installing Debian packages: mold", result.stderr)
        self.assertEqual(self.calls(), ["apt-get", "build"])

    def test_works_through_a_link_from_another_folder(self):
        os.symlink(self.path("checkout/tools/sluice"), self.path("link"))
        environment = {"PATH": self.path("bin") + ":/usr/bin:/bin", "HOME": self.path("home"), "LOG": self.path("log"),
                       "BIN": self.path("out"), "FAIL": self.path("fail"), "MISSING": self.path("missing")}
        result = subprocess.run([self.path("link"), "x"], env=environment, cwd="/", stdout=subprocess.PIPE, text=True,
                                check=False)
        self.assertEqual(result.stdout, "ran x\n")


if __name__ == "__main__":
    unittest.main()
