#ifndef SLUICE_TESTS_EXECUTOR_GRADIENTS_ROW_CASE_H_
#define SLUICE_TESTS_EXECUTOR_GRADIENTS_ROW_CASE_H_

// One node whose gradients are checked against differences of its outputs; see numeric_check.h. Tables of cases stand
// in *_cases.cc, one for each group of families.

#include <complex>
#include <cstdint>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/value/tensor.h"

namespace sluice {

// One operand.
struct RowArg {
  enum class Kind {
    kVariable,  // Has a gradient.
    kConstant,  // Has none, or is not asked for.
    kHandle,    // The handle of a variable with this value, which has a gradient.
  };
  Kind kind = Kind::kVariable;
  Tensor value = {};  // Variables are float64 or complex128.
};

struct RowCase {
  std::string name;  // The op, and behind a '/' what is special.
  std::vector<RowArg> args = {};
  GraphBuilder::Attrs attrs = {};
  // The first order is exact to `tolerance`, relative to the largest element. 0: what float64 allows.
  double tolerance = 0;
  // 2: the gradients of the gradients, too.
  int orders = 2;
  // The outputs that are differentiated; all of them where empty.
  std::vector<int> outputs = {};
  // The op has kernels for float32 only: variables are cast on their way to it.
  bool in_float = false;
  // Of the graph, for ops that newer ones may not hold. 0: today's.
  int graph_version = 0;

  std::string op() const { return name.substr(0, name.find('/')); }
};

// How gtest prints it.
inline void PrintTo(const RowCase& row_case, std::ostream* out) { *out << row_case.name; }

// --- Operands --------------------------------------------------------------------------------------------------------
// Numbers between `low` and `high`, others for each seed.
RowArg X(std::initializer_list<int64_t> shape, double low = -1, double high = 1, uint32_t seed = 1);
// The same in a square of the complex plane.
RowArg Z(std::initializer_list<int64_t> shape, double low = -1, double high = 1, uint32_t seed = 1);
// Exactly these.
RowArg V(std::initializer_list<int64_t> shape, std::vector<double> values);
RowArg Handle(RowArg value);
// The same value as a constant.
RowArg Fixed(RowArg value);
RowArg I(int32_t value);
RowArg Is(std::vector<int32_t> values);
RowArg Is(std::initializer_list<int64_t> shape, std::vector<int32_t> values);
RowArg L(int64_t value);
RowArg Ls(std::vector<int64_t> values);
RowArg Ls(std::initializer_list<int64_t> shape, std::vector<int64_t> values);
RowArg Bs(std::initializer_list<int64_t> shape, std::vector<bool> values);
RowArg F(double value);  // A constant float64 scalar.
RowArg Floats(std::initializer_list<int64_t> shape, std::vector<float> values);

// --- The tables ------------------------------------------------------------------------------------------------------
std::vector<RowCase> ElementCases();
std::vector<RowCase> ArrayCases();
std::vector<RowCase> IndexCases();
std::vector<RowCase> ReductionCases();
std::vector<RowCase> NetworkCases();
std::vector<RowCase> SparseCases();
std::vector<RowCase> EmptyCases();

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_GRADIENTS_ROW_CASE_H_
