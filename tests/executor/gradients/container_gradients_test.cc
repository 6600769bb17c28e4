// Gradients through variants that hold tensors.

#include <memory>
#include <string>
#include <vector>

#include "executor/session/session.h"
#include "gmock/gmock.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using ::testing::ElementsAre;

// Two operands, and what is made of them.
class ContainerGradientsTest : public ::testing::Test {
 protected:
  ContainerGradientsTest()
      : b_(NewOpRegistry()),
        x_(b_.Const("x", Tensor::Vector<double>({1, 2}))),
        z_(b_.Const("z", Tensor::Vector<double>({3, 4}))),
        key_(b_.Const("key", Tensor::Scalar<int32_t>(7))),
        other_key_(b_.Const("other_key", Tensor::Scalar<int32_t>(8))) {}

  Output Insert(Output map, Output key, Output value) { return b_.Op("TensorMapInsert", "", {map, key, value}); }
  Output Lookup(Output map, Output key) {
    return b_.Op("TensorMapLookup", "", {map, key}, {{"value_dtype", DType::kDouble}});
  }
  Output Times(Output value, double factor) { return b_.Op("Mul", "", {value, b_.Const("", Tensor::Scalar(factor))}); }

  // The gradients of the sum of y by x and z, one after the other.
  absl::StatusOr<std::vector<double>> Gradients(Output y) {
    SLUICE_RETURN_IF_ERROR(b_.status());
    GradientOptions options;
    options.unconnected = GradientOptions::Unconnected::kZero;
    SLUICE_ASSIGN_OR_RETURN(const GradientResult result, AddGradients(b_.graph(), {y}, {x_, z_}, options));
    std::vector<std::string> names;
    for (const Gradient& gradient : result.xs) names.push_back(b_.graph().OutputName(gradient.value));
    SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create({}, b_.graph()));
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Tensor> found, session->Run({}, names, {}));
    std::vector<double> values;
    for (const Tensor& tensor : found) {
      values.insert(values.end(), tensor.flat<double>().begin(), tensor.flat<double>().end());
    }
    return values;
  }

  GraphBuilder b_;
  const Output x_, z_, key_, other_key_;
};

TEST_F(ContainerGradientsTest, OptionalHoldsGradients) {
  const std::vector<DType> types = {DType::kDouble, DType::kDouble};
  const std::vector<PartialShape> shapes = {PartialShape::Of({2}), PartialShape()};
  const Output optional = b_.Op("OptionalFromValue", "", {x_, z_}, {{"Toutput_types", types}});
  const Output values = b_.Op("OptionalGetValue", "", {optional}, {{"output_types", types}, {"output_shapes", shapes}});
  ASSERT_OK_AND_ASSIGN(const std::vector<double> gradients,
                       Gradients(b_.Op("AddV2", "", {Times(values, 5), Times(GraphBuilder::Nth(values, 1), 6)})));
  EXPECT_THAT(gradients, ElementsAre(5, 5, 6, 6));
}

TEST_F(ContainerGradientsTest, RaggedTensorsHoldGradients) {
  const Output splits = b_.Const("splits", Tensor::Vector<int64_t>({0, 0, 1, 2}));
  for (const bool in_rows : {true, false}) {
    const Output variants =
        b_.Op("RaggedTensorToVariant", "", {splits, x_}, {{"RAGGED_RANK", 1}, {"batched_input", in_rows}});
    const Output back = b_.Op("RaggedTensorFromVariant", "", {variants},
                              {{"input_ragged_rank", in_rows ? 0 : 1},
                               {"output_ragged_rank", 1},
                               {"Tvalues", DType::kDouble},
                               {"Tsplits", DType::kInt64}});
    ASSERT_OK_AND_ASSIGN(const std::vector<double> gradients, Gradients(Times(GraphBuilder::Nth(back, 1), 5)));
    EXPECT_THAT(gradients, ElementsAre(5, 5, 0, 0));
  }
}

TEST_F(ContainerGradientsTest, MapHandsGradientsToWhatWasInserted) {
  const Output map = Insert(Insert(b_.Op("EmptyTensorMap", "", {}), key_, x_), other_key_, z_);
  ASSERT_OK_AND_ASSIGN(const std::vector<double> gradients, Gradients(Times(Lookup(map, key_), 5)));
  EXPECT_THAT(gradients, ElementsAre(5, 5, 0, 0)) << "nothing of the other key was read";
}

TEST_F(ContainerGradientsTest, MapEntryThatWasOverwrittenHasNone) {
  const Output map = Insert(Insert(b_.Op("EmptyTensorMap", "", {}), key_, x_), key_, z_);
  ASSERT_OK_AND_ASSIGN(const std::vector<double> gradients, Gradients(Times(Lookup(map, key_), 5)));
  EXPECT_THAT(gradients, ElementsAre(0, 0, 5, 5));
}

TEST_F(ContainerGradientsTest, MapWithoutAnEntryHandsOn) {
  const Output map = Insert(Insert(b_.Op("EmptyTensorMap", "", {}), key_, x_), other_key_, z_);
  const Output erased = b_.Op("TensorMapErase", "", {map, other_key_}, {{"value_dtype", DType::kDouble}});
  ASSERT_OK_AND_ASSIGN(const std::vector<double> gradients, Gradients(Times(Lookup(erased, key_), 5)));
  EXPECT_THAT(gradients, ElementsAre(5, 5, 0, 0));
}

}  // namespace
}  // namespace sluice
