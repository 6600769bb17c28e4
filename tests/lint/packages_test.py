"""Gives check_packages.py made-up trees, and the readers below it what they must find. Packages are those of this
machine: what g++, zlib and git need is installed wherever this runs."""

import os
import tempfile
import unittest

import build_files
import check_packages
import debian
import python_calls
import shell_words
import source_tree

BUILD = 'cc_library(\n    name = "{0}",\n    srcs = ["{0}.cc"],\n    deps = [{1}],\n)\n'
SETUP = """
run_bazel() { :; }
ensure_packages() { :; }
ensure_binary() {
  ensure_packages build
  mkdir -p x
}
"""


class PackagesTest(unittest.TestCase):
    def check(self, files, packages):
        """The problems of a tree with a program //tools/cli:sluice, a test and the files given."""
        made = {
            "tools/setup/packages.txt": packages,
            "tools/setup/setup.sh": SETUP,
            "tools/sluice": "#!/usr/bin/env bash\nensure_binary\n",
            "tools/cli/BUILD.bazel": BUILD.format("sluice", '"//graph:a"'),
            "tools/cli/sluice.cc": "#include <string>\n",
            "graph/BUILD.bazel": BUILD.format("a", ""),
            "graph/a.cc": "#include <vector>\n",
            "tests/BUILD.bazel": BUILD.format("t", '"//graph:a"'),
            "tests/t.cc": "",
            **files,
        }
        with tempfile.TemporaryDirectory() as root:
            for name, text in made.items():
                os.makedirs(os.path.dirname(os.path.join(root, name)), exist_ok=True)
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            return check_packages.check(source_tree.SourceTree(root))

    def assert_finds(self, problems, *parts):
        self.assertEqual(len(problems), len(parts), problems)
        for problem, part in zip(problems, parts):
            self.assertIn(part, problem)

    def test_lets_a_tree_pass_whose_packages_are_listed(self):
        self.assertEqual(self.check({"graph/a.cc": "#include <zlib.h>\n"}, "[build]\ng++\nzlib1g-dev  # why\n"), [])

    def test_finds_a_header_of_a_package_that_is_not_listed(self):
        self.assert_finds(self.check({"graph/a.cc": "#include <vector>\n#include <zlib.h>\n"}, "[build]\ng++\n"),
                          "graph/a.cc:2: reaches header zlib.h of package zlib1g-dev, which [build] of")

    def test_finds_a_header_that_this_machine_does_not_have(self):
        self.assert_finds(self.check({"graph/a.cc": "#include <no_such_thing.h>\n"}, "[build]\ng++\n"),
                          "graph/a.cc:1: reaches header no_such_thing.h, but this machine does not have it")

    def test_what_a_section_that_is_not_installed_may_bring_is_left_alone(self):
        program = {".ci/run": "#!/bin/bash\nensure_packages build ci\nno-such-program\n"}
        self.assert_finds(self.check(program, "[build]\ng++\n\n[ci]\nzlib1g-dev\n"), ".ci/run:3: reaches program no")
        self.assertEqual(self.check(program, "[build]\ng++\n\n[ci]\nno-such-package\n"), [])
        header = {"graph/a.cc": "#include <no_such_thing.h>\n"}
        self.assert_finds(self.check(header, "[build]\ng++\n\n[ci]\nno-such-package\n"), "header no_such_thing.h")

    def test_a_section_counts_only_where_it_is_installed(self):
        packages = "[build]\ng++\n\n[test]\nzlib1g-dev\n"
        self.assertEqual(self.check({"tests/t.cc": "#include <zlib.h>\n"}, packages), [])
        self.assert_finds(self.check({"graph/a.cc": "#include <zlib.h>\n"}, packages), "list it in [build]")
        alone = {"kernels/BUILD.bazel": BUILD.format("k", ""), "kernels/k.cc": "#include <zlib.h>\n"}
        self.assert_finds(self.check(alone, "[build]\ng++\n\n[test]\n\n[ci]\n"), "[build] and [test] and [ci]")

    def test_dependencies_count(self):
        self.assertEqual(self.check({"graph/a.cc": "#include <unistd.h>\n"}, "[build]\ng++\n"), [])

    def test_finds_libraries_programs_and_files_of_rules(self):
        self.assert_finds(
            self.check({
                "tools/bazel/sys.BUILD": 'cc_library(\n    name = "z",\n    linkopts = ["-l:libz.a"],\n)\n'
                                         'filegroup(\n    name = "git",\n    srcs = ["bin/git"],\n)\n',
                "graph/BUILD.bazel": BUILD.format("a", '"@sys//:z", ":made"')
                                     + 'genrule(\n    name = "made",\n    outs = ["made.h"],\n'
                                       '    cmd = "cat $(location x) | git $$HOME >$@",\n'
                                       '    tools = ["@sys//:git"],\n)\n',
            }, "[build]\ng++\n"),
            "graph/BUILD.bazel:6: reaches program git of package git",
            "tools/bazel/sys.BUILD:5: reaches file /usr/bin/git of package git",
            "tools/bazel/sys.BUILD:1: reaches library -l:libz.a of package zlib1g-dev")

    def test_finds_programs_and_modules_of_scripts(self):
        script = "import numpy\nimport helper\nimport subprocess\nsubprocess.run([\"git\", \"log\"])\n"
        problems = self.check({
            "tools/test": "#!/usr/bin/env bash\nensure_packages build test\nexec python3 x/runner.py | git log\n",
            "tools/x/runner.py": script, "tools/x/helper.py": "import os\nos.system('cat | git')\n",
            "tools/alone.py": script}, "[build]\ng++\n\n[test]\npython3\npython3-numpy\n")
        self.assert_finds(problems, "tools/test:3: reaches program git", "tools/x/helper.py:2: reaches program git",
                          "tools/x/runner.py:4: reaches program git")

    def test_finds_programs_that_tests_start(self):
        self.assert_finds(
            self.check({"tests/t.cc": '  std::system("cat x | git log");\n  execl("/usr/bin/git", "git", nullptr);\n'},
                       "[build]\ng++\n"),
            "tests/t.cc:1: reaches program git", "tests/t.cc:2: reaches program /usr/bin/git")

    def test_finds_what_configurations_of_bazel_call(self):
        files = {"WORKSPACE": "",
                 ".bazelrc": "build --linkopt=-fuse-ld=gold\nbuild:unused --repo_env=CC=no-such-compiler\n"
                             "build:used --config=cc\nbuild:cc --repo_env=CC=no-such-clang\n",
                 ".ci/run": "#!/bin/bash\nensure_packages build test\nrun_bazel --config=used\n"}
        self.assert_finds(self.check(files, "[build]\ng++\n"), "program no-such-clang, but this machine")


class ReadersTest(unittest.TestCase):
    def programs(self, text):
        return [name for _, name in shell_words.Script(text).calls]

    def test_reads_commands_of_shell_scripts(self):
        self.assertEqual(self.programs("if a; then b | c && d; else X=1 e; fi"), ["a", "b", "c", "d", "e"])
        self.assertEqual(self.programs('x="$(f "$(g)" | h)"; echo "$x" > i 2>j <k'), ["f", "g", "h"])
        self.assertEqual(self.programs("f() {\n  a\n}\nf\nwhile ! b; do c; done < <(d)"), ["a", "b", "c", "d"])
        self.assertEqual(self.programs("case $x in\n a | b) c ;;\n *) d ;;\nesac\ne"), ["c", "d", "e"])
        self.assertEqual(self.programs("cat <<'END'\nnot me\nEND\nb 'not; me' # nor me"), ["cat", "b"])
        self.assertEqual(self.programs("[[ a == b ]] && ((x < y)) && exec nice -n 10 b; for c in d; do e; done"),
                         ["b", "e", "nice"])
        self.assertEqual(self.programs("env A=1 b c | xargs -r d; command -v e; bash -c 'f | g'"),
                         ["b", "bash", "d", "e", "env", "f", "g", "xargs"])
        self.assertEqual(self.programs('local -a places=() place; cmd=(b -x y)\n"${cmd[@]}" c; unused=(d)'), ["b"])

    def test_reads_commands_and_imports_of_python(self):
        calls = python_calls.PythonCalls(
            'import os, subprocess\nimport numpy.linalg\nfrom onnx import x\nCMD = ["a", "-b"]\n'
            'subprocess.run([*CMD, "c"])\nsubprocess.Popen(["d"] + more)\nsubprocess.run([sys.executable, "e"])\n'
            'subprocess.run(["bash", "-c", "f | g"])\nlist = ["h"]\nos.execvp("i", ["i"])\n', "x.py")
        self.assertEqual([name for _, name in calls.programs], ["a", "d", "bash", "f", "g", "i"])
        self.assertEqual([name for _, name in calls.modules], ["numpy", "onnx"])

    def test_runs_build_files_with_macros(self):
        with tempfile.TemporaryDirectory() as root:
            os.makedirs(os.path.join(root, "a"))
            for name, text in {
                    "a/m.bzl": 'r = rule(attrs = {"x": attr.label()})\ndef m(name, srcs):\n    native.cc_library('
                               'name = name, srcs = [s + ".cc" for s in srcs], deps = select({"x": [":d"], '
                               '"y": ["//b"]}))\n',
                    "a/BUILD.bazel": 'load(":m.bzl", "m", "r")\n[m(name = n, srcs = [n]) for n in ["p", "q"]]\n'
                                     'r(name = "d", srcs = glob(["*"]))\n', "a/p.cc": ""}.items():
                with open(os.path.join(root, name), "w", encoding="utf-8") as file:
                    file.write(text)
            workspace = build_files.Workspace(source_tree.SourceTree(root))
            targets, files = workspace.closure(["//a:p"])
            self.assertEqual((sorted(workspace.targets), sorted(targets), sorted(files)),
                             (["//a:d", "//a:p", "//a:q"], ["//a:d", "//a:p"], ["a/BUILD.bazel", "a/p.cc"]))
            self.assertEqual(workspace.targets["//a:q"].line, 2)

    def test_knows_the_owners_of_links_and_merged_folders(self):
        packages = debian.Packages()
        self.assertEqual(packages.owners("/usr/bin/bash"), {"bash"})
        self.assertEqual(packages.owners("/bin/bash"), {"bash"})
        self.assertIn(packages.owners("/usr/bin/awk"), [{"mawk"}, {"gawk"}, {"original-awk"}])
        self.assertEqual(packages.owners("/no/such/file"), set())
        self.assertLessEqual({"libc6-dev", "libstdc++-12-dev", "binutils", "bash"}, packages.with_dependencies(["g++"]))
        self.assertEqual(debian.parse_relations("a (>= 1), b:any | c"), [["a"], ["b", "c"]])


if __name__ == "__main__":
    unittest.main()
