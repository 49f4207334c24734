// SPDX-License-Identifier: MIT
// Variables of many types. `nvcc -G -ptx` of CUDA 13.0 made shapes_sm_90.ptx and shapes_sm_100.ptx of it.

struct Point { float x, y; int z[3]; };
struct Base { int tag; };
struct Node : Base { Node* next; union { float f; int i; }; Point at[2]; static const int count = 3; short flag : 3; };
union Word { unsigned int bits; unsigned short halves[2]; float value; };
template <class T, int M, int N> struct Tile { T v[M][N]; };

__device__ Point points[10];
__constant__ float factors[16];
namespace ns { __device__ int counter; }
__shared__ int outer[12];

extern "C" __global__ void first(float* x, const Point* p, int n) {
  __shared__ float tile[2][32][36];
  __shared__ Node nodes[4];
  extern __shared__ float dynamic[];
  int kept[8];
  kept[n & 7] = n;
  tile[n & 1][1][threadIdx.x & 31] = x[n] + factors[n & 15];
  nodes[n & 3].f = p[n].y;
  dynamic[n] = tile[0][0][0] + kept[0];
  points[n].z[1] = ns::counter + outer[n];
  x[0] = nodes[0].at[1].z[2];
}

template <class T, int N> __global__ void second(T* x, volatile const T (*rows)[N], Tile<T, 2, 3> value) {
  __shared__ Tile<T, 4, N> tile;
  __shared__ float4 wide[5];
  __shared__ Word words[3];
  { __shared__ int one; one = threadIdx.x; x[0] = one; }
  { __shared__ double one; one = threadIdx.x; x[1] = one; }
  tile.v[threadIdx.x & 3][1] = rows[1][0];
  wide[1].y = value.v[1][1];
  words[1].halves[1] = 3;
  x[2] = tile.v[0][0] + wide[0].x + words[0].value;
}
template __global__ void second<float, 8>(float*, volatile const float (*)[8], Tile<float, 2, 3>);
