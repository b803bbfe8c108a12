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
shared uint h[256];
void main()
{
   uint l = gl_LocalInvocationID.x, o = gl_WorkGroupID.x * 4096 + l;
   h[l] = 0;
   barrier();
   for (uint i = 0; i < 16; i++) {
      uint v = a[o + i * 256];
      atomicAdd(h[v & 255], 1);
      atomicAdd(h[(v >> 8) & 255], 1);
      atomicAdd(h[(v >> 16) & 255], 1);
      atomicAdd(h[v >> 24], 1);
   }
   barrier();
   atomicAdd(b[l], h[l]);
}
