// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Multiply-add: every advertised operation × all layouts of A, B, C and D × subgroup sizes, with
/// random strides and offsets, several subgroups side by side, in one workgroup or in several.

#include "tests/e2e/cmat.h"

#include <array>

namespace weft::e2e {

namespace {

struct Push {
   uint32_t at[4], stride[4]; ///< of A, B, C, D, in components
   uint32_t step[4];          ///< from one subgroup's matrix to the next
};

const char *const text = R"(
layout(local_size_x = $SIZE, local_size_y = $SIZE_Y, local_size_z = $SIZE_Z) in;
layout(push_constant, std430) uniform Push { uvec4 at, stride, step; } push;
$BLOCKS
void main()
{
   $A a;
   $B b;
   $C c;
   const uvec4 at = push.at + push.step * (gl_WorkGroupID.x + gl_SubgroupID);
   coopMatLoad(a, a_data.data, at.x, push.stride.x, $A_LAYOUT);
   coopMatLoad(b, b_data.data, at.y, push.stride.y, $B_LAYOUT);
   coopMatLoad(c, c_data.data, at.z, push.stride.z, $C_LAYOUT);
   $D d = coopMatMulAdd(a, b, c$OPERANDS);
   coopMatStore(d, d_data.data, at.w, push.stride.w, $D_LAYOUT);
}
)";

constexpr uint32_t subgroups = 3;

/// The distribution of the subgroups over workgroups and dimensions.
struct Grouping {
   uint32_t workgroups, y, z;
};
constexpr Grouping groupings[] = {{subgroups, 1, 1}, {1, subgroups, 1}, {1, 1, subgroups}};

class MuladdSweep {
public:
   MuladdSweep(Device &device, oracle::Random &random, const MatrixOperation &op)
       : device(device), random(random), op(op),
         types{a_type(op), b_type(op), c_type(op), result_type(op)}
   {
   }

   /// Layouts: bits 0 to 3 say which of A, B, C, D are column-major.
   void run(uint32_t layouts, uint32_t subgroup_size, oracle::Inputs inputs)
   {
      std::string layout_names;
      for (int i = 0; i < 4; i++)
         layout_names += layouts >> i & 1 ? "c" : "r";
      const Grouping grouping = groupings[oracle::draw(random, std::size(groupings))];
      SCOPED_TRACE(operation_name(op) + ", layouts of ABCD " + layout_names + ", subgroup size " +
                   std::to_string(subgroup_size) + ", workgroups of 1 × " +
                   std::to_string(grouping.y) + " × " + std::to_string(grouping.z) + " subgroups");
      Pipeline pipeline(device, compile_glsl(shader_text(layouts, subgroup_size, grouping)),
                        {.bindings = {1, 1, 1, 1},
                         .push_bytes = sizeof(Push),
                         .subgroup_size = subgroup_size,
                         .spec_constants = {}});
      dispatch(pipeline, layouts, grouping.workgroups, inputs);
   }

private:
   std::string shader_text(uint32_t layouts, uint32_t subgroup_size, const Grouping &grouping)
   {
      static const char *const names[] = {"a_data", "b_data", "c_data", "d_data"};
      Words words = {
         {"SIZE", std::to_string(subgroup_size)},
         {"SIZE_Y", std::to_string(grouping.y)},
         {"SIZE_Z", std::to_string(grouping.z)},
         {"A", types[0].glsl()},
         {"B", types[1].glsl()},
         {"C", types[2].glsl()},
         {"D", types[3].glsl()},
         {"OPERANDS", op.saturating ? ", gl_MatrixOperandsSaturatingAccumulation" : ""},
      };
      std::string blocks;
      for (uint32_t i = 0; i < 4; i++) {
         blocks += buffer_block(i, oracle::format(types[i].type).glsl, names[i]);
         const Placement layout = {.column_major = bool(layouts >> i & 1)};
         words[std::string(1, "ABCD"[i]) + "_LAYOUT"] = layout.glsl_layout();
      }
      words["BLOCKS"] = blocks;
      return std::string(glsl_header) + "#pragma use_vulkan_memory_model\n" + expand(text, words);
   }

   /// Sets C to the value nearest to -A·B, so that the sum is only the rounding error.
   void cancel(const oracle::Matrix &a, const oracle::Matrix &b, oracle::Matrix &c)
   {
      if (!oracle::format(c.type).is_float)
         return;
      const oracle::Expectation product = oracle::muladd(
         a, b, oracle::Expectation(oracle::Matrix(c.type, c.rows, c.cols)), false, 0.0);
      for (uint32_t i = 0; i < c.rows * c.cols; i++)
         oracle::encode_float(c.type, -product.value[i], c.at(i / c.cols, i % c.cols));
   }

   void dispatch(Pipeline &pipeline, uint32_t layouts, uint32_t workgroups, oracle::Inputs inputs)
   {
      std::vector<std::unique_ptr<Buffer>> buffers;
      std::vector<BufferRange> ranges;
      std::array<Placement, 4> placements;
      std::array<size_t, 4> steps;
      Push push;
      for (uint32_t i = 0; i < 4; i++) {
         placements[i] =
            random_placement(random, types[i], layouts >> i & 1, types[i].component_bytes());
         steps[i] = (extent(types[i], placements[i]) + 127) / 64 * 64;
         push.at[i] = placements[i].offset / types[i].component_bytes();
         push.stride[i] = placements[i].stride / types[i].component_bytes();
         push.step[i] = uint32_t(steps[i] / types[i].component_bytes());
         buffers.push_back(std::make_unique<Buffer>(device, steps[i] * subgroups));
         ranges.push_back(*buffers.back());
         oracle::fill_poison(buffers[i]->bytes());
      }
      std::vector<oracle::Expectation> expected;
      for (uint32_t group = 0; group < subgroups; group++) {
         std::vector<oracle::Matrix> m;
         // Products whose sum fits into a result of any type, before it saturates.
         const oracle::Inputs factors =
            op.saturating && group != 1 ? oracle::Inputs::whole : inputs;
         const oracle::Inputs addends = op.saturating ? oracle::Inputs::near_bounds : inputs;
         for (uint32_t i = 0; i < 3; i++)
            m.push_back(random_matrix(random, types[i], i == 2 ? addends : factors));
         if (group == 1 && inputs == oracle::Inputs::plain)
            cancel(m[0], m[1], m[2]);
         for (uint32_t i = 0; i < 3; i++)
            place(m[i], types[i], placements[i],
                  buffers[i]->bytes().subspan(group * steps[i], steps[i]));
         expected.push_back(oracle::muladd(m[0], m[1], oracle::Expectation(m[2]), op.saturating,
                                           muladd_rules(device, op.a, op.result)));
      }
      const std::vector<std::byte> before(buffers[3]->bytes().begin(), buffers[3]->bytes().end());
      pipeline.dispatch(ranges, {workgroups, 1, 1}, push);
      count_case();
      for (uint32_t group = 0; group < subgroups; group++) {
         SCOPED_TRACE("subgroup " + std::to_string(group));
         const size_t start = group * steps[3];
         EXPECT_TRUE(stored_as_expected(expected[group], types[3], placements[3],
                                        buffers[3]->bytes().subspan(start, steps[3]),
                                        std::span(before).subspan(start, steps[3])));
      }
   }

   Device &device;
   oracle::Random &random;
   const MatrixOperation &op;
   std::array<MatrixType, 4> types;
};

/// The number of the sixteen layouts of A, B, C and D for an operation. Halves and wider floats get
/// all. Bytes summed in 32 bits have many operations that differ by signs and saturation alone,
/// independent of the layout. Each gets four: every pair for A and B, and every pair for C and D.
/// Types that differ only by a conversion get one.
uint32_t layout_count(const MatrixOperation &op)
{
   if (oracle::format(op.a).is_float)
      return is_small_float(op.a) ? 1 : 16;
   return oracle::format(op.a).bytes == 1 && oracle::format(op.result).bytes == 4 ? 4 : 1;
}

void sweep(bool integers)
{
   Device &device = plain_device();
   oracle::Random random = test_random();
   const std::vector<uint32_t> sizes = device.subgroup_sizes();
   uint32_t turn = 0;
   for (const MatrixOperation &op : matrix_operations(device, SmallFloats::with)) {
      if (oracle::format(op.a).is_float == integers)
         continue;
      std::string missing;
      for (ComponentType type : {op.a, op.b, op.c, op.result})
         missing = missing.empty() ? missing_matrix_feature(device, type) : missing;
      // C and the result may differ in type only where the shader can say so: GLSL cannot.
      if (missing.empty() && op.c != op.result)
         missing = "GLSL that gives the result another type than C";
      if (!missing.empty()) {
         skip_case("needs " + missing);
         continue;
      }
      MuladdSweep run(device, random, op);
      const uint32_t count = layout_count(op), first = oracle::draw(random, 16);
      for (uint32_t i = 0; i < count; i++, turn++) {
         const uint32_t layouts = first ^ i * (count == 4 ? 0b0101 : 1);
         // Each subgroup size gets every pair of layouts of A and B.
         const uint32_t size = sizes[(layouts / 4 + turn / 16) % sizes.size()];
         // Only Weft's own driver must handle inputs for which Vulkan leaves the result open.
         const oracle::Inputs edges =
            device.is_weft && layouts & 4 ? oracle::Inputs::extremes : oracle::Inputs::edges;
         if (selected(random))
            run.run(layouts, size, layouts % 2 ? edges : oracle::Inputs::plain);
         if (testing::Test::HasFailure())
            return;
      }
      // Whole numbers have one right result, even in floating point.
      for (uint32_t size : sizes) {
         if (count < 16 && size != sizes[turn % sizes.size()])
            continue;
         if (selected(random))
            run.run(oracle::draw(random, 16), size, oracle::Inputs::whole);
         if (testing::Test::HasFailure())
            return;
      }
   }
   if (turn == 0)
      GTEST_SKIP() << "no such operation";
}

} // namespace

TEST(CmatMuladd, Floats)
{
   sweep(false);
}

TEST(CmatMuladd, Integers)
{
   sweep(true);
}

} // namespace weft::e2e
