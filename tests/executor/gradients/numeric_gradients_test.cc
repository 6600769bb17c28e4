// Every row of the table of gradients, against differences of what the executor computes; see numeric_check.h.

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <set>
#include <string>
#include <vector>

#include "graph/gradients/gradient_table.h"
#include "gtest/gtest.h"
#include "tests/executor/gradients/numeric_check.h"
#include "tests/executor/gradients/row_case.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

std::vector<RowCase> AllCases() {
  std::vector<RowCase> all;
  for (const std::vector<RowCase>& some :
       {ElementCases(), ArrayCases(), IndexCases(), ReductionCases(), NetworkCases(), SparseCases(), EmptyCases()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

class NumericGradientsTest : public ::testing::TestWithParam<RowCase> {
 protected:
  static void TearDownTestSuite() {
    for (int in_float = 0; in_float < 2; ++in_float) {
      for (int order = 0; order < 2; ++order) {
        const Worst& worst = worst_[in_float][order];
        std::printf("order %d: %d checks in float%d, worst relative error %.1e (%s)\n", order + 1, worst.count,
                    in_float != 0 ? 32 : 64, worst.error, worst.name.c_str());
      }
    }
  }

  void Check(KnownBefore known) {
    const RowCase& row_case = GetParam();
    ASSERT_OK_AND_ASSIGN(const std::vector<double> errors, NumericErrors(row_case, known));
    const double allowed = row_case.tolerance > 0 ? row_case.tolerance : 1e-9;
    for (size_t order = 0; order < errors.size(); ++order) {
      EXPECT_LE(errors[order], allowed) << "of order " << order + 1;
      Worst& worst = worst_[row_case.in_float ? 1 : 0][order];
      ++worst.count;
      if (errors[order] > worst.error) worst = {worst.count, errors[order], row_case.name};
    }
  }

 private:
  struct Worst {
    int count = 0;
    double error = 0;
    std::string name;
  };
  static Worst worst_[2][2];  // Whether in float32, and by order.
};
NumericGradientsTest::Worst NumericGradientsTest::worst_[2][2];

TEST_P(NumericGradientsTest, AllKnownBefore) { Check(KnownBefore::kAll); }
TEST_P(NumericGradientsTest, NothingKnownBefore) { Check(KnownBefore::kNothing); }

INSTANTIATE_TEST_SUITE_P(Rows, NumericGradientsTest, ::testing::ValuesIn(AllCases()),
                         [](const ::testing::TestParamInfo<RowCase>& info) {
                           std::string name = std::to_string(info.index) + "_" + info.param.name;
                           std::replace_if(
                               name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
                           return name;
                         });

// Rows that no case here checks. May only shrink.
constexpr const char* kNotChecked[] = {
    // Only passed through by AddGradients, or refused.
    "PreventGradient",
    "RefIdentity",
    "_ReadVariablesOp",
    "_SwitchN",
    // Control flow and collections make sense among others of their kind: tests/graph/gradients.
    "Merge",
    "RefMerge",
    "RefSwitch",
    "Switch",
    "TensorArrayConcatV3",
    "TensorArrayGatherV3",
    "TensorArrayReadV3",
    "TensorArrayScatterV3",
    "TensorArraySplitV3",
    "TensorArrayWriteV3",
    "TensorListConcat",
    "TensorListConcatV2",
    "TensorListFromTensor",
    "TensorListGather",
    "TensorListGetItem",
    "TensorListPopBack",
    "TensorListPushBack",
    "TensorListResize",
    "TensorListScatter",
    "TensorListScatterIntoExistingList",
    "TensorListScatterV2",
    "TensorListSetItem",
    "TensorListSplit",
    "TensorListStack",
    // Take statistics of x as operands of their own; checked by the second order of FusedBatchNorm.
    "FusedBatchNormGrad",
    "FusedBatchNormGradV2",
    "FusedBatchNormGradV3",
    // Random: what they give does not follow their operands smoothly; random_gradients_test.
    "RandomGamma",
    "StatelessParameterizedTruncatedNormal",
    "StatelessRandomGammaV2",
    "StatelessRandomGammaV3",
    // Of variants, which are not fed: container_gradients_test.
    "OptionalFromValue",
    "OptionalGetValue",
    "RaggedTensorFromVariant",
    "RaggedTensorToVariant",
    "TensorMapErase",
    "TensorMapInsert",
    "TensorMapLookup",
    // Of floats only, as MatMul otherwise.
    "SparseMatMul",
    // Without a kernel yet.
    "BandedTriangularSolve",
    "Cholesky",
    "LogMatrixDeterminant",
    "MatrixDeterminant",
    "MatrixInverse",
    "MatrixSolve",
    "MatrixSolveLs",
    "MatrixSquareRoot",
    "MatrixTriangularSolve",
    "Qr",
    "SelfAdjointEigV2",
    "Svd",
    "TridiagonalMatMul",
    "TridiagonalSolve",
    "CTCLossV2",
    "FakeQuantWithMinMaxArgs",
    "FakeQuantWithMinMaxVars",
    "FakeQuantWithMinMaxVarsPerChannel",
    "QuantizeAndDequantize",
    "QuantizeAndDequantizeV2",
    "QuantizeAndDequantizeV3",
    "QuantizeAndDequantizeV4",
};

TEST(NumericGradientsTest, EveryRowHasACase) {
  std::set<std::string> checked;
  for (const RowCase& row_case : AllCases()) checked.insert(row_case.op());
  const std::set<std::string> not_checked(std::begin(kNotChecked), std::end(kNotChecked));
  for (const absl::Span<const GradientRow> family : GradientFamilies()) {
    for (const GradientRow& row : family) {
      if (row.kind != GradientRow::Kind::kFunction) continue;
      const std::string op(row.op);
      EXPECT_NE(checked.count(op), not_checked.count(op)) << op;
    }
  }
}

}  // namespace
}  // namespace sluice
