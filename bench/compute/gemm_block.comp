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
shared float As[64][17], Bs[16][64];
void main()
{
   uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, l = gl_LocalInvocationIndex;
   uint r0 = gl_WorkGroupID.y * 64, q0 = gl_WorkGroupID.x * 64;
   float s[4][4];
   for (int i = 0; i < 4; i++)
      for (int j = 0; j < 4; j++)
         s[i][j] = 0;
   for (uint k = 0; k < n; k += 16) {
      for (uint e = l; e < 1024; e += 256) {
         As[e / 16][e % 16] = a[(r0 + e / 16) * n + k + e % 16];
         Bs[e / 64][e % 64] = b[(k + e / 64) * n + q0 + e % 64];
      }
      barrier();
      for (uint j = 0; j < 16; j++) {
         float av[4], bv[4];
         for (int i = 0; i < 4; i++) {
            av[i] = As[y * 4 + i][j];
            bv[i] = Bs[j][x + 16 * i];
         }
         for (int i = 0; i < 4; i++)
            for (int m = 0; m < 4; m++)
               s[i][m] += av[i] * bv[m];
      }
      barrier();
   }
   for (int i = 0; i < 4; i++)
      for (int m = 0; m < 4; m++)
         c[(r0 + y * 4 + i) * n + q0 + x + 16 * m] = s[i][m];
}
