#include "kernels/linalg/gemm_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/mutex.h"

namespace sluice {
namespace {

constexpr absl::string_view kFileName = "libsluice_gemm_onednn.so";
constexpr absl::string_view kInRunfiles = ".runfiles/sluice/kernels/linalg/onednn/";

// Which plug-in, and whether it was looked for. One for the process.
struct Choice {
  Mutex mu;
  bool is_set ABSL_GUARDED_BY(mu) = false;
  std::string path ABSL_GUARDED_BY(mu);
  // Release and acquire: is_opened publishes plugin.
  std::atomic<bool> is_opened{false};
  std::atomic<const SluiceGemmPlugin*> plugin{nullptr};
};

Choice& TheChoice() {
  static Choice* const choice = std::make_unique<Choice>().release();
  return *choice;
}

const SluiceGemmPlugin* Open(const std::string& path) {
  void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return nullptr;
  const auto get = reinterpret_cast<SluiceGetGemmPlugin>(dlsym(library, SLUICE_GEMM_PLUGIN_SYMBOL));
  const SluiceGemmPlugin* const plugin = get == nullptr ? nullptr : get(SLUICE_GEMM_PLUGIN_VERSION);
  if (plugin == nullptr) dlclose(library);
  return plugin;
}

const SluiceGemmPlugin* OpenBesideProgram() {
  char program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof(program));
  if (length <= 0 || length == PATH_MAX) return nullptr;
  const absl::string_view path(program, static_cast<size_t>(length));
  const absl::string_view directory = path.substr(0, path.rfind('/') + 1);
  const SluiceGemmPlugin* const plugin = Open(absl::StrCat(directory, kFileName));
  return plugin != nullptr ? plugin : Open(absl::StrCat(path, kInRunfiles, kFileName));
}

}  // namespace

void SetGemmPlugin(std::string path) {
  Choice& choice = TheChoice();
  MutexLock lock(&choice.mu);
  choice.path = std::move(path);
  choice.is_set = true;
  if (choice.plugin.load(std::memory_order_relaxed) == nullptr) {
    choice.is_opened.store(false, std::memory_order_relaxed);
  }
}

const SluiceGemmPlugin* FindGemmPlugin() {
  Choice& choice = TheChoice();
  if (choice.is_opened.load(std::memory_order_acquire)) return choice.plugin.load(std::memory_order_relaxed);
  MutexLock lock(&choice.mu);
  if (choice.is_opened.load(std::memory_order_relaxed)) return choice.plugin.load(std::memory_order_relaxed);
  if (!choice.is_set) {
    const char* const path = std::getenv("SLUICE_GEMM_PLUGIN");
    if (path != nullptr) choice.path = path;
  }
  const SluiceGemmPlugin* plugin = nullptr;
  if (!choice.path.empty()) plugin = choice.path == "auto" ? OpenBesideProgram() : Open(choice.path);
  choice.plugin.store(plugin, std::memory_order_relaxed);
  choice.is_opened.store(true, std::memory_order_release);
  return plugin;
}

}  // namespace sluice
