#include "kernels/parsing/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"

namespace sluice {
namespace {

constexpr size_t kFirstChunk = size_t{4} << 10;
constexpr size_t kLastChunk = size_t{256} << 10;

// zlib's stream, closed at the end.
class Stream {
 public:
  Stream() = default;
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() {
    if (is_open_) inflateEnd(&stream_);
  }

  bool Open(Compression compression) {
    constexpr int kGzipHeader = 16;  // As zlib wants it, added to the size of the window.
    const int window = compression == Compression::kGzip ? MAX_WBITS + kGzipHeader : MAX_WBITS;
    is_open_ = inflateInit2(&stream_, window) == Z_OK;
    return is_open_;
  }
  z_stream* get() { return &stream_; }

 private:
  z_stream stream_ = {};
  bool is_open_ = false;
};

}  // namespace

absl::Status Inflate(absl::string_view bytes, Compression compression, size_t max_bytes, std::string* out) {
  Stream stream;
  if (!stream.Open(compression)) return Error(ErrorCode::kOutOfMemory).Text("no memory to unpack with");
  z_stream* const z = stream.get();
  size_t size = out->size(), chunk = kFirstChunk;
  bool at_end = false;
  while (!at_end) {
    if (z->avail_in == 0) {  // zlib counts in 32 bits.
      const size_t part = std::min<size_t>(bytes.size(), std::numeric_limits<uInt>::max());
      if (part == 0) break;
      z->next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
      z->avail_in = static_cast<uInt>(part);
      bytes.remove_prefix(part);
    }
    out->resize(size + chunk);
    z->next_out = reinterpret_cast<Bytef*>(&(*out)[size]);
    z->avail_out = static_cast<uInt>(chunk);
    const int result = inflate(z, Z_NO_FLUSH);
    size += chunk - z->avail_out;
    out->resize(size);
    if (size > max_bytes) {
      return Error(ErrorCode::kOutOfMemory).Text(absl::StrCat("the unpacked text has more than ", max_bytes, " bytes"));
    }
    if (result == Z_MEM_ERROR) return Error(ErrorCode::kOutOfMemory).Text("no memory to unpack with");
    if (result != Z_OK && result != Z_STREAM_END && result != Z_BUF_ERROR) {
      return absl::DataLossError(absl::StrCat("inflate() failed with error ", result,
                                              z->msg != nullptr ? absl::StrCat(": ", z->msg) : std::string()));
    }
    if (result == Z_STREAM_END) {
      at_end = compression == Compression::kZlib || (z->avail_in == 0 && bytes.empty());
      if (!at_end) inflateReset(z);
    }
    chunk = std::min(2 * chunk, kLastChunk);
  }
  return absl::OkStatus();
}

}  // namespace sluice
