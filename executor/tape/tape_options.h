#ifndef SLUICE_EXECUTOR_TAPE_TAPE_OPTIONS_H_
#define SLUICE_EXECUTOR_TAPE_TAPE_OPTIONS_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "executor/tape/var.h"
#include "graph/base/cancellation.h"
#include "graph/gradients/gradient_row.h"
#include "graph/ir/op_registry.h"
#include "kernels/kernel_registry.h"

namespace sluice {

struct TapeOptions {
  // For work inside kernels, the caller's thread included.
  int num_threads = 1;
  // How many passes, by structure, are kept as compiled graphs. 0: every pass calls its ops one by one.
  size_t max_structures = 256;
  // Bounds their memory, estimated as 1 KiB for each op of a graph. The last one is always kept.
  size_t max_structure_bytes = size_t{64} << 20;
  // Null: the built-in ones. Borrowed; they outlive the tape.
  const OpRegistry* ops = nullptr;
  const KernelRegistry* kernels = nullptr;
  // Gradients that the host adds, searched before the table.
  std::vector<GradientRow> rows;
};

struct BackwardOptions {
  // Whether saved values stay for further passes. Unset: as create_graph.
  std::optional<bool> retain_graph;
  // Whether the pass itself is recorded, so that gradients have gradients.
  bool create_graph = false;
  // Only these get gradients: leaves as always, others as with RetainGrad. Unset: all leaves. Empty: an error.
  std::optional<std::vector<Var>> inputs;
  // Ends the pass between two nodes, and passes that were begun inside of it. Borrowed; may be null.
  CancellationManager* cancellation = nullptr;
};

struct GradOptions {
  std::optional<bool> retain_graph;
  bool create_graph = false;
  // Inputs that the outputs do not depend on get an undefined result instead of an error.
  bool allow_unused = false;
  CancellationManager* cancellation = nullptr;  // As above.
};

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_TAPE_TAPE_OPTIONS_H_
