#include <cmath>
#include <complex>
#include <limits>
#include <utility>
#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

Tensor Floats(std::initializer_list<int64_t> dims, std::vector<float> values) {
  return Tensor::Of<float>(Shape::Of(dims), values);
}
template <typename T>
std::vector<T> Values(const Tensor& tensor) {
  const absl::Span<const T> values = tensor.flat<T>();
  return std::vector<T>(values.begin(), values.end());
}

TEST(ElementwiseTest, TwoScalarsGiveAScalar) {
  const absl::StatusOr<Tensor> y = KernelRunner("AddV2").Run1({Tensor::Scalar(1.5f), Tensor::Scalar(2.0f)});
  ASSERT_OK(y);
  EXPECT_EQ(y->rank(), 0);
  EXPECT_EQ(*y->AsScalar<float>(), 3.5f);
}

TEST(ElementwiseTest, AScalarIsRepeatedOnEitherSide) {
  const Tensor x = Floats({3}, {1, 2, 3});
  const absl::StatusOr<Tensor> left = KernelRunner("Sub").Run1({Tensor::Scalar(10.0f), x});
  const absl::StatusOr<Tensor> right = KernelRunner("Sub").Run1({x, Tensor::Scalar(10.0f)});
  ASSERT_OK(left);
  ASSERT_OK(right);
  EXPECT_EQ(Values<float>(*left), (std::vector<float>{9, 8, 7}));
  EXPECT_EQ(Values<float>(*right), (std::vector<float>{-9, -8, -7}));
}

TEST(ElementwiseTest, AColumnAndARowGiveATable) {
  const absl::StatusOr<Tensor> y = KernelRunner("Mul").Run1({Floats({2, 1}, {1, 10}), Floats({1, 3}, {1, 2, 3})});
  ASSERT_OK(y);
  EXPECT_EQ(y->shape(), Shape::Of({2, 3}));
  EXPECT_EQ(Values<float>(*y), (std::vector<float>{1, 2, 3, 10, 20, 30}));
}

TEST(ElementwiseTest, ShapesThatDoNotBroadcastAreRefused) {
  const absl::StatusOr<Tensor> y = KernelRunner("AddV2").Run1({Floats({2}, {1, 2}), Floats({3}, {1, 2, 3})});
  EXPECT_EQ(y.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_NE(y.status().message().find("[2] and [3]"), absl::string_view::npos);
}

TEST(ElementwiseTest, TheLastReaderIsWorkedOnInPlace) {
  Tensor x = Tensor::Vector<float>(std::vector<float>(100, 2.0f));
  const void* const data = x.raw_data();
  std::vector<Tensor> inputs;
  inputs.push_back(std::move(x));
  const absl::StatusOr<Tensor> y = KernelRunner("Square").Run1(std::move(inputs), /*movable=*/true);
  ASSERT_OK(y);
  EXPECT_EQ(y->raw_data(), data);
  EXPECT_EQ(y->flat<float>()[99], 4.0f);
}

TEST(ElementwiseTest, TheInputThatIsNotRepeatedIsWorkedOnInPlace) {
  Tensor table = Tensor::Of<float>(Shape::Of({4, 50}), std::vector<float>(200, 1.0f));
  const void* const data = table.raw_data();
  std::vector<Tensor> inputs;
  inputs.push_back(Tensor::Vector<float>(std::vector<float>(50, 3.0f)));
  inputs.push_back(std::move(table));
  const absl::StatusOr<Tensor> y = KernelRunner("Sub").Run1(std::move(inputs), /*movable=*/true);
  ASSERT_OK(y);
  EXPECT_EQ(y->raw_data(), data);
  EXPECT_EQ(Values<float>(*y), std::vector<float>(200, 2.0f));
}

TEST(ElementwiseTest, EmptyInputsGiveEmptyOutputs) {
  const absl::StatusOr<Tensor> y = KernelRunner("AddV2").Run1({Floats({0, 3}, {}), Floats({1, 3}, {1, 2, 3})});
  ASSERT_OK(y);
  EXPECT_EQ(y->shape(), Shape::Of({0, 3}));
}

TEST(ElementwiseTest, IntegersWrap) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  const Tensor x = Tensor::Vector<int32_t>({kMin, std::numeric_limits<int32_t>::max()});
  const absl::StatusOr<Tensor> sum = KernelRunner("AddV2").Run1({x, Tensor::Scalar<int32_t>(1)});
  const absl::StatusOr<Tensor> quotient = KernelRunner("FloorDiv").Run1({x, Tensor::Scalar<int32_t>(-1)});
  const absl::StatusOr<Tensor> rest = KernelRunner("FloorMod").Run1({x, Tensor::Scalar<int32_t>(-1)});
  ASSERT_OK(sum);
  ASSERT_OK(quotient);
  ASSERT_OK(rest);
  EXPECT_EQ(Values<int32_t>(*sum), (std::vector<int32_t>{kMin + 1, kMin}));
  EXPECT_EQ(Values<int32_t>(*quotient), (std::vector<int32_t>{kMin, -std::numeric_limits<int32_t>::max()}));
  EXPECT_EQ(Values<int32_t>(*rest), (std::vector<int32_t>{0, 0}));
}

TEST(ElementwiseTest, DivisionByZeroIsAnErrorForIntegersOnly) {
  const Tensor zero = Tensor::Scalar<int32_t>(0);
  const Tensor one = Tensor::Scalar<int32_t>(1);
  const Tensor three = Tensor::Vector<int32_t>({1, 2, 3});
  for (const char* op : {"Div", "FloorDiv", "FloorMod", "Mod"}) {
    EXPECT_EQ(KernelRunner(op).Run1({one, zero}).status().code(), absl::StatusCode::kInvalidArgument) << op;
    EXPECT_EQ(KernelRunner(op).Run1({three, zero}).status().code(), absl::StatusCode::kInvalidArgument) << op;
  }
  EXPECT_EQ(KernelRunner("TruncateDiv").Run1({three, zero}).status().code(), absl::StatusCode::kInternal);
  const absl::StatusOr<Tensor> y = KernelRunner("RealDiv").Run1({Tensor::Scalar(1.0f), Tensor::Scalar(0.0f)});
  ASSERT_OK(y);
  EXPECT_TRUE(std::isinf(*y->AsScalar<float>()));
}

TEST(ElementwiseTest, MaximumAndMinimumHandNanOn) {
  const Tensor nan = Tensor::Scalar(std::numeric_limits<float>::quiet_NaN());
  for (const char* op : {"Maximum", "Minimum"}) {
    EXPECT_TRUE(std::isnan(*KernelRunner(op).Run1({nan, Tensor::Scalar(1.0f)})->AsScalar<float>())) << op;
    EXPECT_TRUE(std::isnan(*KernelRunner(op).Run1({Tensor::Scalar(1.0f), nan})->AsScalar<float>())) << op;
  }
}

TEST(ElementwiseTest, HalvesAreRoundedOnce) {
  const absl::StatusOr<Tensor> y = KernelRunner("Mul").Run1({Tensor::Scalar(Half(3.0f)), Tensor::Scalar(Half(0.1f))});
  ASSERT_OK(y);
  EXPECT_EQ(y->AsScalar<Half>()->bits, Half(3.0f * static_cast<float>(Half(0.1f))).bits);
}

TEST(ElementwiseTest, EqualTellsShapesApartWhereAsked) {
  const Tensor a = Floats({2}, {1, 2});
  const Tensor b = Floats({3}, {1, 2, 3});
  EXPECT_EQ(KernelRunner("Equal").Run1({a, b}).status().code(), absl::StatusCode::kInvalidArgument);
  const absl::StatusOr<Tensor> equal = KernelRunner("Equal").Attr("incompatible_shape_error", false).Run1({a, b});
  const absl::StatusOr<Tensor> differ = KernelRunner("NotEqual").Attr("incompatible_shape_error", false).Run1({a, b});
  ASSERT_OK(equal);
  ASSERT_OK(differ);
  EXPECT_FALSE(*equal->AsScalar<bool>());
  EXPECT_TRUE(*differ->AsScalar<bool>());
}

TEST(ElementwiseTest, StringsAreJoinedAndCompared) {
  const Tensor x = Tensor::Strings({"a", "b"});
  const absl::StatusOr<Tensor> sum = KernelRunner("Add").Run1({x, Tensor::String("!")});
  ASSERT_OK(sum);
  EXPECT_EQ(sum->ToString(), Tensor::Strings({"a!", "b!"}).ToString());
  const absl::StatusOr<Tensor> equal = KernelRunner("Equal").Run1({x, Tensor::String("b")});
  ASSERT_OK(equal);
  EXPECT_EQ(Values<bool>(*equal), (std::vector<bool>{false, true}));
}

TEST(ElementwiseTest, SelectTakesWholeInputsOrRowsOrElements) {
  const Tensor t = Floats({2, 2}, {1, 2, 3, 4});
  const Tensor e = Floats({2, 2}, {5, 6, 7, 8});
  const absl::StatusOr<Tensor> whole = KernelRunner("Select").Run1({Tensor::Scalar(false), t, e});
  const absl::StatusOr<Tensor> rows = KernelRunner("Select").Run1({Tensor::Vector<bool>({true, false}), t, e});
  const absl::StatusOr<Tensor> last = KernelRunner("SelectV2").Run1({Tensor::Vector<bool>({true, false}), t, e});
  ASSERT_OK(whole);
  ASSERT_OK(rows);
  ASSERT_OK(last);
  EXPECT_EQ(Values<float>(*whole), (std::vector<float>{5, 6, 7, 8}));
  EXPECT_EQ(Values<float>(*rows), (std::vector<float>{1, 2, 7, 8}));
  EXPECT_EQ(Values<float>(*last), (std::vector<float>{1, 6, 3, 8}));
}

TEST(ElementwiseTest, AddNAddsAllInputs) {
  const absl::StatusOr<Tensor> y =
      KernelRunner("AddN").Run1({Floats({3}, {1, 2, 3}), Floats({3}, {10, 20, 30}), Floats({3}, {100, 200, 300})});
  ASSERT_OK(y);
  EXPECT_EQ(Values<float>(*y), (std::vector<float>{111, 222, 333}));
}

// The bits of op(x) for a Half or BFloat16.
template <typename T>
uint16_t BitsOf(const char* op, float x) {
  const absl::StatusOr<Tensor> y = KernelRunner(op).Run1({Tensor::Scalar(T(x))});
  return y.ok() ? y->AsScalar<T>()->bits : uint16_t{0xdead};
}

TEST(ElementwiseTest, ActivationsOfHalvesAreRoundedAtEachStep) {
  EXPECT_EQ(BitsOf<Half>("Elu", -0.0003676414489746094f), Half(-0.00048828125f).bits);
  EXPECT_EQ(BitsOf<Half>("Selu", -0.00036716461181640625f), Half(-0.000858306884765625f).bits);
  EXPECT_EQ(BitsOf<BFloat16>("Selu", 3.0f), BFloat16(3.140625f).bits);
  EXPECT_EQ(BitsOf<BFloat16>("Softplus", 2.859375f), BFloat16(2.859375f).bits);
  EXPECT_EQ(BitsOf<BFloat16>("Softplus", -2.984375f), BFloat16(0.050537109375f).bits);
}

TEST(ElementwiseTest, DifferencesOfHalvesAreRoundedBeforeTheyAreSquared) {
  const auto apply = [](const char* op, auto x, auto y) {
    const absl::StatusOr<Tensor> z = KernelRunner(op).Run1({Tensor::Scalar(x), Tensor::Scalar(y)});
    return z.ok() ? static_cast<float>(*z->AsScalar<decltype(x)>()) : -1.0f;
  };
  EXPECT_EQ(apply("SquaredDifference", BFloat16(0.68359375f), BFloat16(1.7421875f)), 1.125f);
  EXPECT_EQ(apply("TanhGrad", BFloat16(0.97265625f), BFloat16(1.0f)), 0.0546875f);
}

TEST(ElementwiseTest, PowersOfComplexNumbersGoByTheLogarithm) {
  using Complex = std::complex<float>;
  const auto power = [](Complex x, Complex y) {
    return *KernelRunner("Pow").Run1({Tensor::Scalar(x), Tensor::Scalar(y)})->AsScalar<Complex>();
  };
  EXPECT_TRUE(std::isnan(power({0, 0}, {0, 0}).real()));
  EXPECT_TRUE(std::isnan(power({std::numeric_limits<float>::infinity(), 1}, {0, 0}).real()));
  EXPECT_EQ(power({2, -1}, {0, 0}), Complex(1, 0));
}

TEST(ElementwiseTest, FunctionsOfComplexNumbersAtTheEdges) {
  using Complex = std::complex<double>;
  const auto apply = [](const char* op, Complex x) {
    return *KernelRunner(op).Run1({Tensor::Scalar(x)})->AsScalar<Complex>();
  };
  const double inf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(apply("Rsqrt", {-4.0, -0.0}), Complex(0.0, -0.5));
  EXPECT_EQ(apply("Rsqrt", {1.0, inf}), Complex(0.0, 0.0));
  EXPECT_TRUE(std::isnan(apply("Expm1", {inf, 0.5}).real()));
  EXPECT_EQ(apply("Expm1", {-inf, 0.5}), Complex(-1.0, 0.0));
  EXPECT_TRUE(std::isnan(apply("Log1p", {inf, 0.5}).real()));
  EXPECT_NEAR(apply("Log1p", {1e-9, 1e-9}).real(), 9.999999995e-10, 1e-17);
}

TEST(ElementwiseTest, GradientsOfOneFormulaPairElementsWhateverTheShape) {
  const Tensor y = Tensor::Of<float>(Shape::Of({2, 1}), {2, 4});
  const absl::StatusOr<Tensor> dx = KernelRunner("SqrtGrad").Run1({y, Tensor::Vector<float>({1, 1})});
  ASSERT_OK(dx);
  EXPECT_EQ(dx->shape(), y.shape());
  EXPECT_EQ(dx->flat<float>()[1], 0.125f);
  EXPECT_THAT(KernelRunner("SqrtGrad").Run1({y, Tensor::Scalar(1.0f)}), StatusIs(absl::StatusCode::kInvalidArgument));
}

TEST(ElementwiseTest, GradientsOfComplexNumbersMultiplyInTensorFlowsOrder) {
  using Complex = std::complex<double>;
  const double inf = std::numeric_limits<double>::infinity();
  const absl::StatusOr<Tensor> dx =
      KernelRunner("RsqrtGrad").Run1({Tensor::Scalar(Complex(0.92, 0.957)), Tensor::Scalar(Complex(-0.146, inf))});
  ASSERT_OK(dx);
  EXPECT_TRUE(std::isnan(dx->AsScalar<Complex>()->real()));
  EXPECT_EQ(dx->AsScalar<Complex>()->imag(), inf);
}

TEST(ElementwiseTest, TheLogarithmOfASoftmaxOfHalvesIsRoundedAtEachStep) {
  const Tensor x = Tensor::Of<Half>(Shape::Of({1, 4}),
                                    {Half(-2.654296875f), Half(-5.39453125f), Half(-10.7578125f), Half(4.01171875f)});
  const absl::StatusOr<Tensor> y = KernelRunner("LogSoftmax").Attr("T", DType::kHalf).Run1({x});
  ASSERT_OK(y);
  EXPECT_EQ(y->flat<Half>()[0].bits, Half(-6.6640625f).bits);
  EXPECT_EQ(y->flat<Half>()[3].bits, Half(-0.000976086f).bits);
}

TEST(ElementwiseTest, BoundsAreScalarsOrLikeTheValues) {
  const Tensor x = Tensor::Vector<float>({-1.0f, 5.0f});
  const Tensor zero = Tensor::Scalar(0.0f);
  ASSERT_OK(KernelRunner("ClipByValue").Run1({x, zero, x}));
  EXPECT_THAT(KernelRunner("ClipByValue").Run1({x, zero, Tensor::Vector<float>({3.0f})}),
              StatusIs(absl::StatusCode::kInvalidArgument, "[1]"));
}

TEST(ElementwiseTest, IntegersFallIntoBucketsAsFloats) {
  KernelRunner bucketize("Bucketize");
  bucketize.Attr("boundaries", std::vector<float>{-5.0f, -4.0f, 1.125f, 3.0f});
  const absl::StatusOr<Tensor> y = bucketize.Run1({Tensor::Vector<int64_t>({1, 2, 3})});
  ASSERT_OK(y);
  EXPECT_EQ(y->flat<int32_t>()[0], 2);
  EXPECT_EQ(y->flat<int32_t>()[2], 4);
}

TEST(ElementwiseTest, ABiasIsAddedToItsChannels) {
  const Tensor x = Floats({1, 2, 3}, {1, 2, 3, 4, 5, 6});
  ASSERT_OK_AND_ASSIGN(const Tensor last, KernelRunner("BiasAdd").Run1({x, Floats({3}, {10, 20, 30})}));
  EXPECT_EQ(Values<float>(last), (std::vector<float>{11, 22, 33, 14, 25, 36}));
  KernelRunner second("BiasAdd");
  second.Attr("data_format", "NCHW");
  ASSERT_OK_AND_ASSIGN(const Tensor rows, second.Run1({x, Floats({2}, {10, 20})}));
  EXPECT_EQ(Values<float>(rows), (std::vector<float>{11, 12, 13, 24, 25, 26}));
  EXPECT_THAT(second.Run1({x, Floats({3}, {10, 20, 30})}), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(KernelRunner("BiasAdd").Run1({x, Floats({1, 3}, {10, 20, 30})}), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(KernelRunner("BiasAdd").Run1({Floats({1}, {1}), Floats({1}, {1})}), IsError(ErrorCode::kOpShape));
}

// In place of the gradient, too: each element once, however the work is cut.
TEST(ElementwiseTest, TheGradientOfALeakyReluIsSmallerBelowZero) {
  ThreadPoolOptions options;
  options.num_threads = 4;
  ThreadPool pool(options);
  KernelRunner op("LeakyReluGrad");
  op.Attr("alpha", 0.25f);
  op.run().task_runner = &pool;
  const size_t count = 200000;
  for (const bool movable : {false, true}) {
    std::vector<Tensor> inputs;
    inputs.push_back(Tensor::Vector<float>(std::vector<float>(count, 8)));
    std::vector<float> x(count, -1);
    x[0] = 0;
    x[1] = 3;
    inputs.push_back(Tensor::Vector<float>(x));
    ASSERT_OK_AND_ASSIGN(const Tensor y, op.Run1(std::move(inputs), movable));
    for (size_t i = 0; i < count; ++i) ASSERT_EQ(y.flat<float>()[i], i == 1 ? 8 : 2) << i;
  }
  EXPECT_THAT(op.Run1({Floats({2}, {1, 2}), Floats({1, 2}, {1, 2})}), StatusIs(absl::StatusCode::kInvalidArgument));
}

}  // namespace
}  // namespace sluice
