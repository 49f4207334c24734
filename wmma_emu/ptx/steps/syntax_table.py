# SPDX-License-Identifier: MIT
"""The syntax of instructions other than lane operations: their modifiers and operands."""

import re
from typing import NamedTuple


class Slot(NamedTuple):
    """A slot for one modifier in the manual's order: the legal words, and whether the slot must be filled."""

    words: re.Pattern[str]
    is_needed: bool


class Syntax(NamedTuple):
    """One syntax of an instruction.

    ``name`` is the mnemonic and the modifiers that belong to the instruction's name, which come first; ``slots`` are
    for the other modifiers, in the manual's order. ``operands`` are kinds of operands (see `machine_operand_rules`);
    optional ones have a question mark, and "*" means that the remaining operands are checked elsewhere. The modifiers
    are checked elsewhere unless ``is_known``.
    """

    name: tuple[str, ...]
    slots: tuple[Slot, ...]
    operands: tuple[str, ...]
    is_known: bool = True


_CLASSES = {
    "SCOPE": "cta|cluster|gpu|sys",
    "SPACE": "global|const|local|param(::entry|::func)?|shared(::cta|::cluster)?",
    "STRONG": "global|shared(::cta|::cluster)?",
    "WRITTEN": "global|local|param(::func)?|shared(::cta|::cluster)?",
    "SHARED": "shared(::cta)?",
    "LOADED": "ca|cg|cs|cv|lu",
    "STORED": "wb|wt|cg|cs",
    "KEEP1": "L1::(evict_(normal|unchanged|first|last)|no_allocate)",
    "KEEP2": "L2::evict_(normal|first|last)",
    "HINT": "L2::cache_hint",
    "AHEAD": "L2::(64|128|256)B",
    "VECTOR": "v2|v4|v8",
    "DATA": "[bus](8|16|32|64)|f(32|64)|b128",
    "SHAPE": r"m\d+n\d+(k\d+)?",
    "NUMBER": "x1|x2|x4",
    "LAYOUT": "row|col",
    "FORMAT": r"b?f16(x2)?|f32|f64|tf32|[us](4|8|32)|b1|e\dm\d|ue\dm\d",
    "POLICY": "L2::evict_(last|normal|first|unchanged)",
    "OPERATION": "and|or|xor|exch|cas|add|inc|dec|min|max",
    "HALF": "b?f16(x2)?",
    "FIELD": "rank|box_dim|global_dim|element_stride|elemtype|interleave_layout|swizzle_mode|fill_mode",
    "REDUCED": "[bus](32|64)|f(32|64)|b?f16",
    "RESTRICT": "sync_restrict::shared::(cta|cluster(::read)?)",
    "KIND": r"kind::\w+",
    "SCALES": r"scale_vec::\dX",
    "TEXTURE": "1d|2d|3d|a1d|a2d|cube|acube|2dms|a2dms",
    "SURFACE": "1d|2d|3d|a1d|a2d",
    "QUERY": "width|height|depth|array_size|channel_(data_type|order)|(force_un)?normalized_coords|filter_mode"
    "|addr_mode_[012]|num_mipmap_levels|num_samples|memory_layout",
}
"""The sets of modifiers, by name."""


def _slot(text: str) -> Slot:
    is_needed = text[0] != "-"
    words = text.removeprefix("-").removeprefix("|")
    return Slot(re.compile("|".join(_CLASSES.get(x, re.escape(x)) for x in words.split("|"))), is_needed)


def _parsed(table: str) -> dict[str, tuple[Syntax, ...]]:
    found: dict[str, list[Syntax]] = {}
    for line in table.strip().replace("\\\n", "").splitlines():
        name, slots, operands = (x.split() for x in line.split(";"))
        words = tuple(name[0].split("."))
        is_known = slots != ["*"]
        row = Syntax(words, tuple(map(_slot, slots)) if is_known else (), tuple(operands), is_known)
        found.setdefault(words[0], []).append(row)
    return {name: tuple(sorted(rows, key=lambda x: -len(x.name))) for name, rows in found.items()}


_TABLE = """
ld; -|weak -|SPACE -|LOADED -|HINT -|VECTOR DATA; ={~T} [SPACE] u64?
ld; -|weak global -|LOADED nc -|HINT -|AHEAD -|VECTOR DATA; ={~T} [SPACE] u64?
ld; -|weak -|global|local -|KEEP1 -|KEEP2 -|HINT -|AHEAD -|VECTOR DATA; ={~T} [SPACE] u64?
ld; -|weak global nc -|KEEP1 -|KEEP2 -|HINT -|AHEAD -|VECTOR DATA; ={~T} [SPACE] u64?
ld; volatile -|STRONG|local -|AHEAD -|VECTOR DATA; ={~T} [SPACE]
ld; relaxed|acquire SCOPE -|STRONG -|KEEP1 -|KEEP2 -|HINT -|AHEAD -|VECTOR DATA; ={~T} [SPACE] u64?
ld; mmio relaxed|acquire sys -|global DATA; ={~T} [SPACE]
ldu; -|global -|VECTOR DATA; ={~T} [SPACE]
st; -|weak -|WRITTEN -|STORED -|HINT -|VECTOR DATA; [SPACE] {~T} u64?
st; -|weak -|global|local -|KEEP1 -|KEEP2 -|HINT -|VECTOR DATA; [SPACE] {~T} u64?
st; volatile -|STRONG|local -|VECTOR DATA; [SPACE] {~T}
st; relaxed|release SCOPE -|STRONG -|KEEP1 -|KEEP2 -|HINT -|VECTOR DATA; [SPACE] {~T} u64?
st; mmio relaxed|release sys -|global DATA; [SPACE] {~T}
atom; -|relaxed|acquire|release|acq_rel -|SCOPE -|STRONG OPERATION -|KEEP1 -|HINT -|VECTOR DATA; ={T}_ [SPACE] \\
{T} {T}? u64?
atom; -|relaxed|acquire|release|acq_rel -|SCOPE -|STRONG OPERATION noftz -|KEEP1 -|HINT -|VECTOR HALF; ={T}_ \\
[SPACE] {T} {T}? u64?
atom; -|relaxed|acquire|release|acq_rel -|SCOPE -|global add noftz -|HINT f32; ={T}_ [SPACE] {T} u64?
red; -|relaxed|release -|SCOPE -|global add noftz -|HINT f32; [SPACE] {T} u64?
red; -|relaxed|release -|SCOPE -|STRONG OPERATION -|KEEP1 -|HINT -|VECTOR DATA; [SPACE] {T} u64?
red; -|relaxed|release -|SCOPE -|STRONG OPERATION noftz -|KEEP1 -|HINT -|VECTOR HALF; [SPACE] {T} u64?
st.async; -|weak -|shared::cluster|shared::cta mbarrier::complete_tx::bytes -|VECTOR DATA; [shared] {~T} [shared]
red.async; relaxed cluster -|shared::cluster mbarrier::complete_tx::bytes OPERATION DATA; [shared] T [shared]
cvta.to; SPACE u32|u64; =T T
cvta; SPACE u32|u64; =T &T
isspacep; SPACE; =pred address
mapa; -|shared::cluster u32|u64; =T &T u32
getctarank; -|shared::cluster u32|u64; =u32 &T
prefetch; -|SPACE L1|L2|L2::evict_last|L2::evict_normal; [SPACE]
prefetch; -|global L1::32B valid_addr; [SPACE]
prefetch.tensormap; *; *
prefetch.param.tensormap; *; *
prefetch.const.tensormap; *; *
prefetchu; L1; [SPACE]
applypriority; -|global L2::evict_normal; [SPACE] #
discard; -|global L2; [SPACE] #
createpolicy.fractional; POLICY -|POLICY b64; =u64 f32?
createpolicy.range; -|global POLICY -|POLICY b64; =u64 [SPACE] u32 u32
createpolicy.cvt; L2 b64; =u64 #
membar; cta|gl|sys;
membar.proxy; *; *
fence; -|acq_rel|sc|acquire|release SCOPE;
fence; mbarrier_init release cluster;
fence; acquire|release RESTRICT SCOPE;
fence.proxy; alias|async|async.global -|SPACE;
fence.proxy; alias acquire|release sys;
fence.proxy; tensormap::generic acquire|release SCOPE; *
fence.proxy; async::generic acquire|release RESTRICT SCOPE;
griddepcontrol; launch_dependents|wait;
nanosleep; u32; u32
alloca; u32|u64; =T T #?
stacksave; u32|u64; =T
stackrestore; u32|u64; %T
cp.async; ca|cg SHARED global -|HINT -|AHEAD; [shared] [global] # limit? u64?
cp.async.commit_group; ;
cp.async.wait_group; ; #
cp.async.wait_all; ;
cp.async.mbarrier.arrive; -|noinc -|SHARED b64; [shared]
tensormap.replace; tile FIELD -|global|shared::cta b1024 b32; *
tensormap.replace; tile global_address|global_stride -|global|shared::cta b1024 b64; *
tensormap.cp_fenceproxy; global shared::cta tensormap::generic release SCOPE sync aligned; *
cp.async.bulk; shared::cta|shared::cluster global mbarrier::complete_tx::bytes -|multicast::cluster -|HINT; [shared] \\
[global] u32 [shared] *
cp.async.bulk; shared::cluster shared::cta mbarrier::complete_tx::bytes; [shared] [shared] u32 [shared]
cp.async.bulk; global shared::cta bulk_group -|HINT; [global] [shared] u32 u64?
cp.async.bulk.prefetch; L2 global -|HINT; [global] u32 u64?
cp.async.bulk.commit_group; ;
cp.async.bulk.wait_group; -|read; #
cp.async.bulk.tensor; 1d|2d|3d|4d|5d shared::cta|shared::cluster global -|tile|im2col mbarrier::complete_tx::bytes \\
-|multicast::cluster -|HINT; *
cp.async.bulk.tensor; 1d|2d|3d|4d|5d global shared::cta -|tile|im2col_no_offs bulk_group -|HINT; *
cp.async.bulk.prefetch.tensor; 1d|2d|3d|4d|5d L2 global -|tile|im2col -|HINT; *
cp.reduce.async.bulk; shared::cluster shared::cta mbarrier::complete_tx::bytes add|min|max|inc|dec|and|or|xor \\
REDUCED; [shared] [shared] u32 [shared]
cp.reduce.async.bulk; global shared::cta bulk_group -|HINT add|min|max|inc|dec|and|or|xor REDUCED; [global] [shared] \\
u32 u64?
cp.reduce.async.bulk; global shared::cta bulk_group -|HINT add noftz HALF|f32; [global] [shared] u32 u64?
cp.reduce.async.bulk.tensor; 1d|2d|3d|4d|5d global shared::cta add|min|max|inc|dec|and|or|xor -|tile|im2col_no_offs \\
bulk_group -|HINT; *
mbarrier.init; -|SHARED b64; [shared] count
mbarrier.inval; -|SHARED b64; [shared]
mbarrier.arrive; -|release|relaxed -|cta|cluster -|noComplete -|SHARED|shared::cluster b64; =u64_? [shared] u32?
mbarrier.arrive.expect_tx; -|release|relaxed -|cta|cluster -|SHARED|shared::cluster b64; =u64_? [shared] u32
mbarrier.arrive_drop; -|release|relaxed -|cta|cluster -|noComplete -|SHARED|shared::cluster b64; =u64_? [shared] u32?
mbarrier.arrive_drop.expect_tx; -|release|relaxed -|cta|cluster -|SHARED|shared::cluster b64; =u64_? [shared] u32
mbarrier.expect_tx; -|relaxed -|cta|cluster -|SHARED|shared::cluster b64; [shared] u32
mbarrier.complete_tx; -|relaxed -|cta|cluster -|SHARED|shared::cluster b64; [shared] u32
mbarrier.test_wait; -|acquire|relaxed -|cta|cluster -|SHARED b64; =pred [shared] u64
mbarrier.test_wait.parity; -|acquire|relaxed -|cta|cluster -|SHARED b64; =pred [shared] parity
mbarrier.try_wait; -|acquire|relaxed -|cta|cluster -|SHARED b64; =pred [shared] u64 u32?
mbarrier.try_wait.parity; -|acquire|relaxed -|cta|cluster -|SHARED b64; =pred [shared] parity u32?
mbarrier.pending_count; b64; =u32 u64
bar.sync; ; barrier threads?
bar.arrive; ; barrier threads
bar.red; popc u32; =u32 barrier threads? pred
bar.red; and|or pred; =pred barrier threads? pred
bar.warp.sync; ; u32
bar.cta.sync; ; barrier threads?
bar.cta.arrive; ; barrier threads
bar.cta.red; popc u32; =u32 barrier threads? pred
bar.cta.red; and|or pred; =pred barrier threads? pred
barrier; sync -|aligned; barrier threads?
barrier; arrive -|aligned; barrier threads
barrier.red; popc -|aligned u32; =u32 barrier threads? pred
barrier.red; and|or -|aligned pred; =pred barrier threads? pred
barrier.cta; sync -|aligned; barrier threads?
barrier.cta; arrive -|aligned; barrier threads
barrier.cta.red; popc -|aligned u32; =u32 barrier threads? pred
barrier.cta.red; and|or -|aligned pred; =pred barrier threads? pred
barrier.cluster.arrive; -|release|relaxed -|aligned;
barrier.cluster.wait; -|acquire -|aligned;
shfl; -|sync up|down|bfly|idx b32; =b32| b32 b32 b32 u32?
vote; -|sync ballot b32; =b32 pred u32?
vote; -|sync all|any|uni pred; =pred pred u32?
match; any sync b32|b64; =u32 T u32
match; all sync b32|b64; =u32_| T u32
redux; sync add|min|max u32|s32; =u32 u32 u32
redux; sync and|or|xor b32; =u32 u32 u32
redux; sync min|max -|abs -|NaN f32; =f32 f32 u32
elect; sync; =u32_! u32
activemask; b32; =b32
ldmatrix; sync aligned SHAPE NUMBER -|trans -|SHARED b16|b8|b8x16 -|b6x16_p32|b4x16_p64; ={b32} [shared]
stmatrix; sync aligned SHAPE NUMBER -|trans -|SHARED b16|b8; [shared] {b32}
movmatrix; sync aligned SHAPE trans b16; =b32 %b32
mma; sync aligned SHAPE LAYOUT LAYOUT -|KIND -|block_scale -|SCALES -|satfinite FORMAT FORMAT FORMAT FORMAT \\
-|FORMAT -|and|xor -|popc -|rn|rz|rm|rp; ={D} {A} {B} {C} *
mma; sp|sp::ordered_metadata sync aligned SHAPE LAYOUT LAYOUT -|KIND -|block_scale -|SCALES -|satfinite FORMAT \\
FORMAT FORMAT FORMAT -|FORMAT -|and|xor -|popc; ={D} {A} {B} {C} metadata # *
wmma.load.a; sync aligned LAYOUT SHAPE -|SPACE FORMAT; ={A} [SPACE] u32?
wmma.load.b; sync aligned LAYOUT SHAPE -|SPACE FORMAT; ={A} [SPACE] u32?
wmma.load.c; sync aligned LAYOUT SHAPE -|SPACE FORMAT; ={D} [SPACE] u32?
wmma.store.d; sync aligned LAYOUT SHAPE -|SPACE FORMAT; [SPACE] {D} u32?
wmma.mma; -|and|xor -|popc sync aligned LAYOUT LAYOUT SHAPE -|rn|rz|rm|rp FORMAT FORMAT -|FORMAT -|FORMAT \\
-|satfinite; ={D} {A} {B} {C}
wgmma.fence; sync aligned;
wgmma.commit_group; sync aligned;
wgmma.wait_group; sync aligned; #
wgmma.mma_async; sync aligned SHAPE FORMAT FORMAT FORMAT -|and -|popc -|satfinite; ={D} descriptor u64 scale #? \\
#? #? #?
wgmma.mma_async; sp sync aligned SHAPE FORMAT FORMAT FORMAT -|satfinite; ={D} descriptor u64 u32 # scale #? #? #? #?
setmaxnreg.inc; sync aligned u32; #
setmaxnreg.dec; sync aligned u32; #
tex; -|base TEXTURE v2|v4 u32|s32|f32|f16x2 s32|f32; *
tex.level; TEXTURE v2|v4 u32|s32|f32|f16x2 s32|f32; *
tex.grad; TEXTURE v2|v4 u32|s32|f32|f16x2 f32; *
tld4; r|g|b|a TEXTURE v2|v4 u32|s32|f32|f16x2 f32; *
txq; -|level QUERY b32; *
suq; QUERY b32; *
istypep; texref|surfref|samplerref; *
suld.b; SURFACE -|LOADED -|v2|v4 b8|b16|b32|b64 trap|clamp|zero; *
sust.b; SURFACE -|STORED -|v2|v4 b8|b16|b32|b64 trap|clamp|zero; *
sust.p; SURFACE -|v2|v4 b32 trap|clamp|zero; *
sured.b; add|min|max|and|or 1d|2d|3d u32|u64|s32|s64|b32 trap|clamp|zero; *
sured.p; add|min|max|and|or 1d|2d|3d b32|b64 trap|clamp|zero; *
pmevent; -|mask; #
bra; -|uni; *
brx.idx; -|uni; *
call; -|uni; *
ret; -|uni;
exit; ;
trap; ;
brkpt; ;
"""

SYNTAXES: dict[str, tuple[Syntax, ...]] = _parsed(_TABLE)
"""The syntaxes by mnemonic, long names first (PTX ISA 9.1, the syntax of each instruction; ptxas 13.0 and 13.5 accept
the same orders of modifiers and kinds of operands, `tests/ptx/steps/data/spellings.txt`)."""
