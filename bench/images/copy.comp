// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

void main()
{
   store(load(place));
}
