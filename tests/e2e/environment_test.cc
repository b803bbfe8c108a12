// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The state of the thread that creates a pipeline does not change the shader: its rounding mode,
/// denormals, traps, and a small stack. Other drivers are not tested.

#include "tests/e2e/cmat.h"
#include "tests/e2e/compute.h"
#include "tests/x86/float_mode.h"

#include <cfenv>
#include <csignal>
#include <exception>
#include <functional>
#include <optional>
#include <pthread.h>

namespace weft::e2e {

namespace {

class Environment : public testing::Test {
protected:
   void SetUp() override
   {
      if (!device().is_weft) {
         skip_case("asks for more than Vulkan does: for Weft's own driver");
         GTEST_SKIP();
      }
   }

   Device &device() { return plain_device(); }

   /// Statements with matrices: the layer compiles only shaders with matrices.
   std::string matrix_statements()
   {
      const std::vector<MatrixOperation> operations = matrix_operations(device());
      if (operations.empty())
         return "";
      return a_type(operations[0]).glsl() + " m;\n   coopMatLoad(m, source.data, 0, 64, 0);\n"
                                            "   coopMatStore(m, target.data, 4096, 64, 0);\n";
   }
};

/// Runs `work` on a thread with a stack of this size, and rethrows its exception here.
void on_small_stack(size_t bytes, const std::function<void()> &work)
{
   struct Call {
      const std::function<void()> &work;
      std::exception_ptr exception;
   } call = {work, nullptr};
   pthread_attr_t attributes;
   pthread_attr_init(&attributes);
   ASSERT_EQ(pthread_attr_setstacksize(&attributes, bytes), 0);
   pthread_t thread;
   const auto run = [](void *argument) -> void * {
      auto &call = *static_cast<Call *>(argument);
      try {
         call.work();
      } catch (...) {
         call.exception = std::current_exception();
      }
      return nullptr;
   };
   ASSERT_EQ(pthread_create(&thread, &attributes, run, &call), 0);
   pthread_attr_destroy(&attributes);
   pthread_join(thread, nullptr);
   if (call.exception)
      std::rethrow_exception(call.exception);
}

/// Constants of the pipeline, so that the compiler computes with them and glslang does not.
const char *const folded = R"(
#extension GL_EXT_spirv_intrinsics : enable
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4464], 4459, 32);
spirv_execution_mode(extensions = ["SPV_KHR_float_controls"], capabilities = [4467], 4462, 32);
layout(local_size_x = 64) in;
layout(constant_id = 0) const float tiny = 0;
layout(constant_id = 1) const float one = 0;
layout(constant_id = 2) const float small = 0;
layout(constant_id = 3) const float three = 0;
layout(constant_id = 4) const uint large = 0;
layout(set = 0, binding = 0, std430) buffer Source { uint data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { uint data[]; } target;
void main()
{
   precise float halved = tiny * 0.5, up = one + small, down = -one - small, third = one / three;
   target.data[0] = floatBitsToUint(halved);
   target.data[1] = floatBitsToUint(up);
   target.data[2] = floatBitsToUint(down);
   target.data[3] = floatBitsToUint(third);
   target.data[4] = floatBitsToUint(float(large));
   $MATRIX
}
)";

TEST_F(Environment, ConstantsDoNotDependOnTheCallersArithmetic)
{
   const std::vector<uint32_t> spirv =
      compile_glsl(glsl_header + expand(folded, {{"MATRIX", matrix_statements()}}));
   const PipelineOptions options = {.bindings = {1, 1},
                                    .spec_constants = {{0, 0x00400000}, // 2^-127
                                                       {1, 0x3f800000}, // 1
                                                       {2, 0x33800000}, // 2^-24
                                                       {3, 0x40400000}, // 3
                                                       {4, 16777217}}};
   const std::vector<uint32_t> expected = {0x00200000, 0x3f800000, 0xbf800000, 0x3eaaaaab,
                                           0x4b800000};
   struct Mode {
      int rounding;
      bool flushes;
   };
   for (const auto &[rounding, flushes] :
        {Mode{FE_TONEAREST, true}, Mode{FE_UPWARD, false}, Mode{FE_DOWNWARD, true},
         Mode{FE_TOWARDZERO, false}, Mode{FE_TONEAREST, false}}) {
      fenv_t before;
      fegetenv(&before);
      fesetround(rounding);
      if (flushes)
         test::flush_denormals();
      const test::FloatMode mode = test::float_mode();
      std::optional<Pipeline> pipeline;
      std::vector<uint32_t> actual(5);
      std::exception_ptr failure;
      try {
         pipeline.emplace(device(), spirv, options);
         Buffer source(device(), 65536), target(device(), 65536);
         memset(source.bytes().data(), 0, source.size());
         pipeline->dispatch({source, target});
         std::copy_n(target.as<uint32_t>().begin(), actual.size(), actual.begin());
      } catch (...) {
         failure = std::current_exception();
      }
      EXPECT_TRUE(test::float_mode() == mode) << "the caller's mode has changed";
      EXPECT_EQ(fegetround(), rounding) << "the caller's mode has changed";
      fesetenv(&before);
      if (failure)
         std::rethrow_exception(failure);
      count_case();
      EXPECT_EQ(actual, expected) << "rounding " << rounding << ", flushes " << flushes;
   }
}

/// A shader with nested ifs to this depth. Each has a store, so that no pass removes it.
std::vector<uint32_t> nested_ifs(uint32_t depth, const std::string &matrix)
{
   std::string text = glsl_header + expand(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer Source { uint data[]; } source;
layout(set = 0, binding = 1, std430) buffer Target { uint data[]; } target;
void main()
{
   const uint id = gl_GlobalInvocationID.x, x = source.data[id];
   target.data[id] = 0;
   $MATRIX
)",
                                           {{"MATRIX", matrix}});
   for (uint32_t i = 0; i < depth; i++)
      text +=
         "if (x > " + std::to_string(i) + ") { target.data[id] = " + std::to_string(i + 1) + ";\n";
   return compile_glsl(text + std::string(depth, '}') + "}\n");
}

TEST_F(Environment, SmallStacksHoldNestedControlFlow)
{
   for (const uint32_t depth : {100, 500}) {
      const std::vector<uint32_t> spirv = nested_ifs(depth, matrix_statements());
      std::optional<Pipeline> pipeline;
      on_small_stack(
         32 << 10, [&] { pipeline.emplace(device(), spirv, PipelineOptions{.bindings = {1, 1}}); });
      ASSERT_TRUE(pipeline);
      count_case();
      if (depth > 100)
         continue; // generating its code takes long
      Buffer source(device(), 65536), target(device(), 65536);
      for (uint32_t i = 0; i < 64; i++)
         source.as<uint32_t>()[i] = i * 9;
      pipeline->dispatch({source, target});
      for (uint32_t i = 0; i < 64; i++)
         ASSERT_EQ(target.as<uint32_t>()[i], std::min(i * 9, depth)) << "depth " << depth;
   }
}

/// The reason for refusing a shader is reported on the calling thread, on a stack of any size.
TEST_F(Environment, SmallStacksHoldRefusals)
{
   std::vector<uint32_t> spirv = nested_ifs(100, matrix_statements());
   spirv.resize(spirv.size() - 20);
   on_small_stack(32 << 10, [&] {
      EXPECT_THROW(Pipeline(device(), spirv, PipelineOptions{.bindings = {1, 1}}), VulkanError);
   });
   count_case();
}

} // namespace
} // namespace weft::e2e
