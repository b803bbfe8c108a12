// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Random programs: a seed repeats its program; all kinds of statements, types and memories occur.

#include "tests/e2e/glsl.h"
#include "tests/fuzz/generate.h"
#include "tests/fuzz/print.h"
#include "tests/fuzz/test_operations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace weft::fuzz {
namespace {

TEST(Generator, ASeedRepeatsItsProgram)
{
   for (uint64_t seed = 1; seed < 10; seed++) {
      const GeneratedProgram g = generate(seed, operations, true);
      EXPECT_EQ(to_glsl(g.program), to_glsl(generate(seed, operations, true).program));
      EXPECT_FALSE(fault(g.program).has_value());
   }
}

TEST(Generator, HasAllKindsOfStatements)
{
   std::vector<uint32_t> kinds(size_t(Kind::atomic) + 1), ops(size_t(Op::ballot) + 1);
   for (uint64_t seed = 1; seed < 300; seed++) {
      for (const Function &f : generate(seed, operations, true).program.functions) {
         for_each_stmt(f.body, [&](const Stmt &s) {
            kinds[size_t(s.kind)]++;
            for_each_own_expr(s, [&](const Expr &e) { ops[size_t(e.op)]++; });
         });
      }
   }
   for (size_t kind = 0; kind < kinds.size(); kind++)
      EXPECT_NE(kinds[kind], 0u) << "statement " << kind;
   for (size_t op = 0; op < ops.size(); op++)
      EXPECT_NE(ops[op], 0u) << "expression " << op;
}

TEST(Generator, HasAllTypes)
{
   std::map<Type, uint32_t> matrices, scalars;
   for (uint64_t seed = 1; seed < 300; seed++) {
      const Program program = generate(seed, operations, true).program;
      for (const Function &f : program.functions) {
         for (const Variable &v : f.variables)
            (v.matrix ? matrices : scalars)[v.type]++;
      }
      EXPECT_EQ(e2e::inexpressible(to_glsl(program)), "") << to_glsl(program);
   }
   for (const MatrixOperation &op : operations) {
      for (const ComponentType type : {op.a, op.b, op.result})
         EXPECT_NE(matrices[type_of(type)], 0u) << "matrices of " << oracle::format(type).name;
   }
   for (Type type = Type::f16; type <= Type::e5m2; type = Type(uint8_t(type) + 1))
      EXPECT_NE(scalars[type], 0u) << glsl_name(type);
}

TEST(Generator, HasScopesAndSizes)
{
   uint32_t of_workgroups = 0, flexible = 0;
   for (uint64_t seed = 1; seed < 300; seed++) {
      const Program program = generate(seed, operations, true).program;
      for (const Function &f : program.functions) {
         for_each_stmt(f.body, [&](const Stmt &s) {
            if (s.kind == Kind::matrix_muladd) {
               const e2e::MatrixType &a = *f.variables[s.places[1].variable].matrix;
               of_workgroups += program.workgroup_matrices;
               flexible += a.rows > 8;
            }
         });
      }
      EXPECT_TRUE(!program.workgroup_matrices || program.invocations() == 128 ||
                  program.invocations() == 256);
   }
   EXPECT_GE(of_workgroups, 10u);
   EXPECT_GE(flexible, 10u);
}

/// The text has each operation of the program, as an instruction of SPIR-V if GLSL lacks it.
TEST(Generator, HasAllOfTheFamily)
{
   uint32_t without_use = 0, vectors = 0, transposes = 0, coordinates = 0, turns = 0, blocks = 0,
            quads = 0;
   for (uint64_t seed = 1; seed < 1500; seed++) {
      const Program program = generate(seed, operations, true).program;
      const std::string glsl = to_glsl(program);
      without_use += glsl.find("coopMatMulAddNV(") != std::string::npos;
      EXPECT_TRUE(!program.without_use || glsl.find("coopmat<") == std::string::npos) << glsl;
      vectors += has_statement(program, [](const Stmt &s) { return s.tensor && s.tensor->vector; });
      quads += has_statement(program, [](const Stmt &s) {
         return s.kind == Kind::matrix_reduce && ReduceOver(s.target) == ReduceOver::quad;
      });
      turns += has_statement(program, [](const Stmt &s) { return s.kind == Kind::matrix_turn; });
      blocks += has_statement(program, [](const Stmt &s) {
         return s.kind == Kind::matrix_load && Order(s.detail) >= Order::row_blocks;
      });
      transposes += program.maintenance1 && has_statement(program, [](const Stmt &s) {
                       return s.kind == Kind::matrix_transpose;
                    });
      coordinates += program.maintenance1 && glsl.find("coordinate_0(v") != std::string::npos;
   }
   EXPECT_GE(without_use, 10u);
   EXPECT_GE(vectors, 10u);
   EXPECT_GE(transposes, 5u) << "with maintenance1";
   EXPECT_GE(coordinates, 2u);
   EXPECT_GE(turns, 10u);
   EXPECT_GE(quads, 1u);
   EXPECT_GE(blocks, 10u);
}

TEST(Generator, HasDimensionsAndSpecializationConstants)
{
   uint32_t planes = 0, specialized = 0, many = 0;
   for (uint64_t seed = 1; seed < 300; seed++) {
      const Program program = generate(seed, operations, true).program;
      planes += program.local_y > 1 && program.groups_y > 1;
      many += program.workgroups > 2;
      const std::string glsl = to_glsl(program);
      for (uint32_t i = 0; i < push_words; i++)
         specialized += (program.specialized >> i & 1) &&
                        glsl.find("(spec" + std::to_string(i)) != std::string::npos;
      EXPECT_EQ(program.local_x() * program.local_y * program.local_z, program.invocations());
      EXPECT_EQ(program.groups_x() * program.groups_y * program.groups_z, program.workgroups);
   }
   EXPECT_GE(planes, 10u);
   EXPECT_GE(many, 30u);
   EXPECT_GE(specialized, 30u);
}

/// Of each storage and shape: memories, and scalars that go through them.
TEST(Generator, HasImagesAndTexelBuffers)
{
   std::map<Storage, uint32_t> loads, stores, atomics;
   std::map<Shape, uint32_t> shapes;
   uint32_t coherent = 0, with_matrices = 0;
   for (uint64_t seed = 1; seed < 400; seed++) {
      const Program program = generate(seed, operations, true).program;
      const auto storage = [&](int64_t memory) { return program.memories[size_t(memory)].storage; };
      bool has_matrix = false;
      for (const Function &f : program.functions) {
         has_matrix |= std::ranges::any_of(f.variables,
                                           [](const Variable &v) { return v.matrix.has_value(); });
         for_each_stmt(f.body, [&](const Stmt &s) {
            if (s.kind == Kind::store)
               stores[storage(s.target)]++;
            if (s.kind == Kind::atomic)
               atomics[storage(s.target)]++;
            for_each_own_expr(s, [&](const Expr &e) {
               if (e.op != Op::load)
                  return;
               loads[storage(e.number)]++;
               coherent += program.memories[size_t(e.number)].coherent;
            });
         });
      }
      with_matrices += has_matrix && has_texels(program);
      for (const Memory &memory : program.memories) {
         if (is_image(memory.storage))
            shapes[memory.shape]++;
      }
   }
   for (const Storage s :
        {Storage::texels, Storage::fetched_texels, Storage::image, Storage::sampled_image})
      EXPECT_GE(loads[s], 20u) << int(s);
   for (const Storage s : {Storage::texels, Storage::image}) {
      EXPECT_GE(stores[s], 20u) << int(s);
      EXPECT_GE(atomics[s], 20u) << int(s);
   }
   for (const Shape shape : {Shape::line, Shape::plane, Shape::layers, Shape::volume})
      EXPECT_GE(shapes[shape], 10u) << int(shape);
   EXPECT_GE(coherent, 5u);
   EXPECT_GE(with_matrices, 40u);
}

TEST(Generator, HasAtomicsAndUniformBuffers)
{
   uint32_t uniform = 0, results = 0, shared = 0, kinds[size_t(Atomic::append) + 1] = {};
   for (uint64_t seed = 1; seed < 500; seed++) {
      const Program program = generate(seed, operations, true).program;
      for (const Function &f : program.functions) {
         for_each_stmt(f.body, [&](const Stmt &s) {
            for_each_own_expr(s, [&](const Expr &e) {
               uniform += e.op == Op::load &&
                          program.memories[size_t(e.number)].storage == Storage::uniform;
            });
            if (s.kind != Kind::atomic)
               return;
            kinds[s.detail]++;
            results += atomic_result(s) != nullptr;
            shared += program.memories[s.target].storage == Storage::shared;
         });
      }
   }
   for (const uint32_t count : kinds)
      EXPECT_GE(count, 5u) << "atomic " << &count - kinds;
   EXPECT_GE(results, 20u);
   EXPECT_GE(shared, 20u);
   EXPECT_GE(uniform, 100u);
}

TEST(Generator, ChangesWhatWasCopied)
{
   uint32_t found = 0;
   for (uint64_t seed = 1; seed < 50; seed++) {
      const Program program = generate(seed, operations, true).program;
      const Function &main = program.functions[0];
      const Stmt *copy = nullptr;
      for_each_stmt(main.body, [&](const Stmt &s) {
         if (s.kind == Kind::matrix_copy && main.variables[s.places[0].variable].unset)
            copy = &s;
         else if (copy && s.kind != Kind::matrix_store && !s.places.empty())
            found += s.places[0].variable == copy->places[1].variable;
      });
   }
   EXPECT_GE(found, 3u);
}

} // namespace
} // namespace weft::fuzz
