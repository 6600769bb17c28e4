#include "kernels/array/diagonal_band.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "kernels/array/index_values.h"
#include "kernels/input_error.h"

namespace sluice {

int64_t DiagonalBand::Length(int64_t d) const {
  return std::max<int64_t>(std::min(rows + std::min<int64_t>(d, 0), columns - std::max<int64_t>(d, 0)), 0);
}

int64_t DiagonalBand::MaxLength() const {
  return std::max<int64_t>(std::min(rows + std::min<int64_t>(upper, 0), columns - std::max<int64_t>(lower, 0)), 0);
}

int64_t DiagonalBand::Start(int64_t d) const {
  const bool is_left = (d >= 0 && above_is_left) || (d <= 0 && below_is_left);
  return is_left ? 0 : MaxLength() - Length(d);
}

absl::Status ReadDiagonals(const KernelContext& context, int input, DiagonalBand* band) {
  const Tensor& k = context.input(input);
  if (k.rank() > 1 || k.num_elements() < 1 || k.num_elements() > 2) {
    return ShapeError(input, "k", k.shape(), "a scalar or a vector of one or two");
  }
  band->lower = IndexAt(k, 0);
  band->upper = IndexAt(k, k.num_elements() - 1);
  if (band->lower > band->upper) {
    return ValueError(input, "k", absl::StrCat(band->lower, " to ", band->upper), "the lower diagonal first");
  }
  return absl::OkStatus();
}

absl::Status CheckInside(const DiagonalBand& band, int input) {
  for (const int64_t d : {band.lower, band.upper}) {
    if (d == 0 || (d > -band.rows && d < band.columns)) continue;
    return ValueError(input, "k", absl::StrCat("diagonal ", d),
                      absl::StrCat("one of a matrix of ", band.rows, " x ", band.columns));
  }
  return absl::OkStatus();
}

void SetAlignment(absl::string_view align, DiagonalBand* band) {
  band->above_is_left = absl::StartsWith(align, "LEFT_");
  band->below_is_left = absl::EndsWith(align, "_LEFT");
}

}  // namespace sluice
