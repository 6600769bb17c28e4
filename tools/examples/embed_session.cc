// A graph inside a C++ program: prepared once, called from several threads. Tensors go in and out by position.

#include <cstdio>
#include <thread>
#include <vector>

#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"

namespace {

// y = relu(x * w + b). A program would rather load one: LoadGraphFile("model.pb", LoadOptions()).
absl::StatusOr<sluice::Graph> MakeModel() {
  sluice::GraphBuilder b(sluice::NewOpRegistry());
  const sluice::Output x = b.Placeholder("x", sluice::DType::kFloat, sluice::PartialShape::Of({2}));
  const sluice::Output w = b.Const("w", sluice::Tensor::Vector<float>({3, -4}));
  const sluice::Output bias = b.Const("b", sluice::Tensor::Scalar(0.5f));
  b.Op("Relu", "y", {b.Op("AddV2", "xw_b", {b.Op("Mul", "xw", {x, w}), bias})});
  return b.Build();
}

absl::Status RunMain() {
  SLUICE_ASSIGN_OR_RETURN(sluice::Graph graph, MakeModel());
  SLUICE_ASSIGN_OR_RETURN(const auto session, sluice::Session::Create(sluice::SessionOptions(), std::move(graph)));
  SLUICE_ASSIGN_OR_RETURN(const auto model, session->Prepare({{"x"}, {"y"}, {}, {}}));

  std::vector<absl::Status> statuses(4);
  std::vector<sluice::Tensor> results(4);
  std::vector<std::thread> callers;
  for (size_t i = 0; i < results.size(); ++i) {
    callers.emplace_back([&, i] {
      sluice::Tensor in[] = {sluice::Tensor::Vector<float>({static_cast<float>(i), 1})};
      statuses[i] = model->Run(in, absl::MakeSpan(&results[i], 1));
    });
  }
  for (std::thread& caller : callers) caller.join();
  for (size_t i = 0; i < results.size(); ++i) {
    SLUICE_RETURN_IF_ERROR(statuses[i]);
    std::printf("caller %zu: %s\n", i, results[i].ToString().c_str());
  }
  return absl::OkStatus();
}

}  // namespace

int main() {
  const absl::Status status = RunMain();
  if (status.ok()) return 0;
  return std::fprintf(stderr, "%s\n", sluice::FormatError(status).c_str()), 1;
}
