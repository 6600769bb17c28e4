#include "tests/stress/tape_soak.h"

#include <chrono>
#include <cmath>
#include <iostream>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "executor/tape/grad_mode.h"
#include "executor/tape/ops.h"
#include "graph/base/cancellation.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"

namespace sluice {
namespace {

enum class Trouble { kNone, kError, kException, kCancellation };

// What a program does and what befalls it: all that differs between two runs of one seed.
struct Plan {
  Trouble trouble = Trouble::kNone;
  int at = 0;                                   // Which call of a hook fails.
  CancellationManager* cancellation = nullptr;  // Of all passes.
  Var shared;                                   // Undefined: no part of this program.
};

using Gradients = std::vector<std::vector<float>>;

// One random program: leaves, ops, hooks, and one or two passes. Lives for one run.
class TapeProgram {
 public:
  TapeProgram(uint32_t seed, Tape& tape, Plan plan) : random_(seed), tape_(tape), plan_(std::move(plan)) {}

  // The gradients of all leaves.
  absl::StatusOr<Gradients> Run() {
    for (int i = 0; i < 3; ++i) leaves_.push_back(tape_.Leaf(Tensor::Vector<float>({Number(), Number(), Number()})));
    vars_ = leaves_;
    for (int i = Below(30); i >= 0; --i) AddOp();
    Var loss = Sum(vars_.back()) + Sum(vars_[vars_.size() / 2]) * 0.5;
    if (plan_.shared.defined()) loss = loss + Sum(plan_.shared);
    SLUICE_RETURN_IF_ERROR(RunPasses(loss));
    Gradients gradients;
    for (const Var& leaf : leaves_) {
      const Var grad = leaf.grad();
      if (!grad.defined()) {
        gradients.emplace_back();
        continue;
      }
      const absl::Span<const float> values = grad.value().flat<float>();
      gradients.emplace_back(values.begin(), values.end());
    }
    return gradients;
  }

 private:
  int Below(int limit) { return static_cast<int>(random_() % static_cast<uint32_t>(limit)); }
  float Number() { return static_cast<float>(random_() % 2001) / 1000.0f - 1.0f; }

  // All values stay small.
  void AddOp() {
    const Var a = vars_[static_cast<size_t>(Below(static_cast<int>(vars_.size())))];
    const Var b = vars_[static_cast<size_t>(Below(static_cast<int>(vars_.size())))];
    Var made;
    switch (Below(7)) {
      case 0:
        made = Tanh(a + b);
        break;
      case 1:
        made = Sin(a) * b;
        break;
      case 2:
        made = Sigmoid(a - b);
        break;
      case 3:
        made = Tanh(a * b) + 0.25;
        break;
      case 4:
        made = Maximum(a, b);
        break;
      case 5:
        made = Concat({Split(Reshape(a, {3, 1}), 0, 3)[2], Reshape(b, {3, 1})}, 0), made = Tanh(Sum(made) * a);
        break;
      default:
        made = Cos(a) / (Square(b) + 1.0);
        break;
    }
    vars_.push_back(made);
    if (Below(4) == 0) AddHook(made);
  }

  void AddHook(const Var& var) {
    const bool has_pass = Below(3) == 0;
    Var hooked = var;
    (void)hooked.AddHook([this, has_pass](const Var& grad) -> absl::StatusOr<Var> {
      const int call = num_calls_++;
      if (plan_.trouble == Trouble::kError && call == plan_.at) return Error(ErrorCode::kUnsupported).Text("a hook");
      if (plan_.trouble == Trouble::kException && call == plan_.at) throw std::runtime_error("a hook");
      if (has_pass) {
        const GradModeScope records(true);  // The outer pass may not.
        const Var leaf = tape_.Leaf(Tensor::Vector<float>({1, 2}));
        const Var y = Sum(leaf * leaf);
        BackwardOptions options;
        options.cancellation = plan_.cancellation;
        SLUICE_RETURN_IF_ERROR(tape_.Backward({y}, {}, options));
        if (leaf.grad().value().flat<float>()[1] != 4) return Error(ErrorCode::kInternal).Text("inner pass");
      }
      return grad.defined() ? grad * 0.5 : Var();
    });
  }

  absl::Status RunPasses(const Var& loss) {
    const int kind = Below(3);
    if (kind == 2) {  // Through the gradients, too.
      GradOptions options;
      options.create_graph = options.allow_unused = true;
      options.cancellation = plan_.cancellation;
      SLUICE_ASSIGN_OR_RETURN(const std::vector<Var> slopes, tape_.Grad({loss}, leaves_, {}, options));
      Var sum = loss;
      for (const Var& slope : slopes) sum = slope.defined() ? sum + Sum(Square(slope)) : sum;
      return Pass(sum, false);
    }
    SLUICE_RETURN_IF_ERROR(Pass(loss, kind == 1));
    return kind == 1 ? Pass(loss, false) : absl::OkStatus();
  }
  absl::Status Pass(const Var& root, bool is_kept) {
    BackwardOptions options;
    options.retain_graph = is_kept;
    options.cancellation = plan_.cancellation;
    return tape_.Backward({root}, {}, options);
  }

  std::mt19937 random_;
  Tape& tape_;
  const Plan plan_;
  std::vector<Var> leaves_, vars_;
  int num_calls_ = 0;
};

bool AreClose(const Gradients& a, const Gradients& b) {
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].size() != b[i].size()) return false;
    for (size_t k = 0; k < a[i].size(); ++k) {
      if (!(std::abs(a[i][k] - b[i][k]) <= 1e-4f * (1 + std::abs(b[i][k])))) return false;
    }
  }
  return true;
}

// One thread's part: the program struck, then the same unharmed.
void SoakProgram(uint32_t seed, TapePair& tapes, const Var& shared, TapeCounts* counts) {
  std::mt19937 random(seed * 7919);
  ++counts->programs;
  const absl::StatusOr<Gradients> expected = TapeProgram(seed, tapes.plain, {}).Run();
  CancellationManager cancellation;
  Plan plan;
  plan.trouble = static_cast<Trouble>(random() % 4);
  plan.at = static_cast<int>(random() % 4);
  std::thread canceller;
  if (plan.trouble == Trouble::kCancellation) {
    plan.cancellation = &cancellation;
    const auto after = std::chrono::microseconds(random() % 400);
    canceller = std::thread([&cancellation, after] {
      std::this_thread::sleep_for(after);
      cancellation.StartCancel();
    });
  }
  const auto wrong = [&](const char* what, const absl::Status& status) {
    ++counts->wrong;
    std::cerr << "seed " << seed << ": " << what << ": " << FormatError(status) << "\n";
  };
  const absl::StatusOr<Gradients> struck = TapeProgram(seed, tapes.tape, plan).Run();
  if (canceller.joinable()) canceller.join();
  ++counts->passes;
  if (!expected.ok()) return wrong("op by op", expected.status());
  if (struck.ok()) {
    ++counts->finished;
    if (!AreClose(*struck, *expected)) wrong("other gradients", struck.status());
  } else if (plan.trouble == Trouble::kError && absl::IsUnimplemented(struck.status())) {
    ++counts->refused;
  } else if (plan.trouble == Trouble::kException) {
    ++counts->thrown;
  } else if (plan.trouble == Trouble::kCancellation && absl::IsCancelled(struck.status())) {
    ++counts->cancelled;
  } else {
    wrong("no cause", struck.status());
  }
  Plan unharmed;
  unharmed.shared = shared;
  const absl::StatusOr<Gradients> found = TapeProgram(seed, tapes.tape, unharmed).Run();
  ++counts->passes;
  if (!found.ok() || !AreClose(*found, *expected)) return wrong("other gradients afterwards", found.status());
  ++counts->finished;
}

}  // namespace

void SoakTapes(uint32_t seed, int threads, TapePair& tapes, TapeCounts* counts) {
  const Var shared = tapes.tape.Leaf(Tensor::Vector<float>({1, 2}));
  std::vector<TapeCounts> parts(static_cast<size_t>(threads));
  std::vector<std::thread> running;
  for (int i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      const uint32_t first = (seed * static_cast<uint32_t>(threads) + static_cast<uint32_t>(i)) * 8;
      for (uint32_t k = 0; k < 8; ++k) SoakProgram(first + k, tapes, shared, &parts[static_cast<size_t>(i)]);
    });
  }
  for (std::thread& thread : running) thread.join();
  for (const TapeCounts& part : parts) {
    counts->programs += part.programs, counts->passes += part.passes, counts->finished += part.finished;
    counts->refused += part.refused, counts->thrown += part.thrown, counts->cancelled += part.cancelled;
    counts->wrong += part.wrong;
  }
  // Each program without trouble adds at least one: a pass more, or a square more, where it has those.
  const absl::Span<const float> added = shared.grad().value().flat<float>();
  if (!(added[0] >= static_cast<float>(threads) * 8) || added[0] != added[1]) ++counts->wrong;
}

}  // namespace sluice
