#include <algorithm>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/kernels/nn/conv_reference.h"
#include "tests/testing/kernel_runner.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

const Ints kImage = {1, 2, 2, 2};
const Ints kFilter = {1, 1, 2, 3};

absl::StatusOr<Tensor> RunFused(DType dtype, const std::vector<std::string>& ops, const std::vector<Tensor>& args) {
  KernelRunner runner("_FusedConv2D");
  runner.Attr("strides", Ints{1, 1, 1, 1}).Attr("padding", std::string("VALID")).Attr("epsilon", 0.01f);
  runner.Attr("fused_ops", AttrValue(ops)).Attr("num_args", static_cast<int64_t>(args.size()));
  runner.Attr("num_host_args", int64_t{0});
  std::vector<DType> types;
  for (const Tensor& arg : args) types.push_back(arg.dtype());
  runner.Attr("TArgs", AttrValue(types));
  std::vector<Tensor> inputs = {Counted(dtype, kImage, 7), Counted(dtype, kFilter, 5)};
  inputs.insert(inputs.end(), args.begin(), args.end());
  return runner.Run1(inputs);
}

// Scale, offset, mean, variance.
std::vector<Tensor> NormArgs(DType dtype) {
  return {Rounded(dtype, {3}, {1, 2, -1}), Rounded(dtype, {3}, {0.5, -2, 1}), Rounded(dtype, {3}, {1, 0, -3}),
          Rounded(dtype, {3}, {0.25, 4, 1})};
}

// What TensorFlow 2.19.1 answers.
const struct {
  std::string activation;
  std::vector<double> after_bias, after_norm;
} kGoldens[] = {
    {"",
     {4.5, -3, 5, 2.5, -1, 1, 0.5, 1, -3, -8.5, -11, 7},
     {6.3834840567, -2.9987523389, -5.9652603322, 2.4611613522, -1.0012476611, -1.9851115710, -1.4611613522,
      0.9962570167, 1.9950371903, -19.1116135222, -10.9887710502, -7.9553347129}},
    {"Relu",
     {4.5, 0, 5, 2.5, 0, 1, 0.5, 1, 0, 0, 0, 7},
     {6.3834840567, 0, 0, 2.4611613522, 0, 0, 0, 0.9962570167, 1.9950371903, 0, 0, 0}},
    {"Relu6",
     {4.5, 0, 5, 2.5, 0, 1, 0.5, 1, 0, 0, 0, 6},
     {6, 0, 0, 2.4611613522, 0, 0, 0, 0.9962570167, 1.9950371903, 0, 0, 0}},
    {"Elu",
     {4.5, -0.9502129316, 5, 2.5, -0.6321205588, 1, 0.5, 1, -0.9502129316, -0.9997965316, -0.9999832983, 7},
     {6.3834840567, -0.9501507755, -0.9974336236, 2.4611613522, -0.6325792615, -0.8626347127, -0.7680332768,
      0.9962570167, 1.9950371903, -0.9999999950, -0.9999831097, -0.9996492142}},
    {"LeakyRelu",
     {4.5, -0.6, 5, 2.5, -0.2, 1, 0.5, 1, -0.6, -1.7, -2.2, 7},
     {6.3834840567, -0.5997504767, -1.1930520842, 2.4611613522, -0.2002495352, -0.3970223201, -0.2922322748,
      0.9962570167, 1.9950371903, -3.8223227614, -2.1977542428, -1.5910669663}},
};

void ExpectNear(const absl::StatusOr<Tensor>& made, const std::vector<double>& wanted, const std::string& what) {
  ASSERT_OK(made);
  EXPECT_EQ(made->shape(), Shape::Of({1, 2, 2, 3}));
  const std::vector<double> values = AsDoubles(*made);
  const double tolerance = made->dtype() == DType::kDouble ? 1e-7 : made->dtype() == DType::kFloat ? 1e-5 : 1e-2;
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(values[i], wanted[i], tolerance) << what << " " << i;
}

TEST(FusedConv2DFormsTest, GiveWhatTensorFlowGives) {
  for (const DType dtype : {DType::kFloat, DType::kDouble, DType::kHalf}) {
    for (const auto& golden : kGoldens) {
      std::vector<std::string> bias = {"BiasAdd"}, norm = {"FusedBatchNorm"};
      if (!golden.activation.empty()) bias.push_back(golden.activation);
      if (!golden.activation.empty()) norm.push_back(golden.activation);
      ExpectNear(RunFused(dtype, bias, {NormArgs(dtype)[1]}), golden.after_bias, "bias " + golden.activation);
      ExpectNear(RunFused(dtype, norm, NormArgs(dtype)), golden.after_norm, "norm " + golden.activation);
    }
  }
}

// The addend is of the result's shape; over several blocks and shards.
TEST(FusedConv2DFormsTest, AnAddendFollowsTheBias) {
  const ConvCase conv = {"", {2, 20, 30, 8}, {3, 3, 8, 34}, {1, 1}};
  for (const DType dtype : {DType::kFloat, DType::kDouble}) {
    const Tensor image = Counted(dtype, conv.image, 7), filter = Counted(dtype, conv.filter, 5);
    const Tensor bias = Counted(dtype, {34}, 11), addend = Counted(dtype, conv.result(), 13);
    KernelRunner runner = conv.Runner("_FusedConv2D");
    runner.Attr("fused_ops", AttrValue(std::vector<std::string>{"BiasAdd", "Add", "Relu"}));
    runner.Attr("num_args", int64_t{2}).Attr("num_host_args", int64_t{0});
    runner.Attr("TArgs", AttrValue(std::vector<DType>{dtype, dtype}));
    ASSERT_OK_AND_ASSIGN(const Tensor made, runner.Run1({image, filter, bias, addend}));
    std::vector<double> wanted = ReferenceResult(conv);
    const std::vector<double> biases = AsDoubles(bias), addends = AsDoubles(addend);
    for (size_t i = 0; i < wanted.size(); ++i) wanted[i] = std::max(0.0, wanted[i] + biases[i % 34] + addends[i]);
    EXPECT_EQ(AsDoubles(made), wanted);
  }
}

TEST(FusedConv2DFormsTest, RefuseOtherForms) {
  const DType f = DType::kFloat;
  const auto code = [](const std::vector<std::string>& ops, const std::vector<Tensor>& args) {
    return RunFused(DType::kFloat, ops, args).status().code();
  };
  const auto kInvalid = absl::StatusCode::kInvalidArgument;
  const Tensor bias = Counted(f, {3}, 5), addend = Counted(f, {1, 2, 2, 3}, 5);
  EXPECT_EQ(code({"BiasAdd"}, {bias}), absl::StatusCode::kOk);
  EXPECT_EQ(code({"BiasAdd", "Add"}, {bias, addend}), absl::StatusCode::kOk);
  EXPECT_EQ(code({"Relu"}, {bias}), kInvalid);
  EXPECT_EQ(code({"BiasAdd", "Softmax"}, {bias}), kInvalid);
  EXPECT_EQ(code({"BiasAdd", "Relu", "Relu"}, {bias}), kInvalid);
  EXPECT_EQ(code({"BiasAdd"}, {bias, addend}), kInvalid);
  EXPECT_EQ(code({"BiasAdd", "Add"}, {bias, bias}), kInvalid);
  EXPECT_EQ(code({"BiasAdd"}, {Counted(f, {2}, 5)}), kInvalid);
  EXPECT_EQ(code({"BiasAdd"}, {Counted(f, {1, 3}, 5)}), kInvalid);
  EXPECT_EQ(code({"BiasAdd"}, {Counted(DType::kDouble, {3}, 5)}), kInvalid);
  EXPECT_EQ(code({"FusedBatchNorm"}, {bias, bias, bias}), kInvalid);
  EXPECT_EQ(code({"FusedBatchNorm"}, {bias, bias, Counted(f, {2}, 5), bias}), kInvalid);
}

}  // namespace
}  // namespace sluice
