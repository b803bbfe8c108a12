// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/shapes/choose_native_shape.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using enum ComponentType;

constexpr MatrixOperation floats(uint32_t m, uint32_t n, uint32_t k)
{
   return {m, n, k, f16, f16, f32, f32, false};
}
constexpr MatrixOperation bytes(uint32_t m, uint32_t n, uint32_t k, bool saturating = false)
{
   return {m, n, k, s8, s8, s32, s32, saturating};
}

glsl_cmat_description matrix(glsl_base_type type, uint32_t rows, uint32_t cols, glsl_cmat_use use)
{
   glsl_cmat_description desc = {};
   desc.element_type = type;
   desc.scope = SCOPE_SUBGROUP;
   desc.rows = rows;
   desc.cols = cols;
   desc.use = use;
   return desc;
}

/// The uses of several shaders, each with one multiplication, joined.
CmatUses uses(std::initializer_list<MatrixOperation> operations)
{
   CmatUses u;
   for (const MatrixOperation &op : operations) {
      const bool is_float = op.a == f16;
      const auto ab = is_float ? GLSL_TYPE_FLOAT16 : GLSL_TYPE_INT8;
      u.matrices.push_back(matrix(ab, op.m, op.k, GLSL_CMAT_USE_A));
      u.matrices.push_back(matrix(ab, op.k, op.n, GLSL_CMAT_USE_B));
      u.matrices.push_back(
         matrix(is_float ? GLSL_TYPE_FLOAT : GLSL_TYPE_INT, op.m, op.n, GLSL_CMAT_USE_ACCUMULATOR));
      u.operations.push_back(op);
   }
   return u;
}

constexpr MatrixForm private_tiles = MatrixForm::private_tiles;

/// "16x8, k 32 of 8 bits, 16 of 16 bits"; "none".
std::string chosen(const CmatUses &u, const std::vector<MatrixOperation> &native,
                   MatrixForm form = MatrixForm::driver_tiles)
{
   const std::optional<NativeShape> shape = choose_native_shape(u, {native, form});
   return shape ? describe(*shape) : "none";
}

bool native_as_they_are(const CmatUses &u, const std::vector<MatrixOperation> &native,
                        MatrixForm form = MatrixForm::driver_tiles)
{
   return are_native(u, {native, form});
}

TEST(ChooseNativeShape, TheLargestThatDivides)
{
   const std::vector<MatrixOperation> native = {floats(16, 8, 8), floats(16, 8, 16),
                                                floats(16, 16, 16), floats(8, 8, 8)};
   EXPECT_EQ(chosen(uses({floats(16, 16, 16)}), native), "16x16, k 16 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(64, 32, 16)}), native), "16x16, k 16 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(16, 8, 24)}), native), "16x8, k 8 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(8, 16, 16)}), native), "8x8, k 8 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(12, 16, 16)}), native), "none");
   EXPECT_EQ(chosen(uses({floats(16, 16, 16)}), {}), "none");
}

/// The driver has no tiles of other types.
TEST(ChooseNativeShape, TypesHaveToBeTheSame)
{
   EXPECT_EQ(chosen(uses({floats(16, 16, 16)}), {bytes(16, 16, 16)}), "none");
   MatrixOperation narrow = floats(16, 16, 16);
   narrow.c = narrow.result = f16;
   EXPECT_EQ(chosen(uses({floats(16, 16, 16)}), {narrow}), "none");
}

TEST(ChooseNativeShape, OneForAllOfAShader)
{
   const std::vector<MatrixOperation> native = {floats(16, 16, 16), floats(16, 8, 16),
                                                bytes(16, 8, 32)};
   EXPECT_EQ(chosen(uses({floats(16, 16, 16), bytes(16, 16, 32)}), native),
             "16x8, k 32 of 8 bits, 16 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(16, 16, 16), floats(16, 8, 16)}), native),
             "16x8, k 16 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(16, 16, 16), bytes(16, 16, 16)}), native), "none");
}

/// Each part of a longer sum would saturate on its own.
TEST(ChooseNativeShape, SaturatingSumsAreNotCut)
{
   const std::vector<MatrixOperation> native = {bytes(16, 16, 16, true), bytes(16, 16, 16)};
   EXPECT_EQ(chosen(uses({bytes(16, 16, 32)}), native), "16x16, k 16 of 8 bits");
   EXPECT_EQ(chosen(uses({bytes(16, 16, 32, true)}), native), "none");
   EXPECT_EQ(chosen(uses({bytes(32, 16, 16, true)}), native), "16x16, k 16 of 8 bits");
}

TEST(ChooseNativeShape, NarrowSumsAreNotCut)
{
   MatrixOperation part = floats(16, 16, 8), whole = floats(16, 16, 16);
   part.c = part.result = whole.c = whole.result = f16;
   CmatUses u = uses({floats(16, 16, 16)});
   u.matrices.back().element_type = GLSL_TYPE_FLOAT16;
   u.operations = {whole};
   EXPECT_EQ(chosen(u, {part}), "none");
   EXPECT_EQ(chosen(u, {part, whole}), "16x16, k 16 of 16 bits");
}

/// A conversion between tiles of different sizes moves elements, so the back end must know their
/// places.
TEST(ChooseNativeShape, ConversionsBetweenTilesOfOneSize)
{
   const std::vector<MatrixOperation> native = {floats(16, 16, 16), bytes(16, 16, 32)};
   CmatUses u = uses({floats(16, 16, 32), bytes(16, 16, 32)});
   EXPECT_EQ(chosen(u, native), "16x16, k 32 of 8 bits, 16 of 16 bits");
   u.conversions = {{u.matrices[2], u.matrices[5]}};
   EXPECT_EQ(chosen(u, native), "16x16, k 32 of 8 bits, 16 of 16 bits");
   u.conversions = {{u.matrices[0], u.matrices[3]}};
   EXPECT_EQ(chosen(u, native), "none");
   EXPECT_EQ(chosen(u, native, private_tiles), "16x16, k 32 of 8 bits, 16 of 16 bits");
}

/// Tiles that divide the matrix come first, then the ones with the least padding.
TEST(ChooseNativeShape, Padding)
{
   const std::vector<MatrixOperation> native = {floats(16, 16, 16), floats(8, 8, 8)};
   EXPECT_EQ(chosen(uses({floats(32, 16, 16)}), native, private_tiles), "16x16, k 16 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(24, 24, 24)}), native, private_tiles), "8x8, k 8 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(20, 20, 20)}), native, private_tiles), "8x8, k 8 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(31, 31, 31)}), native, private_tiles), "16x16, k 16 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(1, 1, 1)}), native, private_tiles), "8x8, k 8 of 16 bits");
   EXPECT_EQ(chosen(uses({floats(20, 20, 20)}), native), "none");
   EXPECT_EQ(chosen(uses({floats(20, 20, 20)}), {bytes(16, 16, 16)}, private_tiles), "none");
   /* A sum that must not be cut may still be padded. */
   const std::vector<MatrixOperation> saturating = {bytes(16, 16, 32, true)};
   EXPECT_EQ(chosen(uses({bytes(16, 16, 20, true)}), saturating, private_tiles),
             "16x16, k 32 of 8 bits");
   EXPECT_EQ(chosen(uses({bytes(16, 16, 40, true)}), saturating, private_tiles), "none");
}

/// In f32, or without saturation, if tiles for it exist.
TEST(ChooseNativeShape, SumsThatMayBeWidenedAreCut)
{
   const auto widened = [](const CmatUses &u, const std::vector<MatrixOperation> &native) {
      return chosen(u, native, private_tiles) != "none";
   };
   const MatrixOperation saturating = bytes(16, 16, 16, true), plain = bytes(16, 16, 16);
   EXPECT_FALSE(widened(uses({bytes(16, 16, 32, true)}), {saturating}));
   EXPECT_TRUE(widened(uses({bytes(16, 16, 32, true)}), {saturating, plain}));

   MatrixOperation narrow = floats(16, 16, 16), wanted = floats(16, 16, 32);
   narrow.c = narrow.result = wanted.c = wanted.result = f16;
   CmatUses u = uses({floats(16, 16, 32)});
   u.matrices.back().element_type = GLSL_TYPE_FLOAT16;
   u.operations = {wanted};
   EXPECT_FALSE(widened(u, {narrow}));
   EXPECT_TRUE(widened(u, {narrow, floats(16, 16, 16)}));
}

TEST(ChooseNativeShape, NativeWithoutCuts)
{
   const std::vector<MatrixOperation> native = {floats(16, 16, 16), floats(8, 8, 8)};
   EXPECT_TRUE(native_as_they_are(uses({floats(16, 16, 16), floats(8, 8, 8)}), native));
   EXPECT_FALSE(native_as_they_are(uses({floats(16, 16, 16), floats(8, 8, 16)}), native));
   CmatUses u = uses({floats(16, 16, 16)});
   u.matrices.push_back(matrix(GLSL_TYPE_FLOAT16, 16, 16, GLSL_CMAT_USE_ACCUMULATOR));
   EXPECT_FALSE(native_as_they_are(u, native));
   /* Private tiles ignore the sign of integers. */
   CmatUses unsigned_matrix = uses({bytes(16, 16, 16)});
   unsigned_matrix.matrices[0].element_type = GLSL_TYPE_UINT8;
   EXPECT_FALSE(native_as_they_are(unsigned_matrix, {bytes(16, 16, 16)}));
   EXPECT_TRUE(native_as_they_are(unsigned_matrix, {bytes(16, 16, 16)}, private_tiles));
}

/// Matrices that are not multiplied must be types of the driver, too.
TEST(ChooseNativeShape, MatricesWithoutOperations)
{
   CmatUses u = uses({floats(16, 16, 16)});
   u.matrices.push_back(matrix(GLSL_TYPE_FLOAT16, 16, 16, GLSL_CMAT_USE_ACCUMULATOR));
   EXPECT_EQ(chosen(u, {floats(16, 16, 16)}), "none");
   MatrixOperation narrow = floats(16, 16, 16);
   narrow.c = narrow.result = f16;
   EXPECT_EQ(chosen(u, {floats(16, 16, 16), narrow}), "16x16, k 16 of 16 bits");
}

/// A matrix without a use stays whole beside matrices that are cut.
TEST(ChooseNativeShape, KeepsMatricesWithoutAUseWhole)
{
   const std::vector<MatrixOperation> native = {floats(8, 8, 8), floats(16, 16, 16)};
   CmatUses u = uses({floats(24, 8, 8)});
   const glsl_cmat_description none = matrix(GLSL_TYPE_FLOAT16, 16, 16, GLSL_CMAT_USE_NONE);
   u.matrices.push_back(none);
   EXPECT_EQ(chosen(u, native), "8x8, k 8 of 16 bits");
   EXPECT_EQ((NativeShape{8, 8, {0, 8, 0, 0}}.tile(none).rows), 16);
}

} // namespace
} // namespace weft
