#include "graph/placement/placer.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/placement/colocation.h"
#include "graph/placement/device_chooser.h"

namespace sluice {
namespace {

// What one group of nodes asks for and can do. 16 bytes, one per root.
struct Group {
  int32_t wanted = 0;    // Pattern of all members together.
  NodeId stated;         // The member that asked last for something new, for messages.
  uint32_t types = ~0u;  // Device types with a kernel for every member, as a bit set.
  int32_t device = -1;
};

// One call of PlaceGraph.
class Placer {
 public:
  Placer(Graph& graph, const DeviceList& devices, const KernelCatalog& catalog, const PlacementOptions& options)
      : graph_(graph),
        devices_(devices),
        catalog_(catalog),
        options_(options),
        groups_of_(graph),
        chooser_(devices),
        groups_(static_cast<size_t>(graph.id_limit())) {}

  absl::Status Run() {
    const int32_t by_default = chooser_.Pattern(options_.default_device);
    if (by_default < 0) {
      return absl::Status(Error(ErrorCode::kDeviceName).Found(options_.default_device).Text("the default device"));
    }
    nodes_ = graph_.Nodes();
    for (NodeId id : nodes_) {
      if (!TakesResource(id)) AddRequest(id);
    }
    for (NodeId id : nodes_) {
      if (TakesResource(id)) AddRequest(id);
    }
    for (NodeId id : nodes_) {
      SLUICE_RETURN_IF_ERROR(PollStop(options_.stop));
      AddKernels(id);
    }
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    for (NodeId id : nodes_) {
      SLUICE_RETURN_IF_ERROR(PollStop(options_.stop));
      if (groups_of_.Root(id) == id) Choose(id, by_default);
    }
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    if (devices_.devices().size() > 1) {
      FollowInputs();
      FollowConsumers();
    }
    for (NodeId id : nodes_) {
      graph_.SetDevice(id, devices_.devices()[static_cast<size_t>(GroupOf(id).device)].name);
    }
    return absl::OkStatus();
  }

 private:
  Group& GroupOf(NodeId id) { return groups_[static_cast<size_t>(groups_of_.Root(id).value())]; }
  void Fail(NodeId id, const absl::Status& status) { errors_.Add(graph_.Locate(id, status)); }

  // Whether an edge with a handle ties `id` to the node that gives it.
  bool TakesResource(NodeId id) const {
    const std::vector<DType>& types = graph_.signature(id).inputs;
    return std::find(types.begin(), types.end(), DType::kResource) != types.end();
  }

  // Merges the device text of `id` into its group's pattern. As in TensorFlow, a node that takes a handle goes where
  // what it stands for is, whatever it asks for.
  void AddRequest(NodeId id) {
    const int32_t own = chooser_.Pattern(graph_.device(id));
    if (own < 0) {
      return Fail(id, Error(ErrorCode::kDeviceName).Found(graph_.device(id)).Expected("a device text"));
    }
    Group& group = GroupOf(id);
    if (own == DeviceChooser::kAnyDevice || own == group.wanted) return;
    const bool must_yield = TakesResource(id);
    const int32_t merged = chooser_.Merge(group.wanted, own, options_.allow_soft && !must_yield);
    if (merged < 0 && (must_yield || (options_.allow_soft && options_.allow_other_task))) return;
    if (merged < 0) return FailConflict(id, own);
    if (merged != group.wanted) group.stated = id;
    group.wanted = merged;
  }

  // `id` asks for pattern `own`; an earlier member of its group for something else.
  void FailConflict(NodeId id, int32_t own) {
    NodeId other = groups_of_.Root(id);
    for (NodeId node : nodes_) {
      if (node >= id) break;
      if (groups_of_.Root(node) != groups_of_.Root(id)) continue;
      if (chooser_.Merge(chooser_.Pattern(graph_.device(node)), own, options_.allow_soft) >= 0) continue;
      other = node;
      break;
    }
    Fail(id, Error(ErrorCode::kColocation)
                 .Text(absl::StrCat("is tied to '", PrintableName(graph_.name(other)), "', which asks for ",
                                    graph_.device(other)))
                 .Found(graph_.device(id))
                 .Expected(graph_.device(other)));
  }

  // Narrows the group's device types down to those with a kernel for `id`.
  void AddKernels(NodeId id) {
    uint32_t types = 0;
    for (size_t i = 0; i < devices_.types().size() && i < 32; ++i) {
      if (catalog_.HasKernel(graph_, id, devices_.types()[i])) types |= 1u << i;
    }
    if (types == 0) return Fail(id, NoKernel(id));
    Group& group = GroupOf(id);
    if ((group.types & types) == 0 && group.types != 0) FailKernels(id);
    group.types &= types;
  }

  absl::Status NoKernel(NodeId id) const {
    ErrorBuilder error = Error(ErrorCode::kNoKernel);
    error.Text(absl::StrCat("Sluice has no kernel for it on ", absl::StrJoin(devices_.types(), " or ")));
    const absl::StatusOr<DType> type = graph_.GetType(id, "T");
    if (type.ok()) error.Found(absl::StrCat("T=", DTypeName(*type)));
    return error;
  }

  // No device type has kernels for `id` and all earlier members of its group.
  void FailKernels(NodeId id) {
    Fail(id, Error(ErrorCode::kColocation)
                 .Text(absl::StrCat("is tied to '", PrintableName(graph_.name(groups_of_.Root(id))),
                                    "', and no device has kernels for both")));
  }

  // Chooses the device of the group with root `root`.
  void Choose(NodeId root, int32_t by_default) {
    Group& group = GroupOf(root);
    if (group.wanted == DeviceChooser::kAnyDevice && by_default != DeviceChooser::kAnyDevice) {
      group.device = chooser_.Choose(by_default, group.types);
      if (group.device >= 0) return;
    }
    group.device = chooser_.Choose(group.wanted, group.types);
    if (group.device < 0 && options_.allow_soft) {
      group.device = chooser_.ChooseSoftly(group.wanted, group.types, options_.allow_other_task);
    }
    if (group.device < 0) FailDevice(root, group);
  }

  void FailDevice(NodeId root, const Group& group) {
    const NodeId id = group.stated.valid() ? group.stated : root;
    const std::string wanted = chooser_.Text(group.wanted);
    if (group.device == DeviceChooser::kNoDevice) {
      return Fail(id, Error(ErrorCode::kDeviceUnknown)
                          .Text("asks for a device that is not there")
                          .Found(devices_.ToString())
                          .Expected(wanted)
                          .Help("take the device from the node, or allow soft placement and other tasks: then a device "
                                "that is here runs it"));
    }
    Fail(id, Error(ErrorCode::kNoKernel)
                 .Text("Sluice has no kernel for it on the device that it asks for")
                 .Expected(wanted));
  }

  // Whether nothing but its kernels ties `id` to a device.
  bool IsFree(NodeId id) {
    const Group& group = GroupOf(id);
    return group.wanted == DeviceChooser::kAnyDevice && groups_of_.Root(id) == id && !Contains(shared_, id);
  }
  static bool Contains(const std::vector<bool>& set, NodeId id) { return set[static_cast<size_t>(id.value())]; }
  bool CanRunOn(NodeId id, int32_t device) {
    return ((GroupOf(id).types >> devices_.type_of(static_cast<size_t>(device))) & 1u) != 0;
  }

  // Shape, Rank and Size move no data when they run where their input is.
  void FollowInputs() {
    shared_.assign(static_cast<size_t>(graph_.id_limit()), false);
    for (NodeId id : nodes_) {
      if (groups_of_.Root(id) != id) shared_[static_cast<size_t>(groups_of_.Root(id).value())] = true;
    }
    for (NodeId id : nodes_) {
      if (graph_.inputs(id).size() != 1 || !graph_.inputs(id)[0].is_set() || !IsFree(id)) continue;
      if (!graph_.Is(id, "Shape") && !graph_.Is(id, "Rank") && !graph_.Is(id, "Size")) continue;
      const int32_t device = GroupOf(graph_.inputs(id)[0].node).device;
      if (CanRunOn(id, device)) GroupOf(id).device = device;
    }
  }

  // Constants and the like are made where they are used, if that is one place.
  void FollowConsumers() {
    constexpr int32_t kUnused = -1, kSeveral = -2;
    std::vector<int32_t> used_on(static_cast<size_t>(graph_.id_limit()), kUnused);
    for (NodeId id : nodes_) {
      const int32_t device = GroupOf(id).device;
      for (const Output& input : graph_.all_inputs(id)) {
        if (!input.is_set()) continue;
        int32_t& seen = used_on[static_cast<size_t>(input.node.value())];
        seen = seen == kUnused || seen == device ? device : kSeveral;
      }
    }
    for (NodeId id : nodes_) {
      const int32_t device = used_on[static_cast<size_t>(id.value())];
      if (device < 0 || !graph_.inputs(id).empty() || graph_.num_outputs(id) != 1 || !IsFree(id)) continue;
      if (!IsRef(graph_.output_type(id, 0)) && CanRunOn(id, device)) GroupOf(id).device = device;
    }
  }

  Graph& graph_;
  const DeviceList& devices_;
  const KernelCatalog& catalog_;
  const PlacementOptions& options_;
  const ColocationGroups groups_of_;
  DeviceChooser chooser_;
  std::vector<Group> groups_;  // By id of the root.
  std::vector<NodeId> nodes_;
  std::vector<bool> shared_;  // By id: roots of groups with other members.
  ErrorCollector errors_;
};

}  // namespace

absl::Status PlaceGraph(Graph& graph, const DeviceList& devices, const KernelCatalog& catalog,
                        const PlacementOptions& options) {
  return Placer(graph, devices, catalog, options).Run();
}

}  // namespace sluice
