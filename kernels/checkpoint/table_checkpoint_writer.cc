#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tstring.h"
#include "graph/wire/wire_writer.h"
#include "kernels/checkpoint/new_file.h"
#include "kernels/checkpoint/table_checkpoint.h"
#include "kernels/checkpoint/table_writer.h"

namespace sluice {
namespace {

constexpr size_t kBlockBytes = 4 << 10;
// Messages are below 2 GiB, with some room for what stands around the values.
constexpr size_t kMaxValueBytes = (size_t{1} << 31) - (1 << 20);

// All elements as varints of one packed field.
template <typename T>
void WriteVarints(uint32_t field, const Tensor& value, WireWriter* writer) {
  const T* const elements = static_cast<const T*>(value.raw_data());
  const size_t mark = writer->BeginMessage(field);
  for (int64_t i = 0; i < value.num_elements(); ++i) {
    writer->RawVarint(static_cast<uint64_t>(static_cast<int64_t>(elements[i])));
  }
  writer->EndMessage(mark);
}

// The elements in the field of a TensorProto that their type has. Returns false for types that TensorFlow does not
// write to such files.
bool WriteValues(const Tensor& value, WireWriter* writer) {
  switch (value.dtype()) {
    case DType::kFloat:
      writer->Bytes(5, value.bytes());
      return true;
    case DType::kDouble:
      writer->Bytes(6, value.bytes());
      return true;
    case DType::kComplex64:
      writer->Bytes(9, value.bytes());
      return true;
    case DType::kComplex128:
      writer->Bytes(12, value.bytes());
      return true;
    case DType::kInt32:
    case DType::kQInt32:
      WriteVarints<int32_t>(7, value, writer);
      return true;
    case DType::kInt16:
      WriteVarints<int16_t>(7, value, writer);
      return true;
    case DType::kUInt16:
      WriteVarints<uint16_t>(7, value, writer);
      return true;
    case DType::kInt8:
    case DType::kQInt8:
      WriteVarints<int8_t>(7, value, writer);
      return true;
    case DType::kUInt8:
    case DType::kQUInt8:
      WriteVarints<uint8_t>(7, value, writer);
      return true;
    case DType::kInt64:
      WriteVarints<int64_t>(10, value, writer);
      return true;
    case DType::kBool:
      WriteVarints<uint8_t>(11, value, writer);
      return true;
    case DType::kHalf:
      WriteVarints<uint16_t>(13, value, writer);
      return true;
    case DType::kString:
      for (const TString& text : value.flat<TString>()) writer->Bytes(8, text.view());
      return true;
    default:
      return false;
  }
}

// About how many bytes the values take, at most.
size_t BytesOf(const Tensor& value) {
  if (IsFloating(value.dtype()) || IsComplex(value.dtype())) return value.total_bytes();
  if (value.dtype() != DType::kString) return 10 * static_cast<size_t>(value.num_elements());
  size_t bytes = 0;
  for (const TString& text : value.flat<TString>()) bytes += text.size() + 11;
  return bytes;
}

// The message SavedTensorSlices that holds one tensor, or a part of one.
absl::StatusOr<std::string> DataEntry(const TableSource& source) {
  if (BytesOf(*source.value) > kMaxValueBytes) {
    return Error(ErrorCode::kOpValue)
        .Text(absl::StrCat("tensor '", PrintableName(source.name), "' is too large for a checkpoint of the first form"))
        .Expected("less than 2 GiB");
  }
  std::string bytes;
  WireWriter writer(&bytes);
  const size_t data = writer.BeginMessage(2);
  writer.Bytes(1, source.name);
  WriteSliceProto(2, source.slice, &writer);
  const size_t proto = writer.BeginMessage(3);
  if (!WriteValues(*source.value, &writer)) {
    return Error(ErrorCode::kOpUnimplemented)
        .Text(absl::StrCat("tensor '", PrintableName(source.name), "' is of ", DTypeName(source.value->dtype()),
                           ", which a checkpoint of the first form does not hold"));
  }
  writer.EndMessage(proto);
  writer.EndMessage(data);
  return bytes;
}

// By name, then as given: each part once.
using Parts = std::map<std::string, std::vector<const TableSource*>>;

// The message SavedTensorSlices that says what the tensors are.
std::string MetaEntry(const Parts& tensors) {
  std::string bytes;
  WireWriter writer(&bytes);
  const size_t meta = writer.BeginMessage(1);
  for (const auto& [name, parts] : tensors) {
    const size_t tensor = writer.BeginMessage(1);
    writer.Bytes(1, name);
    const size_t shape = writer.BeginMessage(2);
    WriteShapeProto(parts.front()->full_shape, &writer);
    writer.EndMessage(shape);
    writer.Int(3, static_cast<int64_t>(parts.front()->value->dtype()));
    for (const TableSource* part : parts) WriteSliceProto(4, part->slice, &writer);
    writer.EndMessage(tensor);
  }
  const size_t versions = writer.BeginMessage(2);
  writer.Varint(1, 1);
  writer.EndMessage(versions);
  writer.EndMessage(meta);
  return bytes;
}

}  // namespace

absl::Status WriteTableCheckpoint(const std::string& path, const std::vector<TableSource>& sources) {
  Parts tensors;
  std::map<std::string, const TableSource*> by_key;
  for (const TableSource& source : sources) {
    std::vector<const TableSource*>& parts = tensors[source.name];
    if (!parts.empty() &&
        (parts.front()->full_shape != source.full_shape || parts.front()->value->dtype() != source.value->dtype())) {
      return Error(ErrorCode::kOpBroken)
          .Text(absl::StrCat("the parts of tensor '", PrintableName(source.name), "' differ in type or full shape"));
    }
    if (by_key.try_emplace(SliceKey(source.name, source.slice), &source).second) parts.push_back(&source);
  }
  SLUICE_ASSIGN_OR_RETURN(const std::unique_ptr<NewFile> file, NewFile::Create(path));
  TableWriter table(file.get(), kBlockBytes);
  SLUICE_RETURN_IF_ERROR(table.Add("", MetaEntry(tensors)));
  for (const auto& [key, source] : by_key) {
    SLUICE_ASSIGN_OR_RETURN(const std::string entry, DataEntry(*source));
    SLUICE_RETURN_IF_ERROR(table.Add(key, entry));
  }
  SLUICE_RETURN_IF_ERROR(table.Finish());
  return file->Commit();
}

}  // namespace sluice
