// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/fuzz/print.h"

#include "tests/e2e/glsl.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <utility>

namespace weft::fuzz {

namespace {

std::string decimal(double value)
{
   char text[40];
   snprintf(text, sizeof(text), "%.17g", value);
   std::string s = text;
   if (s.find_first_of(".e") == std::string::npos)
      s += ".0";
   return s;
}

/// Where 16-bit integers stand for those of 64 bits (e2e::widen_shorts()): so that glslang folds
/// nothing beyond 16 bits, pieces of 16 bits and a zero that it does not know.
std::string long_literal(Type type, int64_t number)
{
   const std::string name = glsl_name(type);
   const int64_t least = type == Type::s64 ? INT16_MIN : 0,
                 most = type == Type::s64 ? INT16_MAX : UINT16_MAX;
   if (number >= least && number <= most)
      return name + "(" + std::to_string(number) + ")";
   std::string sum;
   for (uint32_t shift = 0; shift < 64; shift += 16) {
      const uint64_t piece = uint64_t(number) >> shift & 0xffff;
      sum += std::string(shift ? " | " : "") + "((ZERO + uint64_t(" + std::to_string(piece) +
             ")) << uint64_t(" + std::to_string(shift) + "))";
   }
   return type == Type::u64 ? "(" + sum + ")" : name + "(" + sum + ")";
}

std::string literal(Type type, int64_t number, double real, bool long_matrices)
{
   const std::string name = glsl_name(type);
   char hex[24];
   switch (type) {
   case Type::boolean:
      return number ? "true" : "false";
   case Type::f16:
   case Type::f32:
   case Type::f64:
   case Type::bf16:
   case Type::e4m3:
   case Type::e5m2:
      return name + "(" + decimal(real) + ")";
   case Type::u32:
      return std::to_string(uint32_t(number)) + "u";
   case Type::s64:
   case Type::u64:
      if (long_matrices)
         return long_literal(type, number);
      snprintf(hex, sizeof(hex), "0x%llxul", (unsigned long long)number);
      return name + "(" + hex + ")";
   default:
      if (type == Type::s32 && number == INT32_MIN)
         return "int32_t(0x80000000)";
      return name + "(" + std::to_string(number) + ")";
   }
}

const char *builtin_name(Builtin b)
{
   static const char *const names[] = {"gl_SubgroupInvocationID",
                                       "gl_SubgroupID",
                                       "gl_LocalInvocationIndex",
                                       "WORKGROUP",
                                       "WORKGROUPS",
                                       "gl_SubgroupSize",
                                       "gl_NumSubgroups",
                                       "gl_LocalInvocationID.x",
                                       "gl_LocalInvocationID.y",
                                       "gl_LocalInvocationID.z"};
   return names[int(b)];
}

/// In one dimension as in three.
const char *const number_of_workgroup =
   "#define WORKGROUP ((gl_WorkGroupID.z * gl_NumWorkGroups.y + gl_WorkGroupID.y) * "
   "gl_NumWorkGroups.x + gl_WorkGroupID.x)\n"
   "#define WORKGROUPS (gl_NumWorkGroups.x * gl_NumWorkGroups.y * gl_NumWorkGroups.z)\n";
const char *const unknown_zero = "#define ZERO uint64_t(min(gl_LocalInvocationIndex, 0u))\n";

bool has_long_matrices(const Program &program)
{
   return std::ranges::any_of(program.functions, [](const Function &f) {
      return std::ranges::any_of(f.variables, [](const Variable &v) {
         return v.matrix && (v.type == Type::s64 || v.type == Type::u64);
      });
   });
}

const char *reduction_name(Reduction r)
{
   static const char *const names[] = {"Add", "Mul", "Min", "Max", "And", "Or", "Xor"};
   return names[int(r)];
}

const char *extent_name(Extent e)
{
   static const char *const names[] = {"", "Inclusive", "Exclusive", "Clustered"};
   return names[int(e)];
}

class Printer {
public:
   explicit Printer(const Program &program)
       : program(program), long_matrices(has_long_matrices(program))
   {
   }

   std::string run()
   {
      print_interface();
      for (size_t f = 0; f < program.functions.size(); f++)
         struct_types(program.functions[f]);
      // Callees come later in the list, and have to be declared first.
      for (size_t f = program.functions.size(); f-- > 0;)
         print_function(f);
      std::string structs;
      for (const auto &[fields, name] : struct_names)
         structs += "struct " + name + " {\n" + fields + "};\n";
      return std::string(e2e::glsl_header) + "#pragma use_vulkan_memory_model\n" + interface +
             structs + element_functions + text;
   }

private:
   void line(const std::string &s) { text += std::string(3 * depth, ' ') + s + "\n"; }

   void print_interface()
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
         case Storage::reference:
            blocks += "layout(buffer_reference, scalar, buffer_reference_align = 16) buffer Block" +
                      number + " { " + memory.unit + " data[]; };\n#define mem" + number +
                      " Block" + number + "(push.address" + std::to_string(references++) + ")\n";
            break;
         case Storage::shared:
            blocks += "shared " + memory.unit + " mem" + number + "[" +
                      std::to_string(memory.bytes() / memory.unit_bytes) + "];\n";
            break;
         }
      }
      interface += "layout(push_constant, std430) uniform Push {\n   uint word[" +
                   std::to_string(push_words) + "];\n";
      for (uint32_t i = 0; i < references; i++)
         interface += "   uvec2 address" + std::to_string(i) + ";\n";
      interface += "} push;\n" + blocks;
   }

   std::string type_name(const Variable &v) const
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

   /// The name of the type of a function's struct, made once for the same members.
   std::string struct_type(const Function &f, uint32_t structure)
   {
      std::string fields;
      uint32_t field = 0;
      for (const Variable &v : f.variables) {
         if (v.structure == structure)
            fields += "   " + type_name(v) + " m" + std::to_string(field++) + array(v) + ";\n";
      }
      return struct_names.emplace(fields, "S" + std::to_string(struct_names.size())).first->second;
   }
   void struct_types(const Function &f)
   {
      for (uint32_t s = 1; s <= f.structs; s++)
         struct_type(f, s);
   }

   static std::string array(const Variable &v)
   {
      return v.array ? "[" + std::to_string(v.array) + "]" : "";
   }

   std::string name(uint32_t variable) const
   {
      const Variable &v = function->variables[variable];
      if (!v.structure)
         return "v" + std::to_string(variable);
      uint32_t field = 0;
      for (uint32_t i = 0; i < variable; i++)
         field += function->variables[i].structure == v.structure;
      return "s" + std::to_string(v.structure) + ".m" + std::to_string(field);
   }

   std::string zero(const Variable &v) const
   {
      const std::string scalar = literal(v.type, 0, 0, long_matrices);
      return v.matrix ? type_name(v) + "(" + scalar + ")" : scalar;
   }

   /// Which variables a function names at all: a shrunk program has many that it does not.
   std::set<uint32_t> used_variables(const Function &f) const
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

   void print_function(size_t index)
   {
      function = &program.functions[index];
      const Function &f = *function;
      std::set<uint32_t> used = used_variables(f), parameters;
      for (const Parameter &p : f.parameters)
         parameters.insert(p.variable);
      if (f.result)
         used.insert(*f.result);
      // A struct is there when it is copied or a member is used.
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

   /// Every variable is zero first, but for matrices that have no value yet.
   void print_variable(const Variable &v, uint32_t number, bool used, bool in_used_struct,
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

   std::string place(const Place &p)
   {
      return name(p.variable) + (p.index.empty() ? "" : "[" + expr(p.index[0]) + "]");
   }

   std::string scalar_memory(uint32_t memory, const Expr &index)
   {
      const std::string number = std::to_string(memory);
      const char *const data = program.memories[memory].storage == Storage::shared ? "" : ".data";
      return "mem" + number + data + "[" + expr(index) + "]";
   }

   std::string args(const Expr &e)
   {
      std::string list;
      for (const Expr &a : e.args)
         list += (list.empty() ? "" : ", ") + expr(a);
      return list;
   }

   std::string expr(const Expr &e)
   {
      switch (e.op) {
      case Op::literal:
         return literal(e.type, e.number, e.real, long_matrices);
      case Op::variable:
         return name(uint32_t(e.number)) + (e.args.empty() ? "" : "[" + expr(e.args[0]) + "]");
      case Op::builtin:
         return builtin_name(Builtin(e.number));
      case Op::push:
         return (program.specialized >> e.number & 1) && !in_short_circuit
                   ? "spec" + std::to_string(e.number)
                   : "push.word[" + std::to_string(e.number) + "]";
      case Op::load:
         return scalar_memory(uint32_t(e.number), e.args[0]);
      case Op::element:
         if (stmt->kind == Kind::element_function)
            return "e" + std::to_string(e.number);
         return place(stmt->places[size_t(e.number)]) + "[i]";
      case Op::coordinate:
         return coordinate(uint32_t(e.number));
      case Op::parameter:
         return "p" + std::to_string(e.number);
      case Op::block:
         return "b.q[" + expr(e.args[0]) + "]";
      case Op::convert:
         return std::string(glsl_name(e.type)) + "(" + expr(e.args[0]) + ")";
      case Op::select:
         return "(" + expr(e.args[0]) + " ? " + expr(e.args[1]) + " : " + expr(e.args[2]) + ")";
      case Op::unary:
         return unary(e);
      case Op::binary:
         return binary(e);
      case Op::fma:
         return "fma(" + args(e) + ")";
      case Op::reduction:
         return std::string("subgroup") + extent_name(Extent(e.number)) +
                reduction_name(Reduction(e.detail)) + "(" + args(e) +
                (Extent(e.number) == Extent::cluster ? ", " + std::to_string(uint32_t(e.real)) + "u"
                                                     : "") +
                ")";
      case Op::shuffle:
         return shuffle(e);
      case Op::vote: {
         static const char *const names[] = {"subgroupAll", "subgroupAny", "subgroupAllEqual",
                                             "subgroupElect"};
         return std::string(names[e.detail]) + "(" + args(e) + ")";
      }
      case Op::ballot:
         return ballot(e);
      }
      return "";
   }

   std::string coordinate(uint32_t number)
   {
      if (stmt->kind == Kind::element_loop)
         return coordinate_function(stmt->places[0]) + "(" + place(stmt->places[0]) + ", i)" +
                (number ? ".y" : ".x");
      if (!stmt->tensor)
         return number ? "col" : "row";
      const uint32_t dim = stmt->tensor->layout.dim;
      return std::string(number < dim ? "block" : "in_block") + "[" + std::to_string(number % dim) +
             "]";
   }

   std::string unary(const Expr &e)
   {
      static const char *const before[] = {"(-",
                                           "(~",
                                           "(!",
                                           "abs(",
                                           "sign(",
                                           "floor(",
                                           "trunc(",
                                           "uint32_t(bitCount(",
                                           "bitfieldReverse(",
                                           "uint32_t(findLSB(",
                                           "uint32_t(findMSB("};
      const Unary op = Unary(e.detail);
      const bool converted =
         op == Unary::bit_count || op == Unary::find_lsb || op == Unary::find_msb;
      return before[e.detail] + expr(e.args[0]) + (converted ? "))" : ")");
   }

   std::string binary(const Expr &e)
   {
      static const char *const signs[] = {
         "+",  "-",  "*",  "/", "%",  "min", "max", "&",  "|",  "^", "<<",
         ">>", "==", "!=", "<", "<=", ">",   ">=",  "&&", "||", "^^"};
      const Binary op = Binary(e.detail);
      if (op == Binary::min || op == Binary::max)
         return std::string(signs[e.detail]) + "(" + args(e) + ")";
      if (op == Binary::logical_and || op == Binary::logical_or) {
         // glslang uses a constant one of both before it defines it, where the second is not trivial.
         const std::string first = expr(e.args[0]);
         const bool before = std::exchange(in_short_circuit, true);
         const std::string second = expr(e.args[1]);
         in_short_circuit = before;
         return "(" + first + " " + signs[e.detail] + " " + second + ")";
      }
      return "(" + expr(e.args[0]) + " " + signs[e.detail] + " " + expr(e.args[1]) + ")";
   }

   std::string shuffle(const Expr &e)
   {
      static const char *const names[] = {
         "Shuffle",          "ShuffleXor",      "ShuffleUp",
         "ShuffleDown",      "Rotate",          "Broadcast",
         "BroadcastFirst",   "QuadBroadcast",   "QuadSwapHorizontal",
         "QuadSwapVertical", "QuadSwapDiagonal"};
      const Shuffle s = Shuffle(e.detail);
      const bool numbered =
         (s >= Shuffle::exclusive_or && s <= Shuffle::broadcast) || s == Shuffle::quad_broadcast;
      return std::string("subgroup") + names[e.detail] + "(" + args(e) +
             (numbered ? ", " + std::to_string(e.number) + "u" : "") + ")";
   }

   std::string ballot(const Expr &e)
   {
      const std::string b = "subgroupBallot(" + expr(e.args[0]) + ")";
      switch (Ballot(e.detail)) {
      case Ballot::word0:
         return b + ".x";
      case Ballot::word1:
         return b + ".y";
      case Ballot::count:
         return "subgroupBallotBitCount(" + b + ")";
      case Ballot::inclusive_count:
         return "subgroupBallotInclusiveBitCount(" + b + ")";
      case Ballot::exclusive_count:
         return "subgroupBallotExclusiveBitCount(" + b + ")";
      case Ballot::find_lsb:
         return "subgroupBallotFindLSB(" + b + ")";
      case Ballot::find_msb:
         return "subgroupBallotFindMSB(" + b + ")";
      case Ballot::inverse:
         return "subgroupInverseBallot(" + b + ")";
      case Ballot::extract:
         return "subgroupBallotBitExtract(" + b + ", " + expr(e.args[1]) + ")";
      }
      return "";
   }

   void print_block(const std::vector<Stmt> &block)
   {
      for (const Stmt &s : block) {
         stmt = &s;
         print(s);
      }
   }

   std::string memory_data(const Stmt &s) const
   {
      const bool shared = program.memories[s.target].storage == Storage::shared;
      return "mem" + std::to_string(s.target) + (shared ? "" : ".data");
   }

   std::string matrix_memory(const Stmt &s)
   {
      static const char *const orders[] = {"gl_CooperativeMatrixLayoutRowMajor",
                                           "gl_CooperativeMatrixLayoutColumnMajor", "4202", "4203"};
      const std::string order =
         program.without_use ? (s.detail ? "true" : "false") : orders[s.detail];
      return std::string(program.without_use ? "NV(" : "(") + place(s.places[0]) + ", " +
             memory_data(s) + ", " + expr(s.exprs[0]) + ", " + expr(s.exprs[1]) + ", " + order +
             ");";
   }

   void print(const Stmt &s)
   {
      const auto is = [&](const std::string &value) {
         line(place(s.places[0]) + " = " + value + ";");
      };
      switch (s.kind) {
      case Kind::assign:
         return line(expr(s.exprs[0]) + " = " + expr(s.exprs[1]) + ";");
      case Kind::store:
         return line(scalar_memory(s.target, s.exprs[0]) + " = " + expr(s.exprs[1]) + ";");
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
      case Kind::matrix_load:
         return line("coopMatLoad" + matrix_memory(s));
      case Kind::matrix_store:
         return line("coopMatStore" + matrix_memory(s));
      case Kind::tensor_load:
      case Kind::tensor_store:
         return print_tensor(s);
      case Kind::matrix_fill:
         return is(type_name(function->variables[s.places[0].variable]) + "(" + expr(s.exprs[0]) +
                   ")");
      case Kind::matrix_copy:
         return is(place(s.places[1]));
      case Kind::matrix_convert:
         return is(type_name(function->variables[s.places[0].variable]) + "(" + place(s.places[1]) +
                   ")");
      case Kind::matrix_transpose:
         return line("coopMatTransposeNV(" + place(s.places[0]) + ", " + place(s.places[1]) + ");");
      case Kind::matrix_negate:
         return is("-" + place(s.places[1]));
      case Kind::matrix_binary: {
         static const char *const signs[] = {" + ", " - ", " * ", " / "};
         return is(place(s.places[1]) + signs[s.detail] + place(s.places[2]));
      }
      case Kind::matrix_scale:
         return is(place(s.places[1]) + " * " + expr(s.exprs[0]));
      case Kind::matrix_muladd:
         return is(std::string(program.without_use ? "coopMatMulAddNV(" : "coopMatMulAdd(") +
                   place(s.places[1]) + ", " + place(s.places[2]) + ", " + place(s.places[3]) +
                   (s.detail ? ", gl_MatrixOperandsSaturatingAccumulation)" : ")"));
      case Kind::matrix_turn:
         return print_turn(s);
      case Kind::element_loop:
         line("for (uint i = 0u; i < " + place(s.places[0]) + ".length(); i++)");
         return line("   " + (s.exprs.size() > 1 ? "if (" + expr(s.exprs[1]) + ") " : "") +
                     place(s.places[0]) + "[i] = " + expr(s.exprs[0]) + ";");
      case Kind::element_function:
         return print_element_function(s);
      case Kind::matrix_reduce: {
         static const char *const over[] = {"Row", "Column", "RowAndColumn", "2x2"};
         return line("coopMatReduceNV(" + place(s.places[0]) + ", " + place(s.places[1]) +
                     ", gl_CooperativeMatrixReduce" + over[s.target] + "NV, " +
                     combine_function(component_of(s.places[1]), Reduction(s.detail)) + ");");
      }
      case Kind::element_reduce:
         return print_reduce(s);
      case Kind::call:
         return print_call(s);
      case Kind::struct_copy:
         return line("s" + std::to_string(s.target) + " = s" + std::to_string(s.detail) + ";");
      }
   }

   void print_branch(const Stmt &s)
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

   void print_loop(const Stmt &s)
   {
      const std::string v = name(s.target), count = "count" + std::to_string(s.target);
      line("const uint " + count + " = " + expr(s.exprs[0]) + ";");
      switch (LoopForm(s.detail)) {
      case LoopForm::endless:
         // The counter steps first, so that `continue` is what it is in the other forms.
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

   /// Numbers of a tensor layout or view: literals, or made from the push constants.
   std::string numbers(const Tensor &t, std::initializer_list<oracle::Numbers> lists)
   {
      std::string text;
      for (size_t i = 0; i < lists.begin()->size(); i++) {
         for (const oracle::Numbers &list : lists) {
            const uint32_t word = i % push_words;
            text += ", ";
            text += t.literal ? std::to_string(list[i]) + "u"
                              : "push.word[" + std::to_string(word) + "] + " +
                                   std::to_string(list[i] - program.push[word]) + "u";
         }
      }
      return text;
   }

   void print_tensor(const Stmt &s)
   {
      const Tensor &tensor = *s.tensor;
      const oracle::TensorLayout &t = tensor.layout;
      const std::string number = std::to_string(tensor_count++), layout = "t" + number;
      const std::string arguments = std::to_string(t.dim) + ", " + std::to_string(int(t.clamp));
      const auto set = [&](const std::string &variable, const char *what,
                           std::initializer_list<oracle::Numbers> values) {
         line(variable + " = " + what + "NV(" + variable + numbers(tensor, values) + ");");
      };
      line("tensorLayoutNV<" + arguments + "> " + layout + " = createTensorLayoutNV(" + arguments +
           ");");
      if (t.block_size != oracle::Numbers(t.dim, 1))
         set(layout, "setTensorLayoutBlockSize", {t.block_size});
      set(layout, "setTensorLayoutDimension", {t.dimension});
      oracle::TensorLayout dense = t;
      dense.set_dimension(t.dimension);
      if (t.stride != dense.stride)
         set(layout, "setTensorLayoutStride", {t.stride});
      oracle::Numbers offset(t.offset.begin(), t.offset.end());
      if (tensor.sliced_twice) {
         set(layout, "sliceTensorLayout", {oracle::Numbers(t.dim, 1), t.dimension});
         for (uint32_t &o : offset)
            o--;
      }
      set(layout, "sliceTensorLayout", {offset, t.span});
      if (t.clamp_value)
         set(layout, "setTensorLayoutClampValue", {{t.clamp_value}});
      std::string more = layout + (tensor.view ? ", " + print_view(tensor, "w" + number) : "");
      if (function_result(s))
         more += ", " + decode_function(s, number);
      if (tensor.vector)
         call_vector_function(s, number);
      const std::string rest = ", " + memory_data(s) + ", " + expr(s.exprs[0]) + ", " + more + ");";
      const std::string matrix = place(s.places[0]), copy = "m" + number;
      const Variable &v = function->variables[s.places[0].variable];
      if (s.kind == Kind::tensor_store)
         return line("coopMatStoreTensorNV(" + matrix + rest);
      if (!v.array && !v.structure)
         return line("coopMatLoadTensorNV(" + matrix + rest);
      // glslang crashes when it loads to anything but a variable.
      line(type_name(v) + " " + copy + " = " + matrix + ";");
      line("coopMatLoadTensorNV(" + copy + rest);
      line(matrix + " = " + copy + ";");
   }

   /// The name of the view.
   std::string print_view(const Tensor &tensor, const std::string &view)
   {
      const oracle::TensorView &v = *tensor.view;
      std::string arguments = std::to_string(v.dim) + (v.has_dimensions ? ", true" : ", false");
      for (uint32_t p : v.permutation)
         arguments += ", " + std::to_string(p);
      line("tensorViewNV<" + arguments + "> " + view + " = createTensorViewNV(" + arguments + ");");
      const auto set = [&](const char *what, const oracle::Numbers &values) {
         line(view + " = setTensorView" + what + "NV(" + view + numbers(tensor, {values}) + ");");
      };
      if (v.has_dimensions) {
         set("Dimensions", v.dimension);
         oracle::TensorView dense = v;
         dense.set_dimension(v.dimension);
         if (v.stride != dense.stride)
            set("Stride", v.stride);
      }
      const oracle::Numbers clip = {v.clip_row_offset, v.clip_row_span, v.clip_col_offset,
                                    v.clip_col_span};
      if (clip != oracle::Numbers{0, ~0u, 0, ~0u})
         set("Clip", clip);
      return view;
   }

   /// The name of the decode function.
   std::string decode_function(const Stmt &s, const std::string &number)
   {
      const Memory &memory = program.memories[s.target];
      const std::string reference = "Block_" + number, name = "decode" + number,
                        dim = std::to_string(s.tensor->layout.dim);
      element_functions +=
         "layout(buffer_reference, scalar, buffer_reference_align = " +
         std::to_string(memory.component_bytes()) + ") buffer " + reference + " { " +
         glsl_name(memory.type) + " q[" + std::to_string(s.tensor->block) + "]; };\n" +
         glsl_name(component_of(s.places[0])) + " " + name + "(const in " + reference +
         " b, const in uint block[" + dim + "], const in uint in_block[" + dim +
         "])\n{\n   return " + expr(s.exprs[1]) + ";\n}\n";
      if (s.tensor->vector)
         print_vector_function(s, name, reference);
      return name;
   }

   /// The function of the same block and as many elements as its result has: NAME_vector for NAME,
   /// with a struct for a vector (e2e::add_vector_decode_functions()).
   void print_vector_function(const Stmt &s, const std::string &name, const std::string &reference)
   {
      const uint32_t dim = s.tensor->layout.dim, size = s.tensor->vector;
      const std::string element = glsl_name(component_of(s.places[0])),
                        result = "Vector" + std::to_string(size) + "_" + element;
      std::string members, values;
      for (uint32_t i = 0; i < size; i++) {
         members += " " + element + " v" + std::to_string(i) + ";";
         std::string place;
         for (uint32_t d = 0; d < dim; d++)
            place += (d ? ", in_block[" : "in_block[") + std::to_string(d) +
                     (d + 1 == dim ? "] + " + std::to_string(i) + "u" : "]");
         values += std::string(i ? ",\n      " : "") + name + "(b, block, uint[" +
                   std::to_string(dim) + "](" + place + "))";
      }
      const std::string declaration = "struct " + result + " {" + members + " };\n";
      if (element_functions.find(declaration) == std::string::npos)
         element_functions += declaration;
      element_functions += result + " " + name + "_vector(const in " + reference +
                           " b, const in uint block[" + std::to_string(dim) +
                           "], const in uint in_block[" + std::to_string(dim) +
                           "])\n{\n   return " + result + "(" + values + ");\n}\n";
   }

   /// What nothing calls would not be in the module.
   void call_vector_function(const Stmt &s, const std::string &number)
   {
      const std::string dim = std::to_string(s.tensor->layout.dim);
      std::string zeros = "0u";
      for (uint32_t d = 1; d < s.tensor->layout.dim; d++)
         zeros += ", 0u";
      zeros = "uint[" + dim + "](" + zeros + ")";
      line("if (never)");
      line("   decode" + number + "_vector(Block_" + number + "(uvec2(0u)), " + zeros + ", " +
           zeros + ");");
   }

   Type component_of(const Place &p) const
   {
      return type_of(function->variables[p.variable].matrix->type);
   }

   void print_element_function(const Stmt &s)
   {
      const std::string type = glsl_name(component_of(s.places[0]));
      const std::string name = "element" + std::to_string(element_function_count++);
      std::string parameters = "const in uint row, const in uint col", arguments;
      for (size_t i = 1; i < s.places.size(); i++) {
         parameters += ", const in " + type + " e" + std::to_string(i - 1);
         arguments += i > 1 ? ", " + place(s.places[i]) : "";
      }
      for (size_t i = 1; i < s.exprs.size(); i++) {
         parameters +=
            std::string(", const in ") + glsl_name(s.exprs[i].type) + " p" + std::to_string(i - 1);
         arguments += ", " + expr(s.exprs[i]);
      }
      element_functions +=
         type + " " + name + "(" + parameters + ")\n{\n   return " + expr(s.exprs[0]) + ";\n}\n";
      line("coopMatPerElementNV(" + place(s.places[0]) + ", " + place(s.places[1]) + ", " + name +
           arguments + ");");
   }

   /// The name of a function of a matrix and the number of a component, made once: a call of it is
   /// an instruction (e2e::replace_calls_by_coordinates()).
   std::string coordinate_function(const Place &p)
   {
      const std::string type = type_name(function->variables[p.variable]);
      const auto [it, inserted] = coordinate_functions.emplace(
         type, "coordinate_" + std::to_string(coordinate_functions.size()));
      if (inserted)
         element_functions += "uvec2 " + it->second + "(const in " + type +
                              " m, const in uint i) { return uvec2(i); }\n";
      return it->second;
   }

   /// Calls of functions that are instructions (e2e::replace_calls_by_array_conversions()).
   void print_turn(const Stmt &s)
   {
      const Variable &v = function->variables[s.places[0].variable];
      const e2e::MatrixType &type = *v.matrix;
      const std::string number = std::to_string(turn_count++), matrix = type_name(v),
                        element = glsl_name(type_of(type.type)),
                        length = std::to_string(type.rows * type.cols / lines(type));
      element_functions += element + "[" + length + "] extract_" + number + "(const in " + matrix +
                           " m) { " + element + " a[" + length + "]; return a; }\n" + matrix +
                           " construct_" + number + "(const in " + element + " a[" + length +
                           "]) { return " + matrix + "(a[0]); }\n";
      line("{");
      line("   const " + element + " from[" + length + "] = extract_" + number + "(" +
           place(s.places[1]) + ");");
      line("   const uint by = " + expr(s.exprs[0]) + ";");
      line("   " + element + " to[" + length + "];");
      line("   for (uint i = 0u; i < " + length + "u; i++)");
      line("      to[i] = from[(i + by) % " + length + "u];");
      line("   " + place(s.places[0]) + " = construct_" + number + "(to);");
      line("}");
   }

   /// The name of a function of two numbers, made once.
   std::string combine_function(Type type, Reduction r)
   {
      static const char *const results[] = {"x + y", "x * y", "x < y ? x : y", "x > y ? x : y",
                                            "x & y", "x | y", "x ^ y"};
      const std::string t = glsl_name(type);
      const std::string name = std::string("reduce") + reduction_name(r) + "_" + t;
      std::string result = results[int(r)];
      // Small floats are compared as wider ones.
      if (is_small_float(type))
         result = "float(x)" + result.substr(1, 3) + "float(y)" + result.substr(5);
      const std::string text = t + " " + name + "(const in " + t + " x, const in " + t +
                               " y) { return " + result + "; }\n";
      if (element_functions.find(text) == std::string::npos)
         element_functions += text;
      return name;
   }

   void print_reduce(const Stmt &s)
   {
      const Type type = component_of(s.places[0]);
      const Reduction r = Reduction(s.detail);
      const std::string m = place(s.places[0]);
      std::string step = "e = ";
      switch (r) {
      case Reduction::min:
         step += "min(e, " + m + "[i])";
         break;
      case Reduction::max:
         step += "max(e, " + m + "[i])";
         break;
      case Reduction::bit_and:
         step += "e & " + m + "[i]";
         break;
      default:
         step += "e | " + m + "[i]";
         break;
      }
      line("{");
      line("   " + std::string(glsl_name(type)) + " e = " + m + "[0];");
      line("   for (uint i = 1u; i < " + m + ".length(); i++)");
      line("      " + step + ";");
      line("   " + expr(s.exprs[0]) + " = subgroup" + reduction_name(r) + "(e);");
      line("}");
   }

   void print_call(const Stmt &s)
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

   static inline const std::string semantics =
      "gl_StorageSemanticsBuffer | gl_StorageSemanticsShared, gl_SemanticsAcquireRelease | "
      "gl_SemanticsMakeAvailable | gl_SemanticsMakeVisible);";

   const Program &program;
   const bool long_matrices;
   const Function *function = nullptr;
   const Stmt *stmt = nullptr;
   std::map<std::string, std::string> struct_names; ///< by their members
   std::string interface, text;
   std::string element_functions;                           ///< and those that combine two elements
   std::map<std::string, std::string> coordinate_functions; ///< by the type
   uint32_t element_function_count = 0, tensor_count = 0, turn_count = 0;
   uint32_t depth = 0;
   /// Within the second operand of && or ||: no specialization constants.
   bool in_short_circuit = false;
};

} // namespace

std::string to_glsl(const Program &program)
{
   std::string text = Printer(program).run();
   // Of what is computed from memory alone, without a variable, glslang declares no Float16.
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
