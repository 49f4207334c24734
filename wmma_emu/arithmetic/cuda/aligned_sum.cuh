// SPDX-License-Identifier: MIT
// Aligned sums: each function matches the one with the same name in wmma_emu/arithmetic/reference.py.

// A decoded operand is its value in float32, exactly, and its exponent. The exponent of zeros is below all others, so
// that a sum with one is never the largest; the exponents of infinities and NaN are above all others, so that the
// largest exponent reveals them. Two exponents share a word: of an even k, and of the next. Exponents of A have the
// bias of float32, so that sums have it too.
struct Operand {
    word value;
    int exponent;
};
constexpr word SIGN_OF_FLOAT = 0x80000000u;
constexpr int BIAS = 127, ZERO_EXPONENT = -2048, SPECIAL = 2048, INFINITY_EXPONENT = 8192, NAN_EXPONENT = 12288;

FUNCTION float value_of(int bits) { return __uint_as_float((word)bits); }
FUNCTION float power_of_two(int biased) { return __uint_as_float((word)biased << 23); }

// Also of subnormal numbers, which CuPy's compiler would flush. Adding -0 changes nothing.
FUNCTION float times(float x, float y) { return __fmaf_ieee_rn(x, y, -0.0f); }

template <class Format>
FUNCTION int exponent_of(word bits) {
    constexpr word fractions = (1u << Format::fraction_bits) - 1, exponents = (1u << Format::exponent_bits) - 1;
    word field = bits >> Format::ignored_low_bits, fraction = field & fractions;
    int biased = (int)(field >> Format::fraction_bits & exponents);
    if (!biased && !fraction) return ZERO_EXPONENT;
    if (Format::has_nan && biased == (int)exponents) {
        if (!Format::all_ones_nan) return fraction ? NAN_EXPONENT : INFINITY_EXPONENT;
        if (fraction == fractions) return NAN_EXPONENT;
    }
    return max(biased, 1) - Format::bias;
}

// The pattern of float32. Only the sign of infinities and NaN is used.
template <class Format>
FUNCTION word float_of(word bits) {
    constexpr word fractions = (1u << Format::fraction_bits) - 1, exponents = (1u << Format::exponent_bits) - 1;
    word sign = bits & Format::sign_mask ? SIGN_OF_FLOAT : 0u;
    word magnitude = bits >> Format::ignored_low_bits & (exponents << Format::fraction_bits | fractions);
    float scaled = __uint_as_float(magnitude << (23 - Format::fraction_bits));  // by the difference of the biases
    return sign | __float_as_uint(Format::bias == BIAS ? scaled : times(scaled, power_of_two(2 * BIAS - Format::bias)));
}

// The unit's format has every number of the given one, but its exponents of small numbers may be lower.
template <class Given, class Format, int BIAS_OF_EXPONENT>
FUNCTION Operand decode(word bits) {
    word value = float_of<Given>(bits);
    int exponent = exponent_of<Given>(bits);
    if (Given::number != Format::number && exponent > ZERO_EXPONENT && exponent < SPECIAL)
        exponent = max((int)(value >> 23 & 255) - BIAS, (int)Format::emin);
    return {value, exponent + BIAS_OF_EXPONENT};
}

FUNCTION Operand decode_a(word bits) { return decode<FormatOfA, Left, BIAS>(bits); }
FUNCTION Operand decode_b(word bits) { return decode<FormatOfB, Right, 0>(bits); }
FUNCTION Bits enter(word c) { return convert<FormatOfC, Accumulator>(c); }
FUNCTION word leave(Bits running) { return convert<Accumulator, FormatOfD>(running); }

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

// One element, for any operands ------------------------------------------------------------------------------------

enum Plane { VALUE, EXPONENT };

template <class Line>
FUNCTION void write(Line &lines, int k, int place, Operand x) {
    lines[VALUE][k][place] = (int)x.value;
    ((short *)&lines[EXPONENT][k / 2][place])[k % 2] = (short)x.exponent;
}

template <class Line>
FUNCTION int exponent_at(const Line &lines, int k, int place) {
    return ((const short *)&lines[EXPONENT][k / 2][place])[k % 2];
}

// The significand of a format, signed, which the operand's exponent belongs to.
template <class Format>
FUNCTION int significand_of(word value, int exponent) {
    word field = value >> 23 & 255, fraction = value & 0x7FFFFFu;
    if (!field && !fraction) return 0;
    int shift = exponent + BIAS - max((int)field, 1) + 23 - Format::fraction_bits;
    int significand = (int)((field ? fraction | 0x800000u : fraction) >> shift);
    return value >> 31 ? -significand : significand;
}

// A product, truncated. Shifting a negative product would round down, so the ones' complement of the magnitude, p - 1,
// is shifted, whose upper bits are the sign; so the magnitude is truncated for both signs.
FUNCTION int cut(int significand_a, int significand_b, int shift) {
    int sign = (significand_a ^ significand_b) >> 31;
    int product = (significand_a << PRODUCT_LEFT) * significand_b + sign;
    return (int)__funnelshift_rc((word)product, (word)sign, (word)shift) - sign;
}

FUNCTION Total cut_addend(Bits bits, int exponent) {
    Unpacked c = unpack<Accumulator>(bits);
    word shift = (word)(exponent - c.exponent + ADDEND_RIGHT);
    Total magnitude = __funnelshift_rc(c.significand << ADDEND_LEFT, 0u, shift);
    return c.sign ? -magnitude : magnitude;
}

// The sum of a step's products and of c, rounded once. A zero sum is +0.
FUNCTION Bits round_sum(Total total, int exponent) {
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

// One rounding step of an element: align the terms to the largest exponent, but at least the unit's floor; cut; add;
// round once.
__device__ __noinline__ Bits careful_step(const Panel &panel, int first, int row, int column, Bits c) {
    int exponent = max(exponent_of<Accumulator>(c), MIN_EXPONENT);
    _Pragma("unroll 1") for (int k = first; k < first + TERMS; ++k)
        exponent = max(exponent, exponent_at(panel.a, k, row) - BIAS + exponent_at(panel.b, k, column));
    Specials specials = {};
    specials.addend(c);
    Total total = exponent > SPECIAL ? 0 : cut_addend(c, exponent);
    _Pragma("unroll 1") for (int k = first; k < first + TERMS; ++k) {
        word x = (word)panel.a[VALUE][k][row], y = (word)panel.b[VALUE][k][column];
        int exponent_a = exponent_at(panel.a, k, row) - BIAS, exponent_b = exponent_at(panel.b, k, column);
        specials.term(exponent_a, x >> 31, exponent_b, y >> 31);
        if (exponent <= SPECIAL)
            total += cut(significand_of<Left>(x, exponent_a), significand_of<Right>(y, exponent_b),
                         exponent + PRODUCT_RIGHT - exponent_a - exponent_b);
    }
    return exponent > SPECIAL ? specials.result() : round_sum(total, exponent);
}

// The elements of one thread ----------------------------------------------------------------------------------------

// A product, truncated to an integer in units of the alignment. In float32 it is exact; below 2**-126 it may be
// rounded, but is less than a unit.
FUNCTION int in_units(float product, float scale) { return __float2int_rz(times(product, scale)); }

// Zero has the lowest exponent; infinities and NaN have more than the highest.
FUNCTION int biased_exponent_of(Bits c) {
    word magnitude = c & ~Accumulator::sign_mask;
    int biased = (int)(magnitude >> Accumulator::fraction_bits);
    if (magnitude == 0) return LOWEST_ALIGNED;
    if (Accumulator::bias == BIAS) return biased;  // that of infinities and NaN is more than the highest
    return magnitude > Accumulator::max_finite ? NAN_EXPONENT : max(biased, 1) - Accumulator::bias + BIAS;
}

FUNCTION float toward_zero(int x) { return __int2float_rz(x); }
FUNCTION float toward_zero(long long x) { return __ll2float_rz(x); }

// Exact, or the neighbour whose last bit is one, so that a second rounding is like a single one.
FUNCTION float to_odd(float below, float above) { return __float_as_uint(below) & 1 ? below : above; }
FUNCTION float to_odd(int x) {  // by additions, which are faster than conversions that round down or up
    float upper = (float)(x >> 8), lower = (float)(x & 255);
    return to_odd(__fmaf_ieee_rd(upper, 256.0f, lower), __fmaf_ieee_ru(upper, 256.0f, lower));
}
FUNCTION float to_odd(long long x) { return to_odd(__ll2float_rd(x), __ll2float_ru(x)); }

// To nearest even, in a format with fewer bits: adding a power of two leaves the units of that format.
template <class Format>
FUNCTION word narrowed(float x) {
    word magnitude = __float_as_uint(x) & ~SIGN_OF_FLOAT;
    int biased = max((int)(magnitude >> 23), (int)Format::emin + BIAS);
    float power = power_of_two(biased + 23 - Format::fraction_bits);
    word units = __float_as_uint(__fmaf_ieee_rn(1.0f, __uint_as_float(magnitude), power)) - __float_as_uint(power);
    word bits = ((word)(biased - Format::emin - BIAS) << Format::fraction_bits) + units;
    word sign = bits && __float_as_uint(x) & SIGN_OF_FLOAT ? Format::sign_mask : 0u;  // a zero is +0
    return sign | (bits > Format::max_finite ? Format::infinity : bits);
}

// Add c; return a negative number if the sum overflowed.
FUNCTION int add_units(int &sum, int c) {
    int before = sum;
    sum = (int)((word)before + (word)c);
    return sizeof(Total) > sizeof(int) ? (before ^ sum) & (c ^ sum) : 0;
}
FUNCTION int add_units(long long &sum, int c) { return sum += c, 0; }

FUNCTION Bits round_in_units(Sum total, float scale) {
    float unit = __uint_as_float(0x7F000000u - __float_as_uint(scale));
    if (!NEAREST && Output::exponent_bits == 8) {
        word bits = __float_as_uint(times(toward_zero(total), unit));
        return bits >> Output::ignored_low_bits << Output::ignored_low_bits;
    }
    if (NEAREST && Output::exponent_bits < 8) return narrowed<Output>(times(to_odd(total), unit));
    return round_sum(total, (int)(__float_as_uint(unit) >> 23) - BIAS + FRACTION_BITS);
}

// One rounding step for each element. The largest exponent decides whether float32 can carry all of the step.
FUNCTION void fused_step(const Panel &panel, int first, int thread, Bits (&running)[ROWS][COLUMNS]) {
    int row = row_of(thread, 0), column = column_of(thread, 0);
    word largest[ROWS][COLUMNS];
    EACH_ELEMENT largest[i][j] = 0x80008000u;
    _Pragma("unroll") for (int k = 0; k < TERMS; k += 2) {
        int x[ROWS], y[COLUMNS];
        read_four(x, panel.a[EXPONENT][(first + k) / 2], row);
        read_four(y, panel.b[EXPONENT][(first + k) / 2], column);
        EACH_ELEMENT largest[i][j] = __viaddmax_s16x2((word)x[i], (word)y[j], largest[i][j]);
    }
    bool ordinary = true;
    float scale[ROWS][COLUMNS];
    Sum sum[ROWS][COLUMNS];
    EACH_ELEMENT {
        int of_products = max((int)(short)largest[i][j], (int)largest[i][j] >> 16);
        int exponent = max(of_products, biased_exponent_of(running[i][j]));
        if (HAS_TINY_PRODUCTS) ordinary &= of_products >= LOWEST_ALIGNED || of_products < ZERO_EXPONENT / 2;
        ordinary &= exponent >= LOWEST_ALIGNED && exponent <= HIGHEST_ALIGNED;
        scale[i][j] = power_of_two(2 * BIAS + FRACTION_BITS - exponent);
        sum[i][j] = 0;
    }
    _Pragma("unroll 1") for (int part = 0; part < TERMS; part += TERMS_OF_WORD) {
        int words[ROWS][COLUMNS];
        EACH_ELEMENT words[i][j] = 0;
        _Pragma("unroll 4") for (int k = part; k < part + TERMS_OF_WORD; ++k) {
            int x[ROWS], y[COLUMNS];
            read_four(x, panel.a[VALUE][first + k], row);
            read_four(y, panel.b[VALUE][first + k], column);
            EACH_ELEMENT words[i][j] += in_units(times(value_of(x[i]), value_of(y[j])), scale[i][j]);
        }
        EACH_ELEMENT sum[i][j] += words[i][j];
    }
    int overflows = 0;
    EACH_ELEMENT {
        float c = __uint_as_float(float_of<Accumulator>(running[i][j]));
        overflows |= add_units(sum[i][j], in_units(c, scale[i][j]));
    }
    if (ordinary && overflows >= 0)
        EACH_ELEMENT running[i][j] = round_in_units(sum[i][j], scale[i][j]);
    else
        EACH_ELEMENT
            running[i][j] = careful_step(panel, first, row_of(thread, i), column_of(thread, j), running[i][j]);
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
