// ForeignFormat: files that people give to graph tools by mistake, known by their magic numbers.

#include <cstddef>

#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "graph/load/format.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

// Bytes that stand at `offset` of a file of one kind. Texts may hold zero bytes, hence the size.
struct Magic {
  size_t offset;
  absl::string_view bytes;
  absl::string_view what;
};

template <size_t kSize>
constexpr absl::string_view Bytes(const char (&text)[kSize]) {
  return absl::string_view(text, kSize - 1);
}

constexpr Magic kMagics[] = {
    {0, Bytes("\x89PNG\r\n\x1a\n"), "a PNG image"},
    {0, Bytes("\xff\xd8\xff"), "a JPEG image"},
    {0, Bytes("GIF87a"), "a GIF image"},
    {0, Bytes("GIF89a"), "a GIF image"},
    {8, Bytes("WEBPVP8"), "a WebP image"},
    {0,
     Bytes("\x7f"
           "ELF"),
     "an ELF program or library"},
    {0, Bytes("MZ\x90\0"), "a Windows program"},
    {0, Bytes("\x1f\x8b"), "a gzip archive"},
    {0, Bytes("PK\x03\x04"), "a zip archive (.zip, .npz, .keras and PyTorch files are)"},
    {0, Bytes("\x89HDF\r\n\x1a\n"), "an HDF5 file (as Keras writes .h5)"},
    {0, Bytes("BZh"), "a bzip2 archive"},
    {0,
     Bytes("\xfd"
           "7zXZ\0"),
     "an xz archive"},
    {0, Bytes("\x28\xb5\x2f\xfd"), "a zstd archive"},
    {257, Bytes("ustar"), "a tar archive"},
    {0, Bytes("%PDF-"), "a PDF document"},
    {0, Bytes("\x93NUMPY"), "a NumPy array"},
    {0, Bytes("\x80\x02}"), "a Python pickle"},
    {0, Bytes("\x80\x04\x95"), "a Python pickle"},
    {0, Bytes("\x80\x05\x95"), "a Python pickle"},
    {4, Bytes("TFL3"), "a TFLite model"},
    {0, Bytes("GGUF"), "a GGUF model"},
    {8, Bytes("{\""), "a safetensors file"},
    {0, Bytes("version https://git-lfs"), "a Git LFS pointer: the file itself was never fetched"},
    {0, Bytes("<!DOCTYPE"), "an HTML page"},
    {0, Bytes("<html"), "an HTML page"},
    {0, Bytes("<?xml"), "an XML document"},
    {0, Bytes("{\""), "a JSON document"},
    {0, Bytes("{\n"), "a JSON document"},
    {0, Bytes("\xff\xfe"), "a UTF-16 text"},
};

// The last eight bytes of a checkpoint's index, and of any table of LevelDB.
constexpr absl::string_view kTableMagic = Bytes("\x57\xfb\x80\x8b\x24\x75\x47\xdb");

// An ONNX ModelProto has a version number in field 1, as a SavedModel has, but a graph in field 7 and more.
bool IsOnnx(absl::string_view bytes) {
  WireReader reader(bytes);
  bool has_version = false;
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kVarint)) has_version = true;
    if (has_version && reader.tag() == WireTag(7, WireType::kBytes)) return true;
    if (reader.tag() == WireTag(1, WireType::kBytes)) return false;
  }
  return false;
}

}  // namespace

absl::string_view ForeignFormat(absl::string_view bytes) {
  for (const Magic& magic : kMagics) {
    if (bytes.size() >= magic.offset && absl::StartsWith(bytes.substr(magic.offset), magic.bytes)) return magic.what;
  }
  if (bytes.size() >= 48 && absl::EndsWith(bytes, kTableMagic)) {
    return "the index of a checkpoint: it holds variables, not a graph";
  }
  if (IsOnnx(bytes)) return "an ONNX model";
  return "";
}

}  // namespace sluice
