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
   b[gl_GlobalInvocationID.x] = 0;
}
