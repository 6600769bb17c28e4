#ifndef SLUICE_TESTS_EXECUTOR_GRADIENTS_CONTROL_FLOW_FIXTURE_H_
#define SLUICE_TESTS_EXECUTOR_GRADIENTS_CONTROL_FLOW_FIXTURE_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "tests/executor/gradients/gradients_fixture.h"

namespace sluice {

// Builds conditionals and loops node by node, as files hold them.
class ControlFlowFixture : public GradientsFixture {
 protected:
  using Values = std::vector<std::vector<float>>;

  Output Gate(absl::string_view name, Output value, Output predicate) {
    return b_.Op("Switch", name, {value, predicate});
  }
  static GraphBuilder::Attrs Frame(absl::string_view name, bool is_constant = false) {
    return {{"frame_name", name}, {"is_constant", is_constant}, {"parallel_iterations", 7}};
  }

  // A loop that turns `trips` times, by a counter; Begin, then Variables, then End.
  struct Loop {
    std::string name;
    std::vector<std::string> around;  // Names of the loops that it stands in, from the outermost on.
    Output condition, count_gate, count_merge;
  };
  // `trips` stands in the loop around it; `around` may be null.
  Loop Begin(const std::string& name, Output trips, const Loop* around = nullptr) {
    Loop loop{name, {}, {}, {}, {}};
    if (around != nullptr) {
      loop.around = around->around;
      loop.around.push_back(around->name);
    }
    const Output limit = b_.Op("Enter", name + "/limit", {trips}, Frame(name, true));
    const Output start = Through(loop.around, name + "/start", Int(name + "/start", 0));
    const Output zero = b_.Op("Enter", name + "/zero", {start}, Frame(name));
    loop.count_merge = b_.Op("Merge", name + "/count", {zero, zero});
    loop.condition = b_.Op("LoopCond", name + "/cond", {b_.Op("Less", name + "/less", {loop.count_merge, limit})});
    loop.count_gate = Gate(name + "/gate", loop.count_merge, loop.condition);
    return loop;
  }
  void End(const Loop& loop) {
    const Output step = Invariant(loop, loop.name + "/one", Int(loop.name + "/one", 1));
    const Output next = b_.Op("AddV2", loop.name + "/more", {Nth(loop.count_gate, 1), step});
    b_.SetInput(loop.count_merge, 1, b_.Op("NextIteration", loop.name + "/next", {next}));
  }
  // A value from outside of all loops, in each iteration.
  Output Invariant(const Loop& loop, const std::string& name, Output outside) {
    std::vector<std::string> frames = loop.around;
    frames.push_back(loop.name);
    return Through(frames, name, outside);
  }
  // The count of iterations so far.
  Output Count(const Loop& loop) { return Nth(loop.count_gate, 1); }

  struct Variable {
    Output merge, value, last;
  };
  Variable Enter(const Loop& loop, const std::string& name, Output start) {
    const Output enter = b_.Op("Enter", name + "/enter", {start}, Frame(loop.name));
    const Output merge = b_.Op("Merge", name + "/merge", {enter, enter});
    const Output gate = Gate(name + "/switch", merge, loop.condition);
    return {merge, b_.Op("Identity", name + "/value", {Nth(gate, 1)}), b_.Op("Exit", name + "/exit", {gate})};
  }
  void Next(const Variable& variable, const std::string& name, Output next) {
    b_.SetInput(variable.merge, 1, b_.Op("NextIteration", name + "/next", {next}));
  }

 private:
  Output Through(const std::vector<std::string>& frames, const std::string& name, Output value) {
    for (const std::string& frame : frames) {
      value = b_.Op("Enter", name + "/in/" + frame, {value}, Frame(frame, true));
    }
    return value;
  }
};

}  // namespace sluice

#endif  // SLUICE_TESTS_EXECUTOR_GRADIENTS_CONTROL_FLOW_FIXTURE_H_
