#version 460
#extension GL_EXT_debug_printf : require
// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
//
// One invocation writes and prints a number. With a first word other than 0 in the buffer, another
// writes behind the buffer's end.

layout(local_size_x = 64) in;
layout(binding = 0) buffer Numbers { uint numbers[]; };

void main()
{
   if (gl_LocalInvocationIndex == 7) {
      const uint out_of_bounds = numbers[0];
      numbers[1] = numbers[2] * 3;
      debugPrintfEXT("numbers[1] is %u", numbers[1]);
      if (out_of_bounds != 0)
         numbers[out_of_bounds] = 1;
   }
}
