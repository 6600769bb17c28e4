// What updates refuse, what they leave alone, and the bits that TensorFlow gives.

#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/kernels/optimizers/update_case.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

Tensor Floats(const Shape& shape, float value = 1) {
  return TensorOf(DType::kFloat, shape, std::vector<Number>(static_cast<size_t>(shape.num_elements()), value));
}
Tensor Ints(const std::vector<Number>& values) {
  return TensorOf(DType::kInt64, Shape::Of({static_cast<int64_t>(values.size())}), values);
}

// [Resource]SparseApplyMomentum of a variable of shape [4,3], ready to run.
class SparseRulesTest : public ::testing::TestWithParam<bool> {
 protected:
  UpdateRunner Make(const std::string& name = "Momentum", const Shape& shape = Shape::Of({4, 3})) {
    UpdateRunner op(absl::StrCat(is_ref_ ? "" : "Resource", "SparseApply", name), DType::kFloat, is_ref_);
    op.AddSlot(Floats(shape));
    op.AddSlot(Floats(shape));
    for (const char* scalar : {"lr", "momentum", "epsilon", "l1", "l2"}) op.Set(scalar, Floats(Shape(), 0.5f));
    op.Set("grad", Floats(Shape::Of({2, 3})));
    op.Set("indices", Ints({0, 2}));
    return op;
  }
  // The rows of slot 0 that are no longer as they were.
  static std::vector<int> Changed(UpdateRunner& op) {
    const Tensor value = op.slot(0).Read();
    std::vector<int> rows;
    for (int row = 0; row < 4; ++row) {
      if (value.flat<float>()[static_cast<size_t>(row) * 3] != 1) rows.push_back(row);
    }
    return rows;
  }
  const bool is_ref_ = GetParam();
};

TEST_P(SparseRulesTest, OnlyTheNamedRowsChange) {
  UpdateRunner op = Make();
  ASSERT_OK(op.Run());
  EXPECT_EQ(Changed(op), (std::vector<int>{0, 2}));
}

TEST_P(SparseRulesTest, AnIndexOutOfRangeEndsTheUpdate) {
  for (const Number& bad : {Number(4), Number(-1), Number(1e15)}) {
    UpdateRunner kept = Make("Momentum"), whole = Make("Adagrad");
    for (UpdateRunner* const op : {&kept, &whole}) {
      op->Set("indices", Ints({3, bad}));
      EXPECT_THAT(op->Run(), StatusIs(absl::StatusCode::kInvalidArgument, "at position 1"));
    }
    EXPECT_EQ(Changed(kept), (std::vector<int>{3}));
    EXPECT_EQ(Changed(whole), std::vector<int>());
  }
}

TEST_P(SparseRulesTest, ShapesAreChecked) {
  const auto error_with = [this](const std::string& input, Tensor value) {
    UpdateRunner op = Make();
    op.Set(input, std::move(value));
    const absl::Status status = op.Run();
    EXPECT_EQ(Changed(op), std::vector<int>());
    return status;
  };
  EXPECT_THAT(error_with("grad", Floats(Shape::Of({3, 3}))), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(error_with("grad", Floats(Shape::Of({2, 2}))), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(error_with("grad", Floats(Shape::Of({2}))), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(error_with("grad", Floats(Shape::Of({2, 3, 2}))), IsError(ErrorCode::kOpShapes));
  EXPECT_THAT(error_with("indices", TensorOf(DType::kInt32, Shape::Of({2, 1}), {0, 1})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(error_with("indices", TensorOf(DType::kInt32, Shape(), {0})), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(error_with("lr", Floats(Shape::Of({1}))), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(Make("Momentum", Shape()).Run(), IsError(ErrorCode::kOpShape));
  UpdateRunner longer = Make();
  longer.Set("grad", Floats(Shape::Of({2, 3, 1})));
  EXPECT_OK(longer.Run());
}

TEST_P(SparseRulesTest, RowsWithoutElements) {
  for (const auto& [name, is_ok] : std::vector<std::pair<std::string, bool>>{
           {"Momentum", true}, {"Adagrad", false}, {"AdagradV2", false}, {"ProximalAdagrad", false}}) {
    UpdateRunner op = Make(name, Shape::Of({4, 0}));
    op.Set("grad", Floats(Shape::Of({2, 0})));
    EXPECT_EQ(op.Run().ok(), is_ok) << name;
  }
}

TEST_P(SparseRulesTest, HyperparametersAgainstTheRuleAreRefused) {
  for (const auto& [scalar, value] : std::vector<std::pair<std::string, float>>{
           {"lr", 0}, {"lr", -1}, {"lr", std::nanf("")}, {"l1", -1}, {"l2", std::nanf("")}}) {
    UpdateRunner op = Make("ProximalAdagrad");
    op.Set(scalar, Floats(Shape(), value));
    EXPECT_THAT(op.Run(), IsError(ErrorCode::kOpValue, scalar));
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, SparseRulesTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Ref" : "Resource"; });

class DenseRulesTest : public ::testing::TestWithParam<bool> {
 protected:
  UpdateRunner Make() {
    UpdateRunner op(absl::StrCat(is_ref_ ? "" : "Resource", "ApplyMomentum"), DType::kFloat, is_ref_);
    op.Set("lr", Floats(Shape(), 0.5f));
    op.Set("momentum", Floats(Shape(), 0.5f));
    op.Set("grad", Floats(Shape::Of({100})));
    return op;
  }
  const bool is_ref_ = GetParam();
};

TEST_P(DenseRulesTest, VariablesWithoutAValueAreRefused) {
  UpdateRunner op = Make();
  op.AddSlot(Floats(Shape::Of({100})));
  op.AddSlot(Tensor());
  EXPECT_THAT(op.Run(), StatusIs(absl::StatusCode::kFailedPrecondition, "input 1"));
}

TEST_P(DenseRulesTest, ShapesMustBeEqual) {
  UpdateRunner slot = Make();
  slot.AddSlot(Floats(Shape::Of({100})));
  slot.AddSlot(Floats(Shape::Of({50, 2})));
  EXPECT_THAT(slot.Run(), StatusIs(absl::StatusCode::kInvalidArgument, "[50,2]"));
  UpdateRunner grad = Make();
  grad.AddSlot(Floats(Shape::Of({101})));
  grad.AddSlot(Floats(Shape::Of({101})));
  EXPECT_THAT(grad.Run(), StatusIs(absl::StatusCode::kInvalidArgument, "[101]"));
}

TEST_P(DenseRulesTest, WhatWasReadStaysButThroughAReference) {
  UpdateRunner op = Make();
  op.AddSlot(Floats(Shape::Of({100})));
  op.AddSlot(Floats(Shape::Of({100})));
  const Tensor before = op.slot(0).Read();
  op.Set("grad", before);  // The gradient may be the value itself.
  ASSERT_OK(op.Run());
  EXPECT_EQ(op.slot(0).Read().flat<float>()[99], 0.25f);
  EXPECT_EQ(before.flat<float>()[99], is_ref_ ? 0.25f : 1.0f);
  // The slot is the only holder of the momentum, so its buffer stays.
  const void* const place = op.slot(1).Read().raw_data();
  ASSERT_OK(op.Run());
  EXPECT_EQ(op.slot(1).Read().raw_data(), place);
}

TEST_P(DenseRulesTest, UpdatesOfTheSameVariablesByManyThreadsComeOneAfterTheOther) {
  UpdateRunner op = Make();
  op.AddSlot(Floats(Shape::Of({100}), 0));
  op.AddSlot(Floats(Shape::Of({100}), 0));
  op.Set("momentum", Floats(Shape(), 1));
  op.Set("lr", Floats(Shape(), 0));
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&op] {
      for (int i = 0; i < 50; ++i) EXPECT_OK(op.Run());
    });
  }
  for (std::thread& thread : threads) thread.join();
  const Tensor sum = op.slot(1).Read();
  for (const float element : sum.flat<float>()) EXPECT_EQ(element, 200);
}

INSTANTIATE_TEST_SUITE_P(Kinds, DenseRulesTest, ::testing::Bool(),
                         [](const auto& info) { return info.param ? "Ref" : "Resource"; });

// Bits that TensorFlow 2.19 gave. Eleven elements: the last three are computed one by one there.
struct RecordedBits {
  const char* op;
  DType dtype;
  std::vector<uint16_t> variable;
};

const std::vector<RecordedBits>& AllRecordedBits() {
  static const std::vector<RecordedBits>& all = *new std::vector<RecordedBits>{
      {"ApplyAdagrad",
       DType::kHalf,
       {0xb9de, 0x3366, 0xbab9, 0x39ba, 0xb58d, 0x38ce, 0x3105, 0xbb65, 0x2a48, 0xb69b, 0x3804}},
      {"ApplyAdagrad",
       DType::kBFloat16,
       {0xbf3c, 0x3e6d, 0xbf57, 0x3f38, 0xbeb2, 0x3f1a, 0x3e22, 0xbf6d, 0x3d44, 0xbed3, 0x3f00}},
      {"ApplyAdam",
       DType::kHalf,
       {0xbb15, 0x3014, 0xb9d8, 0x3770, 0xb622, 0x3a1d, 0xa864, 0xbb29, 0x3419, 0xb84e, 0x38bc}},
      {"ApplyAdam",
       DType::kBFloat16,
       {0xbf60, 0x3e00, 0xbf3c, 0x3eee, 0xbec5, 0x3f43, 0xbd02, 0xbf65, 0x3e83, 0xbf09, 0x3f18}},
      {"SparseApplyFtrl",
       DType::kHalf,
       {0xa7e6, 0xa1f0, 0xaa19, 0x348f, 0xb2f1, 0x34f3, 0x0000, 0xb4c7, 0x3319, 0x0000, 0x3880}},
      {"SparseApplyFtrl",
       DType::kBFloat16,
       {0xbcef, 0xbc3d, 0xbd4c, 0x3e92, 0xbe5e, 0x3e9f, 0x0000, 0xbe99, 0x3e63, 0x0000, 0x3f10}},
  };
  return all;
}

// Nothing was ever added to the sum of squares: a quotient of zeros, which TensorFlow leaves to sparse updates only.
TEST(FtrlTest, ElementsWithoutAGradientStayZero) {
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf}) {
    for (const bool is_dense : {true, false}) {
      UpdateRunner op(is_dense ? "ApplyFtrl" : "SparseApplyFtrl", dtype, true);
      const Shape shape = Shape::Of({4, 2});
      const auto constant = [dtype](const Shape& of, double value) {
        return TensorOf(dtype, of, std::vector<Number>(static_cast<size_t>(of.num_elements()), value));
      };
      for (int slot = 0; slot < 3; ++slot) op.AddSlot(constant(shape, 0));
      op.Set("grad", constant(shape, 0));
      op.Set("indices", Ints({0, 1, 2, 3}));
      for (const auto& [name, value] :
           std::vector<std::pair<std::string, double>>{{"lr", 0.5}, {"l1", 0}, {"l2", 0}, {"lr_power", -0.5}}) {
        op.Set(name, constant(Shape(), value));
      }
      ASSERT_OK(op.Run());
      for (const Number& element : NumbersOf(op.slot(0).Read())) {
        EXPECT_EQ(std::isnan(element.real()), !is_dense) << DTypeName(dtype);
      }
    }
  }
}

TEST(UpdateBitsTest, HalvesAreRoundedAsTensorFlowRoundsThem) {
  const auto values = [](int64_t factor, int64_t modulus, int64_t minus, double over) {
    std::vector<Number> numbers;
    for (int64_t i = 0; i < 11; ++i) numbers.emplace_back(static_cast<double>(i * factor % modulus - minus) / over);
    return numbers;
  };
  const std::vector<Number> var = values(37, 64, 32, 32), accum = values(11, 16, -4, 16), m = values(29, 32, 16, 32);
  for (const RecordedBits& recorded : AllRecordedBits()) {
    const std::string op_name = recorded.op;
    UpdateRunner op(op_name, recorded.dtype, true);
    std::vector<std::vector<Number>> slots = {var, accum};
    if (op_name == "ApplyAdam") slots = {var, m, accum};
    if (op_name == "SparseApplyFtrl") slots = {var, accum, m};
    for (const auto& slot : slots) op.AddSlot(TensorOf(recorded.dtype, Shape::Of({11}), slot));
    const bool is_adam = op_name == "ApplyAdam";
    for (const auto& [name, value] : std::vector<std::pair<std::string, double>>{{"lr", is_adam ? 0.1 : 0.3},
                                                                                 {"beta1_power", 0.9},
                                                                                 {"beta2_power", 0.99},
                                                                                 {"beta1", 0.9},
                                                                                 {"beta2", 0.99},
                                                                                 {"epsilon", 1e-3},
                                                                                 {"l1", 0.1},
                                                                                 {"l2", 0.05},
                                                                                 {"lr_power", -0.5}}) {
      op.Set(name, TensorOf(recorded.dtype, Shape(), {value}));
    }
    op.Set("grad", TensorOf(recorded.dtype, Shape::Of({11}), values(23, 64, 31, 32)));
    op.Set("indices", Ints({3, 1, 3, 0, 2, 4, 5, 6, 7, 8, 9}));
    if (is_adam) op.SetFlag("use_nesterov", true);
    ASSERT_OK(op.Run());
    const Tensor value = op.slot(0).Read();
    for (size_t i = 0; i < 11; ++i) {
      EXPECT_EQ(static_cast<const uint16_t*>(value.raw_data())[i], recorded.variable[i])
          << op_name << " " << DTypeName(recorded.dtype) << " element " << i;
    }
  }
}

}  // namespace
}  // namespace sluice
