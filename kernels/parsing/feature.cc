#include "kernels/parsing/feature.h"

#include <algorithm>

#include "kernels/dispatch.h"

namespace sluice {
namespace {

using FeatureTypes = TypeList<int64_t, float, TString>;

constexpr uint8_t kPackedTag = ProtoCursor::BytesTag(1);
constexpr uint8_t kVarintTag = 1 << 3;
constexpr uint8_t kFixed32Tag = 1 << 3 | 5;

// The list in a Feature: what follows the tag that FindFeatureType has looked at.
bool OpenList(absl::string_view feature, absl::string_view* list) {
  if (feature.empty()) return false;
  feature.remove_prefix(1);
  return ProtoCursor(feature).TakeMessage(list);
}

// Each gives the values of a list to `sink`, in packed or plain form.

template <typename Sink>
bool ReadInts(absl::string_view list, Sink& sink) {
  ProtoCursor cursor(list);
  uint64_t value = 0;
  if (cursor.StandsAt(kPackedTag)) {
    absl::string_view packed;
    if (!cursor.TakeTag(kPackedTag) || !cursor.TakeMessage(&packed)) return false;
    ProtoCursor values(packed);
    while (!values.AtEnd()) {
      if (!values.TakeVarint(&value)) return false;
      sink.Put(static_cast<int64_t>(value));
    }
    return true;
  }
  while (!cursor.AtEnd()) {
    if (!cursor.TakeTag(kVarintTag) || !cursor.TakeVarint(&value)) return false;
    sink.Put(static_cast<int64_t>(value));
  }
  return true;
}

template <typename Sink>
bool ReadFloats(absl::string_view list, Sink& sink) {
  ProtoCursor cursor(list);
  if (cursor.StandsAt(kPackedTag)) {
    absl::string_view packed;
    if (!cursor.TakeTag(kPackedTag) || !cursor.TakeBytes(&packed)) return false;
    sink.PutFloats(packed.data(), packed.size() / sizeof(float));
    return true;
  }
  float value = 0;
  while (!cursor.AtEnd()) {
    if (!cursor.TakeTag(kFixed32Tag) || !cursor.TakeFixed(&value)) return false;
    sink.Put(value);
  }
  return true;
}

template <typename Sink>
bool ReadStrings(absl::string_view list, Sink& sink) {
  ProtoCursor cursor(list);
  absl::string_view value;
  while (!cursor.AtEnd()) {
    if (!cursor.TakeTag(kPackedTag) || !cursor.TakeBytes(&value)) return false;
    sink.Put(value);
  }
  return true;
}

template <typename Sink>
bool ReadValues(absl::string_view feature, DType dtype, Sink&& sink) {
  absl::string_view list;
  if (!OpenList(feature, &list)) return false;
  switch (dtype) {
    case DType::kInt64:
      return ReadInts(list, sink);
    case DType::kFloat:
      return ReadFloats(list, sink);
    default:
      return ReadStrings(list, sink);
  }
}

// Adds to the end of lists.
struct AppendSink {
  FeatureValues& values;

  void Put(int64_t value) { values.ints.push_back(value); }
  void Put(float value) { values.floats.push_back(value); }
  void Put(absl::string_view value) { values.strings.push_back(value); }
  void PutFloats(const char* bytes, size_t count) {
    const size_t begin = values.floats.size();
    values.floats.resize(begin + count);
    if (count > 0) std::memcpy(values.floats.data() + begin, bytes, count * sizeof(float));
  }
};

// Fills a part of a tensor; counts further values without storing them once that is full.
struct WriteSink {
  void* elements;
  size_t count;
  size_t found = 0;

  void Put(int64_t value) {
    if (found++ < count) static_cast<int64_t*>(elements)[found - 1] = value;
  }
  void Put(float value) {
    if (found++ < count) static_cast<float*>(elements)[found - 1] = value;
  }
  void Put(absl::string_view value) {
    if (found++ < count) static_cast<TString*>(elements)[found - 1].assign(value);
  }
  void PutFloats(const char* bytes, size_t more) {
    const size_t copied = std::min(more, count - std::min(found, count));
    if (copied > 0) std::memcpy(static_cast<float*>(elements) + found, bytes, copied * sizeof(float));
    found += more;
  }
};

}  // namespace

bool TakeMapEntry(ProtoCursor* cursor, absl::string_view* key, absl::string_view* value) {
  absl::string_view entry;
  if (!cursor->TakeMessage(&entry)) return false;
  ProtoCursor fields(entry);
  // Both fields stand there, in any order, and nothing else.
  for (int i = 0; i < 2; ++i) {
    const bool is_key = fields.StandsAt(ProtoCursor::BytesTag(1));
    if (!fields.TakeTag(ProtoCursor::BytesTag(is_key ? 1 : 2)) || !fields.TakeBytes(is_key ? key : value)) return false;
  }
  return fields.AtEnd();
}

bool ReadFeatures(absl::string_view message, std::vector<NamedFeature>* features) {
  ProtoCursor cursor(message);
  while (!cursor.AtEnd()) {
    NamedFeature next;
    if (!cursor.TakeTag(ProtoCursor::BytesTag(1)) || !TakeMapEntry(&cursor, &next.name, &next.feature)) return false;
    features->push_back(next);
  }
  return true;
}

bool ReadExample(absl::string_view example, std::vector<NamedFeature>* features) {
  features->clear();
  ProtoCursor cursor(example);
  while (!cursor.AtEnd()) {
    if (!cursor.StandsAt(ProtoCursor::BytesTag(1))) {
      if (!cursor.SkipField()) return false;
      continue;
    }
    absl::string_view message;
    if (!cursor.TakeTag(ProtoCursor::BytesTag(1)) || !cursor.TakeMessage(&message)) return false;
    if (!ReadFeatures(message, features)) return false;
  }
  return true;
}

bool FindFeatureType(absl::string_view feature, DType* type) {
  *type = DType::kInvalid;
  if (feature.empty()) return true;
  switch (static_cast<uint8_t>(feature.front())) {
    case ProtoCursor::BytesTag(1):
      *type = DType::kString;
      return true;
    case ProtoCursor::BytesTag(2):
      *type = DType::kFloat;
      return true;
    case ProtoCursor::BytesTag(3):
      *type = DType::kInt64;
      return true;
    default:
      return false;
  }
}

bool AppendValues(absl::string_view feature, DType dtype, FeatureValues* values) {
  return ReadValues(feature, dtype, AppendSink{*values});
}

bool WriteValues(absl::string_view feature, Tensor* to, size_t begin, size_t count, size_t* found) {
  WriteSink sink{static_cast<char*>(to->mutable_raw_data()) + begin * DTypeSize(to->dtype()), count};
  const bool is_good = ReadValues(feature, to->dtype(), sink);
  *found = sink.found;
  return is_good;
}

void CopySomeValues(const FeatureValues& values, size_t first, size_t count, Tensor* to, size_t begin) {
  const auto copy = [&](const auto& from, auto out) {
    const auto source = from.begin() + static_cast<std::ptrdiff_t>(first);
    std::copy(source, source + static_cast<std::ptrdiff_t>(count), out.begin() + begin);
  };
  switch (to->dtype()) {
    case DType::kInt64:
      return copy(values.ints, to->flat<int64_t>());
    case DType::kFloat:
      return copy(values.floats, to->flat<float>());
    default:
      return copy(values.strings, to->flat<TString>());
  }
}

void CopyValues(const FeatureValues& values, Tensor* to, size_t begin) {
  CopySomeValues(values, 0, values.size(to->dtype()), to, begin);
}

void FillElements(const Tensor& from, size_t i, Tensor* to, size_t begin, size_t count) {
  DispatchDType<FeatureTypes>(to->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    std::fill_n(to->flat<T>().begin() + begin, count, from.flat<T>()[i]);
  });
}

void ClearElements(Tensor* to, size_t begin, size_t count) {
  if (to->dtype() == DType::kString || count == 0) return;  // New strings are empty.
  const size_t size = DTypeSize(to->dtype());
  std::memset(static_cast<char*>(to->mutable_raw_data()) + begin * size, 0, count * size);
}

void CopyElements(const Tensor& from, Tensor* to, size_t begin) {
  DispatchDType<FeatureTypes>(to->dtype(), [&](auto type) {
    using T = typename decltype(type)::Type;
    const absl::Span<const T> source = from.flat<T>();
    std::copy(source.begin(), source.end(), to->flat<T>().begin() + begin);
  });
}

}  // namespace sluice
