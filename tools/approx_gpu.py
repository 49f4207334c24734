# SPDX-License-Identifier: MIT
"""The approximate instructions of this machine's GPU, run by CuPy on arrays of patterns, and the emulator's."""

from typing import Any

from wmma_emu.scalar import approx, approx_div

__all__ = ["INSTRUCTIONS", "emulate", "operands", "run"]

F32 = [
    f"{name}.approx{ftz}.f32" for name in ("ex2", "lg2", "rcp", "rsqrt", "sqrt", "sin", "cos") for ftz in (".ftz", "")
]
INSTRUCTIONS = {
    **{x: "f32" for x in (*F32, "tanh.approx.f32")},
    **{f"div.{kind}{ftz}.f32": "f32" for kind in ("approx", "full") for ftz in (".ftz", "")},
    **{x: "b16" for x in ("ex2.approx.f16", "tanh.approx.f16", "ex2.approx.ftz.bf16", "tanh.approx.bf16")},
    **{x: "b32" for x in ("ex2.approx.f16x2", "tanh.approx.f16x2", "ex2.approx.ftz.bf16x2", "tanh.approx.bf16x2")},
    **{x: "f64" for x in ("rcp.approx.ftz.f64", "rsqrt.approx.ftz.f64", "rsqrt.approx.f64")},
}
"""Each with the type of its registers."""

_TYPES = {
    "f32": ("unsigned", "float", "f", "__uint_as_float({})", "__float_as_uint({})"),
    "b16": ("unsigned short", "unsigned short", "h", "{}", "{}"),
    "b32": ("unsigned", "unsigned", "r", "{}", "{}"),
    "f64": ("unsigned long long", "double", "d", "__longlong_as_double({})", "__double_as_longlong({})"),
}


def name_of(instruction: str) -> str:
    return instruction.replace(".", "_")


def operands(instruction: str) -> int:
    return 2 if instruction.startswith("div") else 1


def emulate(instruction: str, *inputs: Any) -> Any:
    """Compute what the emulator has for an instruction, where the arrays live."""
    name, *words = instruction.split(".")
    ftz = "ftz" in words
    if name == "div":
        return approx_div(*inputs, kind=words[0], ftz=ftz)
    return approx(name, *inputs, ftz=ftz, format=words[-1].removesuffix("x2"))


def source() -> str:
    """Return CUDA C++ of every kernel."""
    text = []
    for instruction, kind in INSTRUCTIONS.items():
        word, register, constraint, into, out = _TYPES[kind]
        two = operands(instruction) == 2
        text.append(f"""
extern "C" __global__ void {name_of(instruction)}(const {word}* a, {f"const {word}* b, " if two else ""}{word}* d,
                                                  long long n) {{
    long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
    if (i >= n) return;
    {register} y;
    asm("{instruction} %0, %1{", %2" if two else ""};" : "={constraint}"(y) : "{constraint}"({into.format("a[i]")})
        {f', "{constraint}"({into.format("b[i]")})' if two else ""});
    d[i] = {out.format("y")};
}}""")
    return "".join(text)


_modules: list[Any] = []


def run(instruction: str, *inputs: Any) -> Any:
    """Run an instruction on CuPy arrays of patterns, one thread an element; return the results' patterns."""
    import cupy

    if not _modules:
        _modules.append(cupy.RawModule(code=source(), options=("-std=c++17",)))
    kernel = _modules[0].get_function(name_of(instruction))
    results = cupy.empty_like(inputs[0])
    count = results.size
    kernel(((count + 255) // 256,), (256,), (*inputs, results, cupy.int64(count)))
    return results
