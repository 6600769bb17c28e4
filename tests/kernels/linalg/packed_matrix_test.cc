#include "kernels/linalg/packed_matrix.h"

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor/session/session.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "kernels/linalg/gemm.h"
#include "kernels/memory/file_tensor.h"
#include "kernels/memory/tracking_allocator.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

template <typename T = float>
Tensor Iota(const Shape& shape) {
  std::vector<T> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(static_cast<int>(i % 23) - 11);
  return Tensor::Of<T>(shape, values);
}

// 1 times the columns of a group: sums over the rows.
template <typename T>
std::vector<T> SumsOfRows(const PackedMatrix& packed, int64_t group) {
  const PackedLayout& layout = packed.layout();
  const int64_t cols = layout.cols / layout.groups;
  const std::vector<T> ones(static_cast<size_t>(layout.rows), T{1});
  const PackedGemm<T> gemm(BestGemm<T>(), {1, cols, layout.rows}, cols);
  std::vector<T> scratch(static_cast<size_t>(gemm.scratch_elements()));
  std::vector<T> sums(static_cast<size_t>(cols));
  gemm.Run({ones.data(), layout.rows, false}, packed.group<T>(group), 0, sums.data(), cols, scratch.data());
  return sums;
}

template <typename T>
void ExpectGroups(bool transposed) {
  const Tensor matrix = Iota<T>(transposed ? Shape::Of({60, 9}) : Shape::Of({9, 60}));
  for (const int64_t groups : {1, 3, 12}) {
    ASSERT_OK_AND_ASSIGN(const PackedMatrix packed, PackedMatrix::Pack(matrix, {9, 60, transposed, groups}));
    EXPECT_EQ(packed.layout().groups, groups);
    for (int64_t col = 0; col < 60; ++col) {
      T sum = 0;
      for (int64_t row = 0; row < 9; ++row) {
        sum += matrix.flat<T>()[static_cast<size_t>(transposed ? col * 9 + row : row * 60 + col)];
      }
      const int64_t cols = 60 / groups;
      EXPECT_EQ(SumsOfRows<T>(packed, col / cols)[static_cast<size_t>(col % cols)], sum) << col;
    }
  }
}

TEST(PackedMatrixTest, GroupsOfColumnsArePackedEachForItself) {
  ExpectGroups<float>(false);
  ExpectGroups<float>(true);
  ExpectGroups<double>(false);
}

TEST(PackedMatrixTest, HalvesArePackedAsFloats) {
  const std::vector<Half> halves(60, Half(0.5f));
  ASSERT_OK_AND_ASSIGN(const PackedMatrix packed,
                       PackedMatrix::Pack(Tensor::Of<Half>(Shape::Of({6, 10}), halves), {6, 10}));
  EXPECT_EQ(packed.dtype(), DType::kFloat);
  EXPECT_EQ(SumsOfRows<float>(packed, 0), std::vector<float>(10, 3.0f));
}

TEST(PackedMatrixTest, MissingMemoryIsAnError) {
  TrackingAllocator none(HostAllocator(), 100);
  EXPECT_EQ(PackedMatrix::Pack(Iota(Shape::Of({9, 60})), {9, 60}, none).status().code(),
            absl::StatusCode::kResourceExhausted);
}

TEST(PackedConstantTest, OneForAllThatReadTheSameElementsTheSameWay) {
  const int64_t before = NumPackedConstants();
  const Tensor matrix = Iota(Shape::Of({9, 60}));
  const Tensor other = Iota(Shape::Of({9, 60}));
  const auto one = SharedPackedConstant(matrix, {9, 60});
  EXPECT_EQ(SharedPackedConstant(Tensor(matrix), {9, 60}), one);
  EXPECT_NE(SharedPackedConstant(matrix, {60, 9}), one);
  EXPECT_NE(SharedPackedConstant(matrix, {60, 9, true}), one);
  EXPECT_NE(SharedPackedConstant(matrix, {9, 60, false, 2}), one);
  EXPECT_NE(SharedPackedConstant(other, {9, 60}), one);
  EXPECT_EQ(NumPackedConstants(), before + 1) << "the others are not held";
}

TEST(PackedConstantTest, IsGoneWithItsLastHolder) {
  const int64_t before = NumPackedConstants();
  Tensor matrix = Iota(Shape::Of({9, 60}));
  auto held = SharedPackedConstant(matrix, {9, 60});
  EXPECT_FALSE(matrix.IsUniquelyOwned()) << "its address must stay taken";
  held.reset();
  EXPECT_TRUE(matrix.IsUniquelyOwned());
  EXPECT_EQ(NumPackedConstants(), before);
}

TEST(PackedConstantTest, InlineValuesAreNotShared) {
  EXPECT_EQ(SharedPackedConstant(Iota(Shape::Of({2, 2})), {2, 2}), nullptr);
}

TEST(PackedConstantTest, ThreadsGetOne) {
  const Tensor matrix = Iota(Shape::Of({90, 60}));
  std::vector<std::shared_ptr<const PackedConstant>> made(4);
  std::vector<std::thread> threads;
  for (auto& each : made) {
    threads.emplace_back([&matrix, &each] { each = SharedPackedConstant(matrix, {90, 60}); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& each : made) EXPECT_EQ(each, made[0]);
}

// Kernels of several nodes and signatures.
TEST(PackedConstantTest, TheMatMulsOfASessionShareTheFormOfAWeight) {
  const int64_t before = NumPackedConstants();
  GraphBuilder b(NewOpRegistry());
  const Output w = b.Const("w", Iota(Shape::Of({128, 128})));
  const Output x = b.Placeholder("x", DType::kFloat);
  const Output y = b.Op("MatMul", "y", {x, w});
  b.Op("MatMul", "z", {y, w});
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Session> session, Session::Create({}, b.graph()));
  const Tensor rows = Iota(Shape::Of({16, 128}));
  ASSERT_OK(session->Run({{"x", rows}}, {"z"}, {}));
  EXPECT_EQ(NumPackedConstants(), before + 1);
  ASSERT_OK(session->Run({{"x", rows}}, {"y"}, {}));
  EXPECT_EQ(NumPackedConstants(), before + 1);
}

// One byte away from where its elements could be read.
Tensor InFile(const Tensor& matrix) {
  auto file = std::make_shared<std::string>("x");
  file->append(matrix.bytes().data(), matrix.bytes().size());
  const absl::string_view content = absl::string_view(*file).substr(1);
  absl::StatusOr<Tensor> made = TensorInFile(matrix.dtype(), matrix.shape(), content, file);
  EXPECT_OK(made);
  return made.ok() ? *std::move(made) : Tensor();
}

template <typename T>
void ExpectFilePacksAlike(int64_t rows, int64_t cols, bool transposed) {
  const Tensor matrix = Iota<T>(transposed ? Shape::Of({cols, rows}) : Shape::Of({rows, cols}));
  ASSERT_OK_AND_ASSIGN(const PackedMatrix expected, PackedMatrix::Pack(matrix, {rows, cols, transposed}));
  ASSERT_OK_AND_ASSIGN(const PackedMatrix found, PackedMatrix::Pack(InFile(matrix), {rows, cols, transposed}));
  ASSERT_EQ(found.bytes(), expected.bytes());
  EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.bytes()), 0) << rows << "x" << cols << transposed;
}

TEST(PackedMatrixTest, WhatStandsInAFileIsPackedLikeACopyOfIt) {
  // Blocks of rows and of columns that are full, and not; columns that fill their tiles, and do not.
  for (const int64_t rows : {1, 7, 511, 513, 1100}) {
    for (const int64_t cols : {1, 31, 64, 130, 1025, 2050}) {
      for (const bool transposed : {false, true}) {
        ExpectFilePacksAlike<float>(rows, cols, transposed);
        ExpectFilePacksAlike<double>(rows, cols, transposed);
      }
    }
  }
}

}  // namespace
}  // namespace sluice
