#include <cmath>
#include <complex>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "graph/base/cancellation.h"
#include "graph/value/float16.h"
#include "gtest/gtest.h"
#include "kernels/device/task_runner.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Complex = std::complex<float>;

template <typename T>
Tensor Of(const Shape& shape, const std::vector<T>& values) {
  return Tensor::Of<T>(shape, values);
}

// 0, 1, 2, ... up to `modulus`, again and again.
Tensor Iota(const Shape& shape, int modulus = 7) {
  std::vector<float> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i) % modulus);
  return Of(shape, values);
}

template <typename T>
std::vector<T> Values(const absl::StatusOr<Tensor>& tensor) {
  EXPECT_OK(tensor);
  if (!tensor.ok()) return {};
  const absl::Span<const T> flat = tensor->flat<T>();
  return {flat.begin(), flat.end()};
}

template <typename T>
void ExpectProduct() {
  const Tensor a = Of<T>(Shape::Of({2, 2}), {T(1), T(2), T(3), T(4)});
  const Tensor b = Of<T>(Shape::Of({2, 1}), {T(5), T(6)});
  EXPECT_EQ(Values<T>(KernelRunner("MatMul").Run1({a, b})), (std::vector<T>{T(17), T(39)}));
}

TEST(MatMulTest, MultipliesFloatsIntegersAndComplexNumbers) {
  ExpectProduct<float>();
  ExpectProduct<double>();
  ExpectProduct<int32_t>();
  ExpectProduct<int64_t>();
  ExpectProduct<uint8_t>();
  ExpectProduct<uint16_t>();
  ExpectProduct<Complex>();
  ExpectProduct<std::complex<double>>();
}

TEST(MatMulTest, SumsOfHalvesAreRoundedOnce) {
  // 2048 + 1 is not a half, but 2048 + 1 + 1 is.
  const Tensor a = Of<Half>(Shape::Of({1, 3}), {Half(2048), Half(1), Half(1)});
  const Tensor b = Of<Half>(Shape::Of({3, 1}), {Half(1), Half(1), Half(1)});
  const absl::StatusOr<Tensor> y = KernelRunner("MatMul").Run1({a, b});
  ASSERT_OK(y);
  EXPECT_EQ(static_cast<float>(y->flat<Half>()[0]), 2050.0f);
}

TEST(MatMulTest, IntegersWrapAround) {
  const int32_t large = std::numeric_limits<int32_t>::max();
  const Tensor a = Of<int32_t>(Shape::Of({1, 1}), {large});
  const Tensor b = Of<int32_t>(Shape::Of({1, 1}), {2});
  EXPECT_EQ(Values<int32_t>(KernelRunner("MatMul").Run1({a, b})), (std::vector<int32_t>{-2}));
}

TEST(MatMulTest, TransposesBothInputs) {
  const Tensor a = Of<float>(Shape::Of({3, 1}), {1, 2, 3});
  const Tensor b = Of<float>(Shape::Of({2, 3}), {1, 0, 1, 0, 1, 0});
  KernelRunner runner("MatMul");
  runner.Attr("transpose_a", true).Attr("transpose_b", true);
  EXPECT_EQ(Values<float>(runner.Run1({a, b})), (std::vector<float>{4, 2}));
}

TEST(MatMulTest, PlainTransposesDoNotConjugateButAdjointsDo) {
  const Tensor a = Of<Complex>(Shape::Of({1, 1}), {{0, 1}});
  const Tensor b = Of<Complex>(Shape::Of({1, 1}), {{2, 0}});
  EXPECT_EQ(Values<Complex>(KernelRunner("MatMul").Attr("transpose_a", true).Run1({a, b}))[0], Complex(0, 2));
  EXPECT_EQ(Values<Complex>(KernelRunner("BatchMatMulV2").Attr("adj_x", true).Run1({a, b}))[0], Complex(0, -2));
}

TEST(MatMulTest, SumsOverNothingAreZero) {
  const Tensor a = Iota(Shape::Of({2, 0}));
  const Tensor b = Iota(Shape::Of({0, 3}));
  EXPECT_EQ(Values<float>(KernelRunner("MatMul").Run1({a, b})), std::vector<float>(6, 0));
  const absl::StatusOr<Tensor> none = KernelRunner("MatMul").Run1({Iota(Shape::Of({0, 4})), Iota(Shape::Of({4, 3}))});
  ASSERT_OK(none);
  EXPECT_EQ(none->shape(), Shape::Of({0, 3}));
}

TEST(MatMulTest, ZeroTimesNanIsNan) {
  const Tensor a = Of<float>(Shape::Of({1, 2}), {0, 1});
  const Tensor b = Of<float>(Shape::Of({2, 1}), {std::numeric_limits<float>::quiet_NaN(), 1});
  EXPECT_TRUE(std::isnan(Values<float>(KernelRunner("MatMul").Run1({a, b}))[0]));
}

TEST(MatMulTest, RefusesWhatIsNoProduct) {
  const auto code = [](const Shape& a, const Shape& b) {
    return KernelRunner("MatMul").Run1({Iota(a), Iota(b)}).status().code();
  };
  EXPECT_EQ(code(Shape::Of({2, 3}), Shape::Of({2, 3})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Shape::Of({3}), Shape::Of({3, 1})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Shape::Of({1, 1, 1}), Shape::Of({1, 1, 1})), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(Shape::Of({}), Shape::Of({1, 1})), absl::StatusCode::kInvalidArgument);
}

TEST(MatMulTest, RefusesResultsThatFitNoMemory) {
  const int64_t huge = int64_t{1} << 40;
  const absl::StatusOr<Tensor> y =
      KernelRunner("MatMul").Run1({Iota(Shape::Of({huge, 0})), Iota(Shape::Of({0, huge}))});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MatMulTest, ThreadsDoNotChangeDeterministicResults) {
  const Tensor a = Iota(Shape::Of({300, 700}), 11);
  const Tensor b = Iota(Shape::Of({700, 500}), 13);
  KernelRunner alone("MatMul");
  alone.run().deterministic = true;
  const std::vector<float> expected = Values<float>(alone.Run1({a, b}));
  for (const int threads : {1, 2, 8}) {
    ThreadPoolOptions options;
    options.num_threads = threads;
    ThreadPool pool(options);
    KernelRunner runner("MatMul");
    runner.run().task_runner = &pool;
    EXPECT_EQ(Values<float>(runner.Run1({a, b})), expected);
    runner.run().deterministic = true;
    EXPECT_EQ(Values<float>(runner.Run1({a, b})), expected);
  }
}

TEST(BatchMatMulTest, BroadcastsStacks) {
  // [2,1,1,2] times [3,2,1]: every pair.
  const Tensor a = Of<float>(Shape::Of({2, 1, 1, 2}), {1, 2, 3, 4});
  const Tensor b = Of<float>(Shape::Of({3, 2, 1}), {1, 0, 0, 1, 1, 1});
  const absl::StatusOr<Tensor> y = KernelRunner("BatchMatMulV2").Run1({a, b});
  EXPECT_EQ(Values<float>(y), (std::vector<float>{1, 2, 3, 3, 4, 7}));
  EXPECT_EQ(y->shape(), Shape::Of({2, 3, 1, 1}));
  EXPECT_EQ(KernelRunner("BatchMatMul").Run1({a, b}).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(MatMulTest, MatricesOnlyAreMultiplied) {
  const Tensor matrix = Iota(Shape::Of({2, 2})), stack = Iota(Shape::Of({1, 2, 2})), row = Iota(Shape::Of({2}));
  for (const Tensor& other : {stack, row}) {
    EXPECT_THAT(KernelRunner("MatMul").Run1({other, matrix}), IsError(ErrorCode::kOpShape));
    EXPECT_THAT(KernelRunner("MatMul").Run1({matrix, other}), IsError(ErrorCode::kOpShape));
  }
}

TEST(BatchMatMulTest, BroadcastsTheInnerOfTwoStacks) {
  const Tensor a = Of<int32_t>(Shape::Of({2, 2, 1, 1}), {1, 2, 3, 4});
  const Tensor b = Of<int32_t>(Shape::Of({2, 1, 1, 1}), {10, 100});
  const absl::StatusOr<Tensor> y = KernelRunner("BatchMatMulV2").Run1({a, b});
  EXPECT_EQ(Values<int32_t>(y), (std::vector<int32_t>{10, 20, 300, 400}));
}

TEST(BatchMatMulTest, EachPairOfEqualStacks) {
  const Tensor a = Of<double>(Shape::Of({2, 1, 2}), {1, 2, 3, 4});
  const Tensor b = Of<double>(Shape::Of({2, 2, 1}), {1, 1, 2, 2});
  EXPECT_EQ(Values<double>(KernelRunner("BatchMatMul").Run1({a, b})), (std::vector<double>{3, 14}));
}

TEST(BatchMatMulTest, StacksThatDoNotFitAreRefused) {
  const absl::StatusOr<Tensor> y =
      KernelRunner("BatchMatMulV2").Run1({Iota(Shape::Of({2, 3, 4})), Iota(Shape::Of({3, 4, 5}))});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
  const absl::StatusOr<Tensor> empty =
      KernelRunner("BatchMatMulV2").Run1({Iota(Shape::Of({0, 3, 4})), Iota(Shape::Of({1, 4, 5}))});
  ASSERT_OK(empty);
  EXPECT_EQ(empty->shape(), Shape::Of({0, 3, 5}));
}

TEST(BatchMatMulTest, BytesGiveIntegers) {
  const Tensor a = Of<uint8_t>(Shape::Of({1, 2}), {200, 200});
  const Tensor b = Of<int8_t>(Shape::Of({2, 1}), {-100, -100});
  KernelRunner runner("BatchMatMulV3");
  runner.Attr("Tout", DType::kInt32);
  EXPECT_EQ(Values<int32_t>(runner.Run1({a, b})), (std::vector<int32_t>{-40000}));
}

TEST(FusedMatMulTest, AddsABiasAndAppliesTheActivation) {
  const Tensor a = Of<float>(Shape::Of({1, 1}), {1});
  const Tensor b = Of<float>(Shape::Of({1, 3}), {-3, 1, 9});
  const Tensor bias = Of<float>(Shape::Of({3}), {1, 1, 1});
  const auto run = [&](std::vector<std::string> ops) {
    return Values<float>(KernelRunner("_FusedMatMul")
                             .Attr("fused_ops", AttrValue(std::move(ops)))
                             .Attr("num_args", int64_t{1})
                             .Run1({a, b, bias}));
  };
  EXPECT_EQ(run({"BiasAdd"}), (std::vector<float>{-2, 2, 10}));
  EXPECT_EQ(run({"BiasAdd", "Relu"}), (std::vector<float>{0, 2, 10}));
  EXPECT_EQ(run({"BiasAdd", "Relu6"}), (std::vector<float>{0, 2, 6}));
}

// The epilogue gives the bits of the ops one by one, however the product is cut.
TEST(FusedMatMulTest, TheEpilogueIsTheSameAsTheOpsOneByOne) {
  Tensor a = Iota(Shape::Of({150, 700}), 1013);
  for (float& value : a.flat<float>()) value *= 1e-4f;
  const Tensor b = Iota(Shape::Of({700, 260}), 13);
  const Tensor bias = Iota(Shape::Of({260}), 5);
  ThreadPoolOptions options;
  options.num_threads = 4;
  ThreadPool pool(options);
  for (const std::string activation : {"Relu", "Relu6", "Elu", "Tanh", "Sigmoid"}) {
    for (const bool deterministic : {false, true}) {
      const auto prepare = [&](KernelRunner runner) {
        runner.run().task_runner = &pool;
        runner.run().deterministic = deterministic;
        return runner;
      };
      ASSERT_OK_AND_ASSIGN(const Tensor product, prepare(KernelRunner("MatMul")).Run1({a, b}));
      ASSERT_OK_AND_ASSIGN(const Tensor sums, prepare(KernelRunner("BiasAdd")).Run1({product, bias}));
      KernelRunner fused = prepare(KernelRunner("_FusedMatMul"));
      fused.Attr("fused_ops", AttrValue(std::vector<std::string>{"BiasAdd", activation})).Attr("num_args", int64_t{1});
      EXPECT_EQ(Values<float>(fused.Run1({a, b, bias})), Values<float>(KernelRunner(activation).Run1({sums})))
          << activation;
    }
  }
}

TEST(FusedMatMulTest, TheBiasFollowsSumsOverNothing) {
  KernelRunner fused("_FusedMatMul");
  fused.Attr("fused_ops", AttrValue(std::vector<std::string>{"BiasAdd"})).Attr("num_args", int64_t{1});
  EXPECT_EQ(
      Values<float>(fused.Run1({Iota(Shape::Of({2, 0})), Iota(Shape::Of({0, 2})), Of<float>(Shape::Of({2}), {3, 4})})),
      (std::vector<float>{3, 4, 3, 4}));
}

// They are finished as floats: nothing is rounded between the bias and the activation, and each row is finished once.
TEST(FusedMatMulTest, ShortFloatsAreFinishedAsFloats) {
  const int rows = 400, columns = 100;
  const Tensor a = Iota(Shape::Of({rows, 1})), b = Iota(Shape::Of({1, columns}));
  ThreadPoolOptions options;
  options.num_threads = 4;
  ThreadPool pool(options);
  for (const DType dtype : {DType::kHalf, DType::kBFloat16}) {
    const auto cast = [](const Tensor& tensor, DType from, DType to) {
      return KernelRunner("Cast").Attr("SrcT", from).Attr("DstT", to).Run1({tensor}).value();
    };
    KernelRunner fused("_FusedMatMul");
    fused.Attr("fused_ops", AttrValue(std::vector<std::string>{"BiasAdd", "LeakyRelu"})).Attr("num_args", int64_t{1});
    fused.Attr("leakyrelu_alpha", 0.25f);
    fused.run().task_runner = &pool;
    const Tensor bias = Of<float>(Shape::Of({columns}), std::vector<float>(static_cast<size_t>(columns), -16));
    ASSERT_OK_AND_ASSIGN(const Tensor y, fused.Run1({cast(a, DType::kFloat, dtype), cast(b, DType::kFloat, dtype),
                                                     cast(bias, DType::kFloat, dtype)}));
    const std::vector<float> values = Values<float>(cast(y, dtype, DType::kFloat));
    for (int i = 0; i < rows * columns; ++i) {
      const float sum = static_cast<float>((i / columns % 7) * (i % columns % 7) - 16);
      ASSERT_EQ(values[static_cast<size_t>(i)], sum < 0 ? sum * 0.25f : sum) << i;
    }
  }
}

TEST(FusedMatMulTest, RefusesOtherFusions) {
  using Ops = std::vector<std::string>;
  const Tensor x = Iota(Shape::Of({2, 2})), bias = Iota(Shape::Of({2}));
  for (const Ops& ops :
       {Ops{}, Ops{"Relu"}, Ops{"Relu", "BiasAdd"}, Ops{"BiasAdd", "Sin"}, Ops{"BiasAdd", "Relu", "Relu"}}) {
    KernelRunner fused("_FusedMatMul");
    fused.Attr("fused_ops", AttrValue(ops)).Attr("num_args", int64_t{1});
    EXPECT_THAT(fused.Run1({x, x, bias}), IsError(ErrorCode::kOpAttr)) << ops.size();
  }
}

TEST(FusedMatMulTest, RefusesABiasOfAnotherSize) {
  KernelRunner fused("_FusedMatMul");
  fused.Attr("fused_ops", AttrValue(std::vector<std::string>{"BiasAdd"})).Attr("num_args", int64_t{1});
  EXPECT_EQ(fused.Run1({Iota(Shape::Of({2, 2})), Iota(Shape::Of({2, 2})), Iota(Shape::Of({3}))}).status().code(),
            absl::StatusCode::kInvalidArgument);
}

// Into how many units the loops of a kernel are cut; runs them on the calling thread.
class CountingRunner : public TaskRunner {
 public:
  explicit CountingRunner(int num_threads) : num_threads_(num_threads) {}
  void Schedule(absl::AnyInvocable<void()> task) override { task(); }
  int num_threads() const override { return num_threads_; }
  void ParallelFor(int64_t total, double, bool, absl::FunctionRef<void(int64_t, int64_t)> work) override {
    units_.push_back(total);
    work(0, total);
  }
  const std::vector<int64_t>& units() const { return units_; }

 private:
  const int num_threads_;
  std::vector<int64_t> units_;
};

std::vector<int64_t> UnitsOfProduct(int num_threads, bool deterministic) {
  CountingRunner threads(num_threads);
  KernelRunner runner("MatMul");
  runner.run().task_runner = &threads;
  runner.run().deterministic = deterministic;
  EXPECT_OK(runner.Run1({Iota(Shape::Of({512, 256})), Iota(Shape::Of({256, 300}))}));
  return threads.units();
}

TEST(MatMulTest, DeterministicProductsAreCutBySizeAlone) {
  const std::vector<int64_t> cut = UnitsOfProduct(1, /*deterministic=*/true);
  ASSERT_EQ(cut.size(), 1u);
  EXPECT_GT(cut[0], 4);
  EXPECT_EQ(UnitsOfProduct(3, true), cut);
  EXPECT_EQ(UnitsOfProduct(64, true), cut);
  // Others are cut by the number of threads.
  EXPECT_EQ(UnitsOfProduct(1, false), std::vector<int64_t>());
  EXPECT_EQ(UnitsOfProduct(3, false), std::vector<int64_t>{3});
}

TEST(MatMulTest, PackedPartsWithoutMemoryAreOutOfMemory) {
  CountingRunner threads(2);
  TrackingAllocator allocator(HostAllocator(), 512 * 300 * 4 + 10000);  // Enough for the result.
  KernelRunner runner("MatMul");
  runner.run().task_runner = &threads;
  runner.run().allocator = &allocator;
  EXPECT_THAT(runner.Run1({Iota(Shape::Of({512, 256})), Iota(Shape::Of({256, 300}))}),
              IsError(ErrorCode::kOutOfMemory, "packed parts"));
  EXPECT_EQ(allocator.live_bytes(), 0);
}

// Stacks of 1 x 4 x 1 and 3 x 1 x 2: twelve and more products, whose matrices are found without a list.
TEST(MatMulTest, StacksBroadcastAlongAnyAxes) {
  const Tensor a = Iota(Shape::Of({1, 4, 1, 2, 2}), 11);
  const Tensor b = Iota(Shape::Of({3, 1, 2, 2, 2}), 13);
  const std::vector<float> y = Values<float>(KernelRunner("BatchMatMulV2").Run1({a, b}));
  ASSERT_EQ(y.size(), 3u * 4 * 2 * 4);
  const absl::Span<const float> x = a.flat<float>(), z = b.flat<float>();
  for (size_t i = 0; i < 3 * 4 * 2; ++i) {
    const float* const left = &x[i / 2 % 4 * 4];
    const float* const right = &z[(i / 8 * 2 + i % 2) * 4];
    for (size_t r = 0; r < 2; ++r) {
      for (size_t c = 0; c < 2; ++c) {
        EXPECT_EQ(y[i * 4 + r * 2 + c], left[r * 2] * right[c] + left[r * 2 + 1] * right[2 + c]) << i;
      }
    }
  }
}

// 2^40 products of nothing by a single element: refused before anything that grows with their number is made.
TEST(MatMulTest, HugeStacksAreRefusedWithoutAList) {
  const Tensor a = Tensor::Make(DType::kFloat, Shape::Of({int64_t{1} << 20, 1, 1, 0})).value();
  const Tensor b = Tensor::Make(DType::kFloat, Shape::Of({1, int64_t{1} << 20, 0, 1})).value();
  TrackingAllocator allocator(HostAllocator(), 1 << 20);
  KernelRunner runner("BatchMatMulV2");
  runner.run().allocator = &allocator;
  EXPECT_THAT(runner.Run1({a, b}), StatusIs(absl::StatusCode::kResourceExhausted));
}

// What TensorFlow 2.19 gives for all pairs of dtypes, transposes and attrs: zeros of the marked matrix are left out, of
// the first where both are.
TEST(SparseMatMulTest, ZerosOfAMarkedMatrixMeetNoInfinity) {
  constexpr float kInf = std::numeric_limits<float>::infinity(), kNan = std::numeric_limits<float>::quiet_NaN();
  const auto matrix = [](DType dtype, bool is_transposed, int64_t rows, int64_t cols,
                         const std::vector<float>& values) {
    std::vector<float> stored(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
      const size_t row = i / static_cast<size_t>(cols), col = i % static_cast<size_t>(cols);
      stored[is_transposed ? col * static_cast<size_t>(rows) + row : i] = values[i];
    }
    const Shape shape = is_transposed ? Shape::Of({cols, rows}) : Shape::Of({rows, cols});
    if (dtype == DType::kFloat) return Of(shape, stored);
    return Of(shape, std::vector<BFloat16>(stored.begin(), stored.end()));
  };
  // [0 -0 2; inf 0 1] times [inf nan; 3 0; 0 1], and what of it each pair of attrs makes.
  const std::vector<float> a = {0, -0.0f, 2, kInf, 0, 1}, b = {kInf, kNan, 3, 0, 0, 1};
  const std::vector<float> all = {kNan, kNan, kInf, kNan}, of_a = {0, 2, kInf, kNan}, of_b = {kNan, kNan, kInf, kNan};
  for (int i = 0; i < 64; ++i) {
    const DType a_type = i & 1 ? DType::kFloat : DType::kBFloat16, b_type = i & 2 ? DType::kFloat : DType::kBFloat16;
    const bool a_turned = i & 4, b_turned = i & 8, a_marked = i & 16, b_marked = i & 32;
    const auto multiply = [&](const std::vector<float>& left, const std::vector<float>& right) {
      return Values<float>(KernelRunner("SparseMatMul")
                               .Attr("transpose_a", a_turned)
                               .Attr("transpose_b", b_turned)
                               .Attr("a_is_sparse", a_marked)
                               .Attr("b_is_sparse", b_marked)
                               .Run1({matrix(a_type, a_turned, 2, 3, left), matrix(b_type, b_turned, 3, 2, right)}));
    };
    const auto expect = [i](const std::vector<float>& found, const std::vector<float>& wanted) {
      ASSERT_EQ(found.size(), wanted.size());
      for (size_t k = 0; k < found.size(); ++k) {
        EXPECT_TRUE(std::isnan(wanted[k]) ? std::isnan(found[k]) : found[k] == wanted[k])
            << i << ", " << k << ": " << found[k];
      }
    };
    expect(multiply(a, b), a_marked ? of_a : b_marked ? of_b : all);
    // The same the other way round: infinities in A, zeros in B.
    const std::vector<float> c = {kInf, 1, 2, 0, kNan, 1}, d = {0, 1, 1, 0, 1, 1};
    const std::vector<float> skips_d = {3, kInf, kNan, 1}, skips_c = {kNan, kInf, kNan, kNan};
    expect(multiply(c, d), b_marked && !a_marked ? skips_d : skips_c);
    expect(multiply({1, 2, 3, 4, 5, 6}, {1, 0, 0, 1, 1, 1}), {4, 5, 10, 11});
  }
}

// A product in one piece may have ended early: what it holds is not an answer.
TEST(MatMulTest, AProductOfACancelledRunIsNoAnswer) {
  CancellationManager cancellation;
  cancellation.StartCancel();
  KernelRunner runner("MatMul");
  runner.run().cancellation = &cancellation;
  EXPECT_THAT(runner.Run1({Iota(Shape::Of({64, 256})), Iota(Shape::Of({256, 300}))}),
              IsError(ErrorCode::kRunCancelled));
}

}  // namespace
}  // namespace sluice
