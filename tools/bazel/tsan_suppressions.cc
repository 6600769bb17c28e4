// What ThreadSanitizer is not to report: linked into every program of the configuration "tsan" (.bazelrc), so that
// there is no file to find at run time.
//
// Debian's libabsl is not instrumented. Status::UnrefNonInlined counts references there, with atomics that
// ThreadSanitizer does not see: the thread that drops the last reference and deletes the text and the payloads seems
// to race with whoever read them before it dropped its own. A program that only copies a Status into a thread, reads
// it on both sides and drops both gets the same reports; with status.cc and cord.cc of the same version of Abseil
// instrumented, neither that program nor our tests get any.
//
// The names are those of the function that deletes. Races on the Status object itself (an assignment without the lock
// that guards it) are in other functions and are reported as ever.

extern "C" __attribute__((visibility("default"), used)) const char* __tsan_default_suppressions() {
  return "race:^absl::*Status::Unref\n"
         "race:^absl::*Storage<absl::*status_internal::Payload*::DestroyContents\n";
}
