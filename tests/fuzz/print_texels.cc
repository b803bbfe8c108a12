// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Images and texel buffers.

#include "tests/fuzz/printer.h"

namespace weft::fuzz {

namespace {

/// "u", before "image2D" and "vec4"; nothing for floats
std::string prefix(Type type)
{
   if (is_float(type))
      return "";
   return (is_signed(type) ? "i" : "u") + std::string(bits(type) == 64 ? "64" : "");
}

/// "r32ui"
std::string format_name(Type type)
{
   return "r" + std::to_string(bits(type)) + (is_float(type) ? "f" : is_signed(type) ? "i" : "ui");
}

/// The type of the components that GLSL loads and stores.
const char *component_name(Type type)
{
   if (is_float(type))
      return "float";
   if (bits(type) == 64)
      return glsl_name(type);
   return is_signed(type) ? "int" : "uint";
}

const char *dimensions(Shape shape)
{
   static const char *const names[] = {"1D", "2D", "2DArray", "3D"};
   return names[int(shape)];
}

} // namespace

std::string Printer::texels_declaration(const Memory &memory, const std::string &name) const
{
   const std::string p = prefix(memory.type);
   switch (memory.storage) {
   case Storage::fetched_texels:
      return ") uniform " + p + "samplerBuffer " + name + ";\n";
   case Storage::sampled_image:
      return ") uniform " + p + "sampler" + dimensions(memory.shape) + " " + name + ";\n";
   default:
      return ", " + format_name(memory.type) + ") " +
             (memory.coherent ? "workgroupcoherent " : "") + "uniform " + p + "image" +
             (is_image(memory.storage) ? dimensions(memory.shape) : "Buffer") + " " + name + ";\n";
   }
}

std::string Printer::coordinate_of_element_functions() const
{
   const std::string lines = std::to_string(lines_of_slice) + "u";
   return "int line(uint e) { return int(e); }\n"
          "ivec2 plane(uint e, uint row) { return ivec2(e % row, e / row); }\n"
          "ivec3 slices(uint e, uint row)\n{\n"
          "   return ivec3(e % row, e / row % " +
          lines + ", e / (row * " + lines + "));\n}\n";
}

/// "mem3, plane(element, 16u)"
std::string Printer::texel_place(uint32_t memory, const std::string &element) const
{
   const Memory &m = program.memories[memory];
   const std::string name = "mem" + std::to_string(memory) + ", ";
   const std::string row = ", " + std::to_string(m.row) + "u)";
   if (!is_image(m.storage) || m.shape == Shape::line)
      return name + "line(" + element + ")";
   return name + (m.shape == Shape::plane ? "plane(" : "slices(") + element + row;
}

std::string Printer::load_texel(uint32_t memory, const std::string &element) const
{
   const Memory &m = program.memories[memory];
   const std::string place = texel_place(memory, element);
   std::string texel;
   if (m.storage == Storage::fetched_texels)
      texel = "texelFetch(" + place + ")";
   else if (m.storage == Storage::sampled_image && m.shape == Shape::plane && m.seed % 2) {
      // The centre of the texel, whose nearest texel is the texel itself.
      const TexelExtent extent = texel_extent(m);
      const std::string comma = ", ";
      texel = "textureLod(" + place.substr(0, place.find(comma)) + comma + "(vec2(" +
              place.substr(place.find(comma) + comma.size()) + ") + 0.5) / vec2(" +
              std::to_string(extent.width) + comma + std::to_string(extent.height) + "), 0.0)";
   } else if (m.storage == Storage::sampled_image)
      texel = "texelFetch(" + place + ", 0)";
   else
      texel = "imageLoad(" + place + ")";
   return std::string(glsl_name(m.type)) + "(" + texel + ".x)";
}

std::string Printer::store_texel(uint32_t memory, const std::string &element,
                                 const std::string &value) const
{
   const Type type = program.memories[memory].type;
   return "imageStore(" + texel_place(memory, element) + ", " + prefix(type) + "vec4(" +
          component_name(type) + "(" + value + ")))";
}

} // namespace weft::fuzz
