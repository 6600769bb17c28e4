#include "kernels/plugin/plugin_status.h"

#include <memory>

#include "absl/strings/string_view.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

// Given out where there is no memory for another; never freed.
SluiceStatus& NoMemory() noexcept {
  static SluiceStatus status{absl::Status(absl::StatusCode::kResourceExhausted, ""), {}};
  return status;
}

absl::StatusCode CodeOf(int32_t code) {
  return code > 0 && code <= static_cast<int32_t>(absl::StatusCode::kUnauthenticated)
             ? static_cast<absl::StatusCode>(code)
             : absl::StatusCode::kUnknown;
}

absl::string_view TextOf(const char* text) { return text != nullptr ? absl::string_view(text) : absl::string_view(); }

// The code that our own kernels would use for an input; kForeign if there is none.
ErrorCode OpErrorOf(absl::StatusCode code) {
  switch (code) {
    case absl::StatusCode::kInvalidArgument:
      return ErrorCode::kOpShape;
    case absl::StatusCode::kOutOfRange:
      return ErrorCode::kOpRange;
    case absl::StatusCode::kUnimplemented:
      return ErrorCode::kOpUnimplemented;
    case absl::StatusCode::kFailedPrecondition:
      return ErrorCode::kOpPrecondition;
    case absl::StatusCode::kInternal:
      return ErrorCode::kOpBroken;
    case absl::StatusCode::kNotFound:
      return ErrorCode::kOpNotFound;
    default:
      return ErrorCode::kForeign;
  }
}

}  // namespace

SluiceStatus* GiveStatus(const absl::Status& status) noexcept {
  if (status.ok()) return nullptr;
  try {
    return std::make_unique<SluiceStatus>(SluiceStatus{status, std::string(status.message())}).release();
  } catch (...) {
    return &NoMemory();
  }
}

absl::Status TakeStatus(SluiceStatus* status) noexcept {
  if (status == nullptr) return absl::OkStatus();
  absl::Status taken = status->status;
  DeleteStatus(status);
  return taken;
}

void DeleteStatus(SluiceStatus* status) noexcept {
  if (status != &NoMemory()) std::unique_ptr<SluiceStatus>{status}.reset();
}

SluiceStatus* NewStatus(int32_t code, const char* text) noexcept {
  return Answer([&] { return absl::Status(CodeOf(code), TextOf(text)); });
}

SluiceStatus* NewInputStatus(int32_t code, int32_t i, const char* text, const char* found,
                             const char* expected) noexcept {
  return Answer([&]() -> absl::Status {
    const absl::StatusCode canonical = CodeOf(code);
    const ErrorCode of_ours = OpErrorOf(canonical);
    if (of_ours == ErrorCode::kForeign) return absl::Status(canonical, TextOf(text));
    ErrorBuilder error(of_ours);
    error.Input(i).Text(TextOf(text));
    if (found != nullptr) error.Found(found);
    if (expected != nullptr) error.Expected(expected);
    return error;
  });
}

int32_t StatusCode(const SluiceStatus* status) noexcept {
  return status != nullptr ? static_cast<int32_t>(status->status.code()) : 0;
}

const char* StatusText(const SluiceStatus* status) noexcept { return status != nullptr ? status->text.c_str() : ""; }

}  // namespace sluice
