// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_integer_dot_product : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#include "common.glsl"

layout(local_size_x = 64) in;
layout(binding = 0) readonly buffer A
{
   uint a[];
};
layout(binding = 1) writeonly buffer B
{
   int b[];
};
layout(binding = 2) readonly buffer X
{
   uint x[];
};
shared int s[64];
void main()
{
   uint l = gl_LocalInvocationID.x, r = gl_WorkGroupID.x;
   int t = 0;
   for (uint k = l; k < n; k += 64)
      t += dotPacked4x8EXT(int(a[r * n + k]), int(x[k]));
   s[l] = t;
   barrier();
   for (uint d = 32; d > 0; d >>= 1) {
      if (l < d)
         s[l] += s[l + d];
      barrier();
   }
   if (l == 0)
      b[r] = s[0];
}
