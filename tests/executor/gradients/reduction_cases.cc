// Cases of reductions, products of matrices and Fourier transforms.

#include "tests/executor/gradients/row_case.h"

namespace sluice {
namespace {

void AddReductions(std::vector<RowCase>& cases) {
  for (const char* op : {"Sum", "Mean", "Prod", "Max", "Min", "EuclideanNorm"}) {
    const std::string name = op;
    cases.push_back({name, {X({2, 3, 2}, 0.5, 2), Is({1})}});
    cases.push_back({name + "/several", {X({2, 3, 2}, 0.5, 2), Is({-1, 0})}});
    cases.push_back({name + "/leading", {X({2, 3, 2}, 0.5, 2), Is({0, 1})}});
    cases.push_back({name + "/all", {X({2, 3}, 0.5, 2), Is({0, 1})}});
    cases.push_back({name + "/kept", {X({2, 3}, 0.5, 2), I(1)}, {{"keep_dims", true}}});
    cases.push_back({name + "/none", {X({2}, 0.5, 2), Is({})}});
  }
  for (const char* op : {"Sum/complex", "Mean/complex", "Prod/complex"}) {
    cases.push_back({op, {Z({2, 3}, 0.5, 2), Is({1})}});
  }
  // The second derivative divides by what is zero here.
  cases.push_back({"Prod/zero", {V({3}, {2, 0, 3}), Is({0})}, {}, 0, 1});
  for (const char* op : {"Cumsum", "Cumprod", "CumulativeLogsumexp"}) {
    for (const bool exclusive : {false, true}) {
      // The first sums are empty, that is the lowest number, which has no finite differences.
      if (exclusive && std::string(op) == "CumulativeLogsumexp") continue;
      for (const bool reverse : {false, true}) {
        const std::string form = std::string(exclusive ? "/exclusive" : "/") + (reverse ? "_reverse" : "");
        cases.push_back({op + form, {X({2, 3}, 0.5, 2), I(1)}, {{"exclusive", exclusive}, {"reverse", reverse}}});
      }
    }
  }
  cases.push_back({"Cumsum/complex", {Z({3}), I(0)}});
  cases.push_back({"Cumprod/complex", {Z({3}, 0.5, 2), I(0)}});
  cases.push_back({"L2Loss", {X({2, 3})}});
  cases.push_back({"BiasAdd", {X({2, 3, 2}), X({2}, -1, 1, 2)}});
  cases.push_back({"BiasAdd/channels_first", {X({2, 3, 2, 2}), X({3}, -1, 1, 2)}, {{"data_format", "NCHW"}}});
  cases.push_back({"BiasAddV1", {X({2, 2}), X({2}, -1, 1, 2)}});
  cases.push_back({"BiasAddGrad", {X({2, 3, 2})}});
  cases.push_back({"BiasAddGrad/channels_first", {X({2, 3, 2, 2})}, {{"data_format", "NCHW"}}});
}

void AddProducts(std::vector<RowCase>& cases) {
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      const std::string form = std::string(ta ? "/a" : "/") + (tb ? "b" : "");
      const auto a = [&](auto make, uint32_t seed) { return ta ? make({3, 2}, seed) : make({2, 3}, seed); };
      const auto b = [&](auto make, uint32_t seed) { return tb ? make({4, 3}, seed) : make({3, 4}, seed); };
      const auto real = [](std::initializer_list<int64_t> shape, uint32_t seed) { return X(shape, -1, 1, seed); };
      const auto complex = [](std::initializer_list<int64_t> shape, uint32_t seed) { return Z(shape, -1, 1, seed); };
      const GraphBuilder::Attrs plain = {{"transpose_a", ta}, {"transpose_b", tb}},
                                adjoint = {{"adj_x", ta}, {"adj_y", tb}};
      cases.push_back({"MatMul" + form, {a(real, 1), b(real, 2)}, plain});
      cases.push_back({"MatMul" + form + "_complex", {a(complex, 1), b(complex, 2)}, plain});
      cases.push_back({"BatchMatMul" + form, {a(real, 1), b(real, 2)}, adjoint});
      cases.push_back({"BatchMatMulV2" + form + "_complex", {a(complex, 1), b(complex, 2)}, adjoint});
      cases.push_back({"BatchMatMulV3" + form, {a(real, 1), b(real, 2)}, adjoint});
      cases.back().attrs.push_back({"Tout", DType::kDouble});
    }
  }
  cases.push_back({"BatchMatMulV2/broadcasts", {X({2, 1, 2, 3}), X({3, 3, 2}, -1, 1, 2)}});
  for (const char* equation : {"ab,bc->ac", "ab->ba", "ab->a", "aab->b", "ab,cb->a", "ab,ab->", "abc,cd->abd", "ii->i",
                               "i->ii", "...ab,...bc->...ac", "ab,...bc->...ac", "ab,c->cb", "abc->ca"}) {
    RowCase row = {std::string("Einsum/") + equation, {}, {{"equation", equation}}};
    const std::string text = equation, left = text.substr(0, text.find("->"));
    if (text == "...ab,...bc->...ac") row.args = {X({2, 1, 2, 3}), X({2, 3, 2}, -1, 1, 2)};
    if (text == "ab,...bc->...ac") row.args = {X({2, 3}), X({2, 3, 2}, -1, 1, 2)};
    if (text == "ab,c->cb") row.args = {X({2, 3}), X({2}, -1, 1, 2)};
    if (text == "ab,bc->ac") row.args = {Z({2, 3}), Z({3, 2}, -1, 1, 2)};
    if (text == "ab,cb->a" || text == "ab,ab->") row.args = {X({2, 3}), X({2, 3}, -1, 1, 2)};
    if (text == "abc,cd->abd") row.args = {X({2, 2, 3}), X({3, 2}, -1, 1, 2)};
    if (left == "ab") row.args = {X({2, 3})};
    if (left == "aab") row.args = {X({2, 2, 3})};
    if (left == "ii") row.args = {X({3, 3})};
    if (left == "i") row.args = {X({3})};
    if (left == "abc") row.args = {X({2, 3, 2})};
    cases.push_back(row);
  }
}

void AddTransforms(std::vector<RowCase>& cases) {
  for (const char* op : {"FFT", "IFFT"}) cases.push_back({op, {Z({2, 3})}});
  for (const char* op : {"FFT2D", "IFFT2D"}) cases.push_back({op, {Z({2, 3})}});
  for (const char* op : {"FFT3D", "IFFT3D"}) cases.push_back({op, {Z({2, 2, 3})}});
  const GraphBuilder::Attrs forward = {{"Tcomplex", DType::kComplex128}}, back = {{"Treal", DType::kDouble}};
  cases.push_back({"RFFT", {X({2, 4}), Is({4})}, forward});
  cases.push_back({"RFFT/odd", {X({5}), Is({5})}, forward});
  cases.push_back({"RFFT/cut", {X({5}), Is({4})}, forward});
  cases.push_back({"RFFT2D", {X({3, 4}), Is({3, 4})}, forward});
  cases.push_back({"RFFT3D", {X({2, 2, 3}), Is({2, 2, 3})}, forward});
  cases.push_back({"IRFFT", {Z({2, 3}), Is({4})}, back});
  cases.push_back({"IRFFT/odd", {Z({3}), Is({5})}, back});
  cases.push_back({"IRFFT/cut", {Z({4}), Is({4})}, back});
  cases.push_back({"IRFFT2D", {Z({2, 3}), Is({2, 4})}, back});
  cases.push_back({"IRFFT3D", {Z({2, 2, 2}), Is({2, 2, 3})}, back});
}

}  // namespace

std::vector<RowCase> ReductionCases() {
  std::vector<RowCase> cases;
  AddReductions(cases);
  AddProducts(cases);
  AddTransforms(cases);
  return cases;
}

}  // namespace sluice
