"""tools/sluice builds exactly when a source has changed, and installs nothing where that is forbidden.

Runs the real scripts in a small checkout of its own, with programs in the place of Bazel and Debian's tools that
write down how they were called.
"""

import os
import shutil
import signal
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", ".."))

BAZEL = """#!/bin/bash
case "$1" in
  build) echo build >>"$LOG"; [[ ! -e "$WAIT" ]] || { trap 'exit 8' INT; echo x >"$WAIT"; read -r <"$GO"; }
         [[ ! -e "$FAIL" ]] || { echo "no such symbol" >&2; exit 1; }
         mkdir -p "$BIN/tools/cli"; printf '#!/bin/bash\\necho "ran $*"; exit 3\\n' >"$BIN/tools/cli/sluice"
         chmod +x "$BIN/tools/cli/sluice"; echo "INFO: Build completed successfully, 7 total actions" >&2 ;;
  info) echo "$BIN" ;;
esac
"""
APT_GET = """#!/bin/bash
echo apt-get >>"$LOG"
[[ ! -e "$FAIL" ]] || { echo "E: no network" >&2; exit 100; }
printf '%s\n' "0 upgraded, 2 newly installed, 0 to remove." "Unpacking mold (1) ..." "Unpacking x ..."
printf '%s\n' "Setting up x (2)" "Setting up mold (1) ..."
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
        self.write("bin/apt-get", APT_GET, executable=True)
        self.write("log", "")

    def path(self, name):
        return os.path.join(self.folder, name)

    def write(self, name, text, executable=False):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        if executable:
            os.chmod(self.path(name), 0o755)

    def environment(self):
        return {"PATH": self.path("bin") + ":/usr/bin:/bin", "HOME": self.path("home"), "LOG": self.path("log"),
                "BIN": self.path("out"), "FAIL": self.path("fail"), "MISSING": self.path("missing"),
                "WAIT": self.path("wait"), "GO": self.path("go")}

    def sluice(self, *arguments, **variables):
        environment = {**self.environment(), **variables}
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
        self.assertIn("installing Debian packages: mold (1, and what they need)\n", result.stderr)
        self.assertRegex(result.stderr, r"sluice: installed 2 packages in \d+ s\n")
        self.assertEqual(self.calls(), ["apt-get", "build"])

    @unittest.skipUnless(os.geteuid() == 0, "would ask for a password")
    def test_says_why_packages_cannot_be_installed(self):
        self.write("missing", "")
        self.write("fail", "")
        result = self.sluice()
        self.assertEqual((result.returncode, self.calls()), (1, ["apt-get"] * 3))  # install, update, install
        self.assertIn("E: no network", result.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "would ask for a password")
    def test_packages_that_cannot_be_installed_are_seen_by_scripts_without_pipefail(self):
        self.write("missing", "")
        self.write("fail", "")
        script = f"source {self.path('checkout/tools/setup/setup.sh')}; ensure_packages build"
        result = subprocess.run(["bash", "-c", script], env=self.environment(), stdin=subprocess.DEVNULL, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual((result.returncode, result.stdout), (1, b""))

    def test_says_how_long_it_built(self):
        self.assertRegex(self.sluice().stderr, r"^sluice: building\nsluice: building: done, 7 actions, \d+ s\n$")

    def test_a_call_that_is_interrupted_leaves_no_lock(self):
        os.mkfifo(self.path("wait"))
        os.mkfifo(self.path("go"))
        run = subprocess.Popen([self.path("checkout/tools/sluice")], env=self.environment(), cwd=self.folder,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True)
        with open(self.path("wait"), encoding="utf-8"):  # Opens when Bazel runs.
            os.killpg(run.pid, signal.SIGINT)
            output, errors = run.communicate()
        self.assertEqual((run.returncode, output, errors), (-signal.SIGINT, "", "sluice: building\n"))
        os.remove(self.path("wait"))
        self.assertEqual(self.sluice().returncode, 3)

    def test_works_through_a_link_from_another_folder(self):
        os.symlink(self.path("checkout/tools/sluice"), self.path("link"))
        result = subprocess.run([self.path("link"), "x"], env=self.environment(), cwd="/", text=True, check=False,
                                stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.assertEqual(result.stdout, "ran x\n")


if __name__ == "__main__":
    unittest.main()
