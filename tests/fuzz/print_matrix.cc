// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
/// Matrices and functions of their elements.

#include "tests/fuzz/printer.h"

namespace weft::fuzz {

void Printer::print_matrix(const Stmt &s)
{
   const auto is = [&](const std::string &value) {
      line(place(s.places[0]) + " = " + value + ";");
   };
   switch (s.kind) {
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
   default:
      return;
   }
}

std::string Printer::memory_data(const Stmt &s) const
{
   const bool shared = program.memories[s.target].storage == Storage::shared;
   return "mem" + std::to_string(s.target) + (shared ? "" : ".data");
}

std::string Printer::matrix_memory(const Stmt &s)
{
   static const char *const orders[] = {"gl_CooperativeMatrixLayoutRowMajor",
                                        "gl_CooperativeMatrixLayoutColumnMajor", "4202", "4203"};
   const std::string order = program.without_use ? (s.detail ? "true" : "false") : orders[s.detail];
   return std::string(program.without_use ? "NV(" : "(") + place(s.places[0]) + ", " +
          memory_data(s) + ", " + expr(s.exprs[0]) + ", " + expr(s.exprs[1]) + ", " + order + ");";
}

Type Printer::component_of(const Place &p) const
{
   return type_of(function->variables[p.variable].matrix->type);
}

void Printer::print_element_function(const Stmt &s)
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

std::string Printer::coordinate_function(const Place &p)
{
   const std::string type = type_name(function->variables[p.variable]);
   const auto [it, inserted] = coordinate_functions.emplace(
      type, "coordinate_" + std::to_string(coordinate_functions.size()));
   if (inserted)
      element_functions += "uvec2 " + it->second + "(const in " + type +
                           " m, const in uint i) { return uvec2(i); }\n";
   return it->second;
}

void Printer::print_turn(const Stmt &s)
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

std::string Printer::combine_function(Type type, Reduction r)
{
   static const char *const results[] = {"x + y", "x * y", "x < y ? x : y", "x > y ? x : y",
                                         "x & y", "x | y", "x ^ y"};
   const std::string t = glsl_name(type);
   const std::string name = std::string("reduce") + reduction_name(r) + "_" + t;
   std::string result = results[int(r)];
   // Small floats are widened for comparison.
   if (is_small_float(type))
      result = "float(x)" + result.substr(1, 3) + "float(y)" + result.substr(5);
   const std::string text =
      t + " " + name + "(const in " + t + " x, const in " + t + " y) { return " + result + "; }\n";
   if (element_functions.find(text) == std::string::npos)
      element_functions += text;
   return name;
}

void Printer::print_reduce(const Stmt &s)
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

} // namespace weft::fuzz
