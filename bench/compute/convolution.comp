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
layout(binding = 1) writeonly buffer B
{
   float b[];
};
layout(binding = 2) readonly buffer W
{
   float w[];
};
shared float t[20][20];
void main()
{
   ivec2 l = ivec2(gl_LocalInvocationID.xy), o = ivec2(gl_WorkGroupID.xy) * 16 - 2;
   int N = int(n);
   for (int k = int(gl_LocalInvocationIndex); k < 400; k += 256) {
      int y = k / 20, x = k % 20;
      ivec2 p = clamp(o + ivec2(x, y), ivec2(0), ivec2(N - 1));
      t[y][x] = a[p.y * N + p.x];
   }
   barrier();
   float s = 0;
   for (int y = 0; y < 5; y++)
      for (int x = 0; x < 5; x++)
         s += w[y * 5 + x] * t[l.y + y][l.x + x];
   b[gl_GlobalInvocationID.y * n + gl_GlobalInvocationID.x] = s;
}
