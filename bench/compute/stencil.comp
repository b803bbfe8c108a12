// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 32, local_size_y = 4, local_size_z = 2) in;
layout(binding = 0) readonly buffer A
{
   float a[];
};
layout(binding = 1) writeonly buffer B
{
   float b[];
};
void main()
{
   uvec3 g = gl_GlobalInvocationID;
   uint s = n * n;
   uint i = (g.z * n + g.y) * n + g.x;
   if (g.x > 0 && g.y > 0 && g.z > 0 && g.x < n - 1 && g.y < n - 1 && g.z < n - 1)
      b[i] = f0 * a[i] + f1 * (a[i - 1] + a[i + 1] + a[i - n] + a[i + n] + a[i - s] + a[i + s]);
   else
      b[i] = a[i];
}
