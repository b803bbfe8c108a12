// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

layout(local_size_x = 256) in;
layout(binding = 1) buffer B
{
   uint b[];
};
void main()
{
   uint l = gl_GlobalInvocationID.x, k = p1, j = p2;
   uint i = ((l / j) * 2 * j) + (l % j);
   uint x = b[i], y = b[i + j];
   if ((x > y) == ((i & k) == 0)) {
      b[i] = y;
      b[i + j] = x;
   }
}
