// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/paths.h"

#include "tests/vulkan/pipeline.h"
#include "tools/runner/runner.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft::fuzz {

namespace {

/// Memory around a buffer that must not be written.
constexpr size_t guard = 256;

/// The word of the push constants where the addresses begin.
std::vector<std::byte> push_constants(const Program &program,
                                      const std::vector<uint64_t> &addresses)
{
   std::vector<std::byte> bytes(sizeof(program.push) + addresses.size() * sizeof(uint64_t));
   memcpy(bytes.data(), program.push, sizeof(program.push));
   if (!addresses.empty())
      memcpy(&bytes[sizeof(program.push)], addresses.data(), addresses.size() * sizeof(uint64_t));
   return bytes;
}

std::vector<uint32_t> specialized_words(const Program &program)
{
   std::vector<uint32_t> words;
   for (uint32_t i = 0; i < push_words; i++) {
      if (program.specialized >> i & 1)
         words.push_back(i);
   }
   return words;
}

/// Compares each buffer, whose bytes are `bytes_of(memory)`, guards included.
template <typename BytesOf>
std::optional<std::string> compare(const Program &program, const Expected &expected,
                                   BytesOf bytes_of)
{
   std::string text;
   for (size_t m = 0; m < program.memories.size(); m++) {
      const Memory &memory = program.memories[m];
      if (memory.storage == Storage::shared)
         continue;
      const std::span<const std::byte> all = bytes_of(m);
      const auto spoiled = [](std::byte b) { return b != std::byte(0xa5); };
      if (std::ranges::any_of(all.first(guard), spoiled) ||
          std::ranges::any_of(all.last(guard), spoiled))
         text += "mem" + std::to_string(m) + ": written outside of it\n";
      if (const auto why = difference(memory, expected[m], all.subspan(guard, memory.bytes())))
         text += "mem" + std::to_string(m) + ": " + *why + "\n";
   }
   return text.empty() ? std::nullopt : std::optional(text);
}

void fill(const Memory &memory, std::span<std::byte> all)
{
   std::ranges::fill(all, std::byte(0xa5));
   std::ranges::copy(initial_bytes(memory), all.begin() + guard);
}

class InProcess : public Path {
public:
   explicit InProcess(const runner::Path &path) : path(path) {}

   std::string name() const override { return runner::name(path); }

   std::optional<std::string> run(const Program &program, std::span<const uint32_t> spirv,
                                  const Expected &expected) override
   {
      struct alignas(64) Line {
         std::byte bytes[64];
      };
      std::vector<std::vector<Line>> storage(program.memories.size());
      const auto bytes = [&](size_t m) {
         return std::span(reinterpret_cast<std::byte *>(storage[m].data()),
                          program.memories[m].bytes() + 2 * guard);
      };
      std::vector<runner::BufferPlace> places;
      std::vector<runner::BufferView> views;
      std::vector<uint64_t> addresses;
      for (size_t m = 0; m < storage.size(); m++) {
         const Memory &memory = program.memories[m];
         if (memory.storage == Storage::shared)
            continue;
         storage[m].resize((memory.bytes() + 2 * guard) / sizeof(Line) + 1);
         fill(memory, bytes(m));
         const std::span<std::byte> own = bytes(m).subspan(guard, memory.bytes());
         if (memory.storage == Storage::reference) {
            addresses.push_back(reinterpret_cast<uint64_t>(own.data()));
            continue;
         }
         places.push_back({0, uint32_t(places.size()), 0});
         views.push_back({places.back(), own});
      }
      runner::Path actual = path;
      actual.subgroup_size = program.subgroup_size;
      // Only one program in four has checks of bounds, because they take long to compile.
      actual.robust_access = program.seed % 4 == 0;
      // Other programs keep the branches that a dispatch decides.
      actual.specialized = program.seed % 2 == 0;
      const std::vector<std::byte> push = push_constants(program, addresses);
      const uint32_t groups[3] = {program.groups_x(), program.groups_y, program.groups_z};
      const cpu::DispatchFacts facts = {push, {}, {groups[0], groups[1], groups[2]}};
      std::vector<SpecConstant> constants;
      for (const uint32_t i : specialized_words(program))
         constants.push_back({first_spec_id + i, std::as_bytes(std::span(&program.push[i], 1))});
      const auto compiled =
         runner::compile({spirv, "main", constants}, places, actual, {.facts = &facts});
      if (!compiled)
         return "refused: " + compiled.error().message + "\n";
      // Three programs in four run workgroups and subgroups in a random order.
      cpu::Executor executor(1, program.seed % 4 == 1 ? 0 : uint32_t(program.seed) | 1);
      if (!runner::execute(executor, **compiled, views, {groups[0], groups[1], groups[2]}, push))
         return "did not run: no memory\n";
      return compare(program, expected, bytes);
   }

private:
   runner::Path path;
};

/// The layer above Weft's driver.
class ThroughVulkan : public Path {
public:
   ThroughVulkan(const VulkanFiles &files, const std::string &kind, const std::string &isa)
       : files(files), kind(kind), isa(isa)
   {
   }

   std::string name() const override { return "layer-" + kind + "/" + isa; }

   std::optional<std::string> run(const Program &program, std::span<const uint32_t> spirv,
                                  const Expected &expected) override
   {
      try {
         if (!device)
            start(program);
         const std::optional<std::string> why = run_on_device(program, spirv, expected);
         return why ? std::optional(*why + "with WEFT_ORDER=" + getenv("WEFT_ORDER") + "\n") : why;
      } catch (const std::exception &e) {
         return std::string("refused: ") + e.what() + "\n" +
                (device ? device->take_messages() : "no device");
      }
   }

private:
   /// The environment is read when an instance is made.
   void start(const Program &first)
   {
      // One random order for all programs of this device. A caller that repeats a program may set
      // it.
      setenv("WEFT_ORDER", std::to_string(uint32_t(first.seed) | 1).c_str(), 0);
      setenv("VK_DRIVER_FILES", files.driver_manifest.c_str(), 1);
      setenv("VK_ICD_FILENAMES", files.driver_manifest.c_str(), 1);
      setenv("VK_LAYER_PATH", files.layer_folder.c_str(), 1);
      setenv("VK_INSTANCE_LAYERS", "VK_LAYER_WEFT_cooperative_matrix", 1);
      setenv("WEFT_ISA", isa.c_str(), 1);
      setenv("WEFT_LOWERING", kind == "registers" ? "registers" : "tiles", 1);
      // The driver then has 8×8×8 tiles only, so that most matrices are built from several tiles.
      if (kind == "split")
         setenv("WEFT_ICD_PROFILE", "lavapipe", 1);
      device = std::make_unique<vulkan::Device>(false);
   }

   std::optional<std::string> run_on_device(const Program &program, std::span<const uint32_t> spirv,
                                            const Expected &expected)
   {
      std::vector<std::unique_ptr<vulkan::Buffer>> buffers(program.memories.size());
      std::vector<vulkan::BufferRange> ranges;
      std::vector<uint64_t> addresses;
      for (size_t m = 0; m < buffers.size(); m++) {
         const Memory &memory = program.memories[m];
         if (memory.storage == Storage::shared)
            continue;
         buffers[m] = std::make_unique<vulkan::Buffer>(*device, memory.bytes() + 2 * guard);
         fill(memory, buffers[m]->bytes());
         if (memory.storage == Storage::reference)
            addresses.push_back(buffers[m]->address() + guard);
         else
            ranges.emplace_back(*buffers[m], guard, memory.bytes());
      }
      const std::vector<std::byte> push = push_constants(program, addresses);
      std::vector<vulkan::SpecConstant> constants;
      for (const uint32_t i : specialized_words(program))
         constants.push_back({first_spec_id + i, program.push[i]});
      uint32_t uniform = 0, binding = 0;
      for (const Memory &memory : program.memories) {
         if (memory.storage == Storage::buffer || memory.storage == Storage::uniform)
            uniform |= uint32_t(memory.storage == Storage::uniform) << binding++;
      }
      vulkan::Pipeline pipeline(*device, spirv,
                                {.bindings = std::vector<uint32_t>(ranges.size(), 1),
                                 .uniform_bindings = uniform,
                                 .push_bytes = uint32_t(push.size()),
                                 .subgroup_size = program.subgroup_size,
                                 .spec_constants = constants});
      pipeline.dispatch(ranges, {program.groups_x(), program.groups_y, program.groups_z},
                        std::span<const std::byte>(push));
      return compare(program, expected, [&](size_t m) {
         return std::span<const std::byte>(buffers[m]->bytes())
            .first(program.memories[m].bytes() + 2 * guard);
      });
   }

   const VulkanFiles files;
   const std::string kind, isa;
   std::unique_ptr<vulkan::Device> device;
};

} // namespace

std::vector<std::unique_ptr<Path>> make_paths(const VulkanFiles &files,
                                              const std::vector<std::string> &names)
{
   std::vector<std::unique_ptr<Path>> list;
   // These paths come first, because they query the machine before the environment changes.
   for (const runner::Path &path : runner::all_paths())
      list.push_back(std::make_unique<InProcess>(path));
   const cpu::CpuFeatures &host = cpu::host_features();
   for (const char *kind : {"registers", "tiles", "split"}) {
      if (host.amx)
         list.push_back(std::make_unique<ThroughVulkan>(files, kind, "amx"));
      if (host.instruction_set >= cpu::InstructionSet::avx512)
         list.push_back(std::make_unique<ThroughVulkan>(files, kind, "avx512"));
      list.push_back(std::make_unique<ThroughVulkan>(files, kind, "avx2"));
   }
   if (!names.empty()) {
      std::erase_if(list, [&](const std::unique_ptr<Path> &path) {
         return std::ranges::find(names, path->name()) == names.end();
      });
   }
   return list;
}

std::vector<MatrixOperation> common_operations()
{
   std::vector<MatrixOperation> operations = spirv::supported_operations(spirv::full_driver(), 32);
   const std::vector<MatrixOperation> &ours = cpu::supported_matrices().operations;
   std::erase_if(operations, [&](const MatrixOperation &op) {
      return std::ranges::find(ours, op) == ours.end();
   });
   return operations;
}

} // namespace weft::fuzz
