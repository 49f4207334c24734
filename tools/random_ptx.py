# SPDX-License-Identifier: MIT
"""Random PTX programs: scalar arithmetic, branches, loops, memory, collective instructions, and sometimes a fault."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

_HEAD = """.version 8.6
.target sm_90
.address_size 64
.global .align 16 .b32 g[64];
.visible .entry k(.param .u64 x, .param .u64 y) {
  .reg .b16 %h<8>; .reg .b32 %r<32>; .reg .b64 %d<16>; .reg .pred %p<8>; .reg .f32 %f<8>; .reg .f64 %e<8>;
  .shared .align 16 .b8 s[4096]; .shared .align 16 .b8 t[64];
  ld.param.u64 %d10, [x]; ld.param.u64 %d11, [y];
  mov.u32 %r20, %ctaid.x; mov.u32 %r21, %ntid.x; mov.u32 %r22, %tid.x;
  mad.lo.u32 %r23, %r20, %r21, %r22; shl.b32 %r24, %r22, 2; mov.u32 %r25, s; add.u32 %r26, %r24, %r25;
  mul.wide.u32 %d12, %r23, 16; add.u64 %d13, %d10, %d12; add.u64 %d14, %d11, %d12;
"""
"""%r23 is the index of the thread, %d13 and %d14 the addresses of its 16 bytes in x and y, %r26 its word of s."""

_OPERATIONS = {
    "r": """add.u32 {r}, {r}, {r}; sub.s32 {r}, {r}, {r}; mul.lo.u32 {r}, {r}, {r}; mul.hi.s32 {r}, {r}, {r};
        mad.lo.u32 {r}, {r}, {r}, {r}; and.b32 {r}, {r}, {r}; or.b32 {r}, {r}, {i}; xor.b32 {r}, {r}, {r};
        not.b32 {r}, {r}; shl.b32 {r}, {r}, {r}; shr.u32 {r}, {r}, {n}; shr.s32 {r}, {r}, {r}; min.s32 {r}, {r}, {r};
        max.u32 {r}, {r}, {i}; sad.u32 {r}, {r}, {r}, {r}; bfe.u32 {r}, {r}, {n}, {n}; bfe.s32 {r}, {r}, {r}, {r};
        bfi.b32 {r}, {r}, {r}, {n}, {n}; popc.b32 {r}, {r}; clz.b32 {r}, {r}; brev.b32 {r}, {r}; bfind.u32 {r}, {r};
        prmt.b32 {r}, {r}, {r}, {r}; lop3.b32 {r}, {r}, {r}, {r}, {b}; shf.l.wrap.b32 {r}, {r}, {r}, {r};
        selp.b32 {r}, {r}, {r}, {p}; abs.s32 {r}, {r}; neg.s32 {r}, {r}; div.u32 {r}, {r}, {r}; rem.s32 {r}, {r}, {n};
        mul24.lo.u32 {r}, {r}, {r}; dp4a.u32.s32 {r}, {r}, {r}, {r}; add.cc.u32 {r}, {r}, {r}; addc.u32 {r}, {r}, {r};
        cvt.rzi.s32.f32 {r}, {f}; cvt.u32.u16 {r}, {h}; mov.b32 {r}, {f}; cvt.u32.u64 {r}, {d};
        cvt.rn.f16x2.f32 {r}, {f}, {f};
        add.f16x2 {r}, {r}, {r}; fma.rn.f16x2 {r}, {r}, {r}, {r}; mul.bf16x2 {r}, {r}, {r}; min.f16x2 {r}, {r}, {r};
        cvt.s32.s8 {r}, {r}; cvt.sat.u8.s32 {r}, {r}; vadd.s32.s32.s32 {r}, {r}, {r}; set.lt.u32.f32 {r}, {f}, {f}""",
    "d": """add.u64 {d}, {d}, {d}; mul.lo.u64 {d}, {d}, {d}; mul.wide.s32 {d}, {r}, {r};
        mad.wide.u32 {d}, {r}, {r}, {d};
        shl.b64 {d}, {d}, {n}; shr.s64 {d}, {d}, {r}; and.b64 {d}, {d}, {d}; min.s64 {d}, {d}, {d};
        cvt.s64.s32 {d}, {r};
        mov.b64 {d}, {e}; mov.b64 {d}, {{ {r}, {r} }}; cvt.rzi.u64.f64 {d}, {e}; selp.b64 {d}, {d}, {d}, {p};
        not.b64 {d}, {d}""",
    "f": """add.f32 {f}, {f}, {f}; sub.rz.f32 {f}, {f}, {f}; mul.f32 {f}, {f}, {f}; fma.rn.f32 {f}, {f}, {f}, {f};
        fma.rm.ftz.f32 {f}, {f}, {f}, {f}; min.f32 {f}, {f}, {f}; max.NaN.f32 {f}, {f}, {f}; neg.f32 {f}, {f};
        abs.ftz.f32 {f}, {f}; div.rn.f32 {f}, {f}, {f}; rcp.approx.ftz.f32 {f}, {f}; sqrt.rn.f32 {f}, {f};
        ex2.approx.f32 {f}, {f}; lg2.approx.f32 {f}, {f}; rsqrt.approx.f32 {f}, {f}; sin.approx.f32 {f}, {f};
        tanh.approx.f32 {f}, {f}; div.full.f32 {f}, {f}, {f}; cvt.rn.f32.s32 {f}, {r}; cvt.f32.f16 {f}, {h};
        mov.b32 {f}, {r}; cvt.rn.f32.f64 {f}, {e}; selp.f32 {f}, {f}, {f}, {p}; cvt.rni.f32.f32 {f}, {f};
        add.sat.f32 {f}, {f}, {f}; copysign.f32 {f}, {f}, {f}""",
    "e": """add.f64 {e}, {e}, {e}; mul.rp.f64 {e}, {e}, {e}; fma.rn.f64 {e}, {e}, {e}, {e}; min.f64 {e}, {e}, {e};
        cvt.f64.f32 {e}, {f}; cvt.rn.f64.s64 {e}, {d}; neg.f64 {e}, {e}; div.rn.f64 {e}, {e}, {e};
        sqrt.rn.f64 {e}, {e}""",
    "h": """add.u16 {h}, {h}, {h}; mul.lo.s16 {h}, {h}, {h}; cvt.rn.f16.f32 {h}, {f}; add.f16 {h}, {h}, {h};
        fma.rn.f16 {h}, {h}, {h}, {h}; cvt.u16.u32 {h}, {r}; min.s16 {h}, {h}, {h}; neg.f16 {h}, {h};
        and.b16 {h}, {h}, {h}""",
    "p": """setp.lt.s32 {p}, {r}, {r}; setp.eq.u32 {p}, {r}, {i}; setp.ge.f32 {p}, {f}, {f};
        setp.ltu.f64 {p}, {e}, {e};
        and.pred {p}, {p}, {p}; xor.pred {p}, {p}, {p}; not.pred {p}, {p}; setp.gt.and.u32 {p}, {r}, {r}, !{p};
        setp.ne.u64 {p}, {d}, {d}; testp.normal.f32 {p}, {f}""",
}
"""Operations by the class of their result; operands are registers, or immediate values: i any, n small, b a byte."""

_NAMES = {"r": "%r", "d": "%d", "f": "%f", "e": "%e", "h": "%h", "p": "%p"}
_COUNT = {"r": 8, "d": 5, "f": 6, "e": 4, "h": 4, "p": 4}
_OF_WARP = (
    "shfl.sync.bfly.b32 {r}, {r}, {n}, 31, 0xffffffff", "shfl.sync.up.b32 {r}, {r}, {n}, 0, 0xffffffff",
    "shfl.sync.idx.b32 {r}|{p}, {r}, {r}, 31, 0xffffffff", "vote.sync.ballot.b32 {r}, {p}, 0xffffffff",
    "vote.sync.all.pred {p}, {p}, 0xffffffff", "redux.sync.add.s32 {r}, {r}, 0xffffffff",
    "match.any.sync.b32 {r}, {r}, 0xffffffff", "bar.warp.sync 0xffffffff",
)  # fmt: skip
_ATOMIC = (
    "atom.shared.add.f32 {f}, [t], {f}", "atom.shared.exch.b32 {r}, [t+16], {r}",
    "red.shared.inc.u32 [t+20], {r}", "atom.shared.cas.b32 {r}, [t+24], {r}, {r}",
    "atom.shared.min.s32 {r}, [t+28], {r}", "atom.shared.exch.b64 {d}, [t+32], {d}",
    "atom.global.add.f32 {f}, [g], {f}", "red.global.add.f32 [g+4], {f}", "atom.global.exch.b32 {r}, [g+8], {r}",
    "atom.global.cas.b32 {r}, [g+12], {r}, {r}", "red.global.add.u64 [g+16], {d}",
    "atom.global.dec.u32 {r}, [g+24], {r}",
    "atom.global.add.v2.f32 {{%f0, %f1}}, [g+32], {{ {f}, {f} }}",
    "red.global.add.v4.f32 [g+48], {{ {f}, {f}, {f}, {f} }}",
    "red.global.add.noftz.v2.f16x2 [g+64], {{ {r}, {r} }}",
    "atom.global.max.noftz.v2.bf16x2 {{%r0, %r1}}, [g+72], {{ {r}, {r} }}",
    "red.global.xor.b32 [g+80], {r}", "atom.global.add.noftz.f16x2 {r}, [g+84], {r}", "activemask.b32 {r}",
)  # fmt: skip
"""Operations whose results depend on the order of threads."""

_FAULTS = (
    "add.u32 {r}, {r}, %r30", "ld.shared.u32 {r}, [%r26+128]", "st.shared.u32 [s+4], {r}", "@%p7 mov.u32 {r}, 1",
    "ld.global.u32 {r}, [%d13+1]", "st.global.u32 [%d13+65536], {r}", "ld.shared.u32 {r}, [s+4000]", "bar.sync 0",
)  # fmt: skip


class Drawn(NamedTuple):
    """A random program, its grid and its block; `arrays` draws its arguments."""

    text: str
    grid: int
    block: int
    seed: int

    def arrays(self) -> list[NDArray[np.uint32]]:
        """Return x, with random patterns, and y."""
        rng = np.random.default_rng(self.seed)
        count = 4 * self.grid * self.block
        x = rng.integers(0, 1 << 32, count, np.uint64).astype(np.uint32)
        plain = rng.standard_normal(count).astype(np.float32).view(np.uint32)
        return [np.where(rng.random(count) < 0.5, x, plain), np.zeros(count, np.uint32)]


class _Writer:
    """Draws the statements of a program."""

    def __init__(self, rng: np.random.Generator, faults: float, atomics: float) -> None:
        self._rng, self._faults, self._atomics, self._labels = rng, faults, atomics, 0
        self.lines: list[str] = []

    def _some(self, kind: str) -> str:
        rng = self._rng
        if kind in _NAMES:
            return f"{_NAMES[kind]}{rng.integers(_COUNT[kind])}"
        low, high = {"i": (-(1 << 31), 1 << 31), "n": (0, 32), "b": (0, 256)}[kind]
        return str(int(rng.integers(low, high)))

    def _say(self, pattern: str, indent: int) -> None:
        parts = pattern.replace("{{", "\1").replace("}}", "\2").split("{")
        text = parts[0] + "".join(self._some(x[0]) + x[2:] for x in parts[1:])
        self.lines.append("  " * indent + text.replace("\1", "{").replace("\2", "}") + ";")

    def begin(self) -> None:
        """Assign a value to every register."""
        self._say("ld.global.v4.u32 {{%r0, %r1, %r2, %r3}}, [%d13]", 1)
        for i in range(4, _COUNT["r"]):
            self._say(f"mad.lo.u32 %r{i}, %r{i - 4}, 1664525, %r23", 1)
        for kind, pattern in {
            "d": "mov.b64 %d{}, {{%r{}, %r23}}", "f": "mov.b32 %f{}, %r{}", "e": "cvt.f64.f32 %e{}, %f{}",
            "h": "cvt.u16.u32 %h{}, %r{}", "p": "setp.lt.s32 %p{}, %r{}, 0",
        }.items():  # fmt: skip
            for i in range(_COUNT[kind]):
                name = pattern.replace("{{", "\1").replace("}}", "\2").replace("{}", str(i))
                self.lines.append("  " + name.replace("\1", "{").replace("\2", "}") + ";")
        self.lines.append(
            "  mov.u32 %r27, t; add.u32 %r27, %r27, %r24; setp.lt.u32 %p5, %r22, 16; @%p5 st.shared.u32 [%r27], 0;\n"
            "  st.shared.u32 [%r26], %r0; bar.sync 0; add.cc.u32 %r1, %r1, %r2;"
        )

    def statements(self, count: int, depth: int, *, is_uniform: bool) -> None:
        """Write statements; ``is_uniform`` is whether all threads of the block execute them."""
        rng = self._rng
        for _ in range(count):
            drawn = rng.random()
            if drawn < self._faults:
                self._say(_FAULTS[rng.integers(len(_FAULTS))], depth)
            elif rng.random() < self._atomics:
                guard = "@{p} " if rng.random() < 0.2 else ""
                self._say(guard + _ATOMIC[rng.integers(len(_ATOMIC))], depth)
            elif drawn < 0.7:
                kind = [*_OPERATIONS][rng.choice(6, p=[0.4, 0.15, 0.2, 0.08, 0.07, 0.1])]
                patterns = _OPERATIONS[kind].split(";")
                guard = "@{p} " if rng.random() < 0.2 else ""
                self._say(guard + patterns[rng.integers(len(patterns))].strip(), depth)
            elif drawn < 0.78:
                self._memory(depth, is_uniform=is_uniform)
            elif drawn < 0.84 and is_uniform:
                self._say(_OF_WARP[rng.integers(len(_OF_WARP))], depth)
            elif drawn < 0.92 and depth < 4:
                self._branch(count, depth)
            elif depth < 3:
                self._loop(count, depth)

    def _memory(self, depth: int, *, is_uniform: bool) -> None:
        rng = self._rng
        choices = [
            "ld.global.u32 {r}, [%d13+4]", "ld.global.v2.f32 {{%f0, %f1}}, [%d13+8]", "st.global.u32 [%d14], {r}",
            "st.global.u64 [%d14+8], {d}", "ld.global.u8 {r}, [%d13+3]", "st.global.u16 [%d14+4], {h}",
        ]  # fmt: skip
        if is_uniform:
            shift = int(rng.integers(1, 64))
            choices.append(
                f"bar.sync 0; st.shared.u32 [%r26], {{r}}; bar.sync 0; xor.b32 %r27, %r22, {shift}; "
                "and.b32 %r27, %r27, 31; shl.b32 %r27, %r27, 2; add.u32 %r27, %r27, %r25; "
                "ld.shared.u32 {r}, [%r27]; bar.sync 0"
            )
            choices.append("red.global.max.u32 [%d14], {r}")
        self._say(choices[rng.integers(len(choices))], depth)

    def _label(self) -> str:
        self._labels += 1
        return f"L{self._labels}"

    def _branch(self, count: int, depth: int) -> None:
        other, end = self._label(), self._label()
        self._say(f"@{{p}} bra {other}", depth)
        self.statements(count // 2, depth + 1, is_uniform=False)
        self.lines.append(f"  bra {end};\n{other}:")
        self.statements(count // 3, depth + 1, is_uniform=False)
        self.lines.append(f"{end}:")

    def _loop(self, count: int, depth: int) -> None:
        head, end, counter = self._label(), self._label(), f"%r{10 + depth}"
        self._say(f"and.b32 {counter}, {{r}}, 7", depth)
        self.lines.append(f"{head}:")
        self.lines.append(f"  setp.eq.u32 %p6, {counter}, 0; @%p6 bra {end}; sub.u32 {counter}, {counter}, 1;")
        self.statements(count // 2, depth + 1, is_uniform=False)
        self.lines.append(f"  bra {head};\n{end}:")

    def end(self) -> None:
        """Store a digest of all registers."""
        self.lines.append("  mov.b32 %r20, %f0; xor.b32 %r0, %r0, %r20; mov.b32 %r20, %f1; xor.b32 %r1, %r1, %r20;")
        self.lines.append("  mov.b64 %d5, %e0; xor.b64 %d0, %d0, %d5; cvt.u32.u64 %r21, %d0; xor.b32 %r2, %r2, %r21;")
        self.lines.append("  cvt.u32.u16 %r20, %h0; xor.b32 %r3, %r3, %r20;")
        self.lines.append("  selp.u32 %r20, 1, 0, %p0; add.u32 %r3, %r3, %r20;")
        self.lines.append("  st.global.v4.u32 [%d14], {%r0, %r1, %r2, %r3}; ret;\n}")


def program(seed: int) -> Drawn:
    """Draw a program; equal seeds give equal programs, of which about one in three has a fault.

    Examples
    --------
    >>> program(3) == program(3), program(3).text.startswith(".version")
    (True, True)
    """
    rng = np.random.default_rng(seed)
    faults, atomics = (0.02 if rng.random() < 0.3 else 0), (0.15 if rng.random() < 0.3 else 0)
    writer = _Writer(rng, faults, atomics)
    writer.begin()
    writer.statements(int(rng.integers(5, 40)), 1, is_uniform=True)
    writer.end()
    block = int(rng.choice([32, 64, 96, 128])) if rng.random() < 0.8 else 32 * int(rng.integers(1, 9))
    return Drawn(_HEAD + "\n".join(writer.lines), int(rng.integers(1, 4)), block, seed)
