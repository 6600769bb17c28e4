#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_GRADIENTS_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_GRADIENTS_H_

// What a plug-in's gradient sees: the functions of SluiceApi over a SluiceGradients.

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "graph/gradients/expr.h"
#include "graph/gradients/gradient_context.h"
#include "kernels/plugin/plugin_api.h"

// The gradients around one node. Lives for one call of a plug-in's gradient, on one thread.
struct SluiceGradients {
  sluice::GradientContext& context;
  std::vector<sluice::Expr> values = {};  // By number, as the plug-in knows them.
};

namespace sluice {

int32_t GradientsWants(const SluiceGradients* gradients, int32_t i) noexcept;
int32_t GradientsHasDy(const SluiceGradients* gradients, int32_t i) noexcept;
SluiceStatus* GradientsInput(SluiceGradients* gradients, int32_t i, SluiceValue* value) noexcept;
SluiceStatus* GradientsOutput(SluiceGradients* gradients, int32_t i, SluiceValue* value) noexcept;
SluiceStatus* GradientsDy(SluiceGradients* gradients, int32_t i, SluiceValue* value) noexcept;
SluiceStatus* GradientsAddOp(SluiceGradients* gradients, const char* op, const SluiceValue* inputs, int32_t num_inputs,
                             const SluiceNamedAttr* attrs, int32_t num_attrs, SluiceValue* value) noexcept;
SluiceStatus* GradientsSibling(SluiceGradients* gradients, SluiceValue value, int32_t i, SluiceValue* sibling) noexcept;
SluiceStatus* GradientsConstant(SluiceGradients* gradients, const SluiceTensor* tensor, SluiceValue* value) noexcept;
SluiceStatus* GradientsNumber(SluiceGradients* gradients, SluiceValue like, double number, SluiceValue* value) noexcept;
SluiceStatus* GradientsSet(SluiceGradients* gradients, int32_t i, SluiceValue value) noexcept;

// Calls the gradient for the context's node.
absl::Status DifferentiateByPlugin(const SluiceGradientDef& gradient, GradientContext& context);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_GRADIENTS_H_
