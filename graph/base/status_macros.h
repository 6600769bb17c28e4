#ifndef SLUICE_GRAPH_BASE_STATUS_MACROS_H_
#define SLUICE_GRAPH_BASE_STATUS_MACROS_H_

// Our only macros that change control flow: they return an error to the caller.
//
//   absl::Status Load(absl::string_view path) {
//     SLUICE_RETURN_IF_ERROR(CheckPath(path));
//     SLUICE_ASSIGN_OR_RETURN(std::string bytes, ReadFile(path));
//     SLUICE_ASSIGN_OR_RETURN(graph_, Import(bytes));
//     return absl::OkStatus();
//   }
//
// Both work in functions that return absl::Status or any absl::StatusOr. A target whose type holds a comma needs
// parentheses around neither: declare the type with `using` or `auto`.

#include <utility>

#include "absl/base/optimization.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Returns `expr`'s status from the enclosing function unless it is OK. `expr` is evaluated once.
#define SLUICE_RETURN_IF_ERROR(expr)                                     \
  do {                                                                   \
    ::absl::Status sluice_status_ = (expr);                              \
    if (ABSL_PREDICT_FALSE(!sluice_status_.ok())) return sluice_status_; \
  } while (false)

// Moves the value of `expr`, an absl::StatusOr, into `target` (a declaration or an lvalue), or returns its status.
// Several statements: not to be used as the body of an `if` without braces.
#define SLUICE_ASSIGN_OR_RETURN(target, ...) \
  SLUICE_ASSIGN_OR_RETURN_IMPL_(SLUICE_STATUS_CONCAT_(sluice_statusor_, __LINE__), target, (__VA_ARGS__))

#define SLUICE_ASSIGN_OR_RETURN_IMPL_(temporary, target, expr)                     \
  auto temporary = expr;                                                           \
  if (ABSL_PREDICT_FALSE(!temporary.ok())) return ::std::move(temporary).status(); \
  target = *::std::move(temporary)

#define SLUICE_STATUS_CONCAT_(a, b) SLUICE_STATUS_CONCAT_INNER_(a, b)
#define SLUICE_STATUS_CONCAT_INNER_(a, b) a##b

#endif  // SLUICE_GRAPH_BASE_STATUS_MACROS_H_
