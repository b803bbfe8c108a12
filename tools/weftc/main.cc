// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// weftc, the offline compiler: the driver's own road from SPIR-V to machine code, stage by stage
/// on paper.

#include "tools/weftc/arguments.h"
#include "tools/weftc/element_map_svg.h"
#include "tools/weftc/spirv_file.h"

#include "backend/cpu/compiler.h"
#include "backend/spirv/compiler.h"
#include "nir_passes/cmat_uses.h"
#include "nir_passes/pipeline.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <map>
#include <set>

namespace weft::weftc {

namespace {

/// A descriptor set layout with all that the module names: each set in a slot of its own.
std::vector<cpu::BindingLayout> make_bindings(std::span<const uint32_t> words)
{
   std::vector<cpu::BindingLayout> layouts;
   for (const auto &[set, binding] : bindings(words)) {
      layouts.push_back({set, binding, set % cpu::max_sets, binding * 16, 16, 0, false});
   }
   return layouts;
}

class Compiler {
public:
   Compiler(const Arguments &arguments, std::span<const uint32_t> words)
       : arguments(arguments), words(words), target(cpu::host_target())
   {
      if (arguments.subgroup_size)
         target.subgroup_size = arguments.subgroup_size;
      target.native_tiles = !arguments.registers;
   }

   Result<std::string> run()
   {
      switch (arguments.emit) {
      case Emit::nir:
         return emit_nir(false);
      case Emit::passes:
         return emit_nir(true);
      case Emit::llvm:
         return emit_phase("llvm");
      case Emit::assembly:
         return emit_phase("asm");
      case Emit::spirv:
         return emit_spirv();
      case Emit::map:
         return emit_map();
      }
      return Error{"nothing to emit"};
   }

private:
   ShaderSource source() const
   {
      ShaderSource source = {words, arguments.entry, {}};
      for (const SpecArgument &constant : arguments.constants)
         source.spec_constants.push_back(
            {constant.id, std::as_bytes(std::span(&constant.bits, 1))});
      return source;
   }

   Result<std::string> emit_nir(bool each_pass)
   {
      std::string text;
      PipelineOptions options;
      for (const cpu::BindingLayout &l : make_bindings(words))
         options.bindings.push_back({l.set, l.binding, l.slot, l.offset, l.stride, l.count, false});
      if (each_pass) {
         options.dump = [&](const char *pass, const std::string &nir) {
            text += "// after " + std::string(pass) + "\n" + nir + "\n";
         };
      }
      Result<Shader> shader = spirv_to_target(source(), target, options);
      if (!shader)
         return shader.error();
      return each_pass ? text : shader_text(shader->get());
   }

   Result<std::string> emit_phase(const std::string &wanted)
   {
      std::string text;
      cpu::CompileOptions options;
      options.subgroup_size = target.subgroup_size;
      options.bindings = make_bindings(words);
      options.dump = [&](const char *phase, const std::string &dumped) {
         if (phase == wanted)
            text = dumped;
      };
      const Result<std::shared_ptr<const cpu::Program>> program = cpu::compile(source(), options);
      if (!program)
         return program.error();
      return text;
   }

   /// For a driver that has everything, of matrices only what --native says.
   Result<std::string> emit_spirv()
   {
      std::string text;
      spirv::CompileOptions options = {
         .driver = spirv::full_driver(),
         .subgroup_size = target.subgroup_size,
         .operations = target.operations,
         .native_operations = {},
         .dump = {},
      };
      std::ranges::copy_if(target.operations, std::back_inserter(options.native_operations),
                           [&](const MatrixOperation &op) {
                              const std::array shape = {op.m, op.n, op.k};
                              return std::ranges::count(arguments.native_shapes, shape) > 0;
                           });
      options.dump = [&](const char *phase, const std::string &dumped) {
         if (phase == std::string("spirv"))
            text = dumped;
      };
      const Result<std::vector<uint32_t>> module = spirv::compile(source(), options);
      if (!module)
         return module.error();
      return text;
   }

   Result<std::string> emit_map()
   {
      Result<Shader> shader = spirv_to_nir(source(), target);
      if (!shader)
         return shader.error();
      nir_foreach_function_temp_variable(var, nir_shader_get_entrypoint(shader->get()))
         collect(var->type);
      if (found.empty())
         return Error{"the shader has no cooperative matrices"};
      std::vector<MapDrawing> drawings;
      for (const auto &[size, names] : found)
         drawings.push_back(
            {{size.first, size.second, target.subgroup_size}, {names.begin(), names.end()}});
      return draw_element_maps(drawings);
   }

   void collect(const glsl_type *type)
   {
      if (glsl_type_is_cmat(type)) {
         const glsl_cmat_description *desc = glsl_get_cmat_description(type);
         found[{desc->rows, desc->cols}].insert(describe(*desc));
      } else if (glsl_type_is_array(type)) {
         collect(glsl_get_array_element(type));
      } else if (glsl_type_is_struct(type)) {
         for (unsigned i = 0; i < glsl_get_length(type); ++i)
            collect(glsl_get_struct_field(type, i));
      }
   }

   const Arguments &arguments;
   std::span<const uint32_t> words;
   Target target;
   std::map<std::pair<uint32_t, uint32_t>, std::set<std::string>> found; ///< matrices by size
};

/// What else the user may want to know about an error in a module.
std::string hint(const Arguments &arguments, std::span<const uint32_t> words)
{
   const std::vector<std::string> names = entry_points(words);
   if (names.empty() || std::ranges::find(names, arguments.entry) != names.end())
      return "";
   std::string list;
   for (const std::string &name : names)
      list += (list.empty() ? "" : ", ") + name;
   return "\nthe module's compute entry points are: " + list + " (--entry NAME)";
}

Result<bool> write(const std::string &path, const std::string &text)
{
   if (path.empty())
      return fwrite(text.data(), 1, text.size(), stdout) == text.size();
   std::ofstream file(path, std::ios::binary);
   file << text;
   file.close();
   if (!file)
      return Error{path + ": cannot be written"};
   return true;
}

int fail(const std::string &message, int status)
{
   fprintf(stderr, "weftc: %s\n", message.c_str());
   return status;
}

int run(int argc, char **argv)
{
   const Result<Arguments> arguments = parse_arguments(argc, argv);
   if (!arguments)
      return fail(arguments.error().message + "\nweftc --help lists the options", 2);
   if (arguments->help) {
      fputs(usage, stdout);
      return 0;
   }
   const Result<std::vector<uint32_t>> words = read_spirv(arguments->input);
   if (!words)
      return fail(arguments->input + ": " + words.error().message, 1);
   const Result<std::string> text = Compiler(*arguments, *words).run();
   if (!text)
      return fail(arguments->input + ": " + text.error().message + hint(*arguments, *words), 1);
   const Result<bool> written = write(arguments->output, *text);
   if (!written)
      return fail(written.error().message, 1);
   return 0;
}

} // namespace

} // namespace weft::weftc

int main(int argc, char **argv)
{
   return weft::weftc::run(argc, argv);
}
