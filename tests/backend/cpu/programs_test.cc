// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The programs of a shader for several threads, and the tables that LLVM creates for their code.

#include "backend/cpu/prepare.h"
#include "tests/backend/cpu/shader_runner.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <dlfcn.h>
#include <fcntl.h>

#include <atomic>
#include <chrono>
#include <cstdarg>
#include <future>
#include <string_view>
#include <thread>

/// While set, files are not opened: the shader cache's disk is slow.
static std::atomic<bool> disk_is_slow = false;
static std::atomic<uint32_t> slow_openings = 0;

/// The header renames it to openat64, for large files.
extern "C" int openat(int folder, const char *path, int flags, ...)
{
   va_list arguments;
   va_start(arguments, flags);
   const mode_t mode = va_arg(arguments, mode_t);
   va_end(arguments);
   using Function = int (*)(int, const char *, int, ...);
   static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "openat64"));
   if (disk_is_slow) {
      slow_openings++;
      while (disk_is_slow)
         std::this_thread::yield();
   }
   return next(folder, path, flags, mode);
}

/// Destructors of LLVM's static objects that were registered while set.
static std::atomic<bool> counts_destructors = false;
static std::atomic<uint32_t> destructors = 0;

/// Called for each static object with a destructor.
extern "C" int __cxa_atexit(void (*function)(void *), void *object, void *library)
{
   using Function = int (*)(void (*)(void *), void *, void *);
   static const auto next = reinterpret_cast<Function>(dlsym(RTLD_NEXT, "__cxa_atexit"));
   Dl_info where;
   if (counts_destructors && object && dladdr(object, &where) &&
       std::string_view(where.dli_fname).find("LLVM") != std::string_view::npos)
      destructors++;
   return next(function, object, library);
}

namespace weft::cpu {
namespace {

using namespace std::chrono_literals;

/// A shader with a branch that the push constant decides, of `steps` steps on either side.
std::string branching_shader(uint32_t steps)
{
   std::string sides[2];
   for (uint32_t side = 0; side < 2; side++) {
      for (uint32_t i = 0; i < steps; i++)
         sides[side] += "x = (x ^ (x >> " + std::to_string(1 + (i + side) % 15) + ")) * " +
                        std::to_string(77 + 2 * i + side) + "u + data[x % 32];\n";
   }
   return R"(
layout(local_size_x = 32) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(push_constant) uniform Push { uint way; };
void main()
{
   uint x = data[gl_GlobalInvocationID.x];
   if (way == 1) {
)" + sides[0] +
          "} else {\n" + sides[1] + "}\ndata[gl_GlobalInvocationID.x] = x;\n}\n";
}

CompileOptions options_of_buffers(uint32_t count)
{
   CompileOptions options;
   options.bindings = buffer_bindings(count);
   return options;
}

TEST(Programs, ASlowOneDoesNotDelayOthers)
{
   test::ScratchFolder folder;
   DiskCache cache(folder.path / "cache", 1 << 20);
   const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + branching_shader(80));
   const auto made = compile_cached(&cache, {spirv, "main", {}}, options_of_buffers(1));
   ASSERT_TRUE(made) << made.error().message;
   Programs &programs = **made;
   const uint32_t one = 1, two = 2;
   const DispatchFacts first = {std::as_bytes(std::span(&one, 1))},
                       second = {std::as_bytes(std::span(&two, 1))};
   (void)programs.info(); // waits for the passes
   const FutureProgram *of_first = &programs.program_for(first);
   ASSERT_TRUE(of_first->get());

   disk_is_slow = true;
   const uint32_t before = slow_openings;
   auto slow = std::async(std::launch::async, [&] { return &programs.program_for(second); });
   const auto until = std::chrono::steady_clock::now() + 60s;
   while (slow_openings == before && std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
   EXPECT_GT(slow_openings, before) << "the program was not looked for on disk";
   auto bytes = std::async(std::launch::async, [&] { return programs.serialize(); });
   std::this_thread::sleep_for(20ms);
   auto quick = std::async(std::launch::async, [&] { return &programs.program_for(first); });
   EXPECT_EQ(quick.wait_for(60s), std::future_status::ready);
   disk_is_slow = false;

   EXPECT_EQ(quick.get(), of_first);
   const FutureProgram *of_second = slow.get();
   EXPECT_NE(of_second, of_first);
   EXPECT_TRUE(of_second->get());
   EXPECT_EQ(&programs.program_for(second), of_second);
   EXPECT_FALSE(bytes.get().empty());
}

/// A process that finds its programs in the cache needs no tables.
TEST(ProgramsDeathTest, OnlyAnEmptyCacheMakesTablesEarly)
{
   GTEST_FLAG_SET(death_test_style, "threadsafe"); // a process without tables
   const auto end_with_tables = [](bool is_filled) {
      test::ScratchFolder folder;
      DiskCache cache(folder.path / "cache", 1 << 20);
      if (is_filled)
         cache.write({1}, {});
      counts_destructors = true;
      prepare_for_device(&cache);
      _exit(destructors > 0);
   };
   EXPECT_EXIT(end_with_tables(false), testing::ExitedWithCode(1), "");
   EXPECT_EXIT(end_with_tables(true), testing::ExitedWithCode(0), "");
}

/// After the first program, LLVM may create no more tables: exit() would destroy these first, while
/// other threads still generate code.
TEST(Programs, CodeIsGeneratedWithoutNewStaticObjects)
{
   const char *const bodies[] = {
      "data[i] = floatBitsToUint(sin(float(i)) * exp(x) / sqrt(abs(x) + 1.0));",
      "data[i] = subgroupAdd(data[i]) + subgroupShuffle(data[i], i ^ 3);",
      "data[i] = atomicAdd(data[0], i) + atomicCompSwap(data[1], 2u, i);",
      "double d = double(x); data[i] = uint(d * d + 1.0lf / d);",
      "uint64_t v = uint64_t(data[i]); v = v * v / (v + 3ul); data[i] = uint(v >> 7);",
      "float16_t h = float16_t(x); h = max(h * h, h + 1.0hf); data[i] = uint(h);",
      "uint s = 0; for (uint j = 0; j < data[i] % 9; j++) s += data[(j * i) % 64]; data[i] = s;",
      "lines[i] = data[i]; barrier(); data[i] = lines[31 - i] / (i + 1);",
      "uint8_t b = uint8_t(data[i]); b *= b; data[i] = b + bitCount(data[i]) + findMSB(data[i]);",
      "coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a;"
      "coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b;"
      "coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c;"
      "coopMatLoad(a, data, 0, 16, 0); coopMatLoad(b, data, 64, 16, 1);"
      "c = coopMatMulAdd(a, b, coopmat<float, gl_ScopeSubgroup, 16, 16, "
      "gl_MatrixUseAccumulator>(1));"
      "coopMatStore(c, data, 512, 16, 0);",
      "int k[16]; for (int j = 0; j < 16; j++) k[j] = int(data[j]); data[i] = k[data[i] % 16];",
      "vec4 v = unpackUnorm4x8(data[i]); data[i] = packHalf2x16(v.xy) ^ packSnorm4x8(v);",
   };
   const auto programs_of = [&](const std::string &body) {
      const std::vector<uint32_t> spirv = e2e::compile_glsl(e2e::glsl_header + std::string(R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
shared uint lines[64];
void main()
{
   const uint i = gl_LocalInvocationIndex;
   const float x = uintBitsToFloat(data[i]);
)") + body + "\n}\n");
      return compile_cached(nullptr, {spirv, "main", {}}, options_of_buffers(1));
   };
   const auto any = programs_of("data[i] = 1;");
   ASSERT_TRUE(any && (*any)->program_for({}).get());
   counts_destructors = true;
   for (const char *body : bodies) {
      const auto programs = programs_of(body);
      ASSERT_TRUE(programs) << programs.error().message;
      ASSERT_TRUE((*programs)->program_for({}).get()) << body;
      EXPECT_EQ(destructors.exchange(0), 0u) << body;
   }
   counts_destructors = false;
}

} // namespace
} // namespace weft::cpu
