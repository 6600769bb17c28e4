// A small network that learns exclusive-or, define-by-run: ops run as they are written, and loss.Backward() computes
// the gradients along what has run.

#include <cmath>
#include <cstdio>
#include <vector>

#include "executor/tape/ops.h"
#include "executor/tape/tape.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

using sluice::Shape;
using sluice::Tensor;
using sluice::Var;

absl::Status Learn(float* last_loss) {
  sluice::Tape tape;
  std::vector<float> start;  // Small numbers of both signs.
  for (int i = 0; i < 16; ++i) start.push_back(std::sin(static_cast<float>(7 * i + 1)));
  Var w1 = tape.Leaf(Tensor::Of<float>(Shape::Of({2, 8}), start));
  Var b1 = tape.Leaf(Tensor::Of<float>(Shape::Of({8}), absl::MakeConstSpan(start).first(8)));
  Var w2 = tape.Leaf(Tensor::Of<float>(Shape::Of({8, 1}), absl::MakeConstSpan(start).first(8)));
  Var b2 = tape.Leaf<float>({0});
  const Var x = tape.Constant<float>({{0, 0}, {0, 1}, {1, 0}, {1, 1}});
  const Var wanted = tape.Constant<float>({{0}, {1}, {1}, {0}});
  for (int step = 0; step <= 500; ++step) {
    const Var hidden = Tanh(MatMul(x, w1) + b1);
    const Var loss = Mean(Square(Sigmoid(MatMul(hidden, w2) + b2) - wanted));
    SLUICE_RETURN_IF_ERROR(loss.Backward());
    const sluice::NoGradScope no_grad;
    for (Var* const v : {&w1, &b1, &w2, &b2}) {
      SLUICE_RETURN_IF_ERROR(v->AssignSub(v->grad() * 2.0));
      v->ClearGrad();
    }
    SLUICE_ASSIGN_OR_RETURN(*last_loss, loss.Item<float>());
    if (step % 100 == 0) std::printf("step %3d: loss %.4f\n", step, static_cast<double>(*last_loss));
  }
  return absl::OkStatus();
}

int main() {
  float loss = 1;
  const absl::Status status = Learn(&loss);
  if (!status.ok()) std::fprintf(stderr, "%s\n", sluice::FormatError(status).c_str());
  return status.ok() && loss < 0.02f ? 0 : 1;
}
