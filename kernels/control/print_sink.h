#ifndef SLUICE_KERNELS_CONTROL_PRINT_SINK_H_
#define SLUICE_KERNELS_CONTROL_PRINT_SINK_H_

// Where Print and PrintV2 write. A host program that shows or keeps such text itself puts a sink of its own here.

#include "absl/functional/any_invocable.h"
#include "absl/strings/string_view.h"

namespace sluice {

enum class PrintStream { kStdout, kStderr, kLogInfo, kLogWarning, kLogError };

// Gets whole messages, line ends included. Called by many threads at once.
using PrintSink = absl::AnyInvocable<void(PrintStream stream, absl::string_view text) const>;

// From now on text goes to `sink`; null brings back the default, which writes to the process's standard output and
// standard error (kLog... go there, too). Thread-safe; messages under way may still go to the sink before.
void SetPrintSink(PrintSink sink);

// Hands `text` to the sink. Thread-safe.
void PrintText(PrintStream stream, absl::string_view text);

}  // namespace sluice

#endif  // SLUICE_KERNELS_CONTROL_PRINT_SINK_H_
