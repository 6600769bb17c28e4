#include "tests/testing/random_program.h"

#include <list>
#include <map>
#include <random>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ir/control_flow_check.h"
#include "graph/ir/topo_order.h"
#include "graph/ops/op_table.h"

namespace sluice {
namespace {

constexpr int64_t kVectorSize = 32;

Tensor VectorOf(int32_t first, int32_t step) {
  std::vector<int32_t> values;
  for (int32_t i = 0; i < kVectorSize; ++i) values.push_back(first + i * step);
  return Tensor::Vector<int32_t>(values);
}

// Makes one program. Recursive in the nesting, which is bounded.
class ProgramMaker {
 public:
  ProgramMaker(uint32_t seed, const RandomProgramOptions& options)
      : options_(options), random_(seed), b_(NewOpRegistry()) {}

  absl::StatusOr<Graph> Make() {
    Scope* const root = NewScope(nullptr, Scope::Kind::kRoot);
    for (int i = 0; i < 4; ++i) {
      const DType type = i == 2 ? DType::kBool : DType::kInt32;
      const Output arg = b_.Op("_Arg", absl::StrCat("arg", i), {}, {{"T", type}, {"index", i}});
      if (i == 2) {
        root->bools.push_back(arg);
      } else {
        root->values.push_back({arg, i == 1, root});
      }
    }
    if (options_.with_state) AddVariables(root);
    AddStatements(root, options_.max_depth, options_.max_statements);
    for (int i = 0; i < 5; ++i) {
      const bool may_be_dead = i >= 3 && !in_branches_.empty();
      const Output value =
          may_be_dead ? in_branches_[Below(in_branches_.size())] : root->values[Below(root->values.size())].output;
      b_.Op("_Retval", absl::StrCat("ret", i), {value}, {{"index", i}});
    }
    return b_.Build();
  }

 private:
  struct Scope;
  struct Value {
    Output output;
    bool is_vector = false;
    Scope* scope = nullptr;
  };
  // A block: the whole, a side of a conditional, or (what every iteration does) a loop.
  struct Scope {
    enum class Kind { kRoot, kBranch, kLoop };
    Kind kind = Kind::kRoot;
    Scope* parent = nullptr;
    Output pred;  // Of a branch.
    int32_t port = 0;
    int32_t num_ports = 2;
    std::string frame;  // Of a loop.
    Output pivot;       // Of a branch: runs when the branch does.
    std::vector<Value> values;
    std::vector<Output> bools;
    std::map<std::pair<NodeId, int32_t>, Output> imported;
  };

  size_t Below(size_t n) { return n == 0 ? 0 : random_() % n; }
  bool Chance(int percent) { return Below(100) < static_cast<size_t>(percent); }
  std::string Name(absl::string_view stem) { return absl::StrCat(stem, "_", next_name_++); }

  Scope* NewScope(Scope* parent, typename Scope::Kind kind) {
    scopes_.emplace_back();
    scopes_.back().parent = parent;
    scopes_.back().kind = kind;
    return &scopes_.back();
  }

  Scope* NewBranch(Scope* parent, Output pred, int32_t port, int32_t num_ports) {
    Scope* const branch = NewScope(parent, Scope::Kind::kBranch);
    branch->pred = pred;
    branch->port = port;
    branch->num_ports = num_ports;
    branch->pivot = b_.Op("Identity", Name("pivot"), {PortOf(branch, pred)});
    return branch;
  }

  // What `value` is on the branch's side.
  Output PortOf(Scope* branch, Output value) {
    if (branch->num_ports == 2) {
      return GraphBuilder::Nth(b_.Op("Switch", Name("switch"), {value, branch->pred}), branch->port);
    }
    return GraphBuilder::Nth(
        b_.Op("_SwitchN", Name("switchn"), {value, branch->pred}, {{"num_outs", branch->num_ports}}), branch->port);
  }

  // `value` of `from`, as seen in `to`, which is in it.
  Output Import(Output value, Scope* from, Scope* to) {
    if (from == to) return value;
    const Output outside = Import(value, from, to->parent);
    Output& known = to->imported[{outside.node, outside.index}];
    if (known.is_set() && !Chance(10)) return known;
    if (to->kind == Scope::Kind::kLoop) {
      known = b_.Op("Enter", Name("captured"), {outside}, {{"frame_name", to->frame}, {"is_constant", true}});
    } else if (Chance(70)) {
      known = PortOf(to, outside);
    } else {
      known = b_.Op("Identity", Name("direct"), {outside});
      b_.AddControl(known, to->pivot);
    }
    return known;
  }

  Output Constant(Scope* scope, const Tensor& value) {
    if (scope->kind == Scope::Kind::kLoop) return Import(Constant(scope->parent, value), scope->parent, scope);
    const Output constant = b_.Const(Name("const"), value);
    if (scope->kind == Scope::Kind::kBranch) b_.AddControl(constant, scope->pivot);
    return constant;
  }
  Output ScalarConstant(Scope* scope, int32_t value) { return Constant(scope, Tensor::Scalar(value)); }

  // Some value that can be seen in `scope`, of `kind` 0 (scalar), 1 (vector) or -1 (any), as seen there.
  Value Pick(Scope* scope, int kind) {
    for (int attempt = 0; attempt < 8; ++attempt) {
      Scope* from = scope;
      while (from->parent != nullptr && (from->values.empty() || Chance(40))) from = from->parent;
      const Value& value = from->values[Below(from->values.size())];
      if (kind >= 0 && value.is_vector != (kind == 1)) continue;
      return {Import(value.output, from, scope), value.is_vector, scope};
    }
    const bool is_vector = kind == 1;
    const int32_t number = static_cast<int32_t>(Below(9));
    return {is_vector ? Constant(scope, VectorOf(number, 1)) : ScalarConstant(scope, number), is_vector, scope};
  }

  Value Add(Scope* scope, Output output, bool is_vector) {
    scope->values.push_back({output, is_vector, scope});
    if (scope->kind == Scope::Kind::kBranch && scope->parent->kind == Scope::Kind::kRoot)
      in_branches_.push_back(output);
    // Waits for some other value of the same block.
    if (Chance(12)) {
      const Value& other = scope->values[Below(scope->values.size())];
      if (other.output.node.value() < output.node.value()) b_.AddControl(output, other.output);
    }
    return scope->values.back();
  }

  void AddStatements(Scope* scope, int depth, int max) {
    const int count = 1 + static_cast<int>(Below(static_cast<size_t>(max)));
    for (int i = 0; i < count; ++i) AddStatement(scope, depth);
  }

  void AddStatement(Scope* scope, int depth) {
    const size_t kind = Below(depth > 0 ? 14 : 8);
    if (kind < 4) return AddBinary(scope);
    if (kind == 4) return AddUnary(scope);
    if (kind == 5) return AddParts(scope);
    if (kind == 6) return AddMany(scope);
    if (kind == 7) return AddTrigger(scope);
    if (kind < 11) return AddConditional(scope, depth - 1);
    AddLoop(scope, depth - 1);
  }

  void AddBinary(Scope* scope) {
    constexpr absl::string_view kOps[] = {"AddV2", "Sub", "Mul", "Maximum", "Minimum"};
    const Value x = Pick(scope, -1), y = Chance(10) ? x : Pick(scope, -1);
    const absl::string_view op = kOps[Below(5)];
    Add(scope, b_.Op(op, Name(op), {x.output, y.output}), x.is_vector || y.is_vector);
  }

  void AddUnary(Scope* scope) {
    constexpr absl::string_view kOps[] = {"Neg", "Identity", "Snapshot", "Abs", "StopGradient"};
    const Value x = Pick(scope, -1);
    const absl::string_view op = kOps[Below(5)];
    Add(scope, b_.Op(op, Name(op), {x.output}), x.is_vector);
  }

  // A node of two outputs, of which one may be unused.
  void AddParts(Scope* scope) {
    const Value x = Pick(scope, 1);
    const Output axis = ScalarConstant(scope, 0);
    const Output parts = b_.Op("Split", Name("split"), {axis, x.output}, {{"num_split", 2}});
    const Output first = GraphBuilder::Nth(parts, static_cast<int32_t>(Below(2)));
    Add(scope, b_.Op("ConcatV2", Name("concat"), {first, GraphBuilder::Nth(parts, 0), axis}), true);
  }

  void AddMany(Scope* scope) {
    const Value x = Pick(scope, -1), y = Pick(scope, -1);
    const Output both = b_.Op("IdentityN", Name("both"), {x.output, y.output});
    Add(scope, GraphBuilder::Nth(both, 1), y.is_vector);
    if (Chance(50)) Add(scope, both, x.is_vector);
  }

  // Behind something that may not have run.
  void AddTrigger(Scope* scope) {
    if (scope->kind != Scope::Kind::kRoot || in_branches_.empty()) return AddBinary(scope);
    const Output trigger = b_.Op("ControlTrigger", Name("trigger"));
    for (int i = 0; i < 2; ++i) b_.AddControl(trigger, in_branches_[Below(in_branches_.size())]);
    const Value x = Pick(scope, -1);
    const Output behind = b_.Op("Identity", Name("behind"), {x.output});
    b_.AddControl(behind, trigger);
    Add(scope, behind, x.is_vector);
  }

  Output Predicate(Scope* scope) {
    if (Chance(45)) {
      Scope* from = scope;
      while (from->parent != nullptr && (from->bools.empty() || Chance(30))) from = from->parent;
      if (!from->bools.empty()) return Import(from->bools[Below(from->bools.size())], from, scope);
    }
    const Output pred = b_.Op("Less", Name("less"), {Pick(scope, 0).output, Pick(scope, 0).output});
    scope->bools.push_back(pred);
    return pred;
  }

  void AddConditional(Scope* scope, int depth) {
    const bool is_wide = Chance(20);
    const int32_t num_ports = is_wide ? 3 : 2;
    const Output pred = is_wide ? Pick(scope, 0).output : Predicate(scope);
    std::vector<Scope*> branches;
    for (int32_t port = 0; port < num_ports; ++port) {
      branches.push_back(NewBranch(scope, pred, port, num_ports));
      AddStatements(branches.back(), depth, options_.max_statements / 2 + 1);
    }
    const size_t num_results = 1 + Below(2);
    for (size_t i = 0; i < num_results; ++i) {
      const bool is_vector = Chance(50);
      std::vector<Output> sides;
      for (Scope* branch : branches) sides.push_back(Pick(branch, is_vector ? 1 : 0).output);
      if (Chance(30)) std::swap(sides[0], sides[1]);
      const Output merge = b_.Op("Merge", Name("merge"), sides);
      Add(scope, merge, is_vector);
      if (Chance(30)) Add(scope, GraphBuilder::Nth(merge, 1), false);
    }
  }

  Output LoopCondition(Scope* loop, Output counter) {
    const Output limit = ScalarConstant(loop, static_cast<int32_t>(Below(5)));
    Output goes_on = b_.Op("Less", Name("less"), {counter, limit});
    if (Chance(30)) {
      const Output other = b_.Op("Less", Name("less"), {Pick(loop, 0).output, ScalarConstant(loop, 50)});
      loop->bools.push_back(other);
      goes_on = b_.Op("LogicalAnd", Name("and"), {goes_on, other});
    }
    return b_.Op("LoopCond", Name("loopcond"), {goes_on});
  }

  Value LoopVariable(Scope* loop, const Value& initial) {
    const Output enter = b_.Op("Enter", Name("enter"), {initial.output},
                               {{"frame_name", loop->frame}, {"parallel_iterations", 1 + static_cast<int>(Below(10))}});
    const Output merge = b_.Op("Merge", Name("loopmerge"), {enter, Output()}, {{"T", DType::kInt32}, {"N", 2}});
    loop->values.push_back({merge, initial.is_vector, loop});
    return loop->values.back();
  }

  // What `variable` is in the next iteration.
  Output Next(Scope* body, const std::vector<Value>& variables, size_t index) {
    Scope* const loop = body->parent;
    const Value& variable = variables[index];
    if (index == 0) {
      return b_.Op("AddV2", Name("count"), {Import(variable.output, loop, body), ScalarConstant(body, 1)});
    }
    const Value& other = variables[Below(variables.size())];
    if (Chance(35) && other.is_vector == variable.is_vector) return Import(other.output, loop, body);
    return Pick(body, variable.is_vector ? 1 : 0).output;
  }

  void AddLoop(Scope* scope, int depth) {
    Scope* const loop = NewScope(scope, Scope::Kind::kLoop);
    loop->frame = Name("frame");
    std::vector<Value> variables = {LoopVariable(loop, {ScalarConstant(scope, 0), false, scope})};
    const size_t count = 1 + Below(3);
    for (size_t i = 0; i < count; ++i) variables.push_back(LoopVariable(loop, Pick(scope, -1)));
    if (Chance(50)) AddStatements(loop, Chance(20) ? depth : 0, 2);
    const Output condition = LoopCondition(loop, variables[0].output);
    Scope* const body = NewBranch(loop, condition, 1, 2);
    AddStatements(body, depth, options_.max_statements / 2 + 1);
    Output updated;
    if (handle_.is_set() && !IsInLoop(scope) && Chance(60)) updated = UpdateInLoop(body, variables[0]);
    std::vector<Output> next;
    for (size_t i = 0; i < variables.size(); ++i) next.push_back(Next(body, variables, i));
    if (updated.is_set()) next[0] = b_.Op("Maximum", Name("count"), {next[0], updated});
    for (size_t i = 0; i < variables.size(); ++i) {
      b_.SetInput(variables[i].output, 1, b_.Op("NextIteration", Name("next"), {next[i]}));
    }
    AddExits(scope, loop, condition, variables);
  }

  void AddExits(Scope* scope, Scope* loop, Output condition, const std::vector<Value>& variables) {
    for (size_t i = 0; i < variables.size(); ++i) {
      if (i > 0 && Chance(20)) continue;  // It is not fetched.
      const Value value = Chance(85) ? variables[i] : loop->values[Below(loop->values.size())];
      Output last = b_.Op("Switch", Name("switch"), {value.output, condition});
      if (Chance(15)) last = b_.Op("Neg", Name("neg"), {last});
      scope->values.push_back({b_.Op("Exit", Name("exit"), {last}), value.is_vector, scope});
    }
  }

  // Variables behind references, of a scalar and of a vector, and one behind a handle.
  void AddVariables(Scope* root) {
    AddRefVariable(root, "v", true);
    if (Chance(50)) AddRefVariable(root, "s", false);
    const Output handle =
        b_.Op("VarHandleOp", "handle", {}, {{"dtype", DType::kInt32}, {"shape", Shape()}, {"shared_name", "h"}});
    const Output set = b_.Op("AssignVariableOp", "set", {handle, b_.Const("zero", Tensor::Scalar<int32_t>(0))});
    handle_ = b_.Op("Identity", "handle_set", {handle});
    b_.AddControl(handle_, set);
    handle_scope_ = root;
  }

  // Read and written in an order that control edges tell.
  void AddRefVariable(Scope* root, const std::string& name, bool is_vector) {
    const Shape shape = is_vector ? Shape::Of({kVectorSize}) : Shape();
    const Output variable = b_.Op("VariableV2", name, {}, {{"dtype", DType::kInt32}, {"shape", shape}});
    const Tensor initial = is_vector ? VectorOf(3, 2) : Tensor::Scalar<int32_t>(3);
    Output now = b_.Op("Assign", Name("assign"), {variable, b_.Const(Name("initial"), initial)});
    const size_t steps = 1 + Below(3);
    for (size_t i = 0; i < steps; ++i) {
      const Output read = ReadRef(root, now);
      root->values.push_back({read, is_vector, root});
      const size_t kind = Below(5);
      if (kind == 0) {
        now = UpdateOnOneSide(root, now, read, is_vector);
      } else if (kind == 1) {
        now = UpdateInRefLoop(root, now, read, is_vector);
      } else if (kind == 2) {
        now = UpdateUnderAlias(root, now, read, is_vector);
      } else {
        now = Update(root, now, is_vector);
        b_.AddControl(now, read);
      }
    }
    root->values.push_back({b_.Op("Identity", Name("read"), {now}), is_vector, root});
  }

  // A value of the variable's that later updates do not change: not an Identity, which is the variable's own memory.
  Output ReadRef(Scope* root, Output now) {
    const size_t kind = Below(4);
    if (kind == 0) return b_.Op("Neg", Name("read"), {now});
    if (kind == 1) return b_.Op("AddV2", Name("read"), {now, Pick(root, 0).output});
    if (kind == 2) return b_.Op("Snapshot", Name("read"), {now});
    return b_.Op("Snapshot", Name("read"), {b_.Op("Identity", Name("alias"), {now})});
  }

  Output Update(Scope* root, Output now, bool is_vector) {
    const size_t kind = Below(is_vector ? 5 : 3);
    constexpr absl::string_view kDense[] = {"AssignAdd", "AssignSub", "Assign"};
    if (kind < 3) return b_.Op(kDense[kind], Name("update"), {now, Pick(root, is_vector ? 1 : 0).output});
    const std::vector<int32_t> rows = {static_cast<int32_t>(Below(kVectorSize)), 0, kVectorSize - 1};
    const Output indices = b_.Const(Name("rows"), Tensor::Vector<int32_t>(rows));
    const Output parts = b_.Op("GatherV2", Name("parts"), {Pick(root, 1).output, indices, ScalarConstant(root, 0)});
    return b_.Op(kind == 3 ? "ScatterAdd" : "ScatterSub", Name("update"), {now, indices, parts});
  }

  // An Identity of the variable, looked at after the update: it shows the new value.
  Output UpdateUnderAlias(Scope* root, Output now, Output read, bool is_vector) {
    const Output alias = b_.Op("Identity", Name("alias"), {now});
    const Output update = b_.Op("AssignAdd", Name("update"), {now, Pick(root, is_vector ? 1 : 0).output});
    b_.AddControl(update, alias);
    b_.AddControl(update, read);
    const Output seen = b_.Op("Neg", Name("seen"), {alias});
    b_.AddControl(seen, update);
    root->values.push_back({seen, is_vector, root});
    const Output later = b_.Op("RefIdentity", Name("later"), {update});
    b_.AddControl(later, seen);
    return later;
  }

  // The variable is written under a predicate; what comes later waits whether or not that happened.
  Output UpdateOnOneSide(Scope* root, Output now, Output read, bool is_vector) {
    const Output pred = Predicate(root);
    const Output ports = b_.Op("RefSwitch", Name("refswitch"), {now, pred});
    b_.AddControl(ports, read);  // On the side without an update, too: what comes later updates.
    const Output amount = b_.Op("Switch", Name("switch"), {Pick(root, is_vector ? 1 : 0).output, pred});
    const Output update =
        b_.Op("AssignAdd", Name("assign_add"), {GraphBuilder::Nth(ports, 1), GraphBuilder::Nth(amount, 1)});
    if (Chance(50)) return b_.Op("RefMerge", Name("refmerge"), {ports, update});
    const Output trigger = b_.Op("ControlTrigger", Name("trigger"));
    b_.AddControl(trigger, update);
    const Output later = b_.Op("RefIdentity", Name("later"), {now});
    b_.AddControl(later, trigger);
    b_.AddControl(later, read);
    return later;
  }

  // The reference goes around a loop, in which the variable is written.
  Output UpdateInRefLoop(Scope* root, Output now, Output read, bool is_vector) {
    const std::string frame = Name("frame");
    const auto enter = [&](absl::string_view op, Output x, bool is_constant) {
      return b_.Op(op, Name("enter"), {x}, {{"frame_name", frame}, {"is_constant", is_constant}});
    };
    const Output amount = enter("Enter", Pick(root, is_vector ? 1 : 0).output, true);
    const Output limit = enter("Enter", ScalarConstant(root, static_cast<int32_t>(Below(4))), true);
    const Output one = enter("Enter", ScalarConstant(root, 1), true);
    const Output ref_in = enter("RefEnter", now, false);
    b_.AddControl(ref_in, read);
    const Output start = enter("Enter", ScalarConstant(root, 0), false);
    const Output ref = b_.Op("RefMerge", Name("refmerge"), {ref_in, ref_in});
    const Output count = b_.Op("Merge", Name("loopmerge"), {start, start});
    const Output goes_on = b_.Op("LoopCond", Name("loopcond"), {b_.Op("Less", Name("less"), {count, limit})});
    const Output refs = b_.Op("RefSwitch", Name("refswitch"), {ref, goes_on});
    const Output counts = b_.Op("Switch", Name("switch"), {count, goes_on});
    const Output update = b_.Op("AssignSub", Name("assign_sub"), {GraphBuilder::Nth(refs, 1), amount});
    b_.SetInput(ref, 1, b_.Op("RefNextIteration", Name("next"), {update}));
    const Output next = b_.Op("AddV2", Name("count"), {GraphBuilder::Nth(counts, 1), one});
    b_.SetInput(count, 1, b_.Op("NextIteration", Name("next"), {next}));
    root->values.push_back({b_.Op("Exit", Name("exit"), {counts}), false, root});
    return b_.Op("RefExit", Name("refexit"), {refs});
  }

  static bool IsInLoop(const Scope* scope) {
    for (; scope != nullptr; scope = scope->parent) {
      if (scope->kind == Scope::Kind::kLoop) return true;
    }
    return false;
  }

  // Adds to the variable behind the handle, in order (iterations of a loop around this one would race): what is written
  // depends on what the last iteration read, since that decides the counter.
  Output UpdateInLoop(Scope* body, const Value& counter) {
    const Output handle = Import(handle_, handle_scope_, body);
    handle_ = Output();  // One loop only: others would race.
    const Output count = Import(counter.output, counter.scope, body);
    const Output amount = b_.Op("AddV2", Name("amount"), {count, ScalarConstant(body, 1)});
    const Output add = b_.Op("AssignAddVariableOp", Name("add"), {handle, amount});
    const Output read = b_.Op("ReadVariableOp", Name("value"), {handle}, {{"dtype", DType::kInt32}});
    b_.AddControl(read, add);
    return b_.Op("Minimum", Name("small"), {read, ScalarConstant(body, 2)});
  }

  const RandomProgramOptions options_;
  std::mt19937 random_;
  GraphBuilder b_;
  std::list<Scope> scopes_;
  std::vector<Output> in_branches_;  // Of conditionals at the top: may be dead.
  Output handle_;
  Scope* handle_scope_ = nullptr;
  int next_name_ = 0;
};

}  // namespace

absl::StatusOr<Graph> RandomStructuredProgram(uint32_t seed, const RandomProgramOptions& options) {
  return ProgramMaker(seed, options).Make();
}

std::vector<Tensor> RandomArguments(uint32_t seed) {
  std::mt19937 random(seed * 7919 + 1);
  const auto small = [&random] { return static_cast<int32_t>(random() % 12) - 2; };
  std::vector<Tensor> values;
  values.push_back(Tensor::Scalar(small()));
  values.push_back(VectorOf(small(), small()));
  values.push_back(Tensor::Scalar(random() % 2 == 0));
  values.push_back(Tensor::Scalar(small()));
  return values;
}

void RewireAtRandom(uint32_t seed, int count, Graph* graph) {
  std::mt19937 random(seed * 31337 + 5);
  const std::vector<NodeId> nodes = graph->Nodes();
  for (int done = 0, attempt = 0; done < count && attempt < 200; ++attempt) {
    Graph changed = *graph;
    const NodeId node = nodes[random() % nodes.size()], other = nodes[random() % nodes.size()];
    if (random() % 3 == 0) {
      if (node == other) continue;
      if (!changed.AddControl(node, other).ok()) continue;
    } else {
      const size_t num_inputs = changed.inputs(node).size();
      if (num_inputs == 0 || changed.num_outputs(other) == 0) continue;
      const int32_t output = static_cast<int32_t>(random()) & 1;
      if (output >= changed.num_outputs(other)) continue;
      if (!changed.SetInput(node, static_cast<int32_t>(random() % num_inputs), {other, output}).ok()) continue;
    }
    if (!CheckAcyclic(changed).ok() || !BuildControlFlowInfo(changed, LoadLimits()).ok()) continue;
    *graph = std::move(changed);
    ++done;
  }
}

}  // namespace sluice
