// ResizeNearestNeighbor and its gradient: pixels are copied, or added up.

#include <algorithm>
#include <cstring>
#include <memory>

#include "graph/base/status_macros.h"
#include "kernels/dispatch.h"
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

// Nanoseconds to move a byte, and to add an element.
constexpr double kByteNs = 0.1;
constexpr double kAddNs = 0.5;

// The pixel of the original for each one of a resized axis. They ascend.
absl::StatusOr<TempArray<int64_t>> NearestOf(KernelContext& context, const ResizeAxis& axis, bool align_corners) {
  SLUICE_ASSIGN_OR_RETURN(TempArray<int64_t> table, TempArray<int64_t>::Make(context, axis.resized));
  for (int64_t i = 0; i < axis.resized; ++i) table[i] = axis.Nearest(i, align_corners);
  return table;
}

// Copies pixels of `kBytes` bytes, or of `bytes` where it is 0.
template <size_t kBytes>
void CopyPixels(const char* row, const TempArray<int64_t>& columns, size_t bytes, char* out) {
  const int64_t* const from = columns.data();
  if constexpr (kBytes > 0) bytes = kBytes;
  for (int64_t i = 0; i < columns.size(); ++i, out += bytes) {
    std::memcpy(out, row + static_cast<size_t>(from[i]) * bytes, bytes);
  }
}

using PixelCopy = void (*)(const char* row, const TempArray<int64_t>& columns, size_t bytes, char* out);
PixelCopy CopyFor(size_t bytes) {
  switch (bytes) {
    case 1:
      return &CopyPixels<1>;
    case 3:
      return &CopyPixels<3>;
    case 4:
      return &CopyPixels<4>;
    case 12:
      return &CopyPixels<12>;
    case 16:
      return &CopyPixels<16>;
    default:
      return &CopyPixels<0>;
  }
}

// Copies pixels: elements are moved, whatever they are.
class ResizeNearestNeighborKernel final : public Kernel {
 public:
  explicit ResizeNearestNeighborKernel(const ResizeForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    SLUICE_ASSIGN_OR_RETURN(const ResizeGeometry geometry, ResolveResize(context, form_));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, geometry.resized));
    if (output->num_elements() == 0) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(const TempArray<int64_t> columns, NearestOf(context, geometry.x, form_.align_corners));
    const char* const from = static_cast<const char*>(context.input(0).raw_data());
    char* const to = static_cast<char*>(output->mutable_raw_data());
    const size_t element = DTypeSize(output->dtype());
    const size_t pixel = static_cast<size_t>(geometry.channels) * element;
    const size_t original_bytes = static_cast<size_t>(geometry.original_width()) * element;
    const size_t resized_bytes = static_cast<size_t>(geometry.resized_width()) * element;
    const PixelCopy copy = CopyFor(pixel);
    const RowWork work{geometry.resized_rows(), kByteNs * static_cast<double>(resized_bytes), 0};
    return ForEachRowRange(context, work, nullptr, [&](int64_t begin, int64_t end, float*) {
      int64_t held = -1;  // The row of the images that the row before shows.
      for (int64_t i = begin; i < end; ++i) {
        const int64_t y = geometry.y.Nearest(i % geometry.y.resized, form_.align_corners);
        const int64_t row = i / geometry.y.resized * geometry.y.original + y;
        char* const out = to + static_cast<size_t>(i) * resized_bytes;
        if (row == held) {
          std::memcpy(out, out - resized_bytes, resized_bytes);
        } else {
          copy(from + static_cast<size_t>(row) * original_bytes, columns, pixel, out);
        }
        held = row;
      }
    });
  }

 private:
  const ResizeForm form_;
};

// --- Gradient ------------------------------------------------------------------------------------------------------

// One call of the gradient. `columns` and `rows` say where a pixel's gradient goes; `first_rows` has, for each row of
// the original images, the first row that goes there.
struct NearestGradCall {
  const ResizeGeometry& geometry;
  const Tensor& grads;
  const TempArray<int64_t>& columns;
  const TempArray<int64_t>& first_rows;
  Tensor* output;
};

// Adds a row of pixels into another.
template <typename T>
void AddPixels(const T* row, const TempArray<int64_t>& columns, int64_t channels, T* out) {
  const int64_t* const to = columns.data();
  for (int64_t i = 0; i < columns.size(); ++i, row += channels) {
    T* const pixel = out + to[i] * channels;
    for (int64_t c = 0; c < channels; ++c) pixel[c] = static_cast<T>(pixel[c] + row[c]);
  }
}

// Rows [begin, end) of the original images. T: unsigned of the elements' size for integers, which wrap around.
template <typename T>
void AddRows(const NearestGradCall& call, int64_t begin, int64_t end) {
  const ResizeGeometry& geometry = call.geometry;
  const T* const grads = static_cast<const T*>(call.grads.raw_data());
  T* const out = static_cast<T*>(call.output->mutable_raw_data());
  for (int64_t i = begin; i < end; ++i) {
    const int64_t y = i % geometry.y.original;
    const int64_t first = i / geometry.y.original * geometry.y.resized;
    T* const row = out + i * geometry.original_width();
    std::fill_n(row, geometry.original_width(), T(0));
    for (int64_t k = call.first_rows[y]; k < call.first_rows[y + 1]; ++k) {
      AddPixels(grads + (first + k) * geometry.resized_width(), call.columns, geometry.channels, row);
    }
  }
}

// The same for 16-bit floats: sums are made in float and rounded once.
void AddShortRows(const NearestGradCall& call, int64_t begin, int64_t end, float* scratch) {
  const ResizeGeometry& geometry = call.geometry;
  const FloatRows grads(call.grads);
  float* const sums = scratch + geometry.resized_width();
  for (int64_t i = begin; i < end; ++i) {
    const int64_t y = i % geometry.y.original;
    const int64_t first = i / geometry.y.original * geometry.y.resized;
    std::fill_n(sums, geometry.original_width(), 0.0f);
    for (int64_t k = call.first_rows[y]; k < call.first_rows[y + 1]; ++k) {
      const int64_t width = geometry.resized_width();
      AddPixels(grads.Get((first + k) * width, width, scratch), call.columns, geometry.channels, sums);
    }
    StoreFloats(sums, geometry.original_width(), i * geometry.original_width(), call.output);
  }
}

void AddRowsOf(const NearestGradCall& call, int64_t begin, int64_t end, float* scratch) {
  const DType dtype = call.output->dtype();
  if (kFloatTypes.Contains(dtype)) {
    if (dtype == DType::kFloat) return AddRows<float>(call, begin, end);
    if (dtype == DType::kDouble) return AddRows<double>(call, begin, end);
    return AddShortRows(call, begin, end, scratch);
  }
  if (dtype == DType::kInt32) return AddRows<uint32_t>(call, begin, end);
  AddRows<uint8_t>(call, begin, end);
}

// Adds up the gradients of the pixels that one pixel became.
class ResizeNearestNeighborGradKernel final : public Kernel {
 public:
  explicit ResizeNearestNeighborGradKernel(const ResizeForm& form) : form_(form) {}

  absl::Status Compute(KernelContext& context) const override {
    Shape original;
    SLUICE_ASSIGN_OR_RETURN(const ResizeGeometry geometry, ResolveSizedResizeGrad(context, form_, &original));
    SLUICE_ASSIGN_OR_RETURN(Tensor* const output, context.AllocateOutput(0, original));
    if (context.input(0).num_elements() == 0) {
      std::memset(output->mutable_raw_data(), 0, output->total_bytes());
      return absl::OkStatus();
    }
    if (output->num_elements() == 0) return absl::OkStatus();
    SLUICE_ASSIGN_OR_RETURN(const TempArray<int64_t> columns, NearestOf(context, geometry.x, form_.align_corners));
    SLUICE_ASSIGN_OR_RETURN(TempArray<int64_t> first_rows, TempArray<int64_t>::Make(context, geometry.y.original + 1));
    FindFirstRows(geometry.y, &first_rows);
    const NearestGradCall call{geometry, context.input(0), columns, first_rows, output};
    const double rows_each = static_cast<double>(geometry.y.resized) / static_cast<double>(geometry.y.original);
    const double row_ns = kAddNs * (static_cast<double>(geometry.resized_width()) * rows_each +
                                    static_cast<double>(geometry.original_width()));
    const bool is_short = output->dtype() == DType::kHalf || output->dtype() == DType::kBFloat16;
    const int64_t floats = is_short ? geometry.original_width() + geometry.resized_width() : 0;
    return ForEachRowRange(context, {geometry.original_rows(), row_ns, floats}, &scratch_,
                           [&](int64_t begin, int64_t end, float* scratch) { AddRowsOf(call, begin, end, scratch); });
  }

 private:
  void FindFirstRows(const ResizeAxis& axis, TempArray<int64_t>* first_rows) const {
    int64_t row = 0;
    for (int64_t i = 0; i < axis.resized; ++i) {
      const int64_t to = axis.Nearest(i, form_.align_corners);
      while (row <= to) (*first_rows)[row++] = i;
    }
    while (row <= axis.original) (*first_rows)[row++] = axis.resized;
  }

  const ResizeForm form_;
  mutable ScratchKeeper scratch_;
};

constexpr KernelRow kRows[] = {
    KernelRow("ResizeNearestNeighbor", &NewWith<ResizeNearestNeighborKernel, &ResizeForm::Read>)
        .Types("T", kPixelTypes)
        .HostInput("size"),
    KernelRow("ResizeNearestNeighborGrad", &NewWith<ResizeNearestNeighborGradKernel, &ResizeForm::Read>)
        .Types("T", kFloatTypes | DTypeSet{DType::kInt8, DType::kUInt8, DType::kInt32})
        .HostInput("size"),
};

}  // namespace

absl::Span<const KernelRow> ResizeNearestKernels() { return kRows; }

}  // namespace sluice
