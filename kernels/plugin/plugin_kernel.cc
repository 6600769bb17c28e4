#include "kernels/plugin/plugin_kernel.h"

#include <limits>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "kernels/kernel.h"
#include "kernels/plugin/plugin_call.h"
#include "kernels/plugin/plugin_done.h"
#include "kernels/plugin/plugin_node.h"
#include "kernels/plugin/plugin_status.h"

namespace sluice {
namespace {

// The functions of one description. Shared by the row and its kernels, which may outlive the registry. Immutable.
struct PluginFunctions : std::enable_shared_from_this<PluginFunctions> {
  explicit PluginFunctions(const SluiceKernelDef& def)
      : create(def.create),
        compute(def.compute),
        compute_async(def.compute_async),
        destroy(def.destroy),
        data(def.data) {}

  SluiceStatus* (*const create)(void* data, SluiceNode* node, void** kernel);
  SluiceStatus* (*const compute)(void* kernel, SluiceCall* call);
  void (*const compute_async)(void* kernel, SluiceCall* call, SluiceDone done);
  void (*const destroy)(void* kernel);
  void* const data;
};

// What the plug-in made for one kernel. Owns it.
class PluginObject {
 public:
  explicit PluginObject(std::shared_ptr<const PluginFunctions> functions) : functions_(std::move(functions)) {}
  PluginObject(const PluginObject&) = delete;
  PluginObject& operator=(const PluginObject&) = delete;
  ~PluginObject() {
    if (!is_made_ || functions_->destroy == nullptr) return;
    try {
      functions_->destroy(kernel_);
    } catch (...) {
      LogCaught("`destroy` of a plug-in");
    }
  }

  // Call once.
  absl::Status Make(const KernelConstruction& construction) {
    if (functions_->create == nullptr) return absl::OkStatus();
    return AsStatus([&] {
      SluiceNode node(construction);
      SLUICE_RETURN_IF_ERROR(TakeStatus(functions_->create(functions_->data, &node, &kernel_)));
      is_made_ = true;
      return absl::OkStatus();
    });
  }
  const PluginFunctions& functions() const { return *functions_; }
  void* kernel() const { return kernel_; }

 private:
  const std::shared_ptr<const PluginFunctions> functions_;
  void* kernel_ = nullptr;
  bool is_made_ = false;
};

// Exceptions that leave the plug-in are caught by the code that runs nodes, as those of any kernel.
class PluginKernel final : public Kernel {
 public:
  explicit PluginKernel(std::unique_ptr<const PluginObject> object) : object_(std::move(object)) {}

  absl::Status Compute(KernelContext& context) const override {
    SluiceCall call(context);
    SluiceStatus* status = nullptr;
    try {
      status = object_->functions().compute(object_->kernel(), &call);
    } catch (...) {
      DropCancelCallbacks(&call);
      throw;
    }
    DropCancelCallbacks(&call);
    const absl::Status answer = TakeStatus(status);
    // Whatever the plug-in made of it: as of any kernel, the executor finds out whether it was cancelled or late.
    if (call.was_cut) throw KernelCancelled();
    return answer;
  }

 private:
  const std::unique_ptr<const PluginObject> object_;
};

// The same for kernels that end with SluiceApi::finish.
class PluginAsyncKernel final : public AsyncKernel {
 public:
  explicit PluginAsyncKernel(std::unique_ptr<const PluginObject> object) : object_(std::move(object)) {}

  void ComputeAsync(KernelContext& context, Done done) const override {
    const absl::StatusOr<BegunCall> begun = BeginCall(context, &done);
    if (!begun.ok()) return std::move(done)(begun.status());
    try {
      object_->functions().compute_async(object_->kernel(), begun->call, begun->done);
    } catch (...) {
      // Logged as a second call where the plug-in had finished before it threw.
      DeleteStatus(FinishCall(begun->done, GiveStatus(StatusOfCaught(ErrorCode::kKernelException))));
    }
  }

 private:
  const std::unique_ptr<const PluginObject> object_;
};

absl::StatusOr<std::unique_ptr<Kernel>> MakeKernel(const KernelConstruction& construction, const void* data) {
  const auto functions = static_cast<const PluginFunctions*>(data)->shared_from_this();
  auto object = std::make_unique<PluginObject>(functions);
  SLUICE_RETURN_IF_ERROR(object->Make(construction));
  if (functions->compute == nullptr) return std::make_unique<PluginAsyncKernel>(std::move(object));
  return std::make_unique<PluginKernel>(std::move(object));
}

// Returns what is wrong with a description, or null.
const char* ProblemOf(const SluiceKernelDef& def) {
  if ((def.compute == nullptr) == (def.compute_async == nullptr)) return "needs one of compute and compute_async";
  if (def.priority < std::numeric_limits<int8_t>::min() || def.priority > std::numeric_limits<int8_t>::max()) {
    return "has a priority that is not in -128 to 127";
  }
  if (def.cost < SLUICE_COST_BY_BYTES || def.cost > SLUICE_COST_HEAVY) return "has an unknown cost";
  if (def.sharing < SLUICE_SHARE_BY_SCHEMA || def.sharing > SLUICE_SHARE_NEVER) return "has an unknown sharing";
  const absl::string_view device = def.device != nullptr ? def.device : "CPU";
  // It would get pointers into the device's memory, and no stream to queue its work on.
  if (device == "GPU") return "is for a \"GPU\", for which this version of the interface has no streams";
  if (device != "CPU") return "is for a device other than \"CPU\"";
  return nullptr;
}

absl::StatusOr<DTypeSet> TypesOf(const SluiceTypes& types) {
  DTypeSet set;
  for (int32_t i = 0; i < types.num_dtypes; ++i) {
    const DType dtype = DTypeFromNumber(types.dtypes[i]);
    if (!IsSupported(dtype)) {
      return Error(ErrorCode::kHostKernel)
          .Text(absl::StrCat("a kernel's constraint of '", types.attr, "' has dtype ", types.dtypes[i]));
    }
    set = set | DTypeSet{dtype};
  }
  return set;
}

}  // namespace

absl::StatusOr<OwnedKernelRow> MakePluginRow(const SluiceKernelDef& def, const std::string& origin) {
  if (const char* const problem = ProblemOf(def)) {
    return Error(ErrorCode::kHostKernel).Text(absl::StrCat("a kernel for '", PrintableName(def.op), "' ", problem));
  }
  constexpr CostHint kCosts[] = {CostHint::kByBytes, CostHint::kCheap, CostHint::kHeavy};
  constexpr Sharing kSharings[] = {Sharing::kBySchema, Sharing::kEqualNodes, Sharing::kNone};
  const auto functions = std::make_shared<const PluginFunctions>(def);
  OwnedKernelRow row(def.op, KernelFactory(&MakeKernel, functions.get()), functions);
  row.From(origin).Cost(kCosts[def.cost]).Shared(kSharings[def.sharing]).Priority(static_cast<int8_t>(def.priority));
  if (def.label != nullptr) row.Label(def.label);
  for (int32_t i = 0; i < def.num_types; ++i) {
    SLUICE_ASSIGN_OR_RETURN(const DTypeSet types, TypesOf(def.types[i]));
    row.Types(def.types[i].attr, types);
  }
  return row;
}

}  // namespace sluice
