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
void main()
{
   uint i = gl_GlobalInvocationID.x;
   if (i < n)
      b[i] = a[i];
}
