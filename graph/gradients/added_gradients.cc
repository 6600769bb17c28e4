#include "graph/gradients/added_gradients.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/gradients/gradient_table.h"

namespace sluice {
namespace {

// The gradients added to all registries of the process. Never destroyed: graphs in static storage may outlive it
// otherwise.
class AddedRows {
 public:
  static AddedRows& Get() {
    static AddedRows* const rows = std::make_unique<AddedRows>().release();
    return *rows;
  }

  // False when there is one for `op`.
  bool Add(const std::shared_ptr<const OpRegistry>& ops, absl::string_view op, AddedGradient function)
      ABSL_LOCKS_EXCLUDED(mu_) {
    Row row{ops.get(), ops, std::string(op), std::make_shared<const AddedGradient>(std::move(function))};
    std::vector<Row> gone;  // Destroyed without the lock: the functions are foreign code.
    MutexLock lock(&mu_);
    const auto first_gone = std::partition(rows_.begin(), rows_.end(), [](const Row& r) { return !r.owner.expired(); });
    gone.assign(std::make_move_iterator(first_gone), std::make_move_iterator(rows_.end()));
    rows_.erase(first_gone, rows_.end());
    if (FindLocked(ops.get(), op) != nullptr) return false;
    rows_.push_back(std::move(row));
    any_.store(true, std::memory_order_release);  // A thread that sees it finds the row.
    return true;
  }

  std::shared_ptr<const AddedGradient> Find(const OpRegistry* ops, absl::string_view op) ABSL_LOCKS_EXCLUDED(mu_) {
    if (!any_.load(std::memory_order_acquire)) return nullptr;
    MutexLock lock(&mu_);
    const Row* const row = FindLocked(ops, op);
    return row != nullptr ? row->function : nullptr;
  }

 private:
  struct Row {
    const OpRegistry* ops;
    std::weak_ptr<const OpRegistry> owner;  // Expired: `ops` is gone, and its address may be reused.
    std::string op;
    std::shared_ptr<const AddedGradient> function;
  };

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

}  // namespace

absl::Status AddGradientFunction(const std::shared_ptr<const OpRegistry>& ops, absl::string_view op,
                                 AddedGradient function) {
  const auto refuse = [op](absl::string_view why) -> absl::Status {
    return Error(ErrorCode::kOpSchema).Text(absl::StrCat("gradient of '", PrintableName(op), "': ", why));
  };
  if (ops->Find(op) == nullptr) return refuse("there is no op of this name");
  if (FindGradientRow(op) != nullptr || !AddedRows::Get().Add(ops, op, std::move(function))) {
    return refuse("the op has one already");
  }
  return absl::OkStatus();
}

bool HasGradientFunction(const OpRegistry* ops, absl::string_view op) {
  return FindGradientRow(op) != nullptr || FindAddedGradient(ops, op) != nullptr;
}

std::shared_ptr<const AddedGradient> FindAddedGradient(const OpRegistry* ops, absl::string_view op) {
  return AddedRows::Get().Find(ops, op);
}

}  // namespace sluice
