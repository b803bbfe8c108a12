// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Runs modules of SPIR-V with a formula for their result by every path: in this process
/// (Modules.*), and through Vulkan on the environment's driver or layer (ModulesThroughVulkan.*).
///
/// Files run everywhere. Each generated module (composites.cc) runs by one of the five paths in
/// process, and one in four through Vulkan.
///
///   WEFT_SEED=N          repeats a run; the seed is printed
///   WEFT_SWEEP=full      all of them everywhere
///   WEFT_SWEEP=reduced   a twentieth in process, as in the sanitizers' build
///   WEFT_TEST_MODULE=X   writes the text of the module X to X.spvasm here

#include "tests/modules/composites.h"
#include "tests/spirv/assemble.h"
#include "tests/vulkan/pipeline.h"
#include "tests/vulkan/result.h"
#include "tools/runner/isolated.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <memory>

namespace weft::modules {
namespace {

uint64_t seed()
{
   static const uint64_t number = [] {
      const char *text = getenv("WEFT_SEED");
      const uint64_t n = text ? strtoull(text, nullptr, 0) : std::random_device()();
      std::cout << "seed " << n << std::endl;
      return n;
   }();
   return number;
}

struct Case {
   Module module;
   std::optional<uint32_t> number; ///< of generated modules

   bool runs_by_path(uint32_t path) const
   {
      if (!number || is_sweep("full"))
         return true;
      return is_sweep("reduced") ? (*number + path) % 20 == 0 : (*number + path) % 5 == 0;
   }
   bool runs_through_vulkan() const { return !number || is_sweep("full") || *number % 4 == 0; }

   static bool is_sweep(const char *word)
   {
      const char *sweep = getenv("WEFT_SWEEP");
      return sweep && strcmp(sweep, word) == 0;
   }
};

void PrintTo(const Case &c, std::ostream *out)
{
   *out << c.module.name;
}

/// The kind of matrices for each operation does not depend on the seed, so that names stay the
/// same.
std::vector<Case> all_cases()
{
   std::vector<Case> cases;
   for (Module &module : written_modules())
      cases.push_back({std::move(module), {}});
   uint32_t number = 0;
   for (Module &module : composite_modules(0))
      cases.push_back({std::move(module), number++});
   const char *wanted = getenv("WEFT_TEST_MODULE");
   for (const Case &c : cases) {
      if (wanted && c.module.name == wanted)
         std::ofstream(c.module.name + ".spvasm") << c.module.text;
   }
   return cases;
}

class Modules : public testing::TestWithParam<Case> {};

class ModulesThroughVulkan : public Modules {};

std::vector<Case> cases_through_vulkan()
{
   std::vector<Case> cases = all_cases();
   std::erase_if(cases, [](const Case &c) { return !c.runs_through_vulkan(); });
   return cases;
}

oracle::Random random_for(const Module &module)
{
   std::seed_seq sequence{seed(), uint64_t(std::hash<std::string>()(module.name))};
   return oracle::Random(sequence);
}

struct NamedPath {
   std::string name;
   runner::Path path;
   std::optional<std::vector<MatrixOperation>> driver_tiles = {};
};

std::vector<NamedPath> paths()
{
   using runner::Matrices;
   std::vector<NamedPath> list;
   for (const bool through_spirv : {false, true}) {
      for (const Matrices matrices : {Matrices::tiles, Matrices::registers}) {
         const runner::Path path = {.matrices = matrices, .through_spirv = through_spirv};
         list.push_back({runner::name(path), path});
      }
   }
   /* A driver whose tiles are so small that most matrices are several of them. */
   std::vector<MatrixOperation> small;
   for (const MatrixOperation &op : cpu::supported_matrices().operations) {
      if (op.m == 8 && op.n == 8 && op.k == 8)
         small.push_back(op);
   }
   list.push_back(
      {"spirv-tiles of 8x8x8", {.matrices = Matrices::tiles, .through_spirv = true}, small});
   return list;
}

TEST_P(Modules, InProcess)
{
   const Module &module = GetParam().module;
   oracle::Random random = random_for(module);
   const std::vector<uint32_t> words = test::assemble(module.text);
   const Contents before = initial_contents(module, random);
   uint32_t number = 0;
   for (NamedPath &p : paths()) {
      if (!GetParam().runs_by_path(number++))
         continue;
      runner::Dispatch dispatch = {
         .source = {words, "main", {}}, .buffers = {}, .push_constants = {}};
      for (uint32_t i = 0; i < before.size(); i++)
         dispatch.buffers.push_back({{0, i, 0}, before[i]});
      constexpr uint32_t sizes[] = {8, 16, 32};
      p.path.subgroup_size = sizes[oracle::draw(random, 3)];
      /* Checks of bounds take their time to compile. */
      p.path.robust_access = oracle::draw(random, 4) == 0;
      const auto result = runner::run(dispatch, p.path, {.native_operations = p.driver_tiles});
      if (!module.refusal.empty()) {
         EXPECT_TRUE(!result && result.error().message.find(module.refusal) != std::string::npos)
            << p.name << ": " << (result ? "not refused" : result.error().message);
         continue;
      }
      if (!result) {
         ADD_FAILURE() << p.name << ": " << result.error().message;
         continue;
      }
      Contents after;
      for (const runner::Buffer &buffer : *result)
         after.push_back(buffer.bytes);
      const auto difference = find_difference(module, before, after);
      EXPECT_FALSE(difference) << p.name << " of subgroups of " << p.path.subgroup_size << ": "
                               << *difference;
   }
}

TEST_P(ModulesThroughVulkan, Run)
{
   static vulkan::Device device(false);
   /* Loaders go on without a layer that is not there. */
   ASSERT_EQ(device.has_weft_layer, getenv("VK_INSTANCE_LAYERS") != nullptr);
   const Module &module = GetParam().module;
   oracle::Random random = random_for(module);
   const Contents before = initial_contents(module, random);
   std::vector<std::unique_ptr<vulkan::Buffer>> buffers;
   std::vector<vulkan::BufferRange> ranges;
   for (const std::vector<std::byte> &contents : before) {
      buffers.push_back(std::make_unique<vulkan::Buffer>(device, contents.size()));
      std::ranges::copy(contents, buffers.back()->bytes().begin());
      ranges.emplace_back(*buffers.back());
   }
   const std::vector<uint32_t> words = test::assemble(module.text), sizes = device.subgroup_sizes();
   const vulkan::PipelineOptions options = {.bindings = std::vector<uint32_t>(buffers.size(), 1),
                                            .subgroup_size =
                                               sizes[oracle::draw(random, uint32_t(sizes.size()))],
                                            .spec_constants = {}};
   if (!module.refusal.empty()) {
      EXPECT_THROW(vulkan::Pipeline(device, words, options), vulkan::VulkanError);
      return;
   }
   vulkan::Pipeline pipeline(device, words, options);
   pipeline.dispatch(ranges);
   Contents after;
   for (const auto &buffer : buffers)
      after.emplace_back(buffer->bytes().begin(), buffer->bytes().end());
   const auto difference = find_difference(module, before, after);
   EXPECT_FALSE(difference) << *difference;
}

std::string name_of(const testing::TestParamInfo<Case> &info)
{
   return info.param.module.name;
}

INSTANTIATE_TEST_SUITE_P(all, Modules, testing::ValuesIn(all_cases()), name_of);
INSTANTIATE_TEST_SUITE_P(all, ModulesThroughVulkan, testing::ValuesIn(cases_through_vulkan()),
                         name_of);

} // namespace

} // namespace weft::modules
