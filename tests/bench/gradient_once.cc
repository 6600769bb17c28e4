// What gradients cost to add to a graph, and graphs that hold them, for tools/bench/gradients_vs_tensorflow.py:
//   gradient_once GRAPH.pb --y NAME (--x NAME,... | --of OP,...) [--rounds N] [--out OUT.pb]
//   gradient_once GRAPH.pb --loss NAME --out OUT.pb
//   gradient_once --chain N [--rounds N]
// The first adds gradients of y with respect to the tensors called, or to the second inputs of all nodes of the ops
// called; OUT.pb then has them as own/0, own/1, ... The second adds a training step (descent, rate 0.01) of all
// variables, whose update is then called own_update. The third makes a chain of N scalar ops, as B11 has it. Each
// prints a line of JSON: nodes before, nodes added, milliseconds.

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "graph/base/error.h"
#include "graph/base/file.h"
#include "graph/edit/graph_editor.h"
#include "graph/gradients/gradients.h"
#include "graph/ir/export.h"
#include "graph/ir/graph.h"
#include "graph/load/load_graph.h"
#include "graph/ops/op_table.h"
#include "graph/training/train_step.h"
#include "tests/bench/batch_timer.h"

namespace sluice {
namespace {

using Flags = std::map<std::string, std::string>;

[[noreturn]] void Die(const absl::Status& status) {
  std::cerr << FormatError(status) << "\n";
  std::exit(1);
}

template <typename T>
T Need(absl::StatusOr<T> value) {
  if (!value.ok()) Die(value.status());
  return *std::move(value);
}

std::string Flag(const Flags& flags, const std::string& name, const std::string& otherwise = "") {
  const auto found = flags.find(name);
  return found == flags.end() ? otherwise : found->second;
}

Graph Load(const std::string& path) {
  LoadOptions options;
  options.infer_shapes = false;
  return std::move(Need(LoadGraphFile(path, options)).graph);
}

// x, then Mul by c, AddV2 of c and Tanh in turn, and y.
Graph MakeChain(int64_t length) {
  Graph graph(NewOpRegistry());
  graph.versions().producer = kGraphVersion;
  GraphEditor edit(graph);
  const auto placeholder = [&edit](const char* name) {
    return edit.Add("Placeholder", name, {}, {{"dtype", DType::kFloat}, {"shape", PartialShape::Of({})}});
  };
  const Output c = placeholder("c");
  Output last = placeholder("x");
  for (int64_t i = 0; i < length; ++i) {
    last = i % 3 == 2 ? edit.Add("Tanh", "", {last}) : edit.Add(i % 3 == 0 ? "Mul" : "AddV2", "", {last, c});
  }
  edit.Add("Identity", "y", {last});
  if (!edit.status().ok()) Die(edit.status());
  return graph;
}

std::vector<Output> FindXs(const Graph& graph, const Flags& flags) {
  std::vector<Output> xs;
  if (flags.count("--of") > 0) {
    const std::vector<std::string> ops = absl::StrSplit(Flag(flags, "--of"), ',');
    for (const NodeId id : graph.Nodes()) {
      if (std::count(ops.begin(), ops.end(), graph.op_name(id)) > 0) xs.push_back(graph.inputs(id)[1]);
    }
    return xs;
  }
  for (const absl::string_view name : absl::StrSplit(Flag(flags, "--x", "x:0"), ',')) {
    xs.push_back(Need(graph.FindOutput(name)));
  }
  return xs;
}

// Gradients, in as many fresh graphs as there are rounds.
int AddInRounds(const Flags& flags, const std::string& path) {
  std::vector<double> times;
  int64_t nodes = 0, added = 0;
  for (int round = std::atoi(Flag(flags, "--rounds", "3").c_str()); round > 0; --round) {
    Graph graph = path.empty() ? MakeChain(std::atoll(Flag(flags, "--chain").c_str())) : Load(path);
    const Output y = Need(graph.FindOutput(Flag(flags, "--y", "y:0")));
    const std::vector<Output> xs = FindXs(graph, flags);
    GradientOptions options;
    options.name = "own_gradients";
    nodes = static_cast<int64_t>(graph.num_nodes());
    const double begin = NowSeconds();
    const GradientResult result = Need(AddGradients(graph, {y}, xs, options));
    times.push_back((NowSeconds() - begin) * 1e3);
    added = result.num_added;
    if (round > 1 || flags.count("--out") == 0) continue;
    for (size_t i = 0; i < xs.size(); ++i) {
      if (!result.xs[i].is_set()) continue;
      Need(NameGradient(graph, FindXs(graph, flags)[i], result.xs[i], "own_gradients", absl::StrCat("own/", i)));
    }
    const absl::Status written = WriteFile(Flag(flags, "--out"), ExportGraph(graph));
    if (!written.ok()) Die(written);
  }
  std::sort(times.begin(), times.end());
  std::cout << "{\"nodes\": " << nodes << ", \"added\": " << added << ", "
            << BatchJson(times, ToFirstJson(times.front() / 1e3)).substr(1) << "\n";
  return 0;
}

int AddStep(const Flags& flags, const std::string& path) {
  Graph graph = Load(path);
  std::vector<NodeId> variables;
  for (const NodeId id : graph.Nodes()) {
    if (graph.Is(id, "VarHandleOp") || graph.Is(id, "VariableV2")) variables.push_back(id);
  }
  const auto nodes = graph.num_nodes();
  const Output loss = Need(graph.FindOutput(Flag(flags, "--loss")));
  const double begin = NowSeconds();
  const TrainStep step = Need(AddTrainStep(graph, loss, variables, TrainStepOptions()));
  const double ms = (NowSeconds() - begin) * 1e3;
  NodeSpec update;
  update.name = "own_update";
  update.op = "NoOp";
  update.controls = {step.update};
  Need(graph.AddNode(update));
  const absl::Status written = WriteFile(Flag(flags, "--out"), ExportGraph(graph));
  if (!written.ok()) Die(written);
  std::cout << "{\"nodes\": " << nodes << ", \"variables\": " << variables.size() << ", \"ms\": " << ms << "}\n";
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  sluice::Flags flags;
  std::string path;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--", 0) == 0 && i + 1 < argc) {
      flags[argument] = argv[++i];
    } else {
      path = argument;
    }
  }
  if (path.empty() == (flags.count("--chain") == 0)) {
    std::cerr << "usage: gradient_once GRAPH.pb --y NAME (--x NAME,... | --of OP,...) [--rounds N] [--out OUT.pb]\n"
                 "       gradient_once GRAPH.pb --loss NAME --out OUT.pb\n"
                 "       gradient_once --chain N [--rounds N]\n";
    return 2;
  }
  return flags.count("--loss") > 0 ? sluice::AddStep(flags, path) : sluice::AddInRounds(flags, path);
}
