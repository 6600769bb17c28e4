#ifndef SLUICE_TESTS_FUZZ_FUZZ_LOOP_H_
#define SLUICE_TESTS_FUZZ_FUZZ_LOOP_H_

// The main program of every fuzzer of this directory.
//
// Note [Two processes]
// A sanitizer ends the process that it finds at fault, so the inputs run in a child. Parent and child share memory: the
// counts, the number of the seed at work and the input itself, which is there before it is executed. When the child
// dies, the parent writes the input and what the child said (crash-KEY-N.*; KEY comes from the text and the uppermost
// frames of ours, at most three inputs for each), and starts another child at the next seed. A child that spends too
// much time on one input is ended in the same way (hang-*). Every child ends after some thousand inputs, so that the
// leak checker looks at it.

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_counts.h"
#include "tests/fuzz/fuzz_subject.h"

namespace sluice {

// Makes the subject in the process that runs it. `seed_dirs`: directories with files to start from, beside its own.
using MakeSubject =
    std::function<std::unique_ptr<FuzzSubject>(FuzzCounts* counts, const std::vector<std::string>& seed_dirs)>;

// Reads the command line (see --help), fuzzes, replays or makes smaller. Exit status 1: something crashed or hung.
int FuzzMain(int argc, char** argv, const MakeSubject& make);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FUZZ_LOOP_H_
