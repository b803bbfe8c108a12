// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 256) in;
layout(binding = 2) buffer S
{
   uint sums[];
};
shared uint s[256];
void main()
{
   uint l = gl_LocalInvocationID.x, m = n / 256;
   uint t = 0;
   for (uint i = 0; i < m; i++)
      t += sums[l * m + i];
   s[l] = t;
   barrier();
   for (uint d = 1; d < 256; d <<= 1) {
      uint u = 0;
      if (l >= d)
         u = s[l - d];
      barrier();
      s[l] += u;
      barrier();
   }
   uint p = s[l] - t;
   for (uint i = 0; i < m; i++) {
      uint v = sums[l * m + i];
      sums[l * m + i] = p;
      p += v;
   }
}
