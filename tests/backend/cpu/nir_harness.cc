// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/backend/cpu/nir_harness.h"

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/lowered_shader.h"
#include "backend/cpu/runtime/executor.h"
#include "nir_passes/compiler_options.h"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>

namespace weft::cpu::test {

NirShader::NirShader(uint32_t subgroup_size, uint32_t workgroup_size) : W(subgroup_size)
{
   const TypeTable types;
   b = nir_builder_init_simple_shader(MESA_SHADER_COMPUTE, &llvm_compiler_options, "test");
   shader.reset(b.shader);
   shader->info.workgroup_size[0] = uint16_t(workgroup_size);
   shader->info.workgroup_size[1] = shader->info.workgroup_size[2] = 1;
}

nir_def *NirShader::load(uint32_t buffer_number, nir_def *offset, unsigned components,
                         unsigned bits)
{
   return _nir_build_load_ssbo(
      &b, components, bits, buffer(buffer_number), offset,
      {._ = 0, .access = gl_access_qualifier(0), .align_mul = bits / 8, .align_offset = 0});
}

void NirShader::store(uint32_t buffer_number, nir_def *offset, nir_def *value)
{
   _nir_build_store_ssbo(&b, value, buffer(buffer_number), offset,
                         {._ = 0,
                          .write_mask = nir_component_mask(value->num_components),
                          .access = gl_access_qualifier(0),
                          .align_mul = value->bit_size / 8u,
                          .align_offset = 0});
}

nir_def *NirShader::load_shared(nir_def *offset, unsigned components, unsigned bits)
{
   return _nir_build_load_shared(&b, components, bits, offset,
                                 {._ = 0, .base = 0, .align_mul = bits / 8, .align_offset = 0});
}

void NirShader::store_shared(nir_def *offset, nir_def *value)
{
   _nir_build_store_shared(&b, value, offset,
                           {._ = 0,
                            .base = 0,
                            .write_mask = nir_component_mask(value->num_components),
                            .align_mul = value->bit_size / 8u,
                            .align_offset = 0});
}

void NirShader::barrier()
{
   _nir_build_barrier(&b, {._ = 0,
                           .execution_scope = SCOPE_WORKGROUP,
                           .memory_scope = SCOPE_WORKGROUP,
                           .memory_semantics = NIR_MEMORY_ACQ_REL,
                           .memory_modes = nir_var_mem_shared});
}

nir_def *NirShader::local_index()
{
   return nir_iadd(&b, nir_imul_imm(&b, nir_load_subgroup_id(&b), W),
                   nir_load_subgroup_invocation(&b));
}

const CpuFeatures &features_with_gathers(bool has_gathers)
{
   const auto make = [](bool fast_gathers_and_scatters) {
      CpuFeatures features = host_features();
      features.target.fast_gathers_and_scatters = fast_gathers_and_scatters;
      return features;
   };
   static const CpuFeatures with = make(true), without = make(false);
   return has_gathers ? with : without;
}

Result<std::shared_ptr<const Program>> NirShader::compile(bool robust, const CpuFeatures &features)
{
   nir_validate_shader(shader.get(), "test");
   CompileOptions options;
   if (const char *phase = std::getenv("WEFT_TEST_DUMP")) // nir, llvm, llvm-opt or asm
      options.dump = [=](const char *name, const std::string &text) {
         if (!std::strcmp(name, phase))
            std::fprintf(stderr, "%s\n", text.c_str());
      };
   auto translated = translate({std::move(shader), &features, W, robust}, options);
   if (!translated)
      return translated.error();
   return generate(std::move(*translated), options);
}

namespace {

/// A copy of a buffer that ends at an inaccessible page.
class FencedCopy {
public:
   explicit FencedCopy(const Bytes &bytes)
       : page(size_t(sysconf(_SC_PAGESIZE))), mapped((bytes.size() + page - 1) / page * page + page)
   {
      void *mapping =
         mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (mapping == MAP_FAILED)
         std::abort();
      begin = static_cast<uint8_t *>(mapping);
      if (mprotect(begin + mapped - page, page, PROT_NONE) != 0)
         std::abort();
      data = begin + mapped - page - bytes.size();
      std::copy(bytes.begin(), bytes.end(), data);
   }
   FencedCopy(const FencedCopy &) = delete;
   ~FencedCopy() { munmap(begin, mapped); }

   size_t page, mapped;
   uint8_t *begin, *data;
};

} // namespace

static void run_once(const Program &program, std::vector<Bytes> &buffers, uint32_t groups)
{
   std::deque<FencedCopy> copies;
   std::vector<BufferDescriptor> set;
   for (const Bytes &bytes : buffers) {
      const FencedCopy &copy = copies.emplace_back(bytes);
      set.push_back({reinterpret_cast<uint64_t>(copy.data), bytes.size()});
   }
   DispatchState state{};
   state.sets[0] = reinterpret_cast<const uint8_t *>(set.data());
   for (uint32_t &n : state.num_workgroups)
      n = 1;
   state.num_workgroups[0] = groups;
   static Executor executor(1);
   if (!executor.dispatch(program, state, {groups, 1, 1}))
      std::abort();
   for (size_t i = 0; i < buffers.size(); i++)
      std::copy_n(copies[i].data, buffers[i].size(), buffers[i].begin());
}

void run(const Program &program, std::vector<Bytes> &buffers, uint32_t groups)
{
   std::vector<Bytes> again = buffers;
   run_once(program, buffers, groups);
   if (PlainProgram *plain = program.plain()) {
      run_once(**plain->get().get(), again, groups);
      EXPECT_EQ(again, buffers) << "the plain program differs";
   }
}

Bytes random_bytes(std::mt19937_64 &random, size_t count)
{
   Bytes bytes(count);
   for (uint8_t &byte : bytes)
      byte = uint8_t(random());
   return bytes;
}

Bytes uniform_buffer(uint32_t v)
{
   Bytes bytes(sizeof v);
   std::memcpy(bytes.data(), &v, sizeof v);
   return bytes;
}

} // namespace weft::cpu::test
