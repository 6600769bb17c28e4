#include "graph/gradients/gradients.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "graph/base/error.h"
#include "graph/base/limits.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/added_parts.h"
#include "graph/gradients/connected_inputs.h"
#include "graph/gradients/forward_facts.h"
#include "graph/gradients/function_calls.h"
#include "graph/gradients/gradient_emitter.h"
#include "graph/gradients/gradient_region.h"
#include "graph/gradients/gradient_sweep.h"
#include "graph/gradients/loop_gradients.h"
#include "graph/gradients/own_gradients.h"

namespace sluice {
namespace {

absl::Status CheckOutputs(const Graph& graph, absl::Span<const Output> outputs, absl::string_view what) {
  for (const Output& output : outputs) {
    if (!graph.Contains(output.node)) {
      return Error(ErrorCode::kNodeMissing)
          .Text(absl::StrCat("a ", what, " of the gradient is not in the graph"))
          .Found(absl::StrCat("id ", output.node.value()));
    }
    if (output.is_control() || output.index >= graph.num_outputs(output.node)) {
      return graph.Locate(output.node, Error(ErrorCode::kInputSlot)
                                           .Text(absl::StrCat("has no such output, given as a ", what))
                                           .Found(absl::StrCat("slot ", output.index))
                                           .Expected(absl::StrCat("below ", graph.num_outputs(output.node))));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckArguments(const Graph& graph, absl::Span<const Output> ys, absl::Span<const Output> xs,
                            const GradientOptions& options) {
  SLUICE_RETURN_IF_ERROR(CheckOutputs(graph, ys, "y"));
  SLUICE_RETURN_IF_ERROR(CheckOutputs(graph, xs, "x"));
  SLUICE_RETURN_IF_ERROR(CheckOutputs(graph, options.stop, "stop"));
  if (!options.grad_ys.empty() && options.grad_ys.size() != ys.size()) {
    return Error(ErrorCode::kInputCount)
        .Text("each y needs a gradient of its own, or none does")
        .Found(absl::StrCat(options.grad_ys.size()))
        .Expected(absl::StrCat(ys.size()));
  }
  for (size_t i = 0; i < ys.size(); ++i) {
    const DType type = BaseType(graph.output_type(ys[i].node, ys[i].index));
    if (i < options.grad_ys.size() && options.grad_ys[i].is_set()) {
      const Output& dy = options.grad_ys[i];
      SLUICE_RETURN_IF_ERROR(CheckOutputs(graph, absl::MakeConstSpan(&dy, 1), "gradient of a y"));
      const DType of_dy = BaseType(graph.output_type(dy.node, dy.index));
      if (of_dy == type || !IsDifferentiable(type) || type == DType::kResource) continue;
      return graph.Locate(dy.node, Error(ErrorCode::kInputType)
                                       .Text("is the gradient of a y and not of its type")
                                       .Found(DTypeName(of_dy))
                                       .Expected(DTypeName(type)));
    }
    if (type == DType::kComplex64 || type == DType::kComplex128 || type == DType::kVariant ||
        type == DType::kResource) {
      return graph.Locate(ys[i].node, Error(ErrorCode::kInputType)
                                          .Text(absl::StrCat("has type ", DTypeName(type),
                                                             "; gradients of this type need an explicit grad_y")));
    }
  }
  return absl::OkStatus();
}

// Returns `wanted`, with a number if the graph has nodes of that name or below it. Scans all names once.
std::string FreePrefix(const Graph& graph, const std::string& wanted) {
  const NodeId taken = graph.Find(wanted);
  bool is_taken = graph.Contains(taken);
  int64_t highest = 0;
  for (int32_t i = 0; i < graph.id_limit(); ++i) {
    if (!graph.Contains(NodeId(i))) continue;
    absl::string_view rest = graph.name(NodeId(i));
    if (!absl::ConsumePrefix(&rest, wanted)) continue;
    const absl::string_view number = rest.substr(0, rest.find('/'));
    int64_t value = 0;
    if (number.empty()) is_taken = true;
    if (number.size() > 1 && number.size() < 12 && number[0] == '_' && absl::SimpleAtoi(number.substr(1), &value)) {
      highest = std::max(highest, value);
    }
  }
  return is_taken || highest > 0 ? absl::StrCat(wanted, "_", highest + 1) : wanted;
}

// The parts of one call, in the order in which they are made.
class GradientCall {
 public:
  GradientCall(Graph& graph, absl::Span<const Output> ys, absl::Span<const Output> xs, const GradientOptions& options)
      : ys_(ys),
        xs_(xs),
        options_(options),
        graph_(graph),
        region_(graph, ys, xs, options.stop),
        facts_(graph, region_),
        own_(graph, options),
        emitter_(graph, facts_, FreePrefix(graph, options.name), options.colocate,
                 {options.limits.max_nodes, options.stop_poll}) {}

  // `without` gets GradientSweep::without().
  absl::StatusOr<GradientResult> Run(HashSet<Output>* without) {
    std::unique_ptr<LoopGradients> loops;
    if (region_.has_control_flow()) {
      SLUICE_ASSIGN_OR_RETURN(loops, LoopGradients::Make(region_, emitter_, options_.limits));
      SLUICE_RETURN_IF_ERROR(loops->CheckOutside(ys_, "y"));
      SLUICE_RETURN_IF_ERROR(loops->CheckOutside(xs_, "x"));
      SLUICE_RETURN_IF_ERROR(loops->CheckOutside(options_.grad_ys, "gradient of a y"));
    }
    GradientSweep sweep(region_, facts_, emitter_, loops.get(), own_, options_);
    emitter_.BeginScope("seeds");
    for (size_t i = 0; i < ys_.size(); ++i) {
      if (!IsDifferentiable(graph_.output_type(ys_[i].node, ys_[i].index))) continue;
      const bool is_given = i < options_.grad_ys.size() && options_.grad_ys[i].is_set();
      const Output seed = is_given ? options_.grad_ys[i] : Ones(emitter_.Forward(ys_[i])).output();
      sweep.Seed(ys_[i], Gradient::Dense(seed));
    }
    SLUICE_RETURN_IF_ERROR(emitter_.status());
    SLUICE_RETURN_IF_ERROR(sweep.Run());
    *without = sweep.without();
    GradientResult result;
    result.name = emitter_.prefix();
    emitter_.SetFrame(nullptr);
    emitter_.BeginScope("unconnected");
    for (const Output& x : xs_) {
      Gradient found = sweep.GradientOf(x);
      if (!found.is_set() && options_.unconnected == GradientOptions::Unconnected::kZero) {
        found = Gradient::Dense(ZerosLike(emitter_.Forward(x)).output());
      }
      result.xs.push_back(found);
    }
    SLUICE_RETURN_IF_ERROR(emitter_.status());
    return result;
  }

 private:
  // Does not depend on y if its shape is known, as computing y may have effects.
  static Expr Ones(const Expr& y) { return Fill(ShapeOf(y), Number(y, 1)); }

  const absl::Span<const Output> ys_, xs_;
  const GradientOptions& options_;
  Graph& graph_;
  const GradientRegion region_;
  ForwardFacts facts_;
  OwnGradients own_;
  GradientEmitter emitter_;
};

}  // namespace

namespace {

// The request, in the original graph, which still has its calls.
struct Asked {
  const Graph& graph;
  absl::Span<const Output> ys, xs, stop;
};

// Adds zeros for each x that is connected but has no gradient.
absl::Status AddZerosOfCalls(Graph& graph, absl::Span<const Output> xs, const Asked& asked,
                             const HashSet<Output>& without, const GradientOptions& options, GradientResult* result) {
  const auto is_set = [](const Gradient& gradient) { return gradient.is_set(); };
  if (std::all_of(result->xs.begin(), result->xs.end(), is_set)) return absl::OkStatus();
  const ConnectedInputs connected(asked.graph, asked.ys, asked.stop, without, options.limits);
  const GradientRegion nothing(graph, {}, {}, {});
  ForwardFacts facts(graph, nothing);
  GradientEmitter emitter(graph, facts, result->name, /*colocate=*/false,
                          {options.limits.max_nodes, options.stop_poll});
  emitter.BeginScope("unchanged");
  for (size_t i = 0; i < xs.size(); ++i) {
    if (result->xs[i].is_set() || !connected.Has(asked.xs[i])) continue;
    const Expr zeros = emitter.Zeros(emitter.Forward(xs[i]));
    result->xs[i] = Gradient::Dense(zeros.output());
  }
  return emitter.status();
}

// For a graph without calls on the way.
absl::StatusOr<GradientResult> AddGradientsHere(Graph& graph, absl::Span<const Output> ys, absl::Span<const Output> xs,
                                                const Asked& asked, const GradientOptions& options) {
  AddedParts added(graph);
  HashSet<Output> without;
  SLUICE_ASSIGN_OR_RETURN(GradientResult result, GradientCall(graph, ys, xs, options).Run(&without));
  SLUICE_RETURN_IF_ERROR(AddZerosOfCalls(graph, xs, asked, without, options, &result));
  added.Keep();
  result.num_added = added.num_nodes();
  return result;
}

}  // namespace

absl::StatusOr<GradientResult> AddGradients(Graph& graph, absl::Span<const Output> ys, absl::Span<const Output> xs,
                                            const GradientOptions& options, std::optional<Graph>* before) {
  SLUICE_RETURN_IF_ERROR(CheckArguments(graph, ys, xs, options));
  if (options.depth > options.limits.max_call_depth) {
    return Error(ErrorCode::kLimitCallDepth)
        .Limit("max_call_depth", options.limits.max_call_depth)
        .Text("functions that are computed again are nested too deeply");
  }
  const GradientRegion region(graph, ys, xs, options.stop);
  OwnGradients own(graph, options);
  const Asked asked{graph, ys, xs, options.stop};
  if (!FlowsThroughCalls(graph, region, own)) return AddGradientsHere(graph, ys, xs, asked, options);
  SLUICE_ASSIGN_OR_RETURN(GraphOfBodies bodies, GraphOfBodies::Make(graph, region, options));
  GradientOptions inside = options;
  inside.grad_ys = bodies.Find(graph, options.grad_ys);
  inside.stop = bodies.Find(graph, options.stop);
  SLUICE_ASSIGN_OR_RETURN(const GradientResult result, AddGradientsHere(bodies.graph(), bodies.Find(graph, ys),
                                                                        bodies.Find(graph, xs), asked, inside));
  if (before != nullptr) before->emplace(std::move(graph));
  graph = std::move(bodies.graph());
  return result;
}

absl::StatusOr<Output> DenseGradient(Graph& graph, const Output& x, const Gradient& gradient, const std::string& name,
                                     DType of_variable) {
  if (gradient.is_set() && !gradient.is_slices()) return gradient.value;
  const GradientRegion nothing(graph, {}, {}, {});
  ForwardFacts facts(graph, nothing);
  GradientEmitter emitter(graph, facts, name, /*colocate=*/false);
  emitter.BeginScope("dense");
  const Expr forward = emitter.Forward(x);
  const Expr dense = gradient.is_set() ? emitter.Dense(gradient, forward) : emitter.Zeros(forward, of_variable);
  SLUICE_RETURN_IF_ERROR(emitter.status());
  return dense.output();
}

absl::StatusOr<Output> NameGradient(Graph& graph, const Output& x, const Gradient& gradient, const std::string& name,
                                    const std::string& node) {
  SLUICE_ASSIGN_OR_RETURN(const Output dense, DenseGradient(graph, x, gradient, name));
  const std::string unique = graph.UniqueName(node);
  NodeSpec spec;
  spec.name = unique;
  spec.op = "Identity";
  spec.inputs = {dense};
  spec.attrs = {{"T", BaseType(graph.output_type(dense.node, dense.index))}};
  SLUICE_ASSIGN_OR_RETURN(const NodeId id, graph.AddNode(spec));
  return Output{id, 0};
}

}  // namespace sluice
