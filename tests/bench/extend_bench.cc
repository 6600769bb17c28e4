// Times Session::Extend and the first run of what was added, in sessions of more and more nodes: extend_bench [NODES].
// Prints a line for each size of what is added: microseconds of Extend, of the first run (which prepares its
// signature), and of a later run. The nodes added are a chain; what a run needs is that chain, its cone.

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "graph/wire/wire_writer.h"
#include "tests/bench/batch_timer.h"

namespace sluice {
namespace {

template <typename T>
T OrDie(absl::StatusOr<T> value) {
  if (value.ok()) return *std::move(value);
  std::cerr << FormatError(value.status()) << "\n";
  std::exit(1);
}

// The bytes of a GraphDef: a Placeholder `x` where `prefix` is empty, and a chain of `count` nodes from x.
std::string ChainBytes(const std::string& prefix, int count) {
  Graph graph(NewOpRegistry());
  NodeSpec x;
  x.name = "x";
  x.op = "Placeholder";
  x.attrs = {{"dtype", DType::kFloat}};
  Output last{OrDie(graph.AddNode(x)), 0};
  for (int i = 0; i < count; ++i) {
    const std::string name = absl::StrCat(prefix, "n", i);
    NodeSpec node;
    node.name = name;
    node.op = "Neg";
    node.inputs = {last};
    node.attrs = {{"T", DType::kFloat}};
    last = Output{OrDie(graph.AddNode(node)), 0};
  }
  std::string bytes;
  for (int32_t i = prefix.empty() ? 0 : 1; i < graph.id_limit(); ++i) {
    WireWriter(&bytes).Bytes(1, ExportNode(graph, NodeId(i)));
  }
  return bytes;
}

struct Times {
  double extend = 0, first_run = 0, run = 0;  // Seconds.
};

Times Measure(Session* session, const std::string& prefix, int count) {
  const std::string bytes = ChainBytes(prefix, count);
  GraphSource source;
  source.bytes = bytes;
  Times times;
  const double start = NowSeconds();
  const absl::Status extended = session->Extend(std::move(source));
  const double added = NowSeconds();
  if (!extended.ok()) OrDie(absl::StatusOr<int>(extended));
  const NamedTensors feeds = {{"x", Tensor::Scalar(1.0f)}};
  const std::string fetch = absl::StrCat(prefix, "n", count - 1);
  OrDie(session->Run(feeds, {fetch}, {}));
  const double first = NowSeconds();
  OrDie(session->Run(feeds, {fetch}, {}));
  times.extend = added - start;
  times.first_run = first - added;
  times.run = NowSeconds() - first;
  return times;
}

// Each time the median of several.
Times MedianOf(std::vector<Times> all) {
  const auto median = [&](double Times::*member) {
    const auto less = [&](const Times& a, const Times& b) { return a.*member < b.*member; };
    std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end(), less);
    return all[all.size() / 2].*member;
  };
  Times times;
  times.extend = median(&Times::extend);
  times.first_run = median(&Times::first_run);
  times.run = median(&Times::run);
  return times;
}

void Print(int session_nodes, int added, const char* which, const Times& times) {
  std::printf("session %8d  added %7d  %-7s extend %10.1f us  first run %10.1f us  run %9.1f us\n", session_nodes,
              added, which, times.extend * 1e6, times.first_run * 1e6, times.run * 1e6);
}

int Main(int argc, char** argv) {
  const int largest = argc > 1 ? std::atoi(argv[1]) : 1'000'000;
  for (const int nodes : {1'000, largest}) {
    SessionOptions options;
    options.num_threads = 1;
    Graph graph(NewOpRegistry());
    const std::unique_ptr<Session> session = OrDie(Session::Create(options, std::move(graph)));
    if (const absl::Status status = session->Extend(GraphSource::Copy(ChainBytes("", nodes))); !status.ok()) {
      OrDie(absl::StatusOr<int>(status));
    }
    int next = 0;
    for (const int added : {1, 100, 100'000}) {
      std::vector<Times> all;
      for (int i = 0; i < (added > 1000 ? 5 : 25); ++i) {
        all.push_back(Measure(session.get(), absl::StrCat("r", next++, "/"), added));
      }
      Print(nodes, added, "first", all.front());  // The graph's tables are full, and grow.
      Print(nodes, added, "median", MedianOf(all));
    }
  }
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) { return sluice::Main(argc, argv); }
