#ifndef SLUICE_EXECUTOR_ONCE_CALLBACK_H_
#define SLUICE_EXECUTOR_ONCE_CALLBACK_H_

#include <cstddef>
#include <functional>
#include <type_traits>
#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "graph/base/as_status.h"
#include "graph/base/error.h"

namespace sluice {

// A callback that notifies its owner exactly once: through `kCalled` when it is called, or through `kDropped` when it
// is destroyed without having been called, so that nobody waits for it for ever. Later calls do nothing, or go to
// `kCalledAgain`, which gets their arguments but not the owner. Owner is any pointer type; the functions are members of
// the object, or take the pointer as their first argument. `kDropped` must not throw. To be used by one thread at a
// time. An AnyInvocable stores it without an allocation if Owner is no larger than two pointers.
//
//   using Part = OnceCallback<Barrier*, &Barrier::OneIsDone, &Barrier::OneWasDropped>;
template <typename Owner, auto kCalled, auto kDropped, auto kCalledAgain = nullptr>
class OnceCallback {
 public:
  explicit OnceCallback(Owner owner) : owner_(std::move(owner)) {}
  OnceCallback(OnceCallback&& other) noexcept : owner_(std::exchange(other.owner_, Owner())) {}
  OnceCallback& operator=(OnceCallback&&) = delete;
  ~OnceCallback() {
    if (ABSL_PREDICT_FALSE(static_cast<bool>(owner_))) std::invoke(kDropped, std::exchange(owner_, Owner()));
  }

  template <typename... Args>
  void operator()(Args&&... args) {
    if (ABSL_PREDICT_TRUE(static_cast<bool>(owner_))) {
      std::invoke(kCalled, std::exchange(owner_, Owner()), std::forward<Args>(args)...);
    } else if constexpr (!std::is_same_v<decltype(kCalledAgain), std::nullptr_t>) {
      kCalledAgain(std::forward<Args>(args)...);
    }
  }

 private:
  Owner owner_;  // Null once moved from or called.
};

// Returns the error of an operation whose callback was dropped: `code` with `text`.
inline absl::Status DroppedError(const char* text, ErrorCode code = ErrorCode::kRunCancelled) noexcept {
  return AsStatus([&]() -> absl::Status { return Error(code).Text(text); });
}

}  // namespace sluice

#endif  // SLUICE_EXECUTOR_ONCE_CALLBACK_H_
