#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "executor/threads/thread_pool.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Numbers = std::vector<double>;

template <typename T>
Numbers NumbersOf(const absl::StatusOr<Tensor>& tensor) {
  EXPECT_OK(tensor);
  Numbers numbers;
  if (!tensor.ok()) return numbers;
  for (const T value : tensor->flat<T>()) {
    if constexpr (std::is_class_v<T>) {
      numbers.push_back(static_cast<double>(static_cast<float>(value)));
    } else {
      numbers.push_back(static_cast<double>(value));
    }
  }
  return numbers;
}

Tensor Vector(std::vector<int32_t> values) { return Tensor::Vector<int32_t>(values); }

// The kernel of one node, for several calls.
class Generator {
 public:
  Generator(DType dtype, int64_t seed, int64_t seed2) {
    const PreparedKernel::Attrs attrs = {{"dtype", dtype}, {"seed", seed}, {"seed2", seed2}};
    absl::StatusOr<std::unique_ptr<PreparedKernel>> made =
        PreparedKernel::Make("RandomUniform", attrs, {DType::kInt32}, nullptr);
    EXPECT_OK(made);
    kernel_ = *std::move(made);
  }
  absl::StatusOr<Tensor> Run(std::vector<int32_t> shape, TaskRunner* threads = nullptr) const {
    RunContext run;
    run.task_runner = threads;
    absl::StatusOr<std::vector<Tensor>> values = kernel_->Run(run, {Vector(std::move(shape))}, false);
    if (!values.ok()) return values.status();
    return (*values)[0];
  }

 private:
  std::unique_ptr<PreparedKernel> kernel_;
};

// From TensorFlow 2.19: two runs of a session.
TEST(RandomUniformTest, GivesTensorFlowsNumbersCallAfterCall) {
  const Generator floats(DType::kFloat, 87654321, 12345);
  EXPECT_EQ(NumbersOf<float>(floats.Run({7})), (Numbers{0x1.594304p-1, 0x1.e32a2p-3, 0x1.a4e598p-1, 0x1.dc33c8p-2,
                                                        0x1.7bd5ap-4, 0x1.5a952p-2, 0x1.7675c8p-2}));
  EXPECT_EQ(NumbersOf<float>(floats.Run({7})), (Numbers{0x1.1b8cp-3, 0x1.f5a068p-1, 0x1.33f74p-2, 0x1.3ed5cp-5,
                                                        0x1.bc8568p-2, 0x1.90de6p-3, 0x1.decae4p-1}));
  const Generator doubles(DType::kDouble, 87654321, 12345);
  EXPECT_EQ(NumbersOf<double>(doubles.Run({5})),
            (Numbers{0x1.943077c78ca88p-2, 0x1.272cd1f770cf2p-1, 0x1.7bd5aa956a548p-1, 0x1.d9d72189256d0p-1,
                     0x1.bdb1f6a4e719cp-2}));
  EXPECT_EQ(NumbersOf<double>(doubles.Run({5})),
            (Numbers{0x1.26cc954f7c06cp-1, 0x1.1e6cd8daba000p-9, 0x1.dc08d175c3b26p-1, 0x1.a4ce0c3a190c4p-2,
                     0x1.2aff8f4e16da0p-3}));
}

TEST(RandomUniformTest, GivesTensorFlowsShortFloats) {
  const Generator halves(DType::kHalf, 1, 2);
  EXPECT_EQ(NumbersOf<Half>(halves.Run({5})), (Numbers{0x1.9ep-3, 0x1.d3p-2, 0x1.9bp-1, 0x1.ddp-2, 0x1.73p-2}));
  EXPECT_EQ(NumbersOf<Half>(halves.Run({5})), (Numbers{0x1.4ep-2, 0x1.dcp-3, 0x1.dfp-1, 0x1.26p-3, 0x1.e28p-1}));
  const Generator bfloats(DType::kBFloat16, 1, 2);
  EXPECT_EQ(NumbersOf<BFloat16>(bfloats.Run({5})), (Numbers{0x1.3cp-1, 0x1.4cp-1, 0x1.bp-2, 0x1.74p-1, 0x1.ccp-1}));
  EXPECT_EQ(NumbersOf<BFloat16>(bfloats.Run({5})), (Numbers{0x1.38p-1, 0x1.b8p-1, 0x1.fp-2, 0x1.3p-3, 0x1.14p-1}));
}

TEST(RandomUniformTest, UsesAllBitsOfTheSeeds) {
  const Generator generator(DType::kFloat, -5, int64_t{1} << 40);
  EXPECT_EQ(NumbersOf<float>(generator.Run({2, 3})),
            (Numbers{0x1.d34548p-2, 0x1.183e3p-2, 0x1.cda14p-2, 0x1.d472f8p-2, 0x1.73d68p-4, 0x1.619f7cp-1}));
}

TEST(RandomUniformTest, ThreadsChangeNothing) {
  const std::vector<int32_t> shape = {100'003};
  const Numbers alone = NumbersOf<float>(Generator(DType::kFloat, 3, 4).Run(shape));
  for (const int num_threads : {2, 8}) {
    ThreadPoolOptions options;
    options.num_threads = num_threads;
    ThreadPool pool(options);
    EXPECT_EQ(NumbersOf<float>(Generator(DType::kFloat, 3, 4).Run(shape, &pool)), alone);
  }
}

TEST(RandomUniformTest, WithoutSeedsTwoNodesDiffer) {
  EXPECT_NE(NumbersOf<float>(Generator(DType::kFloat, 0, 0).Run({4})),
            NumbersOf<float>(Generator(DType::kFloat, 0, 0).Run({4})));
}

TEST(RandomUniformTest, ACallThatGivesNothingTakesNothing) {
  const Generator generator(DType::kFloat, 87654321, 12345);
  EXPECT_TRUE(NumbersOf<float>(generator.Run({3, 0})).empty());
  EXPECT_EQ(generator.Run({-1}).status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(NumbersOf<float>(generator.Run({1})), Numbers{0x1.594304p-1});
}

// One sequence for the node, whatever signature and driver runs it.
TEST(RandomUniformTest, TwoSignaturesOfASessionContinueOneSequence) {
  GraphBuilder b(NewOpRegistry());
  const Output shape = b.Const("shape", Vector({7}));
  const Output numbers = b.Op("RandomUniform", "numbers", {shape},
                              {{"dtype", DType::kFloat}, {"seed", int64_t{87654321}}, {"seed2", int64_t{12345}}});
  b.Op("Neg", "less", {numbers});
  for (const Driver driver : {Driver::kSerial, Driver::kDataflow}) {
    SessionOptions options;
    options.driver = driver;
    ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create(options, b.graph()));
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> first, session->Run({}, {"numbers"}, {}));
    EXPECT_EQ(first[0].flat<float>()[0], 0x1.594304p-1f);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> second, session->Run({}, {"less"}, {}));
    EXPECT_EQ(second[0].flat<float>()[0], -0x1.1b8cp-3f);
    ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> third, session->Run({}, {"numbers"}, {}));
    EXPECT_NE(third[0].flat<float>()[0], first[0].flat<float>()[0]);
  }
}

}  // namespace
}  // namespace sluice
