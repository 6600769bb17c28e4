#ifndef SLUICE_TESTS_FUZZ_FILE_MAKERS_H_
#define SLUICE_TESTS_FUZZ_FILE_MAKERS_H_

// Files of each kind, sound ones and such with one or more things wrong.

#include <string>

#include "tests/fuzz/graph_mutator.h"
#include "tests/fuzz/graph_seeds.h"
#include "tests/testing/hostile_values.h"

namespace sluice {

// Headers rewritten field by field (dtype, order, shape, version, length), data cut.
std::string MakeNpyFile(FuzzRandom& random);
// An archive of such files, its directory changed field by field.
std::string MakeNpzFile(FuzzRandom& random);
// Literals, lists, fills; words exchanged.
std::string MakeFeedValue(FuzzRandom& random);
// A graph of `seeds`, mutated, in text form, its words and lines exchanged, doubled and dropped.
std::string MakeTextFile(const GraphSeeds& seeds, const GraphMutator& mutator, FuzzRandom& random);
// A FileBundle of "t.index" and its shards: entries changed as messages, blocks changed under right checksums.
std::string MakeCheckpoint(FuzzRandom& random);
// A FileBundle of a SavedModel directory: its message changed as a tree, its graph by the mutator, its variables as
// above.
std::string MakeSavedModel(const GraphSeeds& seeds, const GraphMutator& mutator, FuzzRandom& random);

}  // namespace sluice

#endif  // SLUICE_TESTS_FUZZ_FILE_MAKERS_H_
