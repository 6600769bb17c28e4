#ifndef SLUICE_GRAPH_PASSES_LAYER_FUSION_H_
#define SLUICE_GRAPH_PASSES_LAYER_FUSION_H_

// Note [Fused layers]
// A product of floats (MatMul, Conv2D, DepthwiseConv2dNative), what is added for each channel (BiasAdd, or a
// FusedBatchNorm with given statistics) and an activation become one node, _FusedMatMul and its kin, as TensorFlow's
// remapper makes them: the sums are finished while they are in the cache, instead of by two more walks over all of the
// result. Values are the same bits, since the fused kernels do to each element what the others do to it, in the same
// order, without rounding in between; so only floats are fused (16-bit ones are rounded after each op).
//
// The nodes must stand on one device, a CPU, and be pure; nothing else may read or wait for the product or the sum, and
// nobody may know them by name; and shapes must say that the channels agree: what can still fail then is the product,
// whose errors are the same and name the same node, since the fused one gets its name and is marked (Note [Made nodes]
// in graph/ir/made_nodes.h). It waits for all that its parts waited for. So what the others take beside the product
// must be there when the product's own inputs are, and alive: constants, arguments, plain reads of variables, or what
// the product waits for anyway. Then the product fails, and is dead, when it was. There is no circle: whatever depends
// on the product does so through the last of its parts.

#include "graph/passes/pass.h"

namespace sluice {

// See Note [Fused layers]. Changes nothing where the context has no catalog of kernels. Linear.
class LayerFusionPass : public Pass {
 public:
  absl::string_view name() const override { return "layer_fusion"; }
  // Counts the fused nodes.
  absl::StatusOr<int64_t> Run(GraphEditor& edit, const PassContext& context) const override;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_PASSES_LAYER_FUSION_H_
