// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The generator's state, shared by generate*.cc.

#pragma once

#include "tests/fuzz/generate.h"

#include <initializer_list>
#include <map>

namespace weft::fuzz {

/// The invocations that have the same value, or take the same branch.
enum class Level : uint8_t { workgroup, subgroup, invocation };

/// The context of a statement.
struct Flow {
   Level level = Level::workgroup; ///< the invocations that execute it together
   uint32_t depth = 0;
   bool in_loop = false;                ///< in a loop of the same function
   bool in_function = false;            ///< not in main: no stores, no barriers
   std::vector<uint32_t> counters = {}; ///< the counters of the loops around it
};

/// The permitted parts of an expression.
struct Wanted {
   Level level = Level::invocation;
   uint32_t depth = 2;
   bool subgroup_operations = true;
   bool whole = true;     ///< all invocations of the subgroup are active
   uint32_t elements = 0; ///< the number of matrices of type `element` in an element loop
   Type element = Type::u32;
   uint32_t coordinates = 0; ///< in a function of elements, which has no variables
   bool in_block = false;    ///< in a decode function: the elements belong to a block
   bool in_loop = false;     ///< in an element loop, which may have coordinates and variables
   std::vector<Type> parameters = {}; ///< of that function
};

/// The way in which a tensor is loaded: by a decode function, if it has blocks; also by a vector
/// decode function, if `vector` is not 0.
struct Decoding {
   bool blocks = false;
   uint32_t vector = 0;
};

bool has_long_integers(const MatrixOperation &);
/// Uniform buffers and images have no matrices.
inline bool holds_matrices(Storage storage)
{
   return storage != Storage::uniform && !has_texels(storage);
}

class Generator {
public:
   Generator(uint64_t seed, const std::vector<MatrixOperation> &operations, bool with_texels);
   Program run();

private:
   using Block = std::vector<Stmt>;

   uint32_t draw(uint32_t bound) { return oracle::draw(random, bound); }
   bool one_in(uint32_t n) { return draw(n) == 0; }
   bool percent(uint32_t p) { return draw(100) < p; }
   template <typename T>
   const T &pick(const std::vector<T> &list)
   {
      return list[draw(uint32_t(list.size()))];
   }
   template <typename T>
   T pick(std::initializer_list<T> list)
   {
      return list.begin()[draw(uint32_t(list.size()))];
   }

   // generate_operations.cc
   void choose_sizes();
   void choose_operations();
   void choose_flexible_sizes();
   /// The types of an operation's matrices; matrices without a use all have the same one.
   e2e::MatrixType a_type(const MatrixOperation &) const;
   e2e::MatrixType b_type(const MatrixOperation &) const;
   e2e::MatrixType c_type(const MatrixOperation &) const;
   bool expressible(Type) const; ///< whether GLSL has it beside the types of the operations

   // generate.cc
   void make_inputs();
   uint32_t matrix_input(Type);
   std::string choose_unit(Type, uint32_t &bytes);
   Storage scalar_storage(Type, Storage plain, bool input);
   uint32_t add_memory(Storage, Type, uint32_t elements, Contents);
   uint32_t output_memory(Type, bool scalar);
   uint32_t shared_memory(Type, bool scalar, bool own_regions);
   void finish_memories();
   void make_functions();
   void make_function();
   void write_results(Block &);

   // Variables.
   uint32_t add_scalar(Type, Level, uint32_t array = 0);
   uint32_t add_matrix(const e2e::MatrixType &, uint32_t array = 0);
   void add_structs();
   std::optional<uint32_t> find_scalar(Type, Level at_most, bool array);
   std::optional<uint32_t> find_target(Level flow, bool array);
   Place matrix_place(const e2e::MatrixType &, const Flow &); ///< that may be written
   Place matrix_source(const e2e::MatrixType &, const Flow &);
   Place unset_matrix(const e2e::MatrixType &);
   Place place_of(uint32_t variable, const Flow &);
   Type scalar_type();
   /// A matrix type with arithmetic, which small floats lack; nothing if all types are small
   /// floats.
   std::optional<e2e::MatrixType> arithmetic_type();

   // generate_expr.cc
   Expr literal(Type, int64_t);
   Expr random_literal(Type);
   Expr variable(uint32_t);
   Expr builtin(Builtin);
   Expr arithmetic(Binary, Expr, Expr);
   Expr any(Type, const Wanted &);
   Expr leaf(Type, const Wanted &);
   Expr integer(Type, const Wanted &);
   Expr small_float(Type, const Wanted &);
   Expr real(Type, const Wanted &);
   Expr truth(const Wanted &);
   Expr converted(Type, const Wanted &);
   Expr subgroup_operation(Type, const Wanted &);
   Expr load(uint32_t memory, const Wanted &);
   Expr given(Type, const Wanted &);           ///< from an input
   Expr below(uint32_t bound, const Wanted &); ///< a u32

   // generate_stmt.cc
   Wanted wanted(Level, const Flow &, uint32_t depth = 2);
   void block(Block &, uint32_t statements, const Flow &);
   void statement(Block &, const Flow &);
   void scalar_statement(Block &, const Flow &);
   void assign(Block &, const Flow &);
   void guarded_shuffle(Block &, const Flow &);
   void store_scalar(Block &, const Expr &value, const Flow &);
   void branch(Block &, const Flow &);
   void loop(Block &, const Flow &);
   void exchange(Block &, const Flow &);
   /// A memory with a place for each invocation of the dispatch, or only of its workgroup.
   uint32_t exchange_memory(Type);
   uint32_t own_variable(Type); ///< each invocation has its own value

   // generate_atomic.cc
   Type atomic_type();
   uint32_t atomic_memory(Type);
   uint32_t atomic_cells(uint32_t memory, uint32_t count); ///< the first of `count` new cells
   Expr constant_of_dispatch(Type);
   Atomic atomic_operation(Atomic last); ///< up to `last`, in the order of the enumeration
   Stmt atomic_statement(Atomic, uint32_t memory, Expr element, Expr value);
   void atomic(Block &, const Flow &);
   void partial_atomics(Block &, const Flow &);
   void contended_atomic(Block &, const Flow &);
   void own_atomic(Block &, const Flow &);
   void shared_atomics(Block &, const Flow &);
   void shared_cells(Block &, uint32_t memory, Type, const Flow &);
   void call(Block &, const Flow &);
   void copy_struct(Block &, const Flow &);

   // generate_matrix.cc
   void matrix_statement(Block &, const Flow &);
   /// The subgroup's own part of the output's region with a number.
   Expr own_region(uint32_t number, uint32_t units, uint32_t shift);
   void load_matrix(Block &, const Place &, const e2e::MatrixType &, const Flow &);
   void store_matrix(Block &, const Place &, const e2e::MatrixType &, const Flow &);
   void muladd(Block &, const Flow &);
   void convert_matrix(Block &, const Flow &);
   void matrix_arithmetic(Block &, const Flow &);
   void divide(Block &, const Flow &);
   void element_loop(Block &, const Flow &);
   void turn(Block &, const Flow &);
   void element_function(Block &, const Flow &);
   void reduce_matrix(Block &, const Flow &);
   void element_reduce(Block &, const Flow &);
   void keep(Block &, const Flow &);
   void compute(Block &, const Place &, const e2e::MatrixType &, const Flow &);
   void through_own_memory(Block &, const Flow &);
   void through_shared(Block &, const Flow &);
   void staged_load(Block &, const Flow &);

   // generate_tensor.cc
   oracle::Numbers draw_all(uint32_t count, uint32_t first, uint32_t last);
   Tensor tensor(const e2e::MatrixType &, uint32_t room, Decoding = {});
   Tensor tensor_for_store(const e2e::MatrixType &, uint32_t room);
   void finish_tensor(Tensor &, const e2e::MatrixType &);
   oracle::TensorView view(const oracle::TensorLayout &, const e2e::MatrixType &);
   Stmt tensor_statement(Kind, const Place &, uint32_t memory, Tensor, Expr offset);
   void load_tensor(Block &, const Flow &);
   void decode_tensor(Block &, const Flow &);
   void store_tensor(Block &, const Flow &);
   void tensor_through_shared(Block &, const Flow &);

   Stmt synchronize() const;           ///< of the invocations that share a matrix
   Expr shared_region(uint32_t units); ///< its first unit
   /// A layout, and a stride in units of the memory that suits it.
   struct Layout {
      Order order;
      uint32_t step;   ///< the unit of offsets and strides
      uint32_t stride; ///< in units, or the number of interleaved blocks
      uint32_t units;  ///< from the first to behind the last

      bool is_blocked() const { return order >= Order::row_blocks; }
      /// A square matrix is the same size in rows and in columns.
      void swap_rows_and_columns()
      {
         if (!is_blocked())
            order = order == Order::rows ? Order::columns : Order::rows;
      }
   };
   std::optional<Layout> blocked_layout(const e2e::MatrixType &, const Memory &);
   Layout layout(const e2e::MatrixType &, const Memory &, bool for_store, uint32_t most_units);
   Stmt transfer(Kind, const Place &, uint32_t memory, const Layout &, Expr offset);
   /// The number of components of a type that each subgroup may store at once.
   uint32_t region(Type) const;
   int64_t main_budget() const;
   /// Takes a statement's share of a program's permitted cost.
   void spend(uint32_t operations);

   oracle::Random random;
   const std::vector<MatrixOperation> &advertised;
   Program p;
   Function *f = nullptr;
   std::vector<MatrixOperation> operations;
   std::vector<e2e::MatrixType> types; ///< types that matrices may have
   /// The remaining cost, in vector instructions of matrices in registers. Compile time is nearly
   /// all of a program's time.
   int64_t budget = 0;
   Level scope = Level::subgroup; ///< the invocations that have a matrix
   uint32_t scale = 0;            ///< 0 for tiny programs … 2 for large ones
   bool doubles = false;          ///< matrices of f64; the program then has no f32
   bool texels = false;           ///< images and texel buffers
   std::vector<Type> scalar_types;

   struct Scalar {
      uint32_t variable;
      Level level;
      bool counter;
   };
   std::vector<Scalar> scalars;                  ///< of the current function
   std::map<Type, std::vector<uint32_t>> inputs; ///< memories, by type
   struct Output {
      uint32_t memory, regions;
   };
   std::map<std::pair<Type, bool>, Output> outputs; ///< by type, and whether of scalars
   std::map<std::pair<Type, uint32_t>, uint32_t> shared;
   std::map<Type, uint32_t> atomics;                       ///< memories of buffers
   std::map<Type, uint32_t> exchanged_texels;              ///< memories
   std::map<std::pair<uint32_t, Atomic>, uint32_t> places; ///< shared by all, by memory
};

} // namespace weft::fuzz
