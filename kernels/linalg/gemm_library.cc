#include "kernels/linalg/gemm_library.h"

#include <dlfcn.h>
#include <limits.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr absl::string_view kFileName = "libsluice_gemm_onednn.so";
constexpr absl::string_view kInRunfiles = ".runfiles/sluice/kernels/linalg/onednn/";

}  // namespace

absl::StatusOr<const SluiceGemmPlugin*> OpenGemmPlugin(absl::string_view path) {
  void* const library = dlopen(std::string(path).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    return Error(ErrorCode::kHostKernel).Found(path).Text(absl::StrCat("the plug-in cannot be opened: ", why));
  }
  const auto get = reinterpret_cast<SluiceGetGemmPlugin>(dlsym(library, SLUICE_GEMM_PLUGIN_SYMBOL));
  const SluiceGemmPlugin* const plugin = get == nullptr ? nullptr : get(SLUICE_GEMM_PLUGIN_VERSION);
  if (plugin != nullptr) return plugin;
  dlclose(library);
  return Error(ErrorCode::kHostKernel)
      .Found(path)
      .Text(absl::StrCat("the library is not a plug-in for products of version ", SLUICE_GEMM_PLUGIN_VERSION));
}

absl::StatusOr<const SluiceGemmPlugin*> OpenBundledGemmPlugin() {
  char program[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", program, sizeof(program));
  if (length <= 0 || length == PATH_MAX) {
    return Error(ErrorCode::kHostKernel).Text("the program's own file, beside which the plug-in lies, is unknown");
  }
  const absl::string_view path(program, static_cast<size_t>(length));
  const absl::string_view directory = path.substr(0, path.rfind('/') + 1);
  absl::StatusOr<const SluiceGemmPlugin*> plugin = OpenGemmPlugin(absl::StrCat(directory, kFileName));
  if (plugin.ok()) return plugin;
  const absl::StatusOr<const SluiceGemmPlugin*> in_runfiles =
      OpenGemmPlugin(absl::StrCat(path, kInRunfiles, kFileName));
  return in_runfiles.ok() ? in_runfiles : plugin;
}

}  // namespace sluice
