// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// What the files that turn NIR into LLVM IR share: the function being built, its values, its
/// execution mask.
///
/// One subgroup is one SIMD value.  With W invocations ("lanes") per subgroup, a component of a
/// divergent NIR value is a vector <W x T>, of a uniform one a scalar T.  Booleans are i1.  Values
/// of lanes that are not active are arbitrary: they may be computed with, but must not fault, reach
/// memory or decide a branch.
///
/// Wherever code is emitted at least one lane is active (emit_control_flow.cc skips what no lane
/// takes, but for arithmetic and loads under the mask), so a uniform load or store needs no look at it.

#pragma once

#include "backend/cpu/codegen/facts/lane_offsets.h"
#include "backend/cpu/codegen/facts/packed_sums.h"
#include "backend/cpu/codegen/nir_to_llvm.h"

#include "compiler/nir/nir.h"

#include <llvm/ADT/DenseMap.h>
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Module.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace weft::cpu {

/// How a load goes about its lanes' memory.
enum class Way {
   ask,      ///< as its condition says, in a branch of its own
   regular,  ///< the condition holds
   lanewise, ///< it may not hold
};

/// Loads of one block from memory that lies closely together: as fields of one struct.
struct LoadCluster {
   uint64_t extent = 0;      ///< bytes from the first address on
   std::vector<bool> chunks; ///< vectors' worth of memory in which there is something
   std::vector<LaneAssumption> assumptions;
   llvm::Value *base = nullptr;       ///< the first address, once it is there
   std::vector<llvm::Value *> loaded; ///< chunks, once they are
   bool is_looked_at = false;         ///< its conditions are among those of the block
};

/// What was decided about a load.
struct GuardedLoad {
   std::shared_ptr<LoadCluster> cluster; ///< null: it is on its own
   uint32_t shift = 0;                   ///< bytes of lane 0's address from the cluster's first
};

class Translator {
public:
   Translator(nir_shader *, const TranslateOptions &, llvm::LLVMContext &);
   Result<Translation> run();

   // The function being built.
   llvm::LLVMContext &context;
   std::unique_ptr<llvm::Module> module;
   llvm::IRBuilder<> b;
   nir_shader *const shader;
   const TranslateOptions options;
   const unsigned W; ///< lanes per subgroup
   llvm::Function *function = nullptr;
   llvm::Value *dispatch_state = nullptr;  ///< const DispatchState *
   llvm::Value *workgroup_state = nullptr; ///< WorkgroupState *
   llvm::Value *subgroup_id = nullptr;     ///< i32
   // i32; null until the shader asks for it, and defined where it last has.
   llvm::Value *workgroup_x = nullptr, *next_workgroup_x = nullptr;
   llvm::Value *scratch =
      nullptr; ///< private memory: byte o of lane l's element of s bytes is at o * W + l * s
   std::optional<LaneAnalysis> patterns; ///< set by run(), as are the next
   std::optional<LaneOffsetAnalysis> fixed_offsets;
   std::optional<PackedSums> packed_sums;
   ProgramInfo info{};
   AccessCounts accesses;

   // Types.
   llvm::Type *int_type(unsigned bits) { return b.getIntNTy(bits); }
   llvm::Type *float_type(unsigned bits);
   llvm::Type *scalar_type(const nir_def &def) { return int_type(def.bit_size); }
   llvm::Type *vector_of(llvm::Type *scalar) { return llvm::FixedVectorType::get(scalar, W); }

   // Values.  Every component is kept as an integer of the def's bit size (bool: i1); as_float
   // gives the float view.
   bool is_uniform(const nir_def &def) const { return !def.divergent; }
   bool is_uniform(const nir_src &src) const { return !src.ssa->divergent; }
   /// The component as a scalar; the source must be uniform.
   llvm::Value *uniform(const nir_src &src, unsigned component = 0);
   /// The component as <W x iN>, a splat if the source is uniform.
   llvm::Value *varying(const nir_src &src, unsigned component = 0);
   /// The component in its own form: scalar if uniform, else vector.
   llvm::Value *value(const nir_def &def, unsigned component = 0);
   llvm::Value *value(const nir_src &src, unsigned component = 0)
   {
      return value(*src.ssa, component);
   }
   /// The component as a scalar even if the analysis could not prove that it is uniform: the first
   /// active lane's.
   llvm::Value *first_active(const nir_src &src, unsigned component = 0);
   /// Lane 0's value of a vector, computed for that lane alone where it can be.
   llvm::Value *first_lane(llvm::Value *vector, unsigned depth = 0);
   /// Operations that are followed to find how an address was computed.
   static constexpr unsigned max_address_depth = 64;
   /// Defines a component: a scalar or a vector, int or float; a scalar is splat if the def is
   /// divergent.
   void define(const nir_def &def, unsigned component, llvm::Value *value);
   /// Scalar or vector of ints to the float type of the same width, and back.
   llvm::Value *as_float(llvm::Value *);
   llvm::Value *as_int(llvm::Value *);
   llvm::Value *splat(llvm::Value *scalar);
   llvm::Value *lane_numbers(unsigned bits); ///< <W x iN> <0, 1, 2, …>

   // The execution mask.
   /// <W x i1>; null while all W lanes are active.
   llvm::Value *mask = nullptr;
   llvm::Value *mask_or_ones()
   {
      return mask ? mask : llvm::ConstantInt::getTrue(vector_of(b.getInt1Ty()));
   }
   /// The mask (or another <W x i1>) as iW, bit l for lane l.
   llvm::Value *bits_of(llvm::Value *lane_bools);
   llvm::Value *lanes_of(llvm::Value *bits);  ///< the inverse of bits_of
   llvm::Value *any(llvm::Value *lane_bools); ///< i1
   /// i32 number of the lowest active lane.
   llvm::Value *first_active_lane();
   /// Emits a loop that runs `body` once for every lane set in `lane_bools` (null: all), in order;
   /// `lane` is an i32. `body` may build blocks of its own.  Values it wants to keep go through
   /// variable().
   void for_each_lane(llvm::Value *lane_bools, const std::function<void(llvm::Value *lane)> &body);
   /// An alloca in the entry block of the function that is being written: it becomes a register, or part of the frame,
   /// which the code generator counts (stack_bytes of jit.cc).
   llvm::AllocaInst *variable(llvm::Type *, const char *name = "");

   /// Calls one of the functions that find_runtime_symbol() knows.
   llvm::CallInst *call(const char *symbol, llvm::Type *result,
                        llvm::ArrayRef<llvm::Value *> arguments);

   /// Goes to where code is put that runs once, before the body; use under an InsertPointGuard.
   void begin_prologue_code() { b.SetInsertPoint(entry->getTerminator()); }
   // What memory_access.cc keeps: the buffers' (address, size) by (slot, descriptor), and pointers
   // made on first use.
   std::map<std::pair<uint32_t, uint32_t>, std::pair<llvm::Value *, llvm::Value *>> buffers;
   llvm::Value *shared_memory = nullptr, *push_constants = nullptr, *constant_data = nullptr;
   llvm::Value *zeros = nullptr, *sink = nullptr;
   /// Memory for such a vector; the same for all accesses lane by lane of the type.
   llvm::AllocaInst *lane_data(llvm::Type *vector) { return lane_memory(lane_data_of, vector); }
   llvm::AllocaInst *lane_offsets(llvm::Type *vector)
   {
      return lane_memory(lane_offsets_of, vector);
   }
   // What guarded_loads.cc has decided for some loads of a block.
   llvm::DenseMap<const nir_intrinsic_instr *, GuardedLoad> guarded;

   /// Multiplications of tiles that a call before them does (emit_tile.cc).
   llvm::DenseSet<const nir_instr *> emitted_tiles;
   Way way_of_guarded = Way::ask;
   /// Values of blocks that were emitted in two copies: nothing behind them can use these.
   llvm::DenseSet<const nir_def *> only_in_copies;
   /// What holds in the copy of a block where the loads' conditions do.
   std::vector<LaneAssumption> assumed;
   /// A value that is known with that: a vector of constants; else null.
   llvm::Value *assumed_value(const nir_def &def, unsigned component);
   /// By lower and upper halves that were loaded: the whole numbers.
   llvm::DenseMap<std::pair<llvm::Value *, llvm::Value *>, llvm::Value *> halves;
   /// Of a sum of products of bytes that were moved: that, and how much too much it is (emit_dot.cc).
   struct MovedSum {
      llvm::Value *sum, *excess;
   };
   llvm::DenseMap<llvm::Value *, MovedSum> moved_sums; ///< by the sum without the excess
   // What packed_values.cc keeps: the packed vector that a component was taken from, and which
   // component it is.
   llvm::DenseMap<llvm::Value *, std::pair<llvm::Value *, unsigned>> packed_components;

   llvm::BasicBlock *block(const char *name)
   {
      return llvm::BasicBlock::Create(context, name, function);
   }

   /// Remembers the first thing that has no translation; run() reports it.
   void fail(const std::string &message);

   void emit_instruction(nir_instr *); ///< anything but phis and jumps

private:
   using MemoryOfTypes = llvm::DenseMap<llvm::Type *, llvm::AllocaInst *>;
   MemoryOfTypes lane_data_of, lane_offsets_of;
   llvm::AllocaInst *lane_memory(MemoryOfTypes &, llvm::Type *);
   struct Components {
      llvm::SmallVector<llvm::Value *, 4> values;
   };
   llvm::DenseMap<const nir_def *, Components> values;
   llvm::DenseMap<llvm::Value *, llvm::Value *> first_lanes;
   llvm::DenseMap<llvm::Value *, llvm::Value *> splats; ///< in the current block
   llvm::BasicBlock *splats_block = nullptr;
   llvm::BasicBlock *entry = nullptr; ///< of variables
   std::optional<Error> error;

   void begin_function();
};

// One function per group of instructions.  Those for intrinsics return false for what is not
// theirs.
void emit_alu(Translator &, nir_alu_instr *);          // emit_alu.cc and its neighbours
bool emit_system(Translator &, nir_intrinsic_instr *); // emit_system.cc: ids, sizes, barriers
bool emit_memory(Translator &, nir_intrinsic_instr *); // emit_memory.cc
bool is_conditional_load(Translator &, nir_intrinsic_instr *);
/// Whether a load is instructions under the current mask, which may be empty.
bool is_masked_load(Translator &, nir_intrinsic_instr *);
/// Decides on clusters of loads between which nothing is written.
void find_clusters(Translator &, llvm::ArrayRef<nir_intrinsic_instr *>);
/// That the lanes of a load that was decided about lie as its vector code wants it.
class Conditions;
void require_regular(Translator &, nir_intrinsic_instr *, Conditions &);
bool emit_atomic(Translator &, nir_intrinsic_instr *);     // emit_atomics.cc
bool emit_subgroup(Translator &, nir_intrinsic_instr *);   // emit_subgroup.cc
bool emit_tile(Translator &, nir_intrinsic_instr *);       // emit_tile.cc
void emit_control_flow(Translator &, nir_function_impl *); // emit_control_flow.cc

} // namespace weft::cpu
