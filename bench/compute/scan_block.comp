// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A
{
   uint a[];
};
layout(binding = 1) writeonly buffer B
{
   uint b[];
};
layout(binding = 2) writeonly buffer S
{
   uint sums[];
};
shared uint s[256];
void main()
{
   uint l = gl_LocalInvocationID.x, o = gl_WorkGroupID.x * 1024 + l * 4;
   uint v0 = a[o], v1 = v0 + a[o + 1], v2 = v1 + a[o + 2], v3 = v2 + a[o + 3];
   s[l] = v3;
   barrier();
   for (uint d = 1; d < 256; d <<= 1) {
      uint t = 0;
      if (l >= d)
         t = s[l - d];
      barrier();
      s[l] += t;
      barrier();
   }
   uint p = s[l] - v3;
   b[o] = p + v0;
   b[o + 1] = p + v1;
   b[o + 2] = p + v2;
   b[o + 3] = p + v3;
   if (l == 255)
      sums[gl_WorkGroupID.x] = s[255];
}
