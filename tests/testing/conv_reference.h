#ifndef SLUICE_TESTS_TESTING_CONV_REFERENCE_H_
#define SLUICE_TESTS_TESTING_CONV_REFERENCE_H_

// Convolutions in plain loops, for tests.

#include <cstdint>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "graph/value/tensor.h"
#include "tests/testing/kernel_runner.h"

namespace sluice {

using Ints = std::vector<int64_t>;

// One convolution of images (rank 4) or volumes (rank 5). A value type.
struct ConvCase {
  std::string name;
  Ints image, filter, strides;  // Strides and dilations of planes (volumes), rows, columns.
  std::string padding = "SAME";
  Ints paddings = {};   // As attr explicit_paddings has them.
  Ints dilations = {};  // Empty: 1.
  bool is_depthwise = false;

  int spaces() const { return static_cast<int>(image.size()) - 2; }
  Ints result() const;
  // A kernel of `op` with these attrs.
  KernelRunner Runner(const std::string& op) const;
};

// Calls `visit` for each product that the convolution sums up: the elements of image, filter and result.
void ForEachProduct(const ConvCase& conv, absl::FunctionRef<void(int64_t image, int64_t filter, int64_t result)> visit);

// -modulus/2, ... again and again, of any real dtype but the unsigned ones: sums of products are exact.
Tensor Counted(DType dtype, const Ints& dims, int modulus);
// A tensor of int32.
Tensor Sizes(const Ints& values);
// `values` as they are in `dtype`.
Tensor Rounded(DType dtype, const Ints& dims, const std::vector<double>& values);
// Not exact: fractions, so that another order of additions shows.
Tensor Fractions(const Ints& dims);
// The values of a tensor of any real dtype.
std::vector<double> AsDoubles(const Tensor& tensor);

// What the convolution of Counted(image, 7) and Counted(filter, 5) gives, and the gradients where that of the result is
// Counted(result, 9).
std::vector<double> ReferenceResult(const ConvCase& conv);
std::vector<double> ReferenceImageGradient(const ConvCase& conv);
std::vector<double> ReferenceFilterGradient(const ConvCase& conv);

}  // namespace sluice

#endif  // SLUICE_TESTS_TESTING_CONV_REFERENCE_H_
