#ifndef SLUICE_KERNELS_CONTROL_SUMMARIZE_H_
#define SLUICE_KERNELS_CONTROL_SUMMARIZE_H_

#include <cstdint>
#include <string>

#include "graph/value/tensor.h"

namespace sluice {

// The first `max_elements` elements as Assert and Print show them, the outermost brackets left out: "1.5 2 3...",
// "[1 2][3...]...". All of them when `max_elements` is negative. Numbers in as few digits as give them back.
std::string SummarizeElements(const Tensor& tensor, int64_t max_elements);
// Adds element `i` as it is shown there.
void AppendElement(const Tensor& tensor, int64_t i, std::string* text);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CONTROL_SUMMARIZE_H_
