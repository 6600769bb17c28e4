// Prints what shape inference finds in binary GraphDef files, one line per output, for comparison with TensorFlow's
// inference during development: "name:slot<TAB>shape", "!name<TAB>certain|possible<TAB>message" for problems,
// "#file" before each file and "@message" for a file that cannot be loaded.

#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "graph/functions/shape_bodies.h"
#include "graph/ir/import.h"
#include "graph/ops/op_table.h"
#include "graph/shapes/inference.h"

namespace {

void Dump(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  sluice::ImportOptions options;
  options.ops = sluice::NewOpRegistry();
  options.allow_internal_ops = true;
  std::cout << "#" << path << "\n";
  const absl::StatusOr<sluice::Graph> graph = sluice::ImportGraph(sluice::GraphSource::Copy(bytes, path), options);
  if (!graph.ok()) {
    std::cout << "@" << graph.status().message() << "\n";
    return;
  }
  sluice::ShapeBodies bodies(*graph);
  sluice::InferenceOptions inference;
  inference.bodies = &bodies;
  const absl::StatusOr<sluice::ShapeMap> shapes = sluice::InferShapes(*graph, inference);
  if (!shapes.ok()) {
    std::cout << "@" << shapes.status().message() << "\n";
    return;
  }
  for (const sluice::NodeId id : graph->Nodes()) {
    for (int i = 0; i < graph->num_outputs(id); ++i) {
      std::cout << graph->name(id) << ":" << i << "\t" << shapes->shape({id, i}).ToString() << "\n";
    }
  }
  for (const sluice::ShapeProblem& problem : shapes->problems()) {
    std::cout << "!" << graph->name(problem.node) << "\t" << (problem.certain ? "certain" : "possible") << "\t"
              << problem.status.message() << "\n";
  }
}

}  // namespace

int main(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) Dump(argv[i]);
  return 0;
}
