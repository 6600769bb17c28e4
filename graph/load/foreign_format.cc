// ForeignFormat: files that people give to graph tools by mistake, known by their magic numbers.

#include <cstddef>

#include "absl/strings/ascii.h"
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
    {0, Bytes("RIFF"), "a RIFF file (as .wav is)"},
    {0, Bytes("ID3"), "an MP3 file"},
    {0, Bytes("fLaC"), "a FLAC file"},
    {0, Bytes("\x80\x02\x8a"), "a Python pickle (as PyTorch wrote .pt)"},
    {0, Bytes("\xff\xfe"), "a UTF-16 text"},
};

// Kinds of files by the endings of their names.
struct Ending {
  absl::string_view ending;
  absl::string_view what;
};

constexpr Ending kEndings[] = {
    {".tflite", "a TFLite model"},
    {".lite", "a TFLite model"},
    {".onnx", "an ONNX model"},
    {".h5", "an HDF5 file (as Keras writes .h5)"},
    {".hdf5", "an HDF5 file (as Keras writes .h5)"},
    {".keras", "a Keras archive"},
    {".pt", "a PyTorch model"},
    {".pth", "a PyTorch model"},
    {".safetensors", "a safetensors file"},
    {".mlmodel", "a Core ML model"},
    {".engine", "a TensorRT engine"},
    {".tfrecord", "a file of TFRecords"},
    {".npy", "a NumPy array"},
    {".npz", "a NumPy archive"},
    {".pkl", "a Python pickle"},
    {".index", "the index of a checkpoint, the names of variables"},
    {".ckpt", "a checkpoint, the values of variables"},
};

// "model.ckpt-1000.data-00000-of-00002".
bool IsCheckpointData(absl::string_view file_name) {
  constexpr absl::string_view kPattern = ".data-#####-of-#####";
  if (file_name.size() < kPattern.size()) return false;
  file_name.remove_prefix(file_name.size() - kPattern.size());
  for (size_t i = 0; i < kPattern.size(); ++i) {
    const bool fits = kPattern[i] == '#' ? absl::ascii_isdigit(static_cast<unsigned char>(file_name[i]))
                                         : file_name[i] == kPattern[i];
    if (!fits) return false;
  }
  return true;
}

// An object or a list.
bool IsJson(absl::string_view bytes) {
  if (bytes.empty() || (bytes[0] != '{' && bytes[0] != '[') || !LooksLikeText(bytes)) return false;
  bytes = absl::StripLeadingAsciiWhitespace(bytes.substr(1));
  return !bytes.empty() && (bytes[0] == '"' || bytes[0] == '{' || bytes[0] == '[' || bytes[0] == '}');
}

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

absl::string_view ForeignFormat(absl::string_view bytes, absl::string_view file_name) {
  if (IsCheckpointData(file_name)) return "the data of a checkpoint, the values of variables";
  for (const Magic& magic : kMagics) {
    if (bytes.size() >= magic.offset && absl::StartsWith(bytes.substr(magic.offset), magic.bytes)) return magic.what;
  }
  if (bytes.size() >= 48 && absl::EndsWith(bytes, kTableMagic)) {
    return "the index of a checkpoint, the names of variables";
  }
  if (IsJson(bytes)) return "a JSON document";
  if (IsOnnx(bytes)) return "an ONNX model";
  return "";
}

absl::string_view FormatOfEnding(absl::string_view file_name) {
  for (const Ending& row : kEndings) {
    if (absl::EndsWith(file_name, row.ending)) return row.what;
  }
  return "";
}

}  // namespace sluice
