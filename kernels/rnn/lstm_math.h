#ifndef SLUICE_KERNELS_RNN_LSTM_MATH_H_
#define SLUICE_KERNELS_RNN_LSTM_MATH_H_

#include <cstdint>

namespace sluice {

// The element-by-element part of an LSTM cell, row by row of a batch. All pointers are to rows of `cells` floats,
// gates to rows of four times as many.

// What an LSTM's attrs say. A value type.
struct LstmForm {
  float forget_bias = 0;
  float clip = 0;  // Of the cell state; not clipped where it is not above 0.
  bool has_peephole = false;
  bool is_ifco =
      false;  // The order of gates in weights: input, forget, cell, output; else input, cell, forget, output.

  int64_t cell_gate() const { return is_ifco ? 2 : 1; }
  int64_t forget_gate() const { return is_ifco ? 1 : 2; }
};

// Weights that are vectors: four gates' bias, and three peepholes, used only where the form has one.
struct LstmVectors {
  const float* wci;
  const float* wcf;
  const float* wco;
  const float* b;
};

// The rows that one step keeps.
struct LstmRow {
  float* i;
  float* cs;
  float* f;
  float* o;
  float* ci;
  float* co;
  float* h;
};

// One step forward: gates are the sums of `x_gates`, `h_gates` and the bias.
void LstmForwardRow(const LstmForm& form, const LstmVectors& vectors, int64_t cells, const float* x_gates,
                    const float* h_gates, const float* cs_prev, const LstmRow& row);

// What a step back starts from.
struct LstmBackInputs {
  const float *cs_prev, *i, *cs, *f, *o, *ci, *co;
  const float* cs_grad;
  const float* h_grad;
  const float* next_cs_grad;  // Added to cs_grad. Null: none.
  const float* next_h_grad;   // Added to h_grad. Null: none.
};

// One step back: the gradients of the gates, in the order of the form, and of the cell state before. `cs_prev_grad` may
// be next_cs_grad.
void LstmBackwardRow(const LstmForm& form, const LstmVectors& vectors, int64_t cells, const LstmBackInputs& inputs,
                     float* gate_grads, float* cs_prev_grad);

// Adds what a row gives to the gradients of the peepholes.
void AddPeepholeGrads(const LstmForm& form, int64_t cells, const float* gate_grads, const float* cs_prev,
                      const float* cs, float* wci_grad, float* wcf_grad, float* wco_grad);

// to[i] += from[i].
void AddFloats(const float* from, int64_t n, float* to);

}  // namespace sluice

#endif  // SLUICE_KERNELS_RNN_LSTM_MATH_H_
