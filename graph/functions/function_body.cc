#include "graph/functions/function_body.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/device_name.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/functions/body_values.h"
#include "graph/ir/node_check.h"
#include "graph/ir/op_class.h"

namespace sluice {
namespace {

constexpr absl::string_view kColocationPrefix = "loc:@";

// A node of the body on its way into the graph.
struct PendingNode {
  const NodeDefView* def = nullptr;
  const OpSchema* schema = nullptr;
  const Signature* signature = nullptr;
  std::vector<std::pair<std::string, AttrValue>> attrs;  // With values of the call in them, or renamed.
  std::vector<NamedAttr> kept_attrs;                     // As the definition has them: slices of its bytes.
  std::vector<BodyValue> inputs;
  std::vector<BodyValue> controls;
  bool needed = true;
  bool is_tied_to_device = false;  // It stands with a node of the body that asks for a device.
  NodeId id;
};

// Lives for one AddFunctionBody.
class BodyAdder {
 public:
  BodyAdder(Graph& graph, const BoundFunction& function, const BodyOptions& options)
      : graph_(graph), function_(function), definition_(*function.definition), options_(options), values_(function) {}

  absl::StatusOr<BodyNodes> Run() {
    IndexNames();
    for (PendingNode& node : nodes_) Report(node, Bind(node));
    if (errors_.empty()) {
      for (size_t i = 0; i < nodes_.size(); ++i) {
        values_.SetOutputs(static_cast<int32_t>(i), *nodes_[i].schema, *nodes_[i].signature);
      }
      for (PendingNode& node : nodes_) ResolveInputs(node);
      ResolveResults();
    }
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    if (options_.prune) MarkNeeded();
    if (!options_.device.empty()) FindTiedNodes();
    for (PendingNode& node : nodes_) {
      if (node.needed) Report(node, Add(node));
    }
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    for (const PendingNode& node : nodes_) {
      if (node.needed) Report(node, Link(node));
    }
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    return Collect();
  }

 private:
  // Of all nodes of one body together.
  static constexpr size_t kMaxInputs = size_t{1} << 24;

  // --- Errors --------------------------------------------------------------------------------------------------

  void Report(const absl::Status& status) {
    if (!status.ok()) errors_.Add(WithFunction(definition_.Locate(nullptr, status), function_.name()));
  }
  void Report(const PendingNode& node, const absl::Status& status) {
    if (status.ok()) return;
    Report(definition_.Locate(node.def, status));
  }

  // --- Names ---------------------------------------------------------------------------------------------------

  void IndexNames() {
    nodes_.resize(definition_.nodes.size());
    for (size_t i = 0; i < nodes_.size(); ++i) {
      nodes_[i].def = &definition_.nodes[i];
      Report(nodes_[i], values_.AddNode(nodes_[i].def->name));
    }
  }

  // --- Attrs and types -----------------------------------------------------------------------------------------

  absl::Status Bind(PendingNode& node) {
    if (IsCallFrameOp(node.def->op)) {
      return Error(ErrorCode::kOpInternal).Text("cannot stand in a function body: arguments and results come from it");
    }
    node.schema = graph_.FindOp(node.def->op);
    if (node.schema == nullptr) return Error(ErrorCode::kOpUnknown).Text("is not an op known here");
    for (const NamedAttr& attr : node.def->attrs) {
      if (!HasPlaceholder(attr.value)) {
        node.kept_attrs.push_back(attr);
        continue;
      }
      absl::StatusOr<AttrValue> value = SubstitutePlaceholders(attr.value, function_.attrs, &budget_);
      if (!value.ok()) return value.status();
      node.attrs.emplace_back(std::string(attr.name), *std::move(value));
    }
    const auto find = [&](absl::string_view name, AttrView* value) {
      for (const NamedAttr& attr : node.kept_attrs) {
        if (attr.name == name) return *value = attr.value, true;
      }
      for (const auto& attr : node.attrs) {
        if (attr.first == name) return *value = attr.second.view(), true;
      }
      const AttrSpec* const spec = node.schema->FindAttr(name);
      if (spec == nullptr || !spec->has_default) return false;
      *value = AttrView(spec->default_value);
      return true;
    };
    SLUICE_ASSIGN_OR_RETURN(node.signature,
                            graph_.signature_cache().Get(*node.schema, find, LoadLimits().max_inputs_per_node));
    return absl::OkStatus();
  }

  // --- Inputs and results --------------------------------------------------------------------------------------

  // One word in a body can stand for 65,536 tensors: too many are refused before they fill the memory.
  absl::Status CheckCount(const PendingNode& node, size_t before) {
    num_inputs_ += node.inputs.size() + node.controls.size() - before;
    if (node.inputs.size() > node.signature->inputs.size()) {
      return Error(ErrorCode::kInputCount)
          .Text("has the wrong number of inputs")
          .Found(absl::StrCat("at least ", node.inputs.size()))
          .Expected(absl::StrCat(node.signature->inputs.size()));
    }
    if (num_inputs_ <= kMaxInputs) return absl::OkStatus();
    return Error(ErrorCode::kLimitInputs)
        .Text("has inputs that, with those of the nodes before it, are too many for one function body")
        .Limit("inputs of a body", kMaxInputs);
  }

  void ResolveInputs(PendingNode& node) {
    if (num_inputs_ > kMaxInputs) return;  // Said at the node where it happened.
    for (absl::string_view text : node.def->inputs) {
      const size_t before = node.inputs.size() + node.controls.size();
      if (absl::ConsumePrefix(&text, "^")) {
        Report(node, values_.ResolveControl(text, &node.controls));
      } else if (!node.controls.empty()) {
        Report(node, Error(ErrorCode::kInputOrder)
                         .Text(absl::StrCat("has the data input '", PrintableName(text), "' behind a control input")));
      } else {
        Report(node, values_.Resolve(text, &node.inputs));
      }
      const absl::Status status = CheckCount(node, before);
      Report(node, status);
      if (!status.ok()) return;
    }
  }

  std::string ResultText(absl::string_view output) const {
    return absl::StrCat("function '", PrintableName(function_.name()), "': result '", PrintableName(output), "'");
  }

  absl::Status ResolveResult(size_t output) {
    const std::string& name = definition_.schema.outputs[output].name;
    const auto found = std::lower_bound(definition_.ret.begin(), definition_.ret.end(), name,
                                        [](const auto& pair, const std::string& key) { return pair.first < key; });
    if (found == definition_.ret.end() || found->first != name) {
      return Error(ErrorCode::kFunctionRet).Text(absl::StrCat(ResultText(name), " has no entry in ret"));
    }
    std::vector<BodyValue> sources;
    const absl::Status status = values_.Resolve(found->second, &sources);
    if (!status.ok()) {
      return Error(ErrorCode::kFunctionRet).Text(absl::StrCat(ResultText(name), " ", ErrorInfoOf(status)->text));
    }
    const std::vector<int32_t>& starts = function_.signature.output_starts;
    const size_t count = static_cast<size_t>(starts[output + 1] - starts[output]);
    if (sources.size() != count) {
      return Error(ErrorCode::kFunctionRet)
          .Text(absl::StrCat(ResultText(name), " has the wrong number of tensors"))
          .Found(absl::StrCat(sources.size()))
          .Expected(absl::StrCat(count));
    }
    for (size_t i = 0; i < count; ++i) {
      const DType found_type = values_.TypeOf(sources[i]);
      const DType wanted = function_.signature.outputs[results_.size()];
      results_.push_back(sources[i]);
      if (BaseType(found_type) == BaseType(wanted)) continue;
      return Error(ErrorCode::kFunctionRet)
          .Text(absl::StrCat(ResultText(name), " has the wrong type"))
          .Found(DTypeName(found_type))
          .Expected(DTypeName(wanted));
    }
    return absl::OkStatus();
  }

  void ResolveResults() {
    for (size_t i = 0; i < definition_.schema.outputs.size(); ++i) {
      const absl::Status status = ResolveResult(i);
      Report(status);
      if (!status.ok())
        results_.resize(static_cast<size_t>(function_.signature.output_starts[i + 1]), BodyValue{-1, 0});
    }
    for (const auto& control : definition_.control_ret) {
      const int32_t node = values_.FindNode(control.second);
      if (node >= 0) {
        control_results_.push_back(node);
        continue;
      }
      Report(Error(ErrorCode::kFunctionRet)
                 .Text(absl::StrCat("function '", PrintableName(function_.name()), "': control output '",
                                    PrintableName(control.first), "' is node '", PrintableName(control.second),
                                    "', which is not in the body")));
    }
  }

  // --- Into the graph ------------------------------------------------------------------------------------------

  void MarkNeeded() {
    std::vector<int32_t> open;
    const auto need = [&](int32_t node) {
      if (node < 0 || nodes_[static_cast<size_t>(node)].needed) return;
      nodes_[static_cast<size_t>(node)].needed = true;
      open.push_back(node);
    };
    for (PendingNode& node : nodes_) node.needed = false;
    for (size_t i = 0; i < nodes_.size(); ++i) {
      // Values go round or die at control flow.
      const OpSchema& op = *nodes_[i].schema;
      const bool is_kept_effect = options_.keep_effects && op.is_stateful;
      if (is_kept_effect || IsControlFlow(op.op_class)) need(static_cast<int32_t>(i));
    }
    for (const BodyValue& source : results_) need(source.node);
    for (int32_t node : control_results_) need(node);
    while (!open.empty()) {
      const PendingNode& node = nodes_[static_cast<size_t>(open.back())];
      open.pop_back();
      for (const BodyValue& source : node.inputs) need(source.node);
      for (const BodyValue& source : node.controls) need(source.node);
    }
  }

  // Whether a node on `device` can stand with `other`.
  bool CanStandWith(NodeId other, absl::string_view device) const {
    DeviceName own, its;
    const bool are_known = ParseDeviceName(device, &own) && ParseDeviceName(graph_.device(other), &its);
    return are_known && AreCompatible(own, its);
  }

  // Colocation groups as the graph has them, for a node on `device`: nodes of the body have new names, and in place of
  // an argument there is the node that gives it, which may have to be elsewhere, or where another one is not.
  std::vector<std::string> RenamedGroups(const std::vector<absl::string_view>& groups, absl::string_view device) const {
    std::vector<std::string> renamed;
    std::string asked(device);
    for (const absl::string_view group : groups) {
      absl::string_view name = group;
      const bool is_location = absl::ConsumePrefix(&name, kColocationPrefix);
      const std::optional<BodyValue> arg = is_location ? values_.FindArgument(name) : std::nullopt;
      if (is_location && values_.FindNode(name) >= 0) {
        renamed.push_back(absl::StrCat(kColocationPrefix, options_.prefix, name));
      } else if (!arg.has_value()) {
        renamed.emplace_back(group);
      } else if (const NodeId giver = OutputOf(*arg).node; CanStandWith(giver, asked)) {
        asked = MergeDevices(asked, graph_.device(giver));
        renamed.push_back(absl::StrCat(kColocationPrefix, graph_.name(giver)));
      }
    }
    return renamed;
  }

  // Names in colocation groups and of frames follow the nodes' new names. Nothing where `value` can stay.
  std::optional<AttrValue> Renamed(const PendingNode& node, absl::string_view device, absl::string_view attr,
                                   AttrView value) const {
    if (attr == "frame_name" && node.schema->op_class == OpClass::kEnter) {
      const absl::StatusOr<absl::string_view> frame = value.AsString();
      if (!frame.ok() || frame->empty()) return std::nullopt;
      return AttrValue(absl::StrCat(options_.prefix, *frame));
    }
    if (attr != "_class") return std::nullopt;
    const absl::StatusOr<std::vector<absl::string_view>> groups = value.AsStringList();
    if (!groups.ok()) return std::nullopt;
    return AttrValue(RenamedGroups(*groups, device));
  }

  // Adds the other attrs of `node` to `spec`, and renames nodes and frames in all of them.
  void RenameAttrs(const PendingNode& node, NodeSpec* spec) const {
    for (auto& attr : spec->attrs) {
      if (std::optional<AttrValue> renamed = Renamed(node, spec->device, attr.first, attr.second.view())) {
        attr.second = *std::move(renamed);
      }
    }
    for (const NamedAttr& attr : node.kept_attrs) {
      if (std::optional<AttrValue> renamed = Renamed(node, spec->device, attr.name, attr.value)) {
        spec->attrs.emplace_back(std::string(attr.name), *std::move(renamed));
      } else {
        spec->kept_attrs.push_back(attr);
      }
    }
  }

  // Whether `node` is placed with the resource that it works on: an op without its own device, other than a call. The
  // resource may well be elsewhere than the call.
  bool StandsWithItsResource(const PendingNode& node) const {
    if (!node.def->device.empty() || graph_.library().Find(node.def->op) != nullptr) return false;
    const auto names_functions = [](const AttrSpec& attr) { return ElementType(attr.type) == AttrType::kFunc; };
    if (std::any_of(node.schema->attrs.begin(), node.schema->attrs.end(), names_functions)) return false;
    const std::vector<DType>& types = node.signature->inputs;
    return std::find(types.begin(), types.end(), DType::kResource) != types.end();
  }

  // Finds the nodes that have to stand with nodes of the body which ask for devices, by colocation or since they take a
  // reference: these need not be where the call is.
  void FindTiedNodes() {
    std::vector<size_t> parents(nodes_.size());
    for (size_t i = 0; i < parents.size(); ++i) parents[i] = i;
    const auto root_of = [&parents](size_t i) {
      while (parents[i] != i) i = parents[i] = parents[parents[i]];
      return i;
    };
    HashMap<absl::string_view, size_t> groups;  // By label: a node that is in it.
    for (size_t i = 0; i < nodes_.size(); ++i) {
      const auto tie = [&](size_t other) { parents[root_of(i)] = root_of(other); };
      for (absl::string_view group : GroupsOf(*nodes_[i].def)) {
        const auto [found, is_new] = groups.emplace(group, i);
        if (!is_new) tie(found->second);
        if (!absl::ConsumePrefix(&group, kColocationPrefix)) continue;
        const int32_t named = values_.FindNode(group);
        if (named >= 0) tie(static_cast<size_t>(named));
      }
      const std::vector<DType>& types = nodes_[i].signature->inputs;
      for (size_t k = 0; k < std::min(types.size(), nodes_[i].inputs.size()); ++k) {
        if (IsRef(types[k]) && nodes_[i].inputs[k].node >= 0) tie(static_cast<size_t>(nodes_[i].inputs[k].node));
      }
    }
    std::vector<bool> has_device(nodes_.size(), false);
    for (size_t i = 0; i < nodes_.size(); ++i) {
      if (!nodes_[i].def->device.empty()) has_device[root_of(i)] = true;
    }
    for (size_t i = 0; i < nodes_.size(); ++i) nodes_[i].is_tied_to_device = has_device[root_of(i)];
  }

  static std::vector<absl::string_view> GroupsOf(const NodeDefView& node) {
    const NamedAttr* const attr = node.FindAttr("_class");
    if (attr == nullptr) return {};
    absl::StatusOr<std::vector<absl::string_view>> groups = attr->value.AsStringList();
    return groups.ok() ? *std::move(groups) : std::vector<absl::string_view>();
  }

  // The device that `node` asks for in the graph: its own, and of the call's what that leaves open.
  std::string DeviceOf(const PendingNode& node) const {
    const bool stands_elsewhere = node.def->device.empty() && (node.is_tied_to_device || StandsWithItsResource(node));
    return stands_elsewhere ? std::string() : MergeDevices(node.def->device, options_.device);
  }

  absl::Status Add(PendingNode& node) {
    NodeSpec spec;
    std::string name = absl::StrCat(options_.prefix, node.def->name);
    if (graph_.Contains(graph_.Find(name))) name = graph_.UniqueName(name);
    const std::string device = DeviceOf(node);
    spec.name = name;
    spec.op = node.def->op;
    spec.device = device;
    spec.source = node.def->bytes;
    spec.source_owner = definition_.owner;
    spec.inputs.resize(node.signature->inputs.size());
    spec.attrs = std::move(node.attrs);
    if (options_.prefix.empty()) {
      spec.kept_attrs = std::move(node.kept_attrs);
    } else {
      RenameAttrs(node, &spec);
    }
    SLUICE_ASSIGN_OR_RETURN(node.id, graph_.AddNode(spec));
    return absl::OkStatus();
  }

  Output OutputOf(const BodyValue& source) const {
    if (source.node < 0) return options_.args[static_cast<size_t>(source.slot)];
    return Output{nodes_[static_cast<size_t>(source.node)].id, source.slot};
  }

  absl::Status Link(const PendingNode& node) {
    std::vector<Output> inputs;
    std::vector<NodeId> controls;
    for (const BodyValue& source : node.inputs) inputs.push_back(OutputOf(source));
    for (const BodyValue& source : node.controls) controls.push_back(OutputOf(source).node);
    return graph_.SetInputs(node.id, inputs, controls);
  }

  BodyNodes Collect() const {
    BodyNodes body;
    for (const PendingNode& node : nodes_) {
      if (!node.needed) continue;
      body.nodes.push_back(node.id);
      if (node.schema->is_stateful) body.stateful.push_back(node.id);
    }
    for (const BodyValue& source : results_) body.results.push_back(OutputOf(source));
    for (int32_t node : control_results_) body.control_results.push_back(nodes_[static_cast<size_t>(node)].id);
    return body;
  }

  Graph& graph_;
  const BoundFunction& function_;
  const FunctionDefinition& definition_;
  const BodyOptions& options_;
  ErrorCollector errors_;
  int64_t budget_ = SubstitutionBudget(function_.attrs);
  size_t num_inputs_ = 0;
  std::vector<PendingNode> nodes_;
  BodyValues values_;
  std::vector<BodyValue> results_;
  std::vector<int32_t> control_results_;
};

}  // namespace

absl::StatusOr<BodyNodes> AddFunctionBody(Graph& graph, const BoundFunction& function, const BodyOptions& options) {
  if (options.args.size() != function.signature.inputs.size()) {
    return Error(ErrorCode::kFunctionArity)
        .Function(function.name())
        .Text("was given the wrong number of arguments")
        .Found(absl::StrCat(options.args.size()))
        .Expected(absl::StrCat(function.signature.inputs.size()));
  }
  return BodyAdder(graph, function, options).Run();
}

std::string MergeDevices(absl::string_view device, absl::string_view outer) {
  if (device.empty() || outer.empty()) return std::string(device.empty() ? outer : device);
  DeviceName inner;
  DeviceName rest;
  if (!ParseDeviceName(device, &inner) || !ParseDeviceName(outer, &rest)) return std::string(device);
  if (!inner.type.empty() && inner.type != rest.type) rest.id = -1;  // A number counts devices of one type.
  return OverrideDeviceName(rest, inner).ToString();
}

}  // namespace sluice
