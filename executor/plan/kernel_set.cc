#include "executor/plan/kernel_set.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "executor/plan/device_kernel.h"
#include "executor/plan/stream_kernel.h"
#include "executor/plan/weight_constants.h"
#include "graph/base/error.h"
#include "graph/base/file_pages.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/functions/call_site.h"
#include "graph/functions/call_states.h"
#include "graph/ir/graph_node.h"
#include "graph/ir/op_class.h"
#include "graph/ir/runnable_check.h"
#include "graph/placement/copy_nodes.h"
#include "graph/placement/memory_types.h"
#include "graph/placement/reachable_functions.h"
#include "kernels/control/constant_kernel.h"
#include "kernels/linalg/weight_inputs.h"
#include "kernels/transfer/copy_kernel.h"

namespace sluice {
namespace {

constexpr size_t kMaxKeyBytes = 512;  // Nodes with more are not compared: large constants.

// Whether an attr tells kernels apart. Those whose names begin with '_' are not the op's (names of classes, shapes,
// places), and a kernel that asks for one is its node's own; but "_kernel" chooses the row, and on an accelerator two
// others say where values stand (graph/placement/memory_types.h).
bool IsOfKernels(absl::string_view name) {
  return name.empty() || name[0] != '_' || name == "_kernel" || name == "_input_hostmem" || name == "_output_hostmem";
}

size_t BytesOfAttrs(const Graph& graph, NodeId id) {
  size_t bytes = 0;
  graph.ForEachAttr(id, [&bytes](absl::string_view name, absl::string_view value) {
    if (IsOfKernels(name)) bytes += name.size() + value.size();
  });
  return bytes;
}

template <typename T>
void AppendRaw(const T& value, std::string* key) {
  key->append(reinterpret_cast<const char*>(&value), sizeof(value));
}

// The attrs as they are encoded: all but what says where an inlined node is from, or those that tell kernels apart.
void AppendAttrs(const Graph& graph, NodeId id, bool all, std::string* key) {
  graph.ForEachAttr(id, [all, key](absl::string_view name, absl::string_view bytes) {
    if (all ? name == CallStates::kNodeAttr : !IsOfKernels(name)) return;
    AppendRaw(name.size(), key);
    AppendRaw(bytes.size(), key);
    key->append(name.data(), name.size());
    key->append(bytes.data(), bytes.size());
  });
}

// The key by which kernels of one graph are shared: op, types, the device where it is another one, attrs.
void MakeShareKey(const Graph& graph, NodeId id, const Device* other, std::string* key) {
  key->clear();
  const void* const facts[] = {&graph.op(id), &graph.signature(id), other};
  AppendRaw(facts, key);
  AppendAttrs(graph, id, /*all=*/false, key);
}

// The functions that the node's attrs name and that its kernel may call, with all that these lead to.
void AppendFunctions(const Graph& graph, NodeId id, std::string* key) {
  const std::vector<AttrSpec>& attrs = graph.op(id).attrs;
  const auto holds_functions = [](const AttrSpec& attr) { return ElementType(attr.type) == AttrType::kFunc; };
  if (graph.library().empty() || std::none_of(attrs.begin(), attrs.end(), holds_functions)) return;
  const absl::StatusOr<std::vector<Callee>> callees = CallFinder(graph).Callees(id);
  if (!callees.ok()) return;  // Its kernel says what is wrong.
  std::vector<std::string> names;
  for (const Callee& callee : *callees) names.emplace_back(callee.name);
  const FunctionLibrary reached = ReachableFrom(graph.library(), names);
  for (const std::string& name : reached.Names()) {
    const absl::string_view bytes = reached.Find(name)->bytes;
    AppendRaw(name.size(), key);
    key->append(name);
    AppendRaw(bytes.size(), key);
    AppendRaw(std::hash<std::string_view>()(std::string_view(bytes.data(), bytes.size())), key);
  }
}

// The same for kernels that outlive their graph. Another graph may have other functions of the same names, a row may
// have been added since the last plan, and a host's kernel may have asked for any attr.
std::string PropertiesOf(const Graph& graph, NodeId id, const Device* device, const KernelChoice& choice) {
  std::string properties(graph.op_name(id));
  AppendRaw(device, &properties);
  AppendRaw(choice.row, &properties);
  for (const std::vector<DType>* types : {&graph.signature(id).inputs, &graph.signature(id).outputs}) {
    AppendRaw(types->size(), &properties);
    for (const DType type : *types) AppendRaw(type, &properties);
  }
  AppendAttrs(graph, id, /*all=*/choice.is_of_host, &properties);
  AppendFunctions(graph, id, &properties);
  return properties;
}

// Whether the node's state is a variable, or a place in a rendezvous: found again by name, and not the kernel's own.
bool HasStateElsewhere(const Graph& graph, NodeId id) {
  const std::vector<DType>& outputs = graph.signature(id).outputs;
  return IsTransfer(graph.op(id).op_class) || std::any_of(outputs.begin(), outputs.end(), IsRef);
}

// The encoded value of a large constant; empty for other nodes.
absl::string_view LargeValueOf(const Graph& graph, NodeId id) {
  absl::string_view found;
  if (graph.op(id).op_class != OpClass::kConst) return found;
  graph.ForEachAttr(id, [&found](absl::string_view name, absl::string_view bytes) {
    if (name == "value" && bytes.size() > kMaxKeyBytes) found = bytes;
  });
  return found;
}

}  // namespace

// Makes the kernels of one graph, node by node. Lives for one call of Create.
class KernelSetMaker {
 public:
  KernelSetMaker(const Graph& graph, const KernelSet::Options& options)
      : graph_(graph), options_(options), weights_(graph) {}

  absl::StatusOr<KernelSet> Make() {
    SLUICE_RETURN_IF_ERROR(CheckRunnable(graph_));
    SLUICE_RETURN_IF_ERROR(PollStop(options_.stop, graph_.id_limit()));
    set_.by_node_.resize(static_cast<size_t>(graph_.id_limit()));
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      const NodeId id(i);
      if (!graph_.Contains(id) || NeedsNone(id)) continue;
      SLUICE_RETURN_IF_ERROR(PollStop(options_.stop));
      SLUICE_RETURN_IF_ERROR(Add(id));
    }
    return std::move(set_);
  }

 private:
  // The propagators know GradSum, but its sum is a kernel's work.
  bool NeedsNone(NodeId id) const {
    const OpClass op_class = graph_.op(id).op_class;
    return NeedsNoKernel(op_class) && op_class != OpClass::kGradSum;
  }

  // The device of a node, if it is not the graph's; null for all others.
  Device* OtherDevice(NodeId id) const {
    if (options_.node_devices.empty()) return nullptr;
    Device* const device = options_.node_devices[static_cast<size_t>(id.value())];
    return device != options_.device ? device : nullptr;
  }

  // Null where the graph has no device.
  Device* DeviceOf(NodeId id) const {
    Device* const other = OtherDevice(id);
    return other != nullptr ? other : options_.device;
  }
  DeviceKind KindOf(NodeId id) const {
    const Device* const device = DeviceOf(id);
    return device != nullptr ? device->kind() : DeviceKind::kCpu;
  }
  // The device of a node, where it works on its own; else null.
  StreamDevice* StreamDeviceOf(NodeId id) const {
    Device* const device = DeviceOf(id);
    return device != nullptr ? device->AsStreamDevice() : nullptr;
  }

  // Nothing where Options::create makes the kernels, and for copies.
  KernelChoice Choose(NodeId id) const {
    if (options_.create != nullptr || graph_.op_name(id) == kCopyOp) return KernelChoice();
    return options_.registry->Choose(GraphNode(graph_, id), KindOf(id));
  }
  bool MayBeShared(NodeId id, const KernelChoice& choice) const {
    return KernelRegistry::MayBeShared(graph_.op(id), choice);
  }
  // Whether kernels of this row may look at their device. Of our own, those of ops without state do not.
  bool MayLookAtDevice(NodeId id, const KernelChoice& choice) const {
    return choice.is_of_host || !MayBeShared(id, choice) || graph_.op(id).is_stateful;
  }

  // No two of these are alike: each has an index of its own. A table of a million would be as large as the graph.
  bool IsPort(NodeId id) const {
    const OpClass op_class = graph_.op(id).op_class;
    return op_class == OpClass::kArg || op_class == OpClass::kRetval;
  }

  // Whether the node is a call, whose kernel is the body that it calls.
  bool AddBody(NodeId id) {
    if (options_.bodies == nullptr || options_.create != nullptr) return false;
    const CalledBody* const body = options_.bodies->Find(graph_, id);
    if (body == nullptr) return false;
    if (set_.bodies_.empty()) set_.bodies_.resize(set_.by_node_.size());
    set_.by_node_[static_cast<size_t>(id.value())] = set_.bodies_[static_cast<size_t>(id.value())] = body;
    return true;
  }

  absl::Status Add(NodeId id) {
    if (AddBody(id)) return absl::OkStatus();
    // Chosen late where it can be: most nodes of a large graph are like one before.
    std::optional<KernelChoice> choice;
    Device* other = OtherDevice(id);
    if (other != nullptr) {
      choice = Choose(id);
      if (!MayLookAtDevice(id, *choice) && other->AsStreamDevice() == nullptr) other = nullptr;
    }
    const Kernel*& of_node = set_.by_node_[static_cast<size_t>(id.value())];
    const bool is_small = !IsPort(id) && BytesOfAttrs(graph_, id) <= kMaxKeyBytes;
    if (is_small) {
      MakeShareKey(graph_, id, other, &key_);
      const auto found = shared_.find(key_);
      if (found != shared_.end()) {
        of_node = found->second;
        return absl::OkStatus();
      }
    }
    if (!choice.has_value()) choice = Choose(id);
    is_of_one_node_ = false;
    SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Kernel> kernel, FindOrMake(id, other, *choice));
    of_node = kernel.get();
    if (is_small && !is_of_one_node_ && MayBeShared(id, *choice)) shared_.emplace(key_, kernel.get());
    set_.kernels_.push_back(std::move(kernel));
    return absl::OkStatus();
  }

  absl::StatusOr<std::shared_ptr<const Kernel>> FindOrMake(NodeId id, Device* other, const KernelChoice& choice) {
    const auto make = [&] { return MakeKernel(id, other, choice); };
    KernelStore* const store = choice.row != nullptr ? options_.store : nullptr;
    if (store == nullptr) return make();
    const bool is_shared = MayBeShared(id, choice);
    if (!is_shared && graph_.op(id).is_stateful && !HasStateElsewhere(graph_, id)) {
      const Device* const device = other != nullptr ? other : options_.device;
      const std::string key = CallKeyOf(id);
      std::string properties = PropertiesOf(graph_, id, device, choice);
      if (key.empty()) {
        return store->FindOrMake(graph_.name(id), std::move(properties), make, options_.store_generation);
      }
      if (options_.call_store == nullptr) return store->FindOrMake(key, std::move(properties), make);
      return options_.call_store->FindOrMake(key, std::move(properties), make);
    }
    // The store knows these by their value alone, which a host's kernel may do anything with.
    const bool is_plain =
        is_shared && !choice.is_of_host && choice.row->label().empty() && StreamDeviceOf(id) == nullptr;
    const absl::string_view value = is_plain ? LargeValueOf(graph_, id) : absl::string_view();
    return value.empty() ? make() : FindOrMakeConstant(id, value, make);
  }

  // The key of a node whose state belongs to calls of a function; empty for other nodes. See Note [State of calls].
  std::string CallKeyOf(NodeId id) const {
    AttrView value;
    if (graph_.FindAttr(id, CallStates::kNodeAttr, &value)) {
      const absl::StatusOr<absl::string_view> key = value.AsString();
      if (key.ok()) return std::string(*key);
    }
    if (options_.store_scope.empty()) return "";
    return absl::StrCat(options_.store_scope, graph_.name(id));
  }

  absl::StatusOr<std::shared_ptr<const Kernel>> FindOrMakeConstant(NodeId id, absl::string_view encoded,
                                                                   KernelStore::Make make) {
    KernelStore& store = *options_.store;
    if (store.allows_in_file()) {
      Tensor in_file = weights_.Find(id, encoded, [this](NodeId node, int32_t i) { return TakesInFile(node, i); });
      if (in_file.has_value()) {
        return store.FindOrMakeConstant(encoded, KernelStore::ConstantForm::kInFile,
                                        [&] { return std::make_shared<const ConstantKernel>(std::move(in_file)); });
      }
    }
    return store.FindOrMakeConstant(encoded, KernelStore::ConstantForm::kInMemory,
                                    [&]() -> absl::StatusOr<std::shared_ptr<const Kernel>> {
                                      SLUICE_ASSIGN_OR_RETURN(std::shared_ptr<const Kernel> kernel, make());
                                      ReleaseIfCopied(encoded, kernel->ConstantValue());
                                      return kernel;
                                    });
  }

  bool TakesInFile(NodeId id, int32_t i) const {
    const bool hands_on = WeightConstants::HandsOn(graph_, id);
    if (NeedsNone(id)) return hands_on;
    // A product whose kernel does not see that its input is constant would copy the matrix in every run.
    if (!hands_on && (i != 1 || !GraphNode(graph_, id).InputIsConstant(i))) return false;
    const KernelChoice choice = Choose(id);
    if (choice.row == nullptr || choice.is_of_host) return false;  // A host's kernel looks at all that it is given.
    return hands_on || TakesTensorInFile(*choice.row, graph_.signature(id), i);
  }

  // Gives the file's pages back where `value` is a copy of what is encoded there.
  static void ReleaseIfCopied(absl::string_view encoded, const Tensor* value) {
    if (value == nullptr || value->buffer() == nullptr || value->buffer()->allocator() == nullptr) return;
    ReleaseFilePages(encoded);
  }

  // The memory that is called `name` beside node `id`; null for the host's.
  absl::StatusOr<StreamDevice*> MemoryOf(NodeId id, const std::string& name) const {
    if (name.empty()) return nullptr;
    for (const NodeId node : {id, graph_.inputs(id)[0].node}) {
      StreamDevice* const device = StreamDeviceOf(node);
      if (device != nullptr && device->name() == name) return device;
    }
    return graph_.Locate(id,
                         Error(ErrorCode::kPartition).Text("copies between devices that are not its own").Found(name));
  }

  absl::StatusOr<std::shared_ptr<const Kernel>> MakeCopy(NodeId id) {
    is_of_one_node_ = true;
    SLUICE_ASSIGN_OR_RETURN(const CopyEnds ends, CopyEndsOf(graph_, id));
    SLUICE_ASSIGN_OR_RETURN(StreamDevice* const from, MemoryOf(id, ends.from));
    SLUICE_ASSIGN_OR_RETURN(StreamDevice* const to, MemoryOf(id, ends.to));
    if (from == to) return graph_.Locate(id, Error(ErrorCode::kPartition).Text("copies from one memory to the same"));
    const bool is_constant = graph_.op(graph_.inputs(id)[0].node).op_class == OpClass::kConst;
    return OffEventThread(NewCopyKernel(from, to, is_constant));
  }

  // Where the inputs and outputs of a node on an accelerator stand.
  HostPorts PortsOf(NodeId id) const {
    const AllowAllCatalog all;
    const KernelCatalog& catalog =
        options_.registry != nullptr ? static_cast<const KernelCatalog&>(*options_.registry) : all;
    const absl::string_view type = DeviceTypeName(KindOf(id));
    HostPorts ports;
    for (int32_t i = 0; i < static_cast<int32_t>(graph_.inputs(id).size()); ++i) {
      ports.inputs.push_back(InputOnHost(graph_, catalog, id, i, type));
    }
    for (int32_t i = 0; i < graph_.num_outputs(id); ++i) {
      ports.outputs.push_back(OutputOnHost(graph_, catalog, id, i, type));
    }
    return ports;
  }

  absl::StatusOr<std::shared_ptr<const Kernel>> MakeKernel(NodeId id, Device* other, const KernelChoice& choice) {
    if (graph_.op_name(id) == kCopyOp) return MakeCopy(id);
    const GraphNode node(graph_, id);
    const KernelConstruction construction(node, other != nullptr ? other : options_.device, options_.edges,
                                          options_.functions);
    std::shared_ptr<const Kernel> kernel;
    if (options_.create != nullptr) {
      absl::StatusOr<std::shared_ptr<const Kernel>> made = (*options_.create)(construction);
      if (!made.ok()) return graph_.Locate(id, made.status());
      kernel = *std::move(made);
    } else {
      SLUICE_ASSIGN_OR_RETURN(kernel, options_.registry->Create(construction, KindOf(id), choice));
    }
    is_of_one_node_ = construction.is_of_one_node();
    SLUICE_RETURN_IF_ERROR(Check(id, kernel.get()));
    if (StreamDevice* const own = StreamDeviceOf(id)) return OnStream(std::move(kernel), *own, PortsOf(id));
    return other != nullptr ? OnDevice(std::move(kernel), *other) : kernel;
  }

  // Factories of hosts may answer anything.
  absl::Status Check(NodeId id, const Kernel* kernel) const {
    if (kernel == nullptr) {
      return graph_.Locate(
          id, Error(ErrorCode::kHostKernel).Text("the factory for kernels of this op returned OK and no kernel"));
    }
    const Tensor* const constant = kernel->ConstantValue();
    if (constant == nullptr || graph_.num_outputs(id) != 1) return absl::OkStatus();
    const DType declared = graph_.output_type(id, 0);
    if (constant->dtype() == declared) return absl::OkStatus();
    return graph_.Locate(id, Error(ErrorCode::kHostKernel)
                                 .Found(DTypeName(constant->dtype()))
                                 .Expected(DTypeName(declared))
                                 .Text("the kernel's constant value has another dtype than the node's output"));
  }

  const Graph& graph_;
  const KernelSet::Options& options_;
  KernelSet set_;
  WeightConstants weights_;
  HashMap<std::string, const Kernel*> shared_;
  std::string key_;
  bool is_of_one_node_ = false;  // Whether the kernel made last knows its node (KernelConstruction).
};

absl::StatusOr<KernelSet> KernelSet::Create(const Graph& graph, const Options& options) {
  return KernelSetMaker(graph, options).Make();
}

const Tensor* KernelSet::constant(const Graph& graph, NodeId id) const {
  const Kernel* const of_node = kernel(id);
  const bool may_be = of_node != nullptr && graph.inputs(id).empty() && graph.num_outputs(id) == 1;
  return may_be ? of_node->ConstantValue() : nullptr;
}

}  // namespace sluice
