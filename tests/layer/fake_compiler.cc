// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/layer/fake_compiler.h"

#include "tests/layer/allocation.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstring>

namespace weft::layer_test {

namespace {

FakeCompiler *compiler;
constexpr uint32_t lowered_mark = 0x10e4ed;

std::vector<uint32_t> module_with_capability(uint32_t capability, uint32_t payload)
{
   return {
      0x07230203,   0x00010600, 0, 10,           0,      2 << 16 | 17, 1, 2 << 16 | 17, capability,
      3 << 16 | 14, 0,          3, 2 << 16 | 19, payload};
}

} // namespace

FakeCompiler::FakeCompiler()
{
   using enum ComponentType;
   compiler = this;
   operations = {{16, 16, 16, f16, f16, f32, f32, false},
                 {8, 8, 8, s8, s8, s32, s32, false},
                 {16, 8, 16, f16, f16, f16, f16, false}};
}

FakeCompiler::~FakeCompiler()
{
   compiler = nullptr;
}

std::vector<uint32_t> matrix_module(uint32_t payload)
{
   return module_with_capability(6022, payload); // CooperativeMatrixKHR
}

std::vector<uint32_t> plain_module(uint32_t payload)
{
   return module_with_capability(61, payload); // GroupNonUniform
}

bool is_lowered(const std::vector<uint32_t> &words, uint32_t subgroup_size)
{
   return words.size() > 5 && words[2] == lowered_mark && words[4] == subgroup_size;
}

} // namespace weft::layer_test

namespace weft::spirv {

using namespace layer_test;

std::vector<MatrixOperation> supported_operations(const Driver &driver, uint32_t subgroup_size)
{
   if (!(driver.subgroup_operations & VK_SUBGROUP_FEATURE_BASIC_BIT))
      return {};
   std::vector<MatrixOperation> operations = compiler->operations;
   if (subgroup_size == compiler->size_without_last)
      operations.pop_back();
   return operations;
}

bool declares_any(std::span<const uint32_t> words, std::span<const uint32_t> capabilities,
                  std::span<const std::string>)
{
   if (words.size() < 5 || words[0] != 0x07230203)
      return false;
   for (size_t at = 5; at + 1 < words.size() && words[at] == (2 << 16 | 17); at += 2) {
      if (std::ranges::find(capabilities, words[at + 1]) != capabilities.end())
         return true;
   }
   return false;
}

MatrixOwner matrix_owner(DiskCache *, const ShaderSource &source, uint32_t,
                         const MatrixSupport &support, const NativeMatrices &native)
{
   /* The last word of a module is the K of its one multiplication. */
   if (source.spirv.back() == foreign_k)
      return MatrixOwner::layer_only;
   const auto multiplies = [k = source.spirv.back()](const MatrixOperation &op) {
      return op.k == k;
   };
   if (std::ranges::none_of(support.operations, multiplies))
      return MatrixOwner::unknown;
   return std::ranges::any_of(native.operations, multiplies) ? MatrixOwner::driver
                                                             : MatrixOwner::layer;
}

Result<std::optional<std::vector<uint32_t>>> without_matrices(std::span<const uint32_t> words,
                                                              uint32_t, const std::string &entry,
                                                              const Declarations &)
{
   if (entry == "broken")
      return Error{"made not to be understood"};
   if (entry == "plain")
      return std::optional(plain_module(words.back()));
   return std::optional<std::vector<uint32_t>>();
}

Result<CompiledModule> compile(const ShaderSource &source, const CompileOptions &options)
{
   {
      WithoutInjection w;
      FakeCompiler::Seen seen = {
         {source.spirv.begin(), source.spirv.end()}, source.entry_point, {}, options};
      for (const SpecConstant &constant : source.spec_constants) {
         uint32_t value = 0;
         memcpy(&value, constant.value.data(), std::min<size_t>(4, constant.value.size()));
         seen.spec_constants.emplace_back(constant.id, value);
      }
      std::lock_guard lock(compiler->mutex);
      compiler->seen.push_back(std::move(seen));
   }
   if (source.entry_point == "fail")
      return Error{"made to fail"};
   if (options.dump) {
      options.dump("nir_opt_dce", "not to be kept");
      options.dump("nir", "the NIR");
      options.dump("spirv", "the SPIR-V text");
   }
   const auto [x, y, z] = compiler->local_size;
   return CompiledModule{
      .words = {0x07230203, 0x00010300, lowered_mark, 10, options.subgroup_size, 2 << 16 | 17, 1},
      .local_size = {x, y, z},
      .needs_full_subgroups = true,
      .private_bytes = 12345,
   };
}

Result<std::optional<CompiledModule>> compile_cached(DiskCache *, const ShaderSource &source,
                                                     const CompileOptions &options,
                                                     bool may_compile)
{
   if (!may_compile)
      return std::optional<CompiledModule>();
   Result<CompiledModule> module = compile(source, options);
   if (!module)
      return module.error();
   return std::optional(std::move(*module));
}

} // namespace weft::spirv
