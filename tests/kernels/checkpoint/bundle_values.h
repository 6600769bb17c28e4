#ifndef SLUICE_TESTS_KERNELS_CHECKPOINT_BUNDLE_VALUES_H_
#define SLUICE_TESTS_KERNELS_CHECKPOINT_BUNDLE_VALUES_H_

// Checkpoints as maps of names to values, for tests.

#include <map>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "graph/value/tensor.h"

namespace sluice {

using BundleValues = std::map<std::string, Tensor>;

absl::Status WriteBundle(const std::string& prefix, const BundleValues& values);

// All tensors of the checkpoint, whole.
absl::StatusOr<BundleValues> ReadBundle(const std::string& prefix);

// Whether both are of one dtype and shape, with the same bits or the same strings.
bool AreEqual(const Tensor& a, const Tensor& b);

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_CHECKPOINT_BUNDLE_VALUES_H_
