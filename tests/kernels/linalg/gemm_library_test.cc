#include "kernels/linalg/gemm_library.h"

#include <vector>

#include "executor/thread_pool.h"
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

std::vector<float> Multiply(bool transpose_b, TaskRunner* threads) {
  KernelRunner runner("MatMul");
  runner.Attr("transpose_b", transpose_b);
  runner.run().task_runner = threads;
  const absl::StatusOr<Tensor> y =
      runner.Run1({Integers(150, 200, 7), transpose_b ? Integers(130, 200, 11) : Integers(200, 130, 11)});
  EXPECT_OK(y);
  if (!y.ok()) return {};
  const absl::Span<const float> flat = y->flat<float>();
  return {flat.begin(), flat.end()};
}

// In one test, since a plug-in that was opened stays.
TEST(GemmLibraryTest, WithoutAPluginOwnTilesServeAndWithOneTheResultsAreTheSame) {
  SetGemmPlugin("");
  EXPECT_EQ(FindGemmPlugin(), nullptr);
  const std::vector<float> plain = Multiply(false, nullptr);
  const std::vector<float> transposed = Multiply(true, nullptr);

  SetGemmPlugin("/nowhere/lib.so");
  EXPECT_EQ(FindGemmPlugin(), nullptr);
  EXPECT_EQ(Multiply(false, nullptr), plain);

  SetGemmPlugin("auto");
  ASSERT_NE(FindGemmPlugin(), nullptr) << "the plug-in is this test's data and was not found";
  EXPECT_EQ(Multiply(false, nullptr), plain);
  EXPECT_EQ(Multiply(true, nullptr), transposed);
  ThreadPoolOptions options;
  options.num_threads = 2;
  ThreadPool pool(options);
  EXPECT_EQ(Multiply(false, &pool), plain);
}

// The plug-in's functions by themselves: a packed B serves pieces of any number of rows.
TEST(GemmLibraryTest, APackedMatrixServesProductsOfOtherSizes) {
  SetGemmPlugin("auto");
  const SluiceGemmPlugin* const plugin = FindGemmPlugin();
  ASSERT_NE(plugin, nullptr) << "the plug-in is this test's data and was not found";
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
