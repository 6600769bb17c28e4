#ifndef SLUICE_TESTS_KERNELS_POOL_NUMBER_TENSORS_H_
#define SLUICE_TESTS_KERNELS_POOL_NUMBER_TENSORS_H_

// Tensors of any real dtype from lists of doubles, and back: tests compute their expectations in double.

#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "graph/value/dtype.h"
#include "graph/value/shape.h"
#include "graph/value/tensor.h"
#include "gtest/gtest.h"
#include "kernels/dispatch.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {

using Sizes = std::vector<int64_t>;
using Doubles = std::vector<double>;

inline int64_t CountOf(const Sizes& sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

inline Tensor NumberTensor(DType dtype, const Sizes& sizes, const Doubles& values) {
  Tensor tensor = Tensor::Make(dtype, Shape::Make(sizes).value()).value();
  DispatchDType<RealCppTypes>(dtype, [&](auto type) {
    using T = typename decltype(type)::Type;
    const absl::Span<T> to = tensor.flat<T>();
    for (size_t i = 0; i < to.size(); ++i) {
      if constexpr (std::is_class_v<T>) {
        to[i] = T(static_cast<float>(values[i]));
      } else {
        to[i] = static_cast<T>(values[i]);
      }
    }
  });
  return tensor;
}

inline Doubles NumbersOf(const Tensor& tensor) {
  Doubles numbers;
  DispatchDType<RealCppTypes>(tensor.dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    for (const T value : tensor.flat<T>()) {
      if constexpr (std::is_class_v<T>) {
        numbers.push_back(static_cast<double>(static_cast<float>(value)));
      } else {
        numbers.push_back(static_cast<double>(value));
      }
    }
  });
  return numbers;
}

// Whole numbers from 0 to modulus - 1, less `shift`, in no order: many are equal.
inline Doubles Scrambled(int64_t count, int64_t modulus, double shift = 0) {
  Doubles values;
  for (int64_t i = 0; i < count; ++i) values.push_back(static_cast<double>((i * 37 + i / 7 * 11) % modulus) - shift);
  return values;
}

// The bytes of all outputs of `runner` with `num_threads` threads; 0: without a task runner. Empty after a failure.
inline std::vector<std::string> OutputBytes(KernelRunner runner, const std::vector<Tensor>& inputs, int num_threads,
                                            bool movable = false) {
  ThreadPoolOptions options;
  options.num_threads = num_threads;
  std::unique_ptr<ThreadPool> pool;
  if (num_threads > 0) pool = std::make_unique<ThreadPool>(options);
  runner.run().task_runner = pool.get();
  std::vector<Tensor> given;
  for (const Tensor& input : inputs) given.push_back(input.DeepCopy().value());
  const absl::StatusOr<std::vector<Tensor>> outputs = runner.Run(std::move(given), movable);
  EXPECT_OK(outputs);
  std::vector<std::string> bytes;
  if (!outputs.ok()) return bytes;
  for (const Tensor& output : *outputs) bytes.emplace_back(output.bytes());
  return bytes;
}

// However many threads there are, and whether inputs are handed over or not: the same bits. Runs `make()` anew.
template <typename MakeRunner>
void ExpectSameBitsInAllWays(const MakeRunner& make, const std::vector<Tensor>& inputs) {
  const std::vector<std::string> alone = OutputBytes(make(), inputs, 0);
  ASSERT_FALSE(alone.empty());
  EXPECT_EQ(OutputBytes(make(), inputs, 0, /*movable=*/true), alone);
  for (const int num_threads : {1, 2, 8}) {
    EXPECT_EQ(OutputBytes(make(), inputs, num_threads), alone) << num_threads;
    EXPECT_EQ(OutputBytes(make(), inputs, num_threads, /*movable=*/true), alone) << num_threads;
  }
}

}  // namespace sluice

#endif  // SLUICE_TESTS_KERNELS_POOL_NUMBER_TENSORS_H_
