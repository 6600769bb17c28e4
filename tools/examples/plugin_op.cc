// A plug-in: a shared library with an op of its own - schema, shape function, gradient, kernel. Needs five headers of
// Sluice (plugin_op.h includes the others) and no library:
//
//   g++ -std=c++17 -O2 -shared -fPIC -fvisibility=hidden -I. tools/examples/plugin_op.cc -o libplugin_op.so
//   tools/sluice run graph.pbtxt --plugin libplugin_op.so --feed "x=[1,2,3]" --fetch y

#include "kernels/plugin/plugin_op.h"

#include <cmath>

namespace {

using sluice_op::Call;
using sluice_op::Gradients;
using sluice_op::Node;
using sluice_op::Shapes;
using sluice_op::Value;

// y = x * sigmoid(slope * x), in the memory of x where nothing else needs that.
class Swish {
 public:
  explicit Swish(Node& node) : slope_(node.Attr<float>("slope")) {}

  void Compute(Call& call) const {
    const auto x = call.input<float>(0);
    const auto y = call.Forward<float>(0, x.dims(), {0});
    call.ParallelFor(x.size(), /*unit_ns=*/10, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] / (1 + std::exp(-slope_ * x[i]));
    });
  }

 private:
  const float slope_;
};

void SwishShape(Node&, Shapes& shapes) { shapes.Pass(0, 0); }

// s + slope * y * (1 - s), where s = sigmoid(slope * x): as nodes of the graph.
void SwishGradient(Node& node, Gradients& g) {
  const float slope = node.Attr<float>("slope");
  const Value s = g.Op("Sigmoid", {g.Input(0) * slope});
  g.Set(0, g.Dy() * (s + g.Output() * slope * (1 - s)));
}

void Add(sluice_op::Registration& registration) {
  registration.Add(sluice_op::Op("Swish")
                       .Input("x: float")
                       .Output("y: float")
                       .Attr("slope: float = 1")
                       .Shapes<&SwishShape>()
                       .Gradient<&SwishGradient>());
  registration.Add(sluice_op::Kernel<Swish>("Swish"));
}

}  // namespace

SLUICE_PLUGIN("swish", "1.0", Add)
