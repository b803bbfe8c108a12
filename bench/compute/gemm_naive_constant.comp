// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
const uint n = 1024;


layout(local_size_x = 16, local_size_y = 16) in;
layout(binding = 0) readonly buffer A
{
   float a[];
};
layout(binding = 1) readonly buffer B
{
   float b[];
};
layout(binding = 2) writeonly buffer C
{
   float c[];
};
void main()
{
   uint r = gl_GlobalInvocationID.y, q = gl_GlobalInvocationID.x;
   float s = 0;
   for (uint k = 0; k < n; k++)
      s += a[r * n + k] * b[k * n + q];
   c[r * n + q] = s;
}
