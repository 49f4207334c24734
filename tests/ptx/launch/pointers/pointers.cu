// SPDX-License-Identifier: MIT
// Kernels that follow pointers in data: nvcc -ptx -arch=sm_80 pointers.cu -o pointers.ptx
#include <cstdint>

struct Node {
    int value;
    Node* next;
};

// The sum of a linked list, whose nodes are in any arrays.
extern "C" __global__ void sum_list(const Node* first, int* sum)
{
    int total = 0;
    for (const Node* node = first; node; node = node->next)
        total += node->value;
    *sum = total;
}

// Insert a node before the first.
extern "C" __global__ void push(Node** head, Node* node)
{
    node->next = *head;
    *head = node;
}

// scores[s][t] = the product of the query of sequence s and the key of its token t. Keys are in pages of 4 tokens of 32
// numbers; blocks[s][i] is the number of page i of a sequence, and pages[number] its address. A warp per token.
extern "C" __global__ void paged_scores(
    const float* const* pages, const int* blocks, const float* queries, float* scores, int pages_of_each)
{
    int s = blockIdx.y, t = blockIdx.x * (blockDim.x / 32) + threadIdx.x / 32, lane = threadIdx.x % 32;
    const float* page = pages[blocks[s * pages_of_each + t / 4]];
    float sum = queries[s * 32 + lane] * page[t % 4 * 32 + lane];
    for (int step = 16; step; step /= 2)
        sum += __shfl_xor_sync(0xffffffff, sum, step);
    if (lane == 0)
        scores[s * pages_of_each * 4 + t] = sum;
}

struct Size {
    int m, n, k;
};

struct Tensor {
    float* data;
    int64_t stride;
};

struct Epilogue {
    float alpha, beta;
    const float* alpha_address;
};

struct Params {
    Size size;
    Tensor a, b, c[2];
    Epilogue epilogue;
    uint8_t flags[3];
};

// c[1] = alpha a b + beta c[0]; a thread per element.
extern "C" __global__ void product(Params params)
{
    int i = blockIdx.x, j = threadIdx.x;
    if (i >= params.size.m || j >= params.size.n)
        return;
    float sum = 0;
    for (int k = 0; k < params.size.k; ++k)
        sum += params.a.data[i * params.a.stride + k] * params.b.data[k * params.b.stride + j];
    float alpha = params.epilogue.alpha_address ? *params.epilogue.alpha_address : params.epilogue.alpha;
    params.c[1].data[i * params.c[1].stride + j] =
        alpha * sum + params.epilogue.beta * params.c[0].data[i * params.c[0].stride + j];
}

// Each block of 32 threads adds 1 to the numbers of its array.
extern "C" __global__ void add_one(int* const* arrays)
{
    arrays[blockIdx.x][threadIdx.x] += 1;
}

// A copy in vectors of 16 bytes.
extern "C" __global__ void copy_vectors(const float4* const* from, float4* const* to)
{
    to[blockIdx.x][threadIdx.x] = from[blockIdx.x][threadIdx.x];
}
