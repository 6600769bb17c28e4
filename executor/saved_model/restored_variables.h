#ifndef SLUICE_EXECUTOR_SAVED_MODEL_RESTORED_VARIABLES_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_RESTORED_VARIABLES_H_

#include <string>

#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"

namespace sluice {

// Returns, by key of the checkpoint, the VarHandleOp to which `restore` assigns that whole tensor. `restore` is a call
// of the function that TensorFlow 2 writes to restore a model (RestoreV2, an Identity for each tensor, AssignVariableOp
// of arguments). Ignores other nodes of the function, and variables that get two values.
HashMap<std::string, NodeId> RestoredVariables(const Graph& graph, NodeId restore);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_RESTORED_VARIABLES_H_
