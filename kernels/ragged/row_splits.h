#ifndef SLUICE_KERNELS_RAGGED_ROW_SPLITS_H_
#define SLUICE_KERNELS_RAGGED_ROW_SPLITS_H_

// Ragged tensors among the inputs of kernels: one vector of row splits for each ragged axis, the outermost first, and
// the values. Row r of an axis is rows [splits[r], splits[r + 1]) of the next one, at last of the values.

#include <cstdint>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "kernels/kernel_construction.h"
#include "kernels/kernel_context.h"

namespace sluice {

// What a check requires of splits, beyond that they ascend and stay within the rows.
enum class SplitsRule : uint8_t {
  kInside,  // Nothing.
  kAll,     // They begin with 0 and end with the last row.
};

// Whether inputs `splits`, called `name`, are row splits over the rows of input `values`. kOpShape, kOpValue.
absl::Status CheckRowSplits(const KernelContext& context, ArgRange splits, absl::string_view name, int values,
                            SplitsRule rule);

// The length of the longest row of `splits`; 0 if there are no rows. REQUIRES: they were checked.
int64_t LongestRow(const Tensor& splits);

// Elements of `tensor` in one of its rows along the first axis. REQUIRES: rank 1 or more.
int64_t ElementsOfRow(const Tensor& tensor);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RAGGED_ROW_SPLITS_H_
