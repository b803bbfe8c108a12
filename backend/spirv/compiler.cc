// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/spirv/compiler.h"

#include "backend/spirv/nir_to_spirv.h"
#include "backend/spirv/passes.h"
#include "backend/spirv/words/spirv_text.h"

#include "nir_passes/matrices/cmat_uses.h"
#include "nir_passes/matrices/validate_cmat.h"
#include "nir_passes/shader_key.h"
#include "nir_passes/shader_text.h"
#include "nir_passes/stages.h"
#include "threads/large_stack.h"

#include <algorithm>
#include <cstring>

namespace weft::spirv {

namespace {

/// The cache format of a module: local_size, needs_full_subgroups, private_bytes, the words of
/// SPIR-V.
constexpr size_t module_file_header = 5;

std::vector<std::byte> module_file(const CompiledModule &module)
{
   const auto &[words, local_size, needs_full_subgroups, private_bytes] = module;
   std::vector<uint32_t> file = {local_size[0], local_size[1], local_size[2], needs_full_subgroups,
                                 private_bytes};
   file.insert(file.end(), words.begin(), words.end());
   const std::span<const std::byte> bytes = std::as_bytes(std::span(file));
   return {bytes.begin(), bytes.end()};
}

std::optional<CompiledModule> parse_module_file(std::span<const std::byte> bytes)
{
   std::vector<uint32_t> file(bytes.size() / sizeof(uint32_t));
   if (file.size() < module_file_header || bytes.size() % sizeof(uint32_t) != 0)
      return std::nullopt;
   std::memcpy(file.data(), bytes.data(), bytes.size());
   return CompiledModule{.words = {file.begin() + module_file_header, file.end()},
                         .local_size = {file[0], file[1], file[2]},
                         .needs_full_subgroups = file[3] != 0,
                         .private_bytes = file[4]};
}

uint32_t private_bytes(nir_shader *nir)
{
   uint32_t words = 0;
   nir_foreach_function_temp_variable(var, nir_shader_get_entrypoint(nir)) {
      if (!glsl_type_is_cmat(glsl_without_array(var->type)))
         words += glsl_count_dword_slots(var->type, false);
   }
   return words * 4;
}

/// Whether the driver lacks the component type of a matrix, in its use.
bool has_foreign_matrix(nir_shader *nir, const NativeMatrices &native)
{
   const Result<CmatUses> uses = gather_cmat_uses(nir);
   return uses && std::ranges::any_of(uses->matrices, [&](const glsl_cmat_description &desc) {
             const auto has = [&](const MatrixOperation &op) { return has_component(op, desc); };
             return std::ranges::none_of(native.operations, has) &&
                    std::ranges::none_of(native.of_extensions, has);
          });
}

MatrixOwner find_owner_here(const ShaderSource &source, uint32_t subgroup_size,
                            const MatrixSupport &support, const NativeMatrices &native)
{
   Result<Shader> shader = read_shader(source, Consumer::driver, subgroup_size);
   if (!shader)
      return MatrixOwner::unknown;
   if (has_foreign_matrix(shader->get(), native))
      return MatrixOwner::layer_only;
   if (!validate_cmat(shader->get(), support))
      return MatrixOwner::unknown;
   return validate_cmat(shader->get(), {native.operations}) ? MatrixOwner::driver
                                                            : MatrixOwner::layer;
}

/// Nothing if the process is exiting.
std::optional<MatrixOwner> find_owner(const ShaderSource &source, uint32_t subgroup_size,
                                      const MatrixSupport &support, const NativeMatrices &native)
{
   std::optional<MatrixOwner> owner;
   (void)call_on_large_stack(
      [&] { owner = find_owner_here(source, subgroup_size, support, native); });
   return owner;
}

} // namespace

MatrixOwner matrix_owner(DiskCache *cache, const ShaderSource &source, uint32_t subgroup_size,
                         const MatrixSupport &support, const NativeMatrices &native)
{
   if (!cache)
      return find_owner(source, subgroup_size, support, native).value_or(MatrixOwner::unknown);
   const auto &[operations, flexible] = support;
   KeyBuilder builder("matrix owner");
   add_to_key(builder, source);
   builder.add(subgroup_size);
   add_to_key(builder, operations);
   add_to_key(builder, flexible);
   add_to_key(builder, native.operations);
   add_to_key(builder, native.of_extensions);
   const CacheKey key = builder.finish();
   if (const std::optional<std::vector<std::byte>> file = cache->read(key);
       file && file->size() == 1)
      return MatrixOwner(file->front());
   const std::optional<MatrixOwner> owner = find_owner(source, subgroup_size, support, native);
   if (!owner)
      return MatrixOwner::unknown;
   const std::byte file[] = {std::byte(*owner)};
   cache->write(key, file);
   return *owner;
}

namespace {

/// Whether the driver has values of a type, and buffers may hold arrays of them.
bool has_components(const Driver &driver, ComponentType type)
{
   if (!driver.has_buffer_elements(component_bits(type)))
      return false;
   switch (type) {
   case ComponentType::f16:
      return driver.float16;
   case ComponentType::f64:
      return driver.float64 && driver.int64;
   default:
      break;
   }
   switch (component_bits(type)) {
   case 8:
      return driver.int8;
   case 16:
      return driver.int16;
   case 64:
      return driver.int64;
   default:
      return true;
   }
}

/// The driver's tiles for which load, store and access to components work.
std::vector<MatrixOperation> usable_tiles(const CompileOptions &options)
{
   const auto is_usable = [&](ComponentType type) { return has_components(options.driver, type); };
   if (options.subgroups_are_blocks || !options.driver.own_matrices)
      return {};
   std::vector<MatrixOperation> tiles = options.native_operations;
   std::erase_if(tiles, [&](const MatrixOperation &op) {
      return !may_be_native(op) || !is_usable(op.a) || !is_usable(op.b) || !is_usable(op.c) ||
             !is_usable(op.result);
   });
   return tiles;
}

Result<CompiledModule> compile_here(const ShaderSource &source, const CompileOptions &options)
{
   const std::vector<MatrixOperation> tiles = usable_tiles(options);
   const uint32_t W = options.subgroup_size;
   if (W < 4 || W > 128 || (W & (W - 1)) != 0)
      return Error{"the subgroup size " + std::to_string(W) + " is no power of two from 4 to 128"};

   // SPIR-V to NIR, all of NIR's passes.
   Result<Shader> shader = lower_for_driver(
      source, {.target = {.subgroup_size = W,
                          .form = tiles.empty() ? MatrixForm::registers : MatrixForm::driver_tiles,
                          .native = tiles,
                          .robust_access = options.robust_access,
                          .staging_bytes = options.staging_bytes,
                          .dot_product_4x8 = options.driver.integer_dot_product,
                          .float16_sums = options.driver.float16 && options.driver.float16_sums},
               .matrices = {options.operations, options.flexible},
               .driver = options.driver,
               .blocks = options.subgroups_are_blocks,
               .max_shared_bytes = options.max_shared_bytes,
               .observe = show_text(options.dump),
               .control = options.control});
   if (!shader)
      return shader.error();
   if (options.dump)
      options.dump("nir", shader_text(shader->get()));

   // NIR to SPIR-V.
   const shader_info &info = shader->get()->info;
   Result<std::vector<uint32_t>> words = nir_to_spirv(shader->get(), options.driver, source);
   if (!words)
      return words.error();
   if (options.dump)
      options.dump("spirv", disassemble(*words));
   const uint16_t *size = info.workgroup_size;
   return CompiledModule{.words = std::move(*words),
                         .local_size = {size[0], size[1], size[2]},
                         .needs_full_subgroups =
                            info.cs.has_cooperative_matrix && !options.subgroups_are_blocks,
                         .private_bytes = private_bytes(shader->get())};
}

} // namespace

Result<CompiledModule> compile(const ShaderSource &source, const CompileOptions &options)
{
   Result<CompiledModule> module = Error{process_is_ending};
   (void)call_on_large_stack([&] { module = compile_here(source, options); });
   return module;
}

CacheKey cache_key(const ShaderSource &source, const CompileOptions &options)
{
   // Binds all members by name: a new member makes this fail to compile.
   [[maybe_unused]] const auto &[driver, subgroup_size, operations, flexible, native_operations,
                                 robust_access, staging_bytes, subgroups_are_blocks,
                                 max_shared_bytes, dump, control] = options;
   const auto &[spirv_version, subgroup_operations, subgroup_extended_types,
                vulkan_memory_model_device_scope, int8, int16, int64, float16, float64,
                storage_buffer_8bit, storage_buffer_16bit, buffer_device_address,
                integer_dot_product, float16_sums, partial_barriers,
                subgroup_arithmetic_with_matrices, own_matrices, robust_buffer_access_2,
                preserve_nan_16, preserve_nan_32, preserve_nan_64] = driver;
   KeyBuilder key("lowered module");
   add_to_key(key, source);
   key.add(spirv_version, subgroup_operations, subgroup_extended_types,
           vulkan_memory_model_device_scope, int8, int16, int64, float16, float64,
           storage_buffer_8bit, storage_buffer_16bit, buffer_device_address, integer_dot_product,
           float16_sums, partial_barriers, subgroup_arithmetic_with_matrices, own_matrices,
           robust_buffer_access_2, preserve_nan_16, preserve_nan_32, preserve_nan_64);
   key.add(subgroup_size, robust_access, staging_bytes, subgroups_are_blocks, max_shared_bytes);
   add_to_key(key, operations);
   add_to_key(key, flexible);
   add_to_key(key, native_operations);
   return key.finish();
}

Result<std::optional<CompiledModule>> compile_cached(DiskCache *cache, const ShaderSource &source,
                                                     const CompileOptions &options,
                                                     bool may_compile)
{
   if (options.dump || options.control)
      cache = nullptr;
   const CacheKey key = cache ? cache_key(source, options) : CacheKey();
   if (cache) {
      if (const std::optional<std::vector<std::byte>> bytes = cache->read(key)) {
         if (std::optional<CompiledModule> module = parse_module_file(*bytes))
            return module;
      }
   }
   if (!may_compile)
      return std::optional<CompiledModule>();
   Result<CompiledModule> module = compile(source, options);
   if (!module)
      return module.error();
   if (cache)
      cache->write(key, module_file(*module));
   return std::optional(std::move(*module));
}

} // namespace weft::spirv
