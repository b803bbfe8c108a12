// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#version 460
#extension GL_GOOGLE_include_directive : require
#include "common.glsl"

#ifdef SAMPLED
Color resized()
{
   return textureLod(sampled, (vec2(place) + 0.5) / resized_side, 0).COMPONENTS;
}
#else
Color texel(ivec2 at)
{
   return load(clamp(at, ivec2(0), ivec2(side - 1)));
}

Color resized()
{
   const vec2 at = (vec2(place) + 0.5) / resized_side * side - 0.5;
   const ivec2 first = ivec2(floor(at));
   const vec2 part = at - vec2(first);
   return mix(mix(texel(first), texel(first + ivec2(1, 0)), part.x),
              mix(texel(first + ivec2(0, 1)), texel(first + ivec2(1, 1)), part.x), part.y);
}
#endif

void main()
{
   store(resized());
}
