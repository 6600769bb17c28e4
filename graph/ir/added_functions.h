#ifndef SLUICE_GRAPH_IR_ADDED_FUNCTIONS_H_
#define SLUICE_GRAPH_IR_ADDED_FUNCTIONS_H_

#include <algorithm>
#include <atomic>
#include <iterator>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/ir/op_registry.h"

namespace sluice {

// What host programs and plug-ins add to say about ops of their registries: gradients, shape functions. It stands
// beside the registries and not in them, as graph/ir knows nothing of either. Thread-safe.
template <typename Function>
class AddedFunctions {
 public:
  // Those of all registries of the process. Never destroyed: graphs in static storage may outlive it otherwise.
  static AddedFunctions& Get() {
    static AddedFunctions* const functions = std::make_unique<AddedFunctions>().release();
    return *functions;
  }

  // Keeps `function`, a `what`, as long as `ops` lives, or longer. kOpSchema when `ops` has no such op, or when it has
  // one already: a built-in one, or one added.
  absl::Status Add(const std::shared_ptr<const OpRegistry>& ops, absl::string_view op, Function function,
                   absl::string_view what, bool is_built_in) ABSL_LOCKS_EXCLUDED(mu_) {
    const auto refuse = [&](absl::string_view why) -> absl::Status {
      return Error(ErrorCode::kOpSchema).Text(absl::StrCat(what, " of '", PrintableName(op), "': ", why));
    };
    if (ops->Find(op) == nullptr) return refuse("there is no op of this name");
    if (is_built_in ||
        !Insert({ops.get(), ops, std::string(op), std::make_shared<const Function>(std::move(function))}))
      return refuse("the op has one already");
    return absl::OkStatus();
  }

  // The function added for `op`, or null. Costs a load where none was ever added.
  std::shared_ptr<const Function> Find(const OpRegistry* ops, absl::string_view op) ABSL_LOCKS_EXCLUDED(mu_) {
    if (!any_.load(std::memory_order_acquire)) return nullptr;
    MutexLock lock(&mu_);
    const Row* const row = FindLocked(ops, op);
    return row != nullptr ? row->function : nullptr;
  }

 private:
  struct Row {
    const OpRegistry* ops;
    std::weak_ptr<const OpRegistry> owner;  // Expired: `ops` is gone, and its address may be another's.
    std::string op;
    std::shared_ptr<const Function> function;
  };

  bool Insert(Row row) ABSL_LOCKS_EXCLUDED(mu_) {
    std::vector<Row> gone;  // Destroyed without the lock: their destructors may be a host's.
    MutexLock lock(&mu_);
    const auto first_gone = std::partition(rows_.begin(), rows_.end(), [](const Row& r) { return !r.owner.expired(); });
    gone.assign(std::make_move_iterator(first_gone), std::make_move_iterator(rows_.end()));
    rows_.erase(first_gone, rows_.end());
    if (FindLocked(row.ops, row.op) != nullptr) return false;
    rows_.push_back(std::move(row));
    any_.store(true, std::memory_order_release);  // A thread that sees it finds the row.
    return true;
  }

  const Row* FindLocked(const OpRegistry* ops, absl::string_view op) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_) {
    const auto row = std::find_if(rows_.begin(), rows_.end(), [&](const Row& candidate) {
      return candidate.ops == ops && candidate.op == op && !candidate.owner.expired();
    });
    return row == rows_.end() ? nullptr : &*row;
  }

  Mutex mu_;
  std::atomic<bool> any_{false};
  std::vector<Row> rows_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_IR_ADDED_FUNCTIONS_H_
