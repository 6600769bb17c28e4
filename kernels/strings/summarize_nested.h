#ifndef SLUICE_KERNELS_STRINGS_SUMMARIZE_NESTED_H_
#define SLUICE_KERNELS_STRINGS_SUMMARIZE_NESTED_H_

#include <cstdint>
#include <string>

#include "graph/value/tensor.h"

namespace sluice {

// The elements as StringFormat shows them: each dimension in brackets, strings in quotes, of more than
// 2 * `edge` entries of a dimension the first and the last `edge` with "..." between. All where `edge` is negative.
std::string SummarizeNested(const Tensor& tensor, int64_t edge);

}  // namespace sluice

#endif  // SLUICE_KERNELS_STRINGS_SUMMARIZE_NESTED_H_
