// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 32, local_size_y = 8) in;
layout(binding = 0) readonly buffer A
{
   float a[];
};
layout(binding = 1) writeonly buffer B
{
   float b[];
};
shared float t[32][33];
void main()
{
   uint x = gl_LocalInvocationID.x, y = gl_LocalInvocationID.y, bx = gl_WorkGroupID.x * 32,
        by = gl_WorkGroupID.y * 32;
   for (uint j = 0; j < 32; j += 8)
      t[y + j][x] = a[(by + y + j) * n + bx + x];
   barrier();
   for (uint j = 0; j < 32; j += 8)
      b[(bx + y + j) * n + by + x] = t[x][y + j];
}
