#include "graph/ir/control_flow_check.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/hash_table.h"
#include "graph/base/status_macros.h"
#include "graph/ir/op_class.h"
#include "graph/ir/topo_order.h"

namespace sluice {
namespace {

// One walk over a graph in topological order. Lives for one call of BuildControlFlowInfo.
class FrameAssigner {
 public:
  FrameAssigner(const Graph& graph, const LoadLimits& limits) : graph_(graph), limits_(limits) {
    info_.frames.emplace_back();
  }

  absl::StatusOr<ControlFlowInfo> Run() {
    if (!FindKinds()) {
      info_.frames[0].num_nodes = static_cast<int64_t>(graph_.num_nodes());
      return std::move(info_);
    }
    info_.has_frames = true;
    info_.frame_of.assign(static_cast<size_t>(graph_.id_limit()), -1);
    SLUICE_ASSIGN_OR_RETURN(const std::vector<NodeId> order, TopologicalOrder(graph_));
    for (NodeId id : order) Assign(id);
    for (NodeId id : order) CheckBackEdges(id);
    SLUICE_RETURN_IF_ERROR(errors_.Finish());
    for (StaticFrame& frame : info_.frames) {
      std::sort(frame.enters.begin(), frame.enters.end(), ById);
      std::sort(frame.exits.begin(), frame.exits.end(), ById);
    }
    return std::move(info_);
  }

 private:
  static bool ById(NodeId a, NodeId b) { return a.value() < b.value(); }

  // Whether any node makes frames matter.
  bool FindKinds() const {
    for (int32_t i = 0; i < graph_.id_limit(); ++i) {
      const NodeId id(i);
      if (!graph_.Contains(id)) continue;
      switch (ClassOf(id)) {
        case OpClass::kEnter:
        case OpClass::kExit:
        case OpClass::kNextIteration:
        case OpClass::kLoopCond:
          return true;
        default:
          break;
      }
    }
    return false;
  }

  OpClass ClassOf(NodeId id) const { return graph_.op(id).op_class; }
  int32_t& FrameOf(NodeId id) { return info_.frame_of[static_cast<size_t>(id.value())]; }
  StaticFrame& Frame(int32_t index) { return info_.frames[static_cast<size_t>(index)]; }

  // The frame in which the outputs of `id` are.
  int32_t OutputFrame(NodeId id) {
    const int32_t frame = FrameOf(id);
    return ClassOf(id) == OpClass::kExit && frame > 0 ? Frame(frame).parent : frame;
  }

  std::string FrameText(int32_t index) {
    return index == 0 ? "no frame" : absl::StrCat("frame '", PrintableName(Frame(index).name), "'");
  }

  void Add(NodeId id, const absl::Status& status) { errors_.Add(graph_.Locate(id, status)); }

  bool IsBack(NodeId id, const Output& input) const { return IsBackEdge(graph_, id, input); }

  // The frame where the inputs of `id` are, the innermost one when they differ (which is an error). Back edges come
  // later and are left out.
  int32_t InputFrame(NodeId id) {
    int32_t frame = -1;
    int32_t first = -1;
    const absl::Span<const Output> inputs = graph_.all_inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!graph_.Contains(inputs[i].node) || IsBack(id, inputs[i])) continue;
      const int32_t from = OutputFrame(inputs[i].node);
      if (first < 0) first = frame = from;
      if (from == first) continue;
      AddMixed(id, i, from, first);
      if (Frame(from).depth > Frame(frame).depth) frame = from;
    }
    return frame < 0 ? 0 : frame;
  }

  void AddMixed(NodeId id, size_t position, int32_t found, int32_t expected) {
    const Output input = graph_.all_inputs(id)[position];
    ErrorBuilder error = Error(ErrorCode::kFrameMixed);
    if (!input.is_control()) error.Input(static_cast<int32_t>(position), graph_.OutputName(input));
    error.Found(FrameText(found)).Expected(FrameText(expected));
    error.Text(input.is_control() ? absl::StrCat("control input '", PrintableName(graph_.OutputName(input)),
                                                 "' comes from another frame than the other inputs")
                                  : std::string("comes from another frame than the other inputs"));
    Add(id, error);
  }

  void Assign(NodeId id) {
    int32_t frame = InputFrame(id);
    const OpClass kind = ClassOf(id);
    switch (kind) {
      case OpClass::kEnter:
        frame = EnterFrame(id, frame);
        break;
      case OpClass::kExit:
      case OpClass::kNextIteration:
      case OpClass::kLoopCond:
        CheckPlace(id, kind, frame);
        break;
      default:
        break;
    }
    FrameOf(id) = frame;
    StaticFrame& owner = Frame(frame);
    ++owner.num_nodes;
    if (frame == 0) return;
    owner.nodes.push_back(id);
    if (kind == OpClass::kEnter) owner.enters.push_back(id);
    if (kind == OpClass::kExit) owner.exits.push_back(id);
  }

  // The frame that the Enter `id`, whose input is in `parent`, opens. `parent` itself after an error.
  int32_t EnterFrame(NodeId id, int32_t parent) {
    const absl::StatusOr<absl::string_view> name = graph_.GetString(id, "frame_name");
    const absl::StatusOr<int64_t> parallel = graph_.GetInt(id, "parallel_iterations");
    if (!name.ok() || !parallel.ok()) {
      errors_.Add(name.ok() ? parallel.status() : name.status());
      return parent;
    }
    if (*parallel < 1) {
      Add(id, Error(ErrorCode::kParallelIterations)
                  .Attr("parallel_iterations")
                  .Text("allows no iteration at all")
                  .Found(absl::StrCat(*parallel))
                  .Expected("1 or more"));
    }
    if (name->empty()) {
      Add(id, Error(ErrorCode::kFrameName).Attr("frame_name").Text("is empty"));
    }
    const auto inserted = by_name_.emplace(*name, static_cast<int32_t>(info_.frames.size()));
    const int32_t index = inserted.first->second;
    if (inserted.second) {
      StaticFrame frame;
      frame.name = std::string(*name);
      frame.parent = parent;
      frame.depth = Frame(parent).depth + 1;
      frame.parallel_iterations = std::min(std::max<int64_t>(*parallel, 1), limits_.max_parallel_iterations);
      info_.frames.push_back(std::move(frame));
      CheckDepth(id, index);
    } else if (Frame(index).parent != parent) {
      Add(id, Error(ErrorCode::kFrameParent)
                  .Found(FrameText(parent))
                  .Expected(FrameText(Frame(index).parent))
                  .Text(absl::StrCat(FrameText(index), " is entered from two parent frames")));
    }
    return index;
  }

  void CheckDepth(NodeId id, int32_t index) {
    // One error for the whole nest: deeper levels say nothing new.
    if (Frame(index).depth != limits_.max_frame_depth + 1) return;
    Add(id, Error(ErrorCode::kLimitFrames)
                .Limit("max_frame_depth", limits_.max_frame_depth)
                .Text(absl::StrCat(FrameText(index), " is nested too deeply")));
  }

  // Rules for Exit, NextIteration and LoopCond in `frame`.
  void CheckPlace(NodeId id, OpClass kind, int32_t frame) {
    if (frame == 0) {
      Add(id, kind == OpClass::kLoopCond
                  ? Error(ErrorCode::kLoopCond).Text("stands outside any frame")
                  : Error(ErrorCode::kFrame).Text("stands outside any frame: no Enter leads here"));
      return;
    }
    if (kind != OpClass::kLoopCond) return;
    NodeId& first = Frame(frame).loop_cond;
    if (first.value() < 0) {
      first = id;
      return;
    }
    // Loops that count their iterations for gradients put a second one of that name into the frame.
    if (absl::StrContains(graph_.name(id), "LoopCounter") || absl::StrContains(graph_.name(first), "LoopCounter")) {
      return;
    }
    Add(id, Error(ErrorCode::kLoopCond)
                .Text(absl::StrCat(FrameText(frame), " already has the LoopCond '", PrintableName(graph_.name(first)),
                                   "'")));
  }

  // Rules for edges out of NextIterations: they lead to Merges of the same frame.
  void CheckBackEdges(NodeId id) {
    const absl::Span<const Output> inputs = graph_.inputs(id);
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!graph_.Contains(inputs[i].node) || ClassOf(inputs[i].node) != OpClass::kNextIteration) continue;
      const int32_t from = FrameOf(inputs[i].node);
      if (!IsBack(id, inputs[i])) {
        Add(inputs[i].node,
            Error(ErrorCode::kNextIteration)
                .Text(absl::StrCat("feeds ", graph_.op_name(id), " '", PrintableName(graph_.name(id)), "'"))
                .Expected("a Merge of its loop"));
      } else if (from != FrameOf(id)) {
        AddMixed(id, i, from, FrameOf(id));
      }
    }
  }

  const Graph& graph_;
  const LoadLimits& limits_;
  ControlFlowInfo info_;
  HashMap<absl::string_view, int32_t> by_name_;  // Frames by name, the root left out.
  ErrorCollector errors_;
};

}  // namespace

absl::StatusOr<ControlFlowInfo> BuildControlFlowInfo(const Graph& graph, const LoadLimits& limits) {
  return FrameAssigner(graph, limits).Run();
}

}  // namespace sluice
