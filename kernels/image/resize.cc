// ResizeBilinear, ResizeBicubic, ResizeArea: floats from images of any real dtype. Each row of the result is made by
// one thread, from rows of the image that are mixed first along x and then along y, or the other way round, in the
// order of TensorFlow's additions.

#include <algorithm>
#include <cstring>
#include <memory>

#include "graph/base/status_macros.h"
#include "kernels/image/axis_taps.h"
#include "kernels/image/families.h"
#include "kernels/image/float_rows.h"
#include "kernels/image/resize_geometry.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/new_kernel.h"
#include "kernels/row_work.h"
#include "kernels/temp_array.h"
#include "kernels/worker_scratch.h"

namespace sluice {
namespace {

// Nanoseconds for an element and a tap, for the cut into shards.
constexpr double kTapNs = 0.3;

// One call: what all ways to resize need.
struct ResizeCall {
  KernelContext& context;
  const ResizeGeometry& geometry;
  const FloatRows images;
  float* const output;
  ScratchKeeper* const keeper;

  float* output_row(int64_t i) const { return output + i * geometry.resized_width(); }
  // Row `i` of all rows of the images.
  const float* original_row(int64_t i, float* scratch) const {
    return images.Get(i * geometry.original_width(), geometry.original_width(), scratch);
  }
  // Floats of scratch that original_row needs.
  int64_t row_floats() const { return images.is_direct() ? 0 : geometry.original_width(); }
};

// Images of the size that is wanted: only the dtype changes.
absl::Status CopyAll(const ResizeCall& call) {
  const RowWork work{call.geometry.original_rows(), static_cast<double>(call.geometry.original_width()) * kTapNs, 0};
  return ForEachRowRange(call.context, work, call.keeper, [&call](int64_t begin, int64_t end, float*) {
    const int64_t width = call.geometry.original_width();
    for (int64_t i = begin; i < end; ++i) {
      float* const to = call.output_row(i);
      const float* const from = call.original_row(i, to);
      if (from != to) std::memcpy(to, from, static_cast<size_t>(width) * sizeof(float));
    }
  });
}

// --- Bilinear ------------------------------------------------------------------------------------------------------

// `kChannels` is 0 where their number is known at run time only.
template <int kChannels>
void LerpColumnsOf(const TempArray<Lerp>& table, const float* row, int64_t channels, float* out) {
  if constexpr (kChannels > 0) channels = kChannels;
  const Lerp* const lerps = table.data();
  const int64_t size = table.size();
  for (int64_t i = 0; i < size; ++i, out += channels) {
    const float* const lower = row + lerps[i].lower * channels;
    const float* const upper = row + lerps[i].upper * channels;
    const float weight = lerps[i].weight;
    for (int64_t c = 0; c < channels; ++c) out[c] = lower[c] + (upper[c] - lower[c]) * weight;
  }
}

void LerpColumns(const TempArray<Lerp>& table, const float* row, int64_t channels, float* out) {
  switch (channels) {
    case 1:
      return LerpColumnsOf<1>(table, row, channels, out);
    case 3:
      return LerpColumnsOf<3>(table, row, channels, out);
    case 4:
      return LerpColumnsOf<4>(table, row, channels, out);
    default:
      return LerpColumnsOf<0>(table, row, channels, out);
  }
}

// The last two rows of the images that were mixed along x.
class LerpedRows {
 public:
  LerpedRows(const ResizeCall& call, const TempArray<Lerp>& columns, float* scratch)
      : call_(call), columns_(columns), scratch_(scratch) {}

  const float* Get(int64_t i) {
    const int slot = static_cast<int>(i & 1);
    float* const row = scratch_ + call_.row_floats() + slot * call_.geometry.resized_width();
    if (held_[slot] == i) return row;
    LerpColumns(columns_, call_.original_row(i, scratch_), call_.geometry.channels, row);
    held_[slot] = i;
    return row;
  }

 private:
  const ResizeCall& call_;
  const TempArray<Lerp>& columns_;
  float* const scratch_;
  int64_t held_[2] = {-1, -1};
};

absl::Status Bilinear(const ResizeCall& call) {
  const ResizeGeometry& geometry = call.geometry;
  SLUICE_ASSIGN_OR_RETURN(TempArray<Lerp> columns, TempArray<Lerp>::Make(call.context, geometry.x.resized));
  for (int64_t i = 0; i < columns.size(); ++i) columns[i] = LerpAt(geometry.x, i);
  const int64_t width = geometry.resized_width();
  const RowWork work{geometry.resized_rows(), 4 * kTapNs * static_cast<double>(width), call.row_floats() + 2 * width};
  return ForEachRowRange(call.context, work, call.keeper, [&](int64_t begin, int64_t end, float* scratch) {
    LerpedRows rows(call, columns, scratch);
    for (int64_t i = begin; i < end; ++i) {
      const Lerp lerp = LerpAt(geometry.y, i % geometry.y.resized);
      const int64_t first = i / geometry.y.resized * geometry.y.original;
      const float* const top = rows.Get(first + lerp.lower);
      const float* const bottom = rows.Get(first + lerp.upper);
      float* const out = call.output_row(i);
      for (int64_t k = 0; k < width; ++k) out[k] = top[k] + (bottom[k] - top[k]) * lerp.weight;
    }
  });
}

// --- Bicubic -------------------------------------------------------------------------------------------------------

absl::Status Bicubic(const ResizeCall& call) {
  const ResizeGeometry& geometry = call.geometry;
  SLUICE_ASSIGN_OR_RETURN(const AxisTaps rows, AxisTaps::Bicubic(call.context, geometry.y));
  SLUICE_ASSIGN_OR_RETURN(const AxisTaps columns, AxisTaps::Bicubic(call.context, geometry.x));
  const int64_t width = geometry.original_width();
  const double row_ns = 4 * kTapNs * static_cast<double>(width + geometry.resized_width());
  const RowWork work{geometry.resized_rows(), row_ns, call.row_floats() + width};
  return ForEachRowRange(call.context, work, call.keeper, [&](int64_t begin, int64_t end, float* scratch) {
    float* const mixed = scratch + call.row_floats();
    for (int64_t i = begin; i < end; ++i) {
      const int64_t y = i % geometry.y.resized;
      const int64_t first = i / geometry.y.resized * geometry.y.original;
      for (int64_t k = rows.begins()[y]; k < rows.begins()[y + 1]; ++k) {
        const AxisTaps::Tap& tap = rows.taps()[k];
        MixRow(call.original_row(first + tap.index, scratch), tap.weight, width, k > rows.begins()[y], mixed);
      }
      MixColumns(columns, mixed, geometry.channels, call.output_row(i));
    }
  });
}

// --- Area ----------------------------------------------------------------------------------------------------------

absl::Status Area(const ResizeCall& call) {
  const ResizeGeometry& geometry = call.geometry;
  SLUICE_ASSIGN_OR_RETURN(const AxisTaps rows, AxisTaps::Area(call.context, geometry.y));
  SLUICE_ASSIGN_OR_RETURN(const AxisTaps columns, AxisTaps::Area(call.context, geometry.x));
  const float part = 1.0f / (geometry.y.scale * geometry.x.scale);
  const int64_t width = geometry.resized_width();
  const double taps_per_row = static_cast<double>(rows.num_taps()) / static_cast<double>(geometry.y.resized);
  const double row_ns = kTapNs * static_cast<double>(columns.num_taps() * geometry.channels + width) * taps_per_row;
  const RowWork work{geometry.resized_rows(), row_ns, call.row_floats() + width};
  return ForEachRowRange(call.context, work, call.keeper, [&](int64_t begin, int64_t end, float* scratch) {
    float* const mixed = scratch + call.row_floats();
    int64_t held = -1;  // The row of the images in `mixed`: neighbours share those that lie on their border.
    for (int64_t i = begin; i < end; ++i) {
      const int64_t y = i % geometry.y.resized;
      const int64_t first = i / geometry.y.resized * geometry.y.original;
      float* const out = call.output_row(i);
      for (int64_t k = rows.begins()[y]; k < rows.begins()[y + 1]; ++k) {
        const AxisTaps::Tap& tap = rows.taps()[k];
        if (held != first + tap.index) {
          held = first + tap.index;
          MixColumns(columns, call.original_row(held, scratch), geometry.channels, mixed);
        }
        MixRow(mixed, tap.weight, width, k > rows.begins()[y], out);
      }
      for (int64_t k = 0; k < width; ++k) out[k] *= part;
    }
  });
}

// --- Kernels -------------------------------------------------------------------------------------------------------

// Resizes the images in input 0 to the size in input 1 by `kResize`.
template <absl::Status (*kResize)(const ResizeCall& call)>
class ResizeKernel final : public Kernel {
 public:
  explicit ResizeKernel(const ResizeForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const ResizeGeometry geometry, ResolveResize(context, form_));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, geometry.resized));
    if (output->num_elements() == 0) return absl::OkStatus();
    const ResizeCall call{context, geometry, FloatRows(context.input(0)), output->flat<float>().data(), &scratch_};
    const bool is_same_size = geometry.y.original == geometry.y.resized && geometry.x.original == geometry.x.resized;
    return is_same_size && kResize == &Bilinear ? CopyAll(call) : kResize(call);
  }

 private:
  const ResizeForm form_;
  mutable ScratchKeeper scratch_;
};

template <absl::Status (*kResize)(const ResizeCall& call)>
constexpr KernelRow Row(absl::string_view op) {
  return KernelRow(op, &NewWith<ResizeKernel<kResize>, &ResizeForm::Read>).Types("T", kPixelTypes).HostInput("size");
}

constexpr KernelRow kRows[] = {
    Row<&Bilinear>("ResizeBilinear"),
    Row<&Bicubic>("ResizeBicubic"),
    Row<&Area>("ResizeArea"),
};

}  // namespace

absl::Span<const KernelRow> ResizeKernels() { return kRows; }

}  // namespace sluice
