#include "graph/gradients/gradient_sweep.h"

#include <algorithm>
#include <memory>
#include <tuple>

#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/gradients/added_gradients.h"
#include "graph/gradients/gradient_context.h"
#include "graph/gradients/gradient_sum.h"
#include "graph/gradients/gradient_table.h"
#include "graph/gradients/loop_gradients.h"
#include "graph/gradients/own_gradients.h"

namespace sluice {

GradientSweep::GradientSweep(const GradientRegion& region, ForwardFacts& facts, GradientEmitter& emitter,
                             LoopGradients* loops, OwnGradients& own, const GradientOptions& options)
    : graph_(emitter.graph()),
      region_(region),
      facts_(facts),
      emitter_(emitter),
      loops_(loops),
      own_(own),
      options_(options),
      first_term_(region.nodes().size(), -1) {
  pending_.reserve(region.nodes().size());
  for (const NodeId id : region.nodes()) pending_.push_back(region.num_uses(id));
}

void GradientSweep::AddTerm(const Output& of, NodeId consumer, int32_t input, const Gradient& gradient) {
  const int32_t place = region_.IndexOf(of.node);
  if (place < 0 || !gradient.is_set()) return;
  int32_t at = free_term_;
  if (at >= 0) {
    free_term_ = terms_[static_cast<size_t>(at)].next;
  } else {
    at = static_cast<int32_t>(terms_.size());
    terms_.emplace_back();
  }
  int32_t& first = first_term_[static_cast<size_t>(place)];
  terms_[static_cast<size_t>(at)] = {first, of.index, consumer, input, gradient};
  first = at;
}

bool GradientSweep::Flows(NodeId node, int32_t input) const {
  const Output& source = graph_.inputs(node)[static_cast<size_t>(input)];
  return IsDifferentiable(graph_.output_type(source.node, source.index)) && region_.IsWanted(source);
}

void GradientSweep::Deliver(NodeId node, int32_t input, const Gradient& gradient) {
  if (!Flows(node, input)) return;
  const Output source = graph_.inputs(node)[static_cast<size_t>(input)];
  AddTerm(source, node, input, gradient);
  CountDown(source.node);
}

void GradientSweep::Release(const StackLink& stack) {
  if (region_.IsWanted({stack.push, 0})) CountDown(stack.push);
}

absl::Status GradientSweep::Run() {
  for (size_t place = 0; place < pending_.size(); ++place) {
    if (pending_[place] == 0) queue_.push_back(region_.nodes()[place]);
  }
  for (size_t next = 0; next < queue_.size(); ++next) {
    SLUICE_RETURN_IF_ERROR(PollStop(options_.stop_poll));
    SLUICE_RETURN_IF_ERROR(Visit(queue_[next]));
    if (!emitter_.ok()) return graph_.Locate(queue_[next], emitter_.status());
    if (emitter_.conditions() != nullptr) SLUICE_RETURN_IF_ERROR(emitter_.conditions()->status());
  }
  if (queue_.size() != pending_.size()) {
    const auto waiting = std::find_if(pending_.begin(), pending_.end(), [](int32_t count) { return count > 0; });
    const NodeId id = region_.nodes()[static_cast<size_t>(waiting - pending_.begin())];
    return graph_.Locate(id, Error(ErrorCode::kCycle).Text("is part of a cycle that no loop explains"));
  }
  return absl::OkStatus();
}

Gradient GradientSweep::SumSlot(const Output& output, absl::Span<const Term> terms) {
  of_slot_.clear();
  const Expr forward = emitter_.Forward(output);
  const bool may_be_dead = emitter_.conditions() != nullptr && (loops_ == nullptr || loops_->IsRead(output.node));
  for (const Term& term : terms) {
    of_slot_.push_back(may_be_dead ? MakeLive(emitter_, forward, term.gradient) : term.gradient);
  }
  return of_slot_.size() == 1 ? of_slot_[0] : SumGradients(emitter_, forward, of_slot_, options_.aggregation);
}

bool GradientSweep::SumTerms(NodeId id) {
  dys_.assign(static_cast<size_t>(graph_.num_outputs(id)), Gradient());
  of_node_.clear();
  for (int32_t at = first_term_[static_cast<size_t>(region_.IndexOf(id))]; at >= 0;) {
    Term& term = terms_[static_cast<size_t>(at)];
    of_node_.push_back(term);
    const int32_t next = term.next;
    term.next = free_term_;
    free_term_ = at;
    at = next;
    if (loops_ == nullptr || loops_->MayRead(term.consumer, id)) continue;
    emitter_.Fail(graph_.Locate(term.consumer, Error(ErrorCode::kUnsupported)
                                                   .Text("has no gradient: it reads the Merge of a loop variable, "
                                                         "which only the Switch of the variable may read")));
  }
  if (of_node_.size() > 1) {
    std::sort(of_node_.begin(), of_node_.end(), [](const Term& a, const Term& b) {
      return std::tie(a.slot, a.consumer, a.input) < std::tie(b.slot, b.consumer, b.input);
    });
  }
  for (size_t begin = 0, end = 0; begin < of_node_.size(); begin = end) {
    const int32_t slot = of_node_[begin].slot;
    while (end < of_node_.size() && of_node_[end].slot == slot) ++end;
    dys_[static_cast<size_t>(slot)] = SumSlot({id, slot}, absl::MakeConstSpan(of_node_).subspan(begin, end - begin));
  }
  return !of_node_.empty();
}

absl::Status GradientSweep::Visit(NodeId id) {
  emitter_.BeginNode(id);
  emitter_.SetFrame(loops_ == nullptr ? nullptr : loops_->FrameOfOutputs(id));
  bool has_any = SumTerms(id);
  if (!has_any && !region_.IsReached(id)) return absl::OkStatus();
  for (int32_t slot = 0; has_any && region_.IsSpecial(id) && slot < graph_.num_outputs(id); ++slot) {
    const Output output{id, slot};
    if (region_.IsX(output)) found_.insert_or_assign(output, dys_[static_cast<size_t>(slot)]);
    if (region_.IsStop(output)) dys_[static_cast<size_t>(slot)] = Gradient();
  }
  if (!region_.IsReached(id)) return absl::OkStatus();
  has_any = std::any_of(dys_.begin(), dys_.end(), [](const Gradient& dy) { return dy.is_set(); });
  if (loops_ != nullptr && loops_->IsPart(id)) return loops_->Visit(id, dys_, *this);
  dxs_.assign(graph_.inputs(id).size(), Gradient());
  if (has_any) {
    SLUICE_RETURN_IF_ERROR(CallRow(id));
    const bool is_of_table = IsOfTable(id);
    for (size_t i = 0; i < dxs_.size() && !is_of_table; ++i) {
      if (!dxs_[i].is_set()) without_.insert({id, static_cast<int32_t>(i)});
    }
  }
  for (size_t i = 0; i < dxs_.size(); ++i) Deliver(id, static_cast<int32_t>(i), dxs_[i]);
  return absl::OkStatus();
}

const GradientRow* GradientSweep::FindRow(absl::string_view op) const {
  for (const GradientRow& row : options_.rows) {
    if (row.op == op) return &row;
  }
  return FindGradientRow(op);
}

bool GradientSweep::IsOfTable(NodeId id) {
  const GradientRow* const row = own_.Has(id) ? nullptr : FindGradientRow(graph_.op_name(id));
  return row != nullptr && row == FindRow(graph_.op_name(id));
}

absl::Status GradientSweep::CallRow(NodeId id) {
  const auto refuse = [&](absl::string_view why) {
    return graph_.Locate(id, Error(ErrorCode::kUnsupported).Text(why));
  };
  GradientContext context(emitter_, facts_, id, dys_, absl::MakeSpan(dxs_));
  if (own_.Has(id)) return own_.Call(context);
  const GradientRow* const row = FindRow(graph_.op_name(id));
  if (row == nullptr) {
    const std::shared_ptr<const AddedGradient> added = FindAddedGradient(graph_.ops().get(), graph_.op_name(id));
    return added != nullptr ? (*added)(context) : refuse("no gradient is registered for this op");
  }
  switch (row->kind) {
    case GradientRow::Kind::kNone:
      return absl::OkStatus();
    case GradientRow::Kind::kFunction:
      return row->function(context);
    case GradientRow::Kind::kRefused:
      return refuse("this op has no gradient, as in TensorFlow");
    case GradientRow::Kind::kControlFlow:
      return context.Refuse("it is not part of a loop whose variables can be found");
  }
  return absl::OkStatus();
}

Gradient GradientSweep::GradientOf(const Output& x) const {
  const auto found = found_.find(x);
  return found == found_.end() ? Gradient() : found->second;
}

}  // namespace sluice
