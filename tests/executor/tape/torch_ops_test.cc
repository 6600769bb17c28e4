// Everyday ops against PyTorch: values and gradients that torch_ops.py has recorded.

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "gtest/gtest.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

using Vars = std::vector<Var>;
using OnVars = std::function<Var(const Vars&)>;
using OnAxis = std::function<Var(const Vars&, int32_t)>;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

template <typename Function>
OnVars One(Function function) {
  return [function](const Vars& v) { return function(v[0]); };
}

std::map<std::string, OnVars> ElementCalls() {
  const auto one = [](Var (*function)(const Var&)) { return One(function); };
  return {{"Exp", one(&Exp)},
          {"Expm1", one(&Expm1)},
          {"Square", one(&Square)},
          {"Abs", one(&Abs)},
          {"Sign", one(&Sign)},
          {"Floor", one(&Floor)},
          {"Ceil", one(&Ceil)},
          {"Round", one(&Round)},
          {"Sin", one(&Sin)},
          {"Cos", one(&Cos)},
          {"Tan", one(&Tan)},
          {"Tanh", one(&Tanh)},
          {"Erf", one(&Erf)},
          {"Sigmoid", one(&Sigmoid)},
          {"Relu", one(&Relu)},
          {"LeakyRelu", [](const Vars& v) { return LeakyRelu(v[0]); }},
          {"Elu", one(&Elu)},
          {"Selu", one(&Selu)},
          {"Gelu", one(&Gelu)},
          {"Silu", one(&Silu)},
          {"Softplus", one(&Softplus)},
          {"Clone", one(&Clone)},
          {"IsFinite", one(&IsFinite)},
          {"SumAll", one(&Sum)},
          {"MeanAll", one(&Mean)},
          {"ProdAll", one(&Prod)},
          {"MaxAll", one(&Max)},
          {"MinAll", one(&Min)},
          {"VarianceAll", one(&Variance)},
          {"NormAll", one(&Norm)},
          {"NormZero", one(&Norm)},
          {"Clip", [](const Vars& v) { return Clip(v[0], -1, 0.5); }},
          {"Clip at bounds", [](const Vars& v) { return Clip(v[0], 1, 2); }},
          {"ClipLow", [](const Vars& v) { return Clip(v[0], 0.1, kInfinity); }},
          {"ClipCrossed", [](const Vars& v) { return Clip(v[0], 0.5, -0.5); }},
          {"Pow3", [](const Vars& v) { return Pow(v[0], 3); }},
          {"Pow1.5", [](const Vars& v) { return Pow(v[0], 1.5); }},
          {"Log", one(&Log)},
          {"Log1p", one(&Log1p)},
          {"Sqrt", one(&Sqrt)},
          {"Rsqrt", one(&Rsqrt)},
          {"Reciprocal", one(&Reciprocal)}};
}

std::map<std::string, OnVars> OtherCalls() {
  return {{"Pow", [](const Vars& v) { return Pow(v[0], v[1]); }},
          {"Maximum", [](const Vars& v) { return Maximum(v[0], v[1]); }},
          {"MaximumRow", [](const Vars& v) { return Maximum(v[0], v[1]); }},
          {"Minimum", [](const Vars& v) { return Minimum(v[0], v[1]); }},
          {"Less", [](const Vars& v) { return Less(v[0], v[1]); }},
          {"LessEqual", [](const Vars& v) { return LessEqual(v[0], v[1]); }},
          {"GreaterHalf", [](const Vars& v) { return Greater(v[0], 0.5); }},
          {"NotEqual", [](const Vars& v) { return LogicalNot(Equal(v[0], v[1])); }},
          {"WhereLess", [](const Vars& v) { return Where(Less(v[0], v[1]), v[0], v[1] * 2.0); }},
          {"WhereRow", [](const Vars& v) { return Where(Less(v[0], 0), v[1], v[0]); }},
          {"MaskedFill", [](const Vars& v) { return MaskedFill(v[0], Greater(v[0], 0), 7); }},
          {"SumTwo",
           [](const Vars& v) {
             return Sum(v[0], {0, 2}, true);
           }},
          {"SoftmaxScalar", [](const Vars& v) { return Softmax(v[0], 0); }},
          {"SoftmaxVector", [](const Vars& v) { return Softmax(v[0]); }},
          {"SliceStep", [](const Vars& v) { return Slice(v[0], 2, 0, 4, 2); }},
          {"SliceBack", [](const Vars& v) { return Slice(v[0], 1, -2); }},
          {"SliceBeyond", [](const Vars& v) { return Slice(v[0], 1, 1, 99); }},
          {"MatMul", [](const Vars& v) { return MatMul(v[0], v[1]); }},
          {"MatMulStack", [](const Vars& v) { return MatMul(v[0], v[1]); }},
          {"MatMulBroadcast", [](const Vars& v) { return MatMul(v[0], v[1]); }},
          {"MatMulTransposed", [](const Vars& v) { return MatMul(v[0], v[1], true); }},
          {"MatMulVector", [](const Vars& v) { return MatMul(v[0], v[1]); }},
          {"VectorMatMul", [](const Vars& v) { return MatMul(v[0], v[1]); }},
          {"Dot", [](const Vars& v) { return MatMul(v[0], v[1]); }},
          {"Einsum", [](const Vars& v) { return Einsum("bij,bjk->ki", v); }},
          {"Flatten", [](const Vars& v) { return Flatten(v[0], 1); }},
          {"Squeeze", [](const Vars& v) { return Squeeze(v[0]); }},
          {"SqueezeLast", [](const Vars& v) { return Squeeze(v[0], {-1}); }},
          {"SqueezeNone", [](const Vars& v) { return Squeeze(v[0], {0}); }},
          {"BroadcastTo",
           [](const Vars& v) {
             return BroadcastTo(v[0], {2, 3});
           }},
          {"SwapAxes", [](const Vars& v) { return SwapAxes(v[0], 0, -1); }},
          {"Tile",
           [](const Vars& v) {
             return Tile(v[0], {2, 2});
           }},
          {"Pad",
           [](const Vars& v) {
             return Pad(v[0], {{0, 1}, {2, 0}}, 3);
           }},
          {"TopK", [](const Vars& v) { return TopK(v[0], 2).first; }},
          {"SplitSizes",
           [](const Vars& v) {
             return SplitSizes(v[0], 2, {1, -1})[1];
           }},
          {"Unstack", [](const Vars& v) { return Unstack(v[0], 1)[2]; }},
          {"OneHot", [](const Vars& v) { return OneHot(Cast(v[0], DType::kInt64), 3, DType::kDouble); }}};
}

// The indices of torch_ops.py's Gather.
Var Indices(const Var& x, int32_t axis) {
  std::vector<int64_t> dims(x.shape().dims().begin(), x.shape().dims().end());
  const auto at = static_cast<size_t>(axis < 0 ? axis + x.shape().rank() : axis);
  const int64_t count = dims[at];
  dims[at] = 2;
  const Shape shape = *Shape::Make(dims);
  std::vector<int64_t> indices;
  for (int64_t k = 0; k < shape.num_elements(); ++k) indices.push_back((3 * k + 1) % count);
  return ConstantLike(x, Tensor::Of<int64_t>(shape, indices));
}

std::map<std::string, OnAxis> AxisCalls() {
  return {{"Sum", [](const Vars& v, int32_t a) { return Sum(v[0], {a}); }},
          {"Mean", [](const Vars& v, int32_t a) { return Mean(v[0], {a}); }},
          {"Prod", [](const Vars& v, int32_t a) { return Prod(v[0], {a}); }},
          {"Max", [](const Vars& v, int32_t a) { return Max(v[0], {a}); }},
          {"Min", [](const Vars& v, int32_t a) { return Min(v[0], {a}); }},
          {"Variance", [](const Vars& v, int32_t a) { return Variance(v[0], {a}); }},
          {"LogSumExp", [](const Vars& v, int32_t a) { return LogSumExp(v[0], {a}); }},
          {"Norm", [](const Vars& v, int32_t a) { return Norm(v[0], {a}); }},
          {"Norm1", [](const Vars& v, int32_t a) { return Norm(v[0], {a}, false, 1); }},
          {"Norm3", [](const Vars& v, int32_t a) { return Norm(v[0], {a}, false, 3); }},
          {"Norminf", [](const Vars& v, int32_t a) { return Norm(v[0], {a}, false, kInfinity); }},
          {"Softmax", [](const Vars& v, int32_t a) { return Softmax(v[0], a); }},
          {"LogSoftmax", [](const Vars& v, int32_t a) { return LogSoftmax(v[0], a); }},
          {"CumSum", [](const Vars& v, int32_t a) { return CumSum(v[0], a); }},
          {"Argmax", [](const Vars& v, int32_t a) { return Argmax(v[0], a); }},
          {"Argmin", [](const Vars& v, int32_t a) { return Argmin(v[0], a); }},
          {"Unsqueeze", [](const Vars& v, int32_t a) { return Unsqueeze(v[0], a); }},
          {"SliceMiddle", [](const Vars& v, int32_t a) { return Slice(v[0], a, 1); }},
          {"SelectLast", [](const Vars& v, int32_t a) { return Select(v[0], a, -1); }},
          {"SelectFirst", [](const Vars& v, int32_t a) { return Select(v[0], a, 0); }},
          {"IndexSelect",
           [](const Vars& v, int32_t a) {
             return IndexSelect(v[0], a, {1, 0, 1});
           }},
          {"Stack", [](const Vars& v, int32_t a) { return Stack(v, a); }},
          {"Concat",
           [](const Vars& v, int32_t a) {
             return Concat({v[0], v[1], v[0]}, a);
           }},
          {"Flip", [](const Vars& v, int32_t a) { return Flip(v[0], {a}); }},
          {"Gather", [](const Vars& v, int32_t a) { return Gather(v[0], a, Indices(v[0], a)); }},
          {"GatherPart", [](const Vars& v, int32_t a) {
             const Var some = Slice(Slice(Slice(Indices(v[0], a), 0, 0, 1), 1, 0, 2), 2, 0, 2);
             return Gather(v[0], a, some);
           }}};
}

// The tensor of "SHAPE NUMBERS", words from the second on.
Tensor Parse(const std::vector<std::string>& words) {
  std::vector<int64_t> dims;
  if (words[1] != "s") {
    for (const absl::string_view dim : absl::StrSplit(words[1], 'x')) dims.push_back(std::stoll(std::string(dim)));
  }
  std::vector<double> numbers;
  for (size_t i = 2; i < words.size(); ++i) numbers.push_back(std::stod(words[i]));
  return Tensor::Of<double>(*Shape::Make(dims), numbers);
}

void ExpectSame(const Var& found, const Tensor& expected, const std::string& what) {
  ASSERT_OK(found.status()) << what;
  ASSERT_OK_AND_ASSIGN(const std::vector<double> numbers, found.Elements<double>());
  ASSERT_EQ(static_cast<int64_t>(numbers.size()), expected.num_elements()) << what;
  for (size_t i = 0; i < numbers.size(); ++i) {
    const double wanted = expected.flat<double>()[i];
    EXPECT_NEAR(numbers[i], wanted, 1e-9 * (1 + std::abs(wanted))) << what << ", element " << i;
  }
}

class TorchOpsTest : public TapeFixture {
 protected:
  Var Call(const std::string& name, const Vars& inputs) {
    const std::pair<std::string, std::string> parts = absl::StrSplit(name, absl::MaxSplits(' ', 1));
    const auto by_axis = by_axis_.find(parts.first);
    if (by_axis != by_axis_.end() && !parts.second.empty()) return by_axis->second(inputs, std::stoi(parts.second));
    for (const auto* const calls : {&elements_, &others_}) {
      const auto call = calls->find(name);
      if (call != calls->end()) return call->second(inputs);
    }
    return Var::Failed(absl::NotFoundError(name));
  }

  // A case: its name and lines. Three times, so that passes run as graphs, too.
  void Check(const std::string& name, const std::vector<std::vector<std::string>>& lines) {
    for (int i = 0; i < 3; ++i) {
      Vars inputs;
      for (const auto& words : lines) {
        if (words[0] == "in") inputs.push_back(tape_.Leaf(Parse(words)));
      }
      const Var out = Call(name, inputs);
      const Tensor expected = Parse(lines[inputs.size()]);
      ExpectSame(out, expected, name);
      EXPECT_EQ(out.shape(), expected.shape()) << name;
      if (!out.requires_grad()) {
        EXPECT_FALSE(HasGrad(lines)) << name;
        return;
      }
      std::vector<double> weights;
      for (int64_t k = 0; k < expected.num_elements(); ++k) weights.push_back(std::cos(static_cast<double>(k + 1)));
      const Var seed = tape_.Constant(Tensor::Of<double>(expected.shape(), weights));
      ASSERT_OK(tape_.Backward({out}, {seed})) << name;
      for (size_t k = 0; k < inputs.size(); ++k) {
        ExpectSame(inputs[k].grad(), Parse(lines[inputs.size() + 1 + k]), name + ", gradient");
      }
    }
  }
  // PyTorch gives zeros where an op like Floor has no gradient here.
  static bool HasGrad(const std::vector<std::vector<std::string>>& lines) {
    for (const auto& words : lines) {
      for (size_t i = 2; words[0] == "grad" && i < words.size(); ++i) {
        if (std::stod(words[i]) != 0) return true;
      }
    }
    return false;
  }

  const std::map<std::string, OnVars> elements_ = ElementCalls(), others_ = OtherCalls();
  const std::map<std::string, OnAxis> by_axis_ = AxisCalls();
};

TEST_F(TorchOpsTest, ValuesAndGradientsAreTorchs) {
  std::ifstream file("tests/executor/tape/torch_ops.txt");
  ASSERT_TRUE(file.is_open());
  std::string line, name;
  std::vector<std::vector<std::string>> lines;
  size_t cases = 0;
  const auto end_case = [&] {
    if (!name.empty()) Check(name, lines), ++cases;
    lines.clear();
  };
  while (std::getline(file, line)) {
    const std::vector<std::string> words = absl::StrSplit(line, ' ');
    if (words[0] == "in" || words[0] == "out" || words[0] == "grad") {
      lines.push_back(words);
      continue;
    }
    end_case();
    name = line;
  }
  end_case();
  EXPECT_GE(cases, elements_.size() + others_.size() + 3 * by_axis_.size());
}

TEST_F(TorchOpsTest, WhatDoesNotFitFails) {
  const Var x = Leaf(Shape::Of({2, 3}), {1, 2, 3, 4, 5, 6});
  EXPECT_THAT(Softmax(x, 2).status(), IsError(ErrorCode::kOpShape, "has no axis 2"));
  EXPECT_THAT(SwapAxes(x, 0, -3).status(), IsError(ErrorCode::kOpShape));
  EXPECT_FALSE(Select(x, 0, 2).status().ok());
  EXPECT_FALSE(Select(x, 0, -3).status().ok());
  EXPECT_FALSE(IndexSelect(x, 1, {3}).status().ok());
  EXPECT_FALSE(Gather(x, 1, tape_.Constant<int64_t>({{3}})).status().ok());
  EXPECT_THAT(Gather(x, 1, tape_.Constant<int64_t>({0})).status(), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(Gather(x, 1, tape_.Constant<int64_t>({{0}, {0}, {0}})).status(), IsError(ErrorCode::kOpShape, "axis 0"));
  EXPECT_THAT(MatMul(x, Constant({1, 2, 3}), false, true).status(), IsError(ErrorCode::kOpShape, "vector"));
  EXPECT_FALSE(Reshape(x, {4}).status().ok());
  EXPECT_FALSE(Stack({}).status().ok());
  EXPECT_FALSE(Concat({}, 0).status().ok());
  EXPECT_THAT(Flatten(x, 1, 0).status(), IsError(ErrorCode::kOpShape));
  EXPECT_THAT(Squeeze(Var(), {0}).status(), IsError(ErrorCode::kTapeUndefined));
  const Var failed = Var::Failed(absl::AbortedError("first"));
  for (const Var& y :
       {Softmax(failed), Slice(failed, 0, 1), MatMul(failed, x), MatMul(x, failed), Norm(failed), Clip(failed, 0, 1),
        Gather(failed, 0, x), Gather(x, 0, failed), Variance(failed), LogSumExp(failed), Unstack(failed)[0],
        OneHot(failed, 2), Flatten(failed), FullLike(failed, 1)}) {
    EXPECT_THAT(y.status(), StatusIs(absl::StatusCode::kAborted, "first"));
  }
}

}  // namespace
}  // namespace sluice
