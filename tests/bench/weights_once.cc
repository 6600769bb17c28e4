// What a frozen model of matrices costs in memory: see tests/bench/README.md.
//
//   weights_once write MODEL.pb LAYERS SIDE   writes a model of LAYERS matrices of SIDE x SIDE floats at odd offsets
//   weights_once run MODEL.pb LAYERS          prepares three signatures over it, runs each, prints a line of JSON a
//   stage
//
// Two calls, so that what the writer leaves is not counted.

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/session/session.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/load/load_graph.h"
#include "tests/testing/weight_model.h"

namespace sluice {
namespace {

// A line "NAME:  N kB" of /proc/self/status, in MB.
double StatusMb(const std::string& name) {
  std::ifstream status("/proc/self/status");
  std::string word;
  while (status >> word) {
    double kb = 0;
    if (word == name + ":" && status >> kb) return kb * 1024 / 1e6;
  }
  return -1;
}

void Report(const char* stage, std::chrono::steady_clock::time_point start) {
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
  const double anonymous = StatusMb("RssAnon"), mapped = StatusMb("RssFile");
  std::printf(
      "{\"stage\": \"%s\", \"ms\": %.1f, \"anonymous_mb\": %.1f, \"mapped_mb\": %.1f, \"both_mb\": %.1f, "
      "\"peak_mb\": %.1f}\n",
      stage, took.count(), anonymous, mapped, anonymous + mapped, StatusMb("VmHWM"));
}

// A batch of `rows` for a layer of `side` columns.
Tensor Batch(int64_t rows, int64_t side) {
  return Tensor::Of<float>(Shape::Of({rows, side}), std::vector<float>(static_cast<size_t>(rows * side), 0.5f));
}

absl::Status RunAll(const std::string& path, int layers) {
  auto start = std::chrono::steady_clock::now();
  SLUICE_ASSIGN_OR_RETURN(LoadedGraph model, LoadGraphFile(path, LoadOptions()));
  Report("load", start);
  const NodeId x = model.graph.Find("x");
  SLUICE_ASSIGN_OR_RETURN(const PartialShape shape, model.graph.GetShape(x, "shape"));
  const int64_t side = shape.dim(1);
  start = std::chrono::steady_clock::now();
  SLUICE_ASSIGN_OR_RETURN(const auto session, Session::Create(SessionOptions(), std::move(model.graph)));
  const std::string middle = absl::StrCat("h", layers / 2 - 1), last = absl::StrCat("h", layers - 1);
  const std::pair<std::string, std::string> parts[] = {{"x", middle}, {middle, last}, {"x", last}};
  std::vector<std::shared_ptr<const Callable>> callables;
  for (const auto& [feed, fetch] : parts) {
    SLUICE_ASSIGN_OR_RETURN(callables.emplace_back(), session->Prepare({{feed}, {fetch}, {}, {}}));
  }
  Report("prepare", start);
  for (const int64_t rows : {8, 1}) {
    for (const char* turn : {"first", "second"}) {
      start = std::chrono::steady_clock::now();
      for (const auto& callable : callables) {
        Tensor in = Batch(rows, side), out;
        SLUICE_RETURN_IF_ERROR(callable->Run(absl::MakeSpan(&in, 1), absl::MakeSpan(&out, 1)));
      }
      Report(absl::StrCat(turn, " runs of ", rows, rows == 1 ? " row" : " rows").c_str(), start);
    }
  }
  return absl::OkStatus();
}

absl::Status Main(const std::vector<std::string>& args) {
  const int layers = std::atoi(args[2].c_str());
  if (args[0] == "run") return RunAll(args[1], layers);
  return WriteWeightModel(args[1], {layers, std::atoll(args[3].c_str()), 1}).status();
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  const bool is_right = !args.empty() && (args[0] == "write" || args[0] == "run") &&
                        args.size() == (args[0] == "write" ? 4u : 3u) && std::atoi(args[2].c_str()) > 1;
  if (!is_right) return std::fputs("usage: weights_once write MODEL.pb LAYERS SIDE | run MODEL.pb LAYERS\n", stderr), 2;
  const absl::Status status = sluice::Main(args);
  if (!status.ok()) return std::fputs(sluice::FormatError(status).c_str(), stderr), 1;
  return 0;
}
