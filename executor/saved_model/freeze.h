#ifndef SLUICE_EXECUTOR_SAVED_MODEL_FREEZE_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_FREEZE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/session/session.h"
#include "graph/ir/graph.h"
#include "graph/load/load_graph.h"

namespace sluice {

// A graph without variables.
struct FrozenGraph {
  Graph graph = Graph(nullptr);
  int64_t variables = 0;  // Variables that have become constants.
  int64_t bytes = 0;      // Of their values.
};

// Makes a graph that computes `fetches` (nodes or endpoints of the model's graph) and needs no files: calls of
// functions are replaced by their bodies, functional loops and conditionals by Switch, Merge, Enter and Exit, and
// variables by constants with the values that they have after InitialiseModel, or, with `restore`, after the same with
// that checkpoint (see RestoreVariables) in place of the model's own. Names of nodes stay; of a call whose outputs are
// fetched ("call:1"), outputs after the last fetched one are removed, with what only they need. kCannotRun where the
// fetches need an op that changes a variable, or uses one where a constant cannot be used; the errors of the session.
absl::StatusOr<FrozenGraph> FreezeModel(const LoadedGraph& model, const std::vector<std::string>& fetches,
                                        const SessionOptions& options = {}, const std::string& restore = "");

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_FREEZE_H_
