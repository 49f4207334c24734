// SPDX-License-Identifier: MIT
// Fetches from textures and accesses to surfaces, one thread an element: the words that a GPU returns, and no arithmetic.
// nvcc -ptx -arch=compute_75 fetches.cu compiles it; tools/record_textures.py runs it on a GPU and on the emulator.
#define BEGIN(name, object)                                                                                  \
    extern "C" __global__ void name(object t, const float* x, const float* y, const float* z, const int* layer, \
                                    uint4* out, int n)                                                       \
    {                                                                                                        \
        const int i = blockIdx.x * blockDim.x + threadIdx.x;                                                 \
        if (i >= n) return;
#define FETCH(name, value) BEGIN(name, cudaTextureObject_t) out[i] = words(value); }

__device__ uint4 words(uint4 v) { return v; }
__device__ uint4 words(int4 v) { return make_uint4(v.x, v.y, v.z, v.w); }
__device__ uint4 words(float4 v)
{
    return make_uint4(__float_as_uint(v.x), __float_as_uint(v.y), __float_as_uint(v.z), __float_as_uint(v.w));
}
__device__ float4 by_integers(cudaTextureObject_t t, int x, int y)
{
    float4 v;
    asm volatile("tex.2d.v4.f32.s32 {%0, %1, %2, %3}, [%4, {%5, %6}];"
                 : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(t), "r"(x), "r"(y));
    return v;
}

#define FETCHES(suffix, type)                                                       \
    FETCH(linear_##suffix, tex1Dfetch<type>(t, __float_as_int(x[i])))               \
    FETCH(tex1d_##suffix, tex1D<type>(t, x[i]))                                     \
    FETCH(tex2d_##suffix, tex2D<type>(t, x[i], y[i]))                               \
    FETCH(tex3d_##suffix, tex3D<type>(t, x[i], y[i], z[i]))                         \
    FETCH(tex1dl_##suffix, tex1DLayered<type>(t, x[i], layer[i]))                   \
    FETCH(tex2dl_##suffix, tex2DLayered<type>(t, x[i], y[i], layer[i]))
FETCHES(f, float4)
FETCHES(u, uint4)
FETCHES(s, int4)
FETCH(integers_f, by_integers(t, __float_as_int(x[i]), __float_as_int(y[i])))
FETCH(level_f, tex2DLod<float4>(t, x[i], y[i], z[i]))
FETCH(grad_f, tex2DGrad<float4>(t, x[i], y[i], make_float2(z[i], 0), make_float2(0, z[i])))
FETCH(gather0_f, tex2Dgather<float4>(t, x[i], y[i], 0))
FETCH(gather3_f, tex2Dgather<float4>(t, x[i], y[i], 3))
FETCH(gather0_u, tex2Dgather<uint4>(t, x[i], y[i], 0))

#define X __float_as_int(x[i])
#define Y __float_as_int(y[i])
#define Z __float_as_int(z[i])
#define READ(name, value) BEGIN(name, cudaSurfaceObject_t) out[i] = make_uint4(value, 0, 0, 0); }
#define READS(suffix, mode)                                                         \
    READ(read1d_##suffix, surf1Dread<unsigned>(t, X, mode))                         \
    READ(read2d_##suffix, surf2Dread<unsigned>(t, X, Y, mode))                      \
    READ(read3d_##suffix, surf3Dread<unsigned>(t, X, Y, Z, mode))                   \
    READ(read2dl_##suffix, surf2DLayeredread<unsigned>(t, X, Y, layer[i], mode))    \
    BEGIN(read16_##suffix, cudaSurfaceObject_t) out[i] = surf2Dread<uint4>(t, X, Y, mode); }
READS(clamp, cudaBoundaryModeClamp)
READS(zero, cudaBoundaryModeZero)

// One thread writes, so that of two stores to one element the later remains.
#define WRITE(name, statement)                                                      \
    extern "C" __global__ void name(cudaSurfaceObject_t t, const float* x, const float* y, const float* z,          \
                                    const int* layer, uint4* out, int n)            \
    {                                                                               \
        _Pragma("unroll 1") for (int i = 0; i < n; ++i) { statement; }               \
    }
#define FORMATTED(word)                                                                                       \
    asm volatile("sust.p.2d.v4.b32.zero [%0, {%1, %2}], {%3, %4, %5, %6};" ::"l"(t), "r"(i), "r"(0), "r"(word), \
                 "r"(word), "r"(word), "r"(word) : "memory")
WRITE(write2d_clamp, surf2Dwrite(i + 1, t, X, Y, cudaBoundaryModeClamp))
WRITE(write2d_zero, surf2Dwrite(i + 1, t, X, Y, cudaBoundaryModeZero))
WRITE(formatted, FORMATTED(X))
WRITE(add2d, asm volatile("sured.b.add.2d.u32.zero [%0, {%1, %2}], %3;" ::"l"(t), "r"(X), "r"(Y), "r"(i + 1) : "memory"))
