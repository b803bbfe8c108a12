// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Bad input through the API: the result is an error with a message through VK_EXT_debug_utils, and
/// the device then computes as before. The specification requires no checks, so other drivers are
/// not tested.

#include "nir_passes/front_end/spirv_words.h"
#include "tests/e2e/cmat_program.h"
#include "tests/e2e/compute.h"

#include <algorithm>
#include <cstring>

namespace weft::e2e {

namespace {

class BadInput : public testing::Test {
protected:
   void SetUp() override
   {
      if (!device().is_weft && !device().has_weft_layer) {
         skip_case("asks for more than Vulkan does: for Weft's own driver or layer");
         GTEST_SKIP();
      }
   }

   /// A shader with loops, memory, shared memory and, where there are matrices, a multiply-add.
   std::vector<uint32_t> good_module()
   {
      std::string matrix;
      const std::vector<MatrixOperation> operations = matrix_operations(device());
      if (!operations.empty()) {
         const MatrixOperation &op = operations[0];
         matrix =
            a_type(op).glsl() + " a; " + b_type(op).glsl() + " b; " + c_type(op).glsl() +
            " c;\ncoopMatLoad(a, source.data, 0, 64, 0); coopMatLoad(b, source.data, 0, 64, 1);\n"
            "coopMatLoad(c, source.data, 0, 64, 0); c = coopMatMulAdd(a, b, c);\n"
            "coopMatStore(c, target.data, 4096, 64, 0);\n";
      }
      return compile_glsl(std::string(glsl_header) + R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Source { uint data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { uint data[]; } target;
shared uint line[64];
void main()
{
   const uint i = gl_LocalInvocationIndex;
   line[i] = source.data[i];
   barrier();
   uint sum = 0;
   for (uint j = 0; j <= i; j++)
      sum += line[j];
   target.data[i] = sum;
)" + matrix + "}\n");
   }

   Device &device() { return plain_device(); }

   /// A changed module may be valid, but use descriptors that the pipeline's layout lacks. Only
   /// Weft's driver must survive that.
   bool may_get_any_module()
   {
      if (!device().is_weft)
         skip_case("for Weft's own driver: a module that does not fit its layout");
      return device().is_weft;
   }

   void expect_device_works()
   {
      const ComputeShader shader = {.source_type = "uint",
                                    .target_type = "uint",
                                    .declarations = "",
                                    .body = "   target.data[id] = source.data[id] * 3 + 1;\n"};
      std::vector<uint32_t> source(256);
      for (uint32_t i = 0; i < 256; i++)
         source[i] = i * i;
      const std::vector<uint32_t> target = run_compute<uint32_t>(device(), shader, source, 256);
      for (uint32_t i = 0; i < 256; i++)
         ASSERT_EQ(target[i], i * i * 3 + 1) << "the device does not compute any more";
   }

   /// Whether Weft judges a module: the layer passes modules without matrices to the driver below.
   bool is_for_weft(std::span<const uint32_t> spirv)
   {
      constexpr uint32_t op_capability = 2 << 16 | 17, khr = 6022, nv = 5357;
      bool declared = false;
      for (size_t at = 5; at + 1 < spirv.size() && spirv[at] == op_capability; at += 2)
         declared |= (spirv[at + 1] == khr || spirv[at + 1] == nv) && spirv[0] == 0x07230203;
      return device().is_weft || declared;
   }

   /// Tries to create a pipeline. Returns true if it was refused, which requires a message.
   bool refused(std::span<const uint32_t> spirv, std::vector<SpecConstant> spec_constants = {})
   {
      if (!is_for_weft(spirv)) {
         skip_case("not for Weft's layer: no matrices in the module");
         return true;
      }
      count_case();
      try {
         Pipeline pipeline(device(), spirv,
                           {.bindings = {1, 1},
                            .push_bytes = 16,
                            .subgroup_size = 0,
                            .spec_constants = spec_constants});
         return false;
      } catch (const VulkanError &error) {
         EXPECT_FALSE(error.messages.empty()) << "refused without a message: " << error.what();
         return true;
      }
   }

   /// A shader without loops and shared memory. With robust access, no change of a few words makes
   /// it run for ever or access other memory, so each mutant can be executed.
   std::vector<uint32_t> straight_module(bool nv)
   {
      const std::vector<MatrixOperation> operations = matrix_operations(robust_device());
      std::string matrix;
      if (nv) {
         matrix = nv_body(robust_device());
      } else if (!operations.empty()) {
         const MatrixOperation &op = operations[0];
         matrix =
            expand(R"(   $A a; $B b; $C c;
   coopMatLoad(a, source.data, 3, 64, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(b, source.data, 40, 64, gl_CooperativeMatrixLayoutColumnMajor);
   coopMatLoad(c, source.data, 9, 64, gl_CooperativeMatrixLayoutRowMajor);
   c = coopMatMulAdd(a, b, c) - c;
   coopMatStore(c, target.data, 256, 64, gl_CooperativeMatrixLayoutRowMajor);
)",
                   {{"A", a_type(op).glsl()}, {"B", b_type(op).glsl()}, {"C", c_type(op).glsl()}});
      }
      return compile_glsl(std::string(glsl_header) + R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Source { uint data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { uint data[]; } target;
void main()
{
   const uint i = gl_GlobalInvocationID.x;
   uint x = source.data[i] * 77 + source.data[i ^ 5];
   if (x > 1000)
      x = subgroupAdd(x) / (i + 1);
   else
      target.data[x] = bitCount(x);
   const vec4 v = vec4(x, i, 3, 4) * float(source.data[x % 128]);
   target.data[i] = x + uint(dot(v, v));
   target.data[64 + i] = atomicAdd(target.data[128 + i % 4], x);
)" + matrix + "}\n");
   }

   /// Whether the module uses only the two existing bindings. Another binding is the program's
   /// fault.
   static bool uses_given_bindings(std::span<const uint32_t> spirv)
   {
      constexpr uint32_t op_decorate = 71, op_variable = 59, binding = 33, set = 34,
                         storage_buffer = 12, input = 1, function = 7;
      for (const auto &[opcode, operands] : Instructions(spirv)) {
         if (opcode == op_decorate && operands.size() == 3 &&
             ((operands[1] == binding && operands[2] > 1) ||
              (operands[1] == set && operands[2] != 0)))
            return false;
         if (opcode == op_variable && operands.size() >= 3 && operands[2] != storage_buffer &&
             operands[2] != input && operands[2] != function)
            return false;
      }
      return true;
   }

   /// Runs a module if it is accepted; true if it ran.
   bool runs(std::span<const uint32_t> spirv)
   {
      if (!uses_given_bindings(spirv))
         return false;
      Device &device = robust_device();
      std::unique_ptr<Pipeline> pipeline;
      try {
         pipeline = std::make_unique<Pipeline>(
            device, spirv,
            PipelineOptions{
               .bindings = {1, 1}, .push_bytes = 16, .subgroup_size = 0, .spec_constants = {}});
      } catch (const VulkanError &) {
         return false;
      }
      Buffer source(device, 4096), target(device, 4096);
      oracle::Random random = test_random();
      oracle::fill_random(random, ComponentType::u32, oracle::Inputs::plain, source.bytes());
      oracle::fill_poison(target.bytes());
      pipeline->dispatch({{source, 256, 2048}, {target, 256, 2048}}, {3, 1, 1});
      count_case();
      for (uint32_t i = 0; i < 1024; i++) {
         const bool inside = i >= 64 && i < 64 + 512;
         std::byte poison[4096];
         oracle::fill_poison(poison);
         if (!inside) {
            EXPECT_EQ(memcmp(&target.bytes()[4 * i], &poison[4 * i], 4), 0)
               << "word " << i << " outside of the range was overwritten";
         }
      }
      return true;
   }

   /// Compiles GLSL that is valid for some device, and expects that this one refuses it.
   void expect_refused(const std::string &what, const std::string &glsl,
                       std::vector<SpecConstant> spec_constants = {})
   {
      SCOPED_TRACE(what);
      EXPECT_TRUE(refused(compile_glsl(glsl), spec_constants));
      expect_device_works();
   }

   /// Statements with matrices without a use, for an operation of the device's list
   /// (VK_NV_cooperative_matrix); empty if the list is empty.
   std::string nv_body(const Device &device)
   {
      std::string text;
      for (const VkCooperativeMatrixPropertiesNV &p : device.nv_matrix_properties) {
         if (text.empty() && p.AType == VK_COMPONENT_TYPE_FLOAT32_NV && p.BType == p.AType &&
             p.CType == p.AType && p.DType == p.AType)
            text = expand(R"(   fcoopmatNV<32, gl_ScopeSubgroup, $M, $K> a;
   fcoopmatNV<32, gl_ScopeSubgroup, $K, $N> b;
   fcoopmatNV<32, gl_ScopeSubgroup, $M, $N> c;
   coopMatLoadNV(a, source.data, 4, 64, false);
   coopMatLoadNV(b, source.data, 40, 64, true);
   coopMatLoadNV(c, source.data, 8, 64, false);
   c = coopMatMulAddNV(a, b, c) - c;
   c[c.length() - 1] += a[0];
   coopMatStoreNV(c, target.data, 256, 64, false);
)",
                          {{"M", std::to_string(p.MSize)},
                           {"N", std::to_string(p.NSize)},
                           {"K", std::to_string(p.KSize)}});
      }
      return text;
   }

   /// A shader that loads and stores one matrix of the given GLSL type.
   std::string matrix_shader(const std::string &type, const std::string &declarations = "")
   {
      return std::string(glsl_header) +
             "#pragma use_vulkan_memory_model\nlayout(local_size_x = 64) in;\n" +
             buffer_block(0, "uint", "source") + buffer_block(1, "uint", "target") + declarations +
             "\nvoid main() {\n   " + type +
             " m;\n   coopMatLoad(m, source.data, 0, 64, 0);\n   coopMatStore(m, target.data, 0, "
             "64, 0);\n}\n";
   }
};

} // namespace

TEST_F(BadInput, EmptyModule)
{
   const std::vector<uint32_t> module = good_module();
   EXPECT_FALSE(refused(module));
   EXPECT_TRUE(refused(std::span(module).first(5))) << "a header alone";
   EXPECT_TRUE(refused(std::span(module).first(1)));
   const uint32_t zero = 0;
   EXPECT_TRUE(refused({&zero, 1}));
   expect_device_works();
}

TEST_F(BadInput, TruncatedModules)
{
   const std::vector<uint32_t> module = good_module();
   oracle::Random random = test_random();
   for (size_t words = 6; words < module.size();
        words += 1 + oracle::draw(random, uint32_t(module.size() / 40))) {
      SCOPED_TRACE("cut after " + std::to_string(words) + " of " + std::to_string(module.size()) +
                   " words");
      EXPECT_TRUE(refused(std::span(module).first(words)));
   }
   expect_device_works();
}

/// Flipped bits may leave a valid module.  The process and the device survive it in any case.
TEST_F(BadInput, FlippedBits)
{
   if (!may_get_any_module())
      GTEST_SKIP();
   const std::vector<uint32_t> module = good_module();
   oracle::Random random = test_random();
   int refusals = 0;
   for (int i = 0; i < 200; i++) {
      std::vector<uint32_t> changed = module;
      const uint32_t flips = 1 + oracle::draw(random, 3);
      for (uint32_t flip = 0; flip < flips; flip++)
         changed[oracle::draw(random, uint32_t(module.size()))] ^= 1u << oracle::draw(random, 32);
      if (is_for_weft(changed))
         refusals += refused(changed);
      if (i % 50 == 0)
         expect_device_works();
   }
   EXPECT_GT(refusals, 20);
   expect_device_works();
}

TEST_F(BadInput, SwappedWords)
{
   if (!may_get_any_module())
      GTEST_SKIP();
   const std::vector<uint32_t> module = good_module();
   oracle::Random random = test_random();
   for (int i = 0; i < 100; i++) {
      std::vector<uint32_t> changed = module;
      std::swap(changed[5 + oracle::draw(random, uint32_t(module.size() - 5))],
                changed[5 + oracle::draw(random, uint32_t(module.size() - 5))]);
      refused(changed);
   }
   expect_device_works();
}

/// Accepted modules are also executed.
TEST_F(BadInput, AcceptedMutantsRun)
{
   if (!may_get_any_module())
      GTEST_SKIP();
   const std::vector<uint32_t> modules[] = {straight_module(false), straight_module(true)};
   for (const std::vector<uint32_t> &module : modules)
      ASSERT_TRUE(runs(module));
   oracle::Random random = test_random();
   // Ids and constants are small numbers, so words are replaced by small numbers: such modules are
   // most often valid.
   uint32_t executed = 0;
   for (int i = 0; i < 500 && !HasFailure(); i++) {
      SCOPED_TRACE("mutant " + std::to_string(i));
      const std::vector<uint32_t> &module = modules[oracle::draw(random, 2)];
      std::vector<uint32_t> changed = module;
      uint32_t &word = changed[5 + oracle::draw(random, uint32_t(module.size() - 5))];
      if (i % 4 == 0)
         word ^= 1u << oracle::draw(random, 32);
      else if (i % 4 == 1)
         std::swap(word, changed[5 + oracle::draw(random, uint32_t(module.size() - 5))]);
      else
         word = oracle::draw(random, module[3]);
      executed += runs(changed);
   }
   EXPECT_GT(executed, 10u);
   expect_device_works();
}

TEST_F(BadInput, UnsupportedShapes)
{
   for (const char *type : {
           "coopmat<float16_t, gl_ScopeSubgroup, 7, 9, gl_MatrixUseA>",
           "coopmat<float, gl_ScopeSubgroup, 1, 1, gl_MatrixUseAccumulator>",
           "coopmat<float, gl_ScopeSubgroup, 64, 60, gl_MatrixUseAccumulator>",
           "coopmat<int8_t, gl_ScopeSubgroup, 12, 48, gl_MatrixUseB>",
        })
      expect_refused(type, matrix_shader(type));
}

/// Flexible dimensions are multiples of 8 up to the limit.
TEST_F(BadInput, FlexibleDimensions)
{
   const uint32_t most =
      device().matrix2_properties.cooperativeMatrixFlexibleDimensionsMaxDimension;
   if (most == 0)
      return skip_case("no cooperativeMatrixFlexibleDimensions");
   const std::string type = "coopmat<float, gl_ScopeSubgroup, rows, 40, gl_MatrixUseAccumulator>";
   const std::string constant = "layout(constant_id = 1) const uint rows = 16;";
   const std::vector<uint32_t> module = compile_glsl(matrix_shader(type, constant));
   for (uint32_t rows : {8u, 24u, 88u, most})
      EXPECT_FALSE(refused(module, {{1, rows}})) << rows << " rows";
   for (uint32_t rows : {4u, 20u, most - 4, most + 8})
      expect_refused("specialized to " + std::to_string(rows) + " rows",
                     matrix_shader(type, constant), {{1, rows}});
}

/// A product of A with 24 columns and B with `k` rows, and matrices that are operands of different
/// operations.
TEST_F(BadInput, ProductsThatDoNotFit)
{
   const auto product = [](const std::string &c_type) {
      return std::string(glsl_header) +
             "#pragma use_vulkan_memory_model\nlayout(local_size_x = 64) in;\n" +
             buffer_block(0, "uint", "source") + buffer_block(1, "uint", "target") + R"(
layout(constant_id = 1) const uint k = 24;
void main()
{
   coopmat<float16_t, gl_ScopeSubgroup, 16, 24, gl_MatrixUseA> a;
   coopmat<float16_t, gl_ScopeSubgroup, k, 16, gl_MatrixUseB> b;
   coopmat<)" +
             c_type + R"(, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c;
   coopMatLoad(a, source.data, 0, 64, 0);
   coopMatLoad(b, source.data, 0, 64, 0);
   coopMatLoad(c, source.data, 0, 64, 0);
   coopMatStore(coopMatMulAdd(a, b, c), target.data, 0, 64, 0);
}
)";
   };
   if (device().matrix2_features.cooperativeMatrixFlexibleDimensions) {
      EXPECT_FALSE(refused(compile_glsl(product("float"))));
   }
   expect_refused("K of 24 and 32", product("float"), {{1, 32}});
   expect_refused("halves added to integers", product("int"));
}

TEST_F(BadInput, AbsurdDimensions)
{
   for (const char *type : {
           "coopmat<float, gl_ScopeSubgroup, 2048, 2048, gl_MatrixUseAccumulator>",
           "coopmat<float, gl_ScopeSubgroup, 65536, 65536, gl_MatrixUseAccumulator>",
           "coopmat<float, gl_ScopeSubgroup, 2147483647, 16, gl_MatrixUseA>",
           "coopmat<float, gl_ScopeSubgroup, 16, 65552, gl_MatrixUseA>", // 16 in sixteen bits
        })
      expect_refused(type, matrix_shader(type));
   for (uint32_t rows : {0u, 255u, 2056u, 4112u, 65552u, 0x80000010u, ~0u})
      expect_refused(
         "specialized to " + std::to_string(rows) + " rows",
         matrix_shader("coopmat<float, gl_ScopeSubgroup, rows, 16, gl_MatrixUseAccumulator>",
                       "layout(constant_id = 1) const uint rows = 16;"),
         {{1, rows}});
}

TEST_F(BadInput, UnsupportedTypes)
{
   for (const char *type : {
           "coopmat<int16_t, gl_ScopeSubgroup, 16, 4, gl_MatrixUseA>",
           "coopmat<uint16_t, gl_ScopeSubgroup, 4, 16, gl_MatrixUseAccumulator>",
           "coopmat<float, gl_ScopeSubgroup, 16, 36, gl_MatrixUseA>",
        })
      expect_refused(type, matrix_shader(type));
}

TEST_F(BadInput, UnsupportedScopes)
{
   for (const char *scope :
        {"gl_ScopeWorkgroup", "gl_ScopeDevice", "gl_ScopeQueueFamily", "gl_ScopeInvocation", "77"})
      expect_refused(scope, matrix_shader(std::string("coopmat<float, ") + scope +
                                          ", 16, 16, gl_MatrixUseAccumulator>"));
}

/// VK_NV_cooperative_matrix.
TEST_F(BadInput, MatricesWithoutAUse)
{
   if (!device().nv_matrix_features.cooperativeMatrix) {
      skip_case("needs VK_NV_cooperative_matrix");
      GTEST_SKIP();
   }
   const std::string start = std::string(glsl_header) + "layout(local_size_x = 64) in;\n" +
                             buffer_block(0, "uint", "source") + buffer_block(1, "uint", "target") +
                             "layout(constant_id = 1) const uint rows = 16;\nvoid main() {\n";
   const std::string good = start + nv_body(device()) + "}\n";
   EXPECT_FALSE(refused(compile_glsl(good)));
   const auto loads = [&](const std::string &type) {
      return start + "   " + type + " m;\n   coopMatLoadNV(m, source.data, 0, 64, false);\n" +
             "   coopMatStoreNV(m, target.data, 0, 64, false);\n}\n";
   };
   for (const char *type : {
           "fcoopmatNV<16, gl_ScopeSubgroup, 7, 9>",
           "fcoopmatNV<32, gl_ScopeSubgroup, 1, 1>",
           "fcoopmatNV<32, gl_ScopeWorkgroup, 16, 16>",
           "fcoopmatNV<32, gl_ScopeDevice, 16, 16>",
           "icoopmatNV<8, gl_ScopeSubgroup, 16, 272>",
           "ucoopmatNV<8, gl_ScopeSubgroup, 65536, 65536>",
        })
      expect_refused(type, loads(type));
   for (uint32_t rows : {0u, 255u, 272u, 65552u, ~0u})
      expect_refused("specialized to " + std::to_string(rows) + " rows",
                     loads("fcoopmatNV<32, gl_ScopeSubgroup, rows, 16>"), {{1, rows}});
   // Multiplications that no operation of the device has, or whose matrices do not fit each other.
   const auto product = [&](const std::string &b) {
      return start +
             "   fcoopmatNV<32, gl_ScopeSubgroup, 8, 8> a = fcoopmatNV<32, gl_ScopeSubgroup, 8, "
             "8>(2.0);\n   " +
             b + " b = " + b + "(3.0);\n   a = coopMatMulAddNV(a, b, a);\n" +
             "   coopMatStoreNV(a, target.data, 0, 64, false);\n}\n";
   };
   expect_refused("f32 * f16", product("fcoopmatNV<16, gl_ScopeSubgroup, 8, 8>"));
   expect_refused("8x8 * 16x16", product("fcoopmatNV<32, gl_ScopeSubgroup, rows, rows>"));
}

TEST_F(BadInput, AnEntryPointThatIsNotThere)
{
   std::vector<uint32_t> module = good_module();
   // The name "main" in OpEntryPoint becomes "mxin".
   for (size_t at = 5; at < module.size(); at += std::max(1u, module[at] >> 16)) {
      if (uint16_t(module[at]) == 15)
         module[at + 3] = 0x6e69786d;
   }
   EXPECT_TRUE(refused(module));
   expect_device_works();
}

} // namespace weft::e2e
