#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_STATUS_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_STATUS_H_

// Errors that cross the border to a plug-in: see Note [Plug-ins] in plugin_api.h.

#include <cstdint>
#include <string>
#include <utility>

#include "absl/status/status.h"
#include "graph/base/as_status.h"
#include "kernels/plugin/plugin_api.h"

// What a SluiceStatus* points to; never OK. Keeps all facts of an error of ours that a plug-in hands back.
struct SluiceStatus {
  absl::Status status;
  std::string text;  // Zero-terminated, for status_text.
};

namespace sluice {

// `status` for a plug-in: null for OK, else for the receiver to free. Without memory a static object that says so.
SluiceStatus* GiveStatus(const absl::Status& status) noexcept;
// What a plug-in handed over; frees it.
absl::Status TakeStatus(SluiceStatus* status) noexcept;
void DeleteStatus(SluiceStatus* status) noexcept;

// Functions of SluiceApi.
SluiceStatus* NewStatus(int32_t code, const char* text) noexcept;
SluiceStatus* NewInputStatus(int32_t code, int32_t i, const char* text, const char* found,
                             const char* expected) noexcept;
int32_t StatusCode(const SluiceStatus* status) noexcept;
const char* StatusText(const SluiceStatus* status) noexcept;

// What a function of SluiceApi answers: `work` gives an absl::Status; what it throws becomes one.
template <typename Work>
SluiceStatus* Answer(Work&& work) noexcept {
  return GiveStatus(AsStatus(std::forward<Work>(work)));
}

}  // namespace sluice

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_STATUS_H_
