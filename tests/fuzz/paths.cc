// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/paths.h"

#include "tests/vulkan/image.h"
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
          std::ranges::any_of(all.subspan(guard + memory.bytes()), spoiled))
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
   bool takes(const Program &program) const override { return !has_texels(program); }

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

VkDescriptorType descriptor_type(Storage storage)
{
   switch (storage) {
   case Storage::uniform:
      return VK_DESCRIPTOR_TYPE_UNIFORM_BUFFER;
   case Storage::texels:
      return VK_DESCRIPTOR_TYPE_STORAGE_TEXEL_BUFFER;
   case Storage::fetched_texels:
      return VK_DESCRIPTOR_TYPE_UNIFORM_TEXEL_BUFFER;
   case Storage::image:
      return VK_DESCRIPTOR_TYPE_STORAGE_IMAGE;
   case Storage::sampled_image:
      return VK_DESCRIPTOR_TYPE_COMBINED_IMAGE_SAMPLER;
   default:
      return VK_DESCRIPTOR_TYPE_STORAGE_BUFFER;
   }
}

VkFormat format(Type type)
{
   switch (type) {
   case Type::s8:
      return VK_FORMAT_R8_SINT;
   case Type::u8:
      return VK_FORMAT_R8_UINT;
   case Type::s16:
      return VK_FORMAT_R16_SINT;
   case Type::u16:
      return VK_FORMAT_R16_UINT;
   case Type::f16:
      return VK_FORMAT_R16_SFLOAT;
   case Type::s32:
      return VK_FORMAT_R32_SINT;
   case Type::u32:
      return VK_FORMAT_R32_UINT;
   case Type::f32:
      return VK_FORMAT_R32_SFLOAT;
   case Type::s64:
      return VK_FORMAT_R64_SINT;
   case Type::u64:
      return VK_FORMAT_R64_UINT;
   default:
      return VK_FORMAT_UNDEFINED;
   }
}

/// An image of all of a memory's elements, in the way of Shape.
vulkan::ImageRecipe image_recipe(const Memory &memory)
{
   const TexelExtent extent = texel_extent(memory);
   vulkan::ImageRecipe recipe = {.format = format(memory.type),
                                 .extent = {extent.width, extent.height, 1},
                                 .usage = memory.storage == Storage::image
                                             ? VkImageUsageFlags(VK_IMAGE_USAGE_STORAGE_BIT)
                                             : VkImageUsageFlags(VK_IMAGE_USAGE_SAMPLED_BIT)};
   switch (memory.shape) {
   case Shape::line:
      recipe.type = VK_IMAGE_VIEW_TYPE_1D;
      break;
   case Shape::plane:
      recipe.type = VK_IMAGE_VIEW_TYPE_2D;
      break;
   case Shape::layers:
      recipe.type = VK_IMAGE_VIEW_TYPE_2D_ARRAY;
      recipe.layers = extent.depth;
      break;
   case Shape::volume:
      recipe.type = VK_IMAGE_VIEW_TYPE_3D;
      recipe.extent.depth = extent.depth;
      break;
   }
   return recipe;
}

/// A memory of a program on a device, with its first contents and with guards around these.
class DeviceMemory {
public:
   DeviceMemory(vulkan::Device &device, const Memory &memory)
       : memory(memory), buffer(device, bytes() + 2 * guard)
   {
      fill(memory, buffer.bytes().first(bytes() + 2 * guard));
      if (memory.storage == Storage::texels || memory.storage == Storage::fetched_texels)
         view.emplace(device, buffer, format(memory.type), guard, bytes());
      if (!is_image(memory.storage))
         return;
      image.emplace(device, image_recipe(memory));
      image->write(buffer, guard);
   }

   VkDeviceAddress address() const { return buffer.address() + guard; }

   vulkan::Descriptor descriptor() const
   {
      return {.image = image ? image->descriptor() : VkDescriptorImageInfo(),
              .buffer = {buffer.handle(), guard, bytes()},
              .texels = view ? view->handle() : VK_NULL_HANDLE};
   }

   /// The contents and the guards. Texels behind the elements are a part of the guard.
   std::span<const std::byte> read()
   {
      if (image)
         image->read(buffer, guard);
      return std::span<const std::byte>(buffer.bytes()).first(bytes() + 2 * guard);
   }

private:
   size_t bytes() const
   {
      return is_image(memory.storage)
                ? size_t(texel_extent(memory).texels()) * memory.component_bytes()
                : memory.bytes();
   }

   const Memory &memory;
   vulkan::Buffer buffer;
   std::optional<vulkan::BufferView> view;
   std::optional<vulkan::Image> image;
};

/// The layer above Weft's driver.
class ThroughVulkan : public Path {
public:
   ThroughVulkan(const VulkanFiles &files, const std::string &kind, const std::string &isa)
       : files(files), kind(kind), isa(isa)
   {
   }

   std::string name() const override { return "layer-" + kind + "/" + isa; }
   bool takes(const Program &) const override { return true; }

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
      std::vector<std::unique_ptr<DeviceMemory>> memories(program.memories.size());
      std::vector<VkDescriptorType> types;
      std::vector<vulkan::Descriptor> descriptors;
      std::vector<uint64_t> addresses;
      for (size_t m = 0; m < memories.size(); m++) {
         const Memory &memory = program.memories[m];
         if (memory.storage == Storage::shared)
            continue;
         memories[m] = std::make_unique<DeviceMemory>(*device, memory);
         if (memory.storage == Storage::reference) {
            addresses.push_back(memories[m]->address());
            continue;
         }
         types.push_back(descriptor_type(memory.storage));
         descriptors.push_back(memories[m]->descriptor());
      }
      const std::vector<std::byte> push = push_constants(program, addresses);
      std::vector<vulkan::SpecConstant> constants;
      for (const uint32_t i : specialized_words(program))
         constants.push_back({first_spec_id + i, program.push[i]});
      vulkan::Pipeline pipeline(*device, spirv,
                                {.bindings = std::vector<uint32_t>(types.size(), 1),
                                 .types = types,
                                 .push_bytes = uint32_t(push.size()),
                                 .subgroup_size = program.subgroup_size,
                                 .spec_constants = constants});
      pipeline.dispatch_with(descriptors, {program.groups_x(), program.groups_y, program.groups_z},
                             std::span<const std::byte>(push));
      return compare(program, expected, [&](size_t m) { return memories[m]->read(); });
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
