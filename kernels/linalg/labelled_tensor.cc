#include "kernels/linalg/labelled_tensor.h"

#include <algorithm>
#include <complex>

namespace sluice {
namespace {

// One loop: how often, and how far it moves in both tensors.
struct Loop {
  int label;
  int64_t size;
  int64_t from_step;
  int64_t to_step;
};

Loop& LoopOf(std::vector<Loop>& loops, int label) {
  for (Loop& loop : loops) {
    if (loop.label == label) return loop;
  }
  return loops.emplace_back(Loop{label, 1, 0, 0});
}

// The loops over all labels of `from`, those of `labels` first.
std::vector<Loop> LoopsOf(const LabelledTensor& from, absl::Span<const int> labels, const Tensor& to) {
  std::vector<Loop> loops;
  for (const int label : labels) LoopOf(loops, label);
  int64_t step = 1;
  for (size_t axis = from.labels.size(); axis-- > 0;) {
    Loop& loop = LoopOf(loops, from.labels[axis]);
    loop.size = from.value.dim(static_cast<int>(axis));
    loop.from_step += step;
    step *= loop.size;
  }
  step = 1;
  for (size_t axis = labels.size(); axis-- > 0;) {
    LoopOf(loops, labels[axis]).to_step += step;
    step *= to.dim(static_cast<int>(axis));
  }
  return loops;
}

// Integers wrap around.
template <typename T>
T Plus(T a, T b) {
  if constexpr (std::is_integral_v<T>) {
    return static_cast<T>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
  } else {
    return a + b;
  }
}

}  // namespace

template <typename T>
void SumInto(const LabelledTensor& from, absl::Span<const int> labels, Tensor* to) {
  const absl::Span<T> all = to->flat<T>();
  std::fill(all.begin(), all.end(), T{});
  if (from.value.num_elements() == 0) return;
  std::vector<Loop> loops = LoopsOf(from, labels, *to);
  if (loops.empty()) loops.push_back({0, 1, 0, 0});
  const Loop inner = loops.back();
  loops.pop_back();
  std::vector<int64_t> at(loops.size(), 0);
  const T* in = from.value.flat<T>().data();
  T* out = all.data();
  for (;;) {
    for (int64_t i = 0; i < inner.size; ++i) {
      T& sum = out[i * inner.to_step];
      sum = Plus(sum, in[i * inner.from_step]);
    }
    size_t d = loops.size();
    for (; d > 0; --d) {
      const Loop& loop = loops[d - 1];
      in += loop.from_step;
      out += loop.to_step;
      if (++at[d - 1] < loop.size) break;
      in -= loop.from_step * loop.size;
      out -= loop.to_step * loop.size;
      at[d - 1] = 0;
    }
    if (d == 0) return;
  }
}

template void SumInto<float>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<double>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<int8_t>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<int16_t>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<int32_t>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<int64_t>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<uint8_t>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<uint16_t>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<uint32_t>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<uint64_t>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<std::complex<float>>(const LabelledTensor&, absl::Span<const int>, Tensor*);
template void SumInto<std::complex<double>>(const LabelledTensor&, absl::Span<const int>, Tensor*);

}  // namespace sluice
