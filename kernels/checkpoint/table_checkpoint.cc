#include "kernels/checkpoint/table_checkpoint.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "graph/base/error.h"
#include "graph/base/status_macros.h"
#include "graph/value/shape_proto.h"
#include "graph/value/tensor_proto.h"
#include "graph/wire/wire_reader.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

absl::Status Damaged(absl::string_view what) { return Error(ErrorCode::kCheckpointDamaged).Text(what); }

// The field `number` of the message in `bytes` that holds a message; empty if the message lacks it.
absl::StatusOr<absl::string_view> FindMessage(absl::string_view bytes, uint32_t number) {
  absl::string_view found;
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == WireTag(number, WireType::kBytes)) found = reader.bytes();
  }
  if (!reader.ok()) return Damaged("an entry of the table is unreadable");
  return found;
}

}  // namespace

absl::StatusOr<TableCheckpoint> TableCheckpoint::Open(const std::vector<std::string>& files) {
  TableCheckpoint checkpoint;
  for (const std::string& file : files) {
    const absl::Status added = checkpoint.AddFile(file);
    if (!added.ok()) return WithFile(added, file);
  }
  return checkpoint;
}

absl::Status TableCheckpoint::AddFile(const std::string& path) {
  absl::StatusOr<std::shared_ptr<const MappedFile>> file =
      MappedFile::Open(path, std::numeric_limits<int64_t>::max() / 2);
  if (!file.ok()) {
    return Damaged(
        absl::StrCat("the file is not a checkpoint: ", ErrorInfoOf(file.status()).value_or(ErrorInfo()).text));
  }
  const size_t index = files_.size();
  files_.push_back(*std::move(file));
  paths_.push_back(path);
  SLUICE_ASSIGN_OR_RETURN(SortedTable table, SortedTable::Open(files_.back()->bytes()));
  tables_.push_back(std::move(table));
  return tables_.back().Find("", [&](absl::string_view value) -> absl::Status {
    SLUICE_ASSIGN_OR_RETURN(const absl::string_view meta, FindMessage(value, 1));
    WireReader reader(meta);
    while (reader.Next()) {
      if (reader.tag() == WireTag(1, WireType::kBytes)) SLUICE_RETURN_IF_ERROR(AddTensor(reader.bytes(), index));
    }
    return reader.ok() ? absl::OkStatus() : Damaged("the list of tensors is unreadable");
  });
}

absl::Status TableCheckpoint::AddTensor(absl::string_view bytes, size_t file) {
  std::string name;
  TableTensor tensor;
  int64_t dtype = 0;
  PartialShape shape = PartialShape::Scalar();
  WireReader reader(bytes);
  while (reader.Next()) {
    if (reader.tag() == WireTag(1, WireType::kBytes)) name = std::string(reader.bytes());
    if (reader.tag() == WireTag(2, WireType::kBytes)) {
      absl::StatusOr<PartialShape> decoded = DecodeShapeProto(reader.bytes());
      if (!decoded.ok()) return Damaged("a tensor has an impossible shape");
      shape = *std::move(decoded);
    }
    if (reader.tag() == WireTag(3, WireType::kVarint)) dtype = static_cast<int64_t>(reader.varint());
    if (reader.tag() == WireTag(4, WireType::kBytes)) {
      SLUICE_ASSIGN_OR_RETURN(TensorSlice slice, ReadSliceProto(reader.Message()));
      tensor.parts.push_back({std::move(slice), file});
    }
  }
  if (!reader.ok() || !shape.IsFullyDefined()) return Damaged("the description of a tensor is unreadable");
  tensor.dtype = DTypeFromNumber(dtype);
  tensor.shape = shape.ToShape();
  const auto [place, is_new] = tensors_.try_emplace(name, tensor);
  if (is_new) return absl::OkStatus();
  TableTensor& before = place->second;
  if (before.dtype != tensor.dtype || before.shape != tensor.shape) {
    return Error(ErrorCode::kOpBroken)
        .Text(absl::StrCat("tensor '", PrintableName(name), "' is ", DTypeName(before.dtype), before.shape.ToString(),
                           " in one place and ", DTypeName(tensor.dtype), tensor.shape.ToString(), " in another"));
  }
  for (TableTensor::Part& part : tensor.parts) before.parts.push_back(std::move(part));
  return absl::OkStatus();
}

absl::StatusOr<const TableTensor*> TableCheckpoint::Find(absl::string_view name) const {
  if (const auto found = tensors_.find(name); found != tensors_.end()) return &found->second;
  return Error(ErrorCode::kCheckpointName)
      .Text(absl::StrCat("the checkpoint '", paths_.empty() ? "" : PrintableName(paths_.front(), 1000),
                         "' has no tensor '", PrintableName(name), "'"));
}

absl::Status TableCheckpoint::Read(absl::string_view name, const TableTensor& tensor, const SliceBox& box,
                                   Tensor* to) const {
  if (!IsTrivial(tensor.dtype) && tensor.dtype != DType::kString) {
    return Error(ErrorCode::kCheckpointEntry)
        .Text(absl::StrCat("tensor '", PrintableName(name), "' is of a type that cannot be read from a checkpoint"));
  }
  std::vector<SliceBox> boxes;
  for (const TableTensor::Part& part : tensor.parts) {
    SLUICE_ASSIGN_OR_RETURN(SliceBox one, BoxOf(part.slice, tensor.shape));
    boxes.push_back(std::move(one));
  }
  SLUICE_RETURN_IF_ERROR(CheckCover(boxes, box));
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (!Intersect(boxes[i], box, nullptr)) continue;
    SLUICE_ASSIGN_OR_RETURN(const Tensor part, ReadPart(name, tensor, tensor.parts[i], boxes[i].shape));
    CopyCommon(part, boxes[i], box, to);
  }
  return absl::OkStatus();
}

absl::StatusOr<Tensor> TableCheckpoint::ReadPart(absl::string_view name, const TableTensor& tensor,
                                                 const TableTensor::Part& part, const Shape& shape) const {
  absl::StatusOr<Tensor> value = absl::Status(Damaged("a tensor is not where it should be"));
  const absl::Status found =
      tables_[part.file].Find(SliceKey(name, part.slice), [&](absl::string_view entry) -> absl::Status {
        SLUICE_ASSIGN_OR_RETURN(const absl::string_view slice, FindMessage(entry, 2));
        SLUICE_ASSIGN_OR_RETURN(const absl::string_view data, FindMessage(slice, 3));
        // The values stand in a TensorProto that does not say what it is. Fields that come later count.
        std::string proto(data);
        WireWriter writer(&proto);
        writer.Int(1, static_cast<int64_t>(tensor.dtype));
        const size_t mark = writer.BeginMessage(2);
        WriteShapeProto(shape, &writer);
        writer.EndMessage(mark);
        value = DecodeTensorProto(proto);
        if (value.ok() && (value->dtype() != tensor.dtype || value->shape() != shape)) {
          return Damaged("its data is of another type or shape");
        }
        return absl::OkStatus();
      });
  if (found.ok() && value.ok()) return value;
  const absl::Status why = found.ok() ? value.status() : found;
  if (why.code() == absl::StatusCode::kResourceExhausted) return why;
  return WithFile(Damaged(absl::StrCat("the data of tensor '", PrintableName(name),
                                       "' is damaged: ", ErrorInfoOf(why).value_or(ErrorInfo()).text)),
                  paths_[part.file]);
}

}  // namespace sluice
