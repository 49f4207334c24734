// SPDX-License-Identifier: MIT
typedef unsigned char byte;
__global__ void pack(const byte* red, const byte* green, uchar2* out)
{
    __shared__ uchar2 pixels[32];
    pixels[threadIdx.x].x = red[threadIdx.x];
    pixels[threadIdx.x].y = green[threadIdx.x];
    __syncwarp();
    out[threadIdx.x] = pixels[31 - threadIdx.x];
}
