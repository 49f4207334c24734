# SPDX-License-Identifier: MIT
"""Names are demangled as by c++filt, and no input makes the demangler fail."""

import random
import shutil
import subprocess

import pytest

from wmma_emu.ptx.cpp.demangle import demangle
from wmma_emu.ptx.cpp.tree import shown

CUB = "_ZN3cub63CUB_300102_SM_500_520_600_610_700_750_800_860_890_900_1000_12006detail"

NAMES = [
    ("_Z2k1PKfPfi1P", "k1(const float*, float*, int, P)"),
    ("_Z2k2P6__halfP7__half2P13__nv_bfloat16P13__nv_fp8_e4m3P5uint4PKvPhPSt4byte",
     "k2(__half*, __half2*, __nv_bfloat16*, __nv_fp8_e4m3*, uint4*, const void*, unsigned char*, std::byte*)"),
    ("_Z2k3IL4Enum1EL6Scoped1ELb1ELin3EiLi5EEvPT3_3BoxIS2_ENS5_5InnerESt17integral_constantIiXT2_EE",
     "k3<(Enum)1, (Scoped)1, true, -3, int, 5>(int*, Box<int>, Box<int>::Inner, std::integral_constant<int, -3>)"),
    ("_ZNVK3Box3getEi", "Box::get(int)"),
    ("_Z2k5IJfiKdEEvDpPT_", "k5<float, int, const double>(float*, int*, const double*)"),
    ("_Z2k6IJEEvDpT_", "k6<>()"),
    ("_Z2k6IJPfi3BoxIS0_ES0_EEvDpT_", "k6<float*, int, Box<float*>, float*>(float*, int, Box<float*>, float*)"),
    ("_Z2k8PfPA4_iRfPFiiS_E", "k8(float*, int (*)[4], float&, int (*)(int, float*))"),
    ("_Z2k9IdENSt9enable_ifIXgtstT_Li2EEvE4typeEPS1_PDTplcvS1__ELf3f800000EE",
     "k9<double>(double*, decltype(((double)()) + ((float)3f800000))*)"),
    ("_Z3k10IfLi0EEvPT_", "k10<float, 0>(float*)"),
    ("_Z3k11I3BoxfEvPT_IT0_EPS1_IS3_EPKPS2_PVS2_PS7_",
     "k11<Box, float>(Box<float>*, Box<Box<float>>*, float* const*, volatile float*, float**)"),
    ("_Z3k12IXadL_Z4globEELc99EEvPN4cuda3std3__47complexIfEEPwPDsPnPeDnPbmPlPjPa",
     "k12<&(glob), (char)99>(cuda::std::__4::complex<float>*, wchar_t*, char16_t*, __int128*, long double*, "
     "std::nullptr_t, bool*, unsigned long, long*, unsigned int*, signed char*)"),
    ("_Z2k4IZ4hostvEUlfE0_EvPfT_", "k4<host()::'lambda0'(float)>(float*, host()::'lambda0'(float))"),
    ("_Z3k14IfLi4EEvPAT0__T_P3BoxIS1_E", "k14<float, 4>(float (*)[4], Box<float[4]>*)"),
    ("_Z3k15ILi3EEvRAplT_Li1E_fP3BoxISt17integral_constantIiXplmlT_Li2ELi1EEEE",
     "k15<3>(float (&)[(3) + (1)], Box<std::integral_constant<int, ((3) * (2)) + (1)>>*)"),
    ("_ZN39_GLOBAL__N__96626824_7_hard_cu_9660309f2k7EPf", "(anonymous namespace)::k7(float*)"),
    ("__nv_static_28__96626824_7_hard_cu_9660309f__Z2k8PfPA4_iRf", "k8(float*, int (*)[4], float&)"),
    ("_Z8gen_mtgpI17curandStateMtgp32jdXadL_Z22curand_poisson_dynamicjdEEEvPT_PT0_mmT1_",
     "gen_mtgp<curandStateMtgp32, unsigned int, double, &(curand_poisson_dynamic(unsigned int, double))>"
     "(curandStateMtgp32*, unsigned int*, unsigned long, unsigned long, double)"),
    ("_Z18kQuantizeBlockwiseI13__nv_bfloat16Li128ELi2ELi0ELi0EEvPfPT_S1_PhS1_ii",
     "kQuantizeBlockwise<__nv_bfloat16, 128, 2, 0, 0>"
     "(float*, __nv_bfloat16*, float*, unsigned char*, float*, int, int)"),
    (f"{CUB}10radix_sort33DeviceRadixSortExclusiveSumKernelINS1_5radix10policy_hubIiNS0_8NullTypeEyE10Policy1000EyEE"
     "vPT0_", None),
    ("_ZSt3getILm0EJlllEERNSt13tuple_elementIXT_ESt5tupleIJDpT0_EEE4typeERS4_", None),
    ("_ZN5torch6stable6detail19box_from_tuple_implIJlllEJLm0ELm1ELm2EEEEvPmSt5tupleIJDpT_EESt16integer_sequenceImJX"
     "spT0_EEE", None),
]  # fmt: skip
"""Names of kernels compiled with nvcc 13.0, and of libraries on PyPI (bitsandbytes, CuPy, cuRAND, xFormers)."""


def written(mangled):
    found = demangle(mangled)
    return f"{shown(found.name)}({', '.join(map(shown, found.parameters))})"


@pytest.mark.parametrize(("mangled", "text"), [x for x in NAMES if x[1] is not None])
def test_a_mangled_name_is_demangled(mangled, text):
    assert written(mangled) == text


@pytest.mark.skipif(shutil.which("c++filt") is None, reason="needs c++filt")
@pytest.mark.parametrize("mangled", [x[0] for x in NAMES if x[0].startswith("_Z") and "3k12" not in x[0]])
def test_parameter_types_match_itanium_demangler(mangled):
    text = subprocess.run(["c++filt", mangled], capture_output=True, text=True, check=True).stdout.strip()
    if text == mangled or "{lambda" in text or "decltype" in text:
        pytest.skip("c++filt does not read it, or writes it otherwise")

    def plain(x):  # ignore the position of const, spaces, number suffixes and brackets around types
        for word in ("const", "volatile", " ", "(", ")", "ul", "u,"):
            x = x.replace(word, "," if word == "u," else "")
        return x

    assert plain(text).endswith(plain(f"({', '.join(map(shown, demangle(mangled).parameters))})"))


@pytest.mark.parametrize("name", ["scale", "_Z", "_Z99short", "_ZN3a", "_Z1kS_", "_Z1kIfEvPT1_", "_Z1k" + "P" * 5000,
                                  "_Z1k3BoxIS_E?", ""])  # fmt: skip
def test_a_name_that_is_not_mangled_is_not_demangled(name):
    assert demangle(name) is None


def test_no_input_makes_the_demangler_fail():
    draw = random.Random(0)
    letters = "NSTIEXLJDPRKCZUAFM_0123Btpclvsrdn."
    for mangled, _ in NAMES:
        for end in range(0, len(mangled), 3):
            demangle(mangled[:end])
            place = draw.randrange(2, len(mangled))
            found = demangle(mangled[:place] + draw.choice(letters) + mangled[place + draw.randrange(2) :])
            if found is not None:
                shown(found.name), [shown(x) for x in found.parameters or ()], found.plain_name


def test_a_type_that_expands_exponentially_is_not_demangled():
    doubled = "".join(f"FvS{x}_S{x}_E" for x in "0123456789ABCDEFGHIJKLMNOPQRST")
    assert demangle(f"_Z1kP1a{doubled}") is None
    assert shown(demangle(f"_Z1kP1a{doubled[:18]}").parameters[2]) == "void (void (a*, a*), void (a*, a*))"
