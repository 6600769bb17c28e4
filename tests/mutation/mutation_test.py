"""The mutation runner: sources hold all their mutants, builds drop what does not compile, runs tell killed from not."""

import concurrent.futures
import contextlib
import io
import os
import subprocess
import tempfile
import unittest

import mutant_build
import mutant_runs
import mutate
import mutated_source
from mutated_source import Mutant

SOURCE = b"""int Clamp(int x,
          int most) {
  if (x > most) {
    x = most;
  }
  return x + 0;
}
int main(int argc, char** argv) { return argc == 1 ? Clamp(7, 5) - 5 : 1; }
"""


def mutant_of(original, text, is_statement=False, source=SOURCE, path="a.cc"):
    """The mutant that replaces a text, which occurs once."""
    begin = source.index(original)
    mutant = Mutant(path, source.count(b"\n", 0, begin) + 1, "kind", begin, begin + len(original), text, is_statement)
    mutant.original = original.decode()
    return mutant


class SourceTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name

    def path(self, name):
        return os.path.join(self.folder, name)

    def build(self, mutants):
        for number, mutant in enumerate(mutants, 1):
            mutant.number = number
        with open(self.path("a.cc"), "w", encoding="utf-8") as file:
            file.write(mutated_source.with_prelude(mutated_source.rewrite(SOURCE, mutants), "a.cc"))
        subprocess.run(["g++", "-std=c++17", self.path("a.cc"), "-o", self.path("a")], check=True)
        test = mutant_runs.Test("//a:a", self.path("a"), [], self.folder)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            self.assertEqual([test], mutant_runs.measure_all([test], len(mutants), self.fail, pool))
        return test

    def test_each_mutant_is_on_alone(self):
        mutants = [mutant_of(b"x > most", "true"), mutant_of(b"x > most", "x >= most"),
                   mutant_of(b"x = most;", "", is_statement=True), mutant_of(b"x + 0", "x + 1"), mutant_of(b"0", "2")]
        test = self.build(mutants)
        self.assertEqual(test.reached, {1, 2, 3, 4, 5})
        killed = [mutant.number for mutant in mutants if mutant_runs.killer_of(mutant, [test])[0]]
        self.assertEqual(killed, [3, 4, 5])  # With these arguments `true` and `>=` do the same.

    def test_only_tests_that_reach_a_mutant_are_run(self):
        mutants = [mutant_of(b"Clamp(7, 5) - 5", "3"), mutant_of(b"argc == 1", "false")]
        test = self.build(mutants)
        self.assertEqual(mutant_runs.killer_of(mutants[0], [test]), (test, 1))
        test.reached.remove(mutants[1].number)
        self.assertEqual(mutant_runs.killer_of(mutants[1], [test]), (None, 0))

    def test_a_test_that_takes_too_long_fails(self):
        mutants = [mutant_of(b"x = most;", "for (;;) x = most;", is_statement=True)]
        test = self.build(mutants)
        self.assertEqual(mutant_runs.killer_of(mutants[0], [test]), (test, 1))

    def test_several_at_a_time_are_told_in_order(self):
        mutants = [mutant_of(b"Clamp(7, 5) - 5", "3"), mutant_of(b"x + 0", "x"), mutant_of(b"argc == 1", "false"),
                   mutant_of(b"x > most", "x >= most")]
        room = mutate.Room("room")
        room.tests, room.mutants = [self.build(mutants)], mutants
        out = os.path.join(self.folder, "out")
        os.mkdir(out)
        with concurrent.futures.ThreadPoolExecutor(2) as pool, contextlib.redirect_stdout(io.StringIO()):
            mutate.run_room(room, {}, out, pool)
        self.assertEqual((room.killed, [mutant for mutant, _ in room.survivors]), (2, [mutants[1], mutants[3]]))
        with open(os.path.join(out, "room.txt"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertEqual([line.rpartition("  [")[0] for line in lines[:2]], [mutants[1].describe(), mutants[3].describe()])
        self.assertIn("4 mutants", lines[2])

    def test_lines_stay_where_they_are(self):
        mutants = [mutant_of(b"int x,\n          int most", "x")]
        mutants[0].number = 1
        self.assertEqual(mutated_source.rewrite(SOURCE, mutants).count("\n"), SOURCE.count(b"\n"))

    def test_overlapping_edits_are_left_out(self):
        mutants = [mutant_of(b"x > most", "a"), mutant_of(b"most) {\n    x", "b")]
        mutants[0].number, mutants[1].number = 1, 2
        text = mutated_source.rewrite(SOURCE, mutants)
        self.assertIn("IsOn(1)", text)
        self.assertNotIn("IsOn(2)", text)


class BuildTest(unittest.TestCase):
    def test_blames_the_mutants_of_a_line_with_an_error(self):
        mutants = [mutant_of(b"x > most", "a"), mutant_of(b"x = most;", ""), mutant_of(b"x + 0", "b", path="b.cc")]
        output = "a.cc:3:12: error: no\na.cc: In function 'f':\nc.h:4:1: error: no\n"
        self.assertEqual(mutant_build.blamed(output, mutants), {mutants[0]})
        output = "c.h:4:1: error: no\na.cc:4:7:   required from here\n"
        self.assertEqual(mutant_build.blamed(output, mutants), {mutants[1]})
        self.assertEqual(mutant_build.blamed("a.cc:1:1: error: no\n", mutants), {mutants[0], mutants[1]})
        self.assertEqual(mutant_build.blamed("ld: error: undefined symbol\n", mutants), set())


class ChoiceTest(unittest.TestCase):
    def test_a_seed_chooses_the_same_mutants(self):
        numbers = list(range(1000))
        first, again, other = (mutate.choose(numbers, 20, mutate.random.Random(seed)) for seed in ("1 a", "1 a", "2 a"))
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertEqual((len(first), first), (20, sorted(first)))
        self.assertEqual(mutate.choose(numbers, 0, None), numbers)

    def test_reads_what_is_explained(self):
        with tempfile.NamedTemporaryFile("w+", encoding="utf-8") as file:
            file.write("# comment\n\na.cc: kind: x > most  ->  a  # same\n")
            file.flush()
            explained = mutate.read_explained(file.name)
        self.assertEqual(explained, {mutate.key_of(mutant_of(b"x > most", "a")): "same"})

    def test_every_room_has_sources_and_tests(self):
        tree = mutate.source_tree.SourceTree(mutate.ROOT)
        workspace = mutate.build_files.Workspace(tree)
        for name in mutate.ROOMS:
            self.assertTrue(mutate.sources_of(name, tree.files, with_headers=False), name)
            room = mutate.Room(name)
            room.mutants = [Mutant(path, 1, "", 0, 0, "") for path in mutate.sources_of(name, tree.files, False)]
            self.assertTrue(room.labels_of_tests(workspace, []), name)

    def test_every_directory_with_sources_and_tests_is_a_room(self):
        tree = mutate.source_tree.SourceTree(mutate.ROOT)
        folders = {os.path.dirname(path) for path in tree.files
                   if path.endswith(".cc") and path.startswith(("graph/", "kernels/", "executor/"))}
        tested = {os.path.dirname(path)[len("tests/"):] for path in tree.files if path.startswith("tests/")}
        missing = {folder for folder in folders & tested
                   if folder not in mutate.ROOMS
                   and not any(folder.startswith(room + "/") for room in mutate.ROOMS if "/" in room)}
        self.assertEqual(missing, set())


if __name__ == "__main__":
    unittest.main()
