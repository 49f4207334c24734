// SPDX-License-Identifier: MIT
// Decoding of patterns and rounding of values to patterns, as in wmma_emu/formats/reference.py.

typedef unsigned int word;
typedef unsigned long long long_word;
#define FUNCTION __device__ __forceinline__

enum Kind { IS_ZERO, IS_FINITE, IS_INFINITY, IS_NAN };

// (-1)**sign * significand * 2**(exponent - fraction_bits); subnormals keep the smallest normal exponent.
struct Unpacked {
    Kind kind;
    int sign;
    int exponent;
    word significand;
};

template <class Format>
FUNCTION Unpacked unpack(word bits) {
    constexpr word fractions = (1u << Format::fraction_bits) - 1, exponents = (1u << Format::exponent_bits) - 1;
    word field = bits >> Format::ignored_low_bits;
    word fraction = field & fractions, biased = field >> Format::fraction_bits & exponents;
    Unpacked x;
    x.sign = (bits & Format::sign_mask) != 0;
    x.exponent = biased ? (int)biased - Format::bias : Format::emin;
    x.significand = biased ? fraction | 1u << Format::fraction_bits : fraction;
    x.kind = x.significand ? IS_FINITE : IS_ZERO;
    if (Format::has_nan && biased == exponents) {
        if (!Format::all_ones_nan) x.kind = fraction ? IS_NAN : IS_INFINITY;
        else if (fraction == fractions) x.kind = IS_NAN;
    }
    return x;
}

FUNCTION int leading_zeros(word x) { return __clz((int)x); }
FUNCTION int leading_zeros(long_word x) { return __clzll((long long)x); }

template <class Format>
FUNCTION word pack_infinity(int sign) { return Format::infinity | (sign ? Format::sign_mask : 0u); }

// Round (-1)**sign * significand * 2**exponent once: to nearest even, or toward zero; too large is infinity.
template <class Format, bool TO_NEAREST, class Significand>
FUNCTION word round_pack(int sign, Significand significand, int exponent) {
    constexpr int width = 8 * sizeof(Significand);
    word sign_bit = sign ? Format::sign_mask : 0u;
    if (significand == 0) return sign_bit;
    int leading = max(width - 1 - leading_zeros(significand) + exponent, (int)Format::emin);
    if (leading > Format::emax) return pack_infinity<Format>(sign);
    int shift = leading - Format::fraction_bits - exponent;
    Significand kept;
    if (shift <= 0) {
        kept = significand << -shift;
    } else {
        shift = min(shift, width - 1);
        kept = significand >> shift;
        if (TO_NEAREST) {
            Significand half = (Significand)1 << (shift - 1), dropped = significand - (kept << shift);
            if (dropped > half || (dropped == half && (kept & 1))) kept += 1;
        }
    }
    // Rounding up may carry into the exponent; a subnormal has no leading one, so bias - 1 is added.
    word field = ((word)(leading + Format::bias - 1) << Format::fraction_bits) + (word)kept;
    word magnitude = field << Format::ignored_low_bits;
    return magnitude > Format::max_finite ? pack_infinity<Format>(sign) : magnitude | sign_bit;
}

// To nearest even; patterns of the same format are unchanged.
template <class Source, class Target>
FUNCTION word convert(word bits) {
    if (Source::number == Target::number) return bits;
    Unpacked x = unpack<Source>(bits);
    if (x.kind == IS_NAN) return Target::canonical_nan;
    if (x.kind == IS_INFINITY) return pack_infinity<Target>(x.sign);
    return round_pack<Target, true>(x.sign, (long_word)x.significand, x.exponent - Source::fraction_bits);
}
