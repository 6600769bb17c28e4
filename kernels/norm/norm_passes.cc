#include "kernels/norm/norm_passes.h"

#include <algorithm>

#include "kernels/workers.h"

namespace sluice {
namespace {

// Nanoseconds for an element in one pass.
constexpr double kElementNs = 0.4;

// Adds `side` (may be null) to `y`, then cuts off what is below zero.
template <typename W>
void ApplyEpilogue(const W* side, bool is_relu, int64_t n, W* y) {
  if (side != nullptr) {
    for (int64_t i = 0; i < n; ++i) y[i] += side[i];
  }
  if (!is_relu) return;
  for (int64_t i = 0; i < n; ++i) y[i] = y[i] < W{0} ? W{0} : y[i];
}

}  // namespace

template <typename W>
absl::StatusOr<ChannelNumbers<W>> ChannelNumbers<W>::Make(const KernelContext& context, const ChannelPlanes& planes,
                                                          int count) {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape,
                          Shape::Make({count, planes.channels_last ? SumWidth(planes.channels) : planes.channels}));
  SLUICE_ASSIGN_OR_RETURN(Tensor memory, Tensor::Make(DTypeOf<W>::value, shape, context.allocator()));
  return ChannelNumbers(planes, count, std::move(memory));
}

template <typename W>
void ChannelNumbers<W>::Finish() {
  if (!channels_last_) return;
  for (int k = 0; k < count_; ++k) RepeatChannels(of(k), channels_);
}

template <typename W>
const W* ChannelNumbers<W>::For(const ChannelBlockOfRows& block, int k, W* scratch) const {
  const W* const numbers = memory_.flat<W>().data() + k * stride_;
  if (channels_last_) return numbers;
  std::fill_n(scratch, SumWidth(1), numbers[block.first_channel]);
  return scratch;
}

template <typename W>
absl::StatusOr<Tensor> NormPasses<W>::AllocateSums() const {
  SLUICE_ASSIGN_OR_RETURN(const Shape shape, Shape::Make({planes_.num_blocks(), planes_.row_channels, 2}));
  return context_.AllocateTemp(DType::kDouble, shape);
}

template <typename W>
absl::StatusOr<Tensor> NormPasses<W>::Moments(const WideReader<W>& x) const {
  SLUICE_ASSIGN_OR_RETURN(Tensor sums, AllocateSums());
  double* const to = sums.flat<double>().data();
  const int64_t channels = planes_.row_channels;
  SLUICE_RETURN_IF_ERROR(
      ForEachBlock(Workers(context_.run()), planes_, 2 * kElementNs, ScratchBytes(4, x.NeedsCopy() ? 1 : 0), keeper_,
                   [&](const ChannelBlockOfRows& block, void* memory) {
                     W* const scratch = static_cast<W*>(memory);
                     const W* const from = x.Read(block.first_element, block.rows * channels, scratch + 4 * width());
                     ChannelLoops<W>::Moments(from, block.rows, channels, scratch, to + 2 * block.index * channels);
                   }));
  return sums;
}

template <typename W>
absl::StatusOr<Tensor> NormPasses<W>::Products(const WideReader<W>& dy, const WideReader<W>& x,
                                               const ChannelNumbers<W>& numbers) const {
  SLUICE_ASSIGN_OR_RETURN(Tensor sums, AllocateSums());
  double* const to = sums.flat<double>().data();
  const int64_t channels = planes_.row_channels;
  const int64_t copies = (dy.NeedsCopy() ? 1 : 0) + (x.NeedsCopy() ? 1 : 0);
  SLUICE_RETURN_IF_ERROR(ForEachBlock(
      Workers(context_.run()), planes_, 2 * kElementNs, ScratchBytes(3, copies), keeper_,
      [&](const ChannelBlockOfRows& block, void* memory) {
        W* const scratch = static_cast<W*>(memory);
        W* const copy = scratch + 3 * width();
        const int64_t size = block.rows * channels;
        const W* const gradient = dy.Read(block.first_element, size, copy);
        const W* const from = x.Read(block.first_element, size, copy + planes_.block_elements());
        const W* const mean = numbers.For(block, 0, scratch + 2 * width());
        ChannelLoops<W>::Products(gradient, from, mean, block.rows, channels, scratch, to + 2 * block.index * channels);
      }));
  return sums;
}

template <typename W>
absl::Status NormPasses<W>::Normalize(const WideReader<W>& x, const ChannelNumbers<W>& numbers,
                                      const NormEpilogue<W>& epilogue, Tensor* y) const {
  const WideWriter<W> writer(y, WideUse::kSum);
  const int64_t copies = (x.NeedsCopy() ? 2 : 0) + (epilogue.side != nullptr && x.NeedsCopy() ? 1 : 0);
  return ForEachBlock(Workers(context_.run()), planes_, kElementNs, ScratchBytes(3, copies), keeper_,
                      [&](const ChannelBlockOfRows& block, void* memory) {
                        W* const scratch = static_cast<W*>(memory);
                        W* const copy = scratch + 3 * width();
                        const int64_t at = block.first_element;
                        const int64_t size = block.rows * planes_.row_channels;
                        const W* const from = x.Read(at, size, copy);
                        W* const to = writer.Place(at, copy + planes_.block_elements());
                        ChannelLoops<W>::Normalize(
                            from, numbers.For(block, 0, scratch), numbers.For(block, 1, scratch + width()),
                            numbers.For(block, 2, scratch + 2 * width()), block.rows, planes_.row_channels, to);
                        const W* side = nullptr;
                        if (epilogue.side != nullptr) {
                          side = epilogue.side->Read(at, size, copy + 2 * planes_.block_elements());
                        }
                        ApplyEpilogue(side, epilogue.is_relu, size, to);
                        writer.Finish(at, size, to);
                      });
}

template <typename W>
absl::Status NormPasses<W>::Gradient(const WideReader<W>& dy, const WideReader<W>& x, const ChannelNumbers<W>& numbers,
                                     Tensor* dx) const {
  const WideWriter<W> writer(dx, WideUse::kSum);
  return ForEachBlock(Workers(context_.run()), planes_, kElementNs, ScratchBytes(4, x.NeedsCopy() ? 3 : 0), keeper_,
                      [&](const ChannelBlockOfRows& block, void* memory) {
                        W* const scratch = static_cast<W*>(memory);
                        W* const copy = scratch + 4 * width();
                        const int64_t at = block.first_element;
                        const int64_t size = block.rows * planes_.row_channels;
                        const W* const gradient = dy.Read(at, size, copy);
                        const W* const from = x.Read(at, size, copy + planes_.block_elements());
                        W* const to = writer.Place(at, copy + 2 * planes_.block_elements());
                        ChannelLoops<W>::Gradient(
                            gradient, from, numbers.For(block, 0, scratch),
                            numbers.For(block, 2, scratch + 2 * width()), numbers.For(block, 3, scratch + 3 * width()),
                            numbers.For(block, 1, scratch + width()), block.rows, planes_.row_channels, to);
                        writer.Finish(at, size, to);
                      });
}

template class ChannelNumbers<float>;
template class ChannelNumbers<double>;
template class NormPasses<float>;
template class NormPasses<double>;

}  // namespace sluice
