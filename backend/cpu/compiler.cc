// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/compiler.h"

#include "backend/cpu/cpu_features.h"
#include "backend/cpu/jit.h"
#include "backend/cpu/nir_to_llvm.h"
#include "backend/cpu/options.h"
#include "backend/cpu/tile_kernels.h"

#include "nir_passes/pipeline.h"

#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <cstdio>

namespace weft::cpu {

namespace {

using Dump = std::function<void(const char *phase, const std::string &text)>;

/// What the caller wants to see, and on stderr what WEFT_DEBUG names.
Dump with_debug_output(const Dump &callers)
{
   const Options &o = options();
   if (!o.has_debug("nir") && !o.has_debug("llvm") && !o.has_debug("asm"))
      return callers;
   return [&o, callers](const char *phase, const std::string &text) {
      if (callers)
         callers(phase, text);
      if (o.has_debug(phase))
         std::fprintf(stderr, "weft: %s\n%s\n", phase, text.c_str());
   };
}

} // namespace

uint32_t default_subgroup_size()
{
   if (options().subgroup_size)
      return options().subgroup_size;
   if (options().profile)
      return std::max(options().profile->subgroup_size, 8u);
   // Not the width of a vector register: programs size a workgroup's tiles by the default subgroup and were tuned on
   // GPUs of 32 or 64.  llama.cpp's matrix shaders leave subgroups of 8 no whole tile, and give 32 invocations the work
   // of one subgroup.
   return 32;
}

/// All that the tile kernels do, or what a vendor's driver has of it.
static std::vector<MatrixOperation> advertised_operations()
{
   std::vector<MatrixOperation> operations = tile_operations();
   if (const Profile *profile = options().profile) {
      std::erase_if(operations, [&](const MatrixOperation &op) {
         return std::ranges::find(profile->operations, op) == profile->operations.end();
      });
   }
   prefer_small_tiles(operations, default_subgroup_size());
   return operations;
}

const Target &host_target()
{
   static const Target target = {default_subgroup_size(), advertised_operations(),
                                 !options().has_debug("registers")};
   return target;
}

std::string host_description()
{
   return describe(host_features());
}

Result<std::shared_ptr<const Program>> compile(const ShaderSource &source, const CompileOptions &compile_options)
{
   Target target = host_target();
   if (compile_options.subgroup_size)
      target.subgroup_size = compile_options.subgroup_size;
   target.robust_access = compile_options.robust_buffer_access;
   const uint32_t W = target.subgroup_size;
   if (W != 8 && W != 16 && W != 32 && W != 64)
      return Error{"the subgroup size " + std::to_string(W) + " is none of 8, 16, 32, 64"};

   // SPIR-V to NIR, all of NIR's passes.
   PipelineOptions pipeline;
   for (const BindingLayout &l : compile_options.bindings)
      pipeline.bindings.push_back({l.set, l.binding, l.slot, l.offset, l.stride, l.count, l.inline_data});
   const Dump dump = with_debug_output(compile_options.dump);
   pipeline.dump = dump;
   Result<Shader> shader = spirv_to_target(source, target, pipeline);
   if (!shader)
      return shader.error();
   if (dump)
      dump("nir", shader_text(shader->get()));

   // NIR to LLVM IR.
   llvm::LLVMContext context;
   const TranslateOptions translate{W, host_features().vector_bits(), compile_options.robust_buffer_access};
   Result<Translation> translation = nir_to_llvm(shader->get(), translate, context);
   if (!translation)
      return translation.error();

   // LLVM's passes, machine code, a callable program.
   Result<std::vector<std::byte>> object = compile_object(*translation->module, dump);
   if (!object)
      return object.error();
   return link_program(translation->info, std::move(*object));
}

} // namespace weft::cpu
