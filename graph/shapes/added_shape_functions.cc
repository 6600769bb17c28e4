#include "graph/shapes/added_shape_functions.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/mutex.h"
#include "graph/shapes/shape_functions.h"

namespace sluice {
namespace {

// The functions of all registries of the process. Never destroyed: graphs in static storage may outlive it otherwise.
class AddedFunctions {
 public:
  static AddedFunctions& Get() {
    static AddedFunctions* const functions = std::make_unique<AddedFunctions>().release();
    return *functions;
  }

  // False when there is one for `op`.
  bool Add(const std::shared_ptr<const OpRegistry>& ops, absl::string_view op, AddedShapeFunction function)
      ABSL_LOCKS_EXCLUDED(mu_) {
    Row row{ops.get(), ops, std::string(op), std::make_shared<const AddedShapeFunction>(std::move(function))};
    std::vector<Row> gone;  // Functions are destroyed without the lock: they are other people's.
    MutexLock lock(&mu_);
    const auto first_gone = std::partition(rows_.begin(), rows_.end(), [](const Row& r) { return !r.owner.expired(); });
    gone.assign(std::make_move_iterator(first_gone), std::make_move_iterator(rows_.end()));
    rows_.erase(first_gone, rows_.end());
    if (FindLocked(ops.get(), op) != nullptr) return false;
    rows_.push_back(std::move(row));
    any_.store(true, std::memory_order_release);  // A thread that sees it finds the row.
    return true;
  }

  std::shared_ptr<const AddedShapeFunction> Find(const OpRegistry* ops, absl::string_view op) ABSL_LOCKS_EXCLUDED(mu_) {
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
    std::shared_ptr<const AddedShapeFunction> function;
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

absl::Status AddShapeFunction(const std::shared_ptr<const OpRegistry>& ops, absl::string_view op,
                              AddedShapeFunction function) {
  const auto refuse = [op](absl::string_view why) -> absl::Status {
    return Error(ErrorCode::kOpSchema).Text(absl::StrCat("shape function of '", PrintableName(op), "': ", why));
  };
  if (ops->Find(op) == nullptr) return refuse("there is no op of this name");
  if (FindShapeFunction(op) != nullptr || !AddedFunctions::Get().Add(ops, op, std::move(function))) {
    return refuse("the op has one already");
  }
  return absl::OkStatus();
}

bool HasShapeFunction(const OpRegistry* ops, absl::string_view op) {
  return FindShapeFunction(op) != nullptr || FindAddedShapeFunction(ops, op) != nullptr;
}

std::shared_ptr<const AddedShapeFunction> FindAddedShapeFunction(const OpRegistry* ops, absl::string_view op) {
  return AddedFunctions::Get().Find(ops, op);
}

}  // namespace sluice
