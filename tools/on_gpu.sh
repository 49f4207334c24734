#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Record everything on this machine's GPU, check it against the emulator, run the tests that need a GPU.
#
#     OUT=out bash tools/on_gpu.sh
#
# Writes the recordings, sources.json and log.txt under $OUT (out). Each step has a time limit, and the next one runs
# whatever became of it. Needs nvcc, NumPy, ml_dtypes and cuda-core; PyTorch for the products of cuBLAS; pytest for the
# tests. PYTHON=... names another interpreter; PER_GROUP=1e9 makes the campaign that of docs/evidence. Takes about ten
# minutes.
set -u
cd "$(dirname "$0")/.."
out=${OUT:-out}
python=${PYTHON:-python3}
mkdir -p "$out"
log="$out/log.txt"
: > "$log"
export PYTHONPATH=.${PYTHONPATH:+:$PYTHONPATH} PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
table=""
failed=0

step() { # name, seconds, command...
    local name=$1 limit=$2 started=$SECONDS status
    shift 2
    echo "=== $name" | tee -a "$log"
    timeout -k 10 "$limit" "$@" > "$out/step.txt" 2>&1
    status=$?
    cat "$out/step.txt" >> "$log"
    tail -n "${show:-12}" "$out/step.txt" | cut -c 1-200
    rm -f "$out/step.txt"
    [ "$status" -eq 0 ] || failed=1
    table+=$(printf '%-28s status %3d, %4d s' "$name" "$status" $((SECONDS - started)))$'\n'
}

versions() {
    nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv,noheader
    nvcc --version | tail -n 2
    "$python" --version
    "$python" - <<'PY'
from importlib import metadata
for name in ("numpy", "ml_dtypes", "cuda-core", "torch", "cupy-cuda13x", "pytest", "hypothesis"):
    try:
        print(name, metadata.version(name))
    except metadata.PackageNotFoundError:
        print(name, "is not installed")
PY
}
export -f versions
export python

compare() { # the committed file of this name, if there is one
    [ ! -e "tests/data/$1" ] || echo "--compare tests/data/$1"
}

step "versions" 60 bash -c versions
step "record registers" 120 "$python" -m tools.record_registers --out "$out/sm90_registers.npz"
step "record WMMA layouts" 90 "$python" -m tools.record_wmma_layouts --out "$out/sm90_wmma_layouts.npz" \
    --compare tests/data/sm90_wmma_layouts.npz
step "record WMMA products" 240 "$python" -m tools.record_wmma_products --out "$out/sm90_wmma_products.npz" \
    $(compare sm90_wmma_products.npz)
step "record examples" 60 "$python" -m tools.record_examples --out "$out/sm90_examples.npz" \
    $(compare sm90_examples.npz)
cuda_examples() {
    local folder file failed=0
    folder=$(mktemp -d)
    for file in examples/*.cu; do
        nvcc -arch=native "$file" -o "$folder/example" && "$folder/example" || failed=1
    done
    rm -r "$folder"
    return "$failed"
}
export -f cuda_examples
step "run examples" 90 bash -c cuda_examples
step "record cuBLAS" 300 "$python" -m tools.record_cublas --out "$out/sm90_cublas.npz"
step "record cuBLAS, models" 200 "$python" -m tools.record_cublas --models --out "$out/sm90_cublas_models.npz"
step "products of models" 250 "$python" -m tools.model_products record --out "$out/model-products.json"
step "record FP8 with scales" 200 "$python" -m tools.record_scaled_mm --out "$out/sm90_scaled_mm.npz"
step "record instructions" 300 "$python" -m tools.record_instructions --out "$out/sm90_instructions.npz" \
    $(compare sm90_instructions.npz)
step "record conversions" 90 "$python" -m tools.record_conversions --out "$out/sm90_conversions.npz" \
    $(compare sm90_conversions.npz)
step "record bank conflicts" 120 "$python" -m tools.record_bank_conflicts --out "$out/sm90_bank_conflicts.npz"
step "record approximations" 90 "$python" -m tools.record_approx --out "$out/sm90_approx.npz" \
    $(compare sm90_approx.npz)
step "prove approximations" 200 "$python" -m tools.prove_approx --json "$out/approximate-functions.json"
step "record kernels in PTX" 120 "$python" -m tools.record_ptx_kernels --out "$out/sm90_ptx_kernels.npz" \
    $(compare sm90_ptx_kernels.npz)
step "record scalars in PTX" 200 "$python" -m tools.record_ptx_scalars --out "$out/sm90_ptx_scalars.npz"
step "record atomics in PTX" 90 "$python" -m tools.record_ptx_atomics --out "$out/sm90_ptx_atomics.npz" \
    $(compare sm90_ptx_atomics.npz)
step "record video in PTX" 90 "$python" -m tools.record_ptx_video --out "$out/sm90_ptx_video.npz" \
    $(compare sm90_ptx_video.npz)
step "record textures" 60 "$python" -m tools.record_textures "$out/sm90_textures.npz"
step "mma.h by NVRTC, layouts" 90 "$python" -m tools.record_wmma_layouts --compiler nvrtc \
    --out "$out/nvrtc_wmma_layouts.npz" --compare tests/data/sm90_wmma_layouts.npz
step "mma.h by NVRTC, products" 240 "$python" -m tools.record_wmma_products --compiler nvrtc \
    --out "$out/nvrtc_wmma_products.npz" $(compare sm90_wmma_products.npz)
step "wgmma in shared memory" 300 "$python" -m tools.wgmma_probe_cases --gpu
step "campaign" 600 "$python" -m wmma_emu crosscheck --per-group "${PER_GROUP:-1e8}" --seed 1 \
    --state "$out/campaign.json" --rows "$out/mismatches.json" --report "$out/campaign.html" --report "$out/campaign.txt"
step "probe" 500 "$python" -m tools.probe_models --gpu --json "$out/probe.json"
step "check registers, numpy" 60 "$python" -m tools.check_registers "$out/sm90_registers.npz" --quiet
show=180 step "check cuBLAS" 300 "$python" -m tools.check_cublas "$out/sm90_cublas.npz"
step "check registers, reference" 90 "$python" -m tools.check_registers "$out/sm90_registers.npz" --quiet \
    --engine reference --first-tiles 1
gpu_tests() { # it is not a failure if no test is marked
    "$python" -m pytest -m gpu -q -p no:cacheprovider -p no:benchmark tests/gpu
    local status=$?
    [ "$status" -eq 5 ] || return "$status"
}
export -f gpu_tests
step "tests that need a GPU" 400 bash -c gpu_tests
echo
ls -l "$out"
printf '%s' "$table" | tee -a "$log"
exit "$failed"
