// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 1) writeonly buffer B
{
   uint b[];
};
void main()
{
   uvec2 g = gl_GlobalInvocationID.xy;
   float cx = -2.0 + f0 * float(g.x), cy = -1.25 + f1 * float(g.y), x = 0, y = 0;
   uint it = 0;
   while (it < p1) {
      float x2 = x * x, y2 = y * y;
      if (x2 + y2 > 4.0)
         break;
      y = 2 * x * y + cy;
      x = x2 - y2 + cx;
      it++;
   }
   b[g.y * n + g.x] = it;
}
