// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
#include "tests/fuzz/printer.h"

#include "tests/e2e/glsl.h"
#include "tests/e2e/spirv_edits.h"

#include <algorithm>

namespace weft::fuzz {

namespace {
/// The number of the workgroup, also with three dimensions.
const char *const number_of_workgroup =
   "#define WORKGROUP ((gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * "
   "gl_NumWorkGroups.x + gl_WorkGroupID.x)\n"
   "#define WORKGROUPS (gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_NumWorkGroups.z)\n";
const char *const unknown_zero = "#define ZERO uint64_t(min(gl_LocalInvocationIndex, 0u))\n";

/// Of barriers.
const std::string semantics =
   "gl_StorageSemanticsBuffer | gl_StorageSemanticsShared | gl_StorageSemanticsImage, "
   "gl_SemanticsAcquireRelease | "
   "gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);";

bool has_long_matrices(const Program &program)
{
   return std::ranges::any_of(program.functions, [](const Function &f) {
      return std::ranges::any_of(f.variables, [](const Variable &v) {
         return v.matrix && (v.type == Type::s64 || v.type == Type::u64);
      });
   });
}

} // namespace

Printer::Printer(const Program &program)
    : program(program), long_matrices(has_long_matrices(program))
{
}

std::string Printer::run()
{
   print_interface();
   for (size_t f = 0; f < program.functions.size(); f++)
      struct_types(program.functions[f]);
   // Called functions come later in the list, but must be declared first.
   for (size_t f = program.functions.size(); f-- > 0;)
      print_function(f);
   std::string structs;
   for (const auto &[fields, name] : struct_names)
      structs += "struct " + name + " {\n" + fields + "};\n";
   return std::string(e2e::glsl_header) + "#pragma use_vulkan_memory_model\n" + interface +
          structs + element_functions + text;
}

void Printer::print_interface()
{
   interface += "layout(local_size_x = " + std::to_string(program.local_x()) +
                ", local_size_y = " + std::to_string(program.local_y) +
                ", local_size_z = " + std::to_string(program.local_z) + ") in;\n" +
                number_of_workgroup + (long_matrices ? unknown_zero : "");
   for (uint32_t i = 0; i < push_words; i++)
      if (program.specialized >> i & 1)
         interface += "layout(constant_id = " + std::to_string(first_spec_id + i) +
                      ") const uint spec" + std::to_string(i) + " = 3;\n";
   if (has_statement(program, [](const Stmt &s) { return s.tensor && s.tensor->vector; }))
      interface += "layout(constant_id = 0) const bool never = false;\n";
   uint32_t references = 0, binding = 0;
   std::string blocks;
   for (size_t m = 0; m < program.memories.size(); m++) {
      const Memory &memory = program.memories[m];
      const std::string number = std::to_string(m);
      switch (memory.storage) {
      case Storage::buffer:
         blocks += "layout(set = 0, binding = " + std::to_string(binding++) +
                   ", scalar) buffer Block" + number + " { " + memory.unit + " data[]; } mem" +
                   number + ";\n";
         break;
      case Storage::uniform:
         blocks += "layout(set = 0, binding = " + std::to_string(binding++) +
                   ", scalar) uniform Block" + number + " { " + memory.unit + " data[" +
                   std::to_string(memory.elements) + "]; } mem" + number + ";\n";
         break;
      case Storage::reference:
         blocks += "layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Block" +
                   number + " { " + memory.unit + " data[]; };\n#define mem" + number + " Block" +
                   number + "(push.address" + std::to_string(references++) + ")\n";
         break;
      case Storage::shared:
         blocks += "shared " + memory.unit + " mem" + number + "[" +
                   std::to_string(memory.bytes() / memory.unit_bytes) + "];\n";
         break;
      case Storage::texels:
      case Storage::fetched_texels:
      case Storage::image:
      case Storage::sampled_image:
         blocks += "layout(set = 0, binding = " + std::to_string(binding++) +
                   texels_declaration(memory, "mem" + number);
         break;
      }
   }
   interface += "layout(push_constant, std430) uniform Push {\n   uint word[" +
                std::to_string(push_words) + "];\n";
   for (uint32_t i = 0; i < references; i++)
      interface += "   uvec2 address" + std::to_string(i) + ";\n";
   interface += "} push;\n" + blocks;
   if (has_texels(program))
      interface += coordinate_of_element_functions();
}

std::string Printer::type_name(const Variable &v) const
{
   if (!v.matrix)
      return glsl_name(v.type);
   if (program.without_use) {
      const Type scalar = type_of(v.matrix->type);
      return std::string(is_float(scalar)    ? "f"
                         : is_signed(scalar) ? "i"
                                             : "u") +
             "coopmatNV<" + std::to_string(bits(scalar)) + ", gl_ScopeSubgroup, " +
             std::to_string(v.matrix->rows) + ", " + std::to_string(v.matrix->cols) + ">";
   }
   std::string type = v.matrix->glsl();
   const std::string scope = "gl_ScopeSubgroup";
   if (program.workgroup_matrices)
      type.replace(type.find(scope), scope.size(), "gl_ScopeWorkgroup");
   return type;
}

std::string Printer::struct_type(const Function &f, uint32_t structure)
{
   std::string fields;
   uint32_t field = 0;
   for (const Variable &v : f.variables) {
      if (v.structure == structure)
         fields += "   " + type_name(v) + " m" + std::to_string(field++) + array(v) + ";\n";
   }
   return struct_names.emplace(fields, "S" + std::to_string(struct_names.size())).first->second;
}

void Printer::struct_types(const Function &f)
{
   for (uint32_t s = 1; s <= f.structs; s++)
      struct_type(f, s);
}

std::string Printer::array(const Variable &v)
{
   return v.array ? "[" + std::to_string(v.array) + "]" : "";
}

std::string Printer::name(uint32_t variable) const
{
   const Variable &v = function->variables[variable];
   if (!v.structure)
      return "v" + std::to_string(variable);
   uint32_t field = 0;
   for (uint32_t i = 0; i < variable; i++)
      field += function->variables[i].structure == v.structure;
   return "s" + std::to_string(v.structure) + ".m" + std::to_string(field);
}

std::string Printer::zero(const Variable &v) const
{
   const std::string scalar = literal(v.type, 0, 0);
   return v.matrix ? type_name(v) + "(" + scalar + ")" : scalar;
}

std::set<uint32_t> Printer::used_variables(const Function &f) const
{
   std::set<uint32_t> used;
   for_each_stmt(f.body, [&](const Stmt &s) {
      if (s.kind == Kind::loop)
         used.insert(s.target);
      for (const Place &p : s.places)
         used.insert(p.variable);
      for_each_own_expr(s, [&](const Expr &e) {
         if (e.op == Op::variable)
            used.insert(uint32_t(e.number));
      });
   });
   return used;
}

void Printer::print_function(size_t index)
{
   function = &program.functions[index];
   const Function &f = *function;
   std::set<uint32_t> used = used_variables(f), parameters;
   for (const Parameter &p : f.parameters)
      parameters.insert(p.variable);
   if (f.result)
      used.insert(*f.result);
   // A struct is declared if a statement copies it or uses a member.
   std::set<uint32_t> structs;
   for_each_stmt(f.body, [&](const Stmt &s) {
      if (s.kind == Kind::struct_copy)
         structs.insert({s.target, s.detail});
   });
   for (uint32_t v : used)
      structs.insert(f.variables[v].structure);

   if (index == 0) {
      for (uint32_t v : used)
         if (f.variables[v].global)
            line(type_name(f.variables[v]) + " " + name(v) + array(f.variables[v]) + ";");
      line("void main()");
   } else {
      std::string head =
         (f.result ? type_name(f.variables[*f.result]) : "void") + " f" + std::to_string(index);
      std::string list;
      for (const Parameter &p : f.parameters)
         list += std::string(list.empty() ? "" : ", ") +
                 (p.in && p.out ? "inout "
                  : p.out       ? "out "
                                : "") +
                 type_name(f.variables[p.variable]) + " " + name(p.variable);
      line(head + "(" + list + ")");
   }
   line("{");
   depth++;
   for (uint32_t s = 1; s <= f.structs; s++)
      if (structs.count(s))
         line(struct_type(f, s) + " s" + std::to_string(s) + ";");
   for (uint32_t v = 0; v < f.variables.size(); v++)
      print_variable(f.variables[v], v, used.count(v), structs.count(f.variables[v].structure),
                     parameters.count(v));
   for (const Parameter &p : f.parameters)
      if (!p.in)
         line(name(p.variable) + " = " + zero(f.variables[p.variable]) + ";");
   print_block(f.body);
   if (f.result)
      line("return " + name(*f.result) + ";");
   depth--;
   line("}");
}

void Printer::print_variable(const Variable &v, uint32_t number, bool used, bool in_used_struct,
                             bool parameter)
{
   if (parameter || (v.structure ? !in_used_struct : !used))
      return;
   const bool declared = v.structure || v.global;
   if (v.unset)
      return line(type_name(v) + " " + name(number) + array(v) + ";");
   if (!v.array) {
      line((declared ? "" : type_name(v) + " ") + name(number) + " = " + zero(v) + ";");
      return;
   }
   if (!declared)
      line(type_name(v) + " " + name(number) + array(v) + ";");
   line("for (uint i = 0u; i < " + std::to_string(v.array) + "u; i++)");
   line("   " + name(number) + "[i] = " + zero(v) + ";");
}

void Printer::print_block(const std::vector<Stmt> &block)
{
   for (const Stmt &s : block) {
      stmt = &s;
      print(s);
   }
}

void Printer::print(const Stmt &s)
{
   switch (s.kind) {
   case Kind::assign:
      return line(expr(s.exprs[0]) + " = " + expr(s.exprs[1]) + ";");
   case Kind::store:
      if (has_texels(program.memories[s.target].storage))
         return line(store_texel(s.target, expr(s.exprs[0]), expr(s.exprs[1])) + ";");
      return line(scalar_memory(s.target, expr(s.exprs[0])) + " = " + expr(s.exprs[1]) + ";");
   case Kind::branch:
      return print_branch(s);
   case Kind::loop:
      return print_loop(s);
   case Kind::leave:
      return line("break;");
   case Kind::next:
      return line("continue;");
   case Kind::finish:
      return line("return;");
   case Kind::barrier:
      return line("controlBarrier(gl_ScopeWorkgroup, gl_ScopeWorkgroup, " + semantics);
   case Kind::subgroup_barrier:
      return line("controlBarrier(gl_ScopeSubgroup, gl_ScopeSubgroup, " + semantics);
   case Kind::atomic:
      return print_atomic(s);
   case Kind::call:
      return print_call(s);
   case Kind::struct_copy:
      return line("s" + std::to_string(s.target) + " = s" + std::to_string(s.detail) + ";");
   default:
      return print_matrix(s);
   }
}

void Printer::print_branch(const Stmt &s)
{
   line("if (" + expr(s.exprs[0]) + ") {");
   depth++;
   print_block(s.body);
   depth--;
   if (!s.otherwise.empty()) {
      line("} else {");
      depth++;
      print_block(s.otherwise);
      depth--;
   }
   line("}");
}

void Printer::print_loop(const Stmt &s)
{
   const std::string v = name(s.target), count = "count" + std::to_string(s.target);
   line("const uint " + count + " = " + expr(s.exprs[0]) + ";");
   switch (LoopForm(s.detail)) {
   case LoopForm::endless:
      // The counter steps first, so that `continue` acts as in the other forms.
      line(v + " = 0xffffffffu;");
      line("while (true) {");
      line("   " + v + "++;");
      line("   if (" + v + " >= " + count + ") break;");
      break;
   case LoopForm::counted_unrolled:
      line("[[unroll]]");
      [[fallthrough]];
   case LoopForm::counted_rolled:
   case LoopForm::counted:
      if (LoopForm(s.detail) == LoopForm::counted_rolled)
         line("[[dont_unroll]]");
      line("for (" + v + " = 0u; " + v + " < " + count + "; " + v + "++) {");
      break;
   }
   depth++;
   print_block(s.body);
   depth--;
   line("}");
}

void Printer::print_call(const Stmt &s)
{
   const Function &callee = program.functions[s.target];
   std::string list;
   size_t next_place = 0, next_expr = 0;
   for (const Parameter &p : callee.parameters) {
      list += list.empty() ? "" : ", ";
      list += callee.variables[p.variable].matrix ? place(s.places[next_place++])
                                                  : expr(s.exprs[next_expr++]);
   }
   std::string result;
   if (callee.result)
      result = (callee.variables[*callee.result].matrix ? place(s.places[next_place])
                                                        : expr(s.exprs[next_expr])) +
               " = ";
   line(result + "f" + std::to_string(s.target) + "(" + list + ");");
}

/// Atomics of shared memory state their scope.
std::string Printer::atomic_call(const std::string &name, uint32_t memory,
                                 const std::string &element, const std::string &operands) const
{
   const Storage storage = program.memories[memory].storage;
   if (has_texels(storage))
      return "imageAtomic" + name + "(" + texel_place(memory, element) + ", " + operands + ")";
   std::string scope;
   if (storage == Storage::shared) {
      const std::string none = ", gl_StorageSemanticsNone, gl_SemanticsRelaxed";
      scope = ", gl_ScopeWorkgroup" + none + (name == "CompSwap" ? none : "");
   }
   return "atomic" + name + "(" + scalar_memory(memory, element) + ", " + operands + scope + ")";
}

void Printer::print_atomic(const Stmt &s)
{
   static const char *const names[] = {"Add", "Min",      "Max",      "And", "Or",
                                       "Xor", "Exchange", "CompSwap", "Add"};
   const Atomic op = Atomic(s.detail);
   const std::string type = glsl_name(program.memories[s.target].type);
   std::string element = expr(s.exprs[0]);
   if (op == Atomic::append)
      element = element + " + 1u + (uint32_t(" +
                atomic_call("Add", s.target, element, type + "(1)") + ") % " +
                std::to_string(ring) + "u)";
   std::string operands = expr(s.exprs[1]);
   if (op == Atomic::compare_exchange)
      operands = expr(s.exprs[2]) + ", " + operands;
   const Expr *const result = atomic_result(s);
   line((result ? expr(*result) + " = " : "") +
        atomic_call(names[s.detail], s.target, element, operands) + ";");
}

std::string to_glsl(const Program &program)
{
   std::string text = Printer(program).run();
   // glslang declares no Float16 for values that are computed from memory alone, without a
   // variable.
   const std::string start = "void main()\n{\n";
   if (text.find("float16_t") != std::string::npos)
      text.insert(text.find(start) + start.size(), "   float16_t f16 = float16_t(0.0);\n");
   return text;
}

std::vector<uint32_t> to_spirv(const Program &program)
{
   std::vector<uint32_t> spirv = e2e::compile_glsl(to_glsl(program));
   const auto loads_vectors = [](const Stmt &s) { return s.tensor && s.tensor->vector; };
   const auto is_turn = [](const Stmt &s) { return s.kind == Kind::matrix_turn; };
   const auto has_blocks = [](const Stmt &s) {
      return (s.kind == Kind::matrix_load || s.kind == Kind::matrix_store) &&
             Order(s.detail) >= Order::row_blocks;
   };
   if (has_statement(program, loads_vectors))
      e2e::add_vector_decode_functions(spirv);
   if (has_statement(program, is_turn))
      e2e::replace_calls_by_array_conversions(spirv);
   if (has_statement(program, has_blocks))
      e2e::declare_blocked_layouts(spirv);
   if (program.maintenance1) {
      e2e::use_maintenance1_conversions(spirv);
      e2e::replace_calls_by_coordinates(spirv);
   }
   return spirv;
}

} // namespace weft::fuzz
