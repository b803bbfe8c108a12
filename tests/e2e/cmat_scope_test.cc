// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Matrices of workgroup scope, of every combination of types in the device's list
/// (cooperativeMatrixWorkgroupScope), in random sizes and workgroups of multiple subgroups.
/// tests/backend/cpu/cmat_scope_test.cc has more of their operations, without Vulkan.

#include "tests/e2e/cmat.h"

#include <algorithm>
#include <cstring>

namespace weft::e2e {

namespace {

using oracle::draw;
using oracle::Matrix;

struct Row {
   MatrixOperation op; ///< its sizes are granularities
   uint32_t max_dimension, invocations;
};

/// The part of the device's list that GLSL can express.
std::vector<Row> rows_of(const Device &device)
{
   std::vector<Row> rows;
   for (const VkCooperativeMatrixFlexibleDimensionsPropertiesNV &p : device.flexible_properties) {
      if (p.scope != VK_SCOPE_WORKGROUP_KHR)
         continue;
      std::string missing;
      for (const VkComponentTypeKHR type : {p.AType, p.BType, p.CType, p.ResultType}) {
         const auto component = ComponentType(type);
         if (!oracle::has_format(component))
            missing = "an oracle for the component type";
         else if (missing.empty())
            missing = missing_feature(device, component);
      }
      if (p.CType != p.ResultType)
         missing = "GLSL that gives the result another type than C";
      if (!missing.empty()) {
         skip_case("needs " + missing);
         continue;
      }
      const auto max = device.matrix2_properties.cooperativeMatrixFlexibleDimensionsMaxDimension;
      rows.push_back({{p.MGranularity, p.NGranularity, p.KGranularity, ComponentType(p.AType),
                       ComponentType(p.BType), ComponentType(p.CType), ComponentType(p.ResultType),
                       bool(p.saturatingAccumulation), MatrixScope::workgroup},
                      max,
                      p.workgroupInvocations});
   }
   return rows;
}

std::string of_workgroup(const MatrixType &type)
{
   std::string glsl = type.glsl();
   const std::string scope = "gl_ScopeSubgroup";
   return glsl.replace(glsl.find(scope), scope.size(), "gl_ScopeWorkgroup");
}

const char *const text = R"(
layout(local_size_x = $SIZE) in;
$BLOCKS
$T larger(const in $T x, const in $T y) { return x > y ? x : y; }
$T upper(const in uint row, const in uint col, const in $T x, const in $T y)
{
   return row <= col ? x : y;
}
void main()
{
   $A a;
   $B b;
   $C c;
   const uint at = gl_WorkGroupID.x;
   coopMatLoad(a, a_data.data, at * $M * $K, $A_STRIDE, $A_LAYOUT);
   coopMatLoad(b, b_data.data, at * $K * $N, $B_STRIDE, $B_LAYOUT);
   coopMatLoad(c, c_data.data, at * $M * $N, $C_STRIDE, $C_LAYOUT);
   $C d = coopMatMulAdd(a, b, c$OPERANDS);
   coopMatStore(d, d_data.data, at * $M * $N, $N, gl_CooperativeMatrixLayoutRowMajor);
   $ELEMENTS
}
)";

/// Broadcasts the largest element, and replaces every element by one of two numbers.
const char *const elements = R"(
   $C most;
   coopMatReduceNV(most, d, gl_CooperativeMatrixReduceRowAndColumnNV, larger);
   coopMatStore(most, e_data.data, at * $M * $N, $N, gl_CooperativeMatrixLayoutRowMajor);
   coopMatPerElementNV(d, d, upper, c);
   coopMatStore(d, f_data.data, at * $M * $N, $N, gl_CooperativeMatrixLayoutRowMajor);
)";

constexpr uint32_t workgroups = 2;

void check(Device &device, oracle::Random &random, const Row &row)
{
   MatrixOperation op = row.op;
   const auto size = [&](uint32_t unit) {
      return unit * (1 + draw(random, std::min(row.max_dimension, 40u) / unit));
   };
   op.m = size(row.op.m);
   op.n = size(row.op.n);
   op.k = size(row.op.k);
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   const uint32_t subgroup_size = sizes[draw(random, uint32_t(sizes.size()))];
   SCOPED_TRACE(operation_name(op) + " in a workgroup of " + std::to_string(row.invocations) +
                ", subgroup size " + std::to_string(subgroup_size));

   const MatrixType types[] = {a_type(op), b_type(op), c_type(op), result_type(op)};
   const bool looks_at_elements = !is_small_float(op.result) &&
                                  device.matrix2_features.cooperativeMatrixReductions &&
                                  device.matrix2_features.cooperativeMatrixPerElementOperations;
   Words words = {{"SIZE", std::to_string(row.invocations)},
                  {"T", oracle::format(op.result).glsl},
                  {"M", std::to_string(op.m)},
                  {"N", std::to_string(op.n)},
                  {"K", std::to_string(op.k)},
                  {"OPERANDS", op.saturating ? ", gl_MatrixOperandsSaturatingAccumulation" : ""}};
   Placement placements[4];
   std::string blocks;
   std::vector<std::unique_ptr<Buffer>> buffers;
   std::vector<BufferRange> ranges;
   for (uint32_t i = 0; i < 6; ++i) {
      const MatrixType &type = types[std::min(i, 3u)];
      const std::string letter(1, "ABCDEF"[i]), name(1, "abcdef"[i]);
      if (i < 3) {
         placements[i].column_major = draw(random, 2);
         placements[i].stride = line_bytes(type, placements[i].column_major);
         words[letter] = of_workgroup(type);
         words[letter + "_LAYOUT"] = placements[i].glsl_layout();
         words[letter + "_STRIDE"] =
            std::to_string(placements[i].column_major ? type.rows : type.cols);
      }
      blocks += buffer_block(i, oracle::format(type.type).glsl, name + "_data");
      buffers.push_back(std::make_unique<Buffer>(device, size_t(type.rows) * type.cols *
                                                            type.component_bytes() * workgroups));
      ranges.push_back(*buffers.back());
      oracle::fill_poison(buffers.back()->bytes());
   }
   placements[3].stride = line_bytes(types[3], false);
   words["BLOCKS"] = blocks;
   words["ELEMENTS"] = looks_at_elements ? expand(elements, words) : "";

   std::string functions_of = text;
   if (!looks_at_elements) // the types that have no arithmetic
      functions_of.erase(functions_of.find("$T larger"),
                         functions_of.find("void main") - functions_of.find("$T larger"));
   Pipeline pipeline(device,
                     compile_glsl(std::string(glsl_header) + "#pragma use_vulkan_memory_model\n" +
                                  expand(functions_of, words)),
                     {.bindings = std::vector<uint32_t>(6, 1),
                      .push_bytes = 0,
                      .subgroup_size = subgroup_size,
                      .spec_constants = {}});

   const auto part = [&](uint32_t buffer, uint32_t group) {
      const std::span<std::byte> bytes = buffers[buffer]->bytes();
      return bytes.subspan(bytes.size() / workgroups * group, bytes.size() / workgroups);
   };
   std::vector<std::vector<Matrix>> inputs(workgroups);
   for (uint32_t group = 0; group < workgroups; ++group) {
      for (uint32_t i = 0; i < 3; ++i) {
         inputs[group].push_back(random_matrix(random, types[i],
                                               i == 2 && op.saturating ? oracle::Inputs::near_bounds
                                                                       : oracle::Inputs::whole));
         place(inputs[group][i], types[i], placements[i], part(i, group));
      }
   }
   pipeline.dispatch(ranges, {workgroups, 1, 1}, {});
   count_case();

   for (uint32_t group = 0; group < workgroups; ++group) {
      const std::vector<Matrix> &m = inputs[group];
      const Matrix d = pick(types[3], placements[3], part(3, group));
      EXPECT_EQ(oracle::muladd(m[0], m[1], oracle::Expectation(m[2]), op.saturating,
                               muladd_rules(device, op.a, op.result))
                   .mismatch(d),
                std::nullopt);
      if (!looks_at_elements)
         continue;
      const Matrix e = pick(types[3], placements[3], part(4, group)),
                   f = pick(types[3], placements[3], part(5, group));
      const auto is_less = [&](const std::byte *x, const std::byte *y) {
         return oracle::format(d.type).is_float
                   ? oracle::decode_float(d.type, x) < oracle::decode_float(d.type, y)
                   : oracle::decode_int(d.type, x) < oracle::decode_int(d.type, y);
      };
      const std::byte *most = d.at(0, 0);
      for (uint32_t i = 0; i < op.m * op.n; ++i) {
         const std::byte *element = d.at(i / op.n, i % op.n);
         most = is_less(most, element) ? element : most;
      }
      uint32_t wrong = 0;
      for (uint32_t i = 0; i < op.m * op.n; ++i) {
         const uint32_t r = i / op.n, c = i % op.n;
         wrong += is_less(e.at(r, c), most) || is_less(most, e.at(r, c));
         wrong += memcmp(f.at(r, c), r <= c ? d.at(r, c) : m[2].at(r, c),
                         types[3].component_bytes()) != 0;
      }
      EXPECT_EQ(wrong, 0u) << "elements wrong";
   }
}

} // namespace

TEST(CmatScope, Workgroups)
{
   Device &device = plain_device();
   if (!device.matrix2_features.cooperativeMatrixWorkgroupScope)
      return skip_case("no cooperativeMatrixWorkgroupScope");
   oracle::Random random = test_random();
   uint32_t turn = 0;
   for (const Row &row : rows_of(device)) {
      EXPECT_LE(row.invocations,
                device.matrix2_properties.cooperativeMatrixWorkgroupScopeMaxWorkgroupSize);
      /* Bytes have many combinations of signs and saturation. */
      const bool many = oracle::format(row.op.a).bytes == 1 && !is_small_float(row.op.a);
      if (!selected(random, 6) || (many && turn++ % 4 != 0))
         continue;
      check(device, random, row);
      if (testing::Test::HasFailure())
         return;
   }
}

} // namespace weft::e2e
