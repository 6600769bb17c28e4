#include "graph/training/gradient_clipping.h"

#include <algorithm>

#include "graph/value/dtype.h"

namespace sluice {
namespace {

Expr ValueOf(TrainNodes& nodes, const Trained& one) { return nodes.Value(one.gradient.value); }

DType NormType(DType type) { return type == DType::kDouble ? DType::kDouble : DType::kFloat; }

void ClipValue(TrainNodes& nodes, double limit, Trained* one) {
  const Expr g = ValueOf(nodes, *one);
  const Expr most = nodes.Number(g.type(), limit), least = nodes.Number(g.type(), -limit);
  one->gradient.value = Maximum(Minimum(g, most), least).output();
}

void ClipNorm(TrainNodes& nodes, double clip_norm, Trained* one) {
  const Expr g = ValueOf(nodes, *one);
  const Expr wide = Cast(g, NormType(g.type()));
  const Expr limit = nodes.Number(wide.type(), clip_norm);
  const Expr rank = AddOp("Rank", {wide});
  const Expr norm = Sqrt(Sum(wide * wide, Range(Int32(wide, 0), rank, Int32(wide, 1))));
  one->gradient.value = Cast(wide * limit / Maximum(norm, limit), g.type()).output();
}

void ClipGlobalNorm(TrainNodes& nodes, double clip_norm, absl::Span<Trained> all) {
  const bool has_double = std::any_of(all.begin(), all.end(),
                                      [&](const Trained& one) { return ValueOf(nodes, one).type() == DType::kDouble; });
  const DType type = has_double ? DType::kDouble : DType::kFloat;
  Exprs halves;
  for (const Trained& one : all) halves.push_back(AddOp("L2Loss", {Cast(ValueOf(nodes, one), type)}));
  const Expr norm = Sqrt(AddN(halves) * nodes.Number(type, 2));
  const Expr one = nodes.Number(type, 1), limit = nodes.Number(type, clip_norm);
  // Not a number where the norm is not finite: nothing hides that.
  const Expr scale = limit * Minimum(one / norm, one / limit) + (norm - norm);
  for (Trained& clipped : all) {
    const Expr g = ValueOf(nodes, clipped);
    clipped.gradient.value = (g * Cast(scale, g.type())).output();
  }
}

}  // namespace

void ClipGradients(TrainNodes& nodes, const TrainStepOptions& options, absl::Span<Trained> all) {
  const TrainNodes::Scope scope = nodes.In("clip");
  if (options.clip_norm > 0) ClipGlobalNorm(nodes, options.clip_norm, all);
  for (Trained& one : all) {
    if (options.clip_each_norm > 0) ClipNorm(nodes, options.clip_each_norm, &one);
    if (options.clip_value > 0) ClipValue(nodes, options.clip_value, &one);
  }
}

}  // namespace sluice
