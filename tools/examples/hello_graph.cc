// Builds a graph, saves it, loads it again and looks at it. Needs no kernels: this is the graph API.

#include <cstdio>
#include <string>

#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/load/load_graph.h"
#include "graph/ops/op_table.h"

int main(int argc, char** argv) {
  const std::string path = argc > 1 ? argv[1] : "affine.pb";
  sluice::GraphBuilder b(sluice::NewOpRegistry());
  const sluice::Output x = b.Placeholder("x", sluice::DType::kFloat, sluice::PartialShape::Of({-1, 2}));
  const sluice::Output w = b.Const("w", sluice::Tensor::Of<float>(sluice::Shape::Of({2, 1}), {3, 4}));
  b.Op("Relu", "y", {b.Op("MatMul", "xw", {x, w})});

  absl::StatusOr<sluice::Graph> graph = b.Build();
  absl::Status status = graph.ok() ? sluice::WriteFile(path, sluice::ExportGraph(*graph)) : graph.status();
  if (!status.ok()) return std::fprintf(stderr, "%s\n", sluice::FormatError(status).c_str()), 1;

  absl::StatusOr<sluice::LoadedGraph> model = sluice::LoadGraphFile(path, sluice::LoadOptions());
  if (!model.ok()) return std::fprintf(stderr, "%s\n", sluice::FormatError(model.status()).c_str()), 1;
  for (const sluice::NodeId id : model->graph.Nodes()) {
    const std::string name(model->graph.name(id)), op(model->graph.op_name(id));
    std::printf("%-3s %-12s %s\n", name.c_str(), op.c_str(), model->shapes->shape({id, 0}).ToString().c_str());
  }
}
