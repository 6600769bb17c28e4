#include "kernels/pool/fractional_sequence.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/input_error.h"

namespace sluice {

void FractionalSequence::Shuffled(int64_t length, absl::Span<int64_t> sizes) {
  const int64_t count = static_cast<int64_t>(sizes.size());
  for (int64_t i = 0; i < count; ++i) sizes[static_cast<size_t>(i)] = length / count + (i < length % count ? 1 : 0);
  Philox numbers = generator_;
  generator_.Skip(static_cast<uint64_t>(count + 3) / 4);
  Philox::Block block{};
  for (size_t i = 0; i + 1 < sizes.size(); ++i) {
    if (i % 4 == 0) block = numbers.Next();
    std::swap(sizes[i], sizes[i + block[i % 4] % static_cast<uint32_t>(sizes.size() - i)]);
  }
}

void FractionalSequence::Shifted(int64_t length, absl::Span<int64_t> sizes) {
  const int64_t count = static_cast<int64_t>(sizes.size());
  const double alpha = static_cast<double>(length) / static_cast<double>(count);
  const int64_t k = length / count;
  const double largest_shift = std::min(static_cast<double>(k + 2) / alpha - 1,
                                        static_cast<double>(length + 1 - k) / alpha - static_cast<double>(count - 1));
  // 52 random bits become the fraction of a number of [1, 2).
  const Philox::Block block = generator_.Next();
  const uint64_t bits = (uint64_t{block[0] & 0xfffffu} << 32) | block[1] | (uint64_t{1023} << 52);
  double random;
  std::memcpy(&random, &bits, sizeof(random));
  const double shift = (random - 1.0) * largest_shift;
  int64_t begin = 1;
  for (int64_t i = 0; i < count; ++i) {
    const double end = std::ceil(alpha * (static_cast<double>(i + 1) + shift));
    const int64_t next = i + 1 == count ? length + 1 : static_cast<int64_t>(end);
    sizes[static_cast<size_t>(i)] = next - begin;
    begin = next;
  }
}

void FractionalSequence::Cut(int64_t length, absl::Span<int64_t> bounds) {
  const absl::Span<int64_t> sizes = bounds.subspan(1);
  if (is_pseudo_random_) {
    Shifted(length, sizes);
  } else {
    Shuffled(length, sizes);
  }
  bounds[0] = 0;
  for (size_t i = 1; i < bounds.size(); ++i) bounds[i] += bounds[i - 1];
}

absl::Status SetFractionalAxis(const KernelContext& context, int input, bool is_overlapping, PoolAxis* axis) {
  const Tensor& tensor = context.input(input);
  if (tensor.rank() != 1 || tensor.dim(0) < 2) {
    return ShapeError(input, "", tensor.shape(), "a vector of two or more places");
  }
  const absl::Span<const int64_t> bounds = tensor.flat<int64_t>();
  int64_t least = 0;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const bool is_last = i + 1 == bounds.size();
    if (bounds[i] < least || (!is_last && bounds[i] >= axis->in)) {
      return ValueError(input, "", absl::StrCat(bounds[i], " at ", i),
                        absl::StrCat("places that ascend, below ", axis->in));
    }
    least = bounds[i] == INT64_MAX ? bounds[i] : bounds[i] + 1;
  }
  axis->bounds = bounds.data();
  axis->out = static_cast<int64_t>(bounds.size()) - 1;
  axis->overlap = is_overlapping ? 1 : 0;
  return absl::OkStatus();
}

}  // namespace sluice
