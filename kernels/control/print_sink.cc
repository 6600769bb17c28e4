#include "kernels/control/print_sink.h"

#include <cstdio>
#include <memory>
#include <utility>

#include "graph/base/mutex.h"

namespace sluice {
namespace {

// The sink of the process. Writers hold a reference while they write, so that a sink in use is not destroyed.
struct Shared {
  Mutex mu;
  std::shared_ptr<const PrintSink> sink ABSL_GUARDED_BY(mu);
};

Shared& TheSink() {
  static Shared* const shared = std::make_unique<Shared>().release();
  return *shared;
}

}  // namespace

void SetPrintSink(PrintSink sink) {
  std::shared_ptr<const PrintSink> next;
  if (sink != nullptr) next = std::make_shared<const PrintSink>(std::move(sink));
  Shared& shared = TheSink();
  MutexLock lock(&shared.mu);
  shared.sink.swap(next);
}

void PrintText(PrintStream stream, absl::string_view text) {
  std::shared_ptr<const PrintSink> sink;
  {
    Shared& shared = TheSink();
    MutexLock lock(&shared.mu);
    sink = shared.sink;
  }
  if (sink != nullptr) {
    (*sink)(stream, text);
    return;
  }
  std::FILE* const file = stream == PrintStream::kStdout ? stdout : stderr;
  std::fwrite(text.data(), 1, text.size(), file);
  std::fflush(file);
}

}  // namespace sluice
