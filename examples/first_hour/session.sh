# The commands of docs/_static/caught-race.svg: python -m tools.terminal_picture examples/first_hour docs/_static/caught-race.svg
pytest -q --tb=short
sed -i '16a\        __syncthreads();' gemm.cu
sed -n '14,18p' gemm.cu
pytest -q --tb=short
