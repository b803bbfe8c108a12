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
layout(binding = 1) buffer B
{
   uint b[];
};
shared uint s[512];
void cmp(uint i, uint j, bool up)
{
   uint x = s[i], y = s[j];
   if ((x > y) == up) {
      s[i] = y;
      s[j] = x;
   }
}
void main()
{
   uint l = gl_LocalInvocationID.x, o = gl_WorkGroupID.x * 512;
   if (p2 == 1) {
      s[l] = a[o + l];
      s[l + 256] = a[o + l + 256];
   } else {
      s[l] = b[o + l];
      s[l + 256] = b[o + l + 256];
   }
   barrier();
   for (uint k = p2 == 1 ? 2 : p1; k <= (p2 == 1 ? 512 : p1); k <<= 1)
      for (uint j = min(k >> 1, 256u); j > 0; j >>= 1) {
         uint i = ((l / j) * 2 * j) + (l % j);
         cmp(i, i + j, ((o + i) & k) == 0);
         barrier();
      }
   b[o + l] = s[l];
   b[o + l + 256] = s[l + 256];
}
