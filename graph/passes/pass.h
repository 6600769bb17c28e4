#ifndef SLUICE_GRAPH_PASSES_PASS_H_
#define SLUICE_GRAPH_PASSES_PASS_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/graph.h"
#include "graph/passes/pass_context.h"

namespace sluice {

// What one run of a pass did.
struct PassReport {
  std::string name;
  int64_t nodes_before = 0;
  int64_t nodes_after = 0;
  int64_t changes = 0;  // Nodes added, removed or rewired, as the pass counts them; 0 means an unchanged graph.
};

// One rewrite of a graph that preserves the values of the nodes that the context names, the effects of stateful nodes,
// and deadness.
// Thread-safety: Run may be called for different graphs at once unless a pass says otherwise.
class Pass {
 public:
  virtual ~Pass() = default;

  virtual absl::string_view name() const = 0;
  // Rewrites the graph of `edit`, which is sound before and after, and returns the number of changes. After an error,
  // the context's status when it stops among them, the graph is sound, and may be changed in part. Uses and shapes that
  // a pass asks `edit` for are kept for the passes after it.
  virtual absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext& context) const = 0;
};

// Runs `passes` in order, over and over until a round changes nothing or `max_rounds` are done. Appends a report per
// run to `*reports` (may be null). Stops at the first error. Where the context asks for it, builds with assertions
// validate the graph, and what `edit` keeps of its uses, after each run: kInternal, naming the pass, where it is not
// sound.
absl::Status RunPasses(absl::Span<const std::unique_ptr<const Pass>> passes, int max_rounds, const PassContext& context,
                       GraphEditor& edit, std::vector<PassReport>* reports);
// As above, with its own editor, which infers shapes by the context's options.
absl::Status RunPasses(absl::Span<const std::unique_ptr<const Pass>> passes, int max_rounds, const PassContext& context,
                       Graph& graph, std::vector<PassReport>* reports);

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_PASS_H_
