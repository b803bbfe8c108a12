// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The shader cache through the whole of Weft, the driver alone or the layer above it. With --once
/// the program is one of the processes that share a cache. Each prints for every pipeline whether
/// it came from the cache, and its result.

#include "tests/e2e/glsl.h"
#include "tests/oracle/random.h"
#include "tests/scratch_folder.h"
#include "tests/vulkan/hooks.h"
#include "tests/vulkan/pipeline.h"
#include "tests/vulkan/result.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

namespace weft::e2e {
namespace {

using namespace vulkan;

namespace fs = std::filesystem;
using Environment = std::map<std::string, std::string>;

/* ---- the processes that share a cache ---- */

/// A shader with matrices, so the layer compiles it if it is active. Its code calls kernels.
const char *const product = R"(
layout(local_size_x = 32) in;
layout(set = 0, binding = 0, std430) buffer A { float16_t a[]; };
layout(set = 0, binding = 1, std430) buffer C { float c[]; };
layout(constant_id = 0) const uint rounds = 1;
void main()
{
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> x;
   coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> y;
   coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> z =
      coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(0.0);
   coopMatLoad(x, a, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
   coopMatLoad(y, a, 256, 16, gl_CooperativeMatrixLayoutRowMajor);
   for (uint i = 0; i < rounds; i++)
      z = coopMatMulAdd(x, y, z);
   coopMatStore(z, c, 0, 16, gl_CooperativeMatrixLayoutRowMajor);
}
)";

/// A shader without matrices: a table of constants, calls of vector mathematics, shared memory, a
/// barrier.
const char *const plain = R"(
layout(local_size_x = 64) in;
layout(set = 0, binding = 0, std430) buffer A { uint a[]; };
layout(set = 0, binding = 1, std430) buffer C { float c[]; };
layout(constant_id = 0) const uint rounds = 1;
shared float all[64];
const float table[16] = float[](3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3);
void main()
{
   const uint id = gl_LocalInvocationIndex;
   all[id] = exp2(table[a[id] % 16]) * float(rounds);
   barrier();
   for (uint i = id; i < 256; i += 64)
      c[i] = all[(i * 7) % 64] + subgroupAdd(1.0);
}
)";

struct Shader {
   std::vector<uint32_t> spirv;
   uint32_t rounds;
};

std::vector<Shader> shaders()
{
   const std::vector<uint32_t> matrices = compile_glsl(glsl_header + std::string(product)),
                               others = compile_glsl(glsl_header + std::string(plain));
   return {{matrices, 1}, {matrices, 2}, {others, 1}, {others, 2}};
}

/// A line for each pipeline: "cached" or "compiled", milliseconds to create it, its results' bytes.
int run_once()
{
   Device device(false);
   oracle::Random random(std::strtoull(std::getenv("WEFT_SEED"), nullptr, 0));
   Buffer in(device, 1024), out(device, 1024);
   for (uint16_t &half : in.as<uint16_t>())
      half = uint16_t(random() % 2 << 15 | (0x3c00 + (random() % 4 << 10))); // ±1, 2, 4, 8
   for (const Shader &shader : shaders()) {
      PipelineOptions options = {.bindings = {1, 1},
                                 .subgroup_size = 32,
                                 .spec_constants = {{0, shader.rounds}},
                                 .only_cached = true};
      std::unique_ptr<Pipeline> pipeline;
      std::chrono::steady_clock::time_point start;
      const auto create = [&] {
         start = std::chrono::steady_clock::now();
         pipeline = std::make_unique<Pipeline>(device, shader.spirv, options);
      };
      bool cached = true;
      try {
         create();
      } catch (const VulkanError &error) {
         if (error.result != VK_PIPELINE_COMPILE_REQUIRED)
            throw;
         cached = options.only_cached = false;
         create();
      }
      const std::chrono::duration<double, std::milli> took =
         std::chrono::steady_clock::now() - start;
      std::ranges::fill(out.bytes(), std::byte(0xa5));
      pipeline->dispatch({in, out});
      std::printf("%s %.3f ", cached ? "cached" : "compiled", took.count());
      for (const std::byte byte : out.bytes())
         std::printf("%02x", unsigned(byte));
      std::printf("\n");
   }
   return 0;
}

/* ---- the tests ---- */

struct Outcome {
   uint32_t cached = 0, compiled = 0;
   double milliseconds = 0;
   std::vector<std::string> results;
   int status = -1;
};

Outcome run_process(const Environment &environment)
{
   std::string command = "env";
   for (const auto &[name, value] : environment)
      command += " '" + name + "=" + value + "'";
   command += " '" + fs::read_symlink("/proc/self/exe").string() + "' --once";
   Outcome outcome;
   FILE *process = popen(command.c_str(), "r");
   char word[16];
   double milliseconds;
   std::vector<char> bytes(4096);
   while (std::fscanf(process, "%15s %lf %4095s", word, &milliseconds, bytes.data()) == 3) {
      (strcmp(word, "cached") == 0 ? outcome.cached : outcome.compiled)++;
      outcome.milliseconds += milliseconds;
      outcome.results.push_back(bytes.data());
   }
   outcome.status = pclose(process);
   return outcome;
}

constexpr uint32_t pipelines = 4;

class ShaderCache : public testing::Test {
protected:
   ShaderCache()
   {
      const char *seed = std::getenv("WEFT_SEED");
      environment = {
         {"WEFT_SHADER_CACHE_DISABLE", "false"},
         {"WEFT_SHADER_CACHE_DIR", folder},
         {"WEFT_SEED",
          seed ? seed
               : std::to_string(std::chrono::steady_clock::now().time_since_epoch().count())},
      };
      std::printf("WEFT_SEED=%s\n", environment["WEFT_SEED"].c_str());
      without_cache = environment;
      without_cache["WEFT_SHADER_CACHE_DISABLE"] = "true";
   }

   /// Expects that all pipelines were compiled, or none.
   void expect_compiled(const Outcome &outcome, uint32_t compiled)
   {
      if (expected.empty()) {
         const Outcome reference = run_process(without_cache);
         ASSERT_EQ(reference.status, 0);
         ASSERT_EQ(reference.compiled, pipelines);
         expected = reference.results;
      }
      EXPECT_EQ(outcome.status, 0);
      EXPECT_EQ(outcome.compiled, compiled);
      EXPECT_EQ(outcome.cached, pipelines - compiled);
      EXPECT_EQ(outcome.results, expected);
   }

   std::vector<fs::path> entries() const
   {
      std::vector<fs::path> paths;
      for (const fs::directory_entry &entry : fs::recursive_directory_iterator(folder)) {
         if (entry.is_regular_file())
            paths.push_back(entry.path());
      }
      return paths;
   }

   const test::ScratchFolder scratch;
   const fs::path folder = scratch.path;
   Environment environment, without_cache;
   std::vector<std::string> expected;
};

TEST_F(ShaderCache, SparesTheSecondProcessCompiling)
{
   const Outcome cold = run_process(environment);
   expect_compiled(cold, pipelines);
   const Outcome warm = run_process(environment);
   expect_compiled(warm, 0);
   std::printf("%u pipelines: cold %.1f ms, warm %.1f ms\n", pipelines, cold.milliseconds,
               warm.milliseconds);
}

TEST_F(ShaderCache, SwitchedOffLeavesNoTrace)
{
   expect_compiled(run_process(without_cache), pipelines);
   EXPECT_TRUE(fs::is_empty(folder));
}

TEST_F(ShaderCache, DamageIsMended)
{
   expect_compiled(run_process(environment), pipelines);
   oracle::Random random(std::strtoull(environment["WEFT_SEED"].c_str(), nullptr, 0));
   const std::vector<fs::path> files = entries();
   EXPECT_GE(files.size(), pipelines);
   for (size_t i = 0; i < files.size(); i++) {
      const uint64_t size = fs::file_size(files[i]), at = random() % size;
      if (i % 3 == 0) {
         fs::resize_file(files[i], at);
         continue;
      }
      std::fstream file(files[i], std::ios::in | std::ios::out | std::ios::binary);
      file.seekg(std::streamoff(at));
      const int byte = file.get();
      file.seekp(std::streamoff(at));
      file.put(char(byte ^ 1 << random() % 8));
   }
   expect_compiled(run_process(environment), pipelines);
   expect_compiled(run_process(environment), 0);
   EXPECT_EQ(entries().size(), files.size());
}

TEST_F(ShaderCache, ProgramsForAnotherCpuAreOthers)
{
   expect_compiled(run_process(environment), pipelines);
   const size_t count = entries().size();
   Environment avx2 = environment;
   avx2["WEFT_ISA"] = "avx2";
   const Outcome again = run_process(avx2);
   EXPECT_EQ(again.status, 0);
   EXPECT_EQ(again.results, expected);
   if (std::ifstream cpus("/proc/cpuinfo");
       std::string(std::istreambuf_iterator<char>(cpus), {}).find("avx512bw") !=
       std::string::npos) {
      EXPECT_EQ(again.compiled, pipelines);
      EXPECT_GT(entries().size(), count);
   }
   expect_compiled(run_process(environment), 0);
}

TEST_F(ShaderCache, DoesNotNeedItsFolder)
{
   environment["WEFT_SHADER_CACHE_DIR"] = "/proc/nowhere";
   expect_compiled(run_process(environment), pipelines);
   expect_compiled(run_process(environment), pipelines);
}

TEST_F(ShaderCache, ProcessesFillItTogether)
{
   Outcome outcomes[3];
   std::vector<std::thread> threads;
   for (Outcome &outcome : outcomes)
      threads.emplace_back([&] { outcome = run_process(environment); });
   for (std::thread &thread : threads)
      thread.join();
   expect_compiled(run_process(environment), 0);
   for (const Outcome &outcome : outcomes) {
      EXPECT_EQ(outcome.status, 0);
      EXPECT_EQ(outcome.results, expected);
   }
}

} // namespace
} // namespace weft::e2e

int main(int argc, char **argv)
{
   if (argc == 2 && std::string(argv[1]) == "--once")
      return weft::e2e::run_once();
   testing::InitGoogleTest(&argc, argv);
   return RUN_ALL_TESTS();
}
