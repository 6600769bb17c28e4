#include "executor/tape/backward_graph.h"

#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "executor/compiled/local_executor.h"
#include "executor/tape/grad_check.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/gradient_table.h"
#include "kernels/step/span_call_frame.h"

namespace sluice {

// Writes one pass down as nodes. For one call of Make.
class BackwardGraphMaker {
 public:
  BackwardGraphMaker(TapeCore& core, const PassPlan& plan, const PassStructure& structure)
      : core_(core),
        plan_(plan),
        structure_(structure),
        graph_(std::shared_ptr<const OpRegistry>(std::shared_ptr<const OpRegistry>(), &core.ops().registry())),
        flows_(plan.num_buffers()) {
    graph_.versions().producer = kGraphVersion;
  }

  absl::StatusOr<std::shared_ptr<const BackwardGraph>> Make(const std::vector<bool>& seeded,
                                                            absl::Span<const PassStructure::Captured> captured) {
    // Add all arguments first: the saved values, then the seeds.
    SLUICE_RETURN_IF_ERROR(AddSavedValues());
    for (size_t i = 0; i < plan_.items().size(); ++i) SLUICE_RETURN_IF_ERROR(AddSeeds(i, seeded));
    for (size_t i = 0; i < plan_.items().size(); ++i) {
      if (structure_.item(i).gradient != nullptr) SLUICE_RETURN_IF_ERROR(AddItem(i));
    }
    std::shared_ptr<BackwardGraph> made(new BackwardGraph());
    SLUICE_RETURN_IF_ERROR(AddResults(captured, made.get()));
    SLUICE_RETURN_IF_ERROR(AddChecks(made.get()));
    CompiledGraph::Options options;
    options.device = core_.run().device;
    options.registry = &core_.kernels();
    SLUICE_ASSIGN_OR_RETURN(made->compiled_, CompiledGraph::Create(std::move(graph_), options));
    SLUICE_ASSIGN_OR_RETURN(made->executor_, NewExecutor(kDefaultExecutor, made->compiled_));
    return std::shared_ptr<const BackwardGraph>(std::move(made));
  }

 private:
  absl::StatusOr<Output> Add(absl::string_view op, std::vector<Output> inputs, EagerOp::Attrs attrs) {
    NodeSpec spec;
    const std::string name = absl::StrCat(op, "/", graph_.id_limit());
    spec.name = name;
    spec.op = op;
    spec.inputs = std::move(inputs);
    spec.attrs = std::move(attrs);
    SLUICE_ASSIGN_OR_RETURN(const NodeId id, graph_.AddNode(spec));
    return Output{id, 0};
  }

  absl::StatusOr<Output> AddArgument(DType type) { return Add("_Arg", {}, {{"T", type}, {"index", num_arguments_++}}); }

  absl::Status AddSavedValues() {
    saved_.resize(plan_.items().size());
    for (size_t i = 0; i < plan_.items().size(); ++i) {
      const GradientTemplate* const gradient = structure_.item(i).gradient.get();
      if (gradient == nullptr) continue;
      const EagerOp& op = *plan_.items()[i].node->op;
      for (const GradientTemplate::Saved& saved : gradient->saved()) {
        SLUICE_ASSIGN_OR_RETURN(
            const Output argument,
            AddArgument(saved.is_output ? op.output_type(saved.index) : BaseType(op.input_type(saved.index))));
        saved_[i].push_back(argument);
      }
    }
    return absl::OkStatus();
  }

  absl::Status AddSeeds(size_t i, const std::vector<bool>& seeded) {
    const PassPlan::Item& item = plan_.items()[i];
    for (size_t slot = 0; slot < item.node->outputs.size(); ++slot) {
      if (!seeded[item.first_buffer + slot]) continue;
      SLUICE_ASSIGN_OR_RETURN(flows_[item.first_buffer + slot], AddArgument(item.node->outputs[slot].dtype));
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Output> AddConstant(const Tensor& value) {
    return Add("Const", {}, {{"dtype", value.dtype()}, {"value", value}});
  }

  // The steps of one gradient.
  absl::Status AddItem(size_t i) {
    const PassPlan::Item& item = plan_.items()[i];
    const GradientTemplate& gradient = *structure_.item(i).gradient;
    std::vector<std::optional<Output>> values(saved_[i].begin(), saved_[i].end());
    for (const uint32_t slot : gradient.dys()) {
      values.push_back(flows_[item.first_buffer + slot]);
      if (values.back().has_value()) continue;
      SLUICE_ASSIGN_OR_RETURN(const Tensor zeros, FilledGrad(item.node->outputs[slot], 0));
      SLUICE_ASSIGN_OR_RETURN(values.back(), AddConstant(zeros));
    }
    values.resize(gradient.num_values());
    const auto value_of = [&](Operand operand) -> absl::StatusOr<Output> {
      if (operand.table() == Operand::Table::kConstants)
        return AddConstant(gradient.constants()[operand.index()].value());
      return *values[operand.index()];
    };
    for (const GradientTemplate::Step& step : gradient.steps()) {
      if (!step.serves.Meets(structure_.item(i).wants)) continue;
      std::vector<Output> inputs;
      for (uint32_t k = 0; k < step.io.num_inputs; ++k) {
        SLUICE_ASSIGN_OR_RETURN(const Output input, value_of(step.io.input(k)));
        inputs.push_back(input);
      }
      EagerOp::Attrs attrs;
      const LooseNode& node = step.op->node();
      for (const AttrSpec& attr : node.op().attrs) {
        AttrView value;
        if (node.FindAttr(attr.name, &value)) attrs.emplace_back(attr.name, AttrValue::FromBytes(value.bytes()));
      }
      SLUICE_ASSIGN_OR_RETURN(const Output output, Add(step.op->name(), std::move(inputs), std::move(attrs)));
      for (uint32_t k = 0; k < step.io.num_outputs; ++k) {
        values[step.io.output(k).index()] = Output{output.node, static_cast<int32_t>(k)};
      }
    }
    for (size_t e = 0; e < item.node->edges.size(); ++e) {
      const int32_t target = plan_.Target(i, e);
      if (target < 0 || !gradient.has_dx(e)) continue;
      SLUICE_ASSIGN_OR_RETURN(const Output dx, value_of(gradient.dx(e)));
      SLUICE_RETURN_IF_ERROR(CheckEdge(i, e, dx));
      const size_t buffer = plan_.items()[static_cast<size_t>(target)].first_buffer + item.node->edges[e].slot;
      SLUICE_RETURN_IF_ERROR(Deliver(buffer, dx, item.node->op->input_type(static_cast<uint32_t>(e))));
    }
    return absl::OkStatus();
  }

  // Passes in which a gradient must be cast run node by node. Gradients from rows of the host have their shapes
  // compared at each run.
  absl::Status CheckEdge(size_t i, size_t e, const Output& dx) {
    const TapeNode& node = *plan_.items()[i].node;
    const TapeEdge& edge = node.edges[e];
    if (graph_.output_type(dx.node, dx.index) != edge.node->outputs[edge.slot].dtype) {
      return Error(ErrorCode::kUnsupported).Node(node.name(), node.name()).Text("gives a gradient that has to be cast");
    }
    if (FindGradientRow(node.op->name()) != node.op->row()) checked_.push_back({{i, e}, dx});
    return absl::OkStatus();
  }

  absl::Status AddChecks(BackwardGraph* made) {
    for (const auto& [check, dx] : checked_) {
      const DType type = graph_.output_type(dx.node, dx.index);
      SLUICE_ASSIGN_OR_RETURN(const Output shape, Add("Shape", {dx}, {{"T", type}, {"out_type", DType::kInt64}}));
      SLUICE_RETURN_IF_ERROR(AddRetval(shape, DType::kInt64, made));
      made->checks_.push_back(check);
    }
    return absl::OkStatus();
  }

  absl::Status Deliver(size_t buffer, const Output& term, DType type) {
    std::optional<Output>& sum = flows_[buffer];
    if (!sum.has_value()) {
      sum = term;
      return absl::OkStatus();
    }
    if (type == DType::kVariant) {
      SLUICE_ASSIGN_OR_RETURN(sum, Add("AddN", {*sum, term}, {{"N", 2}, {"T", type}}));
    } else {
      SLUICE_ASSIGN_OR_RETURN(sum, Add("AddV2", {*sum, term}, {{"T", type}}));
    }
    return absl::OkStatus();
  }

  absl::Status AddResult(size_t buffer, DType type, BackwardGraph* made) {
    if (flows_[buffer].has_value()) return AddRetval(*flows_[buffer], type, made);
    ++made->num_results_;
    return absl::OkStatus();
  }

  absl::Status AddRetval(const Output& value, DType type, BackwardGraph* made) {
    const auto index = static_cast<int64_t>(made->places_.size());
    made->places_.push_back(static_cast<int32_t>(made->num_results_++));
    return Add("_Retval", {value}, {{"T", type}, {"index", index}}).status();
  }

  absl::Status AddResults(absl::Span<const PassStructure::Captured> captured, BackwardGraph* made) {
    for (size_t i = 0; i < plan_.items().size(); ++i) {
      const PassPlan::Item& item = plan_.items()[i];
      if (item.node->kind != TapeNode::Kind::kAccumulate || !item.runs || !structure_.item(i).gets_gradient) continue;
      SLUICE_RETURN_IF_ERROR(AddResult(item.first_buffer, item.node->outputs[0].dtype, made));
    }
    for (const PassStructure::Captured& spot : captured) {
      if (spot.place < 0) {
        ++made->num_results_;
        continue;
      }
      const PassPlan::Item& item = plan_.items()[static_cast<size_t>(spot.place)];
      SLUICE_RETURN_IF_ERROR(AddResult(item.first_buffer + spot.slot, item.node->outputs[spot.slot].dtype, made));
    }
    return absl::OkStatus();
  }

  TapeCore& core_;
  const PassPlan& plan_;
  const PassStructure& structure_;
  Graph graph_;
  std::vector<std::optional<Output>> flows_;  // By buffer: the sum of what has come.
  std::vector<std::vector<Output>> saved_;    // By item.
  std::vector<std::pair<BackwardGraph::Check, Output>> checked_;
  int64_t num_arguments_ = 0;
};

absl::StatusOr<std::shared_ptr<const BackwardGraph>> BackwardGraph::Make(
    TapeCore& core, const PassPlan& plan, const PassStructure& structure, const std::vector<bool>& seeded,
    absl::Span<const PassStructure::Captured> captured) {
  return BackwardGraphMaker(core, plan, structure).Make(seeded, captured);
}

absl::Status BackwardGraph::Run(const RunContext& run, absl::Span<Tensor> args, absl::Span<Tensor> results) const {
  std::vector<Tensor> found(places_.size());
  SpanCallFrame frame(args, absl::MakeSpan(found));
  Executor::Args executor_args;
  static_cast<RunContext&>(executor_args) = run;
  executor_args.call_frame = &frame;
  executor_args.nodes_in_any_order = true;
  SLUICE_RETURN_IF_ERROR(executor_->Run(executor_args));
  for (size_t i = 0; i < found.size(); ++i) results[static_cast<size_t>(places_[i])] = std::move(found[i]);
  return absl::OkStatus();
}

}  // namespace sluice
