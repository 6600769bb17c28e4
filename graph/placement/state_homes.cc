#include "graph/placement/state_homes.h"

#include <algorithm>
#include <vector>

#include "graph/placement/colocation.h"

namespace sluice {
namespace {

bool IsStateType(DType type) { return type == DType::kResource || IsRef(type); }

// Whether `id` makes state that asks for no device.
bool MakesHomelessState(const Graph& graph, NodeId id) {
  if (!graph.op(id).is_stateful || !graph.device(id).empty()) return false;
  const Signature& signature = graph.signature(id);
  return std::any_of(signature.outputs.begin(), signature.outputs.end(), IsStateType) &&
         std::none_of(signature.inputs.begin(), signature.inputs.end(), IsStateType);
}

}  // namespace

StateHomes::StateHomes(const Graph& whole) {
  const std::vector<NodeId> nodes = whole.Nodes();
  std::vector<NodeId> homeless;
  for (const NodeId id : nodes) {
    if (MakesHomelessState(whole, id)) homeless.push_back(id);
  }
  if (homeless.empty()) return;
  const ColocationGroups groups(whole);
  HashMap<int32_t, NodeId> asking;  // The first member of each group that asks, by the group's root.
  for (const NodeId id : nodes) {
    if (!whole.device(id).empty()) asking.emplace(groups.Root(id).value(), id);
  }
  for (const NodeId id : homeless) {
    const auto found = asking.find(groups.Root(id).value());
    if (found != asking.end()) wanted_.emplace(whole.name(id), whole.device(found->second));
  }
}

void StateHomes::Settle(const DeviceEntry& otherwise, const KernelCatalog& catalog, Graph* part) const {
  for (const NodeId id : part->Nodes()) {
    if (!MakesHomelessState(*part, id)) continue;
    const auto found = wanted_.find(std::string(part->name(id)));
    if (found != wanted_.end()) {
      part->SetDevice(id, found->second);
    } else if (catalog.HasKernel(*part, id, otherwise.parsed.type)) {
      part->SetDevice(id, otherwise.name);
    }
  }
}

}  // namespace sluice
