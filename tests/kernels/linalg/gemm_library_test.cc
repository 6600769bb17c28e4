#include "kernels/linalg/gemm_library.h"

#include <vector>

#include "executor/threads/thread_pool.h"
#include "gtest/gtest.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Small integers, so that sums are exact in any order.
Tensor Integers(int64_t rows, int64_t cols, int modulus) {
  std::vector<float> values(static_cast<size_t>(rows * cols));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>(i) % modulus - 3);
  return Tensor::Of<float>(Shape::Of({rows, cols}), values);
}

std::vector<float> Multiply(bool transpose_b, const SluiceGemmPlugin* plugin, TaskRunner* threads = nullptr) {
  KernelRunner runner("MatMul");
  runner.Attr("transpose_b", transpose_b);
  runner.run().task_runner = threads;
  runner.run().gemm_plugin = plugin;
  const absl::StatusOr<Tensor> y =
      runner.Run1({Integers(150, 200, 7), transpose_b ? Integers(130, 200, 11) : Integers(200, 130, 11)});
  EXPECT_OK(y);
  if (!y.ok()) return {};
  const absl::Span<const float> flat = y->flat<float>();
  return {flat.begin(), flat.end()};
}

TEST(GemmLibraryTest, WithoutAPluginOwnTilesServeAndWithOneTheResultsAreTheSame) {
  const std::vector<float> plain = Multiply(false, nullptr);
  const std::vector<float> transposed = Multiply(true, nullptr);
  ASSERT_OK_AND_ASSIGN(const SluiceGemmPlugin* const plugin, OpenBundledGemmPlugin());
  EXPECT_EQ(Multiply(false, plugin), plain);
  EXPECT_EQ(Multiply(true, plugin), transposed);
  ThreadPoolOptions options;
  options.num_threads = 2;
  ThreadPool pool(options);
  EXPECT_EQ(Multiply(false, plugin, &pool), plain);
}

TEST(GemmLibraryTest, WhatIsNotAPluginIsRefused) {
  EXPECT_THAT(OpenGemmPlugin("/nowhere/lib.so"), IsError(ErrorCode::kHostKernel, "/nowhere/lib.so"));
  EXPECT_THAT(OpenGemmPlugin("libc.so.6"), IsError(ErrorCode::kHostKernel, "not a plug-in"));
}

// Two plug-ins that count their calls and can do nothing: which one a product is offered to.
int first_calls = 0, second_calls = 0;
template <int* kCalls>
constexpr SluiceGemmPlugin kCounting = {SLUICE_GEMM_PLUGIN_VERSION,
                                        [](const SluiceGemmProblem*) -> const SluiceGemmProduct* {
                                          ++*kCalls;
                                          return nullptr;
                                        },
                                        nullptr,
                                        nullptr,
                                        nullptr,
                                        nullptr};

TEST(GemmLibraryTest, EachRunHasThePluginThatItNames) {
  const std::vector<float> plain = Multiply(false, nullptr);
  EXPECT_EQ(first_calls + second_calls, 0);
  EXPECT_EQ(Multiply(false, &kCounting<&first_calls>), plain);
  EXPECT_EQ(first_calls, 1);
  EXPECT_EQ(Multiply(false, &kCounting<&second_calls>), plain);
  EXPECT_EQ(first_calls, 1);
  EXPECT_EQ(second_calls, 1);
}

// The plug-in's functions by themselves: a packed B serves pieces of any number of rows.
TEST(GemmLibraryTest, APackedMatrixServesProductsOfOtherSizes) {
  ASSERT_OK_AND_ASSIGN(const SluiceGemmPlugin* const plugin, OpenBundledGemmPlugin());
  const Tensor a = Integers(96, 64, 5);
  const Tensor b = Integers(64, 80, 5);
  const SluiceGemmProblem all = {96, 80, 64, 64, 80, 80, 0, 0};
  const SluiceGemmProblem part = {32, 80, 64, 64, 80, 80, 0, 0};
  const SluiceGemmProduct* const order = plugin->prepare_packed(&all, nullptr);
  const SluiceGemmProduct* const piece = plugin->prepare_packed(&part, order);
  const SluiceGemmProduct* const plain = plugin->prepare(&part);
  ASSERT_TRUE(order != nullptr && piece != nullptr && plain != nullptr);
  std::vector<char> packed(plugin->packed_bytes(order));
  ASSERT_EQ(plugin->pack(order, b.flat<float>().data(), packed.data()), 0);
  std::vector<float> c(32 * 80), expected(32 * 80);
  ASSERT_EQ(plugin->execute(piece, a.flat<float>().data(), packed.data(), c.data()), 0);
  ASSERT_EQ(plugin->execute(plain, a.flat<float>().data(), b.flat<float>().data(), expected.data()), 0);
  EXPECT_EQ(c, expected);
}

}  // namespace
}  // namespace sluice
