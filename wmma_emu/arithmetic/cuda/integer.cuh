// SPDX-License-Identifier: MIT
// Exact integer sums, wrapped or clamped.

template <int WIDTH, bool IS_SIGNED>
FUNCTION int value_of(word bits) {
    return IS_SIGNED ? (int)(bits << (32 - WIDTH)) >> (32 - WIDTH) : (int)(bits << (32 - WIDTH) >> (32 - WIDTH));
}
FUNCTION int decode_a(word bits) { return value_of<A_BITS, A_IS_SIGNED>(bits); }
FUNCTION int decode_b(word bits) { return value_of<B_BITS, B_IS_SIGNED>(bits); }
FUNCTION Bits enter(word c) { return c; }
FUNCTION word leave(Bits running) { return running; }

// The exact total of an instruction, clamped once.
FUNCTION Bits clamp(Bits c, Bits sum) { return (Bits)min(max((long long)(int)c + (int)sum, SMALLEST), LARGEST); }

FUNCTION void take_step(const Panel &panel, int first, int thread, int position, Elements &e) {
    bool begins = position == 0, ends = position + TERMS == POSITIONS;
    int x[ROWS], y[COLUMNS];
    read(x, y, panel, first, thread);
    if constexpr (!CLAMPED) {
        EACH_ELEMENT e.running[i][j] += (Bits)(x[i] * y[j]);
    } else {
        EACH_ELEMENT {
            e.partial[i][j] = (begins ? 0u : e.partial[i][j]) + (Bits)(x[i] * y[j]);
            if (ends) e.running[i][j] = clamp(e.running[i][j], e.partial[i][j]);
        }
    }
}
