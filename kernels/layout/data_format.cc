// Axes of one data format (NHWC) as those of another (NCHW): DataFormatDimMap, DataFormatVecPermute.

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"
#include "kernels/kernel.h"
#include "kernels/kernel_construction.h"
#include "kernels/layout/families.h"
#include "kernels/new_kernel.h"

namespace sluice {
namespace {

// For each axis of a format the place that it has in the other.
using Places = std::vector<int64_t>;

// Both formats, of 4 or 5 axes each.
struct Formats {
  std::string from, to;
};

absl::StatusOr<Formats> ReadFormats(const KernelConstruction& construction) {
  Formats formats;
  SLUICE_ASSIGN_OR_RETURN(formats.from, construction.Get<std::string>("src_format"));
  SLUICE_ASSIGN_OR_RETURN(formats.to, construction.Get<std::string>("dst_format"));
  const auto fits = [](const std::string& format) { return format.size() == 4 || format.size() == 5; };
  if (!fits(formats.from) || !fits(formats.to)) {
    return AttrError(fits(formats.from) ? "dst_format" : "src_format", fits(formats.from) ? formats.to : formats.from,
                     "4 or 5 axes");
  }
  return formats;
}

// Those of `from` in `to`. False where not all axes are found once.
bool FindPlaces(const std::string& from, const std::string& to, Places* places) {
  if (from.size() != to.size()) return false;
  for (const char axis : from) {
    const size_t at = to.find(axis);
    if (at == std::string::npos || from.find(axis) != from.rfind(axis)) return false;
    places->push_back(static_cast<int64_t>(at));
  }
  return true;
}

absl::Status NotAlike(const Formats& formats) {
  return AttrError("dst_format", formats.to, absl::StrCat("the axes of ", formats.from, " in another order"));
}

// Numbers of axes: where the axis is in the other format. They are counted round and round, as in
// TensorFlow, from either end.
class DimMapKernel : public Kernel {
 public:
  explicit DimMapKernel(Places places) : places_(std::move(places)) {}

  static absl::StatusOr<std::unique_ptr<Kernel>> Make(const KernelConstruction& construction) {
    SLUICE_ASSIGN_OR_RETURN(const Formats formats, ReadFormats(construction));
    Places places;
    if (!FindPlaces(formats.from, formats.to, &places)) return NotAlike(formats);
    return std::make_unique<DimMapKernel>(std::move(places));
  }

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& axes = context.input(0);
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, axes.shape()));
    const int64_t rank = static_cast<int64_t>(places_.size());
    for (int64_t i = 0; i < axes.num_elements(); ++i) {
      const int64_t axis = IndexAt(axes, i);
      const int64_t place = places_[static_cast<size_t>((axis % rank + rank) % rank)];
      SetIndexAt(*out, i, place);
    }
    return absl::OkStatus();
  }

 private:
  const Places places_;
};

// Reorders one entry per axis (sizes, or pairs such as paddings) to the other format: for all axes, or for the spatial
// ones only.
class VecPermuteKernel : public Kernel {
 public:
  explicit VecPermuteKernel(Formats formats) : formats_(std::move(formats)) {}

  absl::Status Compute(KernelContext& context) const override {
    const Tensor& input = context.input(0);
    const int64_t all = static_cast<int64_t>(formats_.from.size());
    const bool has_rank = input.rank() == 1 || (input.rank() == 2 && input.dim(1) == 2);
    if (!has_rank || (input.dim(0) != all && input.dim(0) != all - 2)) {
      return ShapeError(0, "x", input.shape(), absl::StrCat("[n] or [n,2], n = ", all - 2, " or ", all));
    }
    Places places;
    const bool is_all = input.dim(0) == all;
    if (!FindPlaces(is_all ? formats_.from : Inner(formats_.from), is_all ? formats_.to : Inner(formats_.to),
                    &places) ||
        static_cast<int64_t>(places.size()) != input.dim(0)) {
      return NotAlike(formats_);
    }
    SLUICE_ASSIGN_OR_RETURN(Tensor* const out, context.AllocateOutput(0, input.shape()));
    const size_t each = input.total_bytes() / static_cast<size_t>(input.dim(0));
    const char* const from = static_cast<const char*>(input.raw_data());
    char* const to = static_cast<char*>(out->mutable_raw_data());
    for (size_t i = 0; i < places.size(); ++i) {
      std::memcpy(to + static_cast<size_t>(places[i]) * each, from + i * each, each);
    }
    return absl::OkStatus();
  }

 private:
  static std::string Inner(const std::string& format) {
    std::string inner;
    for (const char axis : format) {
      if (axis != 'N' && axis != 'C') inner.push_back(axis);
    }
    return inner;
  }

  const Formats formats_;
};

constexpr KernelRow kRows[] = {
    KernelRow("DataFormatDimMap", &New<DimMapKernel>).Types("T", kIndexTypes),
    KernelRow("DataFormatVecPermute", &NewWith<VecPermuteKernel, &ReadFormats>).Types("T", kIndexTypes),
};

}  // namespace

absl::Span<const KernelRow> DataFormatKernels() { return kRows; }

}  // namespace sluice
