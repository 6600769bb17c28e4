#include "graph/functions/recursion_check.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/hash_table.h"

namespace sluice {
namespace {

// One function that a body names, and the node that does.
struct Reference {
  int32_t callee;
  const NodeDefView* node;
};

// The edges "names a function".
class CallGraph {
 public:
  explicit CallGraph(const FunctionLibrary& library) : library_(library), names_(library.Names()) {
    for (size_t i = 0; i < names_.size(); ++i) index_[names_[i]] = static_cast<int32_t>(i);
    references_.resize(names_.size());
    for (size_t i = 0; i < names_.size(); ++i) {
      // Kept by the library; the shared pointer would only keep it longer.
      for (const NodeDefView& node : library.Find(names_[i])->nodes) AddReferences(node, &references_[i]);
    }
  }

  size_t size() const { return names_.size(); }
  const std::string& name(int32_t i) const { return names_[static_cast<size_t>(i)]; }
  const std::vector<Reference>& of(int32_t i) const { return references_[static_cast<size_t>(i)]; }

 private:
  void Add(absl::string_view name, const NodeDefView& node, std::vector<Reference>* references) const {
    const auto found = index_.find(name);
    if (found != index_.end()) references->push_back({found->second, &node});
  }

  void AddReferences(const NodeDefView& node, std::vector<Reference>* references) const {
    Add(node.op, node, references);
    // The last attr first, which decides which cycle is found first.
    for (auto attr = node.attrs.rbegin(); attr != node.attrs.rend(); ++attr) {
      if (absl::StartsWith(attr->name, "_")) continue;
      attr->value.ForEachFunction([&](absl::string_view name) {
        Add(name, node, references);
        if (node.op == "SymbolicGradient") Add(library_.FindGradient(name), node, references);
      });
    }
  }

  const FunctionLibrary& library_;
  const std::vector<std::string> names_;
  HashMap<absl::string_view, int32_t> index_;
  std::vector<std::vector<Reference>> references_;
};

// A function whose references are being followed.
struct Open {
  int32_t function;
  size_t next;
};

absl::Status Recursion(const CallGraph& calls, const std::vector<Open>& path, const Reference& back) {
  std::vector<absl::string_view> chain;
  for (const Open& open : path) {
    if (!chain.empty() || open.function == back.callee) chain.push_back(calls.name(open.function));
  }
  chain.push_back(calls.name(back.callee));
  const auto printable = [](std::string* out, absl::string_view name) { out->append(PrintableName(name)); };
  const size_t kShown = 12;
  std::string text = absl::StrJoin(
      chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(std::min(chain.size(), kShown)), " -> ", printable);
  if (chain.size() > kShown) {
    absl::StrAppend(&text, " -> (", chain.size() - kShown - 1, " more) -> ", PrintableName(chain.back()));
  }
  return Error(ErrorCode::kFunctionRecursion)
      .Node(back.node->name, back.node->op)
      .Function(calls.name(path.back().function))
      .Text(absl::StrCat("calls itself: ", text));
}

}  // namespace

void CheckRecursion(const FunctionLibrary& library, ErrorCollector* errors) {
  const CallGraph calls(library);
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  std::vector<Mark> marks(calls.size(), Mark::kNew);
  std::vector<Open> path;
  for (size_t start = 0; start < calls.size(); ++start) {
    if (marks[start] != Mark::kNew) continue;
    marks[start] = Mark::kOpen;
    path.push_back({static_cast<int32_t>(start), 0});
    while (!path.empty()) {
      Open& open = path.back();
      const std::vector<Reference>& references = calls.of(open.function);
      if (open.next == references.size()) {
        marks[static_cast<size_t>(open.function)] = Mark::kDone;
        path.pop_back();
        continue;
      }
      const Reference& reference = references[open.next++];
      Mark& mark = marks[static_cast<size_t>(reference.callee)];
      if (mark == Mark::kOpen) errors->Add(Recursion(calls, path, reference));
      if (mark != Mark::kNew) continue;
      mark = Mark::kOpen;
      path.push_back({reference.callee, 0});
    }
  }
}

}  // namespace sluice
