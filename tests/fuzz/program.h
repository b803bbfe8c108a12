// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Compute programs with cooperative matrices as a small typed tree, which can be printed as GLSL
/// (print.h), interpreted (interpret.h), made at random (generate.h) and made smaller (shrink.h).
///
/// A program is run by `workgroups` workgroups of `subgroups` full subgroups, in up to three
/// dimensions.
/// Nodes are values: copying a program copies all of it.

#pragma once

#include "tests/e2e/cmat.h"
#include "tests/oracle/tensor.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::fuzz {

/// A component type, or bool.
enum class Type : uint8_t {
   f16,
   f32,
   f64,
   s8,
   s16,
   s32,
   s64,
   u8,
   u16,
   u32,
   u64,
   boolean,
   bf16,
   e4m3,
   e5m2,
};

ComponentType component(Type); ///< not of booleans
Type type_of(ComponentType);
bool is_float(Type);
/// bfloat16 and float8, which are moved, converted from and to f16 and f32, and multiplied as
/// matrices, and no more.
bool is_small_float(Type);
bool is_integer(Type);
bool is_signed(Type);
uint32_t bits(Type);         ///< 1 for booleans
const char *glsl_name(Type); ///< "float16_t"

enum class Op : uint8_t {
   literal,    ///< `number` or, of floats, `real`
   variable,   ///< variable `number` of the function; args: index, where it is an array
   builtin,    ///< Builtin in `number`, u32
   push,       ///< word `number` of the push constants, u32
   load,       ///< memory `number`, args: element
   element,    ///< within an element loop: the current element of the statement's place `number`;
               ///< within an element function: of its place 1 + `number`
   coordinate, ///< within an element function, and an element loop of a program with
               ///< `maintenance1`: the element's row or column, u32; within a decode function: the
               ///< block's place, then that in the block
   parameter,  ///< within an element function: the statement's expression 1 + `number`
   block,      ///< within a decode function: a number of the block; args: which
   convert,    ///< args: value
   select,     ///< args: condition, value, value; both are computed
   unary,      ///< Unary in `detail`
   binary,     ///< Binary in `detail`
   fma,        ///< args: factor, factor, summand
   reduction,  ///< Reduction in `detail`, Extent in `number`; clusters: the size in `real`
   shuffle,    ///< Shuffle in `detail`; args: value and, where dynamic, index; else `number`
   vote,       ///< Vote in `detail`; args: value, but for elect
   ballot,     ///< Ballot in `detail`; args: condition
};

enum class Builtin : uint8_t {
   subgroup_invocation,
   subgroup,
   local_index,
   workgroup, ///< its number, over all dimensions
   workgroups,
   subgroup_size,
   subgroups,
   local_x,
   local_y,
   local_z,
};

enum class Unary : uint8_t {
   negate,
   bit_not,
   logical_not,
   absolute,
   sign,
   floor,
   trunc,
   bit_count, ///< of u32, as the next three
   bit_reverse,
   find_lsb, ///< ~0 for 0
   find_msb,
};

enum class Binary : uint8_t {
   add,
   sub,
   mul,
   div,
   mod,
   min,
   max,
   bit_and,
   bit_or,
   bit_xor,
   shift_left,
   shift_right,
   // Their arguments may have any type. The result is a boolean.
   equal,
   not_equal,
   less,
   less_equal,
   greater,
   greater_equal,
   // Of booleans.
   logical_and,
   logical_or,
   logical_xor,
};
bool is_comparison(Binary);

enum class Reduction : uint8_t { add, mul, min, max, bit_and, bit_or, bit_xor };
enum class Extent : uint8_t { all, inclusive, exclusive, cluster };

enum class Shuffle : uint8_t {
   index,        ///< args: value, index
   exclusive_or, ///< the rest: by `number`
   up,
   down,
   rotate,
   broadcast,
   broadcast_first,
   quad_broadcast,
   quad_horizontal,
   quad_vertical,
   quad_diagonal,
};

enum class Vote : uint8_t { all, any, all_equal, elect };

enum class Ballot : uint8_t {
   word0,
   word1, ///< words of the ballot
   count,
   inclusive_count,
   exclusive_count,
   find_lsb,
   find_msb,
   inverse, ///< inverseBallot of the ballot, a boolean
   extract, ///< the bit of invocation args[1], a boolean
};

struct Expr {
   Op op = Op::literal;
   Type type = Type::u32;
   uint8_t detail = 0;
   int64_t number = 0;
   double real = 0;
   std::vector<Expr> args;
};

/// A matrix variable or an element of an array of matrices.
struct Place {
   uint32_t variable = 0;
   std::vector<Expr> index; ///< empty, or the one index
};

/// How a matrix lies in memory: in rows, columns, or the blocks of
/// SPV_ARM_cooperative_matrix_layouts, in the order of rows or columns.
enum class Order : uint8_t { rows, columns, row_blocks, column_blocks };

/// The elements of a reduction: its results are equal in each row, each column, all over; or one
/// for every 2x2 elements.
enum class ReduceOver : uint8_t { row, column, both, quad };

enum class Kind : uint8_t {
   assign,  ///< exprs: variable, value
   store,   ///< memory `target`; exprs: element, value
   branch,  ///< exprs: condition; body, otherwise
   loop,    ///< variable `target` counts; exprs: how often; body; LoopForm in `detail`
   leave,   ///< break
   next,    ///< continue
   finish,  ///< return from main
   barrier, ///< of the workgroup; all memory
   subgroup_barrier,
   // The statements from here on need whole subgroups, or whole workgroups if these own the
   // matrices.
   matrix_load,  ///< places: target; memory `target`; exprs: offset and stride in units of the
                 ///< memory, or how many blocks are interleaved; Order in `detail`
   matrix_store, ///< as matrix_load
   /// Through `tensor`.  places: target; memory `target`; exprs: offset in units of the memory and,
   /// where there is one, the decode function's result, which mentions no variables
   tensor_load,
   tensor_store,     ///< the same without a decode function
   matrix_fill,      ///< places: target; exprs: value
   matrix_copy,      ///< places: target, source
   matrix_convert,   ///< places: target, source; of the type, of an accumulator's use, or both
   matrix_transpose, ///< places: target, source; which converts as well
   matrix_negate,    ///< places: target, source
   matrix_binary,    ///< places: target, left, right; Binary add, sub, mul or div in `detail`
   matrix_scale,     ///< places: target, source; exprs: factor
   matrix_muladd,    ///< places: target, A, B, C; `detail`: saturating
   /// Converts to arrays of rows (of B: columns), one for each invocation, and rotates the elements
   /// of a row. exprs: the distance, which may differ between invocations. places: target, source
   matrix_turn,
   /// places: target, more of its type; exprs: new element and, if conditional, whether
   element_loop,
   /// Computes each element by a function. places: target, source, more of its type; exprs: the
   /// function's result, which mentions no variables, and its parameters
   element_function,
   matrix_reduce, ///< places: target, source; the Reduction in `detail`, ReduceOver in `target`
   /// The Reduction in `detail` (min, max, and, or) over all elements; places: source; exprs:
   /// variable
   element_reduce,
   /// function `target`; places: of matrix parameters in order, then the result; exprs: of scalar
   /// ones, then the result
   call,
   struct_copy, ///< the function's structs: `target` = `detail`
   /// Atomic in `detail`, of memory `target`; exprs: element, value, of compare_exchange the
   /// comparand, and where it is used the variable of the result
   atomic,
};

enum class Atomic : uint8_t {
   add,
   min,
   max,
   bit_and,
   bit_or,
   bit_xor,
   exchange,
   compare_exchange,
   /// Takes a number from a counter, the element. Adds to one of the `ring` elements behind it, by
   /// the number's remainder.
   append,
};
constexpr uint32_t ring = 13; ///< no divisor of a number of invocations

enum class LoopForm : uint8_t { counted, counted_unrolled, counted_rolled, endless };

/// A tensor layout after all operations on it, and a view.
struct Tensor {
   oracle::TensorLayout layout;
   std::optional<oracle::TensorView> view;
   bool literal = false;      ///< all of its numbers are literals
   bool sliced_twice = false; ///< in two steps
   uint32_t block = 0;        ///< for a decode function: numbers of a block in memory
   uint32_t vector = 0;       ///< components of a vector decode function, where there is one too
};

struct Stmt {
   Kind kind;
   uint8_t detail = 0;
   uint32_t target = 0;
   std::vector<Expr> exprs;
   std::vector<Place> places;
   std::vector<Stmt> body, otherwise;
   std::optional<Tensor> tensor = {};
};

/// The expression of a statement that is a function's result, or null.
const Expr *function_result(const Stmt &);
/// The variable that gets an atomic's result, or null.
const Expr *atomic_result(const Stmt &);
/// Whether `target` is a memory.
bool has_memory(const Stmt &);

struct Variable {
   Type type = Type::u32;
   std::optional<e2e::MatrixType> matrix;
   uint32_t array = 0;     ///< elements, 0 for none
   bool global = false;    ///< declared outside of main; only main uses it
   bool unset = false;     ///< a matrix that is not initialized
   uint32_t structure = 0; ///< 1 + the struct of the function whose member it is
};

struct Parameter {
   uint32_t variable;
   bool in, out;
};

struct Function {
   std::vector<Variable> variables;
   std::vector<Parameter> parameters;
   std::optional<uint32_t> result; ///< the variable that is returned
   uint32_t structs = 0;
   std::vector<Stmt> body;
};

enum class Storage : uint8_t {
   buffer,
   reference,
   shared,
   uniform,
   // The rest only has scalar accesses, whose elements are texels of one component.
   texels,         ///< a storage texel buffer
   fetched_texels, ///< a uniform texel buffer
   image,          ///< a storage image
   sampled_image,  ///< through a sampler of nearest texels
};
bool has_texels(Storage);
bool is_image(Storage);
bool has_texels(Type);        ///< whether a format has one component of the type
bool has_texel_buffers(Type); ///< whether the format suits texel buffers, too

/// How the elements of an image lie: in one line, or in lines of `Memory::row` texels.
enum class Shape : uint8_t { line, plane, layers, volume };

/// The first contents of a memory.
enum class Contents : uint8_t {
   none,   ///< poison: written before it is read
   tiny,   ///< whole numbers up to 2, or 0 and 1 when unsigned
   small,  ///< whole numbers up to 8
   fine,   ///< quarters up to 4; integers as for small
   bounds, ///< integers near the bounds of their type; floats as for small
   any,    ///< integers from their whole range; floats that use all their bits
};

/// An array of `elements` components, which a matrix access sees in units of `unit` (a GLSL type of
/// `unit_bytes`).  Scalar accesses need units of the component type.
struct Memory {
   Storage storage = Storage::buffer;
   Type type = Type::u32;
   uint32_t elements = 0;
   Contents contents = Contents::none;
   uint64_t seed = 0;
   std::string unit;
   uint32_t unit_bytes = 0;
   bool atomic = false;   ///< for atomics, which read its contents
   bool coherent = false; ///< texels that invocations of a workgroup exchange
   Shape shape = Shape::plane;
   uint32_t row = 16;

   bool writable() const { return contents == Contents::none || atomic; }
   uint32_t component_bytes() const { return bits(type) / 8; }
   uint32_t bytes() const { return elements * component_bytes(); }
};

/// The size of an image of all elements and at most one more line, layer or slice.
struct TexelExtent {
   uint32_t width = 1, height = 1, depth = 1; ///< layers are a depth
   uint32_t texels() const { return width * height * depth; }
};
TexelExtent texel_extent(const Memory &);
/// The lines of a layer or a slice.
constexpr uint32_t lines_of_slice = 4;

constexpr uint32_t push_words = 8;
/// The SpecId of the first of these words.
constexpr uint32_t first_spec_id = 1;

struct Program {
   uint64_t seed = 0;
   uint32_t subgroup_size = 32, subgroups = 1, workgroups = 1;
   /// The numbers of subgroups and of workgroups along y and z.
   uint32_t local_y = 1, local_z = 1, groups_y = 1, groups_z = 1;
   std::vector<Memory> memories;
   std::vector<Function> functions; ///< the first is main; a function calls later ones only
   uint32_t push[push_words] = {};
   uint32_t specialized = 0; ///< a bit for each of these words that is a specialization constant
   bool workgroup_matrices = false; ///< all matrices have workgroup scope
   /// All matrices belong to SPV_NV_cooperative_matrix; e2e::Use::accumulator means no use.
   bool without_use = false;
   /// Has SPV_EXT_cooperative_matrix_maintenance1.
   bool maintenance1 = false;

   uint32_t invocations() const { return subgroup_size * subgroups; }
   uint32_t local_x() const { return invocations() / (local_y * local_z); }
   uint32_t groups_x() const { return workgroups / (groups_y * groups_z); }
};

/// The number of rows (or of columns of B) that invocations may hold one each of.
uint32_t lines(const e2e::MatrixType &);

bool has_texels(const Program &);

/// The bytes of a memory before the program runs.
std::vector<std::byte> initial_bytes(const Memory &);

/// The numbers of all statements and expressions.
struct Size {
   uint32_t statements = 0, expressions = 0;
};
Size size(const Program &);

/// Rules that the types do not express: no operator of literals alone (glslang's folding is not
/// under test), no subgroup operation that might be skipped, no aliased out parameters. The first
/// fault, or nothing.
std::optional<std::string> fault(const Program &);

/// Whether a statement fits.
template <typename Condition>
bool has_statement(const Program &, Condition &&);

/// Calls body(expr) for all of a statement's own expressions, outermost first.
template <typename E, typename Body>
void for_each_expr(E &expr, Body &&body)
{
   body(expr);
   for (auto &arg : expr.args)
      for_each_expr(arg, body);
}
template <typename S, typename Body>
void for_each_own_expr(S &stmt, Body &&body)
{
   for (auto &expr : stmt.exprs)
      for_each_expr(expr, body);
   for (auto &place : stmt.places)
      for (auto &index : place.index)
         for_each_expr(index, body);
}
/// Calls body(statement) for all statements of a list, before the statements inside of them.
template <typename List, typename Body>
void for_each_stmt(List &list, Body &&body)
{
   for (auto &stmt : list) {
      body(stmt);
      for_each_stmt(stmt.body, body);
      for_each_stmt(stmt.otherwise, body);
   }
}

template <typename Condition>
bool has_statement(const Program &program, Condition &&condition)
{
   bool found = false;
   for (const Function &f : program.functions)
      for_each_stmt(f.body, [&](const Stmt &s) { found |= condition(s); });
   return found;
}

} // namespace weft::fuzz
