// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/runner/runner.h"

#include <algorithm>
#include <cassert>
#include <cstdint>

namespace weft::runner {

namespace {

/// A block of descriptors. Each binding begins at a multiple of the descriptor size. Elements
/// without a buffer leave gaps.
struct Layout {
   std::vector<BindingLayout> bindings;
   std::vector<uint32_t> descriptors; ///< per BufferPlace: its number in the block
   uint32_t length = 0;               ///< of the block, in descriptors
};

Result<Layout> lay_out(std::span<const BufferPlace> places)
{
   constexpr uint32_t max_elements = 1u << 16;
   Layout layout;
   for (const BufferPlace &place : places) {
      const auto same = [&](const BindingLayout &l) {
         return l.set == place.set && l.binding == place.binding;
      };
      if (std::ranges::any_of(layout.bindings, same))
         continue;
      uint32_t count = 0;
      for (const BufferPlace &other : places) {
         if (other.set == place.set && other.binding == place.binding)
            count = std::max(count, other.element + 1);
      }
      if (place.element >= max_elements || count == 0 || count > max_elements)
         return Error{"an array of buffers is too long"};
      const uint32_t stride = sizeof(cpu::BufferDescriptor);
      layout.bindings.push_back(
         {place.set, place.binding, 0, layout.length * stride, stride, count, false});
      layout.length += count;
   }
   for (const BufferPlace &place : places) {
      const auto found = std::ranges::find_if(layout.bindings, [&](const BindingLayout &l) {
         return l.set == place.set && l.binding == place.binding;
      });
      layout.descriptors.push_back(found->offset / uint32_t(sizeof(cpu::BufferDescriptor)) +
                                   place.element);
   }
   return layout;
}

/// The layer's value for a driver with 32 KiB of shared memory.
constexpr uint32_t staging_bytes = 8 * 1024;

/// The module that the layer would give to the driver below.
Result<std::vector<uint32_t>> through_spirv(const ShaderSource &source, const Path &path,
                                            const CompileOptions &options)
{
   const uint32_t subgroup_size =
      path.subgroup_size ? path.subgroup_size : cpu::default_subgroup_size;
   spirv::CompileOptions spirv_options = {
      .driver = options.driver ? *options.driver : spirv::full_driver(),
      .subgroup_size = subgroup_size,
      .operations = {},
      .robust_access = path.robust_access,
      .staging_bytes = staging_bytes,
      .dump = options.dump,
      .control = options.control,
   };
   spirv_options.operations = spirv::supported_operations(spirv_options.driver, subgroup_size);
   spirv_options.flexible =
      options.matrices ? options.matrices->flexible
                       : with_workgroup_scope(flexible_operations(spirv_options.operations,
                                                                  spirv::max_matrix_dimension));
   if (path.matrices == Matrices::tiles)
      spirv_options.native_operations =
         options.native_operations.value_or(cpu::supported_matrices().operations);
   Result<spirv::CompiledModule> module = spirv::compile(source, spirv_options);
   if (!module)
      return module.error();
   return std::move(module->words);
}

/// A buffer's memory, with known bytes before and after it.
class GuardedBuffer {
public:
   explicit GuardedBuffer(const std::vector<std::byte> &contents)
       : size(contents.size()), memory(size + 2 * guard + alignment, filling)
   {
      const auto address = reinterpret_cast<uintptr_t>(memory.data()) + guard;
      begin = memory.data() + guard + (alignment - address % alignment) % alignment;
      std::ranges::copy(contents, begin);
   }

   std::span<std::byte> bytes() { return {begin, size}; }

   bool is_intact() const
   {
      const auto untouched = [](std::byte b) { return b == filling; };
      return std::all_of(memory.data(), static_cast<const std::byte *>(begin), untouched) &&
             std::all_of(static_cast<const std::byte *>(begin) + size,
                         memory.data() + memory.size(), untouched);
   }

private:
   static constexpr size_t guard = 1024, alignment = 64;
   static constexpr std::byte filling{0xa5};
   size_t size;
   std::vector<std::byte> memory;
   std::byte *begin;
};

} // namespace

Result<std::shared_ptr<const cpu::Program>> compile(const ShaderSource &source,
                                                    std::span<const BufferPlace> places,
                                                    const Path &path, const CompileOptions &options)
{
   Result<Layout> layout = lay_out(places);
   if (!layout)
      return layout.error();
   cpu::CompileOptions cpu_options = {
      .subgroup_size = path.subgroup_size,
      .may_widen_subgroups = !path.subgroup_size,
      .bindings = layout->bindings,
      .robust_buffer_access = path.robust_access,
      .native_tiles = path.through_spirv || path.matrices == Matrices::tiles,
      .instruction_set = path.instruction_set,
      .matrices = path.through_spirv ? std::nullopt : options.matrices,
      .dump = options.dump,
      .control = options.control,
      .statistics = options.statistics,
   };
   ShaderSource cpu_source = source;
   std::vector<uint32_t> words;
   if (path.through_spirv) {
      Result<std::vector<uint32_t>> module = through_spirv(source, path, options);
      if (!module)
         return module.error();
      words = std::move(*module);
      cpu_source = {words, source.entry_point, {}};
   }
   Result<std::shared_ptr<const cpu::Program>> program =
      cpu::compile(cpu_source, cpu_options, path.specialized ? options.facts : nullptr);
   if (!program && path.through_spirv)
      return Error{"the CPU back end refuses the module of the SPIR-V back end: " +
                   program.error().message};
   return program;
}

bool execute(cpu::Executor &executor, const cpu::Program &program,
             std::span<const BufferView> buffers, std::array<uint32_t, 3> workgroups,
             std::span<const std::byte> push_constants)
{
   std::vector<BufferPlace> places;
   for (const BufferView &buffer : buffers)
      places.push_back(buffer.place);
   const Result<Layout> layout = lay_out(places);
   assert(layout);
   std::vector<cpu::BufferDescriptor> descriptors(layout->length);
   for (size_t i = 0; i < buffers.size(); i++) {
      descriptors[layout->descriptors[i]] = {reinterpret_cast<uint64_t>(buffers[i].bytes.data()),
                                             buffers[i].bytes.size()};
   }
   // A shader may read more push constants than it was given: at least as many as a driver must
   // support.
   std::vector<std::byte> constants(std::max<size_t>(256, push_constants.size()));
   std::ranges::copy(push_constants, constants.begin());
   cpu::DispatchState state = {};
   state.sets[0] = reinterpret_cast<const uint8_t *>(descriptors.data());
   state.push_constants = reinterpret_cast<const uint8_t *>(constants.data());
   std::ranges::copy(workgroups, state.num_workgroups);
   return executor.dispatch(program, state, workgroups);
}

Result<std::vector<Buffer>> run(const Dispatch &dispatch, const Path &path,
                                const CompileOptions &options)
{
   std::vector<BufferPlace> places;
   for (const Buffer &buffer : dispatch.buffers)
      places.push_back(buffer.place);
   const cpu::DispatchFacts facts = {dispatch.push_constants, {}, dispatch.workgroups};
   CompileOptions for_dispatch = options;
   for_dispatch.facts = &facts;
   Result<std::shared_ptr<const cpu::Program>> program =
      compile(dispatch.source, places, path, for_dispatch);
   if (!program)
      return program.error();

   std::vector<GuardedBuffer> memory;
   std::vector<BufferView> views;
   memory.reserve(dispatch.buffers.size());
   for (const Buffer &buffer : dispatch.buffers)
      views.push_back({buffer.place, memory.emplace_back(buffer.bytes).bytes()});
   cpu::Executor executor(dispatch.threads);
   if (!execute(executor, **program, views, dispatch.workgroups, dispatch.push_constants))
      return Error{"there is no memory for stacks or for shared memory"};

   std::vector<Buffer> results;
   for (size_t i = 0; i < views.size(); i++) {
      if (!memory[i].is_intact()) {
         return Error{"the shader wrote outside of the buffer at set " +
                      std::to_string(places[i].set) + ", binding " +
                      std::to_string(places[i].binding)};
      }
      results.push_back({places[i], {views[i].bytes.begin(), views[i].bytes.end()}});
   }
   return results;
}

} // namespace weft::runner
