// Times steps of one graph: graph_bench GRAPH.pb SIDE [--threads N] [--batches N] [--batch-ms MS] [--driver
// auto|serial|dataflow] [--simplify on|off]. SIDE is the text file that tools/bench/graphs.py writes beside each graph:
// feeds, fetches, units, callers, devices. Prints one line of JSON: nanoseconds per unit of each batch, for callers the
// processor time of each, too, and the times up to the first result.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/load/load_graph.h"
#include "tests/bench/batch_timer.h"
#include "tests/bench/caller_batches.h"
#include "tests/bench/side_file.h"

namespace sluice {
namespace {

[[noreturn]] void Die(const absl::Status& status) {
  std::cerr << FormatError(status) << "\n";
  std::exit(1);
}

Tensor FeedTensor(const SideFeed& feed) {
  const absl::StatusOr<DType> dtype = ParseDType(feed.dtype);
  if (!dtype.ok()) Die(dtype.status());
  const absl::StatusOr<Shape> shape = Shape::Make(feed.dims);
  if (!shape.ok()) Die(shape.status());
  absl::StatusOr<Tensor> tensor = Tensor::Make(*dtype, *shape);
  if (!tensor.ok()) Die(tensor.status());
  std::memcpy(tensor->mutable_raw_data(), feed.bytes.data(), feed.bytes.size());
  return *std::move(tensor);
}

struct Flags {
  SessionOptions session;
  int batches = 9;
  double batch_ms = 50;
};

Flags ReadFlags(int argc, char** argv, const SideFile& side) {
  Flags flags;
  flags.session.num_threads = 1;
  // Keeps the nodes: their cost is what is measured.
  SimplifyOptions& simplify = flags.session.simplify;
  simplify.drop_unread_values = simplify.fold_constants = simplify.join_equal_nodes = simplify.fuse_layers = false;
  flags.session.num_cpu_devices = side.devices;
  flags.session.cut_by_device = side.cut;
  for (int i = 3; i + 1 < argc; i += 2) {
    const std::string flag = argv[i], value = argv[i + 1];
    if (flag == "--threads") flags.session.num_threads = std::atoi(value.c_str());
    if (flag == "--batches") flags.batches = std::atoi(value.c_str());
    if (flag == "--batch-ms") flags.batch_ms = std::atof(value.c_str());
    if (flag == "--simplify" && value == "on") flags.session.simplify = SimplifyOptions();
    if (flag == "--driver" && value == "serial") flags.session.driver = Driver::kSerial;
    if (flag == "--driver" && value == "dataflow") flags.session.driver = Driver::kDataflow;
  }
  if (side.threads > 0) flags.session.num_threads = side.threads;
  return flags;
}

// A prepared graph, how long it took to get there, and calls of it.
class Prepared {
 public:
  Prepared(const std::string& path, const SideFile& side, const SessionOptions& options) {
    for (const SideFeed& feed : side.feeds) feeds_.push_back(FeedTensor(feed));
    num_fetches_ = side.fetches.size();
    const double start = NowSeconds();
    LoadOptions load;
    load.infer_shapes = false;
    absl::StatusOr<LoadedGraph> loaded = LoadGraphFile(path, load);
    if (!loaded.ok()) Die(loaded.status());
    const double imported = NowSeconds();
    Prepare(side, options, std::move(loaded->graph));
    const double prepared = NowSeconds();
    Caller(*this).Run();
    const double first = NowSeconds();
    times_ = absl::StrCat("\"import_ms\": ", (imported - start) * 1e3,
                          ", \"prepare_ms\": ", (prepared - imported) * 1e3, ", ", ToFirstJson(first - start));
  }

  // Calls from one thread, without an allocation of its own per call.
  class Caller {
   public:
    explicit Caller(const Prepared& prepared)
        : prepared_(prepared), inputs_(prepared.feeds_.size()), outputs_(prepared.num_fetches_) {}
    void Run() {
      for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = prepared_.feeds_[i];
      const absl::Status status = prepared_.callable_->Run(absl::MakeSpan(inputs_), absl::MakeSpan(outputs_));
      if (!status.ok()) Die(status);
    }

   private:
    const Prepared& prepared_;
    std::vector<Tensor> inputs_, outputs_;
  };

  // JSON members: milliseconds of each stage up to the first result, and memory.
  const std::string& times() const { return times_; }

 private:
  void Prepare(const SideFile& side, const SessionOptions& options, Graph graph) {
    absl::StatusOr<std::unique_ptr<Session>> session = Session::Create(options, std::move(graph));
    if (!session.ok()) Die(session.status());
    session_ = *std::move(session);
    if (!side.init.empty()) {
      const auto init = session_->Run({}, {}, side.init);
      if (!init.ok()) Die(init.status());
    }
    FeedFetchSpec spec;
    for (const SideFeed& feed : side.feeds) spec.feeds.push_back(feed.name);
    spec.fetches = side.fetches;
    spec.targets = side.targets;
    absl::StatusOr<std::shared_ptr<const Callable>> callable = session_->Prepare(spec);
    if (!callable.ok()) Die(callable.status());
    callable_ = *std::move(callable);
  }

  std::vector<Tensor> feeds_;
  size_t num_fetches_ = 0;
  std::unique_ptr<Session> session_;
  std::shared_ptr<const Callable> callable_;
  std::string times_;
};

int Main(int argc, char** argv) {
  const SideFile side = ReadSideFile(argv[2]);
  const Flags flags = ReadFlags(argc, argv, side);
  const Prepared prepared(argv[1], side, flags.session);
  if (side.callers > 0) {
    std::vector<Prepared::Caller> callers(static_cast<size_t>(side.callers), Prepared::Caller(prepared));
    const CallerTimes times = TimeCallers(side.callers, flags.batches, std::max(flags.batch_ms, 500.0), side.units,
                                          [&](int caller) { callers[static_cast<size_t>(caller)].Run(); });
    std::cout << CallerJson(times, prepared.times()) << "\n";
    return 0;
  }
  Prepared::Caller caller(prepared);
  // With threads, both drivers are tried in the first runs.
  for (int i = 0; i < 8 && flags.session.num_threads > 1; ++i) caller.Run();
  const auto ns = TimeBatches(flags.batches, flags.batch_ms, side.units, [&] { caller.Run(); });
  std::cout << BatchJson(ns, prepared.times()) << "\n";
  return 0;
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: graph_bench GRAPH.pb SIDE [--threads N] [--batches N] [--batch-ms MS] [--driver NAME]\n";
    return 2;
  }
  return sluice::Main(argc, argv);
}
