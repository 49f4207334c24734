// SPDX-License-Identifier: MIT
// Population counts of a bitwise operation, added to c and wrapped.

FUNCTION int decode_a(word bits) { return bits & 1; }
FUNCTION int decode_b(word bits) { return bits & 1; }
FUNCTION Bits enter(word c) { return c; }
FUNCTION word leave(Bits running) { return running; }
FUNCTION int combine_bits(int a, int b) { return EXCLUSIVE ? a ^ b : a & b; }

FUNCTION void take_step(const Panel &panel, int first, int thread, int position, Elements &e) {
    int x[ROWS], y[COLUMNS];
    read(x, y, panel, first, thread);
    EACH_ELEMENT e.running[i][j] += (Bits)combine_bits(x[i], y[j]);
}
