// SPDX-License-Identifier: MIT
// An epilogue in float32, element by element: the functions of wmma_emu/gemm/epilogue.py.

constexpr word ONE = 0x3F800000u, MINUS_ZERO = 0x80000000u;

// `ieee`: subnormal numbers count, however the program is compiled.
FUNCTION word fma(word a, word b, word c) {
    word d = __float_as_uint(__fmaf_ieee_rn(__uint_as_float(a), __uint_as_float(b), __uint_as_float(c)));
    return (d & ~MINUS_ZERO) > Single::infinity ? Single::canonical_nan : d;
}
FUNCTION word add(word x, word y) { return fma(ONE, x, y); }
FUNCTION word mul(word x, word y) { return fma(x, y, MINUS_ZERO); }

// alpha times the accumulator plus beta times C.
FUNCTION word sum_of(word x, word c, word alpha, word beta) {
    if (HAS_C && IS_FMA_OF_ACCUMULATOR) {
        word scaled = HAS_BETA ? mul(beta, c) : c;
        return HAS_ALPHA ? fma(alpha, x, scaled) : add(x, scaled);
    }
    word scaled = HAS_ALPHA ? mul(alpha, x) : x;
    if (HAS_C && IS_FMA_OF_SOURCE) return HAS_BETA ? fma(beta, c, scaled) : add(scaled, c);
    return scaled;
}

extern "C" __global__ void finish_all(
    const StoredOfSource *x, const StoredOfAddend *c, const StoredOfBias *bias, StoredOfResult *d, long long count,
    long long columns, long long alpha, long long beta) {
    long long step = (long long)gridDim.x * blockDim.x;
    for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < count; i += step) {
        word addend = HAS_C ? convert<Addend, Single>(c[i]) : 0u;
        word sum = sum_of(convert<Source, Single>(x[i]), addend, (word)alpha, (word)beta);
        if (HAS_BIAS) sum = add(sum, convert<Bias, Single>(bias[i % columns]));
        word result = convert<Single, Result>(sum);
        if (HAS_C && IS_AFTER_ROUNDING)
            result = convert<Single, Result>(add(convert<Result, Single>(result), addend));
        d[i] = (StoredOfResult)result;
    }
}
