#ifndef SLUICE_TESTS_KERNELS_RANDOM_RANDOM_CALL_H_
#define SLUICE_TESTS_KERNELS_RANDOM_RANDOM_CALL_H_

// The kernel of one random op, for several calls, and what it gives as a number that is easy to compare.

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "kernels/device/cpu_device.h"
#include "kernels/resources/resource_manager.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {

// FNV-1a of all bytes of a tensor of plain elements.
inline uint64_t HashOf(const Tensor& tensor) {
  uint64_t hash = 0xcbf29ce484222325;
  const auto* const bytes = static_cast<const uint8_t*>(tensor.raw_data());
  for (size_t i = 0; i < tensor.total_bytes(); ++i) hash = (hash ^ bytes[i]) * 0x100000001b3;
  return hash;
}

// One node. Not thread-safe.
class RandomNode {
 public:
  RandomNode(const std::string& op, const PreparedKernel::Attrs& attrs, const std::vector<Tensor>& inputs)
      : inputs_(inputs) {
    std::vector<DType> types;
    for (const Tensor& input : inputs) types.push_back(input.dtype());
    absl::StatusOr<std::unique_ptr<PreparedKernel>> made = PreparedKernel::Make(op, attrs, types, &device_);
    status_ = made.status();
    if (made.ok()) kernel_ = *std::move(made);
  }

  // The outputs of the next call, or why the kernel could not be made or run.
  absl::StatusOr<std::vector<Tensor>> RunAll(int num_threads = 1) {
    if (!status_.ok()) return status_;
    ThreadPoolOptions options;
    options.num_threads = num_threads;
    ThreadPool pool(options);
    RunContext run;
    run.device = &device_;
    run.resources = &resources_;
    run.task_runner = num_threads > 1 ? &pool : nullptr;
    return kernel_->Run(run, std::vector<KernelInput>(inputs_.begin(), inputs_.end()), /*movable=*/false);
  }
  // The only output.
  absl::StatusOr<Tensor> Run(int num_threads = 1) {
    absl::StatusOr<std::vector<Tensor>> all = RunAll(num_threads);
    if (!all.ok()) return all.status();
    return (*all)[0];
  }
  absl::StatusCode Code() { return RunAll().status().code(); }

 private:
  CpuDevice device_{"/job:localhost/replica:0/task:0/device:CPU:0", 1};
  ResourceManager resources_;
  const std::vector<Tensor> inputs_;
  absl::Status status_;
  std::unique_ptr<PreparedKernel> kernel_;
};

// Numbers as a tensor of dtype `dtype`, a vector, or a scalar for one in `scalar`.
inline Tensor NumbersAs(DType dtype, const std::vector<double>& numbers) {
  const absl::StatusOr<Tensor> made = Tensor::Make(dtype, Shape::Of({static_cast<int64_t>(numbers.size())}));
  EXPECT_OK(made);
  Tensor tensor = *made;
  for (size_t i = 0; i < numbers.size(); ++i) {
    switch (dtype) {
      case DType::kFloat:
        tensor.flat<float>()[i] = static_cast<float>(numbers[i]);
        break;
      case DType::kHalf:
        tensor.flat<Half>()[i] = Half(static_cast<float>(numbers[i]));
        break;
      case DType::kBFloat16:
        tensor.flat<BFloat16>()[i] = BFloat16(static_cast<float>(numbers[i]));
        break;
      case DType::kInt32:
        tensor.flat<int32_t>()[i] = static_cast<int32_t>(numbers[i]);
        break;
      case DType::kInt64:
        tensor.flat<int64_t>()[i] = static_cast<int64_t>(numbers[i]);
        break;
      default:
        tensor.flat<double>()[i] = numbers[i];
    }
  }
  return tensor;
}
inline Tensor Ints(std::vector<int32_t> values) { return Tensor::Vector<int32_t>(values); }
inline Tensor Longs(std::vector<int64_t> values) { return Tensor::Vector<int64_t>(values); }

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_RANDOM_RANDOM_CALL_H_
