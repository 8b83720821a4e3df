// Cells of lstm and gru, and their gradients: what lies between the products of a step. D: dtype. Work items have a unit of an
// example each, of `examples` x `units`; a row of y[B,T,U] is y_row elements behind the last, of gates[B,T,4U] 4 of it.
typedef WIDE(D) W;

#define INPUT(name) const __global STORED(D)* name = POINTER(const STORED(D), name)
#define RESULT(name) __global STORED(D)* name = POINTER(STORED(D), name)
#define EACH_UNIT(i, b, u)            \
  EACH(i, examples * units) {         \
    const ulong b = i / units, u = i % units;
#define SIGMOID(x) (1 / (1 + exp(-(x))))

// z, the sums in gates' place, become i f g o; c and y those after the step.
__kernel void lstm_cell(MEM(gates), MEM(y), MEM(to_cell), MEM(cell), ulong examples, ulong units, ulong y_row) {
  RESULT(gates);
  INPUT(cell);
  RESULT(y);
  RESULT(to_cell);
  EACH_UNIT(k, b, u)
    __global STORED(D)* z = gates + b * y_row * 4 + u;
    const W i = SIGMOID(z[0]), f = SIGMOID(z[units]), g = tanh(z[2 * units]), o = SIGMOID(z[3 * units]);
    const W c = f * cell[k] + i * g;
    z[0] = i, z[units] = f, z[2 * units] = g, z[3 * units] = o;
    to_cell[k] = c;
    y[b * y_row + u] = o * tanh(c);
  }
}

// The cell after each step, [T,B,U], from that before the first.
__kernel void lstm_cells(MEM(cells), MEM(cell), MEM(gates), ulong examples, ulong units, ulong y_row) {
  RESULT(cells);
  INPUT(cell);
  INPUT(gates);
  EACH_UNIT(k, b, u)
    W c = cell[k];
    for (ulong t = 0; t < y_row / units; ++t) {
      const __global STORED(D)* of_step = gates + (b * y_row + t * units) * 4 + u;
      c = of_step[units] * c + of_step[0] * of_step[2 * units];
      cells[t * examples * units + k] = c;
    }
  }
}

// dz of a step, and what goes to the cell before. has_dh: there is a later step.
__kernel void lstm_cell_grad(MEM(dz), MEM(to_dc), MEM(dy), MEM(dh), MEM(dc), MEM(cell), MEM(before), MEM(gates),
                             ulong examples, ulong units, ulong y_row, int has_dh) {
  RESULT(dz);
  RESULT(to_dc);
  INPUT(dy);
  INPUT(dh);
  INPUT(dc);
  INPUT(cell);
  INPUT(before);
  INPUT(gates);
  EACH_UNIT(k, b, u)
    const __global STORED(D)* of_step = gates + b * y_row * 4 + u;
    const W i = of_step[0], f = of_step[units], g = of_step[2 * units], o = of_step[3 * units];
    const W to_y = dy[b * y_row + u] + (has_dh ? dh[k] : 0), out = tanh(cell[k]);
    const W to_c = dc[k] + to_y * o * (1 - out * out);
    __global STORED(D)* to = dz + b * y_row * 4 + u;
    to[0] = to_c * g * i * (1 - i);
    to[units] = to_c * before[k] * f * (1 - f);
    to[2 * units] = to_c * i * (1 - g * g);
    to[3 * units] = to_y * out * o * (1 - o);
    to_dc[k] = to_c * f;
  }
}

// sums: h R + rb [B,3U]; x: x W + b of the step, rows of 3 y_row. before: rows of before_row.
__kernel void gru_cell(MEM(gates), MEM(y), MEM(x), MEM(sums), MEM(before), ulong examples, ulong units, ulong y_row,
                       ulong before_row) {
  RESULT(gates);
  RESULT(y);
  INPUT(x);
  INPUT(sums);
  INPUT(before);
  EACH_UNIT(k, b, u)
    const __global STORED(D)*in = x + b * y_row * 3 + u, *rec = sums + b * units * 3 + u;
    const W z = SIGMOID(in[0] + rec[0]), r = SIGMOID(in[units] + rec[units]), q = rec[2 * units];
    const W n = tanh(in[2 * units] + r * q);
    __global STORED(D)* to = gates + b * y_row * 4 + u;
    to[0] = z, to[units] = r, to[2 * units] = n, to[3 * units] = q;
    y[b * y_row + u] = n + z * (before[b * before_row + u] - n);
  }
}

// dz, drec: rows of 3 y_row; to_dh: the part of the gradient that goes straight to the state before.
__kernel void gru_cell_grad(MEM(dz), MEM(drec), MEM(to_dh), MEM(dy), MEM(dh), MEM(before), MEM(gates), ulong examples,
                            ulong units, ulong y_row, int has_dh) {
  RESULT(dz);
  RESULT(drec);
  RESULT(to_dh);
  INPUT(dy);
  INPUT(dh);
  INPUT(before);
  INPUT(gates);
  EACH_UNIT(k, b, u)
    const __global STORED(D)* of_step = gates + b * y_row * 4 + u;
    const W z = of_step[0], r = of_step[units], n = of_step[2 * units], q = of_step[3 * units];
    const W to_y = dy[b * y_row + u] + (has_dh ? dh[k] : 0);
    const W for_z = to_y * (before[b * y_row + u] - n) * z * (1 - z), for_n = to_y * (1 - z) * (1 - n * n);
    const W for_r = for_n * q * r * (1 - r);
    __global STORED(D)*to = dz + b * y_row * 3 + u, *to_rec = drec + b * y_row * 3 + u;
    to[0] = to_rec[0] = for_z, to[units] = to_rec[units] = for_r;
    to[2 * units] = for_n, to_rec[2 * units] = for_n * r;
    to_dh[k] = to_y * z;
  }
}

// The states that the steps started from, [B,T,U]: h, then y's but the last.
__kernel void states_before(MEM(before), MEM(h), MEM(y), ulong examples, ulong units, ulong y_row) {
  RESULT(before);
  INPUT(h);
  INPUT(y);
  EACH(i, examples * y_row) {
    const ulong b = i / y_row, at = i % y_row;
    before[i] = at < units ? h[b * units + at] : y[i - units];
  }
}
