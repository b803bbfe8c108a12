// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) readonly buffer A
{
   float a[];
};
layout(binding = 1) readonly buffer B
{
   float b[];
};
layout(binding = 2) writeonly buffer C
{
   float c[];
};
shared float As[16][16], Bs[16][16];
void main()
{
   uint r = gl_GlobalInvocationID.y, q = gl_GlobalInvocationID.x;
   uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y;
   float s = 0;
   for (uint k = 0; k < n; k += 16) {
      As[y][x] = a[r * n + k + x];
      Bs[y][x] = b[(k + y) * n + q];
      barrier();
      for (uint j = 0; j < 16; j++)
         s += As[y][j] * Bs[j][x];
      barrier();
   }
   c[r * n + q] = s;
}
