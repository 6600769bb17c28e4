#ifndef SLUICE_KERNELS_PARSING_FEATURE_H_
#define SLUICE_KERNELS_PARSING_FEATURE_H_

// tf.train.Example and Feature, read from their bytes without copies.

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/value/dtype.h"
#include "graph/value/tensor.h"
#include "graph/value/tstring.h"
#include "kernels/parsing/proto_cursor.h"

namespace sluice {

// A named list of values in an Example. Borrows the message.
struct NamedFeature {
  absl::string_view name;
  absl::string_view feature;  // A Feature message.
};

// The features of an Example, in the order of the file; the last one of a name counts. False where the bytes are not
// one.
bool ReadExample(absl::string_view example, std::vector<NamedFeature>* features);

// The entries of a Features message (field 1 of Example), added to `*features`.
bool ReadFeatures(absl::string_view message, std::vector<NamedFeature>* features);
// The key and the value of a map entry whose length was not yet taken.
bool TakeMapEntry(ProtoCursor* cursor, absl::string_view* key, absl::string_view* value);

// Values of one feature of several examples, or of one: only the list of its dtype is used.
struct FeatureValues {
  std::vector<int64_t> ints;
  std::vector<float> floats;
  std::vector<absl::string_view> strings;  // Views of the serialized examples.
  std::vector<size_t> ends;                // How many values there are after each example.

  size_t size(DType dtype) const {
    return dtype == DType::kInt64 ? ints.size() : dtype == DType::kFloat ? floats.size() : strings.size();
  }
};

// What kind of list a Feature holds: kInt64, kFloat, kString, or kInvalid for none. False for another field.
bool FindFeatureType(absl::string_view feature, DType* type);

// Adds the values of a Feature of `dtype`, which FindFeatureType has given, to `*values`. False where it is malformed.
bool AppendValues(absl::string_view feature, DType dtype, FeatureValues* values);

// Writes the values of a Feature to elements [begin, begin + count) of `to`, and counts them in `*found`, those too
// that are beyond. False where it is malformed.
bool WriteValues(absl::string_view feature, Tensor* to, size_t begin, size_t count, size_t* found);

// Copies `values` to elements [begin, ...) of `to`, whose dtype says which list.
void CopyValues(const FeatureValues& values, Tensor* to, size_t begin);
// Copies `count` of the values from `first` on.
void CopySomeValues(const FeatureValues& values, size_t first, size_t count, Tensor* to, size_t begin);
// Writes element `i` of `from` to all of [begin, begin + count) of `to`.
void FillElements(const Tensor& from, size_t i, Tensor* to, size_t begin, size_t count);
// Writes zeros or empty strings to [begin, begin + count) of `to`.
void ClearElements(Tensor* to, size_t begin, size_t count);
// Writes all elements of `from` to `to` from `begin` on.
void CopyElements(const Tensor& from, Tensor* to, size_t begin);

}  // namespace sluice

#endif  // SLUICE_KERNELS_PARSING_FEATURE_H_
