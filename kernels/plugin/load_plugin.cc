#include "kernels/plugin/load_plugin.h"

#include <dlfcn.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/base/status_macros.h"
#include "graph/ops/op_table.h"
#include "kernels/plugin/plugin_functions.h"
#include "kernels/plugin/plugin_registration.h"
#include "kernels/plugin/plugin_status.h"

namespace sluice {
namespace {

// The loads of the process. Never destroyed.
class Loads {
 public:
  static Loads& Get() {
    static Loads* const loads = std::make_unique<Loads>().release();
    return *loads;
  }

  void Add(const std::shared_ptr<const OpRegistry>& ops, std::shared_ptr<const PluginInfo> info)
      ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    rows_.erase(std::remove_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.owner.expired(); }),
                rows_.end());
    rows_.push_back({ops.get(), ops, std::move(info)});
  }

  std::shared_ptr<const PluginInfo> Find(const OpRegistry& ops, absl::string_view op) const ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(&mu_);
    for (const Row& row : rows_) {
      if (row.ops != &ops || row.owner.expired()) continue;
      if (std::find(row.info->ops.begin(), row.info->ops.end(), op) != row.info->ops.end()) return row.info;
    }
    return nullptr;
  }

  // Held during a load, so that no two threads are in a plug-in's `add`, and what is checked stays true.
  Mutex loading;

 private:
  struct Row {
    const OpRegistry* ops;
    std::weak_ptr<const OpRegistry> owner;  // Expired: `ops` is gone.
    std::shared_ptr<const PluginInfo> info;
  };

  mutable Mutex mu_;
  std::vector<Row> rows_ ABSL_GUARDED_BY(mu_);
};

absl::Status Refusal(const std::string& path, absl::string_view why) {
  return Error(ErrorCode::kHostKernel).Text(absl::StrCat("plug-in '", PrintableName(path), "' ", why));
}

absl::Status CheckFile(const std::string& path) {
  const auto refuse = [&path](ErrorCode code, absl::string_view why) {
    return Error(code).Text(absl::StrCat("plug-in '", PrintableName(path), "' cannot be opened: ", why)).Build();
  };
  struct stat info;
  if (::stat(path.c_str(), &info) != 0) {
    const bool is_missing = errno == ENOENT || errno == ENOTDIR;
    return refuse(is_missing ? ErrorCode::kFileMissing : ErrorCode::kFileRead, std::strerror(errno));
  }
  return S_ISREG(info.st_mode) ? absl::OkStatus() : refuse(ErrorCode::kFileRead, "it is a directory or a device");
}

// What a library exports, not looked at yet. Closes a library that no function was called of.
class OpenLibrary {
 public:
  OpenLibrary() = default;
  OpenLibrary(const OpenLibrary&) = delete;
  OpenLibrary& operator=(const OpenLibrary&) = delete;
  ~OpenLibrary() {
    if (handle_ != nullptr) dlclose(handle_);
  }

  absl::Status Open(const std::string& path) {
    // A name without a slash would be looked for in the search paths of libraries.
    const std::string file = path.find('/') == std::string::npos ? absl::StrCat("./", path) : path;
    handle_ = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return absl::OkStatus();
    const char* const why = dlerror();
    return Refusal(path, absl::StrCat("cannot be opened as a library: ", why != nullptr ? why : "no reason given"));
  }
  const SluicePlugin* plugin() const { return static_cast<const SluicePlugin*>(dlsym(handle_, SLUICE_PLUGIN_SYMBOL)); }
  // From now on its code may run on any thread.
  void KeepForEver() { handle_ = nullptr; }

 private:
  void* handle_ = nullptr;
};

// Before anything of the plug-in is called.
absl::Status CheckVersion(const std::string& path, const SluicePlugin* plugin) {
  if (plugin == nullptr) {
    return Refusal(path, absl::StrCat("is a library that does not export '", SLUICE_PLUGIN_SYMBOL,
                                      "': it is not a plug-in of this program"));
  }
  if (plugin->magic != SLUICE_PLUGIN_MAGIC) {
    return Refusal(path, absl::StrCat("exports a '", SLUICE_PLUGIN_SYMBOL, "' that is something else"));
  }
  const bool is_known = plugin->abi_major == SLUICE_PLUGIN_MAJOR && plugin->abi_minor <= SLUICE_PLUGIN_MINOR;
  if (!is_known) {
    return Error(ErrorCode::kHostKernel)
        .Text(absl::StrCat("plug-in '", PrintableName(path), "' was built for another version of the interface"))
        .Found(absl::StrCat(plugin->abi_major, ".", plugin->abi_minor))
        .Expected(absl::StrCat(SLUICE_PLUGIN_MAJOR, ".0 to ", SLUICE_PLUGIN_MAJOR, ".", SLUICE_PLUGIN_MINOR))
        .Help("build the plug-in again with the kernels/plugin/plugin_api.h of this version");
  }
  if (plugin->layout != SLUICE_PLUGIN_LAYOUT || plugin->struct_size < sizeof(SluicePlugin)) {
    return Refusal(path, "was built by a compiler, or with options, that lay out structs differently");
  }
  return plugin->add != nullptr ? absl::OkStatus() : Refusal(path, "has no function `add`");
}

std::string TextOr(const char* text, absl::string_view otherwise) {
  return text != nullptr && *text != '\0' ? std::string(text) : std::string(otherwise);
}

std::string OwnerOf(const OpRegistry& ops, absl::string_view op) {
  if (const std::shared_ptr<const PluginInfo> plugin = PluginOf(ops, op)) return plugin->Title();
  return BuiltinOps().Find(op) != nullptr ? "TensorFlow or Sluice itself" : "the host program";
}

// Calls the plug-in. Exceptions that leave it end here.
absl::Status Describe(const SluicePlugin& plugin, SluiceRegistration* registration) {
  absl::Status returned;
  try {
    returned = TakeStatus(plugin.add(&PluginFunctionTable(), registration));
  } catch (...) {
    returned = StatusOfCaught(ErrorCode::kHostKernel);
  }
  return registration->first_error.ok() ? returned : registration->first_error;
}

// `status`, which may be the plug-in's own words, with the name of the plug-in.
absl::Status NotLoaded(const PluginInfo& info, const absl::Status& status) {
  const std::string start = absl::StrCat(info.Title(), " was not loaded: ");
  if (!ErrorInfoOf(status).has_value()) {
    return Error(ErrorCode::kHostKernel).Text(absl::StrCat(start, PrintableName(status.message(), 400)));
  }
  return WithChangedFacts(status, [&start](ErrorInfo& facts) { facts.text = start + facts.text; });
}

absl::StatusOr<PluginInfo> Load(const std::string& path, const std::shared_ptr<OpRegistry>& ops,
                                KernelRegistry& kernels) {
  SLUICE_RETURN_IF_ERROR(CheckFile(path));
  OpenLibrary library;
  SLUICE_RETURN_IF_ERROR(library.Open(path));
  const SluicePlugin* const plugin = library.plugin();
  SLUICE_RETURN_IF_ERROR(CheckVersion(path, plugin));
  PluginInfo info;
  info.path = path;
  info.name = TextOr(plugin->name, "unnamed");
  info.version = TextOr(plugin->version, "");
  SluiceRegistration registration;
  registration.origin = info.Title();
  registration.known_ops = ops.get();
  registration.owner_of = [&ops](absl::string_view op) { return OwnerOf(*ops, op); };
  library.KeepForEver();
  absl::Status status = Describe(*plugin, &registration);
  for (const SluiceRegistration::Op& op : registration.ops) info.ops.push_back(op.schema.name);
  info.num_kernels = static_cast<int>(registration.rows.size());
  if (status.ok()) status = Commit(&registration, ops, kernels);
  if (!status.ok()) return NotLoaded(info, status);
  Loads::Get().Add(ops, std::make_shared<const PluginInfo>(info));
  return info;
}

}  // namespace

std::string PluginInfo::Title() const {
  return absl::StrCat("plug-in '", PrintableName(name), "' (", PrintableName(path), ")");
}

absl::StatusOr<PluginInfo> LoadPlugin(const std::string& path, const std::shared_ptr<OpRegistry>& ops,
                                      KernelRegistry& kernels) {
  return AsStatus([&] {
    MutexLock lock(&Loads::Get().loading);
    return Load(path, ops, kernels);
  });
}

std::shared_ptr<const PluginInfo> PluginOf(const OpRegistry& ops, absl::string_view op) {
  return Loads::Get().Find(ops, op);
}

}  // namespace sluice
