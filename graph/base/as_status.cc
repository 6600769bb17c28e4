#include "graph/base/as_status.h"

#include <exception>
#include <new>
#include <stdexcept>
#include <string>

#include "graph/base/error.h"

namespace sluice {
namespace {

absl::Status Describe(ErrorCode others) {
  try {
    throw;
  } catch (const std::bad_alloc&) {
    return Error(ErrorCode::kOutOfMemory).Text("the host has no memory left for it");
  } catch (const std::length_error& e) {
    return Error(ErrorCode::kOutOfMemory).Text(std::string("needs more elements than can be held: ") + e.what());
  } catch (const CheckFailure& e) {
    return Error(ErrorCode::kInternal).Text(e.what());
  } catch (const std::exception& e) {
    return Error(others).Text(std::string("exception: ") + e.what());
  } catch (...) {
    return Error(others).Text("an exception of unknown type");
  }
}

}  // namespace

absl::Status StatusOfCaught(ErrorCode others) noexcept {
  try {
    return Describe(others);
  } catch (...) {  // No memory for the text: return a status without one.
    return absl::Status(absl::StatusCode::kResourceExhausted, "");
  }
}

absl::Status OutOfMemoryError() noexcept {
  try {
    throw std::bad_alloc();
  } catch (...) {
    return StatusOfCaught();
  }
}

void LogCaught(const char* where) noexcept {
  const absl::Status status = StatusOfCaught();
  try {
    SLUICE_LOG(ERROR) << where << " has thrown an exception: " << status.message();
  } catch (...) {
    // No memory for a line in the log.
  }
}

}  // namespace sluice
