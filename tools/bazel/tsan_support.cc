// Tells ThreadSanitizer about libraries that are not instrumented: linked into every program of the configuration
// "tsan" (.bazelrc), so that there is no file to find at run time.
//
// Debian's libabsl is not instrumented. Status::UnrefNonInlined counts references there, with atomics that
// ThreadSanitizer does not see: the thread that drops the last reference and deletes the text and the payloads seems to
// race with a thread that read them before it dropped its own. So the linker gives its callers (--wrap, in .bazelrc)
// this one, which does the same and is instrumented. Nothing is suppressed, whatever debug information a build has.

#include <atomic>
#include <cstdint>

#include "absl/status/internal/status_internal.h"

extern "C" __attribute__((visibility("default"), used)) void __wrap__ZN4absl7debian36Status15UnrefNonInlinedEm(
    uintptr_t rep) {
  // A Status with an allocated text is its address and a bit.
  auto* const shared = reinterpret_cast<absl::status_internal::StatusRep*>(rep - 1);
  if (shared->ref.fetch_sub(1, std::memory_order_acq_rel) == 1) delete shared;
}
