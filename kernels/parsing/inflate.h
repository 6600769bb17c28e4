#ifndef SLUICE_KERNELS_PARSING_INFLATE_H_
#define SLUICE_KERNELS_PARSING_INFLATE_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace sluice {

enum class Compression : uint8_t { kZlib, kGzip };

// Unpacks `bytes` and adds them to `*out`. As TensorFlow has it, a stream that ends early is not an error, what follows
// a zlib stream is passed over, and a gzip file may have several members. DATA_LOSS where the bytes are damaged,
// kOutOfMemory beyond `max_bytes`.
absl::Status Inflate(absl::string_view bytes, Compression compression, size_t max_bytes, std::string* out);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_INFLATE_H_
