// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT
/// Expressions.

#include "tests/fuzz/printer.h"

#include <cstdio>
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

/// If 16-bit integers replace 64-bit ones (e2e::widen_shorts()): parts of 16 bits, plus a zero that
/// glslang does not know, so that it folds no number beyond 16 bits.
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

const char *extent_name(Extent e)
{
   static const char *const names[] = {"", "Inclusive", "Exclusive", "Clustered"};
   return names[int(e)];
}

} // namespace

const char *reduction_name(Reduction r)
{
   static const char *const names[] = {"Add", "Mul", "Min", "Max", "And", "Or", "Xor"};
   return names[int(r)];
}

std::string Printer::literal(Type type, int64_t number, double real) const
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

std::string Printer::place(const Place &p)
{
   return name(p.variable) + (p.index.empty() ? "" : "[" + expr(p.index[0]) + "]");
}

std::string Printer::scalar_memory(uint32_t memory, const std::string &element) const
{
   const std::string number = std::to_string(memory);
   const char *const data = program.memories[memory].storage == Storage::shared ? "" : ".data";
   return "mem" + number + data + "[" + element + "]";
}

std::string Printer::args(const Expr &e)
{
   std::string list;
   for (const Expr &a : e.args)
      list += (list.empty() ? "" : ", ") + expr(a);
   return list;
}

std::string Printer::expr(const Expr &e)
{
   switch (e.op) {
   case Op::literal:
      return literal(e.type, e.number, e.real);
   case Op::variable:
      return name(uint32_t(e.number)) + (e.args.empty() ? "" : "[" + expr(e.args[0]) + "]");
   case Op::builtin:
      return builtin_name(Builtin(e.number));
   case Op::push:
      return (program.specialized >> e.number & 1) && !in_short_circuit
                ? "spec" + std::to_string(e.number)
                : "push.word[" + std::to_string(e.number) + "]";
   case Op::load:
      return has_texels(program.memories[size_t(e.number)].storage)
                ? load_texel(uint32_t(e.number), expr(e.args[0]))
                : scalar_memory(uint32_t(e.number), expr(e.args[0]));
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

std::string Printer::coordinate(uint32_t number)
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

std::string Printer::unary(const Expr &e)
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
   const bool converted = op == Unary::bit_count || op == Unary::find_lsb || op == Unary::find_msb;
   return before[e.detail] + expr(e.args[0]) + (converted ? "))" : ")");
}

std::string Printer::binary(const Expr &e)
{
   static const char *const signs[] = {
      "+",  "-",  "*",  "/", "%",  "min", "max", "&",  "|",  "^", "<<",
      ">>", "==", "!=", "<", "<=", ">",   ">=",  "&&", "||", "^^"};
   const Binary op = Binary(e.detail);
   if (op == Binary::min || op == Binary::max)
      return std::string(signs[e.detail]) + "(" + args(e) + ")";
   if (op == Binary::logical_and || op == Binary::logical_or) {
      // If the second operand is not trivial, glslang uses a constant operand before its
      // definition.
      const std::string first = expr(e.args[0]);
      const bool before = std::exchange(in_short_circuit, true);
      const std::string second = expr(e.args[1]);
      in_short_circuit = before;
      return "(" + first + " " + signs[e.detail] + " " + second + ")";
   }
   return "(" + expr(e.args[0]) + " " + signs[e.detail] + " " + expr(e.args[1]) + ")";
}

std::string Printer::shuffle(const Expr &e)
{
   static const char *const names[] = {"Shuffle",          "ShuffleXor",      "ShuffleUp",
                                       "ShuffleDown",      "Rotate",          "Broadcast",
                                       "BroadcastFirst",   "QuadBroadcast",   "QuadSwapHorizontal",
                                       "QuadSwapVertical", "QuadSwapDiagonal"};
   const Shuffle s = Shuffle(e.detail);
   const bool numbered =
      (s >= Shuffle::exclusive_or && s <= Shuffle::broadcast) || s == Shuffle::quad_broadcast;
   return std::string("subgroup") + names[e.detail] + "(" + args(e) +
          (numbered ? ", " + std::to_string(e.number) + "u" : "") + ")";
}

std::string Printer::ballot(const Expr &e)
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

} // namespace weft::fuzz
