"""Gives each check bad examples that it must find, and good ones that it must let pass."""

import os
import subprocess
import tempfile
import unittest

import check_budget
import check_code_size
import check_comments
import check_deps
import check_guides
import check_headers
import check_layers
import check_names
import check_repo
import check_static_init
import source_tree


class LintTest(unittest.TestCase):
    def setUp(self):
        self.start_afresh()

    def start_afresh(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = scratch.name

    def tree(self, files):
        for name, text in files.items():
            path = os.path.join(self.root, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        return source_tree.SourceTree(self.root)

    def assert_finds(self, problems, *parts):
        """There is one problem for each part, in any order, and no other."""
        self.assertEqual(len(problems), len(parts), problems)
        for part in parts:
            self.assertTrue(any(part in problem for problem in problems), f"{part} not in {problems}")


class DepsTest(LintTest):
    _BUILD = """
cc_library(name = "low", hdrs = ["low.h"], srcs = ["low_detail.h"])
alias(name = "other_name", actual = ":low")
sluice_proto_library(name = "p", srcs = ["p.proto"])
cc_library(name = "high", srcs = ["high.cc", "mine.h"], deps = [%s])
"""

    def check_one(self, deps, *headers):
        self.start_afresh()
        includes = "".join(f'#include "graph/ir/{header}"\n' for header in headers)
        return check_deps.check(self.tree({"graph/ir/BUILD.bazel": self._BUILD % deps, "graph/ir/high.cc": includes}))

    def test_finds_headers_of_targets_that_are_not_named(self):
        self.assert_finds(self.check_one("", "low.h"), "graph/ir/high.cc:1: //graph/ir:high includes graph/ir/low.h and")
        self.assert_finds(self.check_one('":low"', "low.h", "p.pb.h"), "//graph/ir:p among its deps")

    def test_lets_what_is_named_or_its_own_pass(self):
        self.assert_finds(self.check_one('":low", ":p"', "low.h", "p.pb.h", "mine.h"))
        self.assert_finds(self.check_one('":other_name"', "low.h"))

    def test_finds_deps_that_are_no_targets(self):
        self.assert_finds(self.check_one('":lwo"'), "graph/ir/BUILD.bazel:5: //graph/ir:high names //graph/ir:lwo, which is no")
        self.assert_finds(self.check_one('":low.h", "//graph/nowhere", "@sys//:gone", ":low"'),
                          "//graph/ir:low.h, which", "//graph/nowhere:nowhere, which", "@sys//:gone, which")
        self.assert_finds(self.check_one('":other_name", ":p", "@elsewhere//:x"'))


class LayersTest(LintTest):
    def check_one(self, path, include):
        self.start_afresh()
        return check_layers.check(self.tree({path: f"#include {include}\n"}))

    def test_finds_arrows_upward(self):
        self.assert_finds(self.check_one("frames/a.cc", '"kernels/k.h"'), "frames/a.cc:1: frames must not include")
        self.assert_finds(self.check_one("graph/ir/a.cc", '"executor/e.h"'), "graph must not include executor")
        self.assert_finds(self.check_one("tests/frames/a_test.cc", '"kernels/k.h"'), "tests/frames must not include")

    def test_lets_arrows_downward_pass(self):
        self.assert_finds(self.check_one("executor/a.cc", '"frames/f.h"'))
        self.assert_finds(self.check_one("graph/passes/a.cc", '"graph/ir/graph.h"'))
        self.assert_finds(self.check_one("tests/executor/a.cc", '"kernels/k.h"'))

    def test_knows_the_order_inside_graph(self):
        self.assert_finds(self.check_one("graph/ir/a.cc", '"graph/ops/o.h"'), "graph/ir must not include graph/ops")
        self.assert_finds(self.check_one("graph/new/a.cc", '"graph/ir/o.h"'), "graph/new has no rank")

    def test_finds_foreign_headers_in_the_wrong_place(self):
        self.assert_finds(self.check_one("graph/ir/a.cc", "<Eigen/Core>"), "Eigen/Core")
        self.assert_finds(self.check_one("graph/ir/a.cc", '"absl/synchronization/mutex.h"'), "use graph/base/mutex.h")
        self.assert_finds(self.check_one("graph/ir/a.cc", '"gtest/gtest.h"'), "tests only")
        self.assert_finds(self.check_one("graph/ir/a.cc", '"absl/strings/str_cat.h"'))

    def test_finds_containers_that_memory_breaks(self):
        self.assert_finds(self.check_one("graph/ir/a.h", '"absl/container/flat_hash_map.h"'), "std::bad_alloc")
        self.assert_finds(self.check_one("graph/base/hash_table.h", '"absl/container/flat_hash_map.h"'))
        self.assert_finds(self.check_one("tools/cli/a.cc", '"absl/container/btree_map.h"'))
        self.assert_finds(self.check_one("kernels/a.cc", '"absl/container/inlined_vector.h"'))
        self.start_afresh()
        text = "absl::flat_hash_set<int> a;\nHashSet<int> b;\nabsl::btree_map<int, int> c;\n"
        self.assert_finds(check_layers.check(self.tree({"executor/a.cc": text})), "executor/a.cc:1", "executor/a.cc:3")

    def test_finds_circles_of_directories(self):
        tree = self.tree({"kernels/a/x.h": '#include "kernels/b/y.h"\n', "kernels/b/y.h": '#include "kernels/c/z.h"\n',
                          "kernels/c/z.h": '#include "kernels/a/x.h"\n', "kernels/d/w.h": '#include "kernels/a/x.h"\n'})
        self.assert_finds(check_layers.check(tree), "kernels/a, kernels/b, kernels/c")


class BudgetTest(LintTest):
    def test_finds_long_files_and_functions(self):
        body = "  f();\n" * 60
        tree = self.tree({
            "graph/long.h": "// x\n" * 501,
            "graph/reason.h": "// Kept whole: a table.\n" * 501,
            "graph/a.cc": f"void Long() {{\n{body}}}\n\nvoid Short() {{\n  f();\n}}\n",
            "graph/b.cc": f"// Kept whole: one switch.\nvoid Excused() {{\n{body}}}\n",
            "tools/c.py": "def long_one():\n" + "    f()\n" * 60,
        })
        self.assert_finds(check_budget.check(tree), "graph/long.h:1: 501 lines", "graph/a.cc:1: Long has 62 lines",
                          "tools/c.py:1: long_one has 61 lines")


class HeadersTest(LintTest):
    GUARDED = "#ifndef {0}\n#define {0}\n{1}\n#endif  // {0}\n"

    def header(self, guard, text=""):
        return self.GUARDED.format(guard, text)

    def test_finds_headers_that_need_another_first(self):
        tree = self.tree({
            "graph/ir/bad.h": self.header("SLUICE_GRAPH_IR_BAD_H_", "inline Missing f();"),
            "graph/ir/good.h": self.header("SLUICE_GRAPH_IR_GOOD_H_", "#include <string>\ninline std::string f();"),
            "graph/ir/guard.h": self.header("GUARD_H"),
        })
        self.assert_finds(check_headers.check(tree), "graph/ir/bad.h:1: does not compile alone", "SLUICE_GRAPH_IR_GUARD_H_")

    def test_remembers_headers_by_content(self):
        path = "graph/ir/a.h"
        first = check_headers.digest_of(self.tree({path: '#include "graph/b.h"\n', "graph/b.h": "int x;\n"}), path, b"1")
        second = check_headers.digest_of(self.tree({"graph/b.h": "int y;\n"}), path, b"1")
        self.assertNotEqual(first, second)

    def test_finds_a_source_whose_own_header_is_not_first(self):
        tree = self.tree({
            "graph/ir/a.h": self.header("SLUICE_GRAPH_IR_A_H_"),
            "graph/ir/a.cc": '#include <vector>\n#include "graph/ir/a.h"\n',
            "tests/graph/ir/a_test.cc": '#include "graph/ir/b.h"\n#include "graph/ir/a.h"\n',
        })
        self.assert_finds(check_headers.check(tree), "graph/ir/a.cc:1: its own header", "a_test.cc:1: its own header")


class CommentsTest(LintTest):
    def test_finds_commented_out_code_and_lets_prose_and_examples_pass(self):
        tree = self.tree({"graph/a.cc": "\n".join([
            "// node = graph.Find(name);",
            "//   node = graph.Find(name);  An example.",
            "// REQUIRES: a node; it must be live.",
            "  // return result;",
            "// Returns the result;",
            "// if (x) {",
            "// #include <vector>",
            "// f(x) is called once; g(x) never.",
        ])})
        self.assert_finds(check_comments.check(tree), "a.cc:1:", "a.cc:4:", "a.cc:6:", "a.cc:7:")

    def test_finds_debts_without_an_issue(self):
        tree = self.tree({"graph/a.cc": "// TODO: later\n// TODO(#41): with an issue\n// FIXME now\n"})
        self.assert_finds(check_comments.check(tree), "a.cc:1: TODO", "a.cc:3: FIXME")

    def test_finds_classes_without_a_comment(self):
        tree = self.tree({"graph/a.h": "\n".join([
            "class Forward;", "", "class Bare {", "};", "", "// Has one.", "template <typename T>", "class Good final {",
            "};", "", "template <typename T>", "class Worse : public Bare {", "};"])})
        self.assert_finds(check_comments.check(tree), "a.h:3: Bare", "a.h:12: Worse")


class NamesTest(LintTest):
    def test_finds_two_classes_of_one_name(self):
        tree = self.tree({
            "kernels/a/rows.h": "namespace sluice {\nclass Rows final : public Base {\n};\n}  // namespace sluice\n",
            "kernels/b/rows.cc": "namespace sluice {\nstruct Rows {};\n}  // namespace sluice\n",
        })
        self.assert_finds(check_names.check(tree), "kernels/b/rows.cc:2: sluice::Rows")

    def test_lets_names_of_files_classes_and_namespaces_of_their_own_pass(self):
        own = "namespace sluice {\nnamespace {\nclass Rows {\n};\n}  // namespace\n}  // namespace sluice\n"
        tree = self.tree({
            "kernels/a/rows.h": "namespace sluice {\nclass Rows;\nclass Rows {\n  struct Row {};\n};\n"
                                "struct Row {\n};\n}  // namespace sluice\n",
            "kernels/b/a.cc": own, "kernels/b/b.cc": own,
            "kernels/c/a.h": "namespace sluice::wide {\nclass Rows {\n};\n}  // namespace sluice::wide\n",
        })
        self.assert_finds(check_names.check(tree))


class RepoTest(LintTest):
    GOOD = {"graph/README.md": "# graph\n", "graph/BUILD.bazel": '"a.cc"\n', "graph/a.cc": "\n"}

    def test_lets_a_good_tree_pass(self):
        self.assert_finds(check_repo.check(self.tree(self.GOOD)))

    def test_finds_what_does_not_belong(self):
        tree = self.tree({
            **self.GOOD,
            "notes/x.txt": "",
            "frames/BUILD.bazel": "",
            "tests/README.md": "# tests\n",
            "tests/frames/BUILD.bazel": "",
            "graph/b.cc": "",
            "graph/README.md": "\n" * 61,
            "graph/path.txt": "see /wo" + "rk/main\n",
            "graph/host.txt": "from pypi." + "org\n",
            "graph/big.txt": "x" * ((1 << 20) + 1),
        })
        self.assert_finds(check_repo.check(tree), "notes:1:", "frames:1: has no README",
                          "tests/frames:1: has no README", "b.cc:1: belongs to no target", "graph/README.md:1: 61 lines",
                          "path.txt:1: names a path", "host.txt:1: names a package", "big.txt:1:")

    def test_knows_the_sources_that_a_macro_of_another_directory_names(self):
        tree = self.tree({**self.GOOD, "graph/a.bzl": 'def family(name):\n    native.cc_library(srcs = ["rows.cc"])\n',
                          "graph/y/README.md": "y\n", "graph/y/rows.cc": "", "graph/y/other.cc": "",
                          "graph/y/BUILD.bazel": 'load("//graph:a.bzl", "family")\n\nfamily(name = "y")\n'})
        self.assert_finds(check_repo.check(tree), "graph/y/other.cc:1: belongs to no target")

    def test_finds_targets_of_the_readme_that_programs_cannot_see(self):
        build = 'cc_library(\n    name = "a",\n    visibility = ["//visibility:public"],\n)\n\ncc_library(\n    name = "b",\n)\n'
        tree = self.tree({**self.GOOD, "README.md": "Link `//graph/x:a` and `//graph/x:b`.\n", "graph/x/README.md": "x\n",
                          "graph/x/BUILD.bazel": build})
        self.assert_finds(check_repo.check(tree), "README.md:1: //graph/x:b is not visible")
        tree = self.tree({"tools/docs/guide.md": "\n`//graph/x:b`\n", "tools/docs/README.md": "x\n", "tools/README.md": "x\n"})
        self.assert_finds(check_repo.check(tree), "README.md:1: //graph/x:b", "tools/docs/guide.md:2: //graph/x:b")


class GuidesTest(LintTest):
    GOOD = {"README.md": "# T\n\n" + "word word\n" * 6 + "- an item\n" * 9 + "\n[a](tools/docs/a.md) [x](https://x.y/z)\n",
            "tools/docs/README.md": "[a](a.md#part)\n", "tools/docs/x.svg": "",
            "tools/docs/a.md": "```\n" + "$ long " * 30 + "\n" * 9 + "[z](z.md)\n```\n![p](x.svg)" + " " * 120 + "\n",
            "tools/docs/model/README.md": "[z](z.md)\n"}

    def test_lets_good_texts_pass(self):
        self.assert_finds(check_guides.check(self.tree(self.GOOD)))

    def test_finds_long_texts_and_links_to_nowhere(self):
        tree = self.tree({**self.GOOD, "README.md": "word " * 20 + "\n" + "\nword " * 1181, "SECURITY.md": "x " * 61 + "\n",
                          "tools/docs/a.md": "- item\n" + "  line\n" * 6 + "\n[b](b.md)\n<img src=\"y.svg\" alt=\"\">\n",
                          "tools/docs/c.md": "c\n"})
        self.assert_finds(check_guides.check(tree), "README.md:1: 1201 words", "README.md:9: a paragraph has more than 6",
                          "SECURITY.md:1: 122 columns", "a.md:7: a paragraph", "a.md:9: there is no file tools/docs/b.md",
                          "a.md:10: there is no file tools/docs/y.svg", "tools/docs/c.md:1: tools/docs/README.md does not list")


class StaticInitTest(LintTest):
    def compile(self, name, text):
        self.tree({name: text})
        path = os.path.join(self.root, name)
        subprocess.run(["g++", "-O2", "-ffunction-sections", "-fdata-sections", "-c", path, "-o", path[:-3] + ".o"], check=True)
        return path[:-3] + ".o"

    def test_finds_objects_that_run_code_before_main(self):
        bad = self.compile("bad.cc", "int f();\nint x = f();\n")
        good = self.compile("good.cc", "constexpr int kTable[] = {1, 2};\nint g() { static int n = kTable[0]; return n; }\n")
        streams = self.compile("streams.cc", "#include <iostream>\nint h() { return 1; }\n")
        exempt = self.compile("x.pb.cc", "int f();\nint x = f();\n")
        archive = os.path.join(self.root, "lib.a")
        subprocess.run(["ar", "rcs", archive, bad, good, streams], check=True)
        self.assert_finds(check_static_init.check([archive, exempt]), "lib.a(bad.o): runs code before main, which touches")

class CodeSizeTest(LintTest):
    TABLE = """constexpr KernelRow kRows[] = {
    KernelRow("Add", &New<AddKernel>).Types("T", kNumbers).HostInput("Axis"),
    EqualRow("Equal"),
    Row<kMin>(
        "_Minimum", 1),
};
"""

    def test_ops_are_the_first_arguments_of_rows(self):
        self.assertEqual(check_code_size.ops_of(self.TABLE + 'Error("Other");'), {"Add", "Equal", "_Minimum"})

    def test_counts_the_instructions_of_families(self):
        self.tree({"kernels/math/sum.cc": self.TABLE.replace("constexpr", "// ") + "int f(int x) { return x; }\n",
                   "kernels/math/helper.cc": "int g() { return 1; }\n"})
        objects = []
        for name, code in [("sum", "int f(int x) { return x; }"), ("helper", "int g() { return 1; }")]:
            folder = os.path.join(self.root, "kernels/math/_objs", name)
            os.makedirs(folder)
            objects.append(os.path.join(folder, name + ".pic.o"))
            subprocess.run(["g++", "-O2", "-ffunction-sections", "-c", "-x", "c++", "-", "-o", objects[-1]], check=True,
                           input=code.encode())
        families = check_code_size.families_of(objects, self.root)
        self.assertEqual(list(families), ["kernels/math/sum"])
        ops, size = families["kernels/math/sum"]
        self.assertEqual(ops, 3)
        self.assertTrue(1 <= size <= 64, size)

    def test_finds_families_that_have_grown_and_large_new_ones(self):
        listed = {"kernels/a/old": (2, 100_000), "kernels/a/grown": (2, 100_000), "kernels/a/more_ops": (2, 100_000)}
        families = {"kernels/a/old": (2, 110_000), "kernels/a/grown": (2, 130_000), "kernels/a/more_ops": (4, 200_000),
                    "kernels/a/new": (1, 9_000), "kernels/a/large": (1, 90_000)}
        problems = check_code_size.check(families, listed)
        self.assertEqual(len(problems), 2, problems)
        self.assertIn("kernels/a/grown.cc: 65,000 bytes of code for each of 2 ops, at most 59,096", "\n".join(problems))
        self.assertIn("kernels/a/large.cc", "\n".join(problems))

    def test_reads_what_it_has_written(self):
        path = os.path.join(self.root, "code_size.txt")
        families = {"kernels/a/x": (2, 100), "kernels/a/y": (1, 5)}
        with open(path, "w", encoding="utf-8") as out:
            out.write(check_code_size.format_list(families))
        self.assertEqual(check_code_size.read_listed(path), families)


if __name__ == "__main__":
    unittest.main()
