// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Each environment variable of the driver on a running one. Settings are read once, so each test
/// starts processes of its own: a probe that prints its findings as lines "name=value".

#include "tests/icd/dispatch_fixture.h"

#include "tests/e2e/glsl.h"
#include "tests/scratch_folder.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/resource.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace weft::icd_test {
namespace {

const char *const probe_variable = "WEFT_TEST_PROBE";

/// The output of a probe.
struct Found {
   std::map<std::string, std::string> values;
   std::string text; ///< all that it printed, on stderr too
   int status = -1;
   std::string perf_map; ///< and its messages in that file

   uint64_t number(const std::string &name) const
   {
      const auto found = values.find(name);
      return found == values.end() ? ~uint64_t(0) : strtoull(found->second.c_str(), nullptr, 10);
   }
   bool says(const std::string &part) const { return text.find(part) != text.npos; }
};

std::string contents(const std::string &path)
{
   std::ifstream file(path, std::ios::binary);
   return {std::istreambuf_iterator<char>(file), {}};
}

/// Starts a probe with these variables, in a shell's syntax, and no other variables of the driver.
Found probe(const std::string &variables)
{
   const std::string self = std::filesystem::read_symlink("/proc/self/exe");
   const std::string command =
      "env -u WEFT_DEBUG -u WEFT_DUMP_SPIRV -u WEFT_SUBGROUP_SIZE -u WEFT_THREADS -u WEFT_ISA "
      "-u WEFT_PROFILE -u WEFT_ICD_PROFILE -u WEFT_ICD_HIDE -u WEFT_POLL_PAUSE "
      "-u WEFT_DEVICE_TYPE -u WEFT_QUEUE " +
      std::string(probe_variable) + "=1 " + variables + " '" + self +
      "' --gtest_output= --gtest_filter=EnvironmentTest.Probe 2>&1";
   Found found;
   FILE *pipe = popen(command.c_str(), "re");
   if (!pipe)
      return found;
   char line[4096];
   while (fgets(line, sizeof(line), pipe))
      found.text += line;
   const int status = pclose(pipe);
   found.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
   EXPECT_EQ(found.status, 0) << variables << "\n" << found.text;
   std::istringstream lines(found.text);
   for (std::string text; std::getline(lines, text);) {
      const size_t equals = text.find('=');
      if (text.starts_with("probe ") && equals != text.npos)
         found.values.try_emplace(text.substr(6, equals - 6), text.substr(equals + 1));
   }
   const std::string perf_map = "/tmp/perf-" + found.values["pid"] + ".map";
   found.perf_map = contents(perf_map);
   std::error_code none;
   std::filesystem::remove(perf_map, none);
   return found;
}

template <typename T>
void print(const std::string &name, const T &value)
{
   std::ostringstream text;
   text << "probe " << name << "=" << value << "\n";
   fputs(text.str().c_str(), stdout);
}

} // namespace

class EnvironmentTest : public DispatchTest {
protected:
   void print_queries()
   {
      VkPhysicalDeviceVulkan12Properties properties12 = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_PROPERTIES};
      VkPhysicalDeviceVulkan11Properties properties11 = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_PROPERTIES, .pNext = &properties12};
      VkPhysicalDeviceProperties2 properties = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_PROPERTIES_2, .pNext = &properties11};
      vkGetPhysicalDeviceProperties2(physical, &properties);
      print("device", properties.properties.deviceName);
      print("vendor", properties.properties.vendorID);
      print("type", uint32_t(properties.properties.deviceType));
      print("conformance", uint32_t(properties12.conformanceVersion.major));
      print("subgroup size", properties11.subgroupSize);
      uint32_t one = 1;
      VkQueueFamilyProperties family = {};
      vkGetPhysicalDeviceQueueFamilyProperties(physical, &one, &family);
      print("queue", family.queueFlags);
      VkPhysicalDeviceVulkan12Features features12 = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES};
      VkPhysicalDeviceVulkan11Features features11 = {
         .sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES, .pNext = &features12};
      VkPhysicalDeviceFeatures2 features = {.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2,
                                            .pNext = &features11};
      vkGetPhysicalDeviceFeatures2(physical, &features);
      print("float16", features12.shaderFloat16);
      print("int16", features.features.shaderInt16);
      print("fillModeNonSolid", features.features.fillModeNonSolid);
      print("draw_parameters", features11.shaderDrawParameters);
      print("int8", features12.shaderInt8);
      print("storage16", features11.storageBuffer16BitAccess);
      print("storage8", features12.storageBuffer8BitAccess);
      auto get = reinterpret_cast<PFN_vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR>(
         vkGetInstanceProcAddr(instance, "vkGetPhysicalDeviceCooperativeMatrixPropertiesKHR"));
      uint32_t operations = 0;
      EXPECT_VK(get(physical, &operations, nullptr));
      print("operations", operations);
   }

   /// A product of matrices in each of several workgroups, and the size of a subgroup.
   void print_dispatch()
   {
      use_one_buffer(R"(
         layout(local_size_x = 64) in;
         layout(set = 0, binding = 0) buffer Out { uint data[]; };
         void main()
         {
            const uint group = gl_WorkGroupID.x;
            if (gl_LocalInvocationIndex == 0)
               data[4 + group] = gl_SubgroupSize;
            if (gl_SubgroupID > 0)
               return;
            coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA> a =
               coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseA>(float16_t(2.0));
            coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB> b =
               coopmat<float16_t, gl_ScopeSubgroup, 16, 16, gl_MatrixUseB>(float16_t(3.0));
            coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> c =
               coopmat<float, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(float(group));
            coopmat<uint, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator> r =
               coopmat<uint, gl_ScopeSubgroup, 16, 16, gl_MatrixUseAccumulator>(coopMatMulAdd(a, b, c));
            coopMatStore(r, data, 16 + 256 * group, 16, gl_CooperativeMatrixLayoutRowMajor);
         })",
                     (16 + 8 * 256) * 4);
      VkCommandBuffer cmd = begin_bound();
      vkCmdDispatch(cmd, 8, 1, 1);
      run(cmd);
      print("shader's size", out.as()[4]);
      for (uint32_t i = 0; i < 8 * 256; i++)
         ASSERT_EQ(out.as()[16 + i], 96 + i / 256) << i;
   }

   /// The number of sleeps in loops of status queries: for a fence that is never signalled, and
   /// while workgroups run on all CPUs.
   void print_polls()
   {
      VkFenceCreateInfo info = {.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO};
      VkFence fence;
      ASSERT_VK(vkCreateFence(device, &info, nullptr, &fence));
      print_sleeps("idle ", [&, queries = 0]() mutable {
         EXPECT_EQ(vkGetFenceStatus(device, fence), VK_NOT_READY);
         return ++queries < 100000;
      });
      use_one_buffer(R"(
         layout(local_size_x = 64) in;
         layout(set = 0, binding = 0) buffer Out { uint data[]; };
         void main()
         {
            uint x = gl_GlobalInvocationID.x;
            for (int i = 0; i < 2000; i++)
               x = (x ^ data[i & 63]) * 2654435769u + 1;
            if (x == 0)
               data[0] = 1;
         })",
                     256);
      VkCommandBuffer cmd = begin_bound();
      vkCmdDispatch(cmd, 60000, 1, 1);
      ASSERT_VK(vkEndCommandBuffer(cmd));
      ASSERT_VK(submit(cmd, fence));
      print_sleeps("", [&] { return vkGetFenceStatus(device, fence) == VK_NOT_READY; });
      vkDestroyFence(device, fence, nullptr);
   }

   /// The number of queries until one succeeds, and the number of times that the thread gives up
   /// its CPU meanwhile.
   template <typename Query>
   static void print_sleeps(const std::string &loop, Query query)
   {
      rusage before = {}, after = {};
      uint64_t queries = 1;
      getrusage(RUSAGE_THREAD, &before);
      while (query())
         queries++;
      getrusage(RUSAGE_THREAD, &after);
      print(loop + "queries", queries);
      print(loop + "sleeps", after.ru_nvcsw - before.ru_nvcsw);
   }

   static void print_threads()
   {
      uint32_t workers = 0;
      for (const auto &task : std::filesystem::directory_iterator("/proc/self/task")) {
         std::string name;
         std::ifstream(task.path() / "comm") >> name;
         workers += name == "weft";
      }
      // The queue's thread also runs workgroups.
      print("threads", workers + 1);
   }
};

TEST_F(EnvironmentTest, Probe)
{
   if (!getenv(probe_variable))
      GTEST_SKIP() << "for processes of the other tests";
   print("pid", getpid());
   if (const char *target = getenv("WEFT_TEST_PERF_LINK"))
      std::filesystem::create_symlink(target, "/tmp/perf-" + std::to_string(getpid()) + ".map");
   print_queries();
   print_dispatch();
   if (getenv("WEFT_TEST_POLLS"))
      print_polls();
   print_threads();
   // One that is refused.
   VkPipeline refused = VK_NULL_HANDLE;
   const uint32_t nonsense[] = {0x07230203, 0x00010600, 0, 1, 0};
   EXPECT_LT(try_pipeline(nonsense, recipe, layout, &refused), 0);
}

TEST_F(EnvironmentTest, SubgroupSize)
{
   for (const char *size : {"8", "16", "32", "64"}) {
      const Found found = probe(std::string("WEFT_SUBGROUP_SIZE=") + size);
      EXPECT_EQ(found.values.at("subgroup size"), size);
      EXPECT_EQ(found.values.at("shader's size"), size);
   }
}

TEST_F(EnvironmentTest, Threads)
{
   for (const uint32_t threads : {1u, 3u}) {
      const Found found = probe("WEFT_THREADS=" + std::to_string(threads));
      EXPECT_EQ(found.number("threads"), threads);
   }
}

TEST_F(EnvironmentTest, InstructionSet)
{
   const Found found = probe("WEFT_ISA=avx2");
   EXPECT_NE(found.values.at("device").find("(AVX2)"), std::string::npos)
      << found.values.at("device");
}

TEST_F(EnvironmentTest, Profiles)
{
   const Found plain = probe(""), amd = probe("WEFT_PROFILE=amd"),
               nvidia = probe("WEFT_PROFILE=nvidia+identity"),
               own = probe("WEFT_PROFILE=nvidia+identity WEFT_ICD_PROFILE=amd");
   EXPECT_EQ(plain.number("subgroup size"), 32u);
   EXPECT_EQ(amd.number("subgroup size"), 64u);
   EXPECT_EQ(amd.number("shader's size"), 64u);
   EXPECT_LT(amd.number("operations"), plain.number("operations"));
   EXPECT_EQ(amd.number("vendor"), plain.number("vendor"));
   EXPECT_EQ(nvidia.number("vendor"), 0x10deu);
   EXPECT_EQ(own.number("vendor"), plain.number("vendor"));
   EXPECT_EQ(own.number("subgroup size"), 64u);
}

TEST_F(EnvironmentTest, DeviceType)
{
   EXPECT_EQ(probe("").number("type"), uint64_t(VK_PHYSICAL_DEVICE_TYPE_CPU));
   EXPECT_EQ(probe("WEFT_DEVICE_TYPE=integrated-gpu").number("type"),
             uint64_t(VK_PHYSICAL_DEVICE_TYPE_INTEGRATED_GPU));
}

/// Programs that only compute, but look for a graphics queue, find one.
TEST_F(EnvironmentTest, GraphicsQueue)
{
   constexpr uint64_t compute =
      VK_QUEUE_COMPUTE_BIT | VK_QUEUE_TRANSFER_BIT | VK_QUEUE_SPARSE_BINDING_BIT;
   const Found plain = probe(""), graphics = probe("WEFT_QUEUE=graphics WEFT_DEBUG=log");
   EXPECT_EQ(plain.number("queue"), compute);
   EXPECT_EQ(plain.number("conformance"), 0u);
   EXPECT_EQ(plain.number("fillModeNonSolid"), 0u);
   EXPECT_EQ(plain.number("draw_parameters"), 0u);
   EXPECT_EQ(graphics.number("queue"), compute | VK_QUEUE_GRAPHICS_BIT);
   EXPECT_EQ(graphics.number("conformance"), 1u);
   EXPECT_EQ(graphics.number("fillModeNonSolid"), 1u);
   // vkd3d requires the extension.
   EXPECT_EQ(graphics.number("draw_parameters"), 1u);
   EXPECT_TRUE(graphics.says("WEFT_QUEUE=graphics: a queue family claims graphics"));
   EXPECT_FALSE(plain.says("WEFT_QUEUE"));
}

TEST_F(EnvironmentTest, HiddenFeatures)
{
   const char *const names[] = {"float16", "int16", "int8", "storage16", "storage8"};
   const Found plain = probe("");
   for (const char *name : names)
      EXPECT_EQ(plain.number(name), 1u) << name;
   for (const char *hidden : names) {
      // The probe's matrices are of halves, and its device has all features.
      const Found found = probe(std::string("WEFT_ICD_HIDE=") + hidden);
      for (const char *name : names)
         EXPECT_EQ(found.number(name), strcmp(name, hidden) == 0 ? 0u : 1u) << hidden << name;
   }
}

TEST_F(EnvironmentTest, PollPause)
{
   // A thread may sometimes wait for a lock.
   const auto meetings = [](uint64_t queries) { return 3 + queries / 1000; };
   const Found without = probe("WEFT_TEST_POLLS=1 WEFT_POLL_PAUSE=0"),
               with = probe("WEFT_TEST_POLLS=1");
   EXPECT_LE(without.number("sleeps"), meetings(without.number("queries")));
   EXPECT_LE(with.number("idle sleeps"), meetings(with.number("idle queries")));
   EXPECT_GT(with.number("sleeps"), meetings(with.number("queries")));
}

TEST_F(EnvironmentTest, DebugWords)
{
   const char *const refusal = "weft: vkCreateComputePipelines: ";
   const Found plain = probe("");
   EXPECT_FALSE(plain.says(refusal));
   EXPECT_FALSE(plain.says("cmat") || plain.says("define ") || plain.says(".text"));
   EXPECT_TRUE(probe("WEFT_DEBUG=log").says(refusal));
   const Found tiles = probe("WEFT_DEBUG=nir"), registers = probe("WEFT_DEBUG=nir,registers");
   EXPECT_TRUE(tiles.says("tile_")) << tiles.text;
   EXPECT_FALSE(registers.says("tile_")) << registers.text;
   EXPECT_TRUE(registers.says("weft: nir\n"));
   EXPECT_TRUE(probe("WEFT_DEBUG=llvm").says("define "));
   EXPECT_TRUE(probe("WEFT_DEBUG=asm").says(".text"));
}

TEST_F(EnvironmentTest, PerfMap)
{
   EXPECT_EQ(probe("").perf_map, "");
   const Found found = probe("WEFT_DEBUG=perf");
   uint64_t address = 0, size = 0;
   char name[64] = {};
   EXPECT_EQ(sscanf(found.perf_map.c_str(), "%lx %lx %63s", &address, &size, name), 3)
      << found.perf_map;
   EXPECT_GT(address, 0u);
   EXPECT_GT(size, 0u);

   // Files of other programs in its place are kept.
   const test::ScratchFolder scratch;
   scratch.write("precious", "kept");
   const std::string target = scratch.path / "precious";
   probe("WEFT_DEBUG=perf WEFT_TEST_PERF_LINK='" + target + "'");
   EXPECT_EQ(contents(target), "kept");
}

TEST_F(EnvironmentTest, TimesOfPhases)
{
   EXPECT_FALSE(probe("").says("weft: times"));
   const Found found = probe("WEFT_DEBUG=times");
   for (const char *phase : {"read", "passes", "translate", "optimise", "code", "link", "program"})
      EXPECT_TRUE(found.says("weft: times " + std::string(phase))) << phase;
}

TEST_F(EnvironmentTest, DumpedShaders)
{
   const test::ScratchFolder scratch;
   probe("WEFT_DUMP_SPIRV='" + scratch.path.string() + "'");
   uint32_t modules = 0, arguments = 0;
   for (const auto &entry : std::filesystem::directory_iterator(scratch.path)) {
      modules += entry.path().extension() == ".spv" && contents(entry.path()).size() > 1000;
      arguments += entry.path().extension() == ".args" &&
                   contents(entry.path()).starts_with("--entry main --robust");
   }
   EXPECT_EQ(modules, 1u);
   EXPECT_EQ(arguments, 2u);
}

TEST_F(EnvironmentTest, ShaderCache)
{
   const test::ScratchFolder scratch;
   const auto entries = [&] {
      uint32_t count = 0;
      const std::filesystem::path folder = scratch.path / "weft_shader_cache";
      if (std::filesystem::exists(folder)) {
         for (const auto &entry : std::filesystem::recursive_directory_iterator(folder))
            count += entry.is_regular_file();
      }
      return count;
   };
   const std::string folder = "WEFT_SHADER_CACHE_DIR='" + scratch.path.string() + "' ";
   probe(folder + "WEFT_SHADER_CACHE_DISABLE=true");
   EXPECT_EQ(entries(), 0u);
   probe(folder + "WEFT_SHADER_CACHE_DISABLE=false");
   const uint32_t written = entries();
   EXPECT_GT(written, 0u);
   probe(folder + "WEFT_SHADER_CACHE_DISABLE=false");
   EXPECT_EQ(entries(), written);
   // Another subgroup size needs another program. The limit is one byte.
   probe(folder + "WEFT_SHADER_CACHE_DISABLE=false WEFT_SUBGROUP_SIZE=16");
   EXPECT_GT(entries(), written);
   probe(folder + "WEFT_SHADER_CACHE_DISABLE=false WEFT_SUBGROUP_SIZE=8 "
                  "WEFT_SHADER_CACHE_MAX_SIZE=1K");
   EXPECT_LE(entries(), 1u);
}

TEST_F(EnvironmentTest, WrongValuesAreReportedAndIgnored)
{
   const Found found = probe("WEFT_DEBUG=teapots WEFT_SUBGROUP_SIZE=24 WEFT_THREADS=0 WEFT_ISA=mmx "
                             "WEFT_PROFILE=voodoo WEFT_ICD_HIDE=matrices WEFT_POLL_PAUSE=long "
                             "WEFT_SHADER_CACHE_DISABLE=false WEFT_SHADER_CACHE_DIR=/dev/null "
                             "WEFT_SHADER_CACHE_MAX_SIZE=huge");
   for (const char *problem :
        {"WEFT_DEBUG=teapots: expected", "WEFT_SUBGROUP_SIZE=24: expected",
         "WEFT_THREADS=0: expected", "WEFT_ISA=mmx: expected", "WEFT_PROFILE=voodoo: expected",
         "WEFT_ICD_HIDE=matrices: expected", "WEFT_POLL_PAUSE=long: expected",
         "WEFT_SHADER_CACHE_MAX_SIZE=huge: expected"})
      EXPECT_TRUE(found.says(problem)) << problem << "\n" << found.text;
   EXPECT_EQ(found.number("subgroup size"), 32u);
}

} // namespace weft::icd_test
