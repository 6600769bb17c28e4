// Times runs of one ONNX model in ONNX Runtime, through its C API, opened at run time (development only):
//   onnxruntime_bench LIBRARY MODEL.onnx SIDE [--batches N] [--batch-ms MS]
// LIBRARY is libonnxruntime.so.* of the wheel. One thread, no graph rewriting (optimisation level 0): what is timed is
// the executor. Prints a line like graph_bench's.

#include <dlfcn.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "tests/bench/batch_timer.h"
#include "tests/bench/caller_batches.h"
#include "tests/bench/side_file.h"

namespace sluice {
namespace {

// The API is one table of functions in an order that never changes; these are the places of the few needed here.
enum Place {
  kGetErrorMessage = 2,
  kCreateEnv = 3,
  kCreateSession = 7,
  kRun = 9,
  kCreateSessionOptions = 10,
  kSetLogSeverity = 22,
  kSetOptimizationLevel = 23,
  kSetIntraOpThreads = 24,
  kSetInterOpThreads = 25,
  kCreateTensorWithData = 49,
  kCreateCpuMemoryInfo = 69,
  kReleaseValue = 96,
};
constexpr uint32_t kApiVersion = 1;
constexpr int kOnlyErrors = 3;

// What OrtGetApiBase returns.
struct ApiBase {
  void* const* (*get_api)(uint32_t version);
  const char* (*get_version)();
};

void* const* api = nullptr;

[[noreturn]] void Die(const char* what, const char* why) {
  std::fprintf(stderr, "%s: %s\n", what, why);
  std::exit(1);
}

// Calls the function at `place` and ends the process if it returns an error.
template <typename... Arguments>
void Call(Place place, Arguments... arguments) {
  void* const error = reinterpret_cast<void* (*)(Arguments...)>(api[place])(arguments...);
  if (error == nullptr) return;
  Die("ONNX Runtime", reinterpret_cast<const char* (*)(const void*)>(api[kGetErrorMessage])(error));
}

// Of ONNX's TensorProto.
int TypeNumber(const std::string& name) {
  return name == "float32" ? 1 : name == "int32" ? 6 : name == "int64" ? 7 : 9;
}

class Peer {
 public:
  // `side` owns the fed bytes and must outlive this.
  Peer(const char* model, SideFile& side) {
    void *env = nullptr, *memory = nullptr, *options = nullptr;
    Call(kCreateEnv, kOnlyErrors, "bench", &env);
    Call(kCreateCpuMemoryInfo, 0, 0, &memory);
    Call(kCreateSessionOptions, &options);
    Call(kSetLogSeverity, options, kOnlyErrors);
    Call(kSetOptimizationLevel, options, 0);
    Call(kSetIntraOpThreads, options, 1);
    Call(kSetInterOpThreads, options, 1);
    Call(kCreateSession, env, model, options, &session_);
    for (SideFeed& feed : side.feeds) {
      void* value = nullptr;
      Call(kCreateTensorWithData, memory, static_cast<void*>(feed.bytes.data()), feed.bytes.size(),
           static_cast<const int64_t*>(feed.dims.data()), feed.dims.size(), TypeNumber(feed.dtype), &value);
      input_names_.push_back(feed.name.c_str());
      inputs_.push_back(value);
    }
    for (const std::string& fetch : side.fetches) output_names_.push_back(fetch.c_str());
  }

  // Calls from one thread.
  class Caller {
   public:
    explicit Caller(const Peer& peer) : peer_(peer), outputs_(peer.output_names_.size()) {}
    void Run() {
      std::fill(outputs_.begin(), outputs_.end(), nullptr);
      Call(kRun, peer_.session_, static_cast<const void*>(nullptr), peer_.input_names_.data(), peer_.inputs_.data(),
           peer_.inputs_.size(), peer_.output_names_.data(), peer_.output_names_.size(), outputs_.data());
      for (void* const output : outputs_) reinterpret_cast<void (*)(void*)>(api[kReleaseValue])(output);
    }

   private:
    const Peer& peer_;
    std::vector<void*> outputs_;
  };

 private:
  void* session_ = nullptr;
  std::vector<const char*> input_names_, output_names_;
  std::vector<void*> inputs_;
};

int Main(int argc, char** argv) {
  int batches = 5;
  double batch_ms = 50;
  for (int i = 4; i + 1 < argc; i += 2) {
    const std::string flag = argv[i];
    if (flag == "--batches") batches = std::atoi(argv[i + 1]);
    if (flag == "--batch-ms") batch_ms = std::atof(argv[i + 1]);
  }
  void* const library = dlopen(argv[1], RTLD_NOW);
  if (library == nullptr) Die("dlopen", dlerror());
  const auto get_base = reinterpret_cast<const ApiBase* (*)()>(dlsym(library, "OrtGetApiBase"));
  if (get_base == nullptr) Die("dlsym", dlerror());
  api = get_base()->get_api(kApiVersion);
  SideFile side = ReadSideFile(argv[3]);
  const double start = NowSeconds();
  const Peer peer(argv[2], side);
  Peer::Caller caller(peer);
  caller.Run();
  const std::string to_first = ToFirstJson(NowSeconds() - start);
  if (side.callers == 0) {
    const std::vector<double> ns = TimeBatches(batches, batch_ms, side.units, [&] { caller.Run(); });
    std::printf("%s\n", BatchJson(ns, to_first).c_str());
  } else {
    std::vector<Peer::Caller> callers(static_cast<size_t>(side.callers), Peer::Caller(peer));
    const CallerTimes times = TimeCallers(side.callers, batches, std::max(batch_ms, 500.0), side.units,
                                          [&](int i) { callers[static_cast<size_t>(i)].Run(); });
    std::printf("%s\n", CallerJson(times, to_first).c_str());
  }
  std::fflush(stdout);
  std::_Exit(0);  // Its destructors have nothing to say here.
}

}  // namespace
}  // namespace sluice

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: onnxruntime_bench LIBRARY MODEL.onnx SIDE [--batches N] [--batch-ms MS]\n");
    return 2;
  }
  return sluice::Main(argc, argv);
}
