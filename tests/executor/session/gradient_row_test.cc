// MatMul's row of a table of gradients, over GraphEditor: what it gives is what TensorFlow's gives.

#include <complex>
#include <memory>
#include <vector>

#include "executor/session/session.h"
#include "graph/base/status_macros.h"
#include "graph/edit/graph_editor.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"
#include "gtest/gtest.h"
#include "tests/testing/status_matchers.h"

namespace sluice {
namespace {

// One row: for an op, how the gradients of its inputs follow from that of its output.
struct GradientRow {
  absl::string_view op;
  absl::StatusOr<std::vector<Output>> (*make)(GraphEditor& edit, NodeId id, Output dy);
};

// y = op(a) op(b), where op is transposition or nothing: da = dy op(b)', turned where a is, and so for b. Plain
// transpositions do not conjugate, but gradients of complex numbers take the conjugate of the other factor.
absl::StatusOr<std::vector<Output>> MatMulGradient(GraphEditor& edit, NodeId id, Output dy) {
  const GraphEditor::Scope place = edit.ColocatedWith(id);
  SLUICE_ASSIGN_OR_RETURN(const bool ta, edit.graph().GetBool(id, "transpose_a"));
  SLUICE_ASSIGN_OR_RETURN(const bool tb, edit.graph().GetBool(id, "transpose_b"));
  Output a = edit.graph().inputs(id)[0];
  Output b = edit.graph().inputs(id)[1];
  if (IsComplex(edit.graph().output_type(dy.node, dy.index))) {
    a = edit.Add("Conj", "conj_a", {a});
    b = edit.Add("Conj", "conj_b", {b});
  }
  const auto product = [&edit](absl::string_view name, Output x, Output y, bool turns_x, bool turns_y) {
    return edit.Add("MatMul", name, {x, y}, {{"transpose_a", turns_x}, {"transpose_b", turns_y}});
  };
  const Output da = ta ? product("da", b, dy, tb, true) : product("da", dy, b, false, !tb);
  const Output db = tb ? product("db", dy, a, true, ta) : product("db", a, dy, !ta, false);
  SLUICE_RETURN_IF_ERROR(edit.status());
  return std::vector<Output>{da, db};
}

constexpr GradientRow kMatMulRow = {"MatMul", &MatMulGradient};

using Matrix = std::vector<float>;

// Gradients of x*y for the output's gradient, by the row.
absl::StatusOr<std::vector<Tensor>> Gradients(const Tensor& a, const Tensor& b, const Tensor& dy, bool ta, bool tb) {
  GraphBuilder builder(NewOpRegistry());
  const Output product = builder.Op("MatMul", "y", {builder.Const("a", a), builder.Const("b", b)},
                                    {{"transpose_a", ta}, {"transpose_b", tb}});
  const Output given = builder.Const("dy", dy);
  SLUICE_ASSIGN_OR_RETURN(Graph graph, builder.Build());
  {
    GraphEditor edit(graph);
    const GraphEditor::Scope names = edit.InName("gradients");
    SLUICE_ASSIGN_OR_RETURN(const std::vector<Output> made, kMatMulRow.make(edit, product.node, given));
    if (made.size() != 2) return absl::InternalError("two inputs have two gradients");
    SLUICE_RETURN_IF_ERROR(edit.Validate());
  }
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<Session> session, Session::Create({}, graph));
  return session->Run({}, {"gradients/da", "gradients/db"}, {});
}

Tensor Of(int64_t rows, int64_t cols, const Matrix& values) {
  return Tensor::Of<float>(Shape::Of({rows, cols}), values);
}
Matrix Values(const Tensor& tensor) {
  const absl::Span<const float> flat = tensor.flat<float>();
  return {flat.begin(), flat.end()};
}

// tf.GradientTape's values.
TEST(GradientRowTest, MatMulInAllFourForms) {
  const Tensor a[] = {Of(2, 3, {1, -2, 3, 4, 0, -1}), Of(3, 2, {1, 4, -2, 0, 3, -1})};
  const Tensor b[] = {Of(3, 2, {2, 1, 0, -3, 5, 4}), Of(2, 3, {2, 0, 5, 1, -3, 4})};
  const Matrix da[] = {{4, -6, 13, 1, -9, 7}, {4, 1, -6, -9, 13, 7}};
  const Matrix db[] = {{-3, 14, -2, -4, 4, 3}, {-3, -2, 4, 14, -4, 3}};
  const Tensor dy = Of(2, 2, {1, 2, -1, 3});
  for (const bool ta : {false, true}) {
    for (const bool tb : {false, true}) {
      ASSERT_OK_AND_ASSIGN(const std::vector<Tensor> made, Gradients(a[ta], b[tb], dy, ta, tb));
      EXPECT_EQ(Values(made[0]), da[ta]) << ta << tb;
      EXPECT_EQ(Values(made[1]), db[tb]) << ta << tb;
    }
  }
}

TEST(GradientRowTest, ComplexGradientsTakeTheConjugate) {
  using C = std::complex<float>;
  const auto of = [](int64_t rows, int64_t cols, const std::vector<C>& values) {
    return Tensor::Of<C>(Shape::Of({rows, cols}), values);
  };
  ASSERT_OK_AND_ASSIGN(
      const std::vector<Tensor> made,
      Gradients(of(1, 2, {{1, 2}, {3, -1}}), of(2, 1, {{2, -1}, {0, 1}}), of(1, 1, {{1, -1}}), false, false));
  EXPECT_EQ(made[0].flat<C>()[0], C(3, -1));
  EXPECT_EQ(made[0].flat<C>()[1], C(-1, -1));
  EXPECT_EQ(made[1].flat<C>()[0], C(-1, -3));
  EXPECT_EQ(made[1].flat<C>()[1], C(4, -2));
}

}  // namespace
}  // namespace sluice
