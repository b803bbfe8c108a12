// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_shader_subgroup_arithmetic : require
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
shared float s[64];
void main()
{
   uint l = gl_LocalInvocationID.x, o = gl_WorkGroupID.x * 1024 + l;
   float v = subgroupAdd(a[o] + a[o + 256] + a[o + 512] + a[o + 768]);
   if (subgroupElect())
      s[gl_SubgroupID] = v;
   barrier();
   if (l == 0) {
      float t = 0;
      for (uint i = 0; i < gl_NumSubgroups; i++)
         t += s[i];
      b[gl_WorkGroupID.x] = t;
   }
}
