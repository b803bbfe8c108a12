// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

// Of a separable filter.
const float weights[5] = float[](0.06, 0.24, 0.4, 0.24, 0.06);

Color texel(ivec2 at)
{
#ifdef SAMPLED
   return textureLod(sampled, (vec2(at) + 0.5) / side, 0).COMPONENTS;
#else
   return load(clamp(at, ivec2(0), ivec2(side - 1)));
#endif
}

void main()
{
   Color sum = Color(0);
   for (int y = -2; y <= 2; y++) {
      for (int x = -2; x <= 2; x++)
         sum += weights[y + 2] * weights[x + 2] * texel(place + ivec2(x, y));
   }
   store(sum);
}
