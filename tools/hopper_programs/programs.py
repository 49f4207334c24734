# SPDX-License-Identifier: MIT
"""The list of programs: where each is from, what is edited before it is compiled, and how it is run."""

from typing import NamedTuple

__all__ = ["PROGRAMS", "REPOSITORIES", "Edit", "Program"]

REPOSITORIES = {"cutlass": "NVIDIA/cutlass", "googletest": "google/googletest"}
"""Names of checkouts on the command line, and the repositories on GitHub."""


class Edit(NamedTuple):
    """A string that is replaced everywhere in a file."""

    old: str
    new: str


class Program(NamedTuple):
    """A program.

    Parameters
    ----------
    name : str
        Of the binary, the recordings and the row of the table.
    file : str
        In the checkout of CUTLASS.
    arguments : str
        Of the program: small problems.
    edits : tuple of Edit
        Before it is compiled. Clusters of more than one block become clusters of one.
    only : str
        A regular expression of the names of kernels that are recorded.
    each : int
        How often one kernel is recorded.
    is_test : bool
        It is a unit test, which needs GoogleTest.
    test : str
        Of a file with unit tests, the only one that is compiled; all if empty.
    """

    name: str
    file: str
    arguments: str = ""
    edits: tuple[Edit, ...] = ()
    only: str = "device_kernel"
    each: int = 1
    is_test: bool = False
    test: str = ""

    @property
    def ptx_name(self) -> str:
        """The name of its PTX."""
        return self.name

    @property
    def row(self) -> str:
        """The line that tells the script how to run it."""
        return "\t".join([self.name, self.only or ".", str(self.each), self.arguments])


_CLUSTER_OF_TWO = Edit("ClusterShape        = Shape<_1,_2,_1>", "ClusterShape        = Shape<_1,_1,_1>")
_ONE_BLOCK = (_CLUSTER_OF_TWO,)


def _example(name: str, folder: str, arguments: str, edits: tuple[Edit, ...] = (), each: int = 1) -> Program:
    return Program(name, f"examples/{folder}/{name}.cu", arguments, edits, each=each)


def _unit_test(name: str, edits: tuple[Edit, ...] = ()) -> Program:
    return Program(f"test_{name}", f"test/unit/cute/hopper/{name}.cu", edits=edits, only="", each=4, is_test=True)


def _tests_of(name: str, tests: tuple[str, ...]) -> tuple[Program, ...]:
    """Return a program for each unit test of a file, for one type where it has four: compiling all takes long."""
    calls = ("", "_swizzle_atom_mn", "_swizzle_atom_k", "_swizzle_tile_mn", "_swizzle_tile_k")
    types = {True: ("half_t,",), False: ("half_t,", " float,", "double,")}
    left_out = [f"test_{name}<{x}>(gmem_layout, smem_layout)" for x in ("half_t", " float", "double")]
    left_out += [f"  test_{name}{x}<{kind}" for x in calls[1:] for kind in types["tile" in x]]
    edits = tuple(Edit(x, f"// {x}") for x in left_out)
    return tuple(_unit_test(name, edits)._replace(name=f"test_{name}_{i}", test=test) for i, test in enumerate(tests))


_LOADS = (
    "Tma_Load_1D", "Tma_Load_32x32_Col", "Tma_Load_32x32_Row", "Tma_Load_Swizzle_Atoms", "Tma_Load_Swizzle_Tiles",
    "Tma_Load_Tensor", "Tma_Load_Tensor_Multimode", "Tma_Load_Coalesce", "Tma_Load_InternalType",
)  # fmt: skip
_STORES = (
    "Tma_Load_1D", "Tma_Store_32x32_Col", "Tma_Store_32x32_Row", "Tma_Store_Swizzle_Atoms", "Tma_Store_Swizzle_Tiles",
    "Tma_Store_Tensor", "Tma_Store_Tensor_Multimode",
)  # fmt: skip
"""The names of the unit tests, in the order of their files."""


PROGRAMS = (
    Program("wgmma_sm90", "examples/cute/tutorial/hopper/wgmma_sm90.cu", "256 128 192", only="gemm_device"),
    Program(
        "wgmma_tma_sm90", "examples/cute/tutorial/hopper/wgmma_tma_sm90.cu", "256 128 320",
        (Edit("dim3 dimCluster(2, 1, 1)", "dim3 dimCluster(1, 1, 1)"),), only="gemm_device",
    ),
    _unit_test("bulk_load"),
    _unit_test("bulk_store"),
    _unit_test("stsm"),
    _example(
        "48_hopper_warp_specialized_gemm", "48_hopper_warp_specialized_gemm",
        "--m=136 --n=260 --k=96 --alpha=1.25 --beta=0.5 --iterations=0",
        (Edit("ClusterShape        = Shape<_4,_2,_1>", "ClusterShape        = Shape<_1,_1,_1>"),),
    ),
    _example(
        "54_hopper_fp8_warp_specialized_gemm", "54_hopper_fp8_warp_specialized_gemm",
        "--m=144 --n=272 --k=384 --l=1 --alpha=1.25 --beta=0.5 --iterations=0", _ONE_BLOCK,
    ),
    _example(
        "62_hopper_sparse_gemm", "62_hopper_sparse_gemm",
        "--m=256 --n=128 --k=512 --l=1 --alpha=1.25 --beta=0.5 --iterations=0", _ONE_BLOCK, each=2,
    ),
    _example(
        "56_hopper_ptr_array_batched_gemm", "56_hopper_ptr_array_batched_gemm",
        "--m=128 --n=128 --k=128 --l=3 --alpha=1.25 --beta=0.5 --iterations=0", (_CLUSTER_OF_TWO,), each=2,
    ),
    _example(
        "57_hopper_grouped_gemm", "57_hopper_grouped_gemm",
        "--m=128 --n=128 --k=128 --groups=3 --alpha=1.25 --beta=0.5 --iterations=0",
        (_CLUSTER_OF_TWO, Edit("ClusterShape        = Shape<_2,_1,_1>", "ClusterShape        = Shape<_1,_1,_1>")),
        each=2,
    ),
    _example(
        "50_hopper_gemm_with_epilogue_swizzle", "50_hopper_gemm_with_epilogue_swizzle",
        "--m=256 --n=128 --k=256 --alpha=1 --beta=1",
        (Edit("ClusterShape = Shape<_1,_2,_1>", "ClusterShape = Shape<_1,_1,_1>"),),
    ),
    _example(
        "67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling",
        "67_hopper_fp8_warp_specialized_gemm_with_blockwise_scaling",
        "--m=256 --n=128 --k=512 --l=1 --alpha=1.25 --beta=0.5 --iterations=0", _ONE_BLOCK,
    ),
    _example(
        "55_hopper_mixed_dtype_gemm", "55_hopper_mixed_dtype_gemm",
        "--m=256 --n=128 --k=512 --l=1 --iterations=0 --warmup=0 --mode=1", each=2,
    ),
    _example(
        "61_hopper_gemm_with_topk_and_softmax", "61_hopper_gemm_with_topk_and_softmax",
        "--m=256 --n=64 --k=128 --iterations=0",
    ),
    _example(
        "63_hopper_gemm_with_weight_prefetch", "63_hopper_gemm_with_weight_prefetch",
        "--m=256 --n=128 --k=512 --iterations=0",
    ),
    _example(
        "49_collective_builder", "49_hopper_gemm_with_collective_builder", "--m=256 --n=256 --k=128",
        (Edit("Shape<_128,_128,_64>, Shape<_2,_1,_1>", "Shape<_128,_128,_64>, Shape<_1,_1,_1>"),),
    ),
    *_tests_of("tma_load", _LOADS),
    *_tests_of("tma_store", _STORES),
)  # fmt: skip
"""In the order in which they are built; what takes longest comes last."""
