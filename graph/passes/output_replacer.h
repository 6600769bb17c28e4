#ifndef SLUICE_GRAPH_PASSES_OUTPUT_REPLACER_H_
#define SLUICE_GRAPH_PASSES_OUTPUT_REPLACER_H_

#include <cstdint>

#include "absl/status/status.h"
#include "graph/base/hash_table.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/graph.h"

namespace sluice {

// Collects replacements of outputs and applies them to a graph in one walk. A control edge is the output with index
// kControlIndex. Chains (a by b, b by c) are followed; they must not form a cycle. Not thread-safe.
class OutputReplacer {
 public:
  void Replace(const Output& from, const Output& to) { replaced_[from] = to; }
  // The current replacement of `output`.
  Output Resolve(Output output) const;
  bool empty() const { return replaced_.empty(); }

  // Rewires every input of the graph that was replaced.
  absl::Status Apply(GraphEditor& edit) const;

 private:
  HashMap<Output, Output> replaced_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_OUTPUT_REPLACER_H_
