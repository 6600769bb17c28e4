// Cases of ops that work element by element.

#include "tests/executor/gradients/row_case.h"

namespace sluice {
namespace {

RowCase Of(const char* name, RowArg x) { return {name, {std::move(x)}}; }

// Ops of one operand on real numbers, where they are smooth.
void AddReal(std::vector<RowCase>& cases) {
  for (const char* op : {"Neg", "Square", "Exp", "Expm1", "Sin", "Cos", "Sinh", "Cosh", "Tanh", "Asinh", "Atan",
                         "Sigmoid", "Erf", "Erfc", "Softplus", "Softsign", "Elu", "Selu", "Identity"}) {
    cases.push_back(Of(op, X({2, 3}, -0.9, 1.1)));
  }
  for (const char* op : {"Abs", "Relu", "Relu6", "LeakyRelu", "Sign"}) {
    cases.push_back(Of(op, V({2, 3}, {-1.5, -0.5, 0.25, 0.75, 2, 7})));
  }
  for (const char* op : {"Asin", "Acos", "Atanh", "Tan", "Erfinv"}) cases.push_back(Of(op, X({2, 3}, -0.7, 0.7)));
  for (const char* op : {"Log", "Log1p", "Sqrt", "Rsqrt", "Reciprocal", "Inv", "Lgamma", "Digamma"}) {
    cases.push_back(Of(op, X({2, 3}, 0.5, 2.5)));
  }
  for (const char* op :
       {"BesselI0", "BesselI0e", "BesselI1", "BesselI1e", "BesselJ0", "BesselJ1", "BesselK0", "BesselK0e", "BesselK1",
        "BesselK1e", "BesselY0", "BesselY1", "Dawsn", "Expint", "FresnelCos", "FresnelSin", "Spence"}) {
    cases.push_back(Of(op, X({2, 3}, 0.5, 2.5)));
  }
  cases.push_back({"IsotonicRegression", {V({2, 4}, {3, 1, 2, 0.5, -1, 2, 1, 0})}, {{"output_dtype", DType::kDouble}}});
  cases.push_back(Of("Acosh", X({2, 3}, 1.5, 3)));
  cases.push_back(Of("Ndtri", X({2, 3}, 0.2, 0.8)));
  cases.push_back({"LeakyRelu/alpha", {V({3}, {-2, 0.5, 3})}, {{"alpha", 0.3f}}});
  for (const char* op : {"Softmax", "LogSoftmax"}) cases.push_back(Of(op, X({2, 4}, -2, 2)));
}

void AddComplex(std::vector<RowCase>& cases) {
  for (const char* op : {"Neg",   "Square", "Exp",     "Expm1", "Sin",   "Cos",  "Sinh",    "Cosh",       "Tanh",
                         "Asinh", "Atan",   "Sigmoid", "Log",   "Log1p", "Sqrt", "Rsqrt",   "Reciprocal", "Inv",
                         "Tan",   "Asin",   "Acos",    "Acosh", "Atanh", "Conj", "Identity"}) {
    cases.push_back({std::string(op) + "/complex", {Z({2, 2}, 0.2, 0.9)}});
  }
  cases.push_back({"Real", {Z({2, 2})}, {{"Tout", DType::kDouble}}});
  cases.push_back({"Imag", {Z({2, 2})}, {{"Tout", DType::kDouble}}});
  cases.push_back({"Angle", {Z({2, 2}, 0.3, 1)}, {{"Tout", DType::kDouble}}});
  cases.push_back({"ComplexAbs", {Z({2, 2}, 0.3, 1)}, {{"Tout", DType::kDouble}}});
  cases.push_back({"Complex", {X({2, 3}), X({3}, -1, 1, 2)}, {{"Tout", DType::kComplex128}}});
  for (const char* op : {"Mul", "Sub", "AddV2", "RealDiv", "DivNoNan", "SquaredDifference", "Pow", "Xlogy", "Xdivy"}) {
    cases.push_back({std::string(op) + "/complex", {Z({2, 2}, 0.4, 1.2), Z({2}, 0.4, 1.2, 2)}});
  }
}

void AddPairs(std::vector<RowCase>& cases) {
  for (const char* op : {"Add", "AddV2", "Sub", "Mul", "Div", "RealDiv", "DivNoNan", "MulNoNan", "Maximum", "Minimum",
                         "SquaredDifference", "Atan2", "Pow", "Xlogy", "Xlog1py", "Xdivy"}) {
    const std::string name = op;
    cases.push_back({name, {X({2, 3}, 0.5, 2), X({2, 3}, 0.5, 2, 2)}});
    cases.push_back({name + "/broadcasts", {X({2, 1, 3}, 0.5, 2), X({2, 1}, 0.5, 2, 2)}});
    cases.push_back({name + "/scalar", {X({}, 0.5, 2), X({2, 2}, 0.5, 2, 2)}});
  }
  for (const char* op : {"FloorMod", "Mod", "TruncateMod"}) {
    cases.push_back({op, {V({2, 2}, {7.3, -5.2, 3.3, 9.1}), V({2}, {2.1, 3.4})}});
  }
  cases.push_back({"Igamma", {Fixed(X({3}, 1, 2)), X({3}, 0.5, 2, 2)}});
  cases.push_back({"Igammac", {Fixed(X({3}, 1, 2)), X({3}, 0.5, 2, 2)}});
  cases.push_back({"Igamma/of_a", {X({3}, 1, 2), Fixed(X({2, 1}, 0.5, 2, 2))}, {}, 1e-5, 1});
  cases.push_back({"Betainc", {Fixed(X({3}, 1, 2)), Fixed(X({3}, 1, 2, 2)), X({3}, 0.2, 0.8, 3)}});
  cases.push_back({"Zeta", {Fixed(X({3}, 2, 4)), X({3}, 1, 3, 2)}});
  cases.push_back({"Polygamma", {Fixed(V({3}, {1, 2, 3})), X({2, 3}, 1, 3)}});
  cases.push_back({"NextAfter", {X({2, 2}), X({2}, 2, 3)}});
  cases.push_back({"Cross", {X({2, 3}), X({2, 3}, -1, 1, 2)}});
  cases.push_back({"ClipByValue", {V({2, 2}, {-2, -0.5, 0.5, 2}), X({}, -1.1, -0.9), X({}, 0.9, 1.1)}});
  cases.push_back({"AddN", {X({2}), X({2}, -1, 1, 2), X({2}, -1, 1, 3)}});
  cases.push_back({"GradSum", {X({2}), X({2}, -1, 1, 2), X({2}, -1, 1, 3)}});
  cases.push_back({"AccumulateNV2", {X({2}), X({2}, -1, 1, 2)}, {{"shape", Shape::Of({2})}}});
  cases.push_back({"Cast", {X({2, 2})}, {{"DstT", DType::kComplex128}}});
  cases.push_back({"Select", {Bs({2}, {true, false}), X({2, 3}), X({2, 3}, -1, 1, 2)}});
  cases.push_back({"SelectV2", {Bs({2, 1}, {true, false}), X({3}), X({2, 3}, -1, 1, 2)}});
}

// Ops (result or operand, gradient) -> gradient.
void AddGradients(std::vector<RowCase>& cases) {
  for (const char* op : {"ReciprocalGrad", "InvGrad", "SqrtGrad", "RsqrtGrad", "SigmoidGrad", "TanhGrad"}) {
    cases.push_back({op, {X({2, 3}, 0.3, 0.9), X({2, 3}, 0.5, 2, 2)}});
    cases.push_back({std::string(op) + "/complex", {Z({2}, 0.3, 0.9), Z({2}, 0.5, 2, 2)}});
  }
  for (const char* op :
       {"SoftplusGrad", "SoftsignGrad", "EluGrad", "SeluGrad", "ReluGrad", "Relu6Grad", "LeakyReluGrad"}) {
    cases.push_back({op, {X({4}, 0.5, 2), V({4}, {-1.5, -0.5, 0.5, 2})}});
  }
}

}  // namespace

std::vector<RowCase> ElementCases() {
  std::vector<RowCase> cases;
  AddReal(cases);
  AddComplex(cases);
  AddPairs(cases);
  AddGradients(cases);
  return cases;
}

}  // namespace sluice
