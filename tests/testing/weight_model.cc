#include "tests/testing/weight_model.h"

#include <cmath>
#include <fstream>
#include <memory>

#include "absl/strings/str_cat.h"
#include "graph/base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/export.h"
#include "graph/ops/op_table.h"
#include "graph/value/tensor.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

// Writes NodeDefs one after the other: a GraphDef.
class NodeFile {
 public:
  explicit NodeFile(const std::string& path) : file_(path, std::ios::binary | std::ios::trunc) {}

  // The field that holds `node`.
  static std::string Field(const std::string& node) {
    std::string field;
    WireWriter writer(&field);
    writer.Bytes(1, node);
    return field;
  }
  size_t size() const { return size_; }
  void Write(const std::string& field) {
    file_.write(field.data(), static_cast<std::streamsize>(field.size()));
    size_ += field.size();
  }
  absl::Status Close() {
    file_.close();
    return file_ ? absl::OkStatus() : absl::InternalError("the model could not be written");
  }

 private:
  std::ofstream file_;
  size_t size_ = 0;
};

// Numbers that all differ from those around them, of such a size that sums of `side` products are about 1.
Tensor MakeMatrix(int layer, int64_t side) {
  std::vector<float> values(static_cast<size_t>(side * side));
  const float scale = 2.0f / std::sqrt(static_cast<float>(side));
  uint32_t state = 12345u + static_cast<uint32_t>(layer);
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = scale * (static_cast<float>(state >> 8) / static_cast<float>(1 << 24) - 0.5f);
  }
  return Tensor::Of<float>(Shape::Of({side, side}), values);
}

}  // namespace

absl::StatusOr<std::vector<std::string>> WriteWeightModel(const std::string& path, const WeightModelShape& shape) {
  NodeFile file(path);
  std::vector<std::string> names;
  const std::shared_ptr<const OpRegistry> ops = NewOpRegistry();
  std::string input = "x";
  for (int layer = 0; layer < shape.num_layers; ++layer) {
    const Tensor matrix = MakeMatrix(layer, shape.side);
    const std::string output = absl::StrCat("h", layer);
    std::string name = absl::StrCat("w", layer);
    while (true) {
      GraphBuilder b(ops);
      const Output x = b.Placeholder(input, DType::kFloat, *PartialShape::Make({-1, shape.side}));
      const Output w = b.Const(name, matrix);
      const Output y = b.Op("MatMul", output, {x, w});
      SLUICE_RETURN_IF_ERROR(b.status());
      if (layer == 0 && file.size() == 0) file.Write(NodeFile::Field(ExportNode(b.graph(), x.node)));
      const std::string constant = NodeFile::Field(ExportNode(b.graph(), w.node));
      const size_t begin = file.size() + constant.find(std::string(matrix.bytes().substr(0, 64)));
      if (begin % 4 != shape.misalignment) {
        name += '_';
        continue;
      }
      file.Write(constant);
      file.Write(NodeFile::Field(ExportNode(b.graph(), y.node)));
      break;
    }
    names.push_back(name);
    input = output;
  }
  SLUICE_RETURN_IF_ERROR(file.Close());
  return names;
}

}  // namespace sluice
