#include "kernels/rnn/lstm_math.h"

#include "kernels/math/float_math.h"

namespace sluice {
namespace {

using float_math::Sigmoid;
using float_math::Tanh;

// Loops below are cut into blocks whose intermediate results stay in the first-level cache.
constexpr int64_t kBlock = 256;

// to = x + h + b, and + weight * state where there is a peephole.
void Gate(const float* x, const float* h, const float* b, const float* weight, const float* state, int64_t n,
          float* to) {
  for (int64_t k = 0; k < n; ++k) to[k] = x[k] + h[k] + b[k];
  if (weight == nullptr) return;
  for (int64_t k = 0; k < n; ++k) to[k] += weight[k] * state[k];
}

void ApplySigmoid(float* x, int64_t n) {
  for (int64_t k = 0; k < n; ++k) x[k] = Sigmoid(x[k]);
}
void ApplyTanh(const float* x, int64_t n, float* to) {
  for (int64_t k = 0; k < n; ++k) to[k] = Tanh(x[k]);
}

}  // namespace

void LstmForwardRow(const LstmForm& form, const LstmVectors& v, int64_t cells, const float* x_gates,
                    const float* h_gates, const float* cs_prev, const LstmRow& row) {
  const int64_t ci_at = form.cell_gate() * cells, f_at = form.forget_gate() * cells, o_at = 3 * cells;
  for (int64_t at = 0; at < cells; at += kBlock) {
    const int64_t n = cells - at < kBlock ? cells - at : kBlock;
    const auto gate = [&](int64_t first, const float* weight, const float* state, float* to) {
      const float* const peephole = form.has_peephole && weight != nullptr ? weight + at : nullptr;
      Gate(x_gates + first + at, h_gates + first + at, v.b + first + at, peephole, state, n, to);
    };
    float *const i = row.i + at, *const cs = row.cs + at, *const f = row.f + at, *const o = row.o + at,
                 *const ci = row.ci + at, *const co = row.co + at, *const h = row.h + at;
    const float* const before = cs_prev + at;
    gate(0, v.wci, before, i);
    ApplySigmoid(i, n);
    gate(f_at, v.wcf, before, f);
    for (int64_t k = 0; k < n; ++k) f[k] += form.forget_bias;
    ApplySigmoid(f, n);
    gate(ci_at, nullptr, nullptr, ci);
    ApplyTanh(ci, n, ci);
    for (int64_t k = 0; k < n; ++k) cs[k] = ci[k] * i[k] + before[k] * f[k];
    if (form.clip > 0) {
      const float most = form.clip;
      for (int64_t k = 0; k < n; ++k) cs[k] = cs[k] < -most ? -most : cs[k] > most ? most : cs[k];
    }
    gate(o_at, v.wco, cs, o);
    ApplySigmoid(o, n);
    ApplyTanh(cs, n, co);
    for (int64_t k = 0; k < n; ++k) h[k] = o[k] * co[k];
  }
}

void LstmBackwardRow(const LstmForm& form, const LstmVectors& v, int64_t cells, const LstmBackInputs& in,
                     float* gate_grads, float* cs_prev_grad) {
  float* const di = gate_grads;
  float* const dci = gate_grads + form.cell_gate() * cells;
  float* const df = gate_grads + form.forget_gate() * cells;
  float* const dout = gate_grads + 3 * cells;
  for (int64_t k = 0; k < cells; ++k) {
    const float i = in.i[k], f = in.f[k], o = in.o[k], ci = in.ci[k], co = in.co[k];
    const float dh = in.h_grad[k] + (in.next_h_grad != nullptr ? in.next_h_grad[k] : 0.0f);
    const float cs_grad = in.cs_grad[k] + (in.next_cs_grad != nullptr ? in.next_cs_grad[k] : 0.0f);
    const float d_o = o * (1 - o) * dh * co;
    float dcs = (1 - co * co) * dh * o + cs_grad;
    if (form.has_peephole) dcs += d_o * v.wco[k];
    const float d_ci = (1 - ci * ci) * dcs * i;
    const float d_f = f * (1 - f) * dcs * in.cs_prev[k];
    const float d_i = i * (1 - i) * dcs * ci;
    float before = dcs * f;
    if (form.has_peephole) before += d_i * v.wci[k] + d_f * v.wcf[k];
    dout[k] = d_o;
    dci[k] = d_ci;
    df[k] = d_f;
    di[k] = d_i;
    cs_prev_grad[k] = before;
  }
}

void AddPeepholeGrads(const LstmForm& form, int64_t cells, const float* gate_grads, const float* cs_prev,
                      const float* cs, float* wci_grad, float* wcf_grad, float* wco_grad) {
  const float* const df = gate_grads + form.forget_gate() * cells;
  const float* const dout = gate_grads + 3 * cells;
  for (int64_t k = 0; k < cells; ++k) wci_grad[k] += gate_grads[k] * cs_prev[k];
  for (int64_t k = 0; k < cells; ++k) wcf_grad[k] += df[k] * cs_prev[k];
  for (int64_t k = 0; k < cells; ++k) wco_grad[k] += dout[k] * cs[k];
}

void AddFloats(const float* from, int64_t n, float* to) {
  for (int64_t i = 0; i < n; ++i) to[i] += from[i];
}

}  // namespace sluice
