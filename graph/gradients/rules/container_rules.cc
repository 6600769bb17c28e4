// Gradients of variants that hold tensors: optionals and maps. The gradient of a container is a container with the
// gradients of its contents.

#include <vector>

#include "graph/gradients/gradient_emitter.h"
#include "graph/gradients/rules/families.h"
#include "graph/gradients/rules/shared_rules.h"

namespace sluice {
namespace {

absl::Status OptionalFromValue(GradientContext& c) {
  std::vector<DType> types;
  std::vector<PartialShape> shapes;
  for (int i = 0; i < c.num_inputs(); ++i) {
    types.push_back(c.input_type(i));
    shapes.push_back(c.InputShape(i));
  }
  const Expr values =
      AddOp("OptionalGetValue", {c.dy()}, {{"output_types", AttrValue(types)}, {"output_shapes", AttrValue(shapes)}});
  for (int i = 0; i < c.num_inputs(); ++i) {
    if (c.Wants(i)) c.SetInput(i, values.out(i));
  }
  return absl::OkStatus();
}

absl::Status OptionalGetValue(GradientContext& c) {
  Exprs values;
  std::vector<DType> types;
  for (int i = 0; i < c.num_outputs(); ++i) {
    values.push_back(c.dy(i));
    types.push_back(c.output_type(i));
  }
  c.SetInput(0, AddOp("OptionalFromValue", values, {{"Toutput_types", AttrValue(types)}}));
  return absl::OkStatus();
}

// A map with only the gradient of the value that was read.
absl::Status MapLookup(GradientContext& c) {
  c.SetInput(0, AddOp("TensorMapInsert", {c.Op("EmptyTensorMap", {}), c.Input(1), c.dy()}));
  return absl::OkStatus();
}

// The gradient of a map has entries only for keys that were read; that of the inserted key goes to the value, not to
// the map before.
absl::Status MapInsert(GradientContext& c) {
  const Expr map = c.dy(), key = c.Input(1);
  const EmitAttrs of_value = {{"value_dtype", AttrValue(c.input_type(2))}};
  const Expr has_key = AddOp("TensorMapHasKey", {map, key});
  const Expr gated_map = c.emitter().Gate(map, has_key), gated_key = c.emitter().Gate(key, has_key);
  if (c.Wants(0)) {
    const Expr without = AddOp("TensorMapErase", {gated_map.out(1), gated_key.out(1)}, of_value);
    c.SetInput(0, AddOp("Merge", {gated_map, without}));
  }
  if (c.Wants(2)) {
    const Expr value = AddOp("TensorMapLookup", {gated_map.out(1), gated_key.out(1)}, of_value);
    const Expr zeros = c.emitter().Gate(ZerosLike(c.Input(2)), has_key);
    c.SetInput(2, AddOp("Merge", {zeros, value}));
  }
  return absl::OkStatus();
}

constexpr GradientRow kRows[] = {
    {"OptionalFromValue", &OptionalFromValue}, {"OptionalGetValue", &OptionalGetValue}, {"TensorMapErase", &PassOn},
    {"TensorMapInsert", &MapInsert},           {"TensorMapLookup", &MapLookup},
};
static_assert(RowsAscend(kRows), "rows ascend by op");

}  // namespace

absl::Span<const GradientRow> ContainerGradients() { return kRows; }

}  // namespace sluice
