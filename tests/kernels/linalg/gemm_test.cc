#include "kernels/linalg/gemm.h"

#include <algorithm>
#include <climits>
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "gtest/gtest.h"

namespace sluice {
namespace {

constexpr int64_t kSizes[] = {1, 2, 5, 13, 33, 130};
constexpr int64_t kDepths[] = {0, 1, 7, 64, 300};
constexpr float kUntouched = 77;

// Small integers: all sums are exact, in any order.
template <typename T>
std::vector<T> SmallIntegers(int64_t count, uint32_t seed) {
  std::vector<T> values(static_cast<size_t>(count) + 1);
  for (T& value : values) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<T>(static_cast<int>(seed >> 28) - 8);
  }
  return values;
}

// One product and its true result. C has one extra column, which must not be written.
template <typename T>
struct Problem {
  Problem(const GemmSize& size, bool transpose_a, bool transpose_b)
      : size(size),
        a_values(SmallIntegers<T>(size.m * size.k, 1)),
        b_values(SmallIntegers<T>(size.k * size.n, 2)),
        c(static_cast<size_t>(size.m * (size.n + 1)), kUntouched),
        a{a_values.data(), transpose_a ? size.m : size.k, transpose_a},
        b{b_values.data(), transpose_b ? size.k : size.n, transpose_b} {}

  std::vector<T> Truth() const {
    std::vector<T> truth(c.size(), kUntouched);
    for (int64_t i = 0; i < size.m; ++i) {
      for (int64_t j = 0; j < size.n; ++j) {
        T sum = 0;
        for (int64_t p = 0; p < size.k; ++p) sum += *a.Rows(i).Cols(p).data * *b.Rows(p).Cols(j).data;
        truth[static_cast<size_t>(i * (size.n + 1) + j)] = sum;
      }
    }
    return truth;
  }

  GemmSize size;
  std::vector<T> a_values, b_values, c;
  MatrixView<T> a, b;
};

class GemmTest : public testing::TestWithParam<std::tuple<IsaLevel, bool, bool>> {
 protected:
  template <typename T>
  void Sweep(void (*run)(const GemmIsa<T>&, Problem<T>&)) {
    for (const int64_t m : kSizes) {
      for (const int64_t n : kSizes) {
        for (const int64_t k : kDepths) {
          Problem<T> problem({m, n, k}, std::get<1>(GetParam()), std::get<2>(GetParam()));
          run(GemmOf<T>(std::get<0>(GetParam())), problem);
          ASSERT_EQ(problem.c, problem.Truth()) << m << "x" << n << "x" << k;
        }
      }
    }
  }
};

// The levels that this processor can run: code of another one would end the process with SIGILL.
std::vector<IsaLevel> LevelsHere() {
  std::vector<IsaLevel> levels = {IsaLevel::kBaseline, IsaLevel::kAvx2, IsaLevel::kAvx512};
  levels.resize(static_cast<size_t>(BestIsaLevel()) + 1);
  return levels;
}

INSTANTIATE_TEST_SUITE_P(All, GemmTest,
                         testing::Combine(testing::ValuesIn(LevelsHere()), testing::Bool(), testing::Bool()));

template <typename T>
void RunGemm(const GemmIsa<T>& isa, Problem<T>& p) {
  const Gemm<T> gemm(isa, p.size, p.a, p.b);
  std::vector<T> scratch(static_cast<size_t>(gemm.scratch_elements()));
  gemm.Run(p.a, p.b, p.c.data(), p.size.n + 1, scratch.data());
}

TEST_P(GemmTest, FloatsAreExactOnSmallIntegers) { Sweep<float>(&RunGemm<float>); }
TEST_P(GemmTest, DoublesAreExactOnSmallIntegers) { Sweep<double>(&RunGemm<double>); }

template <typename T>
void RunPacked(const GemmIsa<T>& isa, Problem<T>& p) {
  std::vector<T> packed(static_cast<size_t>(PackedGemm<T>::PackedElements(isa, p.size.k, p.size.n)));
  PackedGemm<T>::Pack(isa, p.b, p.size.k, p.size.n, packed.data());
  // In two goes, as two threads would.
  const int64_t half = p.size.n / 2 / isa.tile_cols * isa.tile_cols;
  for (const int64_t first : {int64_t{0}, half}) {
    const GemmSize part = {p.size.m, first == 0 && half > 0 ? half : p.size.n - first, p.size.k};
    const PackedGemm<T> gemm(isa, part, p.size.n);
    std::vector<T> scratch(static_cast<size_t>(gemm.scratch_elements()));
    gemm.Run(p.a, packed.data(), first, p.c.data() + first, p.size.n + 1, scratch.data());
  }
}

TEST_P(GemmTest, PackedFloatsAreExact) { Sweep<float>(&RunPacked<float>); }
TEST_P(GemmTest, PackedDoublesAreExact) { Sweep<double>(&RunPacked<double>); }

// Adds a number of its column to each element, so that an element that is finished twice or never is wrong.
template <typename T>
class AddColumn final : public GemmEpilogue<T> {
 public:
  void Finish(T* c, int64_t ldc, int64_t rows, int64_t first_col, int64_t cols) const override {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < cols; ++j) c[i * ldc + j] += static_cast<T>(first_col + j + 1);
    }
  }
};

// Takes away what AddColumn has added, column `first` being its `as`.
template <typename T>
void TakeColumns(Problem<T>& p, int64_t first, int64_t as) {
  for (int64_t i = 0; i < p.size.m; ++i) {
    for (int64_t j = first; j < p.size.n; ++j) {
      p.c[static_cast<size_t>(i * (p.size.n + 1) + j)] -= static_cast<T>(j - first + as + 1);
    }
  }
}

template <typename T>
void RunWithEpilogue(const GemmIsa<T>& isa, Problem<T>& p) {
  const Gemm<T> gemm(isa, p.size, p.a, p.b);
  std::vector<T> scratch(static_cast<size_t>(gemm.scratch_elements()));
  const AddColumn<T> epilogue;
  gemm.Run(p.a, p.b, p.c.data(), p.size.n + 1, scratch.data(), NeverStops, {&epilogue, 100});
  TakeColumns(p, 0, 100);
}

template <typename T>
void RunPackedWithEpilogue(const GemmIsa<T>& isa, Problem<T>& p) {
  std::vector<T> packed(static_cast<size_t>(PackedGemm<T>::PackedElements(isa, p.size.k, p.size.n)));
  PackedGemm<T>::Pack(isa, p.b, p.size.k, p.size.n, packed.data());
  const PackedGemm<T> gemm(isa, p.size, p.size.n);
  std::vector<T> scratch(static_cast<size_t>(gemm.scratch_elements()));
  const AddColumn<T> epilogue;
  gemm.Run(p.a, packed.data(), 0, p.c.data(), p.size.n + 1, scratch.data(), NeverStops, {&epilogue, 0});
  TakeColumns(p, 0, 0);
}

TEST_P(GemmTest, AnEpilogueFinishesEachElementOnce) {
  Sweep<float>(&RunWithEpilogue<float>);
  Sweep<double>(&RunWithEpilogue<double>);
  Sweep<float>(&RunPackedWithEpilogue<float>);
  Sweep<double>(&RunPackedWithEpilogue<double>);
}

TEST_P(GemmTest, AnEpilogueFollowsTheLastOfManyBlocks) {
  for (auto* const run : {&RunWithEpilogue<float>, &RunPackedWithEpilogue<float>}) {
    Problem<float> problem({20, 1030, 600}, std::get<1>(GetParam()), std::get<2>(GetParam()));
    run(GemmOf<float>(std::get<0>(GetParam())), problem);
    EXPECT_EQ(problem.c, problem.Truth());
  }
}

// Panels are read several at once then: whole groups of them, with some left over, and over several blocks of rows.
TEST_P(GemmTest, APackedRowIsExact) {
  for (const int64_t cols : {31, 128, 129, 270, 600}) {
    Problem<float> floats({1, cols, 1030}, std::get<1>(GetParam()), std::get<2>(GetParam()));
    RunPacked(GemmOf<float>(std::get<0>(GetParam())), floats);
    EXPECT_EQ(floats.c, floats.Truth()) << cols;
    Problem<double> doubles({1, cols, 1030}, std::get<1>(GetParam()), std::get<2>(GetParam()));
    RunPacked(GemmOf<double>(std::get<0>(GetParam())), doubles);
    EXPECT_EQ(doubles.c, doubles.Truth()) << cols;
  }
}

TEST_P(GemmTest, ManyBlocksInEachDirection) {
  Problem<float> problem({205, 1030, 270}, std::get<1>(GetParam()), std::get<2>(GetParam()));
  RunGemm(GemmOf<float>(std::get<0>(GetParam())), problem);
  EXPECT_EQ(problem.c, problem.Truth());
}

// Both kinds of large products ask between blocks, and do not go on.
TEST_P(GemmTest, ALargeProductStopsBetweenBlocks) {
  Problem<float> problem({500, 2100, 1100}, std::get<1>(GetParam()), std::get<2>(GetParam()));
  const GemmIsa<float>& isa = GemmOf<float>(std::get<0>(GetParam()));
  const auto calls_until = [](int limit, const std::function<void(GemmStop)>& run) {
    int calls = 0;
    run([&] { return ++calls >= limit; });
    return calls;
  };
  const Gemm<float> gemm(isa, problem.size, problem.a, problem.b);
  const PackedGemm<float> packed_gemm(isa, problem.size, problem.size.n);
  std::vector<float> scratch(static_cast<size_t>(std::max(gemm.scratch_elements(), packed_gemm.scratch_elements())));
  std::vector<float> packed(static_cast<size_t>(PackedGemm<float>::PackedElements(isa, 1100, 2100)));
  PackedGemm<float>::Pack(isa, problem.b, 1100, 2100, packed.data());
  const auto run = [&](GemmStop stop) {
    gemm.Run(problem.a, problem.b, problem.c.data(), problem.size.n + 1, scratch.data(), stop);
  };
  const auto run_packed = [&](GemmStop stop) {
    packed_gemm.Run(problem.a, packed.data(), 0, problem.c.data(), problem.size.n + 1, scratch.data(), stop);
  };
  for (const std::function<void(GemmStop)>& each : {std::function<void(GemmStop)>(run), {run_packed}}) {
    EXPECT_GT(calls_until(INT_MAX, each), 20);
    EXPECT_LE(calls_until(5, each), 7);
  }
}

}  // namespace
}  // namespace sluice
