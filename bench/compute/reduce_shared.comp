// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A
{
   float a[];
};
layout(binding = 1) writeonly buffer B
{
   float b[];
};
shared float s[256];
void main()
{
   uint l = gl_LocalInvocationID.x, o = gl_WorkGroupID.x * 1024 + l;
   s[l] = a[o] + a[o + 256] + a[o + 512] + a[o + 768];
   barrier();
   for (uint d = 128; d > 0; d >>= 1) {
      if (l < d)
         s[l] += s[l + d];
      barrier();
   }
   if (l == 0)
      b[gl_WorkGroupID.x] = s[0];
}
