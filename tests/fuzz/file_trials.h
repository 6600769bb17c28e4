#ifndef SLUICE_TESTS_FUZZ_FILE_TRIALS_H_
#define SLUICE_TESTS_FUZZ_FILE_TRIALS_H_

// What damaged files of each kind go through.

#include "absl/strings/string_view.h"
#include "tests/fuzz/fuzz_counts.h"
#include "tests/fuzz/graph_trial.h"

namespace sluice {

// All end the process where a promise is broken. Input that a reader accepts is written again, if there is a writer.
void TryNpy(absl::string_view bytes, FuzzCounts* counts);
void TryNpz(absl::string_view bytes, FuzzCounts* counts);
// A VALUE of the command line; its first byte decides for which dtype.
void TryFeedValue(absl::string_view bytes, FuzzCounts* counts);
// A graph in text form: read, converted and run.
void TryText(absl::string_view bytes, GraphTrial* trial, FuzzCounts* counts);
// Several files, as FileBundle encodes them: "t.index" and "t.data-...", or those of a SavedModel directory.
void TryCheckpoint(absl::string_view bytes, FuzzCounts* counts);
void TrySavedModel(absl::string_view bytes, GraphTrial* trial, FuzzCounts* counts);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FILE_TRIALS_H_
