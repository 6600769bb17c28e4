// D09: gradcheck and gradgradcheck. Each case of the table of gradients, called on a tape, against differences of what
// the tape computes; the graphs of the same rows are checked by tests/executor/gradients/numeric_gradients_test.cc.

#include <algorithm>
#include <cctype>
#include <cmath>
#include <complex>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "gtest/gtest.h"
#include "tests/executor/gradients/row_case.h"
#include "tests/executor/tape/tape_fixture.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// Those that a tape can call: not of variables' handles, which belong to sessions, nor of ops that today's graphs may
// not hold.
std::vector<RowCase> TapeCases() {
  std::vector<RowCase> cases;
  for (const std::vector<RowCase>& some :
       {ElementCases(), ArrayCases(), IndexCases(), ReductionCases(), NetworkCases(), SparseCases(), EmptyCases()}) {
    for (const RowCase& row_case : some) {
      const bool has_handle = std::any_of(row_case.args.begin(), row_case.args.end(),
                                          [](const RowArg& arg) { return arg.kind == RowArg::Kind::kHandle; });
      if (!has_handle && row_case.graph_version == 0) cases.push_back(row_case);
    }
  }
  return cases;
}

// A tensor of random numbers between 0.25 and 1.25, of the shape and type of `like`.
Tensor RandomLike(const Tensor& like, uint32_t seed) {
  std::mt19937 random(seed);
  const auto next = [&random] { return 0.25 + random() / 4294967296.0; };
  const auto size = static_cast<size_t>(like.num_elements());
  if (like.dtype() == DType::kComplex128) {
    std::vector<std::complex<double>> values(size);
    for (auto& value : values) value = {next(), next()};
    return Tensor::Of<std::complex<double>>(like.shape(), values);
  }
  std::vector<double> values(size);
  for (double& value : values) value = next();
  return Tensor::Of<double>(like.shape(), values);
}

// a + step * b, both of float64 or complex128.
Tensor Moved(const Tensor& a, const Tensor& b, double step) {
  const auto add = [&](auto zero) {
    using T = decltype(zero);
    const absl::Span<const T> x = a.flat<T>(), y = b.flat<T>();
    std::vector<T> values(x.begin(), x.end());
    for (size_t i = 0; i < values.size(); ++i) values[i] += step * y[i];
    return Tensor::Of<T>(a.shape(), values);
  };
  return a.dtype() == DType::kComplex128 ? add(std::complex<double>()) : add(0.0);
}

class OpGradientsTest : public TapeFixture, public ::testing::WithParamInterface<RowCase> {
 protected:
  // The sum of real parts times those of `weights`, and of imaginary ones likewise.
  Var Weighted(const Var& x, const Tensor& weights) {
    if (x.dtype() != DType::kComplex128) return Sum(x * tape_.Constant(weights));
    const auto part = [&](const char* op) {
      return Sum(CallOp(op, {x}, {{"Tout", DType::kDouble}}) *
                 CallOp(op, {tape_.Constant(weights)}, {{"Tout", DType::kDouble}}));
    };
    return part("Real") + part("Imag");
  }

  // In float32 where the case says so, and back.
  static Var InFloat(const Var& x) {
    if (x.dtype() == DType::kDouble) return Cast(x, DType::kFloat);
    return x.dtype() == DType::kComplex128 ? Cast(x, DType::kComplex64) : x;
  }
  static Var InDouble(const Var& x) {
    if (x.dtype() == DType::kFloat) return Cast(x, DType::kDouble);
    return x.dtype() == DType::kComplex64 ? Cast(x, DType::kComplex128) : x;
  }

  // The op's outputs, weighted by random numbers and added up.
  Var Value(const std::vector<Var>& variables) {
    const RowCase& row_case = GetParam();
    std::vector<Var> inputs;
    size_t next = 0;
    for (const RowArg& arg : row_case.args) {
      const Var x = arg.kind == RowArg::Kind::kVariable ? variables[next++] : tape_.Constant(arg.value);
      inputs.push_back(row_case.in_float ? InFloat(x) : x);
    }
    const std::vector<Var> outputs = tape_.Op(row_case.op(), inputs, row_case.attrs);
    Var sum = tape_.Constant(Tensor::Scalar(0.0));
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!outputs[i].status().ok()) return outputs[i];
      const std::vector<int>& chosen = row_case.outputs;
      if (!chosen.empty() && std::find(chosen.begin(), chosen.end(), static_cast<int>(i)) == chosen.end()) continue;
      const Var y = InDouble(outputs[i]);
      if (y.dtype() != DType::kDouble && y.dtype() != DType::kComplex128) continue;
      sum = sum + Weighted(y, RandomLike(y.value(), static_cast<uint32_t>(17 + i)));
    }
    return sum;
  }

  std::vector<Var> Leaves(const std::vector<Tensor>& at) {
    std::vector<Var> leaves;
    for (const Tensor& value : at) leaves.push_back(tape_.Leaf(value));
    return leaves;
  }

  // The derivative of the value at `at` along `directions`, recorded if `is_recorded`.
  absl::StatusOr<Var> Slope(const std::vector<Var>& leaves, const std::vector<Tensor>& directions, bool is_recorded) {
    return SlopeOf(Value(leaves), leaves, directions, is_recorded);
  }
  absl::StatusOr<Var> SlopeOf(const Var& y, const std::vector<Var>& leaves, const std::vector<Tensor>& directions,
                              bool is_recorded) {
    SLUICE_RETURN_IF_ERROR(y.status());
    Var sum = tape_.Constant(Tensor::Scalar(0.0));
    if (!y.requires_grad()) return sum;
    GradOptions options;
    options.create_graph = is_recorded;
    options.allow_unused = true;
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Var> grads, tape_.Grad({y}, leaves, {}, options));
    for (size_t i = 0; i < grads.size(); ++i) {
      if (grads[i].defined()) sum = sum + Weighted(grads[i], directions[i]);
    }
    SLUICE_RETURN_IF_ERROR(sum.status());
    return sum;
  }

  static absl::StatusOr<double> NumberOf(const absl::StatusOr<Var>& var) {
    SLUICE_RETURN_IF_ERROR(var.status());
    SLUICE_RETURN_IF_ERROR(var->status());
    return var->value().flat<double>()[0];
  }

  // The difference quotient of `value` at `at` along `directions`.
  template <typename Function>
  absl::StatusOr<double> Quotient(const std::vector<Tensor>& at, const std::vector<Tensor>& directions,
                                  Function value) {
    const double step = GetParam().in_float ? 1e-2 : 1e-5;
    double ends[2] = {};
    for (int side = 0; side < 2; ++side) {
      std::vector<Tensor> moved;
      for (size_t i = 0; i < at.size(); ++i) moved.push_back(Moved(at[i], directions[i], side == 0 ? -step : step));
      SLUICE_ASSIGN_OR_RETURN(ends[side], NumberOf(value(Leaves(moved))));
    }
    return (ends[1] - ends[0]) / (2 * step);
  }

  static void ExpectSameBits(const Var& found, const Var& expected) {
    ASSERT_EQ(found.defined(), expected.defined());
    if (!found.defined()) return;
    ASSERT_EQ(found.dtype(), expected.dtype());
    ASSERT_EQ(found.shape(), expected.shape());
    if (found.value().num_elements() == 0) return;
    const Tensor &a = found.value(), &b = expected.value();
    EXPECT_EQ(std::memcmp(a.raw_data(), b.raw_data(), a.total_bytes()), 0);
  }

  void ExpectClose(double found, double expected, const char* what) {
    const double relative = GetParam().in_float ? 5e-2 : std::max(1e-5, 10 * GetParam().tolerance);
    EXPECT_LE(std::abs(found - expected), relative * (1 + std::abs(expected))) << what << ": " << found << ", by "
                                                                               << "differences " << expected;
  }
};

TEST_P(OpGradientsTest, D09AgreesWithDifferences) {
  std::vector<Tensor> at, along, across;
  for (const RowArg& arg : GetParam().args) {
    if (arg.kind != RowArg::Kind::kVariable) continue;
    at.push_back(arg.value);
    along.push_back(RandomLike(arg.value, static_cast<uint32_t>(at.size())));
    across.push_back(RandomLike(arg.value, static_cast<uint32_t>(100 + at.size())));
  }
  ASSERT_OK_AND_ASSIGN(const double first, NumberOf(Slope(Leaves(at), along, false)));
  const auto value = [this](const std::vector<Var>& leaves) -> absl::StatusOr<Var> { return Value(leaves); };
  ASSERT_OK_AND_ASSIGN(const double expected, Quotient(at, along, value));
  ExpectClose(first, expected, "first order");
  if (GetParam().orders < 2) return;
  const std::vector<Var> leaves = Leaves(at);
  ASSERT_OK_AND_ASSIGN(const Var slope, Slope(leaves, along, true));
  ASSERT_OK_AND_ASSIGN(const double second, NumberOf(SlopeOf(slope, leaves, across, false)));
  const auto slopes = [&](const std::vector<Var>& moved) { return Slope(moved, along, false); };
  ASSERT_OK_AND_ASSIGN(const double of_slopes, Quotient(at, across, slopes));
  ExpectClose(second, of_slopes, "second order");
}

// The same passes node by node, which the first one is, and as a compiled graph, which later ones are.
TEST_P(OpGradientsTest, GraphsGiveTheSameBitsAsNodes) {
  std::vector<Tensor> at, along;
  for (const RowArg& arg : GetParam().args) {
    if (arg.kind != RowArg::Kind::kVariable) continue;
    at.push_back(arg.value);
    along.push_back(RandomLike(arg.value, static_cast<uint32_t>(at.size())));
  }
  for (int order = 1; order <= std::min(GetParam().orders, 2); ++order) {
    std::vector<std::vector<Var>> passes;
    const int64_t known = tape_.NumPassesOfKnownStructure();
    for (int pass = 0; pass < 4; ++pass) {
      const std::vector<Var> leaves = Leaves(at);
      absl::StatusOr<Var> root = Value(leaves);
      if (order == 2) root = SlopeOf(*root, leaves, along, /*is_recorded=*/true);
      ASSERT_OK(root.status());
      if (!root->requires_grad()) return;
      GradOptions options;
      options.allow_unused = true;
      ASSERT_OK_AND_ASSIGN(std::vector<Var> grads, tape_.Grad({*root}, leaves, {}, options));
      passes.push_back(std::move(grads));
      if (pass == 0) {
        EXPECT_EQ(tape_.NumPassesOfKnownStructure(), known);
      }
    }
    EXPECT_GT(tape_.NumPassesOfKnownStructure(), known) << "no pass ran as a graph";
    for (size_t pass = 1; pass < passes.size(); ++pass) {
      for (size_t i = 0; i < at.size(); ++i) ExpectSameBits(passes[pass][i], passes[0][i]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, OpGradientsTest, ::testing::ValuesIn(TapeCases()),
                         [](const ::testing::TestParamInfo<RowCase>& info) {
                           std::string name = absl::StrCat(info.index, "_", info.param.name);
                           std::replace_if(
                               name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

}  // namespace
}  // namespace sluice
