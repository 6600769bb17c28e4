#ifndef SLUICE_TESTS_GRAPH_IR_FIXED_ORDER_H_
#define SLUICE_TESTS_GRAPH_IR_FIXED_ORDER_H_

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/message_lite.h>

#include <string>

#include "graph/base/check.h"

namespace sluice {

// The bytes of `message`, the same for equal messages and in every run: entries of maps in the order of their keys.
inline std::string InFixedOrder(const google::protobuf::MessageLite& message) {
  std::string bytes;
  google::protobuf::io::StringOutputStream stream(&bytes);
  google::protobuf::io::CodedOutputStream out(&stream);
  out.SetSerializationDeterministic(true);
  SLUICE_CHECK(message.SerializeToCodedStream(&out));
  out.Trim();
  return bytes;
}

}  // namespace sluice

#endif  // SLUICE_TESTS_GRAPH_IR_FIXED_ORDER_H_
