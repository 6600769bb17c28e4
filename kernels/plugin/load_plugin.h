#ifndef SLUICE_KERNELS_PLUGIN_LOAD_PLUGIN_H_
#define SLUICE_KERNELS_PLUGIN_LOAD_PLUGIN_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/ir/op_registry.h"
#include "kernels/kernel_registry.h"

namespace sluice {

// A plug-in's description of itself and what it has registered. A value type.
struct PluginInfo {
  std::string path;  // As it was given.
  std::string name;
  std::string version;
  std::vector<std::string> ops;  // The ops that it defines, in its order.
  int num_kernels = 0;

  // "plug-in 'audio' (/lib/libaudio.so)", for messages.
  std::string Title() const;
};

// Opens the shared library in file `path`, a plug-in (Note [Plug-ins] in plugin_api.h), and adds its ops to `ops` and
// its kernels to `kernels`:
//
//   const auto ops = NewOpRegistry();
//   KernelRegistry kernels;
//   RegisterAllKernels(kernels);
//   SLUICE_RETURN_IF_ERROR(LoadPlugin("libaudio.so", ops, kernels).status());
//   // Graphs over `ops`; sessions with SessionOptions::kernels = &kernels.
//
// Graphs and sessions that are open already see what is new: the next import and the next signature use it.
// A relative path starts at the current directory; libraries' search paths are not used. All or nothing: an error
// means that nothing was registered (but see Commit in plugin_registration.h). kFileMissing, kFileRead; kHostKernel for
// a file that is not a plug-in, that was built for another version of the interface, or that fails; kOpSchema for an op
// that is defined already. The same plug-in can be loaded into several pairs of registries, into each of them once.
//
// The library stays in the process for ever. Its code runs in it with all rights: load only what you trust.
// Thread-safe; one load at a time runs.
absl::StatusOr<PluginInfo> LoadPlugin(const std::string& path, const std::shared_ptr<OpRegistry>& ops,
                                      KernelRegistry& kernels);

// The plug-in that has defined `op` in `ops`, or null. Thread-safe.
std::shared_ptr<const PluginInfo> PluginOf(const OpRegistry& ops, absl::string_view op);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_LOAD_PLUGIN_H_
