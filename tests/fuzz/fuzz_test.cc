// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// The interpreter's rules and results; programs that are printed and that shrink.

#include "tests/e2e/glsl.h"
#include "tests/fuzz/generate.h"
#include "tests/fuzz/numbers.h"
#include "tests/fuzz/print.h"
#include "tests/fuzz/shrink.h"
#include "tests/fuzz/test_operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace weft::fuzz {
namespace {

Expr literal(uint32_t value)
{
   Expr e;
   e.number = value;
   return e;
}

Expr own_index()
{
   Expr e;
   e.op = Op::builtin;
   e.number = int64_t(Builtin::local_index);
   return e;
}

Expr sum(Expr x, Expr y)
{
   return {Op::binary, Type::u32, uint8_t(Binary::add), 0, 0, {std::move(x), std::move(y)}};
}

Memory memory(Storage storage, uint32_t elements)
{
   Memory m;
   m.storage = storage;
   m.elements = elements;
   m.unit = "uint32_t";
   m.unit_bytes = 4;
   return m;
}

/// Two subgroups. Each invocation writes its place in shared memory (memory 1) and copies the next
/// invocation's place to the output (memory 0).
Program exchange(bool with_barrier)
{
   Program p;
   p.subgroup_size = 8;
   p.subgroups = 2;
   p.memories = {memory(Storage::buffer, 16), memory(Storage::shared, 16)};
   p.functions.resize(1);
   std::vector<Stmt> &body = p.functions[0].body;
   body.push_back({Kind::store, 0, 1, {own_index(), sum(own_index(), literal(100))}, {}, {}, {}});
   if (with_barrier)
      body.push_back({Kind::barrier, 0, 0, {}, {}, {}, {}});
   Expr next = {Op::binary, Type::u32, uint8_t(Binary::bit_and), 0, 0, {}};
   next.args = {sum(own_index(), literal(1)), literal(15)};
   Expr loaded = {Op::load, Type::u32, 0, 1, 0, {next}};
   body.push_back({Kind::store, 0, 0, {own_index(), loaded}, {}, {}, {}});
   return p;
}

TEST(Interpreter, SeesAMissingBarrier)
{
   const auto result = interpret(exchange(true));
   const auto *expected = std::get_if<Expected>(&result);
   ASSERT_TRUE(expected) << std::get<Invalid>(result).why;
   for (int64_t i = 0; i < 16; i++) {
      EXPECT_TRUE((*expected)[0][size_t(i)].written);
      EXPECT_EQ((*expected)[0][size_t(i)].number.i, (i + 1) % 16 + 100);
   }
   const auto racing = interpret(exchange(false));
   ASSERT_TRUE(std::holds_alternative<Invalid>(racing));
}

TEST(Interpreter, RefusesWhatIsNotDefined)
{
   const auto refusal = [](const auto &edit) {
      Program p = exchange(true);
      edit(p);
      const auto result = interpret(p);
      return std::holds_alternative<Invalid>(result) ? std::get<Invalid>(result).why : "";
   };
   EXPECT_EQ(refusal([](Program &) {}), "");
   EXPECT_EQ(refusal([](Program &p) { p.memories[0].elements = 15; }),
             "a write outside of a memory");
   EXPECT_EQ(refusal([](Program &p) { p.functions[0].body.erase(p.functions[0].body.begin()); }),
             "a read of what is not written");
   EXPECT_EQ(refusal([](Program &p) { p.functions[0].body[0].exprs[0] = literal(3); }),
             "two writes race");
   EXPECT_EQ(refusal([](Program &p) {
                const Expr condition = {Op::vote, Type::boolean, uint8_t(Vote::elect), 0, 0, {}};
                const Stmt barrier = p.functions[0].body[1];
                p.functions[0].body[1] = {Kind::branch, 0, 0, {condition}, {}, {barrier}, {}};
             }),
             "a barrier that a part of the workgroup reaches");
   EXPECT_EQ(refusal([](Program &p) {
                Expr shuffle = {Op::shuffle, Type::u32, uint8_t(Shuffle::up), 1, 0, {literal(7)}};
                p.functions[0].body[0].exprs[1] = shuffle;
             }),
             "an undefined value is used");
}

TEST(Interpreter, RefusesAMatrixWithoutAValue)
{
   Program p;
   p.subgroup_size = 8;
   p.memories = {memory(Storage::buffer, 64)};
   p.functions.resize(1);
   p.functions[0].variables.resize(2);
   for (Variable &v : p.functions[0].variables)
      v.matrix = {ComponentType::u32, 8, 8, e2e::Use::accumulator};
   p.functions[0].variables[1].unset = true;
   const Place zero = {0, {}}, unset = {1, {}};
   const Stmt copy = {Kind::matrix_copy, 0, 0, {}, {unset, zero}, {}, {}};
   const Stmt store = {Kind::matrix_store, 0, 0, {literal(0), literal(8)}, {unset}, {}, {}};
   p.functions[0].body = {store};
   const auto refused = interpret(p);
   ASSERT_TRUE(std::holds_alternative<Invalid>(refused));
   EXPECT_EQ(std::get<Invalid>(refused).why, "a matrix that has no value yet");
   p.functions[0].body = {copy, store};
   EXPECT_TRUE(std::holds_alternative<Expected>(interpret(p)));
}

/// A matrix of zeros loads one row of a tensor of two, clipped to the first columns, and stores it.
TEST(Interpreter, LoadsThroughAView)
{
   Program p;
   p.subgroup_size = 8;
   p.memories = {memory(Storage::buffer, 16), memory(Storage::buffer, 64)};
   p.memories[0].contents = Contents::small;
   p.functions.resize(1);
   p.functions[0].variables.resize(1);
   p.functions[0].variables[0].matrix = {ComponentType::u32, 8, 8, e2e::Use::accumulator};
   Tensor t = {oracle::TensorLayout(2, oracle::Clamp::constant),
               oracle::TensorView(2, false, {0, 1})};
   t.layout.set_dimension({2, 8});
   t.layout.slice({1, 0}, {8, 8});
   t.layout.clamp_value = 7;
   t.view->clip_col_span = 4;
   Stmt load = {Kind::tensor_load, 0, 0, {literal(0)}, {{0, {}}}, {}, {}};
   load.tensor = t;
   const Stmt store = {Kind::matrix_store, 0, 1, {literal(0), literal(8)}, {{0, {}}}, {}, {}};
   p.functions[0].body = {load, store};
   const auto result = interpret(p);
   const auto *expected = std::get_if<Expected>(&result);
   ASSERT_TRUE(expected) << std::get<Invalid>(result).why;
   const std::vector<Cell> &input = (*expected)[0], &output = (*expected)[1];
   // Rows of the clip region have four elements, two of which belong to the tensor.
   for (size_t row = 0; row < 8; row++) {
      for (size_t col = 0; col < 8; col++) {
         const size_t index = row * 4 + col;
         const int64_t value = col >= 4 ? 0 : index < 8 ? input[8 + index].number.i : 7;
         EXPECT_EQ(output[row * 8 + col].number.i, value) << row << ", " << col;
      }
   }
   p.functions[0].body[0].tensor->layout.clamp = oracle::Clamp::undefined;
   EXPECT_TRUE(std::holds_alternative<Invalid>(interpret(p)));
}

TEST(Numbers, OnlyExactFloats)
{
   EXPECT_TRUE(convert(Type::bf16, Type::f32, {0, 255}));
   EXPECT_FALSE(convert(Type::bf16, Type::f32, {0, 257}));
   EXPECT_TRUE(convert(Type::e4m3, Type::f32, {0, 448}));
   EXPECT_FALSE(convert(Type::e4m3, Type::f32, {0, 480})); // NaN
   EXPECT_FALSE(convert(Type::e5m2, Type::f32, {0, 9}));
   EXPECT_TRUE(binary(Binary::add, Type::f16, {0, 2047}, {0, 1}));
   EXPECT_FALSE(binary(Binary::add, Type::f16, {0, 2047}, {0, 2}));
   // Compilers may compute 1 + (x - x) as (1 + x) - x.
   const auto sum_with_difference = [](double x) {
      return binary(Binary::add, Type::f16, {0, 1},
                    *binary(Binary::sub, Type::f16, {0, x}, {0, x}));
   };
   EXPECT_EQ(sum_with_difference(15)->f, 1);
   EXPECT_FALSE(sum_with_difference(1023.5));
   EXPECT_FALSE(binary(Binary::mul, Type::f16, {0, 1025}, *sum_with_difference(15)));
   EXPECT_FALSE(binary(Binary::div, Type::f32, {0, 6}, {0, 3}));
   EXPECT_EQ(binary(Binary::div, Type::f32, {0, 6}, {0, -4})->f, -1.5);
   EXPECT_TRUE(exact_in_any_order(Type::f16, 0.5, 1023));
   EXPECT_FALSE(exact_in_any_order(Type::f16, 0.5, 1025));
   EXPECT_FALSE(convert(Type::u8, Type::f32, {0, -1}));
   EXPECT_EQ(convert(Type::u8, Type::s32, {-1})->i, 255);
   EXPECT_FALSE(binary(Binary::div, Type::s8, {-128}, {-1}));
   EXPECT_EQ(binary(Binary::shift_right, Type::s8, {-128}, {3})->i, -16);
   EXPECT_EQ(binary(Binary::less, Type::u64, {1}, {-1})->i, 1);
}

/// Sixteen invocations of two subgroups operate on three places. Some results depend on the order.
TEST(Interpreter, LetsAtomicsComeInAnyOrder)
{
   Program p;
   p.subgroup_size = 8;
   p.subgroups = 2;
   p.memories = {memory(Storage::buffer, 18), memory(Storage::buffer, 16)};
   p.memories[0].atomic = true;
   p.memories[0].contents = Contents::tiny;
   p.functions.resize(1);
   p.functions[0].variables.resize(1);
   const auto interpreted = [&](Atomic op, std::vector<Expr> exprs) {
      p.functions[0].body = {{Kind::atomic, uint8_t(op), 0, std::move(exprs), {}, {}, {}}};
      return interpret(p);
   };
   const auto cell = [&](const std::variant<Expected, Invalid> &result, size_t element) {
      const auto *expected = std::get_if<Expected>(&result);
      EXPECT_TRUE(expected) << std::get<Invalid>(result).why;
      return expected ? (*expected)[0][element].number.i : -1;
   };
   const auto is_refused = [](const std::variant<Expected, Invalid> &result) {
      const auto *invalid = std::get_if<Invalid>(&result);
      return invalid && invalid->why == "the order of atomics matters";
   };
   const std::vector<std::byte> before = initial_bytes(p.memories[0]);
   const auto at_first = [&](size_t i) { return decode(Type::u32, &before[i * 4]).i; };
   Expr result = {Op::variable, Type::u32, 0, 0, 0, {}};
   EXPECT_EQ(cell(interpreted(Atomic::add, {literal(1), own_index()}), 1), at_first(1) + 120);
   EXPECT_EQ(cell(interpreted(Atomic::max, {literal(1), own_index()}), 1), 15);
   EXPECT_EQ(cell(interpreted(Atomic::exchange, {literal(2), literal(9)}), 2), 9);
   EXPECT_EQ(cell(interpreted(Atomic::compare_exchange,
                              {literal(2), literal(9), literal(uint32_t(at_first(2)))}),
                  2),
             9);
   EXPECT_EQ(cell(interpreted(Atomic::compare_exchange, {literal(2), literal(9), literal(77)}), 2),
             at_first(2));
   // The counter takes each element of the ring once, and the first ones a second time.
   const auto appended = interpreted(Atomic::append, {literal(0), literal(5)});
   EXPECT_EQ(cell(appended, 0), at_first(0) + 16);
   for (size_t i = 1; i <= ring; i++)
      EXPECT_EQ(cell(appended, i),
                at_first(i) + ((i - 1 + ring - at_first(0)) % ring < 16 - ring ? 10 : 5));
   EXPECT_EQ(cell(appended, ring + 1), at_first(ring + 1));

   EXPECT_TRUE(is_refused(interpreted(Atomic::exchange, {literal(1), own_index()})));
   EXPECT_TRUE(is_refused(interpreted(Atomic::append, {literal(0), own_index()})));
   EXPECT_TRUE(is_refused(interpreted(Atomic::add, {literal(1), own_index(), result})));
   EXPECT_EQ(cell(interpreted(Atomic::add, {own_index(), literal(3), result}), 4), at_first(4) + 3);
   // Two atomics, with or without a barrier between them.
   const Stmt add = {Kind::atomic, uint8_t(Atomic::add), 0, {literal(1), literal(1)}, {}, {}, {}},
              max = {Kind::atomic, uint8_t(Atomic::max), 0, {literal(1), literal(8)}, {}, {}, {}},
              barrier = {Kind::barrier, 0, 0, {}, {}, {}, {}};
   p.functions[0].body = {max, barrier, add};
   EXPECT_EQ(cell(interpret(p), 1), 24);
   p.functions[0].body = {max, add};
   EXPECT_TRUE(is_refused(interpret(p)));
   p.workgroups = 2;
   p.functions[0].body = {max, barrier, add};
   EXPECT_TRUE(is_refused(interpret(p)));
}

TEST(Interpreter, TurnsRowsByWhatTheirInvocationsSay)
{
   Program p;
   p.subgroup_size = 8;
   p.memories = {memory(Storage::buffer, 64), memory(Storage::buffer, 64)};
   p.memories[0].contents = Contents::any;
   p.functions.resize(1);
   p.functions[0].variables.resize(1);
   p.functions[0].variables[0].matrix = {ComponentType::u32, 8, 8, e2e::Use::accumulator};
   const Place m = {0, {}};
   const Stmt load = {Kind::matrix_load, 0, 0, {literal(0), literal(8)}, {m}, {}, {}},
              turn = {Kind::matrix_turn, 0, 0, {own_index()}, {m, m}, {}, {}},
              store = {Kind::matrix_store, 0, 1, {literal(0), literal(8)}, {m}, {}, {}};
   p.functions[0].body = {load, turn, store};
   const auto result = interpret(p);
   const auto *expected = std::get_if<Expected>(&result);
   ASSERT_TRUE(expected) << std::get<Invalid>(result).why;
   for (size_t row = 0; row < 8; row++) {
      for (size_t col = 0; col < 8; col++)
         EXPECT_EQ((*expected)[1][row * 8 + col].number.i,
                   (*expected)[0][row * 8 + (col + row) % 8].number.i);
   }
   p.functions[0].variables[0].matrix->rows = 16;
   EXPECT_TRUE(std::holds_alternative<Invalid>(interpret(p)));
}

/// Blocks of bytes, interleaved by rows or by words.
TEST(Interpreter, LoadsInterleavedBlocks)
{
   Program p;
   p.subgroup_size = 8;
   p.memories = {memory(Storage::buffer, 128), memory(Storage::buffer, 128)};
   p.memories[0].contents = Contents::any;
   for (Memory &m : p.memories) {
      m.type = Type::u8;
      m.unit = "uint8_t";
      m.unit_bytes = 1;
   }
   p.functions.resize(1);
   p.functions[0].variables.resize(1);
   p.functions[0].variables[0].matrix = {ComponentType::u8, 4, 32, e2e::Use::accumulator};
   const auto blocks = uint8_t(Order::row_blocks);
   for (const uint32_t interleaved : {1u, 2u}) {
      const Stmt load = {Kind::matrix_load, blocks, 0, {literal(0), literal(interleaved)},
                         {{0, {}}},         {},     {}};
      const Stmt store = {Kind::matrix_store, 0, 1, {literal(0), literal(32)}, {{0, {}}}, {}, {}};
      p.functions[0].body = {load, store};
      const auto result = interpret(p);
      const auto *expected = std::get_if<Expected>(&result);
      ASSERT_TRUE(expected) << std::get<Invalid>(result).why;
      const std::vector<Cell> &input = (*expected)[0], &output = (*expected)[1];
      for (size_t row = 0; row < 4; row++) {
         for (size_t col = 0; col < 32; col++) {
            const size_t block = col / 16, word = row * 4 + col % 16 / 4;
            const size_t at = interleaved == 1 ? block * 64 + word * 4 : word * 8 + block * 4;
            EXPECT_EQ(output[row * 32 + col].number.i, input[at + col % 4].number.i)
               << row << ", " << col;
         }
      }
   }
}

/// glslang has 16 bits in place of 64, and the module the whole number.
TEST(Print, SaysWideLiteralsBesideMatricesOf64Bits)
{
   constexpr uint64_t number = 0x123456789abcdef0;
   Program p;
   p.subgroup_size = 8;
   p.memories = {memory(Storage::buffer, 64)};
   p.memories[0].type = Type::u64;
   p.memories[0].unit = "uint64_t";
   p.memories[0].unit_bytes = 8;
   p.functions.resize(1);
   p.functions[0].variables.resize(1);
   p.functions[0].variables[0].type = Type::u64;
   p.functions[0].variables[0].matrix = {ComponentType::u64, 8, 8, e2e::Use::accumulator};
   Expr value = literal(0);
   value.type = Type::u64;
   value.number = int64_t(number);
   p.functions[0].body = {{Kind::matrix_fill, 0, 0, {value}, {{0, {}}}, {}, {}},
                          {Kind::matrix_store, 0, 0, {literal(0), literal(8)}, {{0, {}}}, {}, {}}};
   const std::vector<uint32_t> spirv = to_spirv(p);
   const auto has = [&](std::initializer_list<uint32_t> words) {
      return !std::ranges::search(spirv, words).empty();
   };
   for (uint32_t shift = 0; shift < 64; shift += 16)
      EXPECT_TRUE(has({uint32_t(number >> shift & 0xffff), 0})) << to_glsl(p);
}

TEST(Shrink, LeavesWhatFails)
{
   const auto multiplies = [](const Program &p) {
      bool found = false;
      for_each_stmt(p.functions[0].body,
                    [&](const Stmt &s) { found |= s.kind == Kind::matrix_muladd; });
      return found;
   };
   uint32_t shrunk = 0;
   for (uint64_t seed = 1; shrunk < 3; seed++) {
      const Program program = generate(seed, operations, true).program;
      if (!multiplies(program))
         continue;
      const Program small = shrink(
         program, [&](const Program &p, const Expected &) { return multiplies(p); },
         std::chrono::seconds(100));
      EXPECT_TRUE(multiplies(small));
      EXPECT_EQ(size(small).statements, 1u) << to_glsl(small);
      shrunk++;
   }
}

TEST(Print, DeclaresWhatIsComputed)
{
   Stmt store = {Kind::store};
   Expr half = {Op::load, Type::f16, 0, 0, 0, {literal(1)}};
   store.exprs = {own_index(), {Op::unary, Type::f16, uint8_t(Unary::absolute), 0, 0, {half}}};
   Program program;
   program.memories = {memory(Storage::buffer, 64)};
   program.memories[0].unit = "float16_t";
   program.memories[0].unit_bytes = 2;
   program.functions.emplace_back();
   program.functions[0].body = {store};
   const std::vector<uint32_t> spirv = e2e::compile_glsl(to_glsl(program));
   const uint32_t float16[] = {2 << 16 | 17, 9}; // OpCapability Float16
   EXPECT_FALSE(std::ranges::search(spirv, float16).empty()) << to_glsl(program);
}

/// Whether a statement leaves or continues a loop that does not exist.
bool jumps(const std::vector<Stmt> &block)
{
   return std::ranges::any_of(block, [](const Stmt &s) {
      return s.kind == Kind::leave || s.kind == Kind::next ||
             (s.kind != Kind::loop && (jumps(s.body) || jumps(s.otherwise)));
   });
}

TEST(Shrink, LeavesNoJumpsBehind)
{
   Stmt stop = {Kind::branch}, loop = {Kind::loop}, store = {Kind::store};
   stop.exprs = {literal(1)};
   stop.exprs[0].type = Type::boolean;
   stop.body = {{Kind::leave}};
   loop.detail = uint8_t(LoopForm::endless);
   loop.exprs = {literal(3)};
   store.exprs = {own_index(), literal(5)};
   loop.body = {store, stop};
   Program program;
   program.memories = {memory(Storage::buffer, 64)};
   program.functions.emplace_back();
   program.functions[0].variables.emplace_back();
   program.functions[0].body = {loop};
   uint32_t asked = 0;
   const Program small = shrink(
      program,
      [&](const Program &p, const Expected &) {
         asked++;
         EXPECT_FALSE(jumps(p.functions[0].body)) << to_glsl(p);
         bool found = false;
         for_each_stmt(p.functions[0].body, [&](const Stmt &s) { found |= s.kind == Kind::store; });
         return found;
      },
      std::chrono::seconds(100));
   EXPECT_GT(asked, 0u);
   EXPECT_EQ(size(small).statements, 1u) << to_glsl(small);
}

} // namespace
} // namespace weft::fuzz
