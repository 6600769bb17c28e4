#ifndef SLUICE_KERNELS_STEP_SESSION_STATE_H_
#define SLUICE_KERNELS_STEP_SESSION_STATE_H_

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "graph/base/hash_table.h"
#include "graph/base/mutex.h"
#include "graph/value/tensor.h"
#include "kernels/step/file_access.h"

namespace sluice {

// State of a session that kernels of its runs use: tensors under handles (GetSessionHandle and related ops), and the
// files they may access. Thread-safe.
class SessionState {
 public:
  SessionState() = default;
  explicit SessionState(FileAccess files) : files_(std::move(files)) {}

  // Note [Files are granted].
  const FileAccess& files() const { return files_; }

  // kTensorHandle for unknown handles.
  absl::StatusOr<Tensor> Get(absl::string_view handle) const ABSL_LOCKS_EXCLUDED(mu_);
  absl::Status Delete(absl::string_view handle) ABSL_LOCKS_EXCLUDED(mu_);
  void Add(absl::string_view handle, Tensor tensor) ABSL_LOCKS_EXCLUDED(mu_);
  int64_t NextId() { return next_id_.fetch_add(1, std::memory_order_relaxed); }  // Relaxed: unique only.
  size_t size() const ABSL_LOCKS_EXCLUDED(mu_);

 private:
  const FileAccess files_{};
  mutable Mutex mu_;
  HashMap<std::string, Tensor> tensors_ ABSL_GUARDED_BY(mu_);
  std::atomic<int64_t> next_id_{0};
};

// Tensors that a step wants kept. After a successful run those whose node was fetched go to the SessionState.
// Thread-safe.
class TensorStore {
 public:
  // `node` made the handle; kTensorHandle when it made one before.
  absl::Status Add(absl::string_view node, std::string handle, Tensor tensor) ABSL_LOCKS_EXCLUDED(mu_);
  // Moves what `fetched_nodes` made to `state`; keeps the rest.
  void SaveTo(const std::vector<std::string>& fetched_nodes, SessionState& state) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  struct Item {
    std::string handle;
    Tensor tensor;
  };
  Mutex mu_;
  HashMap<std::string, Item> items_ ABSL_GUARDED_BY(mu_);
};

}  // namespace sluice

#endif  // SLUICE_KERNELS_STEP_SESSION_STATE_H_
