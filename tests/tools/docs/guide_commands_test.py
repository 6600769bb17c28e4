"""Runs the commands that README.md, its like and the guides show, and compares what they print with what the texts say.

Usage: guide_commands_test.py PROGRAM [GuideCommandsTest.test_...]; PROGRAM is the sluice program.
"""

import os
import re
import subprocess
import sys
import tempfile
import unittest

import guide_blocks

ROOT = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", ".."))
PROGRAM = os.path.abspath(sys.argv.pop(1)) if __name__ == "__main__" else ""


class GuideCommandsTest(unittest.TestCase):
    def make_checkout(self):
        """A folder that looks like the checkout after the first build: new files do not go into the real one."""
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        os.mkdir(os.path.join(scratch.name, "tools"))
        for name in os.listdir(ROOT):
            if name not in ("tools", ".git") and not name.startswith("bazel-"):
                os.symlink(os.path.join(ROOT, name), os.path.join(scratch.name, name))
        for name in os.listdir(os.path.join(ROOT, "tools")):
            os.symlink(PROGRAM if name == "sluice" else os.path.join(ROOT, "tools", name),
                       os.path.join(scratch.name, "tools", name))
        return scratch.name

    def run_commands(self, path, text):
        """The commands of one text, in order: each sees the files of those before it."""
        commands = [(*command, block.name == "approximate") for block in guide_blocks.blocks_of(path, text)
                    if block.language == "console" and not block.excused for command in block.commands()]
        folder = self.make_checkout() if commands else None
        environment = {"PATH": os.path.join(folder or "", "tools") + ":" + os.environ["PATH"], "HOME": folder or "/"}
        for line, command, expected, approximate in commands:
            with self.subTest(f"{path}:{line}"):
                result = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300, check=False)
                output = result.stdout.decode()
                self.assertEqual(result.returncode, 0, f"{command}\n{output}")
                shown = "\n".join(expected)
                self.assertTrue(guide_blocks.matches(expected, output, approximate),
                                f"{command}\nprints\n{output}\nand the text shows\n{shown}")
        return len(commands)

    def test_commands_print_what_the_texts_show(self):
        for path, text in guide_blocks.texts(ROOT).items():
            count = self.run_commands(path, text)
            print(f"{path}: {count} commands")

    def test_every_block_is_run_or_says_why_not(self):
        with open(os.path.join(ROOT, "tests", "tools", "docs", "BUILD.bazel"), encoding="utf-8") as file:
            built = file.read()
        for path, text in guide_blocks.texts(ROOT).items():
            for block in guide_blocks.blocks_of(path, text):
                with self.subTest(f"{path}:{block.line}"):
                    if block.language == "cpp":
                        self.assertTrue(block.name and f'block = "{block.name}"' in built,
                                        "no target of tests/tools/docs builds this block")
                    elif block.language != "console":
                        self.assertTrue(block.excused, "needs a line <!-- not run: reason --> before it")

    def test_counts_are_those_of_the_program(self):
        version = subprocess.run([PROGRAM, "version"], check=True, stdout=subprocess.PIPE, text=True).stdout
        run, known = re.search(r"([\d,]+) of ([\d,]+) run here", version).groups()
        with open(os.path.join(ROOT, "tests", "conformance.txt"), encoding="utf-8") as file:
            cases = sum(1 for line in file if line.strip() and not line.startswith("#"))
        counts = {rf"Of the {known} ops that it knows, (\S+) run so far": run,
                  rf"(\S+) of the {known}\. `sluice ops` lists": run,
                  r"cases recorded from TensorFlow (\S+) pass": f"{cases:,}"}
        text = "\n".join(guide_blocks.texts(ROOT).values())
        for pattern, count in counts.items():
            found = re.findall(pattern.replace(" ", r"\s+"), text)
            self.assertTrue(found and set(found) == {count}, f"the texts say {found}, and {count} is right: {pattern}")

    def test_the_picture_is_drawn_by_the_program(self):
        folder = self.make_checkout()
        subprocess.run([PROGRAM, "show", "tools/examples/digits.pb", "--svg", "digits.svg"], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "digits.svg"), encoding="utf-8") as new:
            with open(os.path.join(ROOT, "tools", "docs", "digits.svg"), encoding="utf-8") as kept:
                self.assertTrue(new.read() == kept.read(), "tools/docs/digits.svg is not what the program draws")


class GuideBlocksTest(unittest.TestCase):
    TEXT = "\n".join(["# T", "```console", "$ a \\", "    b", "1", "2", "$ cat <<'END'", "$ x", "END", "$ c", "```",
                      "<!-- not run: it needs a key -->", "```", "d", "```", "```cpp name", "int x;", "```",
                      "```sh", "e"])

    def test_finds_blocks_and_commands(self):
        blocks = guide_blocks.blocks_of("t.md", self.TEXT)
        self.assertEqual([(block.line, block.language, block.name, block.excused) for block in blocks],
                         [(2, "console", "", False), (13, "", "", True), (16, "cpp", "name", False),
                          (19, "sh", "", False)])
        self.assertEqual(blocks[0].commands(),
                         [(3, "a \\\n    b", ["1", "2"]), (7, "cat <<'END'\n$ x\nEND", []), (10, "c", [])])
        self.assertEqual(blocks[3].lines, ["e"])

    def test_compares_what_is_not_measured(self):
        matches = guide_blocks.matches
        self.assertTrue(matches(["a  1.5 us  22.6%", "...", "z"], "a 115 ns 3.0%\n\nb\nc\nz\n"))
        self.assertTrue(matches(["[1, ..., 9]"], "[1, 2, 3, 9]\n"))
        self.assertTrue(matches([], ""))
        self.assertTrue(matches(["2  2.4381  0.17 1.5e-05"], "2 2.5 0.125 1.25e-6\n", approximate=True))
        self.assertFalse(matches(["2  2.4381"], "3 2.4381\n", approximate=True))
        for expected, output in ((["a"], "b\n"), (["a"], ""), ([], "a\n"), (["a 1 B"], "a 2 B\n"),
                                 (["a", "..."], "b\na\n"), (["a", "b"], "a\n"), (["a.c"], "abc\n"),
                                 (["2 us"], "two us\n"), (["a b"], "ab\n"), (["2.5"], "2.4\n")):
            self.assertFalse(matches(expected, output), (expected, output))

    def test_a_wrong_text_fails(self):
        test = GuideCommandsTest()
        result = unittest.TestResult()
        test.run_a_text = lambda: test.run_commands("t.md", "```console\n$ echo right\nwrong\n$ false\n```\n") and None
        test._testMethodName = "run_a_text"
        test.run(result)
        self.assertEqual(len(result.failures), 2)


if __name__ == "__main__":
    unittest.main()
