// SPDX-License-Identifier: MIT
// Chains of fused multiply-adds over ascending k, each rounded once, by the GPU: exact by IEEE 754. CuPy compiles
// with subnormal numbers flushed, which does not affect the functions named `ieee` and those of 64 bits.

#ifdef CONVERTS
FUNCTION Bits decode_a(word bits) { return convert<FormatOfA, Chain>(bits); }
FUNCTION Bits decode_b(word bits) { return convert<FormatOfB, Chain>(bits); }
FUNCTION Bits enter(word c) { return convert<FormatOfC, Chain>(c); }
FUNCTION word leave(Bits running) { return convert<Chain, FormatOfD>(running); }
#else
FUNCTION Bits decode_a(Bits bits) { return bits; }
FUNCTION Bits decode_b(Bits bits) { return bits; }
FUNCTION Bits enter(Bits c) { return c; }
FUNCTION Bits leave(Bits running) { return running; }
#endif

FUNCTION bool is_nan(Bits x) { return (x & ~SIGN_MASK) > INFINITY_BITS; }
FUNCTION Bits canonical(Bits x) { return is_nan(x) ? CANONICAL_NAN : x; }

// The NaN of units that propagate it: the first among b, c, a, made quiet.
FUNCTION Bits propagated(Bits a, Bits b, Bits c) {
    return is_nan(b) ? b | QUIET_BIT : is_nan(c) ? c | QUIET_BIT : is_nan(a) ? a | QUIET_BIT : CANONICAL_NAN;
}

FUNCTION Bits fma(Bits a, Bits b, Bits c) {
    Bits d = (Bits)PATTERN(FUSED_MULTIPLY_ADD(VALUE(a), VALUE(b), VALUE(c)));
    return !is_nan(d) ? d : NAN_PROPAGATES ? propagated(a, b, c) : CANONICAL_NAN;
}

// To nearest. Adding -0 changes nothing, not even the sign of a zero.
FUNCTION Bits mul(Bits a, Bits b) { return canonical((Bits)PATTERN(NEAREST_MULTIPLY_ADD(VALUE(a), VALUE(b), -0.0f))); }
FUNCTION Bits add(Bits a, Bits b) { return canonical((Bits)PATTERN(NEAREST_MULTIPLY_ADD(1.0f, VALUE(a), VALUE(b)))); }

// A 64-bit number occupies two planes. Each shift is split in two, because no shift may be as wide as the number.
template <class Lines>
FUNCTION void write(Lines &lines, int k, int place, Bits x) {
    _Pragma("unroll") for (int plane = 0; plane < WORDS; ++plane)
        lines[plane][k][place] = (int)(x >> 16 * plane >> 16 * plane);
}

template <int COUNT, class Lines>
FUNCTION void read(Bits (&values)[COUNT], const Lines &lines, int k, int first) {
    _Pragma("unroll") for (int i = 0; i < COUNT; ++i) values[i] = 0;
    _Pragma("unroll") for (int plane = 0; plane < WORDS; ++plane) {
        int part[COUNT];
        read_four(part, lines[plane][k], first);
        _Pragma("unroll") for (int i = 0; i < COUNT; ++i)
            values[i] |= (Bits)(word)part[i] << 16 * plane << 16 * plane;
    }
}

FUNCTION void take_step(const Panel &panel, int first, int thread, int position, Elements &e) {
    bool begins = position == 0, ends = position + TERMS == POSITIONS;
    if (begins && !C_IN_FIRST_STEP) EACH_ELEMENT e.partial[i][j] = 0;
    _Pragma("unroll") for (int k = 0; k < TERMS; ++k) {
        Bits x[ROWS], y[COLUMNS];
        read(x, panel.a, first + k, row_of(thread, 0));
        read(y, panel.b, first + k, column_of(thread, 0));
        EACH_ELEMENT {
            if (C_IN_FIRST_STEP) e.running[i][j] = fma(x[i], y[j], e.running[i][j]);
            else if (C_AFTER_EACH_STEP && k == 0) e.partial[i][j] = mul(x[i], y[j]);
            else e.partial[i][j] = fma(x[i], y[j], e.partial[i][j]);
        }
    }
    if (C_AFTER_EACH_STEP || (ends && !C_IN_FIRST_STEP))
        EACH_ELEMENT e.running[i][j] = add(e.running[i][j], e.partial[i][j]);
}
