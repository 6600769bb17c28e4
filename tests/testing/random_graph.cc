#include "tests/testing/random_graph.h"

#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/check.h"
#include "graph/ir/builder.h"
#include "graph/ops/op_table.h"

namespace sluice {
namespace {

// Writes a random program as a graph. Lives for one call of MakeRandomGraph.
class Generator {
 public:
  Generator(uint32_t seed, int size) : random_(seed), budget_(size), b_(NewOpRegistry()) {}

  RandomGraph Generate() {
    Scope root;
    for (int i = 0; i < 3; ++i) {
      root.values.push_back(Constant(8));
      root.scalars.push_back(Constant(1));
    }
    for (int i = 0; i < 2; ++i) root.variables.push_back(NewVariable(root, i));
    while (budget_ > 0) Statements(root, 0);
    RandomGraph made{Graph(NewOpRegistry()), std::move(constants_), {}};
    for (const std::vector<Output>* values : {&root.values, &root.scalars, &root.mixed}) {
      for (const Output& value : *values) {
        b_.Op("_Retval", absl::StrCat("watch", made.watched.size()), {value},
              {{"index", static_cast<int64_t>(made.watched.size())}});
        made.watched.push_back(value);
      }
    }
    absl::StatusOr<Graph> graph = b_.Build();
    SLUICE_CHECK_OK(graph);
    made.graph = *std::move(graph);
    return made;
  }

 private:
  // A reference to a variable, and the readers of its current value: the next writer waits for them all.
  struct Variable {
    Output ref;
    std::vector<Output> readers;
  };
  // What can be used at one place: all of one frame, live and dead together; `mixed` may be dead by themselves.
  struct Scope {
    std::vector<Output> values, scalars, mixed;
    std::vector<Variable> variables;
  };

  size_t Pick(size_t n) { return random_() % n; }
  const Output& Any(const std::vector<Output>& from) { return from[Pick(from.size())]; }
  bool Chance(int percent) { return static_cast<int>(Pick(100)) < percent; }

  Output Constant(int elements, float first = 9) {
    const std::string name = absl::StrCat("const", constants_.size());
    std::vector<float> value;
    for (int i = 0; i < elements; ++i) value.push_back(static_cast<float>(Pick(9)) - 4);
    if (first != 9) value[0] = first;
    constants_[name] = value;
    return b_.Const(name, elements == 1 ? Tensor::Scalar(value[0]) : Tensor::Vector<float>(value));
  }

  void Statements(Scope& scope, int depth) {
    const int count = 2 + static_cast<int>(Pick(6));
    for (int i = 0; i < count && budget_ > 0; ++i, --budget_) {
      const size_t kind = Pick(13);
      if (kind > 9 && !scope.variables.empty()) {
        UseVariable(scope, scope.variables[Pick(scope.variables.size())]);
      } else if (kind < 2 && depth < 3) {
        Cond(scope, depth);
      } else if (kind == 2 && depth < 3) {
        Loop(scope, depth);
      } else if (kind == 3) {
        Mix(scope);
      } else {
        Compute(scope);
      }
    }
  }

  void Compute(Scope& scope) {
    static constexpr const char* kUnary[] = {"Neg", "Abs", "Identity", "Square"};
    Output made;
    switch (Pick(4)) {
      case 0:
        made = b_.Op(kUnary[Pick(3)], "", {Any(scope.values)});
        break;
      case 1:
        scope.scalars.push_back(b_.Op(Chance(50) ? "AddV2" : "Sub", "", {Any(scope.scalars), Any(scope.scalars)}));
        return;
      case 2:
        made = b_.Op("AddV2", "", {Any(scope.values), Any(scope.scalars)});
        break;
      default:
        made = b_.Op(Chance(50) ? "AddV2" : "Sub", "", {Any(scope.values), Any(scope.values)});
        break;
    }
    if (Chance(20)) b_.AddControl(made, GraphBuilder::Control(Any(scope.values)));
    scope.values.push_back(made);
  }

  // A value that may be dead, from values of both sides of conditionals.
  void Mix(Scope& scope) {
    if (scope.mixed.empty()) return;
    if (Chance(40)) return Join(scope);
    const Output made = b_.Op("AddV2", "", {Any(scope.mixed), Chance(50) ? Any(scope.mixed) : Any(scope.values)});
    if (Chance(30)) {
      const Output trigger = b_.Op("ControlTrigger", "");
      b_.AddControl(trigger, GraphBuilder::Control(made));
      scope.values.push_back(b_.Op("Neg", "", {Any(scope.values)}));
      b_.AddControl(scope.values.back(), GraphBuilder::Control(trigger));
    }
    scope.mixed.push_back(made);
  }

  // The live one of several values that may be dead.
  void Join(Scope& scope) {
    std::vector<Output> joined = {Any(scope.mixed)};
    while (joined.size() < 9 && Chance(70)) joined.push_back(Chance(85) ? Any(scope.mixed) : Any(scope.values));
    const Output made = b_.Op("GradSum", "", joined);
    if (Chance(20)) b_.AddControl(made, GraphBuilder::Control(Any(scope.mixed)));
    scope.mixed.push_back(made);
  }

  Variable NewVariable(Scope& scope, int number) {
    const Output ref = b_.Op("VariableV2", absl::StrCat("variable", number), {},
                             {{"dtype", DType::kFloat}, {"shape", Shape::Of({8})}});
    return {b_.Op("Assign", "", {ref, Any(scope.values)}), {}};
  }

  // Continues with `ref`, once all have read the former value.
  void Advance(Variable& variable, Output ref) {
    for (const Output& reader : variable.readers) b_.AddControl(ref, GraphBuilder::Control(reader));
    variable = {ref, {}};
  }

  // Reads are by kernels: an Identity would share the variable's memory, which the next to write changes.
  void UseVariable(Scope& scope, Variable& variable) {
    const size_t kind = Pick(6);
    if (kind < 3) {
      const Output read = kind == 0   ? b_.Op("Abs", "", {variable.ref})
                          : kind == 1 ? b_.Op("Neg", "", {variable.ref})
                                      : b_.Op("Sub", "", {variable.ref, Any(scope.values)});
      variable.readers.push_back(read);
      scope.values.push_back(read);
    } else if (kind == 3) {
      Advance(variable, b_.Op("RefIdentity", "", {variable.ref}));
    } else {
      const char* const op = kind == 4 ? (Chance(30) ? "Assign" : "AssignSub") : "AssignAdd";
      Advance(variable, b_.Op(op, "", {variable.ref, Any(scope.values)}));
    }
  }

  void Cond(Scope& scope, int depth) {
    const Output pred = b_.Op("Less", "", {Any(scope.scalars), Any(scope.scalars)});
    Scope sides[2];
    const Output scalar = b_.Op("Switch", "", {Any(scope.scalars), pred});
    for (int i = 0; i < 2; ++i) {
      const Output value = b_.Op("Switch", "", {Any(scope.values), pred});
      for (int port = 0; port < 2; ++port) sides[port].values.push_back(GraphBuilder::Nth(value, port));
    }
    std::vector<Variable*> inside;
    for (Variable& variable : scope.variables) {
      if (!Chance(60)) continue;
      inside.push_back(&variable);
      Advance(variable, b_.Op("RefSwitch", "", {variable.ref, pred}));
      for (int port = 0; port < 2; ++port) {
        sides[port].variables.push_back({GraphBuilder::Nth(variable.ref, port), {}});
      }
    }
    for (int port = 0; port < 2; ++port) {
      sides[port].scalars.push_back(GraphBuilder::Nth(scalar, port));
      Statements(sides[port], depth + 1);
    }
    for (size_t i = 0; i < inside.size(); ++i) {
      Variable &off = sides[0].variables[i], &on = sides[1].variables[i];
      *inside[i] = {b_.Op("RefMerge", "", {off.ref, on.ref}), {}};
      for (const Variable* side : {&off, &on}) {
        for (const Output& reader : side->readers) b_.AddControl(inside[i]->ref, GraphBuilder::Control(reader));
      }
    }
    const int merges = 1 + static_cast<int>(Pick(2));
    for (int i = 0; i < merges; ++i) {
      const Output merge = b_.Op("Merge", "", {Any(sides[0].values), Any(sides[1].values)});
      if (Chance(20)) b_.AddControl(merge, GraphBuilder::Control(Any(scope.values)));
      scope.values.push_back(merge);
    }
    scope.scalars.push_back(b_.Op("Merge", "", {Any(sides[0].scalars), Any(sides[1].scalars)}));
    for (Scope& side : sides) {
      scope.mixed.push_back(Any(side.values));
      if (!side.mixed.empty()) scope.mixed.push_back(Any(side.mixed));
    }
  }

  void Loop(Scope& scope, int depth) {
    const std::string frame = absl::StrCat("frame", num_frames_++);
    const int64_t parallel = static_cast<int64_t>(1 + Pick(4));
    const auto enter = [&](const Output& x, bool is_constant) {
      return b_.Op("Enter", "", {x},
                   {{"frame_name", frame}, {"is_constant", is_constant}, {"parallel_iterations", parallel}});
    };
    // Counts up from a scalar by one, at most four times. Constants stand in the frame around by a control edge.
    const Output start = b_.Op("Identity", "", {Any(scope.scalars)});
    const Output one = Constant(1, 1.0f), distance = Constant(1);
    for (const Output& constant : {one, distance}) b_.AddControl(constant, GraphBuilder::Control(start));
    const Output limit = b_.Op("AddV2", "", {start, distance});
    const Output step = enter(one, true);
    const Output limit_in = enter(limit, true);
    const size_t count = 1 + Pick(3);
    std::vector<Output> merges;
    for (size_t i = 0; i <= count; ++i) {
      const Output in = enter(i == 0 ? start : Any(scope.values), false);
      merges.push_back(b_.Op("Merge", "", {in, in}));
    }
    const Output cond = b_.Op("LoopCond", "", {b_.Op("Less", "", {merges[0], limit_in})});
    Scope body;
    std::vector<Output> switches;
    for (const Output& merge : merges) switches.push_back(b_.Op("Switch", "", {merge, cond}));
    body.scalars.push_back(GraphBuilder::Nth(switches[0], 1));
    for (size_t i = 1; i <= count; ++i) body.values.push_back(GraphBuilder::Nth(switches[i], 1));
    if (Chance(50)) {
      const Output invariant = enter(Any(scope.values), true);
      body.values.push_back(b_.Op("AddV2", "", {invariant, body.scalars[0]}));
    }
    std::vector<Variable*> inside;
    std::vector<Output> ref_merges, ref_switches;
    for (Variable& variable : scope.variables) {
      if (!Chance(60)) continue;
      inside.push_back(&variable);
      Advance(variable,
              b_.Op("RefEnter", "", {variable.ref}, {{"frame_name", frame}, {"parallel_iterations", parallel}}));
      ref_merges.push_back(b_.Op("RefMerge", "", {variable.ref, variable.ref}));
      ref_switches.push_back(b_.Op("RefSwitch", "", {ref_merges.back(), cond}));
      body.variables.push_back({GraphBuilder::Nth(ref_switches.back(), 1), {}});
    }
    Statements(body, depth + 1);
    for (size_t i = 0; i < inside.size(); ++i) {
      Advance(body.variables[i], b_.Op("RefNextIteration", "", {body.variables[i].ref}));
      b_.SetInput(ref_merges[i], 1, body.variables[i].ref);
      *inside[i] = {b_.Op("RefExit", "", {ref_switches[i]}), {}};
    }
    for (size_t i = 0; i <= count; ++i) {
      const Output next = i == 0 ? b_.Op("AddV2", "", {body.scalars[0], step}) : Any(body.values);
      b_.SetInput(merges[i], 1, b_.Op("NextIteration", "", {next}));
      const Output exit = b_.Op("Exit", "", {switches[i]});
      (i == 0 ? scope.scalars : scope.values).push_back(exit);
    }
  }

  std::mt19937 random_;
  int budget_;
  GraphBuilder b_;
  std::map<std::string, std::vector<float>> constants_;
  int num_frames_ = 0;
};

}  // namespace

RandomGraph MakeRandomGraph(uint32_t seed, int size) { return Generator(seed, size).Generate(); }

}  // namespace sluice
