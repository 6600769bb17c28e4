// How attr values are shown and compared.

#include <algorithm>
#include <cstring>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/base/error.h"
#include "graph/ir/attr.h"
#include "graph/value/tensor_proto.h"
#include "graph/wire/wire_reader.h"

namespace sluice {
namespace {

// Functions inside attrs of functions that are still spelled out.
constexpr int kMaxShownDepth = 4;

std::string Quoted(absl::string_view text) { return absl::StrCat("\"", PrintableName(text), "\""); }

std::string TensorText(absl::string_view bytes) {
  const absl::StatusOr<TensorProtoInfo> info = InspectTensorProto(bytes);
  if (!info.ok()) return "damaged tensor";
  if (info->shape.num_elements() > 64)
    return absl::StrCat(DTypeName(info->dtype), " ", info->shape.ToString(), " {...}");
  const absl::StatusOr<Tensor> tensor = DecodeTensorProto(bytes);
  return tensor.ok() ? tensor->ToString() : std::string("damaged tensor");
}

std::string AttrText(AttrView attr, int depth);

std::string FuncText(const absl::StatusOr<FuncView>& func, int depth) {
  if (!func.ok()) return "damaged function";
  std::string text = PrintableName(func->name);
  if (func->attrs.empty()) return text;
  if (depth >= kMaxShownDepth) return text + "[...]";
  std::vector<std::string> attrs;
  for (const NamedAttr& attr : func->attrs) {
    attrs.push_back(absl::StrCat(PrintableName(attr.name), "=", AttrText(attr.value, depth + 1)));
  }
  std::sort(attrs.begin(), attrs.end());
  return absl::StrCat(text, "[", absl::StrJoin(attrs, ", "), "]");
}

// "[a, b, ...]" from whichever kind of list this is; at most 16 elements are shown.
template <typename List, typename Format>
bool AppendList(const List& list, std::string* text, Format format) {
  if (!list.ok()) return false;
  std::vector<std::string> parts;
  for (size_t i = 0; i < list->size() && i < 16; ++i) parts.push_back(format((*list)[i]));
  if (list->size() > 16) parts.push_back(absl::StrCat("... ", list->size(), " in all"));
  *text = absl::StrCat("[", absl::StrJoin(parts, ", "), "]");
  return true;
}

std::string ListText(AttrView attr, int depth) {
  std::string text;
  const auto number = [](auto v) { return absl::StrCat(v); };
  if (AppendList(attr.AsIntList(), &text, number) || AppendList(attr.AsTypeList(), &text, DTypeName) ||
      AppendList(attr.AsStringList(), &text, Quoted) || AppendList(attr.AsFloatList(), &text, number) ||
      AppendList(attr.AsBoolList(), &text, [](bool v) { return std::string(v ? "true" : "false"); }) ||
      AppendList(attr.AsShapeList(), &text, [](const PartialShape& s) { return s.ToString(); }) ||
      AppendList(attr.AsTensorBytesList(), &text, TensorText) ||
      AppendList(attr.AsFuncList(), &text, [depth](const FuncView& f) { return FuncText(f, depth); })) {
    return text;
  }
  return "mixed list";
}

std::string AttrText(AttrView attr, int depth) {
  switch (attr.kind()) {
    case AttrKind::kNone:
      return "nothing";
    case AttrKind::kString:
      return Quoted(*attr.AsString());
    case AttrKind::kInt:
      return absl::StrCat(*attr.AsInt());
    case AttrKind::kFloat:
      return absl::StrCat(*attr.AsFloat());
    case AttrKind::kBool:
      return *attr.AsBool() ? "true" : "false";
    case AttrKind::kType:
      return DTypeName(*attr.AsType());
    case AttrKind::kShape: {
      const absl::StatusOr<PartialShape> shape = attr.AsShape();
      return shape.ok() ? shape->ToString() : std::string("damaged shape");
    }
    case AttrKind::kTensor:
      return TensorText(*attr.AsTensorBytes());
    case AttrKind::kPlaceholder:
      return absl::StrCat("$", PrintableName(*attr.AsPlaceholder()));
    case AttrKind::kFunc:
      return FuncText(attr.AsFunc(), depth);
    case AttrKind::kList:
      return ListText(attr, depth);
  }
  return "nothing";
}

// Whether two tensors hold equal values, however they are encoded.
bool TensorsEqual(absl::string_view a, absl::string_view b) {
  if (a == b) return true;
  const absl::StatusOr<Tensor> left = DecodeTensorProto(a);
  const absl::StatusOr<Tensor> right = DecodeTensorProto(b);
  if (!left.ok() || !right.ok()) return false;
  const absl::StatusOr<std::string> x = EncodeTensorProto(*left), y = EncodeTensorProto(*right);
  return x.ok() && y.ok() && *x == *y;
}

// Whether two function values name the same function with equal attrs, order aside. As deep as attrs nest, which
// import limits.
bool FuncsEqual(const absl::StatusOr<FuncView>& a, const absl::StatusOr<FuncView>& b) {
  if (!a.ok() || !b.ok() || a->name != b->name || a->attrs.size() != b->attrs.size()) return false;
  auto left = a->attrs, right = b->attrs;
  const auto by_name = [](const NamedAttr& x, const NamedAttr& y) { return x.name < y.name; };
  std::sort(left.begin(), left.end(), by_name);
  std::sort(right.begin(), right.end(), by_name);
  for (size_t i = 0; i < left.size(); ++i) {
    if (left[i].name != right[i].name || !AttrView::Equal(left[i].value, right[i].value)) return false;
  }
  return true;
}

template <typename List, typename Equal>
bool ListsEqual(const List& a, const List& b, Equal equal) {
  return a.ok() && b.ok() && std::equal(a->begin(), a->end(), b->begin(), b->end(), equal);
}

template <typename T>
bool SameList(const absl::StatusOr<std::vector<T>>& a, const absl::StatusOr<std::vector<T>>& b) {
  return a.ok() && b.ok() && *a == *b;
}

}  // namespace

std::string AttrView::ToString() const { return AttrText(*this, 0); }

bool AttrView::Equal(AttrView a, AttrView b) {
  if (a.bytes_ == b.bytes_) return true;
  const AttrKind kind = a.kind();
  if (kind != b.kind()) return false;
  switch (kind) {
    case AttrKind::kString:
      return *a.AsString() == *b.AsString();
    case AttrKind::kInt:
      return *a.AsInt() == *b.AsInt();
    case AttrKind::kBool:
      return *a.AsBool() == *b.AsBool();
    case AttrKind::kType:
      return *a.AsType() == *b.AsType();
    case AttrKind::kPlaceholder:
      return *a.AsPlaceholder() == *b.AsPlaceholder();
    case AttrKind::kTensor:
      return TensorsEqual(*a.AsTensorBytes(), *b.AsTensorBytes());
    case AttrKind::kShape: {
      const absl::StatusOr<PartialShape> left = a.AsShape(), right = b.AsShape();
      return left.ok() && right.ok() && *left == *right;
    }
    case AttrKind::kList:
      return SameList(a.AsIntList(), b.AsIntList()) || SameList(a.AsTypeList(), b.AsTypeList()) ||
             SameList(a.AsStringList(), b.AsStringList()) || SameList(a.AsFloatList(), b.AsFloatList()) ||
             SameList(a.AsBoolList(), b.AsBoolList()) || SameList(a.AsShapeList(), b.AsShapeList()) ||
             ListsEqual(a.AsTensorBytesList(), b.AsTensorBytesList(), TensorsEqual) ||
             ListsEqual(a.AsFuncList(), b.AsFuncList(), FuncsEqual);
    case AttrKind::kFunc:
      return FuncsEqual(a.AsFunc(), b.AsFunc());
    case AttrKind::kFloat: {
      const float left = *a.AsFloat(), right = *b.AsFloat();
      return std::memcmp(&left, &right, sizeof(left)) == 0;  // By bits: a NaN is equal to itself, 0 not to -0.
    }
    case AttrKind::kNone:
      return true;
  }
  return false;
}

}  // namespace sluice
