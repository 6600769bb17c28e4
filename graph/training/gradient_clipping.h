#ifndef SLUICE_GRAPH_TRAINING_GRADIENT_CLIPPING_H_
#define SLUICE_GRAPH_TRAINING_GRADIENT_CLIPPING_H_

#include "absl/types/span.h"
#include "graph/training/train_nodes.h"
#include "graph/training/train_options.h"

namespace sluice {

// Clips gradients as the options say, with the formulas of tf.clip_by_value, clip_by_norm and clip_by_global_norm.
// Norms of half numbers are computed in floats, which hold the squares; one norm of all gradients is a double where one
// of them is. Of sparse gradients the rows count as they are, rows that repeat each for itself.
void ClipGradients(TrainNodes& nodes, const TrainStepOptions& options, absl::Span<Trained> all);

}  // namespace sluice

#endif  // SLUICE_GRAPH_TRAINING_GRADIENT_CLIPPING_H_
