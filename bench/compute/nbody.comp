// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 256) in;
layout(binding = 0) readonly buffer A
{
   vec4 p[];
};
layout(binding = 1) writeonly buffer B
{
   vec4 acc[];
};
shared vec4 s[256];
void main()
{
   uint i = gl_GlobalInvocationID.x, l = gl_LocalInvocationID.x;
   vec3 me = p[i].xyz, r = vec3(0);
   for (uint t = 0; t < n; t += 256) {
      s[l] = p[t + l];
      barrier();
      for (uint j = 0; j < 256; j++) {
         vec3 d = s[j].xyz - me;
         float q = dot(d, d) + f0;
         float v = inversesqrt(q);
         r += d * (s[j].w * v * v * v);
      }
      barrier();
   }
   acc[i] = vec4(r, 0);
}
