// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "backend/cpu/codegen/lane_pieces.h"

#include "backend/cpu/codegen/compute_again.h"
#include "backend/cpu/codegen/packed_values.h"
#include "backend/cpu/codegen/take_elements.h"
#include "backend/cpu/runtime/lane_memory.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/Support/FormatVariadic.h>

#include <array>

namespace weft::cpu {

using llvm::Value;

namespace {

/// The widest vectors'.
constexpr unsigned chunk_bytes = 64;

Value *are_all(Translator &t, Value *lane_bools)
{
   return t.b.CreateNot(t.any(t.b.CreateNot(lane_bools)));
}

} // namespace

Value *Pieces::load(llvm::Type *type, Value *pointer)
{
   llvm::LoadInst *load = b.CreateAlignedLoad(type, pointer, llvm::Align(1), is_volatile);
   if (invariant)
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
   if (ahead)
      prefetch(type, pointer);
   return load;
}

/// Each line of what will be loaded next time goes to the second-level cache, or if that is soon to the first:
/// an address that is no memory's does no harm.
void Pieces::prefetch(llvm::Type *type, Value *pointer)
{
   constexpr int64_t least = 16; // of smaller ones many are in a line
   const auto size = int64_t(type->getPrimitiveSizeInBits() / 8);
   if (size < least)
      return;
   for (int64_t byte = 0; byte < size; byte += chunk_bytes) {
      Value *next = b.CreatePtrAdd(pointer, b.CreateAdd(ahead, b.getInt64(uint64_t(byte))));
      constexpr unsigned read = 0, second_level = 2, first_level = 3, data = 1;
      b.CreateIntrinsic(llvm::Intrinsic::prefetch, {next->getType()},
                        {next, b.getInt32(read), b.getInt32(is_soon ? first_level : second_level),
                         b.getInt32(data)});
   }
}

/// The first `count` elements; what lies behind them is not touched.
Value *Pieces::load_beginning(llvm::FixedVectorType *type, Value *pointer, uint64_t count)
{
   llvm::SmallVector<llvm::Constant *, 64> mask;
   for (unsigned i = 0; i < type->getNumElements(); i++)
      mask.push_back(b.getInt1(i < count));
   llvm::CallInst *load =
      b.CreateMaskedLoad(type, pointer, llvm::Align(1), llvm::ConstantVector::get(mask),
                         llvm::Constant::getNullValue(type));
   if (invariant)
      load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
   return load;
}

void Pieces::store(Value *v, Value *pointer)
{
   b.CreateAlignedStore(v, pointer, llvm::Align(1), is_volatile);
}

Value *Pieces::group_pointer(unsigned group)
{
   if (reach.fixed)
      return b.CreateConstGEP1_64(b.getInt8Ty(), pointer_to(t, region, t.first_lane(offsets)),
                                  uint64_t(reach.fixed->from_first[group * pattern().group]));
   return pointer_to(t, region, b.CreateExtractElement(offsets, uint64_t(group) * pattern().group));
}

void Pieces::require_assumed(const LaneAssumption &a, Conditions &conditions)
{
   conditions.require_zeros(t.first_lane(t.value(*a.def, a.component)), a.mask);
}

/// The cluster's first address.
Value *Pieces::cluster_offset()
{
   Value *offset = t.first_lane(offsets);
   return b.CreateSub(offset, llvm::ConstantInt::get(offset->getType(), decided.shift));
}

/// The addresses are as assumed, and every byte of every lane is in bounds, active or not.
void Pieces::require_regular(Conditions &conditions)
{
   if (decided.cluster) {
      // That all of it is in bounds also says that no address wraps around from the first one on.
      for (const LaneAssumption &assumption : decided.cluster->assumptions)
         require_assumed(assumption, conditions);
      conditions.require_in_bounds(region, cluster_offset(), decided.cluster->extent);
      return;
   }
   if (reach.fixed) {
      for (const uint32_t number : reach.fixed->assumptions)
         require_assumed(t.fixed_offsets->assumption(number), conditions);
   }
   const unsigned behind = chunks().empty() ? (loaded() - components) * bytes : 0;
   if (!region.size || !(check || t.mask || behind))
      return;
   if (groups() == 1 || reach.fixed) {
      conditions.require_in_bounds(region, t.first_lane(offsets), extent() + behind);
   } else {
      const Bound bound = bound_of(t, region, uint64_t(loaded()) * bytes);
      conditions.require(bound.any_fits);
      conditions.require(b.CreateNot(t.any(b.CreateICmpUGT(offsets, t.splat(bound.last)))));
   }
}

/// Shuffles of chunks are of 16 bits or more, and in one instruction with AVX-512 only.
bool Pieces::may_load_chunks() const
{
   const auto is_word = [](int64_t n) { return n % 2 == 0; };
   return reach.fixed && region.size && !is_volatile && bytes != 1 &&
          t.options.vector_bits == 8 * chunk_bytes &&
          std::ranges::all_of(reach.fixed->from_first, is_word);
}

/// Adds the chunks in which elements at these distances are.
void add_chunks(std::vector<bool> &used, llvm::ArrayRef<int64_t> from_first, uint64_t shift,
                unsigned element)
{
   for (const int64_t n : from_first) {
      const size_t first = (shift + uint64_t(n)) / chunk_bytes,
                   last = (shift + uint64_t(n) + element - 1) / chunk_bytes;
      if (used.size() <= last)
         used.resize(last + 1);
      std::fill(used.begin() + long(first), used.begin() + long(last) + 1, true);
   }
}

/// The vectors' worth of memory from lane 0's address on that are loaded whole, where these are fewer
/// loads than for pieces; else nothing.
std::vector<bool> Pieces::chunks() const
{
   if (!may_load_chunks())
      return {};
   std::vector<bool> used;
   add_chunks(used, reach.fixed->from_first, 0, element());
   return size_t(std::ranges::count(used, true)) < pieces() ? used : std::vector<bool>();
}

/// The part of a chunk that is not behind the extent; the rest is not touched.
Value *Pieces::load_chunk(Value *base, size_t chunk, uint64_t extent)
{
   auto *type = llvm::FixedVectorType::get(b.getInt16Ty(), chunk_bytes / 2);
   Value *pointer = b.CreateConstGEP1_64(b.getInt8Ty(), base, chunk * chunk_bytes);
   const uint64_t left = (extent - chunk * chunk_bytes) / 2;
   return left < type->getNumElements() ? load_beginning(type, pointer, left) : load(type, pointer);
}

/// The components, of the vectors' worth of memory that are not null.
Values Pieces::take_components(llvm::ArrayRef<Value *> chunks)
{
   // Of the largest numbers in which all that is taken is whole.
   unsigned unit = bytes;
   for (const int64_t from_first : reach.fixed->from_first) {
      const unsigned at = decided.shift + unsigned(from_first);
      unit = std::min(unit, at ? 1u << std::countr_zero(at) : unit);
   }
   const unsigned per_chunk = chunk_bytes / unit;
   auto *chunk_type = llvm::FixedVectorType::get(t.int_type(unit * 8), per_chunk);
   Values vectors;
   for (Value *chunk : chunks)
      vectors.push_back(chunk ? b.CreateBitCast(chunk, chunk_type) : nullptr);

   // All components of one register's lanes after the other, from all chunks that have a part of them.
   const unsigned units = t.W * bytes / unit, registers = DIV_ROUND_UP(units, per_chunk);
   std::vector<Values> parts(components);
   for (unsigned r = 0; r < registers; r++) {
      llvm::SmallVector<Elements, 4> wanted(components);
      for (unsigned c = 0; c < components; c++) {
         for (unsigned i = r * per_chunk; i < std::min(units, (r + 1) * per_chunk); i++) {
            const unsigned byte = i * unit, at = decided.shift +
                                                 unsigned(reach.fixed->from_first[byte / bytes]) +
                                                 c * bytes + byte % bytes;
            wanted[c].push_back({at / chunk_bytes, int(at % chunk_bytes / unit)});
         }
      }
      const Values taken = take_elements(t, vectors, wanted);
      for (unsigned c = 0; c < components; c++)
         parts[c].push_back(taken[c]);
   }
   Values result;
   for (unsigned c = 0; c < components; c++) {
      Value *all = concatenate(t, parts[c]);
      all = b.CreateBitCast(
         all, llvm::FixedVectorType::get(component_type(), registers * chunk_bytes / bytes));
      result.push_back(registers * per_chunk == units ? all : slice(all, 0, t.W));
   }
   return result;
}

/// A packed vector, register by register from memory, where what belongs to one is a run or two; else null.
Value *Pieces::load_registers(Value *base)
{
   const unsigned lanes = chunk_bytes / element(), half = lanes / 2;
   if (half == 0 || t.W < lanes)
      return nullptr;
   const std::vector<int64_t> &place = reach.fixed->from_first;
   for (unsigned l = 0; l + 1 < t.W; l++) {
      if ((l + 1) % half != 0 && place[l + 1] != place[l] + element())
         return nullptr;
   }
   const auto run = [&](unsigned lane, unsigned count) {
      Value *pointer =
         b.CreateConstGEP1_64(b.getInt8Ty(), base, decided.shift + uint64_t(place[lane]));
      return load(vector_type(count * components), pointer);
   };
   Values registers;
   for (unsigned l = 0; l < t.W; l += lanes) {
      const int64_t between = place[l + half] - place[l];
      if (between == int64_t(half * element())) {
         registers.push_back(run(l, lanes));
         continue;
      }
      Value *first = run(l, half), *second = between ? run(l + half, half) : first;
      Value *halves[] = {first, second};
      registers.push_back(concatenate(t, halves));
   }
   return concatenate(t, registers);
}

Values Pieces::load_chunks(const std::vector<bool> &chunks)
{
   LoadCluster alone;
   alone.extent = extent();
   LoadCluster &cluster = decided.cluster ? *decided.cluster : alone;
   std::vector<bool> used;
   add_chunks(used, reach.fixed->from_first, decided.shift, element());
   std::vector<Value *> &loaded = cluster.loaded;
   loaded.resize(chunks.size());
   if (!cluster.base)
      cluster.base =
         pointer_to(t, region, decided.cluster ? cluster_offset() : t.first_lane(offsets));
   for (size_t i = 0; i < used.size(); i++) {
      if (used[i] && !loaded[i])
         loaded[i] = load_chunk(cluster.base, i, cluster.extent);
   }
   const Values result = take_components(loaded);
   if (Value *all = packed ? load_registers(cluster.base) : nullptr) {
      for (unsigned c = 0; c < components; c++)
         t.packed_components[result[c]] = {all, c};
   }
   if (are_halves()) {
      Pieces words = *this;
      words.bytes *= 2;
      words.components /= 2;
      remember_words(result, words.take_components(loaded));
   }
   return result;
}

/// Shaders that load words by halves put them together again.
void Pieces::remember_words(llvm::ArrayRef<Value *> halves, llvm::ArrayRef<Value *> words)
{
   for (size_t c = 0; c < words.size(); c++)
      t.halves[{halves[2 * c], halves[2 * c + 1]}] = words[c];
}

/// The components of all lanes' elements, which follow each other.
Values Pieces::components_of(Value *all)
{
   const Values result = unpack(t, all, components);
   if (are_halves()) {
      Value *words =
         b.CreateBitCast(all, llvm::FixedVectorType::get(b.getInt32Ty(), t.W * components / 2));
      remember_words(result, unpack(t, words, components / 2));
   }
   return result;
}

/// One element for all lanes of each group.
Values Pieces::load_same()
{
   Values parts;
   for (unsigned g = 0; g < groups(); g++)
      parts.push_back(load(vector_type(loaded()), group_pointer(g)));
   if (parts.size() == 1 && components == 1)
      return {t.splat(parts[0])};
   // LLVM would insert less than a word once for each lane.
   constexpr unsigned word_bytes = 4;
   const unsigned spread = components == 1 && bytes < word_bytes ? word_bytes / bytes : 1;
   if (spread > 1) {
      for (Value *&part : parts)
         part = b.CreateZExt(part, b.getInt32Ty());
   }
   Value *all = b.CreateBitCast(concatenate(t, parts), vector_type(groups() * loaded() * spread));
   Values result;
   for (unsigned c = 0; c < components; c++) {
      llvm::SmallVector<int, 64> order;
      for (unsigned l = 0; l < t.W; l++)
         order.push_back(int(l / pattern().group * loaded() * spread + c));
      result.push_back(reorder(t, all, order));
   }
   return result;
}

/// Elements in steps.
Value *Pieces::load_regular()
{
   const bool touching = pattern().step == element();
   const unsigned group = pattern().group;
   Values parts;
   for (unsigned g = 0; g < groups(); g++) {
      Value *pointer = group_pointer(g);
      if (touching)
         parts.push_back(load(vector_type(components * group), pointer));
      else
         for (unsigned i = 0; i < group; i++)
            parts.push_back(
               load(vector_type(components),
                    b.CreateConstGEP1_64(b.getInt8Ty(), pointer, uint64_t(i) * pattern().step)));
   }
   return concatenate(t, parts);
}

void Pieces::call_lanewise(llvm::FunctionCallee function, const LanewiseAccess &access,
                           llvm::ArrayRef<Value *> more)
{
   llvm::SmallVector<Value *, 6> arguments = {access.region.base, access.region.size, access.active,
                                              access.offsets, access.data};
   arguments.append(more.begin(), more.end());
   // All registers stay as they are, so that what may never happen costs little code and no spills.
   b.CreateCall(function, arguments)
      ->addFnAttr(llvm::Attribute::get(t.context, "no_caller_saved_registers"));
}

/// lane_memory.h's.
void Pieces::call_runtime(bool stores, const LanewiseAccess &access)
{
   llvm::Type *pointer = b.getPtrTy(), *number = b.getInt64Ty();
   auto *type = llvm::FunctionType::get(
      b.getVoidTy(), {pointer, number, number, pointer, pointer, b.getInt32Ty()}, false);
   const LaneForm form = {uint8_t(components), uint8_t(bytes), uint8_t(is_address() ? 8 : 4)};
   call_lanewise(
      t.module->getOrInsertFunction(stores ? store_lanes_symbol : load_lanes_symbol, type), access,
      b.getInt32(form.packed()));
}

/// The module's function for accesses of this form that always go lane by lane.  It goes through the lanes in a
/// row if all that are active are in bounds.
llvm::Function *Pieces::lanewise_function(bool stores)
{
   const std::string name = llvm::formatv("{0}_lanes.{1}.{2}x{3}{4}", stores ? "store" : "load",
                                          offsets->getType()->getScalarSizeInBits(), components,
                                          bytes, is_volatile ? ".volatile" : "");
   if (llvm::Function *found = t.module->getFunction(name))
      return found;
   // It returns nothing: LLVM 19 takes RAX for preserved where that is the address of a result.
   llvm::Type *pointer = b.getPtrTy(), *number = b.getInt64Ty();
   auto *function = llvm::Function::Create(
      llvm::FunctionType::get(b.getVoidTy(), {pointer, number, number, pointer, pointer}, false),
      llvm::Function::InternalLinkage, name, *t.module);
   function->addFnAttr("no_caller_saved_registers");
   function->addFnAttr(llvm::Attribute::NoInline);

   llvm::IRBuilder<>::InsertPointGuard guard(b);
   b.SetInsertPoint(llvm::BasicBlock::Create(t.context, "", function));
   LanewiseAccess access = {{function->getArg(0), function->getArg(1)},
                            function->getArg(2),
                            function->getArg(3),
                            function->getArg(4)};
   Value *active = b.CreateTrunc(access.active, t.int_type(t.W));
   Value *all_offsets = b.CreateLoad(offsets->getType(), access.offsets);
   if (!is_address()) {
      Value *fits = lanes_in_bounds(t, access.region, all_offsets, element());
      auto *inside = llvm::BasicBlock::Create(t.context, "inside", function),
           *outside = llvm::BasicBlock::Create(t.context, "outside", function);
      Value *outlying = b.CreateAnd(active, t.bits_of(b.CreateNot(fits)));
      b.CreateCondBr(b.CreateIsNull(outlying), inside, outside);
      b.SetInsertPoint(outside);
      call_runtime(stores, access);
      b.CreateRetVoid();
      b.SetInsertPoint(inside);
   } else {
      access.region.base = nullptr;
   }
   if (!is_volatile)
      access_row(stores, access, active, all_offsets);
   if (stores)
      scatter(access);
   else
      gather(access, b.CreateSelect(t.lanes_of(active), all_offsets, harmless_offsets()));
   b.CreateRetVoid();
   return function;
}

/// Whether vector code is the rule, so that code of the module's own would be a waste.  Indices in shared memory run
/// around rings, as in s[(l + k) & 255], where what vector code assumes seldom holds.
bool Pieces::is_exception(bool stores) const
{
   if (!(stores ? is_stored_in_pieces() : regular()))
      return false;
   const bool in_shared_memory = region.size && llvm::isa<llvm::ConstantInt>(region.size);
   return !(in_shared_memory && reach.fixed && !reach.fixed->assumptions.empty());
}

void Pieces::access_lanewise(bool stores, Value *data)
{
   // What only this needs is not computed before it is known to be taken.
   Value *all_offsets = reach.fixed ? ComputeAgain(b)(offsets) : offsets,
         *memory = t.lane_offsets(offsets->getType());
   b.CreateStore(all_offsets, memory);
   const LanewiseAccess access = {
      {region.base ? region.base : llvm::ConstantPointerNull::get(b.getPtrTy()),
       region.size ? region.size : b.getInt64(unlimited)},
      b.CreateZExt(t.bits_of(t.mask_or_ones()), b.getInt64Ty()),
      memory,
      data};
   if (is_exception(stores))
      call_runtime(stores, access);
   else
      call_lanewise(lanewise_function(stores), access);
}

Value *Pieces::load_lanewise()
{
   Value *data = t.lane_data(packed_type());
   access_lanewise(false, data);
   return b.CreateLoad(packed_type(), data);
}

void Pieces::store_lanewise(Value *all)
{
   Value *data = t.lane_data(packed_type());
   b.CreateStore(all, data);
   access_lanewise(true, data);
}

/// For lanes that are not active: the first bytes are there if any active lane's are.
Value *Pieces::harmless_offsets()
{
   return is_address() ? t.splat(b.CreatePtrToInt(harmless_memory(t, false), b.getInt64Ty()))
                       : llvm::Constant::getNullValue(offsets->getType());
}

/// By the offsets that lie at `all_offsets`.
Value *Pieces::lane_pointer(const LanewiseAccess &access, Value *all_offsets, Value *lane)
{
   llvm::Type *type = offsets->getType()->getScalarType();
   return pointer_to(t, access.region, b.CreateLoad(type, b.CreateGEP(type, all_offsets, lane)));
}

/// A loop over all lanes, a few at once: code for each would take longer to compile than most shaders' own.
template <typename Use>
void Pieces::for_each_lane(Use use)
{
   constexpr unsigned at_once = 8; // the smallest subgroup
   llvm::BasicBlock *before = b.GetInsertBlock();
   llvm::Function *function = before->getParent();
   auto *loop = llvm::BasicBlock::Create(t.context, "lanes", function),
        *after = llvm::BasicBlock::Create(t.context, "after", function);
   b.CreateBr(loop);
   b.SetInsertPoint(loop);
   llvm::PHINode *first = b.CreatePHI(b.getInt64Ty(), 2);
   first->addIncoming(b.getInt64(0), before);
   for (unsigned i = 0; i < at_once; i++)
      use(b.CreateNUWAdd(first, b.getInt64(i)));
   Value *next = b.CreateNUWAdd(first, b.getInt64(at_once));
   first->addIncoming(next, loop);
   b.CreateCondBr(b.CreateICmpULT(next, b.getInt64(t.W)), loop, after);
   b.SetInsertPoint(after);
}

/// Where a lane's own element lies.
Value *Pieces::lane_element(const LanewiseAccess &access, Value *lane)
{
   return b.CreateGEP(b.getInt8Ty(), access.data, b.CreateNUWMul(lane, b.getInt64(element())));
}

/// What inactive lanes get is any.
void Pieces::gather(const LanewiseAccess &access, Value *safe_offsets)
{
   Value *safe = t.variable(offsets->getType());
   b.CreateStore(safe_offsets, safe);
   for_each_lane([&](Value *lane) {
      // Not by load(): not all loads of the form are invariant.
      Value *loaded = b.CreateAlignedLoad(vector_type(components), lane_pointer(access, safe, lane),
                                          llvm::Align(1), is_volatile);
      b.CreateAlignedStore(loaded, lane_element(access, lane), llvm::Align(1));
   });
}

/// From active lane to active lane: with a look at each lane's bit, branches would be mispredicted.
void Pieces::scatter(const LanewiseAccess &access)
{
   llvm::BasicBlock *before = b.GetInsertBlock();
   llvm::Function *function = before->getParent();
   auto *loop = llvm::BasicBlock::Create(t.context, "active", function),
        *after = llvm::BasicBlock::Create(t.context, "after", function);
   b.CreateCondBr(b.CreateIsNull(access.active), after, loop);
   b.SetInsertPoint(loop);
   llvm::PHINode *active = b.CreatePHI(b.getInt64Ty(), 2);
   active->addIncoming(access.active, before);
   Value *lane = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, active, b.getTrue());
   store(b.CreateAlignedLoad(vector_type(components), lane_element(access, lane), llvm::Align(1)),
         lane_pointer(access, access.offsets, lane));
   Value *rest = b.CreateAnd(active, b.CreateSub(active, b.getInt64(1)));
   active->addIncoming(rest, loop);
   b.CreateCondBr(b.CreateIsNull(rest), after, loop);
   b.SetInsertPoint(after);
}

/// If the active lanes lie in a row after all, as they do where addresses are divided by run-time values: accesses them
/// as one run and returns.  The code after it is for all others.
void Pieces::access_row(bool stores, const LanewiseAccess &access, Value *active,
                        Value *all_offsets)
{
   Pieces row = *this;
   row.region = access.region;
   row.reach = {{t.W, int64_t(element())}};
   row.check = row.invariant = false;
   row.ahead = nullptr;
   const bool masked = row.has_masked_runs();

   llvm::Type *type = offsets->getType()->getScalarType();
   Value *first = b.CreateBinaryIntrinsic(llvm::Intrinsic::cttz, access.active, b.getFalse());
   first = b.CreateAnd(first, b.getInt64(t.W - 1)); // any, if none is active
   Value *distance = b.CreateMul(first, b.getInt64(element()));
   Value *begin = b.CreateSub(b.CreateLoad(type, b.CreateGEP(type, access.offsets, first)),
                              b.CreateTrunc(distance, type));
   llvm::SmallVector<llvm::Constant *, 64> steps;
   for (unsigned l = 0; l < t.W; l++)
      steps.push_back(llvm::ConstantInt::get(type, uint64_t(l) * element()));
   row.offsets = b.CreateAdd(t.splat(begin), llvm::ConstantVector::get(steps));
   Value *apart = t.bits_of(b.CreateICmpNE(all_offsets, row.offsets));
   apart = masked ? b.CreateAnd(active, apart) : b.CreateOr(b.CreateNot(active), apart);

   llvm::Function *function = b.GetInsertBlock()->getParent();
   auto *together_block = llvm::BasicBlock::Create(t.context, "row", function),
        *apart_block = llvm::BasicBlock::Create(t.context, "apart", function);
   b.CreateCondBr(b.CreateIsNull(apart), together_block, apart_block);
   b.SetInsertPoint(together_block);
   if (stores) {
      Value *all = b.CreateAlignedLoad(packed_type(), access.data, llvm::Align(1));
      masked ? row.store_masked(all, t.lanes_of(active)) : row.store_regular(all);
   } else {
      b.CreateAlignedStore(masked ? row.load_masked(t.lanes_of(active)) : row.load_regular(),
                           access.data, llvm::Align(1));
   }
   b.CreateRetVoid();
   b.SetInsertPoint(apart_block);
}

namespace {

/// The values of `fast`, behind a branch to the slow way unless `condition` is null.
template <typename Fast, typename Slow>
Values choose(Translator &t, Value *condition, Fast fast, Slow slow)
{
   if (!condition)
      return fast();
   llvm::IRBuilder<> &b = t.b;
   llvm::BasicBlock *fast_block = t.block("pieces"), *slow_block = t.block("lanewise"),
                    *join = t.block("joined");
   b.CreateCondBr(condition, fast_block, slow_block,
                  llvm::MDBuilder(t.context).createBranchWeights(1000, 1));
   b.SetInsertPoint(slow_block);
   const Values slow_values = slow();
   slow_block = b.GetInsertBlock();
   b.CreateBr(join);
   b.SetInsertPoint(fast_block);
   const Values fast_values = fast();
   fast_block = b.GetInsertBlock();
   b.CreateBr(join);
   b.SetInsertPoint(join);
   Values values;
   for (unsigned i = 0; i < fast_values.size(); i++) {
      llvm::PHINode *phi = b.CreatePHI(fast_values[i]->getType(), 2);
      phi->addIncoming(fast_values[i], fast_block);
      phi->addIncoming(slow_values[i], slow_block);
      values.push_back(phi);
   }
   return values;
}

} // namespace

/// Part of a packed vector: a scalar if count is 1.
Value *Pieces::slice(Value *all, unsigned first, unsigned count)
{
   if (count == 1)
      return b.CreateExtractElement(all, uint64_t(first));
   llvm::SmallVector<int, 256> part;
   for (unsigned i = 0; i < count; i++)
      part.push_back(int(first + i));
   return reorder(t, all, part);
}

/// Runs of a vector or more have instructions that access memory under a mask: of words, with AVX-512 also of
/// less.
bool Pieces::has_masked_runs() const
{
   return pattern().step == element() && pattern().group * element() >= 16 && !is_volatile &&
          (element() % 4 == 0 || t.options.vector_bits == 512);
}

bool Pieces::has_masked_instructions() const
{
   return t.mask && has_masked_runs();
}

/// Whether that is all that is needed: a mask tells of lanes, of which some may be partly in bounds.
bool Pieces::may_be_masked() const
{
   return has_masked_instructions() && !reach.fixed && !(check && components > 1);
}

Value *Pieces::active_in_bounds()
{
   return check && region.size ? b.CreateAnd(t.mask, lanes_in_bounds(t, region, offsets, element()))
                               : t.mask;
}

/// Where lane 0 of a group would be, which need not be in memory: offsets of lanes that are not active may lie
/// below the first byte, modulo 2^32.  No region is so large that they could be in it (limits::lane_reach).
Value *Pieces::masked_group_pointer(unsigned group)
{
   Value *offset = b.CreateExtractElement(offsets, uint64_t(group) * pattern().group);
   if (!region.base)
      return pointer_to(t, region, offset);
   Value *below = llvm::ConstantInt::get(offset->getType(), extent() - element());
   offset = b.CreateSub(b.CreateZExt(b.CreateAdd(offset, below), b.getInt64Ty()),
                        b.CreateZExt(below, b.getInt64Ty()));
   return b.CreateGEP(b.getInt8Ty(), region.base, offset);
}

/// Calls use(pointer, type, mask, first) for the groups' vectors, of the largest numbers that an element consists
/// of: the mask has the fewest bits then.
template <typename Use>
void Pieces::for_each_masked_group(Value *mask, Use use)
{
   const unsigned unit = std::min(8u, 1u << std::countr_zero(element())),
                  per_lane = element() / unit, per_group = pattern().group * per_lane;
   llvm::SmallVector<int, 256> lane_of_unit;
   for (unsigned i = 0; i < t.W * per_lane; i++)
      lane_of_unit.push_back(int(i / per_lane));
   mask = reorder(t, mask, lane_of_unit);
   auto *type = llvm::FixedVectorType::get(t.int_type(8 * unit), per_group);
   for (unsigned g = 0; g < groups(); g++)
      use(masked_group_pointer(g), type, slice(mask, g * per_group, per_group), g * per_group);
}

/// Lanes outside of the mask get zero.
Value *Pieces::load_masked(Value *mask)
{
   Values parts;
   for_each_masked_group(mask, [&](Value *pointer, llvm::FixedVectorType *type, Value *units,
                                   unsigned) {
      llvm::CallInst *load = b.CreateMaskedLoad(type, pointer, llvm::Align(1), units,
                                                llvm::Constant::getNullValue(type));
      if (invariant)
         load->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(t.context, {}));
      if (ahead)
         prefetch(type, pointer);
      parts.push_back(load);
   });
   return b.CreateBitCast(concatenate(t, parts), packed_type());
}

/// As store_regular(), for the lanes of the mask only.
void Pieces::store_masked(Value *all, Value *mask)
{
   for_each_masked_group(
      mask, [&](Value *pointer, llvm::FixedVectorType *type, Value *lanes, unsigned first) {
         Value *units =
            b.CreateBitCast(all, llvm::FixedVectorType::get(type->getElementType(),
                                                            type->getNumElements() * groups()));
         b.CreateMaskedStore(slice(units, first, type->getNumElements()), pointer, llvm::Align(1),
                             lanes);
      });
}

void Pieces::store_regular(Value *all)
{
   const unsigned group = pattern().group;
   for (unsigned g = 0; g < groups(); g++) {
      Value *pointer = group_pointer(g);
      if (pattern().step == element()) {
         store(slice(all, g * group * components, group * components), pointer);
         continue;
      }
      for (unsigned i = 0; i < group; i++)
         store(slice(all, (g * group + i) * components, components),
               b.CreateConstGEP1_64(b.getInt8Ty(), pointer, uint64_t(i) * pattern().step));
   }
}

Reach reach_of(Translator &t, const LanePattern &pattern, const LaneOffsets &fixed,
               unsigned element)
{
   // What reaches farther is no access to a few lines of memory.
   constexpr int64_t max_distance = 4096;
   if (pattern.group == t.W || fixed.from_first.empty() ||
       std::ranges::any_of(fixed.from_first, [](int64_t n) { return n < 0 || n > max_distance; }))
      return {pattern};
   // The largest groups in which they run in steps.
   for (uint32_t group = t.W; group > 1; group /= 2) {
      const int64_t step = fixed.from_first[1] - fixed.from_first[0];
      bool runs = step >= 0;
      for (uint32_t l = 0; runs && l + 1 < t.W; l++)
         runs = (l + 1) % group == 0 || fixed.from_first[l + 1] - fixed.from_first[l] == step;
      if (runs)
         return {{group, step}, &fixed};
   }
   return {{1, element}, &fixed};
}

Reach reach_of(Translator &t, const nir_src &offset, unsigned element)
{
   return reach_of(t, t.patterns->pattern(offset), t.fixed_offsets->offsets(offset), element);
}

/// load_regular() and its like may be used.
void Pieces::require_load(Conditions &conditions)
{
   require_regular(conditions);
   if (!region.size && t.mask)
      conditions.require(are_all(t, t.mask));
}

Values load_pieces(Pieces p, Way way)
{
   Translator &t = p.t;
   p.count();
   if (p.may_be_masked())
      return unpack(t, p.load_masked(p.active_in_bounds()), p.components);
   const auto lanewise = [&] { return unpack(t, p.load_lanewise(), p.components); };
   if (way == Way::lanewise || !p.regular())
      return lanewise();
   const std::vector<bool> chunks = p.decided.cluster ? p.decided.cluster->chunks : p.chunks();
   Conditions conditions(t);
   if (way != Way::regular)
      p.require_load(conditions);
   if (!chunks.empty() || p.pattern().step == 0)
      return choose(
         t, conditions.all(),
         [&] { return chunks.empty() ? p.load_same() : p.load_chunks(chunks); }, lanewise);
   const Values all = choose(
      t, conditions.all(), [&] { return Values{p.load_regular()}; },
      [&] { return Values{p.load_lanewise()}; });
   return p.components_of(all[0]);
}

namespace {

/// AVX2's masked stores take AMD's CPUs many times as long as others (a stencil whose edges are masked: 95 ms on Zen 3,
/// and 26 with this branch): none is used where all lanes are active.
void store_active(Pieces &p, Value *all, Value *mask)
{
   const auto store_masked = [&] {
      p.store_masked(all, mask);
      return Values{};
   };
   const auto store_all = [&] {
      p.store_regular(all);
      return Values{};
   };
   if (p.t.options.vector_bits == 512)
      store_masked();
   else
      choose(p.t, are_all(p.t, mask), store_all, store_masked);
}

} // namespace

void store_pieces(Pieces p, const Values &data)
{
   Translator &t = p.t;
   p.count();
   Value *all = pack(t, data);
   if (!p.is_stored_in_pieces()) {
      p.store_lanewise(all);
      return;
   }
   if (p.may_be_masked())
      return store_active(p, all, p.active_in_bounds());
   Conditions conditions(t);
   p.require_regular(conditions);
   const bool masked = p.has_masked_instructions();
   if (t.mask && !masked)
      conditions.require(are_all(t, t.mask));
   const auto fast = [&] {
      if (masked)
         store_active(p, all, t.mask);
      else
         p.store_regular(all);
      return Values{};
   };
   const auto slow = [&] {
      p.store_lanewise(all);
      return Values{};
   };
   choose(t, conditions.all(), fast, slow);
}

} // namespace weft::cpu
