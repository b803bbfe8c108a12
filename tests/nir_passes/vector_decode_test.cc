// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Tensor loads with both decode functions (SPV_NV_cooperative_matrix_decode_vector): if the
/// numbers are constants, only the matching function is left. tests/e2e/cmat_tensor_test.cc checks
/// their results.

#include "tests/e2e/spirv_edits.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

/// A load of a matrix in blocks of 32 along a row: its type and the numbers of the layout.
struct Load {
   std::string matrix = "coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>";
   int clamp = 0; // gl_CooperativeMatrixClampMode…: undefined, constant, edge
   std::string block = "1, 32";
   std::string dimension = "64, 256";
   std::string slice = "16, 16, 64, 16";
   std::string view = "";
};

/// The functions that are called after matrices are lowered, found by constants in them.
struct Called {
   std::string text;
   bool scalar() const { return text.find("0x00001234") != std::string::npos; }
   bool vector() const { return text.find("0x00005678") != std::string::npos; }
};

Called lowered(const Load &load, bool native_tiles)
{
   std::string members, values, clamp = std::to_string(load.clamp);
   for (uint32_t i = 0; i < 4; ++i) {
      members += "float16_t v" + std::to_string(i) + "; ";
      values +=
         std::string(i ? ", " : "") + "float16_t(b.q[at[1] + " + std::to_string(i) + "] + 0x5678)";
   }
   test::Source source = test::compile(R"(
#extension GL_NV_cooperative_matrix2 : enable
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Block { uint16_t q[32]; };
layout(set = 0, binding = 0) buffer Memory { uint data[]; } memory;
layout(set = 0, binding = 1) buffer Result { float16_t data[]; } result;
float16_t decode(const in Block b, const in uint block[2], const in uint at[2])
{
   return float16_t(b.q[at[1]] + 0x1234);
}
layout(constant_id = 0) const bool never = false;
struct Vector { )" + members + R"( };
Vector decode_vector(const in Block b, const in uint block[2], const in uint at[2])
{
   return Vector()" + values + R"();
}
void main()
{
   )" + load.matrix + R"( m;
   if (never)
      result.data[0] = decode_vector(Block(0ul), uint[2](0, 0), uint[2](0, 0)).v0;
   tensorLayoutNV<2, )" + clamp + R"(> t = createTensorLayoutNV(2, )" +
                                       clamp + R"();
   t = setTensorLayoutBlockSizeNV(t, )" +
                                       load.block + R"();
   t = setTensorLayoutDimensionNV(t, )" +
                                       load.dimension + R"();
   t = sliceTensorLayoutNV(t, )" + load.slice +
                                       R"();
   coopMatLoadTensorNV(m, memory.data, 0, t)" +
                                       (load.view.empty() ? "" : ", " + load.view) +
                                       R"(, decode);
   coopMatStore(m, result.data, 0, 64, gl_CooperativeMatrixLayoutRowMajor);
}
)");
   EXPECT_EQ(e2e::add_vector_decode_functions(source.spirv), 1u);
   Result<Shader> shader =
      read_shader(source.shader_source(), Consumer::cpu, 32, {}, nullptr,
                  native_tiles ? MatrixForm::private_tiles : MatrixForm::registers);
   if (!shader) {
      ADD_FAILURE() << shader.error().message;
      return {};
   }
   PassRunner run(shader->get(), {}, nullptr);
   lower_matrices(run, test::target(32, native_tiles));
   optimize(run, false);
   EXPECT_FALSE(run.refused()) << run.error().message;
   return {test::body(shader->get())};
}

TEST(VectorDecode, IsCalledAloneWhereItFits)
{
   constexpr int constant = 1;
   const std::string transposed = "createTensorViewNV(2, false, 1, 0)";
   for (const Load &load : {
           Load{},
           Load{.slice = "0, 16, 48, 16"},
           Load{.clamp = constant, .dimension = "20, 256"},
           Load{.clamp = constant, .dimension = "20, 68"},
           Load{.view = transposed},
        }) {
      SCOPED_TRACE(load.slice + " of " + load.dimension + " " + load.view);
      for (const bool native_tiles : {true, false}) {
         const Called called = lowered(load, native_tiles);
         EXPECT_TRUE(called.vector()) << called.text;
         EXPECT_FALSE(called.scalar()) << called.text;
         EXPECT_EQ(test::count(called.text, "@tile_insert_weft") > 0, native_tiles) << called.text;
      }
   }
}

TEST(VectorDecode, IsLeftOutWhereItDoesNotFit)
{
   constexpr int constant = 1, edge = 2;
   for (const Load &load : {
           // Lines that begin within a vector, or end there; blocks that do.
           Load{.slice = "16, 16, 66, 16"},
           Load{.slice = "16, 16, 64, 18"},
           Load{.block = "1, 18", .slice = "16, 16, 0, 16"},
           Load{.block = "2, 1"},
           // Clamping.
           Load{.clamp = constant, .dimension = "64, 70"},
           Load{.clamp = edge, .dimension = "64, 72"},
           Load{.clamp = constant, .slice = "16, 16, -16, 16"},
           // Clipping, and views that change the neighbours of elements.
           Load{.view = "setTensorViewClipNV(createTensorViewNV(2, false, 0, 1), 0, 16, 2, 8)"},
           Load{.slice = "16, 8, 64, 32", .view = "createTensorViewNV(2, false, 1, 0)"},
           Load{.view = "setTensorViewDimensionsNV(createTensorViewNV(2, true, 0, 1), 16, 16)"},
        }) {
      SCOPED_TRACE(load.slice + " of " + load.dimension + " " + load.view);
      const Called called = lowered(load, true);
      EXPECT_FALSE(called.vector()) << called.text;
      EXPECT_TRUE(called.scalar()) << called.text;
   }
}

/// The shader chooses at run time.
TEST(VectorDecode, IsAnAlternativeWhereNumbersAreNotKnown)
{
   const Called called = lowered({.slice = "16, 16, gl_WorkGroupID.x, 16"}, true);
   EXPECT_TRUE(called.vector()) << called.text;
   EXPECT_TRUE(called.scalar()) << called.text;
}

} // namespace
} // namespace weft
