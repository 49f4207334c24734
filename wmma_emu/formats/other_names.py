# SPDX-License-Identifier: MIT
"""The table of names of formats other than their PTX names. Table entries only."""

OTHER_NAMES: dict[str, str] = {
    "f64": "double fp64 float64",
    "f32": "float fp32 float32",
    "tf32": "precision::tf32 tfloat32_t tfloat32",
    "bf16": "__nv_bfloat16 bfloat16_t bfloat16",
    "f16": "half __half half_t fp16 float16",
    "e4m3": "__nv_fp8_e4m3 float_e4m3_t float8_e4m3fn e4m3fn float8_e4m3 fp8 float8 f8",
    "e5m2": "__nv_fp8_e5m2 float_e5m2_t float8_e5m2 fp8 float8 f8",
    "e3m2": "__nv_fp6_e3m2 float_e3m2_t float6_e3m2fn e3m2fn fp6 float6 f6",
    "e2m3": "__nv_fp6_e2m3 float_e2m3_t float6_e2m3fn e2m3fn fp6 float6 f6",
    "e2m1": "__nv_fp4_e2m1 float_e2m1_t float_e2m1_unpacksmem_t float4_e2m1fn e2m1fn fp4 float4 f4",
    "ue8m0": "__nv_fp8_e8m0 float_ue8m0_t float8_e8m0fnu e8m0fnu e8m0",
    "ue4m3": "float_ue4m3_t",
    "s32": "int int32 int32_t i32",
    "s8": "signed_char int8_t int8 i8",
    "u8": "unsigned_char uint8_t uint8 int8 i8",
    "s4": "precision::s4 int4b_t int4_t int4 i4",
    "u4": "precision::u4 uint4b_t uint4_t uint4 int4 i4",
    "b1": "precision::b1 uint1b_t u1 binary bit int1",
}
"""The other names of each format, separated by spaces. Some stand for several formats: `fp8`."""

TWO_MEANINGS = {"float": "f32 in C++ and f64 in Python and NumPy"}
"""Names that languages give to different formats."""
