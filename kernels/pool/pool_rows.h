#ifndef SLUICE_KERNELS_POOL_POOL_ROWS_H_
#define SLUICE_KERNELS_POOL_POOL_ROWS_H_

// Note [Rows of windows]
// Maxima and sums over windows are made in two passes for each row of the result: first the rows of the image under its
// windows are combined, column by column, into one row as wide as the image (one straight loop, however few channels
// there are); then the columns of each window, channel by channel. A row of the result is one shard, so results do not
// depend on the number of threads.

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "absl/status/status.h"
#include "graph/value/tensor.h"
#include "kernels/element_math.h"
#include "kernels/pool/pool_geometry.h"
#include "kernels/pool/wide_values.h"
#include "kernels/worker_scratch.h"
#include "kernels/workers.h"

namespace sluice {

// The larger one; a NaN `b` counts for nothing.
struct PoolMaximum {
  template <typename W>
  static W Combine(W a, W b) {
    return b > a ? b : a;
  }
};
struct PoolSum {
  template <typename W>
  static W Combine(W a, W b) {
    return AddElements()(a, b);
  }
};

// Pools `input` into `output`. W is their wide type; `start` is combined with the elements of each window, and
// kIsMean divides by their number.
template <typename W, bool kIsMean>
class PoolRows {
 public:
  PoolRows(const PoolGeometry& geometry, const Tensor& input, Tensor* output, W start)
      : g_(geometry),
        reader_(input, WideUse::kOrder),
        writer_(output, WideUse::kOrder),
        start_(start),
        width_(geometry.image_pixels() == 0 ? 0 : geometry.axes[2].in * geometry.channels),
        out_width_(geometry.axes[2].out * geometry.channels) {}

  // REQUIRES: the output has elements.
  absl::Status Run(const Workers& workers, ScratchKeeper* keeper) const {
    const int64_t elements = width_ * (reader_.NeedsCopy() ? 2 : 1) + (writer_.NeedsCopy() ? out_width_ : 0);
    const int64_t rows = g_.output_rows();
    const int64_t rows_read =
        g_.axes[0].SpanOf(g_.axes[0].out / 2).size() * g_.axes[1].SpanOf(g_.axes[1].out / 2).size();
    const int64_t columns_read = g_.axes[2].SpanOf(g_.axes[2].out / 2).size();
    const double row_ns = 0.2 * (static_cast<double>(rows_read) * static_cast<double>(width_) +
                                 static_cast<double>(columns_read) * static_cast<double>(out_width_)) +
                          20;
    SLUICE_ASSIGN_OR_RETURN(const WorkerScratch scratch,
                            WorkerScratch::Make(workers, rows, elements * static_cast<int64_t>(sizeof(W)), keeper));
    return workers.ForEachShard(rows, row_ns, [&](int64_t row, int worker) {
      W* const sums = static_cast<W*>(scratch.of(worker));
      W* const copy = sums + width_;
      W* const results = sums + elements - out_width_;  // Where the output is of a narrow type.
      const PoolRow place = RowOf(g_, row);
      CombineRows(place, sums, copy);
      const int64_t count = place.spans[0].size() * place.spans[1].size();
      CombineColumns(sums, count, writer_.Place(row * out_width_, results));
      writer_.Finish(row * out_width_, out_width_, results);
      return absl::OkStatus();
    });
  }

 private:
  using Op = std::conditional_t<kIsMean, PoolSum, PoolMaximum>;

  void CombineRows(const PoolRow& place, W* sums, W* copy) const {
    bool is_first = true;
    for (int64_t i = place.spans[0].begin; i < place.spans[0].end; ++i) {
      for (int64_t k = place.spans[1].begin; k < place.spans[1].end; ++k) {
        const int64_t row = (place.image * g_.axes[0].in + i) * g_.axes[1].in + k;
        const W* const x = reader_.Read(row * width_, width_, copy);
        if (is_first) {
          for (int64_t c = 0; c < width_; ++c) sums[c] = Op::Combine(start_, x[c]);
        } else {
          for (int64_t c = 0; c < width_; ++c) sums[c] = Op::Combine(sums[c], x[c]);
        }
        is_first = false;
      }
    }
    if (is_first) std::fill_n(sums, width_, start_);
  }

  void CombineColumns(const W* sums, int64_t rows, W* out) const {
    const int64_t channels = g_.channels;
    for (int64_t o = 0; o < g_.axes[2].out; ++o, out += channels) {
      const PoolSpan span = g_.axes[2].SpanOf(o);
      if (width_ == 0 || span.begin >= span.end) {
        std::fill_n(out, channels, start_);
        continue;
      }
      std::copy_n(sums + span.begin * channels, channels, out);
      for (int64_t i = span.begin + 1; i < span.end; ++i) {
        const W* const x = sums + i * channels;
        for (int64_t c = 0; c < channels; ++c) out[c] = Op::Combine(out[c], x[c]);
      }
      if constexpr (kIsMean) {
        const W count = static_cast<W>(rows * span.size());
        for (int64_t c = 0; c < channels; ++c) out[c] /= count;
      }
    }
  }

  const PoolGeometry& g_;
  const WideReader<W> reader_;
  const WideWriter<W> writer_;
  const W start_;
  const int64_t width_;  // Of a row of the image; 0 where the image has no pixel.
  const int64_t out_width_;
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_POOL_POOL_ROWS_H_
