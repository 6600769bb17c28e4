#ifndef SLUICE_TOOLS_CLI_DRAW_GRADIENT_SCOPE_H_
#define SLUICE_TOOLS_CLI_DRAW_GRADIENT_SCOPE_H_

#include "absl/strings/string_view.h"

namespace sluice {

// Whether a node of this name computes gradients: one of its scopes has a name that AddGradients (so `sluice grad`),
// tf.gradients and Keras use: "gradients", "gradients_1", "gradient_tape".
bool IsInGradientScope(absl::string_view node);

}  // namespace sluice

#endif  // SLUICE_TOOLS_CLI_DRAW_GRADIENT_SCOPE_H_
