// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/e2e/demo_family.h"

#include "tests/e2e/spirv_edits.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace weft::e2e {

namespace {

using oracle::draw;
using oracle::Matrix;

const char *const product = R"(
layout(local_size_x = $SIZE) in;
$BLOCKS
$DECLARATIONS
void main()
{
   $A a;
   $B b;
   $C c;
   $LOAD_A
   coopMatLoad(b, b_data.data, 0, $N, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(c, c_data.data, 0, $N, gl_CooperativeMatrixLayoutRowMajor);
   coopMatStore(coopMatMulAdd(a, b, c), d_data.data, 0, $N, gl_CooperativeMatrixLayoutRowMajor);
}
)";

const char *const load_rows =
   "coopMatLoad(a, a_data.data, 0, $K, gl_CooperativeMatrixLayoutRowMajor);";

const char *const product_nv = R"(
layout(local_size_x = $SIZE) in;
$BLOCKS
void main()
{
   $NV_A a;
   $NV_B b;
   $NV_C c;
   coopMatLoadNV(a, a_data.data, 0, $K, false);
   coopMatLoadNV(b, b_data.data, 0, $N, false);
   coopMatLoadNV(c, c_data.data, 0, $N, false);
   coopMatStoreNV(coopMatMulAddNV(a, b, c), d_data.data, 0, $N, false);
}
)";

/// Each invocation has a row of A.
const char *const construct = "$A construct_a(const $T elements[$K]) { return $A(0); }\n";
const char *const load_arrays = R"($T row[$K];
   for (uint i = 0; i < $K; i++)
      row[i] = a_data.data[min(gl_SubgroupInvocationID, $M - 1) * $K + i];
   a = construct_a(row);)";

/// 16 numbers of 8 bits and their scale.
struct QuantizedBlock {
   uint16_t scale;
   int8_t numbers[16];
};
const char *const decode = R"(
layout(buffer_reference, scalar, buffer_reference_align = 2) buffer Block { float16_t scale; int8_t numbers[16]; };
struct Vector { $T v0, v1, v2, v3; };
$T decode(const in Block b, const in uint32_t block[2], const in uint32_t at[2])
{
   return $T(b.scale) * $T(b.numbers[at[1]]);
}
Vector decode_vector(const in Block b, const in uint32_t block[2], const in uint32_t at[2])
{
   const uint i = at[1];
   const $T scale = $T(b.scale);
   return Vector(scale * $T(b.numbers[i]), scale * $T(b.numbers[i + 1]),
                 scale * $T(b.numbers[i + 2]), scale * $T(b.numbers[i + 3]));
}
layout(push_constant, std430) uniform Push { uvec2 never; } push;
)";
const char *const load_blocks = R"(tensorLayoutNV<2> t = createTensorLayoutNV(2);
   t = setTensorLayoutBlockSizeNV(t, 1, 16);
   t = setTensorLayoutDimensionNV(t, $M, $K);
   t = sliceTensorLayoutNV(t, 0, $M, 0, $K);
   coopMatLoadTensorNV(a, a_data.data, 0, t, decode);
   if (push.never.x != 0) // the module has to call it
      d_data.data[0] = $U(decode_vector(Block(push.never), uint32_t[2](0, 0), uint32_t[2](0, 0)).v0);)";

struct Member {
   const char *extension, *how;
   enum class Sizes { listed, flexible, workgroup } sizes = Sizes::listed;
   const char *text = product, *load_a = load_rows, *declarations = "";
   /// Whether the product can have this operation in subgroups of this size.
   std::function<bool(const MatrixOperation &, uint32_t subgroup_size)> fits = nullptr;
   /// Returns A in the order in which the shader reads it, if not by rows. May change A's numbers.
   std::function<std::vector<std::byte>(oracle::Random &, Matrix &)> place_a = nullptr;
   std::function<void(std::vector<uint32_t> &)> edit = nullptr;
   const char *a_element = nullptr; ///< of A's buffer, if not A's
};

bool is_nv(const MatrixOperation &op, uint32_t)
{
   const oracle::Format &a = oracle::format(op.a), &c = oracle::format(op.c);
   return !is_small_float(op.a) && !is_small_float(op.c) && a.bytes < 8 && c.bytes < 8 &&
          a.is_signed == c.is_signed;
}

bool has_convertible_rows(const MatrixOperation &op, uint32_t subgroup_size)
{
   const oracle::Format &a = oracle::format(op.a);
   return !is_small_float(op.a) && op.m <= subgroup_size &&
          (a.bytes == 4 || a.bytes == (a.is_float ? 2 : 1));
}

bool is_decoded(const MatrixOperation &op, uint32_t)
{
   return (op.a == ComponentType::f16 || op.a == ComponentType::f32) && op.k % 16 == 0;
}

bool has_blocks(const MatrixOperation &op, uint32_t)
{
   return op.m % 4 == 0 && op.k % (16 / oracle::format(op.a).bytes) == 0;
}

/// Blocks of 4 rows of 16 bytes, one after the other.
std::vector<std::byte> in_blocks(oracle::Random &, Matrix &a)
{
   const uint32_t bytes = oracle::format(a.type).bytes, cols = 16 / bytes;
   std::vector<std::byte> memory;
   for (uint32_t block = 0; block < a.rows / 4 * (a.cols / cols); block++) {
      for (uint32_t row = 0; row < 4; row++) {
         const std::byte *line =
            a.at(block / (a.cols / cols) * 4 + row, block % (a.cols / cols) * cols);
         memory.insert(memory.end(), line, line + 16);
      }
   }
   return memory;
}

std::vector<std::byte> quantized(oracle::Random &random, Matrix &a)
{
   std::vector<std::byte> memory;
   for (uint32_t first = 0; first < a.rows * a.cols; first += 16) {
      QuantizedBlock block;
      const double scale = 1.0 / (1 << draw(random, 5));
      std::byte encoded[2];
      oracle::encode_float(ComponentType::f16, scale, encoded);
      memcpy(&block.scale, encoded, 2);
      for (uint32_t i = 0; i < 16; i++) {
         block.numbers[i] = int8_t(int(draw(random, 256)) - 128);
         oracle::encode_float(a.type, scale * block.numbers[i],
                              a.at((first + i) / a.cols, (first + i) % a.cols));
      }
      const auto *bytes = reinterpret_cast<const std::byte *>(&block);
      memory.insert(memory.end(), bytes, bytes + sizeof(block));
   }
   return memory;
}

const Member members[] = {
   {.extension = VK_NV_COOPERATIVE_MATRIX_EXTENSION_NAME,
    .how = "matrices without a use",
    .text = product_nv,
    .fits = is_nv},
   {.extension = VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME,
    .how = "flexible dimensions",
    .sizes = Member::Sizes::flexible},
   {.extension = VK_NV_COOPERATIVE_MATRIX_2_EXTENSION_NAME,
    .how = "workgroup scope",
    .sizes = Member::Sizes::workgroup},
   {.extension = VK_NV_COOPERATIVE_MATRIX_DECODE_VECTOR_EXTENSION_NAME,
    .how = "A from quantized blocks",
    .load_a = load_blocks,
    .declarations = decode,
    .fits = is_decoded,
    .place_a = quantized,
    .edit =
       [](std::vector<uint32_t> &spirv) {
          if (add_vector_decode_functions(spirv) != 1)
             throw std::runtime_error("A is not loaded with the vector decode function");
       },
    .a_element = "uint16_t"},
   {.extension = VK_QCOM_COOPERATIVE_MATRIX_CONVERSION_EXTENSION_NAME,
    .how = "A from invocations' arrays",
    .load_a = load_arrays,
    .declarations = construct,
    .fits = has_convertible_rows,
    .edit = [](std::vector<uint32_t> &spirv) { replace_calls_by_array_conversions(spirv); }},
   {.extension = VK_ARM_COOPERATIVE_MATRIX_LAYOUTS_EXTENSION_NAME,
    .how = "A from blocks in memory",
    .load_a = "coopMatLoad(a, a_data.data, 0, 1, 4202);",
    .fits = has_blocks,
    .place_a = in_blocks,
    .edit = declare_blocked_layouts},
};

struct Candidate {
   MatrixOperation op;
   uint32_t local_size; ///< 0: a subgroup
};

/// For each type of A, the first operation whose B has the same type, and C the result's type.
std::vector<Candidate> candidates(const Device &device, const Member &member,
                                  uint32_t subgroup_size)
{
   std::vector<Candidate> all, chosen;
   if (member.sizes == Member::Sizes::listed) {
      for (const MatrixOperation &op : matrix_operations(device, SmallFloats::with))
         all.push_back({op, 0});
   } else {
      const bool workgroup = member.sizes == Member::Sizes::workgroup;
      for (const VkCooperativeMatrixFlexibleDimensionsPropertiesNV &p :
           device.flexible_properties) {
         if (p.scope != (workgroup ? VK_SCOPE_WORKGROUP_KHR : VK_SCOPE_SUBGROUP_KHR))
            continue;
         all.push_back({{3 * p.MGranularity, 5 * p.NGranularity, 7 * p.KGranularity,
                         ComponentType(p.AType), ComponentType(p.BType), ComponentType(p.CType),
                         ComponentType(p.ResultType), bool(p.saturatingAccumulation)},
                        workgroup ? p.workgroupInvocations : 0});
      }
   }
   for (const Candidate &c : all) {
      const MatrixOperation &op = c.op;
      if (op.a != op.b || op.c != op.result || op.saturating || !oracle::has_format(op.a) ||
          !oracle::has_format(op.c) || !missing_feature(device, op.a).empty() ||
          !missing_feature(device, op.c).empty() ||
          (member.fits && !member.fits(op, subgroup_size)))
         continue;
      if (std::ranges::none_of(chosen, [&](const Candidate &other) { return other.op.a == op.a; }))
         chosen.push_back(c);
   }
   return chosen;
}

/// "fcoopmatNV<16, gl_ScopeSubgroup, 16, 8>"
std::string nv_glsl(const MatrixType &type)
{
   const oracle::Format &f = oracle::format(type.type);
   return std::string(f.is_float    ? "f"
                      : f.is_signed ? "i"
                                    : "u") +
          "coopmatNV<" + std::to_string(8 * f.bytes) + ", gl_ScopeSubgroup, " +
          std::to_string(type.rows) + ", " + std::to_string(type.cols) + ">";
}

std::string shader_text(const Member &member, const MatrixOperation &op, uint32_t local_size)
{
   const auto glsl = [&](const MatrixType &type) {
      std::string text = type.glsl();
      const std::string scope = "gl_ScopeSubgroup";
      if (member.sizes == Member::Sizes::workgroup)
         text.replace(text.find(scope), scope.size(), "gl_ScopeWorkgroup");
      return text;
   };
   const std::string a = oracle::format(op.a).glsl, b = oracle::format(op.b).glsl,
                     c = oracle::format(op.c).glsl;
   const Words words = {
      {"SIZE", std::to_string(local_size)},
      {"BLOCKS", buffer_block(0, member.a_element ? member.a_element : a, "a_data") +
                    buffer_block(1, b, "b_data") + buffer_block(2, c, "c_data") +
                    buffer_block(3, c, "d_data")},
      {"DECLARATIONS", member.declarations},
      {"LOAD_A", member.load_a},
      {"A", glsl(a_type(op))},
      {"B", glsl(b_type(op))},
      {"C", glsl(c_type(op))},
      {"NV_A", nv_glsl(a_type(op))},
      {"NV_B", nv_glsl(b_type(op))},
      {"NV_C", nv_glsl(c_type(op))},
      {"T", a},
      {"U", c},
      {"M", std::to_string(op.m)},
      {"N", std::to_string(op.n)},
      {"K", std::to_string(op.k)},
   };
   return std::string(glsl_header) + "#pragma use_vulkan_memory_model\n" +
          expand(member.text, words);
}

FamilyProduct multiply(Device &device, oracle::Random &random, const Member &member,
                       const Candidate &candidate, uint32_t subgroup_size)
{
   const MatrixOperation &op = candidate.op;
   const uint32_t local_size = candidate.local_size ? candidate.local_size : subgroup_size;
   Matrix a = random_matrix(random, a_type(op), oracle::Inputs::plain);
   const Matrix b = random_matrix(random, b_type(op), oracle::Inputs::plain),
                c = random_matrix(random, c_type(op), oracle::Inputs::plain);
   const auto as_it_is = [](const Matrix &m) {
      return std::vector<std::byte>(m.data.begin(), m.data.end());
   };
   std::vector<std::byte> a_bytes;
   if (member.place_a)
      a_bytes = member.place_a(random, a);
   else
      a_bytes = as_it_is(a);
   Matrix d(op.result, op.m, op.n);
   oracle::fill_poison(d.data);

   std::vector<uint32_t> spirv = compile_glsl(shader_text(member, op, local_size));
   if (member.edit)
      member.edit(spirv);
   Pipeline pipeline(device, spirv,
                     {.bindings = {1, 1, 1, 1},
                      .push_bytes = 8,
                      .subgroup_size = subgroup_size,
                      .spec_constants = {}});
   std::vector<std::unique_ptr<Buffer>> buffers;
   std::vector<BufferRange> ranges;
   for (const std::vector<std::byte> &bytes : {a_bytes, as_it_is(b), as_it_is(c), as_it_is(d)}) {
      buffers.push_back(std::make_unique<Buffer>(device, bytes.size()));
      memcpy(buffers.back()->bytes().data(), bytes.data(), bytes.size());
      ranges.push_back(*buffers.back());
   }
   const uint64_t never = 0;
   pipeline.dispatch(ranges, {}, never);
   memcpy(d.data.data(), buffers[3]->bytes().data(), d.data.size());
   return {
      member.extension, member.how, op,
      oracle::muladd(a, b, oracle::Expectation(c), false, muladd_rules(device, op.a, op.result)),
      std::move(d)};
}

} // namespace

void for_each_family_product(Device &device, oracle::Random &random,
                             const std::function<void(const FamilyProduct &)> &body)
{
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   const uint32_t subgroup_size = std::ranges::count(sizes, device.properties11.subgroupSize)
                                     ? device.properties11.subgroupSize
                                     : sizes.back();
   for (const Member &member : members) {
      if (!device.has_extension(member.extension))
         continue;
      for (const Candidate &candidate : candidates(device, member, subgroup_size))
         body(multiply(device, random, member, candidate, subgroup_size));
   }
}

} // namespace weft::e2e
