#include "tests/testing/chain_graph.h"

#include "absl/strings/str_cat.h"
#include "graph/ir/attr.h"
#include "graph/wire/wire_writer.h"

namespace sluice {
namespace {

void AppendAttr(absl::string_view name, const AttrValue& value, WireWriter& writer) {
  const size_t entry = writer.BeginMessage(5);
  writer.Bytes(1, name);
  writer.Bytes(2, value.bytes());
  writer.EndMessage(entry);
}

}  // namespace

std::string ChainGraphBytes(int64_t nodes) {
  const AttrValue type(DType::kFloat), value(Tensor::Scalar(1.5f));
  std::string bytes;
  WireWriter writer(&bytes);
  for (int64_t i = 0; i < nodes; ++i) {
    const size_t node = writer.BeginMessage(1);
    writer.Bytes(1, absl::StrCat("n", i));
    if (i % 2 == 0) {
      writer.Bytes(2, "Const");
      AppendAttr("dtype", type, writer);
      AppendAttr("value", value, writer);
    } else {
      writer.Bytes(2, "AddV2");
      writer.Bytes(3, absl::StrCat("n", i - 1));
      writer.Bytes(3, absl::StrCat("n", i < 2 ? i - 1 : i - 2));
      AppendAttr("T", type, writer);
    }
    writer.EndMessage(node);
  }
  const size_t versions = writer.BeginMessage(4);
  writer.Int(1, 1882);
  writer.EndMessage(versions);
  return bytes;
}

}  // namespace sluice
