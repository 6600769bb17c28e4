#ifndef SLUICE_GRAPH_GRADIENTS_GRADIENT_SUM_H_
#define SLUICE_GRAPH_GRADIENTS_GRADIENT_SUM_H_

#include "absl/types/span.h"
#include "graph/gradients/expr.h"
#include "graph/gradients/gradient.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/gradients/gradients.h"

namespace sluice {

// Returns `gradient`, replaced by zeros when it is dead and its value is not. See Note [Conditions].
Gradient MakeLive(GradientEmitter& emitter, const Expr& forward, const Gradient& gradient);

// Sums the gradients of the output `forward` in the order given. Missing ones are ignored; a single one is returned as
// it is; rows alone are concatenated; else the sum is a tensor. Errors stay in the emitter.
Gradient SumGradients(GradientEmitter& emitter, const Expr& forward, absl::Span<const Gradient> terms,
                      GradientOptions::Aggregation aggregation);

}  // namespace sluice

#endif  // SLUICE_GRAPH_GRADIENTS_GRADIENT_SUM_H_
