#ifndef SLUICE_KERNELS_PLUGIN_PLUGIN_OP_GRADIENTS_H_
#define SLUICE_KERNELS_PLUGIN_PLUGIN_OP_GRADIENTS_H_

// The arguments of gradient functions of plugin_op.h: values as formulas, each operator a node.
//
//   void TwiceGradient(Node&, Gradients& g) { g.Set(0, g.Dy() * 2); }
//
// Objects of Sluice: valid during the call, on one thread. Functions throw Failure.

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "kernels/plugin/plugin_api.h"
#include "kernels/plugin/plugin_op_values.h"

namespace sluice_op {

// A value of the graph in which a gradient is made.
class Value {
 public:
  Value(SluiceGradients* gradients, SluiceValue id) : gradients_(gradients), id_(id) {}
  SluiceGradients* gradients() const { return gradients_; }
  SluiceValue id() const { return id_; }
  // Output `i` of the node that this is an output of.
  Value out(int i) const {
    SluiceValue sibling = 0;
    Check(api->sibling_of(gradients_, id_, i, &sibling));
    return {gradients_, sibling};
  }

 private:
  SluiceGradients* gradients_;
  SluiceValue id_;
};

// An attr of a node to add.
class NodeAttr {
 public:
  NodeAttr(std::string name, int64_t value) : name_(std::move(name)), kind_(SLUICE_ATTR_INT), ints_{value} {}
  NodeAttr(std::string name, float value) : name_(std::move(name)), kind_(SLUICE_ATTR_FLOAT), float_(value) {}
  NodeAttr(std::string name, bool value) : name_(std::move(name)), kind_(SLUICE_ATTR_BOOL), number_(value ? 1 : 0) {}
  NodeAttr(std::string name, Type value)
      : name_(std::move(name)), kind_(SLUICE_ATTR_TYPE), type_(static_cast<int32_t>(value)) {}
  NodeAttr(std::string name, std::string value)
      : name_(std::move(name)), kind_(SLUICE_ATTR_STRING), text_(std::move(value)) {}
  NodeAttr(std::string name, const char* value) : NodeAttr(std::move(name), std::string(value)) {}
  NodeAttr(std::string name, std::vector<int64_t> list)
      : name_(std::move(name)), kind_(SLUICE_ATTR_INT + SLUICE_ATTR_LIST), ints_(std::move(list)) {}

  // Borrows this.
  SluiceNamedAttr attr() const {
    string_ = {text_.data(), text_.size()};
    switch (kind_) {
      case SLUICE_ATTR_FLOAT:
        return {name_.c_str(), kind_, {&float_, 1}};
      case SLUICE_ATTR_BOOL:
        return {name_.c_str(), kind_, {&number_, 1}};
      case SLUICE_ATTR_TYPE:
        return {name_.c_str(), kind_, {&type_, 1}};
      case SLUICE_ATTR_STRING:
        return {name_.c_str(), kind_, {&string_, 1}};
      default:
        return {name_.c_str(), kind_, {ints_.data(), static_cast<int64_t>(ints_.size())}};
    }
  }

 private:
  std::string name_;
  int32_t kind_;
  std::vector<int64_t> ints_;
  float float_ = 0;
  uint8_t number_ = 0;
  int32_t type_ = 0;
  std::string text_;
  mutable SluiceString string_{};
};

// Adds a node of any op; type attrs that follow from the inputs need not be given. Gives output 0.
inline Value AddOp(SluiceGradients* gradients, const char* op, std::initializer_list<Value> inputs,
                   const std::vector<NodeAttr>& attrs = {}) {
  std::vector<SluiceValue> ids;
  for (const Value& input : inputs) ids.push_back(input.id());
  std::vector<SluiceNamedAttr> given;
  for (const NodeAttr& attr : attrs) given.push_back(attr.attr());
  SluiceValue made = 0;
  Check(api->gradient_op(gradients, op, ids.data(), static_cast<int32_t>(ids.size()), given.data(),
                         static_cast<int32_t>(given.size()), &made));
  return {gradients, made};
}

// A scalar of the type of `like`.
inline Value Number(const Value& like, double number) {
  SluiceValue made = 0;
  Check(api->gradient_number(like.gradients(), like.id(), number, &made));
  return {like.gradients(), made};
}

inline Value operator+(const Value& a, const Value& b) { return AddOp(a.gradients(), "AddV2", {a, b}); }
inline Value operator-(const Value& a, const Value& b) { return AddOp(a.gradients(), "Sub", {a, b}); }
inline Value operator*(const Value& a, const Value& b) { return AddOp(a.gradients(), "Mul", {a, b}); }
inline Value operator/(const Value& a, const Value& b) { return AddOp(a.gradients(), "RealDiv", {a, b}); }
inline Value operator-(const Value& a) { return AddOp(a.gradients(), "Neg", {a}); }
inline Value operator+(const Value& a, double b) { return a + Number(a, b); }
inline Value operator-(const Value& a, double b) { return a - Number(a, b); }
inline Value operator*(const Value& a, double b) { return a * Number(a, b); }
inline Value operator/(const Value& a, double b) { return a / Number(a, b); }
inline Value operator+(double a, const Value& b) { return Number(b, a) + b; }
inline Value operator-(double a, const Value& b) { return Number(b, a) - b; }
inline Value operator*(double a, const Value& b) { return Number(b, a) * b; }
inline Value operator/(double a, const Value& b) { return Number(b, a) / b; }

// The gradients around one node.
class Gradients {
 public:
  explicit Gradients(SluiceGradients* handle) : handle_(handle) {}
  // Whether the gradient of input `i` is asked for; whether output `i` has one.
  bool Wants(int i) const { return api->wants_gradient(handle_, i) != 0; }
  bool HasDy(int i = 0) const { return api->has_dy(handle_, i) != 0; }
  Value Input(int i) const { return Get(api->input_of, i); }
  Value Output(int i = 0) const { return Get(api->output_of, i); }
  // The gradient of output `i`; zeros if it has no gradient.
  Value Dy(int i = 0) const { return Get(api->dy_of, i); }
  Value Op(const char* op, std::initializer_list<Value> inputs, const std::vector<NodeAttr>& attrs = {}) const {
    return AddOp(handle_, op, inputs, attrs);
  }
  // The gradient of input `i`, of its type and shape. Inputs that are not set have no gradient.
  void Set(int i, const Value& value) const { Check(api->set_gradient(handle_, i, value.id())); }
  SluiceGradients* handle() const { return handle_; }

 private:
  Value Get(SluiceStatus* (*function)(SluiceGradients*, int32_t, SluiceValue*), int i) const {
    SluiceValue value = 0;
    Check(function(handle_, i, &value));
    return {handle_, value};
  }

  SluiceGradients* handle_;
};

}  // namespace sluice_op

#endif  // SLUICE_KERNELS_PLUGIN_PLUGIN_OP_GRADIENTS_H_
