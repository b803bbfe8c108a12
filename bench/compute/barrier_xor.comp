// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 256) in;
layout(binding = 1) writeonly buffer B
{
   uint b[];
};
shared uint s[256];
void main()
{
   uint l = gl_LocalInvocationID.x;
   s[l] = gl_GlobalInvocationID.x;
   barrier();
   for (uint k = 0; k < n; k++) {
      uint t = s[l ^ 32];
      barrier();
      s[l] = t * 1664525 + l;
      barrier();
   }
   b[gl_GlobalInvocationID.x] = s[l];
}
