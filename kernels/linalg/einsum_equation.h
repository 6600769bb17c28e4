#ifndef SLUICE_KERNELS_LINALG_EINSUM_EQUATION_H_
#define SLUICE_KERNELS_LINALG_EINSUM_EQUATION_H_

#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace sluice {

// The attr 'equation' of Einsum: a label for each axis of each input and of the output. A value type.
struct EinsumEquation {
  using Labels = std::vector<int>;
  // The axes that "..." stands for, before they are known.
  static constexpr int kEllipsis = -1;
  // Those axes by themselves: the last is kFirstHidden, the one before it kFirstHidden + 1, ...
  static constexpr int kFirstHidden = 128;

  std::vector<Labels> inputs;
  Labels output;

  // kOpAttr unless it is an equation of `num_inputs` inputs.
  static absl::StatusOr<EinsumEquation> Parse(absl::string_view text, int num_inputs);
  // `labels` with "..." replaced by `count` hidden axes.
  static Labels Expand(absl::Span<const int> labels, int count);
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_LINALG_EINSUM_EQUATION_H_
