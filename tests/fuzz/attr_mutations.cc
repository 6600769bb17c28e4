#include "tests/fuzz/attr_mutations.h"

#include <algorithm>
#include <string>

#include "graph/value/dtype.h"
#include "tests/testing/node_signature.h"

namespace sluice {
namespace {

void ChangeText(const AttrSpec& spec, FuzzRandom& random, std::string* text) {
  if (!spec.allowed_strings.empty() && !random.OneIn(20)) {
    *text = random.Pick(spec.allowed_strings);
    return;
  }
  switch (random.Int(5)) {
    case 0:
      text->clear();
      break;
    case 1:
      text->append(random.Below(200), 'x');
      break;
    case 2:
      *text = "\xff\xfe";
      break;
    case 3:
      if (!text->empty()) text->erase(random.Below(text->size()), 1);
      break;
    default: {
      static constexpr char kLetters[] = "abcij,->.: ";
      text->insert(random.Below(text->size() + 1), 1, kLetters[random.Below(sizeof(kLetters) - 1)]);
      break;
    }
  }
}

void ChangeShape(FuzzRandom& random, proto::TensorShapeProto* shape) {
  switch (random.Int(5)) {
    case 0:
      shape->clear_dim();
      shape->set_unknown_rank(random.OneIn(2));
      break;
    case 1:
      shape->set_unknown_rank(false);
      shape->add_dim()->set_size(random.Int(4) - 1);
      break;
    case 2:
      if (shape->dim_size() > 0) shape->mutable_dim()->RemoveLast();
      break;
    default:
      if (shape->dim_size() == 0) shape->add_dim();
      shape->set_unknown_rank(false);
      shape->mutable_dim(random.Int(shape->dim_size()))
          ->set_size(random.OneIn(3) ? HostileInt(random) : random.Int(5) - 1);
      break;
  }
}

template <typename List, typename Add>
void ChangeList(FuzzRandom& random, List* list, Add add) {
  switch (random.Int(6)) {
    case 0:
      list->Clear();
      break;
    case 1:
      if (!list->empty()) list->RemoveLast();
      break;
    case 2:
      for (uint64_t n = random.OneIn(20) ? 1000 : 1 + random.Below(3); n > 0; --n) add();
      break;
    case 3:
      if (list->size() > 1) list->SwapElements(0, list->size() - 1);
      break;
    default:
      if (!list->empty()) list->RemoveLast();
      add();
      if (list->size() > 1) list->SwapElements(random.Int(list->size()), list->size() - 1);
      break;
  }
}

bool ChangeListAttr(const AttrSpec& spec, FuzzRandom& random, proto::AttrValue* value) {
  proto::AttrValue::ListValue* const list = value->mutable_list();
  switch (ElementType(spec.type)) {
    case AttrType::kInt:
      ChangeList(random, list->mutable_i(),
                 [&] { list->add_i(random.OneIn(2) ? HostileInt(random) : random.Int(5) - 1); });
      return true;
    case AttrType::kFloat:
      ChangeList(random, list->mutable_f(), [&] { list->add_f(HostileFloat(random)); });
      return true;
    case AttrType::kBool:
      ChangeList(random, list->mutable_b(), [&] { list->add_b(random.OneIn(2)); });
      return true;
    case AttrType::kString:
      ChangeList(random, list->mutable_s(), [&] { list->add_s(random.OneIn(2) ? "" : "b"); });
      return true;
    case AttrType::kShape:
      ChangeList(random, list->mutable_shape(), [&] { ChangeShape(random, list->add_shape()); });
      return true;
    default:
      return false;
  }
}

}  // namespace

proto::TensorProto HostileTensorProto(DType type, FuzzRandom& random) {
  if (!IsTrivial(type) && type != DType::kString) type = DType::kFloat;
  const Tensor value = HostileTensor(type, HostileShape(random), kElementKinds[random.Below(3)], random);
  return ConstNodeDef("c", value).attr().at("value").tensor();
}

bool ChangeAttrValue(const AttrSpec& spec, FuzzRandom& random, proto::AttrValue* value) {
  if (value->value_case() == proto::AttrValue::kPlaceholder) return false;
  if (IsListType(spec.type)) return ChangeListAttr(spec, random, value);
  switch (spec.type) {
    case AttrType::kInt:
      value->set_i(random.OneIn(2) ? HostileInt(random) : random.Int(6) - 1);
      return true;
    case AttrType::kFloat:
      value->set_f(HostileFloat(random));
      return true;
    case AttrType::kBool:
      value->set_b(!value->b());
      return true;
    case AttrType::kString:
      ChangeText(spec, random, value->mutable_s());
      return true;
    case AttrType::kShape:
      ChangeShape(random, value->mutable_shape());
      return true;
    case AttrType::kTensor: {
      proto::TensorProto& tensor = *value->mutable_tensor();
      proto::TensorProto changed = HostileTensorProto(static_cast<DType>(tensor.dtype()), random);
      if (changed.dtype() != tensor.dtype()) return false;
      tensor = changed;
      return true;
    }
    default:
      return false;
  }
}

void DamageAttrValue(FuzzRandom& random, proto::AttrValue* value) {
  if (value->has_tensor() && !random.OneIn(3)) {
    proto::TensorProto& tensor = *value->mutable_tensor();
    switch (random.Int(4)) {
      case 0:
        ChangeShape(random, tensor.mutable_tensor_shape());
        break;
      case 1:
        tensor.mutable_tensor_content()->resize(random.Below(tensor.tensor_content().size() + 2));
        break;
      case 2:
        tensor.set_dtype(static_cast<proto::DataType>(random.Below(130)));
        break;
      default:
        tensor = HostileTensorProto(static_cast<DType>(1 + random.Int(23)), random);
        break;
    }
    return;
  }
  switch (random.Int(9)) {
    case 0:
      value->set_i(HostileInt(random));
      break;
    case 1:
      value->set_type(static_cast<proto::DataType>(random.OneIn(3) ? HostileInt(random) : random.Int(130)));
      break;
    case 2:
      value->set_s("text");
      break;
    case 3:
      value->clear_value();
      break;
    case 4:
      value->mutable_list()->add_type(static_cast<proto::DataType>(random.Int(24)));
      break;
    case 5:
      value->mutable_list()->Clear();
      break;
    case 6:
      value->set_placeholder(random.OneIn(2) ? "T" : "none");
      break;
    case 7:
      value->mutable_func()->set_name(random.OneIn(2) ? "Body" : "none");
      break;
    default:
      value->mutable_shape()->add_dim()->set_size(HostileInt(random));
      break;
  }
}

}  // namespace sluice
