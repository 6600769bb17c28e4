#ifndef SLUICE_GRAPH_BASE_ERROR_H_
#define SLUICE_GRAPH_BASE_ERROR_H_

// Errors.
//
// An error is an absl::Status whose message is one line that stands alone ("SLC2104: Conv2D 'net/conv': input 1
// ..."; the canonical code is not repeated in it) and whose payload carries the same facts for programs:
//
//   return Error(ErrorCode::kInputSlot).Node("net/conv", "Conv2D").Input(1, "net/relu:3")
//       .Found("slot 3").Expected("a slot below 1").Text("names an output that is not there");
//
// `FormatError` renders the many-line form that users read, `ErrorInfoOf` reads the facts back.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "graph/base/error_code.h"

namespace sluice {

// The facts of one error. A value type; absent facts are empty or -1.
struct ErrorInfo {
  ErrorCode code = ErrorCode::kInternal;
  std::string text;                        // What is wrong: a predicate of the node, input or attr ("is missing").
  std::string node;                        // Name of the node at fault, as in the file (not escaped).
  std::string op;                          // Its op.
  int32_t input = -1;                      // Index of the input at fault.
  std::string input_name;                  // "node:slot" that feeds it.
  std::string attr;                        // Name of the attr at fault.
  std::string found;                       // What was found.
  std::string expected;                    // What was expected.
  std::string function;                    // Function whose body holds the node.
  std::string frame;                       // Control-flow frame, at run time.
  std::string file;                        // Name of the file or stream, if known.
  int64_t node_index = -1;                 // Position of the node in the file.
  int64_t byte_begin = -1, byte_end = -1;  // Byte range in the file.
  int64_t line = -1, column = -1;          // Place in a text file, from 1.
  std::string limit;                       // Name of the limit that was exceeded.
  int64_t limit_value = -1;
  std::string suggestion;  // The way out, if one is known.
  bool derived = false;    // A consequence of another error of the same run.
};

// Builds the status for one error. Converts to absl::Status (and so to any StatusOr).
// Not thread-safe; lives for one expression.
class ErrorBuilder {
 public:
  explicit ErrorBuilder(ErrorCode code) { info_.code = code; }

  ErrorBuilder& Node(absl::string_view name, absl::string_view op);
  ErrorBuilder& Input(int32_t index, absl::string_view name = "");
  ErrorBuilder& Attr(absl::string_view name);
  ErrorBuilder& Found(absl::string_view found);
  ErrorBuilder& Expected(absl::string_view expected);
  ErrorBuilder& Function(absl::string_view name);
  ErrorBuilder& At(int64_t node_index, int64_t byte_begin, int64_t byte_end);
  ErrorBuilder& AtByte(int64_t offset);
  ErrorBuilder& Limit(absl::string_view name, int64_t value);
  ErrorBuilder& Help(absl::string_view suggestion);
  ErrorBuilder& Text(absl::string_view text);

  absl::Status Build() const;
  operator absl::Status() const { return Build(); }  // NOLINT(google-explicit-constructor)

 private:
  ErrorInfo info_;
};

inline ErrorBuilder Error(ErrorCode code) { return ErrorBuilder(code); }

// The status for `info`. Its canonical code is that of `info.code`'s row in the table.
absl::Status MakeError(const ErrorInfo& info);

// The facts of `status`; no value if Sluice did not make it.
std::optional<ErrorInfo> ErrorInfoOf(const absl::Status& status);

// Adds facts to `status` that its origin did not know. Facts already there win.
absl::Status WithNode(const absl::Status& status, absl::string_view name, absl::string_view op);
absl::Status WithFunction(const absl::Status& status, absl::string_view function);
absl::Status WithAttr(const absl::Status& status, absl::string_view attr);
absl::Status WithPlace(const absl::Status& status, int64_t node_index, int64_t byte_begin, int64_t byte_end);
absl::Status WithFile(const absl::Status& status, absl::string_view file);
absl::Status WithLine(const absl::Status& status, int64_t line, int64_t column);

// `status` with `change` applied to the facts of each error that it stands for. Errors not made by Sluice stay as they
// are; canonical codes are kept.
absl::Status WithChangedFacts(const absl::Status& status, absl::FunctionRef<void(ErrorInfo&)> change);

// All errors of a load, the status's own first; {status} when it stands for just one. See ErrorCollector.
std::vector<absl::Status> AllErrors(const absl::Status& status);

// The form that users read: "SLC2104 INVALID_ARGUMENT: ..." and its at/in/rule/help/see lines; all errors of a load one
// after the other. `one_line` gives the first line of the first error only.
std::string FormatError(const absl::Status& status, bool one_line = false);

// `text` with control bytes, invalid UTF-8 and direction marks escaped, cut in the middle beyond `max_bytes`.
std::string PrintableName(absl::string_view text, size_t max_bytes = 120);

// Gathers the errors of one load, so that all of them are shown at once.
// Ownership: copies. Not thread-safe.
class ErrorCollector {
 public:
  explicit ErrorCollector(size_t max_errors = 50) : max_errors_(max_errors) {}

  // Keeps `status` unless it is OK or the list is full (then it is only counted).
  void Add(absl::Status status);
  bool empty() const { return total_ == 0; }
  bool full() const { return errors_.size() >= max_errors_; }
  size_t total() const { return total_; }

  // OK, or a status that carries the first error (file-level before nodes, then by node index) and holds the others
  // for AllErrors.
  absl::Status Finish();

 private:
  size_t max_errors_;
  size_t total_ = 0;
  std::vector<absl::Status> errors_;
};

}  // namespace sluice

#endif  // SLUICE_GRAPH_BASE_ERROR_H_
