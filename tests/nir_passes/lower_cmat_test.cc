// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "nir_passes/matrices/copies/lower_cmat_inserts.h"
#include "nir_passes/matrices/copies/opt_cmat_copies.h"
#include "nir_passes/matrices/lowering/lower_cmat.h"
#include "tests/nir_passes/lines.h"
#include "tests/nir_passes/shaders.h"

#include <gtest/gtest.h>

namespace weft {
namespace {

using test::count;
using test::has_lines;
using test::tidy;
using test::translate;

std::string lowered(const std::string &glsl, uint32_t subgroup_size, bool native_tiles)
{
   const Target target = test::target(subgroup_size, native_tiles);
   Shader shader = translate(glsl, Consumer::cpu, target.subgroup_size);
   opt_cmat_copies(shader.get());
   lower_cmat_inserts(shader.get());
   lower_cmat(shader.get(), target, target.form);
   tidy(shader.get());
   return test::body(shader.get());
}

std::string before_copies(const std::string &glsl)
{
   Shader shader = translate(glsl, Consumer::cpu, 64);
   tidy(shader.get());
   return test::body(shader.get());
}

std::string after_copies(const std::string &glsl)
{
   Shader shader = translate(glsl, Consumer::cpu, 64);
   opt_cmat_copies(shader.get());
   tidy(shader.get());
   return test::body(shader.get());
}

const std::string types =
   "layout(binding = 0, scalar) buffer Data { float16_t data[]; };\n"
   "layout(binding = 1, scalar) buffer Pairs { f16vec2 pairs[]; };\n"
   "#define MAT(use) coopmat<float16_t, gl_ScopeSubgroup, 8, 8, gl_MatrixUse##use>\n"
   "const int rows = gl_CooperativeMatrixLayoutRowMajor;\n"
   "const int columns = gl_CooperativeMatrixLayoutColumnMajor;\n";

const std::string accumulate = types + R"(
   void main() {
      MAT(Accumulator) sum = MAT(Accumulator)(0);
      MAT(A) a;
      MAT(B) b;
      coopMatLoad(a, data, 0, 8, rows);
      coopMatLoad(b, data, 64, 8, columns);
      sum = coopMatMulAdd(a, b, sum);
      coopMatStore(sum, data, 128, 8, rows);
   })";

const std::string one_component = types + R"(
   void main() {
      MAT(A) m[3];
      m[0] = MAT(A)(1);
      const uint i = gl_WorkGroupID.x;
      m[i][1] += float16_t(1);
      coopMatStore(m[2], data, 0, 8, rows);
   })";

const std::string two_matrices = types + R"(
   void main() {
      MAT(A) m = MAT(A)(1);
      const MAT(A) before = m;
      m[0] = float16_t(2);
      coopMatStore(before, data, 0, 8, rows);
      coopMatStore(m, data, 64, 8, rows);
   })";

const std::string pairs = types + R"(
   void main() {
      MAT(A) m;
      coopMatLoad(m, pairs, 4, 16, columns);
      coopMatStore(m, data, 0, 8, rows);
   })";

const std::string pair_sums = types + R"(
   void main() {
      MAT(Accumulator) m;
      coopMatLoad(m, pairs, 4, 16, columns);
      coopMatStore(m, data, 0, 8, rows);
   })";

const std::string negate = types + R"(
   void main() {
      MAT(A) m;
      coopMatLoad(m, data, 0, 8, rows);
      m = -m;
      coopMatStore(m, data, 0, 8, rows);
   })";

const std::string arithmetic = types + R"(
   void main() {
      MAT(Accumulator) m = MAT(Accumulator)(2);
      m = -m * m;
      m = m * float16_t(3);
      m[1] = m[0];
      data[0] = m[gl_WorkGroupID.x] + float16_t(m.length());
   })";

TEST(OptCmatCopies, TheFrontEndCopies)
{
   EXPECT_TRUE(has_lines(before_copies(accumulate), R"(
      $constant = deref_var &cmat_constant
      @cmat_construct ($constant, $zero (0x0))
      $sum = deref_var &sum
      + @cmat_copy ($sum, $constant)
      $loaded = deref_var &cmat_bitcast
      @cmat_load ($loaded,
      $temporary = deref_var &tempArg
      + @cmat_copy ($temporary, $loaded)
      $value = deref_var &cmat_ssa
      + @cmat_copy ($value, $temporary)
      $a = deref_var &a (
      + @cmat_copy ($a, $value)
      @cmat_load (
      $b = deref_var &b (
      + @cmat_copy ($b,
      @cmat_copy ($left, $a)
      @cmat_copy ($right, $b)
      @cmat_copy ($addend, $sum)
      @cmat_muladd ($product, $left, $right, $addend) (saturate=0, cmat_signed=0)
      + @cmat_copy ($sum, $product)
      @cmat_copy ($stored, $sum)
      @cmat_store ($address, $stored,
   )"));
}

TEST(OptCmatCopies, RunningSumStaysWhereItIs)
{
   EXPECT_TRUE(has_lines(after_copies(accumulate), R"(
      - @cmat_copy
      $sum = deref_var &sum
      @cmat_construct ($sum, $zero (0x0))
      $first = deref_array &(*$data)[0] (ssbo float16_t)
      $stride = load_const (0x00000008
      $a = deref_var &$name (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>)
      - @cmat_copy
      @cmat_load ($a, $first, $stride (0x8)) (matrix_layout=row_major, access=none)
      $second = deref_array &(*$data)[64]
      $b = deref_var &$name_b (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>)
      - @cmat_copy
      @cmat_load ($b, $second, $stride (0x8)) (matrix_layout=col_major, access=none)
      - @cmat_copy
      @cmat_muladd ($sum, $a, $b, $sum) (saturate=0, cmat_signed=0)
      $third = deref_array &(*$data)[128]
      - @cmat_copy
      @cmat_store ($third, $sum, $stride (0x8)) (matrix_layout=row_major, access=none)
      - @cmat_
   )"));
}

TEST(OptCmatCopies, ComponentsAreReadAndWrittenInPlace)
{
   EXPECT_TRUE(has_lines(after_copies(one_component), R"(
      $m = deref_var &m (function_temp coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>[3])
      $first = deref_array &(*$m)[0]
      $one = load_const (0x3c00
      - @cmat_
      @cmat_construct ($first, $one (1.000000))
      $group = deref_var &gl_WorkGroupID
      $all = @load_deref ($group)
      $i = mov $all.x
      $chosen = deref_array &(*$m)[$i]
      $number = load_const (0x00000001
      - @cmat_
      $old = @cmat_extract ($chosen, $number (0x1))
      $new = fadd $old, $one
      - @cmat_
      @cmat_insert ($chosen, $new, $chosen, $number (0x1))
      $last = deref_array &(*$m)[2]
      - @cmat_
      @cmat_store ($address, $last, $stride (0x8)) (matrix_layout=row_major, access=none)
      - @cmat_
   )"));
}

TEST(OptCmatCopies, CopiesThatMatterStay)
{
   EXPECT_TRUE(has_lines(after_copies(two_matrices), R"(
      $m = deref_var &m
      - @cmat_
      @cmat_construct ($m, $one (0x3c00))
      $before = deref_var &before
      - @cmat_
      @cmat_copy ($before, $m)
      $two = load_const (0x4000
      - @cmat_
      @cmat_insert ($m, $two (0x4000), $m, $zero (0x0))
      $first = deref_array &(*$data)[0]
      - @cmat_
      @cmat_store ($first, $before,
      $second = deref_array &(*$data)[64]
      - @cmat_
      @cmat_store ($second, $m,
      - @cmat_
   )"));
}

TEST(LowerCmatToTiles, MulAdd)
{
   EXPECT_TRUE(has_lines(lowered(accumulate, 64, true), R"(
      - coopmat<
      $zero = load_const (0x0000 = 0.000000)
      $sum = deref_var &sum (function_temp float16_t[1])
      $element = deref_array &(*$sum)[0]
      @store_deref ($element, $zero
      $first = deref_array &(*$data)[0]
      $a = deref_var &$name (function_temp float16_t[1])
      $stride = load_const (0x0000000000000010
      - @cmat_
      @tile_load_weft ($a, $first, $stride (0x10)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>, matrix_layout=row_major, mem_modes=ssbo, stride_unit=1, access=none)
      $second = deref_array &(*$data)[64]
      $b = deref_var &$name_b (function_temp float16_t[1])
      @tile_load_weft ($b, $second, $stride (0x10)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>, matrix_layout=col_major, mem_modes=ssbo, stride_unit=1, access=none)
      + @tile_muladd_weft ($sum, $a, $b, $sum) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>, a=coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>, b=coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, B>, c=coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>, saturate=0, cmat_signed=0)
      $third = deref_array &(*$data)[128]
      @tile_store_weft ($third, $sum, $stride (0x10)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, ACCUMULATOR>, matrix_layout=row_major, mem_modes=ssbo, stride_unit=1, access=none)
      - @
   )"));
}

/// Volatile accesses stay, even if the matrix is unused.
TEST(LowerCmatToTiles, VolatileAccessesStay)
{
   const auto volatile_tiles = [](const std::string &qualifier) {
      const std::string text =
         lowered("layout(binding = 0) " + qualifier + R"( buffer Data { float16_t data[]; };
         void main() {
            coopmat<float16_t, gl_ScopeSubgroup, 8, 8, gl_MatrixUseA> m, n;
            coopMatLoad(n, data, 64, 8, gl_CooperativeMatrixLayoutRowMajor);
            coopMatLoad(m, data, 0, 8, gl_CooperativeMatrixLayoutRowMajor);
            coopMatStore(m, data, 128, 8, gl_CooperativeMatrixLayoutRowMajor);
         })",
                 4, true);
      return std::pair(count(text, "@tile_"), count(text, "access=volatile"));
   };
   EXPECT_EQ(volatile_tiles(""), std::pair(2u, 0u));
   EXPECT_EQ(volatile_tiles("volatile"), std::pair(3u, 3u));
}

TEST(LowerCmatToTiles, StrideCountsPairs)
{
   EXPECT_TRUE(has_lines(lowered(pairs, 32, true), R"(
      $fifth = deref_array &(*$pairs)[4] (ssbo f16vec2)
      $m = deref_var &$name (function_temp float16_t[2])
      $row_bytes = load_const (0x0000000000000010
      $column_bytes = load_const (0x0000000000000040
      @tile_load_weft ($m, $fifth, $column_bytes (0x40)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>, matrix_layout=col_major, mem_modes=ssbo, stride_unit=1, access=none)
      $first = deref_array &(*$data)[0] (ssbo float16_t)
      + @tile_store_weft ($first, $m, $row_bytes (0x10)) (coopmat<float16_t, SCOPE_SUBGROUP, 8, 8, A>, matrix_layout=row_major, mem_modes=ssbo, stride_unit=1, access=none)
      - @
   )"));
}

TEST(LowerCmatToTiles, ManyComponentsMakeALoop)
{
   EXPECT_TRUE(has_lines(lowered(negate, 4, true), R"(
      $zero = load_const (0x00000000)
      $m = deref_var &m (function_temp float16_t[16])
      $one = load_const (0x00000001)
      @tile_load_weft ($m, $data,
      $size = load_const (0x00000010
      $counter = deref_var &component
      + @store_deref ($counter, $zero
      + loop {
      $i = @load_deref ($counter)
      $element = deref_array &(*$m)[$i]
      $old = @load_deref ($element)
      $new = fneg $old
      @store_deref ($element, $new)
      $next = iadd $i, $one
      @store_deref ($counter, $next)
      $ends = uge $next, $size (0x10)
      + if $ends {
      + break
      + } else {
      + }
      + }
      + @tile_store_weft ($data, $m,
      - @
   )"));
}

TEST(LowerCmatToRegisters, StrideCountsPairs)
{
   EXPECT_TRUE(has_lines(lowered(pair_sums, 64, false), R"(
      $fifth = deref_array &(*$pairs)[4] (ssbo f16vec2)
      $m = deref_var &$name (function_temp float16_t[1])
      $source = deref_cast (float16_t *)$fifth (ssbo float16_t) (ptr_stride=2
      $invocation = @load_subgroup_invocation
      $three = load_const (0x00000003)
      $upper = ushr $invocation, $three
      $seven = load_const (0x00000007)
      $col = iand $invocation, $seven
      $row = iand $upper, $seven
      $five = load_const (0x00000005)
      $line = ishl $col, $five
      $from = iadd $line, $row
      deref_ptr_as_array &(*$source)[$from] (ssbo float16_t)
      $loaded = @load_deref (
      $element = deref_array &(*$m)[0]
      @store_deref ($element, $loaded)
      $target = deref_cast (float16_t *)$first (ssbo float16_t)
      $out_line = ishl $row, $three
      $to = iadd $out_line, $col
      deref_ptr_as_array &(*$target)[$to] (ssbo float16_t)
      $stored = @load_deref ($element)
      @store_deref ($address, $stored)
      - @
   )"));
}

TEST(LowerCmatToRegisters, Arithmetic)
{
   EXPECT_TRUE(has_lines(lowered(arithmetic, 32, false), R"(
      $two = load_const (0x4000
      $m = deref_var &m (function_temp float16_t[2])
      $m0 = deref_array &(*$m)[0]
      @store_deref ($m0, $two
      $m1 = deref_array &(*$m)[1]
      @store_deref ($m1, $two
      $negated = deref_var &cmat_unary (function_temp float16_t[2])
      $old0 = @load_deref ($m0)
      $minus0 = fneg $old0
      $n0 = deref_array &(*$negated)[0]
      @store_deref ($n0, $minus0)
      $old1 = @load_deref ($m1)
      $minus1 = fneg $old1
      $n1 = deref_array &(*$negated)[1]
      @store_deref ($n1, $minus1)
      $left0 = @load_deref ($n0)
      $right0 = @load_deref ($m0)
      $product0 = fmul $left0, $right0
      @store_deref ($m0, $product0)
      $left1 = @load_deref ($n1)
      $right1 = @load_deref ($m1)
      $product1 = fmul $left1, $right1
      @store_deref ($m1, $product1)
      $three = load_const (0x4200
      $base0 = @load_deref ($m0)
      $scaled0 = fmul $base0, $three
      @store_deref ($m0, $scaled0)
      $base1 = @load_deref ($m1)
      $scaled1 = fmul $base1, $three
      @store_deref ($m1, $scaled1)
      $copied = @load_deref ($m0)
      + @store_deref ($m1, $copied)
      $group = deref_var &gl_WorkGroupID
      $all = @load_deref ($group)
      $i = mov $all.x
      $chosen = deref_array &(*$m)[$i]
      $value = @load_deref ($chosen)
      $result = fadd $value, $two
      @store_deref ($address, $result)
      - @
   )"));
}

/// Every product of A's rows and B's columns that an invocation holds, and no word between
/// invocations: of 8×8×8 with a grid of 1×8, 8×1 elements of sums of 8.
TEST(LowerCmatToRegisters, MulAddNeedsNoOtherInvocation)
{
   const std::string narrow = lowered(accumulate, 8, false);
   EXPECT_EQ(count(narrow, "fmul"), 64u);
   EXPECT_EQ(count(narrow, "f2f32"), 8u * 8 + 8 * 1 + 8);
   const std::string wide = lowered(accumulate, 64, false);
   EXPECT_EQ(count(wide, "fmul"), 8u);
   for (const char *word : {"@shuffle", "@read_invocation", "@barrier"})
      EXPECT_EQ(count(narrow + wide, word), 0u) << word;
}

/// A is held by the eight invocations of a row of the grid; one of them stores it. Each holds eight
/// rows, which begin at multiples of 16 bytes.
TEST(LowerCmatToRegisters, OneHolderStores)
{
   const std::string text = lowered(negate, 8, false);
   EXPECT_EQ(count(text, "if "), 1u);
   EXPECT_EQ(count(text, "= ieq "), 1u);
   EXPECT_EQ(count(text, "(ssbo float16_t) (ptr_stride=2, align_mul=16, align_offset=0)"), 8u);
}

/// With robust access, accesses to storage buffers have two paths: the usual one for blocks that
/// lie inside, and a loop over the elements for the rest.
TEST(LowerCmatToRegisters, RobustAccess)
{
   const auto robust = [](const std::string &glsl, bool enabled) {
      Target target = test::target(32, false);
      target.robust_access = enabled;
      Shader shader = translate(glsl, Consumer::cpu, target.subgroup_size);
      opt_cmat_copies(shader.get());
      lower_cmat_inserts(shader.get());
      lower_cmat(shader.get(), target, target.form);
      tidy(shader.get());
      return test::body(shader.get());
   };
   const std::string text = robust(accumulate, true);
   EXPECT_EQ(count(text, "@get_ssbo_size"), 1u) << text; // of one buffer
   EXPECT_EQ(count(text, "loop {"), 3u);
   EXPECT_EQ(count(text, " edge"), 3u);
   const std::string plain = robust(accumulate, false);
   EXPECT_EQ(count(plain, "@get_ssbo_size"), 0u);
   EXPECT_EQ(count(plain, "loop {"), 0u);
   for (const char *pointer : {"(ssbo float16_t) (ptr_stride=2, align_mul=16",
                               "(ssbo float16_t) (ptr_stride=2, align_mul=8"})
      EXPECT_EQ(count(text, pointer), count(plain, pointer));

   const std::string shared = robust(types + R"(
      shared float16_t tile[64];
      layout(buffer_reference, scalar) buffer Data16 { float16_t data[]; };
      layout(push_constant) uniform Push { Data16 pointer; };
      void main() {
         MAT(A) m;
         coopMatLoad(m, tile, 0, 8, rows);
         coopMatStore(m, pointer.data, 0, 8, rows);
      })",
                                     true);
   EXPECT_EQ(count(shared, "@get_ssbo_size"), 0u);
   EXPECT_EQ(count(shared, "loop {"), 0u);
}

/// A 16×16×32 multiplication in a subgroup of 32: 4×2 sums of 32 products each.
std::string multiplied(const Target &target, const std::string &a, const std::string &b,
                       const std::string &c, bool saturate = false)
{
   const auto matrix = [](const std::string &type, int rows, int cols, const std::string &use) {
      return "coopmat<" + type + ", gl_ScopeSubgroup, " + std::to_string(rows) + ", " +
             std::to_string(cols) + ", gl_MatrixUse" + use + "> ";
   };
   Shader shader =
      translate("layout(binding = 0, scalar) buffer Data { " + c + " data[]; };\n" +
                   "layout(binding = 1, scalar) buffer A { " + a + " a[]; };\n" +
                   "layout(binding = 2, scalar) buffer B { " + b + " b[]; };\n" + "void main() {" +
                   matrix(a, 16, 32, "A") + "ma; " + matrix(b, 32, 16, "B") + "mb; " +
                   matrix(c, 16, 16, "Accumulator") + R"(sum;
      coopMatLoad(sum, data, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(ma, a, 0, 32, gl_CooperativeMatrixLayoutRowMajor);
      coopMatLoad(mb, b, 0, 32, gl_CooperativeMatrixLayoutColumnMajor);
      sum = coopMatMulAdd(ma, mb, sum)" +
                   (saturate ? ", gl_MatrixOperandsSaturatingAccumulation" : "") +
                   R"();
      coopMatStore(sum, data, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
   })",
                Consumer::driver, target.subgroup_size);
   opt_cmat_copies(shader.get());
   lower_cmat_inserts(shader.get());
   lower_cmat(shader.get(), target, target.form);
   tidy(shader.get());
   return test::body(shader.get());
}

std::string multiplied(bool dots, const std::string &a, const std::string &b, const std::string &c,
                       bool saturate)
{
   Target target = test::target(32, false);
   target.dot_product_4x8 = dots;
   return multiplied(target, a, b, c, saturate);
}

/// A product and 31 multiply-adds, then the addend; in f32, 32 multiply-adds.
TEST(LowerCmatToRegisters, SumsOfFloat16)
{
   const auto f16 = "float16_t", f32 = "float";
   Target target = test::target(32, false);
   EXPECT_EQ(count(multiplied(target, f16, f16, f16), "= ffma "), 8u * 32);
   target.float16_sums = true;
   const std::string halves = multiplied(target, f16, f16, f16);
   EXPECT_EQ(count(halves, "= f2f32"), 0u) << halves;
   EXPECT_EQ(count(halves, "= fmul "), 8u);
   EXPECT_EQ(count(halves, "= ffma "), 8u * 31);
   EXPECT_EQ(count(halves, "= fadd "), 8u);
   EXPECT_EQ(count(multiplied(target, f16, f16, f32), "= ffma "), 8u * 32);
   EXPECT_EQ(count(multiplied(target, f32, f32, f32), "= ffma "), 8u * 32);
}

TEST(LowerCmatToRegisters, DotProducts)
{
   const auto s8 = "int8_t", u8 = "uint8_t", s32 = "int", u32 = "uint";
   const std::string both_signed = multiplied(true, s8, s8, s32, false);
   EXPECT_EQ(count(both_signed, "= sdot_4x8_iadd"), 8u * 32 / 4);
   EXPECT_EQ(count(both_signed, "= pack_32_4x8"), (4u + 2) * 32 / 4);
   EXPECT_EQ(count(both_signed, "= imul"), 0u);
   EXPECT_EQ(count(multiplied(true, u8, u8, u32, false), "= udot_4x8_uadd"), 64u);
   EXPECT_EQ(count(multiplied(true, s8, u8, s32, false), "= sudot_4x8_iadd"), 64u);
   EXPECT_EQ(count(multiplied(true, u8, s8, s32, false), "= sudot_4x8_iadd"), 64u);

   /* One saturating addition for each sum (which nir_opt_algebraic takes apart for SPIR-V). */
   const std::string saturating = multiplied(true, s8, s8, s32, true);
   EXPECT_EQ(count(saturating, "= sdot_4x8_iadd"), 64u);
   EXPECT_GT(count(saturating, "= bcsel"), 0u);

   const std::string without = multiplied(false, s8, s8, s32, false);
   EXPECT_EQ(count(without, "dot_4x8"), 0u);
   EXPECT_EQ(count(without, "= imul"), 8u * 32);
}

/// The signed factor of a mixed product comes first, whether it is of A or of B.
TEST(LowerCmatToRegisters, MixedDotProducts)
{
   const std::string first = multiplied(true, "int8_t", "uint8_t", "int", false),
                     second = multiplied(true, "uint8_t", "int8_t", "int", false);
   const auto factors = [](const std::string &text) {
      const size_t at = text.find("= sudot_4x8_iadd ") + 17;
      return text.substr(at, text.find(", %", text.find(", %", at) + 1) - at);
   };
   const std::string a_b = factors(first), b_a = factors(second);
   const size_t comma = a_b.find(", ");
   EXPECT_EQ(a_b.substr(comma + 2) + ", " + a_b.substr(0, comma), b_a);
}

/// Nothing joins narrow accesses to shared memory later.
TEST(LowerCmatToRegisters, SharedMemoryIsLoadedInWords)
{
   const std::string text = lowered(types + R"(
      shared uvec4 tile[8];
      void main() {
         MAT(A) m;
         coopMatLoad(m, tile, 0, 1, rows);
         coopMatStore(m, data, 0, 8, rows);
      })",
                                    32, false);
   EXPECT_EQ(count(text, "(shared uint) (ptr_stride=4, align_mul=16"), 2u) << text;
   EXPECT_EQ(count(text, "= unpack_32_2x16"), 2u * 8 / 2);

   /* Two rows of eight columns: each column is a word. */
   const std::string across = lowered(types + R"(
      shared float16_t tile[64];
      void main() {
         MAT(A) m;
         coopMatLoad(m, tile, 0, 8, columns);
         coopMatStore(m, data, 0, 8, rows);
      })",
                                      32, false);
   EXPECT_EQ(count(across, "= unpack_32_2x16"), 8u);
   EXPECT_EQ(count(lowered(types + R"(
      shared float16_t tile[64];
      void main() {
         MAT(B) m;
         coopMatLoad(m, tile, 0, 8, rows);
         coopMatStore(m, data, 0, 8, rows);
      })",
                           64, false),
                   "= unpack_32_2x16"),
             0u); // one column of eight
}

/// Many multiplications become loops; a single one of the same size does not.
TEST(LowerCmat, ProductsOfAShaderHaveABudget)
{
   constexpr unsigned small = 8 * 8 * 8 / 8, large = 16 * 16 * 16 / 8, budget = 32 * 1024;
   const auto products = [](unsigned small_muladds, unsigned large_muladds) {
      const auto type = [](unsigned size, const std::string &use) {
         const std::string n = std::to_string(size);
         return "coopmat<float16_t, gl_ScopeSubgroup, " + n + ", " + n + ", gl_MatrixUse" + use +
                "> ";
      };
      std::string glsl = types + "void main() {";
      for (unsigned size : {8, 16}) {
         const std::string n = std::to_string(size);
         glsl += type(size, "A") + "a" + n + "; " + type(size, "B") + "b" + n + "; " +
                 type(size, "Accumulator") + "c" + n + "; coopMatLoad(c" + n +
                 ", data, 0, 8, rows);\n";
         for (unsigned i = 0; i < (size == 8 ? small_muladds : large_muladds); ++i)
            glsl += "coopMatLoad(a" + n + ", data, " + std::to_string(i * 64) +
                    ", 16, rows); coopMatLoad(b" + n + ", data, 64, 16, columns); c" + n +
                    " = coopMatMulAdd(a" + n + ", b" + n + ", c" + n + ");\n";
         glsl += "coopMatStore(c" + n + ", data, 1024, 16, rows);\n";
      }
      const Target target = test::target(8, false);
      Shader shader = translate(glsl + "}", Consumer::driver, target.subgroup_size);
      opt_cmat_copies(shader.get());
      lower_cmat(shader.get(), target, target.form);
      nir_validate_shader(shader.get(), "lower_cmat");
      return count(test::body(shader.get()), " ffma ");
   };
   EXPECT_EQ(products(10, 2), 10 * small + 2 * large);
   /* Each loop has a few products. */
   const unsigned loops = products(0, budget / large + 1);
   EXPECT_GT(loops, 0u);
   EXPECT_LT(loops, budget / 16);
   /* The small ones, and two loops. */
   const unsigned both = products(10, budget / large);
   EXPECT_GE(both, 10 * small);
   EXPECT_LT(both, budget / 16);
}

} // namespace
} // namespace weft
