// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Shaders run without Vulkan, by every path.

#include "nir_passes/shader.h"
#include "tests/e2e/glsl.h"
#include "tools/runner/bisect.h"
#include "tools/runner/compare.h"
#include "tools/runner/element_owner.h"
#include "tools/runner/isolated.h"
#include "tools/runner/runner.h"
#include "tools/runner/shader_interface.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <iterator>
#include <limits>

namespace weft::runner {
namespace {

std::vector<uint32_t> compile_glsl(const std::string &glsl)
{
   return e2e::compile_glsl(e2e::glsl_header + glsl);
}

template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T> &values)
{
   const auto *begin = reinterpret_cast<const std::byte *>(values.data());
   return {begin, begin + values.size() * sizeof(T)};
}

template <typename T>
std::vector<T> values_of(const Buffer &buffer)
{
   std::vector<T> values(buffer.bytes.size() / sizeof(T));
   std::memcpy(values.data(), buffer.bytes.data(), values.size() * sizeof(T));
   return values;
}

/// C = A · B of 16×16 matrices of integers, each workgroup one of its own.
constexpr const char *product = R"(
layout(local_size_x_id = 3) in;
layout(set = 0, binding = 1) buffer Factors { int8_t factors[]; };
layout(set = 2, binding = 0) buffer Products { int products[]; };
layout(push_constant) uniform Constants { int start; };
void main() {
   coopmat<int8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;
   coopmat<int8_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;
   const uint at = gl_WorkGroupID.x * 512;
   coopMatLoad(a, factors, at, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(b, factors, at + 256, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c =
      coopmat<int, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(start);
   coopMatStore(coopMatMulAdd(a, b, c), products, gl_WorkGroupID.x * 256, 16,
                gl_CooperativeMatrixLayoutRowMajor);
}
)";

class EveryPath : public testing::TestWithParam<Path> {};

TEST_P(EveryPath, MultipliesMatrices)
{
   const uint32_t groups = 3, size = GetParam().subgroup_size;
   const int32_t start = 1000;
   std::vector<int8_t> factors(groups * 512);
   for (size_t i = 0; i < factors.size(); i++)
      factors[i] = int8_t(i * 37 + i / 16);
   std::vector<int32_t> expected(groups * 256, start);
   for (uint32_t g = 0; g < groups; g++) {
      for (uint32_t i = 0; i < 16; i++) {
         for (uint32_t j = 0; j < 16; j++) {
            for (uint32_t k = 0; k < 16; k++) {
               expected[g * 256 + i * 16 + j] +=
                  factors[g * 512 + i * 16 + k] * factors[g * 512 + 256 + k * 16 + j];
            }
         }
      }
   }

   const std::vector<uint32_t> spirv = compile_glsl(product);
   Dispatch dispatch;
   dispatch.source = {spirv, "main", {{3, std::as_bytes(std::span(&size, 1))}}};
   dispatch.buffers = {{{2, 0}, bytes_of(std::vector<int32_t>(groups * 256, -1))},
                       {{0, 1}, bytes_of(factors)}};
   dispatch.push_constants = bytes_of(std::vector{start});
   dispatch.workgroups = {groups, 1, 1};
   const auto results = run(dispatch, GetParam());
   ASSERT_TRUE(results) << results.error().message;
   ASSERT_EQ(results->size(), 2u);
   EXPECT_EQ((*results)[0].place, (BufferPlace{2, 0}));
   EXPECT_EQ(values_of<int32_t>((*results)[0]), expected);
   EXPECT_EQ(values_of<int8_t>((*results)[1]), factors);
}

std::vector<Path> paths_of_every_size()
{
   std::vector<Path> paths;
   for (uint32_t size : {8, 16, 32, 64}) {
      for (bool robust : {false, true})
         std::ranges::copy(all_paths(size, robust), std::back_inserter(paths));
   }
   return paths;
}

INSTANTIATE_TEST_SUITE_P(Runner, EveryPath, testing::ValuesIn(paths_of_every_size()),
                         [](const auto &info) {
                            std::string text = name(info.param);
                            std::ranges::replace_if(
                               text, [](char c) { return c == '/' || c == '-'; }, '_');
                            return text;
                         });

/// The path decides the lowering of the matrices and their instructions.
TEST(Runner, PathsDiffer)
{
   const std::vector<uint32_t> spirv = compile_glsl(product);
   const BufferPlace places[] = {{0, 1}, {2, 0}};
   for (const Path &path : all_paths(32)) {
      SCOPED_TRACE(name(path));
      std::string llvm, assembly, module;
      CompileOptions options;
      options.dump = [&](std::string_view phase, const std::string &text) {
         if (phase == "llvm")
            llvm = text;
         else if (phase == "asm")
            assembly = text;
         else if (phase == "spirv")
            module = text;
      };
      // Without a constant, the size of the workgroup is 1.
      const auto program = compile({spirv, "main", {}}, places, path, options);
      ASSERT_TRUE(program) << program.error().message;
      const bool tiles = path.matrices == Matrices::tiles;
      EXPECT_EQ(llvm.find("weft_tile_muladd_16x16x16_s8_s8_s32_s32") != std::string::npos, tiles);
      EXPECT_EQ(!module.empty(), path.through_spirv);
      if (path.through_spirv) {
         EXPECT_EQ(module.find("OpCooperativeMatrixMulAddKHR") != std::string::npos, tiles);
      }
      if (!tiles) {
         EXPECT_EQ(assembly.find("%zmm") != std::string::npos,
                   path.instruction_set == cpu::InstructionSet::avx512);
         EXPECT_NE(assembly.find("%ymm"), std::string::npos);
      }
   }
}

TEST(Runner, ArraysOfBuffers)
{
   const std::vector<uint32_t> spirv = compile_glsl(R"(
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; } all[3];
layout(set = 0, binding = 1) uniform Index { uint from; };
void main() { all[2].data[1] = all[from].data[0]; }
)");
   Dispatch dispatch;
   dispatch.source = {spirv, "main", {}};
   dispatch.buffers = {{{0, 0, 2}, bytes_of(std::vector<uint32_t>{0, 0})},
                       {{0, 1, 0}, bytes_of(std::vector<uint32_t>{1})},
                       {{0, 0, 1}, bytes_of(std::vector<uint32_t>{17})}};
   const auto results = run(dispatch, {});
   ASSERT_TRUE(results) << results.error().message;
   EXPECT_EQ(values_of<uint32_t>((*results)[0]), (std::vector<uint32_t>{0, 17}));
}

TEST(Runner, ManyThreads)
{
   const std::vector<uint32_t> spirv = compile_glsl(R"(
layout(local_size_x = 48) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
shared uint last;
void main() {
   if (gl_LocalInvocationIndex == 47)
      last = gl_WorkGroupID.x;
   barrier();
   data[gl_GlobalInvocationID.x] = last;
}
)");
   std::vector<uint32_t> expected(48 * 100);
   for (size_t i = 0; i < expected.size(); i++)
      expected[i] = uint32_t(i / 48);
   Dispatch dispatch;
   dispatch.source = {spirv, "main", {}};
   dispatch.buffers = {{{0, 0}, std::vector<std::byte>(expected.size() * 4)}};
   dispatch.workgroups = {100, 1, 1};
   for (uint32_t threads : {0, 1, 4}) {
      dispatch.threads = threads;
      const auto results = run(dispatch, {.subgroup_size = 16});
      ASSERT_TRUE(results) << results.error().message;
      EXPECT_EQ(values_of<uint32_t>((*results)[0]), expected);
   }
}

TEST(Runner, Errors)
{
   const std::vector<uint32_t> spirv = compile_glsl(R"(
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main() { data[4] = 1; }
)");
   Dispatch dispatch;
   dispatch.source = {spirv, "main", {}};
   const auto message = [&](const Path &path) {
      const auto results = run(dispatch, path);
      return results ? "" : results.error().message;
   };
   EXPECT_NE(message({}), "") << "no buffer";
   dispatch.buffers = {{{0, 0}, std::vector<std::byte>(16)}};
   EXPECT_EQ(message({}), "");
   EXPECT_EQ(message({.robust_access = false}),
             "the shader wrote outside of the buffer at set 0, binding 0");
   EXPECT_NE(message({.subgroup_size = 7}), "");
   dispatch.source.entry_point = "other";
   for (const Path &path : all_paths())
      EXPECT_NE(message(path), "");
   dispatch.source.spirv = std::span(spirv).first(9);
   for (const Path &path : all_paths())
      EXPECT_NE(message(path), "");
}

TEST(Runner, PathNames)
{
   EXPECT_EQ(name({}), "tiles");
   EXPECT_EQ(name({Matrices::registers, true, cpu::InstructionSet::avx2, 16, false, true}),
             "spirv-registers/avx2/w16/unchecked/specialized");
   std::vector<Path> paths = paths_of_every_size();
   for (Path &path : paths)
      path.specialized = path.subgroup_size == 16;
   for (const Path &path : paths) {
      const Result<Path> parsed = parse_path(name(path));
      ASSERT_TRUE(parsed) << name(path);
      EXPECT_EQ(*parsed, path);
   }
   for (const char *text : {"", "tile", "spirv", "tiles//avx2", "tiles/sse", "tiles/w12"})
      EXPECT_FALSE(parse_path(text)) << text;
}

TEST(Interface, Layouts)
{
   const std::vector<uint32_t> spirv = compile_glsl(R"(
layout(local_size_x = 1) in;
layout(constant_id = 4) const uint length = 3;
struct Part { uint8_t small; vec3 place; };
layout(set = 1, binding = 2, std430) buffer Data {
   int first;
   layout(row_major) mat2x3 turned;
   Part parts[4];
   float16_t halves[];
};
layout(set = 0, binding = 7) uniform Few { mat2x3 upright; uint numbers[length]; } few[5];
layout(push_constant) uniform Constants { uint64_t wide; int16_t narrow; };
void main() { halves[0] = float16_t(few[0].upright[0].x + float(wide) + float(narrow)); }
)");
   const uint32_t length = 6;
   const ShaderSource source = {spirv, "main", {{4, std::as_bytes(std::span(&length, 1))}}};
   const ShaderInterface interface = read_interface(source);
   EXPECT_EQ(interface.entry_points, (std::vector<std::string>{"main"}));
   ASSERT_EQ(interface.buffers.size(), 2u);

   const DeclaredBuffer &few = interface.buffers[0], &data = interface.buffers[1];
   EXPECT_TRUE(few.uniform);
   EXPECT_EQ(few.count, 5u);
   EXPECT_EQ(few.type.size(), 32u + 5 * 16 + 4) << "arrays of uniform blocks in steps of 16";
   EXPECT_EQ(few.type.runtime_stride(), 0u);
   EXPECT_FALSE(few.type.scalar_at(12)) << "behind a column of three";

   EXPECT_FALSE(data.uniform);
   EXPECT_EQ(std::pair(data.set, data.binding), std::pair(1u, 2u));
   EXPECT_EQ(data.type.runtime_stride(), 2u);
   const auto scalar = [&](uint64_t at) {
      const std::optional<Scalar> found = data.type.scalar_at(at);
      return found ? found->name() + "@" + std::to_string(found->offset) : "none";
   };
   EXPECT_EQ(scalar(3), "s32@0");
   EXPECT_EQ(scalar(4), "none");
   EXPECT_EQ(scalar(8 + 5), "f32@12") << "row 0, column 1";
   EXPECT_EQ(scalar(8 + 8), "f32@16") << "row 1, column 0";
   EXPECT_EQ(scalar(32), "u8@32");
   EXPECT_EQ(scalar(33), "none");
   EXPECT_EQ(scalar(32 + 32 + 16 + 9), "f32@88");
   EXPECT_EQ(scalar(32 + 4 * 32), "f16@160");
   EXPECT_EQ(scalar(32 + 4 * 32 + 1001), "f16@1160");
   ASSERT_TRUE(interface.push_constants);
   EXPECT_EQ(interface.push_constants->size(), 10u);

   std::vector<uint32_t> damaged(spirv);
   for (size_t i = 5; i < damaged.size(); i++) {
      damaged[i] ^= 0x01010101u * uint32_t(i % 251);
      read_interface({damaged, "main", {}});
      read_interface({std::span(spirv).first(i), "main", {}});
   }
}

/// An encoding such as bfloat16, which the supported GLSL lacks: the test replaces f16.
TEST(Interface, FloatsWithAnEncoding)
{
   const std::vector<uint32_t> spirv = compile_glsl(R"(
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Data { float wide; float16_t narrow; int number; };
void main() { narrow = float16_t(number) + float16_t(wide); }
)");
   constexpr uint32_t float_of_16_bits[] = {3u << 16 | 22, 16}, bfloat16 = 0;
   std::vector<uint32_t> encoded(spirv.begin(), spirv.begin() + 5);
   uint32_t found = 0;
   for (size_t i = 5; i < spirv.size(); i += spirv[i] >> 16) {
      encoded.insert(encoded.end(), &spirv[i], &spirv[i] + (spirv[i] >> 16));
      if (spirv[i] != float_of_16_bits[0] || spirv[i + 2] != float_of_16_bits[1])
         continue;
      encoded[encoded.size() - 3] += 1u << 16;
      encoded.push_back(bfloat16);
      found++;
   }
   ASSERT_EQ(found, 1u);
   const auto names = [](const std::vector<uint32_t> &module) {
      const ShaderInterface interface = read_interface({module, "main", {}});
      std::string all;
      for (const uint64_t at : {0, 4, 8}) {
         const auto scalar = interface.buffers.at(0).type.scalar_at(at);
         all += (scalar ? scalar->name() : "none") + " ";
      }
      return all;
   };
   EXPECT_EQ(names(spirv), "f32 f16 s32 ");
   EXPECT_EQ(names(encoded), "f32 u16 s32 ");
}

TEST(Compare, ByType)
{
   const std::vector<uint32_t> spirv = compile_glsl(R"(
layout(local_size_x = 1) in;
layout(set = 0, binding = 0) buffer Data { int whole; uint none; float numbers[]; };
void main() { numbers[0] = float(whole); }
)");
   const ShaderInterface interface = read_interface({spirv, "main", {}});
   const auto buffers = [](int32_t whole, std::vector<float> numbers) {
      std::vector<std::byte> bytes = bytes_of(std::vector{whole, 0});
      std::ranges::copy(bytes_of(numbers), std::back_inserter(bytes));
      return std::vector<Buffer>{{{0, 0}, bytes}};
   };
   const float nan = std::numeric_limits<float>::quiet_NaN();
   EXPECT_FALSE(compare(buffers(1, {1, nan, 0.f}), buffers(1, {1, -nan, -0.f}), interface));
   EXPECT_FALSE(compare(buffers(1, {100}), buffers(1, {101}), interface, 0.01));
   const auto d = compare(buffers(1, {1, 100, 2, nan}), buffers(1, {1, 101, 2, 3}), interface);
   ASSERT_TRUE(d);
   EXPECT_EQ(d->scalar.offset, 12u);
   EXPECT_EQ(d->expected + " " + d->found, "100 101");
   EXPECT_EQ(d->count, 2u);
   const auto whole = compare(buffers(-1, {}), buffers(-257, {}), interface, 1000);
   ASSERT_TRUE(whole);
   EXPECT_EQ(whole->expected + " " + whole->found, "-1 -257");
   const float infinity = std::numeric_limits<float>::infinity();
   EXPECT_FALSE(compare(buffers(1, {infinity}), buffers(1, {infinity}), interface, 0.01));
   for (const float other : {1.f, -infinity, nan}) {
      EXPECT_TRUE(compare(buffers(1, {infinity}), buffers(1, {other}), interface, 0.01)) << other;
      EXPECT_TRUE(compare(buffers(1, {other}), buffers(1, {infinity}), interface, 0.01)) << other;
   }
}

/// A dispatch of `product` on random factors.
struct Product {
   const std::vector<uint32_t> spirv = compile_glsl(product);
   const uint32_t size = 32;
   Dispatch dispatch;

   Product()
   {
      dispatch.source = {spirv, "main", {{3, std::as_bytes(std::span(&size, 1))}}};
      std::vector<int8_t> factors(2 * 512);
      for (size_t i = 0; i < factors.size(); i++)
         factors[i] = int8_t(i * 29 + i / 16);
      dispatch.buffers = {{{2, 0}, std::vector<std::byte>(2 * 1024)}, {{0, 1}, bytes_of(factors)}};
      dispatch.workgroups = {2, 1, 1};
   }
};

TEST(Isolated, LikeAnyOther)
{
   const Product p;
   const auto expected = run(p.dispatch, {});
   const IsolatedRun found = run_isolated(p.dispatch, {});
   ASSERT_TRUE(expected && found.buffers);
   const ShaderInterface interface = read_interface(p.dispatch.source);
   EXPECT_FALSE(compare(*expected, *found.buffers, interface));
   EXPECT_GT(found.optional_passes, 10u);
   EXPECT_TRUE(found.last_optional_pass.starts_with("nir_opt_") ||
               found.last_optional_pass.starts_with("opt_"))
      << found.last_optional_pass;
}

TEST(Isolated, Crash)
{
   const Product p;
   PassControl control;
   control.after = [](const PassApplication &pass, bool, nir_shader *) {
      if (name(pass) == "lower_descriptors#1")
         __builtin_trap();
   };
   CompileOptions options;
   options.control = &control;
   const IsolatedRun run = run_isolated(p.dispatch, {}, options);
   ASSERT_FALSE(run.buffers);
   EXPECT_EQ(run.buffers.error().message,
             "crashed (Illegal instruction), last pass: lower_descriptors#1");
}

TEST(ElementOwner, EveryPath)
{
   const Product p;
   for (const Path &path : all_paths(16)) {
      SCOPED_TRACE(name(path));
      // Row 9, column 6 of the second workgroup's matrix, by one of its bytes.
      const auto owner = find_owner(p.dispatch, path, 0, 1024 + (9 * 16 + 6) * 4 + 1);
      ASSERT_TRUE(owner);
      EXPECT_EQ(owner->store, 1u);
      EXPECT_EQ(owner->matrix, "16x16 s32 (accumulator)");
      EXPECT_EQ(std::pair(owner->row, owner->col), std::pair(9u, 6u));
      EXPECT_EQ(owner->workgroup, (std::array<uint32_t, 3>{1, 0, 0}));
      // 150 = 9 * 16 + 6; a grid of 4 by 4 blocks of 4 by 4.
      EXPECT_EQ(owner->in_tiles.invocation, 6u);
      EXPECT_EQ(owner->in_tiles.component, 9u);
      EXPECT_EQ(owner->in_registers.invocation, 2u * 4 + 1);
      EXPECT_EQ(owner->in_registers.component, 1u * 4 + 2);
      EXPECT_FALSE(find_owner(p.dispatch, path, 1, 0)) << "which is not written";
   }
}

TEST(Bisect, FindsTheStep)
{
   for (uint32_t total : {1, 2, 3, 100}) {
      for (uint32_t first_bad = 1; first_bad <= total; first_bad++) {
         uint32_t trials = 0;
         const Result<Culprit> culprit = bisect([&](uint32_t limit) {
            trials++;
            return Trial{limit < first_bad, total, std::to_string(std::min(limit, total))};
         });
         ASSERT_TRUE(culprit);
         EXPECT_EQ(culprit->number, first_bad);
         EXPECT_EQ(culprit->pass, std::to_string(first_bad));
         EXPECT_LE(trials, 9u);
      }
   }
   EXPECT_FALSE(bisect([](uint32_t) { return Trial{true, 5, ""}; }));
   EXPECT_FALSE(bisect([](uint32_t) { return Trial{false, 5, ""}; }));
}

/// A fault in the work of one application of a pass: an addition becomes a subtraction, or the
/// compiler crashes.
TEST(Bisect, FindsAPlantedFault)
{
   const std::vector<uint32_t> spirv = compile_glsl(R"(
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main() {
   uint sum = data[gl_LocalInvocationIndex];
   for (uint i = 0; i < data[0] % 8; i++)
      sum += data[i + 3] * sum;
   data[gl_LocalInvocationIndex] = sum;
}
)");
   std::vector<uint32_t> values(32);
   for (size_t i = 0; i < values.size(); i++)
      values[i] = uint32_t(i * i + 5);
   Dispatch dispatch;
   dispatch.source = {spirv, "main", {}};
   dispatch.buffers = {{{0, 0}, bytes_of(values)}};
   const ShaderInterface interface = read_interface(dispatch.source);

   for (bool crash : {false, true}) {
      for (const Path &path : {Path{}, Path{.through_spirv = true}}) {
         const auto run_limited = [&](uint32_t limit, const std::string &fault) {
            PassControl control;
            control.may_run = [=](const PassApplication &pass) { return pass.number <= limit; };
            control.after = [=](const PassApplication &pass, bool, nir_shader *shader) {
               if (name(pass) != fault)
                  return;
               if (crash)
                  __builtin_trap();
               nir_foreach_block(block, nir_shader_get_entrypoint(shader)) {
                  nir_foreach_instr(instr, block) {
                     if (instr->type == nir_instr_type_alu &&
                         nir_instr_as_alu(instr)->op == nir_op_iadd)
                        nir_instr_as_alu(instr)->op = nir_op_isub;
                  }
               }
            };
            CompileOptions options;
            options.control = &control;
            return run_isolated(dispatch, path, options);
         };
         const IsolatedRun expected = run_limited(0, "");
         ASSERT_TRUE(expected.buffers) << expected.buffers.error().message;
         for (const std::string fault :
              {"nir_opt_dead_cf#1", "nir_opt_cse#2", "opt_combine_accesses#1"}) {
            SCOPED_TRACE(name(path) + " " + fault);
            const Result<Culprit> culprit = bisect([&](uint32_t limit) {
               const IsolatedRun run = run_limited(limit, fault);
               const bool good =
                  run.buffers && !compare(*expected.buffers, *run.buffers, interface);
               return Trial{good, run.optional_passes, run.last_optional_pass};
            });
            ASSERT_TRUE(culprit) << culprit.error().message;
            EXPECT_EQ(culprit->pass, fault);
         }
      }
   }
}

} // namespace
} // namespace weft::runner
