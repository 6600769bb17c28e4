// The loops beside GEMM's that each instruction set has: see Note [One source, three instruction sets].

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "gtest/gtest.h"
#include "kernels/linalg/channel_finish.h"
#include "kernels/linalg/gemm.h"
#include "kernels/linalg/gemm_isa.h"
#include "kernels/linalg/tile_runs.h"

namespace sluice {
namespace {

struct Loops {
  const GemmIsa<float>& isa;
  AddRunsFunction<float> add_runs;
  FinishFunction finish;
};

std::vector<Loops> LoopsHere() {
  std::vector<Loops> loops = {{BaselineGemmFloat(), BaselineAddRunsFloat(), BaselineFinish()}};
  if (BestIsaLevel() != IsaLevel::kBaseline) loops.push_back({Avx2GemmFloat(), Avx2AddRunsFloat(), Avx2Finish()});
  if (BestIsaLevel() == IsaLevel::kAvx512) {
    loops.push_back({Avx512GemmFloat(), Avx512AddRunsFloat(), Avx512Finish()});
  }
  return loops;
}

// Whole numbers from -6 to 6.
std::vector<float> Counted(int64_t size, int64_t step) {
  std::vector<float> values(static_cast<size_t>(size));
  for (int64_t i = 0; i < size; ++i) values[static_cast<size_t>(i)] = static_cast<float>(i * step % 13 - 6);
  return values;
}

TEST(TileLoopsTest, RunsAreAddedUp) {
  constexpr int64_t kRuns = 3, kDepth = 5, kLda = 40, kAStep = 230, kBStep = 190;
  const std::vector<float> a = Counted(kRuns * kAStep, 7), b = Counted(kRuns * kBStep, 5);
  for (const Loops& loops : LoopsHere()) {
    for (int64_t rows = 1; rows <= loops.isa.tile_rows; ++rows) {
      for (int64_t cols = 1; cols <= loops.isa.tile_cols; ++cols) {
        std::vector<float> c(static_cast<size_t>(rows * 37), 100.0f);
        loops.add_runs({rows, cols, kDepth, kRuns, a.data(), kLda, kAStep, b.data(), 33, kBStep, c.data(), 37});
        for (int64_t i = 0; i < rows; ++i) {
          for (int64_t j = 0; j < 37; ++j) {
            float sum = 100;
            for (int64_t r = 0; j < cols && r < kRuns; ++r) {
              for (int64_t p = 0; p < kDepth; ++p) {
                sum +=
                    a[static_cast<size_t>(r * kAStep + p * kLda + i)] * b[static_cast<size_t>(r * kBStep + p * 33 + j)];
              }
            }
            ASSERT_EQ(c[static_cast<size_t>(i * 37 + j)], sum) << rows << " " << cols << " " << i << " " << j;
          }
        }
      }
    }
  }
}

// Bit by bit what three loops give, each step rounded.
TEST(TileLoopsTest, ElementsAreFinishedStepByStep) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  constexpr int64_t kCols = 45, kRows = 3, kLd = 50;
  std::vector<float> x = Counted(kRows * kLd, 11), means = Counted(kCols, 3), factors = Counted(kCols, 5),
                     offsets = Counted(kCols, 9);
  for (size_t i = 0; i < x.size(); ++i) x[i] *= 0.1f + static_cast<float>(i);
  for (float& factor : factors) factor *= 0.3f;
  x[3] = kInfinity;
  x[10] = std::numeric_limits<float>::quiet_NaN();
  x[17] = -0.0f;
  x[44] = 1e-41f;
  for (const Loops& loops : LoopsHere()) {
    for (const bool has_norm : {false, true}) {
      for (const float low : {-kInfinity, 0.0f}) {
        for (const float high : {kInfinity, 6.0f}) {
          ChannelFinish finish = {nullptr, nullptr, offsets.data(), low, high};
          if (has_norm) finish = {means.data(), factors.data(), offsets.data(), low, high};
          std::vector<float> found = x;
          loops.finish(finish, found.data(), kLd, kRows, kCols);
          for (size_t i = 0; i < x.size(); ++i) {
            const size_t j = i % kLd;
            volatile float y = x[i];  // No step joins another.
            if (j < kCols) {
              if (has_norm) y = y - means[j];
              if (has_norm) y = y * factors[j];
              y = y + offsets[j];
              y = y < low ? low : y;
              y = y > high ? high : y;
            }
            const float expected = y;
            ASSERT_EQ(std::memcmp(&found[i], &expected, sizeof(float)), 0) << i << ": " << found[i] << " " << expected;
          }
        }
      }
    }
  }
}

// With a filter of ones for the tile's middle a convolution gives the pixels themselves.
TEST(TileLoopsTest, TilesComeBackFromTheirTransforms) {
  constexpr int64_t kChannels = 21, kStep = 32;
  // The transform of a filter that is one in the middle: rows (0, 1/2, -1/2, 0), and columns.
  constexpr float kMiddle[] = {0, 0.5f, -0.5f, 0};
  const std::vector<float> image = Counted(16 * kChannels, 7);
  for (const Loops& loops : LoopsHere()) {
    std::array<const float*, 16> pixels;
    for (size_t i = 0; i < 16; ++i) pixels[i] = image.data() + i * kChannels;
    std::vector<float> numbers(16 * kStep), made(4 * kStep, 9.0f);
    loops.isa.spread(kChannels, pixels.data(), numbers.data(), kStep);
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] *= kMiddle[i / kStep / 4] * kMiddle[i / kStep % 4];
    std::array<float*, 4> to = {made.data(), nullptr, made.data() + 2 * kStep, made.data() + 3 * kStep};
    EXPECT_TRUE(loops.isa.collect(kChannels, numbers.data(), kStep, to.data()));
    for (int64_t i = 0; i < 4; ++i) {
      for (int64_t c = 0; c < kStep; ++c) {
        const int64_t middle = (1 + i / 2) * 4 + 1 + i % 2;
        const float expected = i == 1 || c >= kChannels ? 9.0f : image[static_cast<size_t>(middle * kChannels + c)];
        ASSERT_EQ(made[static_cast<size_t>(i * kStep + c)], expected) << i << " " << c;
      }
    }
    for (const float bad :
         {0x1.1p20f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
      for (const size_t channel : {size_t{2}, size_t{20}}) {
        std::vector<float> wrong = numbers;
        wrong[channel] = bad;  // Of the first number, which is in the first pixel alone.
        EXPECT_FALSE(loops.isa.collect(kChannels, wrong.data(), kStep, to.data()));
        wrong[channel] = 0x1p19f;
        EXPECT_TRUE(loops.isa.collect(kChannels, wrong.data(), kStep, to.data()));
      }
    }
  }
}

}  // namespace
}  // namespace sluice
