// SPDX-License-Identifier: MIT
struct Node { int value; Node* next; };
extern "C" __global__ void list(int* out, int n) {
    Node* first = 0;
    int made = 0;
#pragma unroll 1
    for (int i = 0; i < n; i++) {
        Node* node = (Node*)malloc(sizeof(Node));
        if (!node) break;
        node->value = i * threadIdx.x; node->next = first; first = node; made++;
    }
    int sum = 0;
    while (first) { sum += first->value; Node* next = first->next; free(first); first = next; }
    out[2 * threadIdx.x] = sum; out[2 * threadIdx.x + 1] = made;
}
extern "C" __global__ void freed_twice(int* out) { int* p = (int*)malloc(8); p[1] = 2; out[threadIdx.x] = p[1]; free(p); if (threadIdx.x == 3) free(p); }
extern "C" __global__ void used_after(int* out) { int* p = (int*)malloc(8); p[0] = 1; free(p); out[threadIdx.x] = p[0]; }
extern "C" __global__ void past_the_end(int* out) { volatile int* p = (int*)malloc(8); p[1] = 1; out[threadIdx.x] = p[2]; }
extern "C" __global__ void never_written(int* out) { volatile int* p = (int*)malloc(8); p[0] = 1; out[threadIdx.x] = p[1]; }
extern "C" __global__ void inside(int* out) { int* p = (int*)malloc(8); p[0] = 1; out[threadIdx.x] = p[0]; free(p + 1); }
extern "C" __global__ void foreign(int* out) { free(out); }
