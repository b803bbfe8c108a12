// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// VK_QCOM_cooperative_matrix_conversion: rows or columns of matrices as arrays of invocations, bit
/// casts and parts of arrays. The supported glslang lacks the extension, so shaders call functions
/// (replace_calls_by_array_conversions()).

#include "tests/e2e/cmat_program.h"
#include "tests/e2e/spirv_edits.h"

#include <cstring>
#include <map>

namespace weft::e2e {

using oracle::Matrix;

namespace {

void replace_calls(std::vector<uint32_t> &spirv)
{
   EXPECT_GT(replace_calls_by_array_conversions(spirv), 0u);
}

bool has_feature(const Device &device)
{
   if (device.conversion_features.cooperativeMatrixConversion)
      return true;
   skip_case("needs cooperativeMatrixConversion");
   return false;
}

/// The rows of a matrix, or the columns of B. Each belongs to one invocation.
struct Lines {
   uint32_t count, length;
   bool are_columns;

   explicit Lines(const MatrixType &type)
       : count(type.use == Use::b ? type.cols : type.rows),
         length(type.use == Use::b ? type.rows : type.cols), are_columns(type.use == Use::b)
   {
   }
   size_t element(const MatrixType &type, uint32_t line, uint32_t place) const
   {
      return are_columns ? size_t(place) * type.cols + line : size_t(line) * type.cols + place;
   }
};

bool is_convertible(const MatrixType &type)
{
   const oracle::Format &f = oracle::format(type.type);
   return f.is_float ? f.bytes == 2 || f.bytes == 4 : f.bytes == 1 || f.bytes == 4;
}

/// Calls the body for a quarter of the types, so that several runs reach all types.
void for_some_matrix_types(Device &device, oracle::Random &random, const MatrixFilter &fits,
                           const MatrixBody &body)
{
   // The first type always counts, for devices with few types.
   uint32_t turn = 0;
   const uint32_t start = oracle::draw(random, 4);
   const auto is_turn = [&](const MatrixType &type, uint32_t subgroup_size) {
      return fits(type, subgroup_size) && (turn++ == 0 || turn % 4 == start);
   };
   for_each_matrix_type(device, random, is_turn, body);
}

} // namespace

TEST(CmatQcom, MatricesAndArrays)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   if (!has_feature(device))
      return;
   const auto fits = [](const MatrixType &type, uint32_t subgroup_size) {
      const bool can = is_convertible(type) && Lines(type).count <= subgroup_size;
      if (!can)
         skip_case("matrices with other component types, or with too many rows");
      return can;
   };
   for_some_matrix_types(device, random, fits, [&](const MatrixType &type, uint32_t subgroup_size) {
      const Lines lines(type);
      const uint32_t words = lines.length * type.component_bytes() / 4;
      const Matrix m = random_matrix(random, type, oracle::Inputs::edges);
      const MatrixProgram program = {
         .inputs = {type},
         .outputs = {type, type, type},
         .declarations = R"(
$M0 construct_of_elements(const $T0 elements[$LENGTH]) { return $M0(0); }
$M0 construct_of_words(const uint words[$WORDS]) { return $M0(0); }
$T0[$LENGTH] extract_elements(const $M0 m) { $T0 v[$LENGTH]; return v; }
uint[$WORDS] extract_words(const $M0 m) { uint v[$WORDS]; return v; }
)",
         .body = R"(
   const uint line = min(gl_SubgroupInvocationID, $COUNT - 1);
   $T0 elements[$LENGTH];
   for (uint i = 0; i < $LENGTH; i++)
      elements[i] = m0_data.data[$ELEMENT];
   // Of what the others hold nothing is to be seen.
   if (gl_SubgroupInvocationID >= $COUNT)
      elements[3] = elements[5] = $T0(77);
   r0 = construct_of_elements(elements);
   const uint words[$WORDS] = extract_words(m0);
   r1 = construct_of_words(words);
   r2 = construct_of_elements(extract_elements(m0));
   for (uint i = 0; i < $WORDS; i++)
      side[gl_SubgroupInvocationID * $WORDS + i] = words[i];
)",
         .words = {{"LENGTH", std::to_string(lines.length)},
                   {"WORDS", std::to_string(words)},
                   {"COUNT", std::to_string(lines.count)},
                   {"ELEMENT", lines.are_columns ? "i * " + std::to_string(type.cols) + " + line"
                                                 : "line * " + std::to_string(type.cols) + " + i"}},
         .subgroup_size = subgroup_size,
         .side_words = subgroup_size * words,
         .edit = replace_calls,
      };
      const ProgramResult result = run_program(device, program, {m});
      for (const Matrix &output : result.outputs)
         EXPECT_EQ(memcmp(output.data.data(), m.data.data(), m.data.size()), 0);
      const std::span<const std::byte> side = std::as_bytes(std::span(result.side));
      const uint32_t bytes = type.component_bytes();
      for (uint32_t line = 0; line < lines.count; line++) {
         for (uint32_t place = 0; place < lines.length; place++)
            ASSERT_EQ(memcmp(&side[(size_t(line) * lines.length + place) * bytes],
                             &m.data[lines.element(type, line, place) * bytes], bytes),
                      0)
               << "line " << line << ", place " << place;
      }
   });
}

/// Arrays of every type that GLSL's functions have, at constant and at computed indices.
TEST(CmatQcom, Arrays)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   if (!has_feature(device))
      return;
   std::vector<MatrixType> types = matrix_types(device);
   std::erase_if(types, [&](const MatrixType &t) {
      return !is_convertible(t) || !missing_features(device, {t}).empty();
   });
   const MatrixType &type = types[oracle::draw(random, uint32_t(types.size()))];
   std::map<std::string, uint32_t> elements = {{"uint", 4}, {"int", 4}, {"float", 4}};
   if (missing_feature(device, ComponentType::f16).empty())
      elements["float16_t"] = 2;
   for (const auto &[from, from_bytes] : elements) {
      for (const auto &[to, to_bytes] : elements) {
         constexpr uint32_t bytes = 32;
         const uint32_t part = 1 + oracle::draw(random, 6),
                        start = oracle::draw(random, bytes / to_bytes - part);
         const uint32_t size = device.subgroup_sizes().back();
         const MatrixProgram program = {
            .inputs = {},
            .outputs = {type},
            .declarations = R"(
$FROM[$M] bitcast_to_from(const uint v[8]) { $FROM w[$M]; return w; }
$TO[$N] bitcast_to(const $FROM v[$M]) { $TO w[$N]; return w; }
uint[8] bitcast_to_words(const $TO v[$N]) { uint w[8]; return w; }
$TO[$PART] sub_array_of(const $TO v[$N], const int start) { $TO w[$PART]; return w; }
)",
            .body = R"(
   uint given[8];
   for (uint i = 0; i < 8; i++)
      given[i] = 0x34563412u + 0x1010203u * i + gl_SubgroupInvocationID;
   const $TO turned[$N] = bitcast_to(bitcast_to_from(given));
   const uint all[8] = bitcast_to_words(turned);
   const $TO some[$PART] = sub_array_of(turned, int(push.x));
   const $TO same[$PART] = sub_array_of(turned, $START);
   // Undefined, and harmless.
   const $TO outside[$PART] = sub_array_of(turned, int(push.y));
   uint wrong = outside[0] == $TO(1234) ? 1u << 20 : 0;
   for (uint i = 0; i < 8; i++)
      wrong += all[i] == given[i] ? 0 : 1;
   for (uint i = 0; i < $PART; i++)
      wrong += (some[i] == turned[$START + i] ? 0 : 16) + (same[i] == turned[$START + i] ? 0 : 256);
   side[gl_SubgroupInvocationID] = wrong;
   r0 = $R0(1);
)",
            .words = {{"FROM", from},
                      {"TO", to},
                      {"M", std::to_string(bytes / from_bytes)},
                      {"N", std::to_string(bytes / to_bytes)},
                      {"PART", std::to_string(part)},
                      {"START", std::to_string(start)},
                      {"R0", type.glsl()}},
            .push = {start, 0x40000000u, 0, 0},
            .subgroup_size = size,
            .side_words = size,
            .edit = replace_calls,
         };
         SCOPED_TRACE(from + " to " + to);
         const ProgramResult result = run_program(device, program, {});
         for (uint32_t wrong : result.side)
            ASSERT_EQ(wrong, 0u);
      }
   }
}

TEST(CmatQcom, Refusals)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   if (!has_feature(device))
      return;
   if (!device.is_weft && !device.has_weft_layer)
      return skip_case("for Weft's own driver or layer");
   const auto any = [](const MatrixType &, uint32_t) { return true; };
   for_some_matrix_types(device, random, any, [&](const MatrixType &type, uint32_t subgroup_size) {
      const Lines lines(type);
      const bool fits = is_convertible(type) && lines.count <= subgroup_size;
      /* A type that cannot be converted, more rows than invocations, or an array too long. */
      const uint32_t length = fits ? lines.length + 1 : lines.length;
      const MatrixProgram program = {
         .inputs = {type},
         .outputs = {type},
         .declarations = "$M0 construct_matrix(const $T0 elements[$LENGTH]) { return $M0(0); }\n",
         .body = "   $T0 elements[$LENGTH];\n   for (uint i = 0; i < $LENGTH; i++)\n"
                 "      elements[i] = $T0(i);\n   r0 = construct_matrix(elements);\n",
         .words = {{"LENGTH", std::to_string(length)}},
         .subgroup_size = subgroup_size,
         .edit = replace_calls,
      };
      EXPECT_THROW(run_program(device, program, {Matrix(type.type, type.rows, type.cols)}),
                   VulkanError);
      count_case();
   });
}

} // namespace weft::e2e
