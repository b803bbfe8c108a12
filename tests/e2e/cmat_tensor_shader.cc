// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/cmat_tensor.h"

#include <initializer_list>

namespace weft::e2e::tensor {
namespace {

const char *const text = R"(
layout(local_size_x = $SIZE) in;
layout(push_constant, std430) uniform Push { uvec2 address; } push;
layout(constant_id = 0) const bool never = false;
$BLOCKS
#define group gl_WorkGroupID.x
$DECODE
$LAYOUT sliced($LAYOUT t)
{
   return sliceTensorLayoutNV(t, $SLICE);
}
void main()
{
   $MATRIX m;
   coopMatLoad(m, objects.data, group * $ELEMENTS, $COLS, gl_CooperativeMatrixLayoutRowMajor);
   $LAYOUT t = createTensorLayoutNV($DIM, $CLAMP);
   t = setTensorLayoutBlockSizeNV(t, $BLOCK_SIZE);
   t = setTensorLayoutDimensionNV(t, $DIMENSION);
   if ($SETS_STRIDE != 0)
      t = setTensorLayoutStrideNV(t, $STRIDE);
   t = sliced(t);
   if ($SLICES_TWICE != 0)
      t = sliceTensorLayoutNV(t, $SECOND_SLICE);
   t = setTensorLayoutClampValueNV(t, $CLAMP_VALUE);
   $VIEW
   $CALL
   $COPY_IN
   $ACCESS
   $AFTER
}
)";

std::string numbers(const Variant &v, const Case &c, std::initializer_list<Place> places,
                    uint32_t count)
{
   std::string out;
   for (uint32_t i = 0; i < count; i++) {
      for (Place place : places) {
         out += out.empty() ? "" : ", ";
         out += v.literal ? std::to_string(c.numbers[place + i]) + "u"
                          : "numbers.data[group * 64 + " + std::to_string(place + i) + "]";
      }
   }
   return out;
}

std::string zeros(uint32_t count)
{
   std::string list = "0";
   while (--count)
      list += ", 0";
   return list;
}

/// The vector decode function. Its pointer has another type than the scalar function's, and it is
/// correct for whole vectors only.
std::string vector_function(const Variant &v, const std::string &element, const std::string &dim)
{
   std::string members, values;
   for (uint32_t i = 0; i < v.vector; i++) {
      const std::string number = std::to_string(i);
      members += " " + element + " v" + number + ";";
      values += (i ? ", " : "") + element + "(uint(decode_one(b, block, in_block, " + number +
                "u)) ^ flip)";
   }
   return element + " decode_one(const in Bytes b, const in uint32_t block[" + dim +
          "], const in uint32_t in_block[" + dim + "], const in uint32_t i)\n{\n   uint32_t at[" +
          dim + "] = in_block;\n   at[" + dim + " - 1] += i;\n" +
          "   return decode(Block(b), block, at);\n}\nstruct Vector {" + members +
          " };\nVector decode_vector(const in Bytes b, const in uint32_t block[" + dim +
          "], const in uint32_t in_block[" + dim + "])\n{\n   uint flip = in_block[" + dim +
          " - 1] % " + std::to_string(v.vector) + "u == 0 ? " +
          std::to_string(v.marks ? vector_mark : 0u) + "u : 127u;\n   return Vector(" + values +
          ");\n}\n";
}

} // namespace

std::string shader_text(const Variant &v, const Case &c)
{
   const auto n = [&](std::initializer_list<Place> places, uint32_t count) {
      return numbers(v, c, places, count);
   };
   const std::string element = oracle::format(v.matrix.type).glsl;
   const std::string mode = std::to_string(int(v.clamp)), dim = std::to_string(v.dim);
   const std::string region = std::to_string(region_bytes / v.pointee_bytes());
   const MemoryAccess memory = {.storage = v.storage,
                                .pointee = v.pointee(),
                                .buffer = "memory",
                                .address = "push.address",
                                .shared_size = region,
                                .begin = "group * " + region};
   Words words = {
      {"SIZE", std::to_string(v.invocations())},
      {"BLOCKS", buffer_block(0, v.pointee(), "memory") + buffer_block(1, element, "objects") +
                    buffer_block(2, element, "results") + buffer_block(3, "uint", "numbers") +
                    memory.declarations()},
      {"MATRIX", v.glsl_type()},
      {"ELEMENTS", std::to_string(v.matrix.rows * v.matrix.cols)},
      {"COLS", std::to_string(v.matrix.cols)},
      {"DIM", dim},
      {"CLAMP", mode},
      {"LAYOUT", "tensorLayoutNV<" + dim + ", " + mode + ">"},
      {"BLOCK_SIZE", n({at_block}, v.dim)},
      {"DIMENSION", n({at_dimension}, v.dim)},
      {"STRIDE", n({at_stride}, v.dim)},
      {"SLICE", n({at_offset, at_span}, v.dim)},
      {"SECOND_SLICE", n({at_second_offset, at_second_span}, v.dim)},
      {"CLAMP_VALUE", n({at_clamp_value}, 1)},
      {"SETS_STRIDE", n({at_sets_stride}, 1)},
      {"SLICES_TWICE", n({at_slices_twice}, 1)},
      {"VIEW", ""},
      {"DECODE", ""},
      {"COPY_IN", memory.copy_in()},
      {"CALL", ""},
   };

   std::string view;
   if (v.views != Views::none) {
      std::string arguments =
         std::to_string(v.view_dim) + (v.views == Views::of_dimensions ? ", true" : ", false");
      for (uint32_t p : v.permutation)
         arguments += ", " + std::to_string(p);
      words["VIEW"] =
         "tensorViewNV<" + arguments + "> v = createTensorViewNV(" + arguments + ");\n";
      if (v.views == Views::of_dimensions) {
         words["VIEW"] += "   v = setTensorViewDimensionsNV(v, " +
                          n({at_view_dimension}, v.view_dim) + ");\n   if (" +
                          n({at_sets_view_stride}, 1) +
                          " != 0)\n      v = setTensorViewStrideNV(v, " +
                          n({at_view_stride}, v.view_dim) + ");\n";
      }
      words["VIEW"] += "   if (" + n({at_sets_clip}, 1) +
                       " != 0)\n      v = setTensorViewClipNV(v, " + n({at_clip}, 4) + ");\n";
      view = ", v";
   }

   std::string decode;
   if (v.kind == Kind::decode) {
      decode = ", decode";
      words["DECODE"] =
         "layout(buffer_reference, scalar, buffer_reference_align = " +
         std::to_string(v.format->align) + ") buffer Block { " + v.format->members +
         " };\nlayout(buffer_reference, scalar, buffer_reference_align = 1) buffer Bytes { "
         "uint8_t value[64]; };\n" +
         element + " decode(const in Block b, const in uint32_t block[" + dim +
         "], const in uint32_t in_block[" + dim +
         "])\n{\n   uint x = 1;\n   for (uint i = 0; i < " + dim +
         "; i++)\n      x = (x * 31u + block[i]) * 17u + in_block[i];\n   return " + element +
         "(((" + v.format->read + ") ^ x) & 127u);\n}\n" +
         (v.vector ? vector_function(v, element, dim) : "");
      if (v.vector)
         words["CALL"] = "if (never) // the module has to call it\n      "
                         "results.data[0] = decode_vector(Bytes(push.address), uint32_t[" +
                         dim + "](" + zeros(v.dim) + "), uint32_t[" + dim + "](" + zeros(v.dim) +
                         ")).v0;";
   }

   const std::string array =
      memory.array() + ", " + (v.storage == Storage::shared ? "0" : memory.begin);
   if (v.kind == Kind::store) {
      words["ACCESS"] = "coopMatStoreTensorNV(m, " + array + ", t" + view + ");";
      words["AFTER"] = memory.copy_out();
   } else {
      words["ACCESS"] = "coopMatLoadTensorNV(m, " + array + ", t" + view + decode + ");";
      words["AFTER"] = "coopMatStore(m, results.data, group * $ELEMENTS, $COLS, "
                       "gl_CooperativeMatrixLayoutRowMajor);";
   }
   return std::string(glsl_header) +
          "#extension GL_NV_cooperative_matrix2 : enable\n#pragma use_vulkan_memory_model\n" +
          expand(text, words);
}

} // namespace weft::e2e::tensor
