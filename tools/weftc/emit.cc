// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/emit.h"

#include "backend/spirv/words/spirv_text.h"
#include "nir_passes/matrices/cmat_uses.h"
#include "nir_passes/shader_text.h"
#include "nir_passes/stages.h"
#include "threads/large_stack.h"
#include "tools/runner/shader_interface.h"
#include "tools/weftc/driver.h"
#include "tools/weftc/map_svg.h"

#include <map>
#include <set>

namespace weft::weftc {

namespace {

/// NIR after the passes that all back ends share, or after each pass.
Emitted emit_nir(const Arguments &arguments, std::span<const uint32_t> words)
{
   const bool each = arguments.emit == Emit::passes;
   SelectedPasses selected(arguments.passes);
   Emitted emitted;
   runner::CompileOptions options;
   options.control = &selected.control;
   options.dump = [&](std::string_view phase, const std::string &text) {
      if (selected.stopped())
         return;
      if (phase == (each ? "spirv_to_nir" : "nir"))
         emitted.text += each ? "// after spirv_to_nir\n" + text + "\n" : text;
   };
   if (each) {
      selected.control.on_plan = [&](const char *planner, const std::string &plan) {
         if (!selected.stopped())
            emitted.text += std::string("// ") + planner + ": " + plan + "\n\n";
      };
   }
   const auto steer = selected.control.after;
   selected.control.after = [&](const PassApplication &pass, bool changed, nir_shader *shader) {
      if (selected.stopped())
         return;
      steer(pass, changed, shader);
      if (each ? changed || selected.stopped() : selected.stopped()) {
         if (each) {
            emitted.text += "// after " + name(pass);
            if (pass.optional)
               emitted.text += " (optional pass number " + std::to_string(pass.number) + ")";
            emitted.text += "\n";
         }
         emitted.text += shader_text(shader) + (each ? "\n" : "");
      }
   };
   if (arguments.layer) {
      const auto module = compile_for_driver(arguments, words, options.dump, &selected.control);
      if (!module)
         emitted.error = module.error();
   } else {
      const auto program = compile_for_cpu(arguments, words, options);
      if (!program)
         emitted.error = program.error();
   }
   if (selected.stopped())
      emitted.error.reset(); // an error behind the last requested pass does not matter
   else if (!emitted.error && !selected.check())
      emitted = {"", selected.check().error()};
   return emitted;
}

Emitted emit_cpu_phase(const Arguments &arguments, std::span<const uint32_t> words,
                       std::string_view wanted)
{
   SelectedPasses selected(arguments.passes);
   Emitted emitted;
   runner::CompileOptions options;
   options.control = &selected.control;
   options.dump = [&](std::string_view phase, const std::string &text) {
      if (phase == wanted)
         emitted.text = text;
   };
   const auto program = compile_for_cpu(arguments, words, options);
   if (!program)
      return {"", program.error()};
   if (!selected.check())
      return {"", selected.check().error()};
   return emitted;
}

Emitted emit_spirv(const Arguments &arguments, std::span<const uint32_t> words)
{
   SelectedPasses selected(arguments.passes);
   const auto module = compile_for_driver(arguments, words, {}, &selected.control);
   if (!module)
      return {"", module.error()};
   if (!selected.check())
      return {"", selected.check().error()};
   const Result<bool> valid = spirv::validate(*module);
   if (!valid)
      return {"", Error{"the module made of it is not valid: " + valid.error().message}};
   if (arguments.emit == Emit::spirv_text)
      return {spirv::disassemble(*module)};
   const auto *bytes = reinterpret_cast<const char *>(module->data());
   return {std::string(bytes, module->size() * sizeof(uint32_t))};
}

/// The matrix types of a shader, without duplicates, and their names.
class Matrices {
public:
   using Key = std::tuple<uint32_t, uint32_t, RegisterMap::Use>;
   std::map<Key, std::set<std::string>> found;
   bool by_use; ///< false: all uses are equal

   void collect(const glsl_type *type)
   {
      if (glsl_type_is_cmat(type)) {
         const glsl_cmat_description *desc = glsl_get_cmat_description(type);
         const RegisterMap::Use use = desc->use == GLSL_CMAT_USE_A ? RegisterMap::Use::a
                                      : desc->use == GLSL_CMAT_USE_B
                                         ? RegisterMap::Use::b
                                         : RegisterMap::Use::accumulator;
         found[{desc->rows, desc->cols, by_use ? use : RegisterMap::Use::accumulator}].insert(
            describe(*desc));
      } else if (glsl_type_is_array(type)) {
         collect(glsl_get_array_element(type));
      } else if (glsl_type_is_struct(type)) {
         for (unsigned i = 0; i < glsl_get_length(type); ++i)
            collect(glsl_get_struct_field(type, i));
      }
   }
};

Emitted emit_map(const Arguments &arguments, std::span<const uint32_t> words)
{
   const uint32_t W =
      arguments.subgroup_size ? arguments.subgroup_size : cpu::default_subgroup_size;
   Result<Shader> shader = Error{process_is_ending};
   (void)call_on_large_stack(
      [&] { shader = read_shader(source_of(arguments, words), Consumer::cpu, W); });
   if (!shader)
      return {"", shader.error()};
   Matrices matrices = {{}, arguments.emit == Emit::register_map};
   nir_foreach_function_temp_variable(var, nir_shader_get_entrypoint(shader->get()))
      matrices.collect(var->type);
   if (matrices.found.empty())
      return {"", Error{"the shader has no cooperative matrices"}};
   std::vector<MapDrawing> drawings;
   for (const auto &[key, names] : matrices.found) {
      const auto &[rows, cols, use] = key;
      drawings.push_back(matrices.by_use ? drawing_of(RegisterMap{rows, cols, use, W})
                                         : drawing_of(ElementMap{rows, cols, W}));
      drawings.back().matrices = {names.begin(), names.end()};
   }
   return {draw_maps(drawings)};
}

} // namespace

ShaderSource source_of(const Arguments &arguments, std::span<const uint32_t> words)
{
   ShaderSource source = {words, arguments.entry, {}};
   for (const SpecArgument &constant : arguments.constants)
      source.spec_constants.push_back({constant.id, std::as_bytes(std::span(&constant.bits, 1))});
   return source;
}

runner::Path compile_path(const Arguments &arguments)
{
   return {.matrices = arguments.registers ? runner::Matrices::registers : runner::Matrices::tiles,
           .instruction_set = arguments.instruction_set,
           .subgroup_size = arguments.subgroup_size,
           .robust_access = arguments.robust.value_or(true)};
}

Result<std::shared_ptr<const cpu::Program>> compile_for_cpu(const Arguments &arguments,
                                                            std::span<const uint32_t> words,
                                                            const runner::CompileOptions &options)
{
   const ShaderSource source = source_of(arguments, words);
   std::vector<runner::BufferPlace> places;
   for (const runner::DeclaredBuffer &buffer : runner::read_interface(source).buffers) {
      for (uint32_t element = 0; element < buffer.count; element++)
         places.push_back({buffer.set, buffer.binding, element});
   }
   return runner::compile(source, places, compile_path(arguments), options);
}

Result<std::vector<uint32_t>>
compile_for_driver(const Arguments &arguments, std::span<const uint32_t> words,
                   const std::function<void(const char *phase, const std::string &text)> &dump,
                   PassControl *control)
{
   const Result<DescribedDriver> described = describe_driver(arguments);
   if (!described)
      return described.error();
   const uint32_t subgroup_size = arguments.subgroup_size    ? arguments.subgroup_size
                                  : described->subgroup_size ? described->subgroup_size
                                                             : cpu::default_subgroup_size;
   if (described->plan && !described->plan->lowers_any())
      return Error{"the layer lowers nothing above this driver; --emit=plan prints the reasons"};
   spirv::CompileOptions options = described->compile_options(subgroup_size);
   options.robust_access = arguments.robust.value_or(false);
   options.dump = dump;
   options.control = control;
   Result<spirv::CompiledModule> module = spirv::compile(source_of(arguments, words), options);
   if (!module)
      return module.error();
   return std::move(module->words);
}

Emitted emit_stage(const Arguments &arguments, std::span<const uint32_t> words)
{
   switch (arguments.emit) {
   case Emit::nir:
   case Emit::passes:
      return emit_nir(arguments, words);
   case Emit::accesses:
      return emit_cpu_phase(arguments, words, "accesses");
   case Emit::llvm:
      return emit_cpu_phase(arguments, words, "llvm");
   case Emit::assembly:
      return emit_cpu_phase(arguments, words, "asm");
   case Emit::spirv:
   case Emit::spirv_text:
      return emit_spirv(arguments, words);
   case Emit::map:
   case Emit::register_map:
      return emit_map(arguments, words);
   case Emit::plan:
      break; // has no module
   }
   return {"", Error{"nothing to emit"}};
}

} // namespace weft::weftc
