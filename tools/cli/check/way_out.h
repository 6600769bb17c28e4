#ifndef SLUICE_TOOLS_CLI_CHECK_WAY_OUT_H_
#define SLUICE_TOOLS_CLI_CHECK_WAY_OUT_H_

#include <string>

#include "graph/ir/graph.h"

namespace sluice {

// Says what a user can do about a node whose op has no kernel here: which tensors to feed instead of an input pipeline
// or a Python function, how to export without accelerator ops. Empty if nothing can be done.
std::string WayOut(const Graph& graph, NodeId id);

// Whether `op` will never have a kernel: tf.data, Python functions, TPU and the like. See DESIGN.md section 14.
bool IsOutOfScope(absl::string_view op);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_CHECK_WAY_OUT_H_
