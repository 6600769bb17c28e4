#include "graph/gradients/gradient_sum.h"

#include <algorithm>
#include <cstddef>

namespace sluice {
namespace {

using Aggregation = GradientOptions::Aggregation;

Expr Add(const Expr& a, const Expr& b) { return a.type() == DType::kVariant ? AddN({a, b}) : a + b; }

// Below the limit of inputs of a node. More terms are joined in groups.
constexpr size_t kMaxTerms = 16384;

template <typename Join>
Expr JoinAll(Exprs& terms, const Join& join) {
  while (terms.size() > kMaxTerms) {
    size_t kept = 0;
    for (size_t i = 0; i < terms.size(); i += kMaxTerms) {
      const size_t count = std::min(kMaxTerms, terms.size() - i);
      terms[kept++] = join(Exprs(terms.data() + i, terms.data() + i + count));
    }
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(kept), terms.end());
  }
  return join(terms);
}

Expr SumOf(Exprs& terms, Aggregation aggregation) {
  if (aggregation == Aggregation::kStreaming) {
    Expr sum = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) sum = Add(sum, terms[i]);
    return sum;
  }
  if (aggregation == Aggregation::kAddN) return JoinAll(terms, [](const Exprs& group) { return AddN(group); });
  while (terms.size() > 1) {
    size_t kept = 0;
    for (size_t i = 0; i < terms.size(); i += 2) {
      terms[kept++] = i + 1 < terms.size() ? Add(terms[i], terms[i + 1]) : terms[i];
    }
    terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(kept), terms.end());
  }
  return terms[0];
}

// Concatenates the rows, which may repeat.
Gradient Concatenate(GradientEmitter& emitter, absl::Span<const Gradient> terms) {
  Exprs values, indices;
  Output dense_shape = kNoOutput;
  bool is_wide = false;
  for (const Gradient& term : terms) {
    values.push_back(emitter.Value(term.value));
    indices.push_back(emitter.Value(term.indices));
    is_wide = is_wide || indices.back().type() == DType::kInt64;
    if (!dense_shape.is_set()) dense_shape = term.dense_shape;
  }
  for (Expr& index : indices) index = Cast(index, is_wide ? DType::kInt64 : DType::kInt32);
  const auto join = [](const Exprs& group) { return Concat(group, 0); };
  const Expr value = JoinAll(values, join), index = JoinAll(indices, join);
  return Gradient::Slices(value.output(), index.output(), dense_shape);
}

}  // namespace

Gradient MakeLive(GradientEmitter& emitter, const Expr& forward, const Gradient& gradient) {
  Conditions* const conditions = emitter.conditions();
  if (conditions == nullptr || !gradient.is_set() || !emitter.ok()) return gradient;
  const Conditions::List own = conditions->Of(forward.output());
  Conditions::List extra = conditions->Beyond(gradient.value, own);
  if (const GradientFrame* const frame = emitter.frame()) {
    // Counts conditions recalled from the forward loop that the value does not have.
    const auto is_other = [&](const Conditions::Condition& condition) {
      const Output predicate = frame->ForwardOf(condition.predicate);
      const Conditions::Condition of_forward{predicate, condition.port, condition.num_ports};
      return !predicate.is_set() || std::binary_search(own.begin(), own.end(), of_forward);
    };
    extra.erase(std::remove_if(extra.begin(), extra.end(), is_other), extra.end());
  }
  if (extra.empty()) return gradient;
  const Expr term = emitter.Dense(gradient, forward);
  const Expr zeros = emitter.ZerosUnless(emitter.Zeros(forward, term.type()), extra);
  const Expr live = AddOp("Merge", {term, zeros});
  if (!live.is_set()) return Gradient();
  // Conditions found at run time (which input a Merge took) look different from those of the value, but are the same.
  if (emitter.frame() == nullptr) conditions->State(live.output().node, own);
  return Gradient::Dense(live.output());
}

Gradient SumGradients(GradientEmitter& emitter, const Expr& forward, absl::Span<const Gradient> terms,
                      Aggregation aggregation) {
  absl::InlinedVector<Gradient, 4> set;
  for (const Gradient& term : terms) {
    if (term.is_set()) set.push_back(term);
  }
  if (set.empty()) return Gradient();
  if (set.size() == 1) return set[0];
  if (std::all_of(set.begin(), set.end(), [](const Gradient& term) { return term.is_slices(); })) {
    return Concatenate(emitter, set);
  }
  Exprs dense;
  for (const Gradient& term : set) dense.push_back(emitter.Dense(term, forward));
  return Gradient::Dense(SumOf(dense, aggregation).output());
}

}  // namespace sluice
