"""tools/setup/fresh_machine takes its commands from the README, refuses wrong use, and sees failures.

The empty system itself takes root, package sources and time: whoever changes packages runs the script by hand. Here
programs in the place of mmdebstrap and unshare write down how they were called and run the command where they are.
"""

import os
import shutil
import subprocess
import tempfile
import unittest

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", ".."))

MMDEBSTRAP = """#!/bin/bash
echo "mmdebstrap $*" >>"$LOG"
for word; do if [[ "$word" == */root ]]; then mkdir -p "$word"; fi; done
"""
# The arguments after the script: its name, the new root, what stands beside the checkout, the command, a cache.
UNSHARE = """#!/bin/bash
root="${@:(-4):1}" shared="${@:(-3):1}" cache="${@: -1}"
echo "shared ${shared##*/}"
cd "$root/build/main" && CACHE="$cache" exec bash -c "${@:(-2):1}"
"""


class FreshMachineTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        os.chmod(self.folder, 0o755)
        shutil.copytree(os.path.join(ROOT, "tools", "setup"), self.path("checkout/tools/setup"))
        shutil.copy(os.path.join(ROOT, "README.md"), self.path("checkout/README.md"))
        for name, text in (("mmdebstrap", MMDEBSTRAP), ("unshare", UNSHARE),
                           ("dpkg-query", "#!/bin/bash\nprintf installed\n")):
            os.makedirs(self.path("bin"), exist_ok=True)
            with open(self.path("bin/" + name), "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(self.path("bin/" + name), 0o755)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run_script(self, *arguments, **options):
        environment = {"PATH": self.path("bin") + ":/usr/bin:/bin:/usr/sbin:/sbin", "HOME": self.folder,
                       "LOG": self.path("log"), "TMPDIR": self.path("tmp")}
        os.makedirs(self.path("tmp"), exist_ok=True)
        return subprocess.run([self.path("checkout/tools/setup/fresh_machine"), *arguments], env=environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                              **options)

    def test_runs_the_commands_of_the_readme(self):
        result = self.run_script("--list")
        self.assertEqual((result.stdout, result.stderr, result.returncode),
                         ("./tools/sluice show tools/examples/digits.pb\n./tools/test\n", "", 0))

    def test_says_how_it_is_used(self):
        self.assertIn("usage: tools/setup/fresh_machine", self.run_script("--help").stdout)
        for arguments, text in ((["--fast"], "has no option '--fast'"), (["--command"], "--command needs a value")):
            result = self.run_script(*arguments)
            self.assertEqual((result.returncode, result.stdout), (2, ""))
            self.assertIn(text, result.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "is not root itself")
    def test_says_that_it_needs_root(self):
        result = self.run_script(user=65534, group=65534)
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("fresh_machine needs root", result.stderr)

    def make_checkout(self):
        git = ["git", "-C", self.path("checkout"), "-c", "user.name=x", "-c", "user.email=x"]
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"]):
            subprocess.run([*git, *command], check=True, stdout=subprocess.DEVNULL,
                           env={**os.environ, "HOME": self.folder})

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_runs_commands_in_a_clone_and_leaves_nothing(self):
        self.make_checkout()
        os.mkdir(self.path("shared"))
        result = self.run_script("--command", "git log --format=%s; cat mark", "--command", "echo y >mark; ls")
        self.assertEqual(result.returncode, 1, result.stderr)  # There is no file `mark` yet.
        self.assertRegex(result.stdout, r"(?s)shared shared\nx\ncat: mark.*shared shared\nREADME.md\nmark\ntools\n")
        self.assertRegex(result.stdout, r"status 1, \d+ s; it ended with:\n(?:  .*\n)*  cat: mark")
        self.assertRegex(result.stdout, r"status 0, \d+ s; it ended with:\n(?:  .*\n)*  tools\n$")
        self.assertEqual(os.listdir(self.path("tmp")), [])
        with open(self.path("log"), encoding="utf-8") as log:
            self.assertRegex(log.read(), r"^mmdebstrap --variant=minbase .* bookworm \S+/root")

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_brings_a_cache_where_it_is_told_to(self):
        self.make_checkout()
        os.makedirs(self.path("cache/ac"))
        result = self.run_script("--cache", self.path("cache"), "--command", "echo y >$CACHE/ac/new")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertTrue(os.path.exists(self.path("cache/ac/new")))
        result = self.run_script("--cache", self.path("bin"), "--command", "true")
        self.assertEqual(result.returncode, 2)
        self.assertIn("is not a disk cache of Bazel's", result.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_tools_test_must_end_with_its_count(self):
        self.make_checkout()
        for last, status in (("7 passed, 0 failed", 0), ("7 passed, 1 failed", 1), ("0 passed, 0 failed", 1), ("", 1)):
            with open(self.path("checkout/tools/test"), "w", encoding="utf-8") as file:
                file.write(f"#!/bin/bash\necho '{last}'\n")
            os.chmod(self.path("checkout/tools/test"), 0o755)
            self.make_checkout()
            result = self.run_script("--command", "./tools/test")
            self.assertEqual(result.returncode, status, result.stdout + result.stderr)

    @unittest.skipUnless(os.geteuid() == 0, "needs root")
    def test_keeps_what_it_is_told_to_keep_and_overwrites_nothing(self):
        self.make_checkout()
        result = self.run_script("--keep", "--directory", self.path("here"), "--command", "echo done")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(self.path("here/1.log"), encoding="utf-8") as log:
            self.assertEqual(log.read(), "shared \ndone\n")
        result = self.run_script("--directory", self.path("here"), "--command", "echo again")
        self.assertEqual(result.returncode, 2)
        self.assertIn("exists", result.stderr)
        self.assertTrue(os.path.exists(self.path("here/root/build/main/README.md")))


if __name__ == "__main__":
    unittest.main()
