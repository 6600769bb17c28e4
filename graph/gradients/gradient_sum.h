#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENT_SUM_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENT_SUM_H_

#include "absl/types/span.h"
#include "graph/gradients/expr.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/gradients/gradients.h"

namespace sluice {

// `gradient`, with zeros where it is dead and the value that it belongs to is not. See Note [Conditions].
Gradient MakeLive(GradientEmitter& emitter, const Expr& forward, const Gradient& gradient);

// The sum of what arrives at one output, in the order given: nothing, the only one as it is, rows behind rows, or a
// tensor. Those that are none count nothing. `forward` is the output they are gradients of; errors stay in the emitter.
Gradient SumGradients(GradientEmitter& emitter, const Expr& forward, absl::Span<const Gradient> terms,
                      GradientOptions::Aggregation aggregation);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENT_SUM_H_
