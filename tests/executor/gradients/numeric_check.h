#ifndef SLUICE_TESTS_EXECUTOR_GRADIENTS_NUMERIC_CHECK_H_
#define SLUICE_TESTS_EXECUTOR_GRADIENTS_NUMERIC_CHECK_H_

#include <vector>

#include "absl/status/statusor.h"
#include "tests/executor/gradients/row_case.h"

namespace sluice {

// Facts that are known before the run.
enum class KnownBefore {
  kAll,      // Shapes are stated, and constants are constants.
  kNothing,  // Everything is fed, and shapes are unknown.
};

// How far the gradients that AddGradients gives are from differences of what a session computes: for each order, the
// largest difference of an element, relative to the largest element of the same gradient.
//
// The outputs are weighted by random numbers, which are fed as their gradients; the second order does the same with the
// gradients of the first, and differentiates by the operands and by those weights. Of complex numbers, real and
// imaginary parts are moved each for itself: a gradient has the derivatives by them as its own parts.
absl::StatusOr<std::vector<double>> NumericErrors(const RowCase& row_case, KnownBefore known);

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_GRADIENTS_NUMERIC_CHECK_H_
