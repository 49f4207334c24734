// SPDX-License-Identifier: MIT
// Aligned sums: each function matches the one with the same name in wmma_emu/arithmetic/reference.py.

// An operand in the unit's form. The exponent of zeros is below all others, so that a sum with one is never the
// largest; the exponents of infinities and NaN are above all others, so that the largest exponent reveals them.
struct Operand {
    int significand;  // signed; for A shifted left by PRODUCT_LEFT
    int exponent;
    int sign;  // 0 or -1
};
constexpr int ZERO_EXPONENT = -(1 << 16), SPECIAL = 1 << 19, INFINITY_EXPONENT = 1 << 20, NAN_EXPONENT = 1 << 21;

template <class Format>
FUNCTION int exponent_of(Unpacked x) {
    return x.kind == IS_FINITE ? x.exponent : x.kind == IS_ZERO ? ZERO_EXPONENT
         : x.kind == IS_INFINITY ? INFINITY_EXPONENT : NAN_EXPONENT;
}

template <class Given, class Format, int SHIFT>
FUNCTION Operand decode(word bits) {
    Unpacked x = unpack<Format>(convert<Given, Format>(bits));
    int significand = x.kind == IS_FINITE ? (int)(x.significand << SHIFT) : 0;
    return {x.sign ? -significand : significand, exponent_of<Format>(x), -x.sign};
}

FUNCTION Operand decode_a(word bits) { return decode<FormatOfA, Left, PRODUCT_LEFT>(bits); }
FUNCTION Operand decode_b(word bits) { return decode<FormatOfB, Right, 0>(bits); }
FUNCTION Bits enter(word c) { return convert<FormatOfC, Accumulator>(c); }
FUNCTION word leave(Bits running) { return convert<Accumulator, FormatOfD>(running); }

// The initial value, before any product: the exponent of c, but at least the unit's floor.
FUNCTION int alignment_exponent(Bits c) {
    return max(exponent_of<Accumulator>(unpack<Accumulator>(c)), MIN_EXPONENT);
}
FUNCTION int alignment_exponent(int largest, int exponent_a, int exponent_b) {
    return max(exponent_a + exponent_b, largest);
}

// A product, truncated. Shifting a negative product would round down, so the ones' complement of the magnitude, p - 1,
// is shifted, whose upper bits are the sign; so the magnitude is truncated for both signs.
FUNCTION int cut(int significand_a, int sign_a, int significand_b, int sign_b, int shift) {
    int sign = sign_a ^ sign_b;
    int product = significand_a * significand_b + sign;
    return (int)__funnelshift_rc((word)product, (word)sign, (word)shift) - sign;
}

FUNCTION Total cut_addend(Bits bits, int exponent) {
    Unpacked c = unpack<Accumulator>(bits);
    word shift = (word)(exponent - c.exponent + ADDEND_RIGHT);
    Total magnitude = __funnelshift_rc(c.significand << ADDEND_LEFT, 0u, shift);
    return c.sign ? -magnitude : magnitude;
}

// The sum of a step's products and of c, rounded once. A zero sum is +0.
FUNCTION Bits round_sum(Sum sum, int exponent, Bits c) {
    Total total = (Total)sum + cut_addend(c, exponent);
    Magnitude magnitude = total < 0 ? (Magnitude)0 - (Magnitude)total : (Magnitude)total;
    word bits = round_pack<Output, NEAREST>(total < 0, magnitude, exponent - FRACTION_BITS);
    return bits == Output::sign_mask ? 0u : bits;
}

// NaN if any term is, or if infinities of both signs meet; else the infinity.
struct Specials {
    bool nan, plus, minus;
    FUNCTION void infinity(int sign) { (sign ? minus : plus) = true; }
    FUNCTION void term(int exponent_a, int sign_a, int exponent_b, int sign_b) {
        bool special = exponent_a > SPECIAL || exponent_b > SPECIAL;
        bool zero = exponent_a == ZERO_EXPONENT || exponent_b == ZERO_EXPONENT;
        if (exponent_a == NAN_EXPONENT || exponent_b == NAN_EXPONENT || (special && zero)) nan = true;
        else if (special) infinity(sign_a ^ sign_b);
    }
    FUNCTION void addend(Bits bits) {
        Unpacked c = unpack<Accumulator>(bits);
        if (c.kind == IS_NAN) nan = true;
        else if (c.kind == IS_INFINITY) infinity(c.sign);
    }
    FUNCTION Bits result() const {
        return nan || (plus && minus) ? Output::canonical_nan : pack_infinity<Output>(minus);
    }
};

// Exactly, then rounded to nearest even: in units of the smallest subnormal where those fit 64 bits, as of f16.
FUNCTION Bits add(Bits x, Bits y) {
    Unpacked p = unpack<Accumulator>(x), q = unpack<Accumulator>(y);
    if (p.kind == IS_NAN || q.kind == IS_NAN) return Accumulator::canonical_nan;
    if (p.kind == IS_INFINITY || q.kind == IS_INFINITY) {
        if (p.kind == q.kind && p.sign != q.sign) return Accumulator::canonical_nan;
        return p.kind == IS_INFINITY ? x : y;
    }
    if (Accumulator::bits == 32)  // `ieee`: subnormal numbers count, however the program is compiled
        return __float_as_uint(__fmaf_ieee_rn(1.0f, __uint_as_float(x), __uint_as_float(y)));
    long long first = (long long)p.significand << (p.exponent - Accumulator::emin);
    long long second = (long long)q.significand << (q.exponent - Accumulator::emin);
    long long total = (p.sign ? -first : first) + (q.sign ? -second : second);
    int sign = total ? total < 0 : p.sign & q.sign;
    long_word magnitude = total < 0 ? -total : total;
    return round_pack<Accumulator, true>(sign, magnitude, Accumulator::emin - Accumulator::fraction_bits);
}

// The elements of one thread ----------------------------------------------------------------------------------------

enum Plane { SIGNIFICAND, EXPONENT, SIGN };

template <class Line>
FUNCTION void write(Line &lines, int k, int place, Operand x) {
    lines[SIGNIFICAND][k][place] = x.significand;
    lines[EXPONENT][k][place] = x.exponent;
    lines[SIGN][k][place] = x.sign;
}

FUNCTION Bits special_result(const Panel &panel, int first, int row, int column, Bits c) {
    Specials found = {};
    found.addend(c);
    _Pragma("unroll 1") for (int k = first; k < first + TERMS; ++k)
        found.term(panel.a[EXPONENT][k][row], panel.a[SIGN][k][row],
                   panel.b[EXPONENT][k][column], panel.b[SIGN][k][column]);
    return found.result();
}

// One rounding step for each element: align the terms, cut, add, round once.
FUNCTION void fused_step(const Panel &panel, int first, int thread, Bits (&running)[ROWS][COLUMNS]) {
    int row = row_of(thread, 0), column = column_of(thread, 0);
    int exponent[ROWS][COLUMNS];
    Sum sum[ROWS][COLUMNS];
    EACH_ELEMENT {
        exponent[i][j] = alignment_exponent(running[i][j]);
        sum[i][j] = 0;
    }
    _Pragma("unroll") for (int k = 0; k < TERMS; ++k) {
        int x[ROWS], y[COLUMNS];
        read_four(x, panel.a[EXPONENT][first + k], row);
        read_four(y, panel.b[EXPONENT][first + k], column);
        EACH_ELEMENT exponent[i][j] = alignment_exponent(exponent[i][j], x[i], y[j]);
    }
    _Pragma("unroll 4") for (int k = 0; k < TERMS; ++k) {
        int x[WORDS][ROWS], y[WORDS][COLUMNS];
        _Pragma("unroll") for (int plane = 0; plane < WORDS; ++plane) {
            read_four(x[plane], panel.a[plane][first + k], row);
            read_four(y[plane], panel.b[plane][first + k], column);
        }
        EACH_ELEMENT {
            int shift = exponent[i][j] + PRODUCT_RIGHT - x[EXPONENT][i] - y[EXPONENT][j];
            sum[i][j] += cut(x[SIGNIFICAND][i], x[SIGN][i], y[SIGNIFICAND][j], y[SIGN][j], shift);
        }
    }
    EACH_ELEMENT {
        if (exponent[i][j] > SPECIAL)
            running[i][j] = special_result(panel, first, row_of(thread, i), column_of(thread, j), running[i][j]);
        else
            running[i][j] = round_sum(sum[i][j], exponent[i][j], running[i][j]);
    }
}

FUNCTION void take_step(const Panel &panel, int first, int thread, int position, Elements &e) {
    if (C_IN_FIRST_STEP && !PARTIAL_SUMS_ADDED) {
        fused_step(panel, first, thread, e.running);
        return;
    }
    bool begins = position == 0, ends = position + TERMS == POSITIONS;
    Bits result[ROWS][COLUMNS];
    EACH_ELEMENT {
        Bits before = PARTIAL_SUMS_ADDED ? 0 : e.partial[i][j];
        result[i][j] = !begins ? before : C_IN_FIRST_STEP ? e.running[i][j] : 0;
    }
    fused_step(panel, first, thread, result);
    EACH_ELEMENT {
        Bits partial = PARTIAL_SUMS_ADDED && !begins ? add(e.partial[i][j], result[i][j]) : result[i][j];
        e.partial[i][j] = partial;
        if (ends) e.running[i][j] = C_IN_FIRST_STEP ? partial : add(e.running[i][j], partial);
    }
}
