#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_SHAPES_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_SHAPES_H_

// What a plug-in's shape function sees: the functions of SluiceApi over a SluiceShapes.

#include <cstdint>
#include <deque>

#include "absl/status/status.h"
#include "graph/shapes/inference_context.h"
#include "graph/value/shape.h"
#include "kernels/plugin/plugin_api.h"

// The shapes around one node. Lives for one call of a shape function, on one thread.
struct SluiceShapes {
  sluice::InferenceContext& context;
  std::deque<sluice::PartialShape> without_ids = {};  // Shapes that were handed over, with -1 for unknown sizes.
};

namespace sluice {

SluiceStatus* ShapesInput(SluiceShapes* shapes, int32_t i, SluiceShape* shape) noexcept;
int32_t ShapesInputValue(SluiceShapes* shapes, int32_t i, SluiceAttr* value) noexcept;
SluiceStatus* ShapesSet(SluiceShapes* shapes, int32_t i, const SluiceShape* shape) noexcept;
SluiceStatus* ShapesSetSame(SluiceShapes* shapes, int32_t out, int32_t a, int32_t b) noexcept;
SluiceStatus* ShapesSetBroadcast(SluiceShapes* shapes, int32_t out, int32_t a, int32_t b) noexcept;

// Calls the shape function of `op`, whose `shapes` is not null, for the context's node.
absl::Status InferByPlugin(const SluiceOpDef& op, InferenceContext& context);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_SHAPES_H_
