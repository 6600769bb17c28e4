#include <atomic>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/device/task_runner.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Cuts all work into seven parts of different sizes, the last first.
class SevenParts : public TaskRunner {
 public:
  void Schedule(absl::AnyInvocable<void()> task) override { task(); }
  int num_threads() const override { return 7; }
  void ParallelFor(int64_t total, double, bool, absl::FunctionRef<void(int64_t, int64_t)> work) override {
    ++calls;
    for (int64_t part = 7; part-- > 0;) work(total * part * part / 49, total * (part + 1) * (part + 1) / 49);
  }
  int calls = 0;
};

Tensor Ramp(std::initializer_list<int64_t> dims) {
  const Shape shape = Shape::Of(dims);
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 1009) * 0.01f - 3.0f;
  return Tensor::Of<float>(shape, values);
}

// Expects the same bits from one part and from seven.
void ExpectSameInParts(const char* op, std::vector<Tensor> inputs) {
  SevenParts parts;
  KernelRunner cut(op);
  cut.run().task_runner = &parts;
  const absl::StatusOr<Tensor> whole = KernelRunner(op).Run1(inputs);
  const absl::StatusOr<Tensor> joined = cut.Run1(inputs);
  ASSERT_OK(whole);
  ASSERT_OK(joined);
  EXPECT_EQ(parts.calls, 1) << op;
  EXPECT_TRUE(whole->bytes() == joined->bytes()) << op;
}

TEST(ShardingTest, PartsGiveTheSameBits) {
  const Tensor large = Ramp({40, 5000});
  for (const char* op : {"Tanh", "Exp", "Sigmoid", "Erf", "Softplus", "Softmax", "LogSoftmax", "Sin"}) {
    ExpectSameInParts(op, {large});
  }
  ExpectSameInParts("AddV2", {large, Ramp({5000})});
  ExpectSameInParts("Mul", {Ramp({40, 1}), large});
  ExpectSameInParts("Less", {large, Tensor::Scalar(0.5f)});
  ExpectSameInParts("SelectV2",
                    {KernelRunner("Less").Run1({large, Tensor::Scalar(0.5f)}).value(), large, Ramp({40, 1})});
  ExpectSameInParts("AddN", {large, large, large});
}

TEST(ShardingTest, AFailureInOnePartFailsTheOp) {
  SevenParts parts;
  std::vector<int32_t> divisors(200000, 3);
  divisors[150000] = 0;
  KernelRunner runner("FloorDiv");
  runner.run().task_runner = &parts;
  const absl::StatusOr<Tensor> y = runner.Run1({Tensor::Scalar<int32_t>(7), Tensor::Vector<int32_t>(divisors)});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(parts.calls, 1);
}

}  // namespace
}  // namespace sluice
