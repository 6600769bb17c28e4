#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Complex = std::complex<double>;
using Line = std::vector<Complex>;

// The definition.
Line PlainTransform(const Line& x, bool inverse) {
  const size_t n = x.size();
  Line y(n);
  const double turn = (inverse ? 2 : -2) * std::acos(-1.0) / static_cast<double>(n);
  for (size_t k = 0; k < n; ++k) {
    for (size_t j = 0; j < n; ++j) {
      y[k] += x[j] * std::polar(inverse ? 1 / static_cast<double>(n) : 1.0, turn * static_cast<double>(j * k % n));
    }
  }
  return y;
}

Complex Number(size_t i) {
  return {static_cast<double>(i * 37 % 64) / 32 - 1, static_cast<double>(i * 23 % 41) / 20 - 1};
}

template <typename T>
Tensor Numbers(const std::vector<int64_t>& dims) {
  Tensor tensor = Tensor::Make(DTypeOf<T>::value, Shape::Make(dims).value()).value();
  const absl::Span<T> values = tensor.flat<T>();
  for (size_t i = 0; i < values.size(); ++i) {
    if constexpr (std::is_floating_point_v<T>) {
      values[i] = static_cast<T>(Number(i).real());
    } else {
      values[i] = T(Number(i));
    }
  }
  return tensor;
}

constexpr int64_t kLengths[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 16, 17, 19, 30, 34, 64, 97, 121, 128, 169, 210};

// Lines in odd numbers, so that not all lanes are used.
template <typename T>
void ExpectLines(double tolerance) {
  for (const int64_t n : kLengths) {
    for (const int64_t lines : {1, 3, 8, 21}) {
      for (const bool inverse : {false, true}) {
        const Tensor x = Numbers<std::complex<T>>({lines, n});
        for (const bool movable : {false, true}) {
          ASSERT_OK_AND_ASSIGN(const Tensor y,
                               KernelRunner(inverse ? "IFFT" : "FFT").Run1({x.DeepCopy().value()}, movable));
          for (size_t line = 0; line < static_cast<size_t>(lines); ++line) {
            Line from;
            for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
              from.emplace_back(x.flat<std::complex<T>>()[line * static_cast<size_t>(n) + i]);
            }
            const Line want = PlainTransform(from, inverse);
            for (size_t i = 0; i < want.size(); ++i) {
              const Complex got(y.flat<std::complex<T>>()[line * static_cast<size_t>(n) + i]);
              ASSERT_LE(std::abs(got - want[i]), tolerance * (1 + std::abs(want[i]))) << n << " " << line << " " << i;
            }
          }
        }
      }
    }
  }
}

TEST(FftTest, ComputesItsDefinition) {
  ExpectLines<float>(1e-5);
  ExpectLines<double>(1e-12);
}

// Transforms along two and three dimensions are those along each.
TEST(FftTest, TakesOneDimensionAfterTheOther) {
  using C = std::complex<double>;
  const Tensor x = Numbers<C>({2, 5, 6, 7});
  for (const bool inverse : {false, true}) {
    const std::string fft = inverse ? "IFFT" : "FFT";
    const auto along = [&](Tensor tensor, int axis) {
      // Exchanges the axis and the last one by hand.
      const Shape shape = tensor.shape();
      const auto exchange = [axis](const Tensor& from) {
        std::vector<int64_t> dims(from.shape().dims().begin(), from.shape().dims().end());
        std::swap(dims[static_cast<size_t>(axis)], dims[3]);
        Tensor to = Tensor::Make(from.dtype(), Shape::Make(dims).value()).value();
        for (int64_t i = 0; i < from.num_elements(); ++i) {
          int64_t rest = i, index[4];
          for (int d = 3; d >= 0; --d) {
            index[d] = rest % from.dim(d);
            rest /= from.dim(d);
          }
          std::swap(index[axis], index[3]);
          int64_t at = 0;
          for (int d = 0; d < 4; ++d) at = at * dims[static_cast<size_t>(d)] + index[d];
          to.flat<C>()[static_cast<size_t>(at)] = from.flat<C>()[static_cast<size_t>(i)];
        }
        return to;
      };
      return exchange(KernelRunner(fft).Run1({exchange(tensor)}).value());
    };
    const Tensor two = along(along(x, 3), 2);
    const Tensor three = along(two, 1);
    for (const auto& [op, want] : {std::pair{fft + "2D", two}, std::pair{fft + "3D", three}}) {
      ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner(op).Run1({x}));
      for (size_t i = 0; i < y.flat<C>().size(); ++i) {
        ASSERT_LE(std::abs(y.flat<C>()[i] - want.flat<C>()[i]), 1e-10) << op;
      }
    }
  }
}

// A real transform is the first half of the complex one, and its inverse the way back; longer inputs are cut.
template <typename T>
void ExpectReal(double tolerance) {
  using C = std::complex<T>;
  const DType real = DTypeOf<T>::value, complex = DTypeOf<C>::value;
  for (const int32_t n : {1, 2, 3, 4, 5, 8, 17, 30, 97}) {
    const Tensor x = Numbers<T>({3, n + 2});
    ASSERT_OK_AND_ASSIGN(
        const Tensor y,
        KernelRunner("RFFT").Attr("Treal", real).Attr("Tcomplex", complex).Run1({x, Tensor::Vector<int32_t>({n})}));
    ASSERT_EQ(y.shape(), Shape::Of({3, n / 2 + 1}));
    for (size_t line = 0; line < 3; ++line) {
      Line from;
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        from.emplace_back(x.flat<T>()[line * static_cast<size_t>(n + 2) + i]);
      }
      const Line want = PlainTransform(from, false);
      for (size_t i = 0; i < static_cast<size_t>(n / 2 + 1); ++i) {
        const Complex got(y.flat<C>()[line * static_cast<size_t>(n / 2 + 1) + i]);
        ASSERT_LE(std::abs(got - want[i]), tolerance * (1 + std::abs(want[i]))) << n;
      }
    }
    ASSERT_OK_AND_ASSIGN(
        const Tensor back,
        KernelRunner("IRFFT").Attr("Treal", real).Attr("Tcomplex", complex).Run1({y, Tensor::Vector<int32_t>({n})}));
    ASSERT_EQ(back.shape(), Shape::Of({3, n}));
    for (size_t i = 0; i < back.flat<T>().size(); ++i) {
      const size_t line = i / static_cast<size_t>(n), at = i % static_cast<size_t>(n);
      ASSERT_NEAR(back.flat<T>()[i], x.flat<T>()[line * static_cast<size_t>(n + 2) + at], tolerance) << n;
    }
  }
}

TEST(FftTest, RealTransformsAreHalvesOfComplexOnes) {
  ExpectReal<float>(1e-5);
  ExpectReal<double>(1e-12);
}

TEST(FftTest, RealTransformsOfSeveralDimensionsComeBack) {
  for (const std::vector<int32_t>& length : {std::vector<int32_t>{5, 8}, {4, 7}, {3, 4, 5}, {2, 7, 6}}) {
    std::vector<int64_t> dims = {2};
    dims.insert(dims.end(), length.begin(), length.end());
    const Tensor x = Numbers<float>(dims), size = Tensor::Vector<int32_t>(length);
    const std::string name = absl::StrCat("RFFT", length.size(), "D");
    ASSERT_OK_AND_ASSIGN(const Tensor y, KernelRunner(name).Run1({x, size}));
    ASSERT_OK_AND_ASSIGN(const Tensor back, KernelRunner("I" + name).Run1({y, size}));
    ASSERT_EQ(back.shape(), x.shape());
    for (size_t i = 0; i < x.flat<float>().size(); ++i) {
      ASSERT_NEAR(back.flat<float>()[i], x.flat<float>()[i], 1e-5) << name;
    }
  }
}

TEST(FftTest, ALineDependsOnNoOtherLineNorOnThreads) {
  ThreadPoolOptions options;
  options.num_threads = 3;
  ThreadPool pool(options);
  using C = std::complex<float>;
  const Tensor x = Numbers<C>({301, 97});
  Tensor damaged = x.DeepCopy().value();
  damaged.flat<C>()[97 * 5 + 3] = C(std::numeric_limits<float>::quiet_NaN(), 1);
  KernelRunner runner("FFT");
  runner.run().task_runner = &pool;
  ASSERT_OK_AND_ASSIGN(const Tensor y, runner.Run1({x}));
  ASSERT_OK_AND_ASSIGN(const Tensor z, KernelRunner("FFT").Run1({damaged}));
  for (int64_t line = 0; line < 301; ++line) {
    const bool is_same = y.SliceRows(line, line + 1).bytes() == z.SliceRows(line, line + 1).bytes();
    EXPECT_EQ(is_same, line != 5) << line;
  }
}

// One line alone takes the memory of one line, also where it is a convolution; its bits are those among others.
TEST(FftTest, OneLongLineTakesTheMemoryOfOne) {
  using C = std::complex<float>;
  struct Case {
    int64_t length;
    size_t bytes_per_element;
  };
  for (const Case& one : {Case{16384, 200}, Case{16411, 300}, Case{4099, 300}}) {
    TrackingAllocator allocator(HostAllocator(), static_cast<size_t>(one.length) * one.bytes_per_element);
    KernelRunner runner("FFT");
    runner.run().allocator = &allocator;
    const Tensor lines = Numbers<C>({9, one.length});
    ASSERT_OK_AND_ASSIGN(const Tensor alone, runner.Run1({lines.SliceRows(3, 4)}));
    ASSERT_OK_AND_ASSIGN(const Tensor all, KernelRunner("FFT").Run1({lines}));
    EXPECT_EQ(alone.bytes(), all.SliceRows(3, 4).bytes()) << one.length;
  }
}

TEST(FftTest, EmptyTensorsAndBadLengths) {
  using C = std::complex<float>;
  const auto lengths = [](std::vector<int32_t> values) { return Tensor::Vector<int32_t>(values); };
  const auto run = [](const std::string& op, std::vector<Tensor> inputs) {
    TrackingAllocator allocator(HostAllocator(), 1 << 20);
    KernelRunner runner(op);
    runner.run().allocator = &allocator;
    return runner.Run(std::move(inputs)).status();
  };
  EXPECT_OK(run("FFT", {Numbers<C>({0})}));
  EXPECT_OK(run("FFT2D", {Numbers<C>({0, int64_t{1} << 45})}));
  EXPECT_OK(run("FFT3D", {Numbers<C>({2, 0, 3})}));
  EXPECT_OK(run("RFFT", {Numbers<float>({0, 4}), lengths({4})}));
  EXPECT_OK(run("RFFT", {Numbers<float>({4}), lengths({0})}));
  EXPECT_OK(run("IRFFT2D", {Numbers<C>({2, 3}), lengths({0, 4})}));
  EXPECT_THAT(run("FFT", {Tensor::Scalar(C(1))}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run("FFT3D", {Numbers<C>({2, 2})}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run("RFFT", {Numbers<float>({3}), lengths({4})}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run("RFFT", {Numbers<float>({3}), lengths({-1})}), IsError(ErrorCode::kOpValue));
  EXPECT_THAT(run("RFFT", {Numbers<float>({3}), lengths({1, 2})}), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(run("IRFFT", {Numbers<C>({3}), lengths({6})}), IsError(ErrorCode::kOpShape));
  EXPECT_FALSE(run("IRFFT", {Numbers<C>({3}), lengths({2147483647})}).ok());
  EXPECT_FALSE(run("RFFT", {Numbers<float>({0}), lengths({2147483647})}).ok());
  EXPECT_THAT(run("FFT", {Numbers<C>({40000})}), StatusIs(absl::StatusCode::kResourceExhausted));
  EXPECT_THAT(
      KernelRunner("RFFT").Attr("Tcomplex", DType::kComplex128).Run({Numbers<float>({4}), lengths({4})}).status(),
      IsError(ErrorCode::kOpAttr));
}

}  // namespace
}  // namespace sluice
