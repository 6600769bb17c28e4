#ifndef SLUICE_GRAPH_PASSES_LAYER_FUSION_H_
#define SLUICE_GRAPH_PASSES_LAYER_FUSION_H_

// Note [Fused layers]
// A product of floats (MatMul, Conv2D, DepthwiseConv2dNative), a term for each channel (BiasAdd, or a FusedBatchNorm
// with given statistics) and an activation become one node (_FusedMatMul and similar), as in TensorFlow's remapper: the
// sums are finished while they are in the cache, instead of in two more passes over the result. Values are bitwise the
// same, since the fused kernels do the same operations on each element in the same order; 16-bit floats are not fused,
// because they are rounded after each op.
//
// The nodes must stand on one device, a CPU, and be pure; nothing else may read or wait for the product or the sum, and
// nobody may know them by name; and shapes must say that the channels agree: what can still fail then is the product,
// whose errors are the same and name the same node, since the fused one gets its name and is marked (Note [Made nodes]
// in graph/ir/made_nodes.h). It waits for everything that its parts waited for. So the other inputs of the parts must
// be available, and alive, whenever the product's own inputs are: constants, arguments, plain reads of variables, or
// nodes that the product waits for anyway. Then the fused node fails, or is dead, exactly when the product was. No
// cycle arises: all nodes that depend on the product do so through the last of its parts.

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
