#ifndef SLUICE_EXECUTOR_SAVED_MODEL_RESTORED_VARIABLES_H_
#define SLUICE_EXECUTOR_SAVED_MODEL_RESTORED_VARIABLES_H_

#include <string>

#include "graph/base/hash_table.h"
#include "graph/ir/graph.h"

namespace sluice {

// By key of the checkpoint: the VarHandleOp to which `restore` gives all of that tensor. `restore` is a call of the
// function that TensorFlow 2 writes to restore a model (RestoreV2, an Identity for each tensor, AssignVariableOp of
// arguments); what else may be in such a function is left out, and so is a variable that gets two values.
HashMap<std::string, NodeId> RestoredVariables(const Graph& graph, NodeId restore);

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_SAVED_MODEL_RESTORED_VARIABLES_H_
