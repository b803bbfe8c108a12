// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Programs from the shader cache, and the inputs that their keys depend on.

#include "backend/cpu/jit/program_file.h"
#include "tests/backend/cpu/shader_runner.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <pthread.h>

#include <fstream>
#include <functional>
#include <set>

namespace weft::cpu {
namespace {

const char *const shader = R"(
layout(local_size_x = 32) in;
layout(constant_id = 3) const uint factor = 2;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
void main() { data[gl_GlobalInvocationID.x] *= factor; }
)";

class CompileCached : public testing::Test {
protected:
   CompileCached() : spirv(e2e::compile_glsl(e2e::glsl_header + std::string(shader))) {}

   ShaderSource source() const { return {spirv, "main", {}}; }
   static CompileOptions options()
   {
      CompileOptions options;
      options.bindings = buffer_bindings(1);
      return options;
   }
   std::shared_ptr<const Program> get(const CompileOptions &options, bool may_compile)
   {
      return finished(compile_cached(&cache, source(), options, may_compile));
   }

   /// The program when it is complete; null without one.
   static std::shared_ptr<const Program> finished(const Result<std::shared_ptr<Programs>> &started)
   {
      EXPECT_TRUE(started) << started.error().message;
      if (!started || !*started)
         return nullptr;
      const auto &program = (*started)->program_for({}).get();
      EXPECT_TRUE(program) << program.error().message;
      return program ? *program : nullptr;
   }

   static void expect_multiplied(const Program &program, uint32_t factor)
   {
      uint32_t data[32];
      for (uint32_t i = 0; i < 32; i++)
         data[i] = i + 1;
      const BufferDescriptor descriptor = {reinterpret_cast<uint64_t>(data), sizeof(data)};
      DispatchState state = {};
      state.sets[0] = reinterpret_cast<const uint8_t *>(&descriptor);
      Executor executor(1);
      ASSERT_TRUE(executor.dispatch(program, state, {1, 1, 1}));
      for (uint32_t i = 0; i < 32; i++)
         EXPECT_EQ(data[i], factor * (i + 1));
   }
   static void expect_doubled(const Program &program) { expect_multiplied(program, 2); }

   test::ScratchFolder folder;
   DiskCache cache{folder.path / "cache", 1 << 20};
   std::vector<uint32_t> spirv;
};

TEST_F(CompileCached, GivesTheSameProgramAgain)
{
   EXPECT_FALSE(get(options(), false));
   const std::shared_ptr<const Program> compiled = get(options(), true),
                                        cached = get(options(), false);
   ASSERT_TRUE(compiled && cached);
   expect_doubled(*compiled);
   expect_doubled(*cached);
   EXPECT_EQ(cached->serialize(), compiled->serialize());
   EXPECT_EQ(cached->info().subgroups, compiled->info().subgroups);
   EXPECT_EQ(cached->info().stack_bytes, compiled->info().stack_bytes);
   // A program is linked with the kernels of its instruction set.
   CompileOptions avx2 = options();
   avx2.instruction_set = InstructionSet::avx2;
   EXPECT_FALSE(get(avx2, false));
   EXPECT_TRUE(get(avx2, true));
   const std::shared_ptr<const Program> again = get(avx2, false);
   ASSERT_TRUE(again);
   expect_doubled(*again);
}

TEST_F(CompileCached, WorksWithoutACache)
{
   const std::shared_ptr<const Program> program =
      finished(compile_cached(nullptr, source(), options()));
   ASSERT_TRUE(program);
   expect_doubled(*program);
   EXPECT_FALSE(finished(compile_cached(nullptr, source(), options(), false)));
}

/// Cached programs are linked on the application's own stack, which may be small.
TEST_F(CompileCached, LinksOnASmallStack)
{
   const std::shared_ptr<const Program> compiled = get(options(), true);
   ASSERT_TRUE(compiled);
   std::function<void()> work = [&] { expect_doubled(*get(options(), false)); };
   pthread_attr_t attributes;
   pthread_attr_init(&attributes);
   pthread_attr_setstacksize(&attributes, 128 << 10); // the default of musl's threads
   pthread_t thread;
   const auto run = [](void *function) -> void * {
      (*static_cast<std::function<void()> *>(function))();
      return nullptr;
   };
   ASSERT_EQ(pthread_create(&thread, &attributes, run, &work), 0);
   pthread_join(thread, nullptr);
   pthread_attr_destroy(&attributes);
}

/// More programs than threads. One may be used while others are not complete.
TEST_F(CompileCached, GeneratesCodeMeanwhile)
{
   constexpr uint32_t count = 40;
   std::vector<std::shared_ptr<Programs>> futures;
   const auto start = [&](const uint32_t &factor, bool may_compile) {
      ShaderSource multiplies = source();
      multiplies.spec_constants = {{3, std::as_bytes(std::span(&factor, 1))}};
      return compile_cached(&cache, multiplies, options(), may_compile);
   };
   for (uint32_t factor = 0; factor < count; factor++) {
      auto future = start(factor, true);
      ASSERT_TRUE(future) << future.error().message;
      futures.push_back(*future);
   }
   for (uint32_t factor = count; factor-- > 0;) {
      const std::shared_ptr<const Program> program = finished(futures[factor]);
      ASSERT_TRUE(program);
      expect_multiplied(*program, factor);
      EXPECT_TRUE(finished(start(factor, false)));
   }
}

/// Programs create pipelines that they never use. The cache has the shader until then.
TEST_F(CompileCached, CompilesForTheFirstDispatch)
{
   const auto kind_in_cache = [&] {
      const auto bytes = cache.read(cache_key(source(), options()));
      return bytes ? std::optional(read_program_file(*bytes)->kind) : std::nullopt;
   };
   const auto first = compile_cached(&cache, source(), options());
   ASSERT_TRUE(first) << first.error().message;
   (void)(*first)->info(); // waits for the passes
   EXPECT_EQ(kind_in_cache(), FileKind::shader);

   // Another process has the shader without its program.
   const auto second = compile_cached(&cache, source(), options(), false);
   const std::shared_ptr<const Program> program = finished(second);
   ASSERT_TRUE(program);
   expect_doubled(*program);
   EXPECT_EQ(kind_in_cache(), FileKind::program);
   EXPECT_EQ((*second)->program_for({}).get()->get(), program.get());
   // Applications that store pipelines get programs.
   EXPECT_EQ((*first)->serialize(), program->serialize());
   const std::vector<std::byte> bytes = (*second)->serialize();
   EXPECT_EQ(read_program_file(bytes)->kind, FileKind::program);
   const auto of_bytes = finished(deserialize_programs(bytes, nullptr, {}));
   ASSERT_TRUE(of_bytes);
   expect_doubled(*of_bytes);
}

TEST_F(CompileCached, KeepsNoErrors)
{
   ShaderSource wrong = source();
   wrong.entry_point = "nobody";
   for (int i = 0; i < 2; i++)
      EXPECT_FALSE(compile_cached(&cache, wrong, options()));
   EXPECT_FALSE(std::filesystem::exists(folder.path / "cache"));
}

TEST_F(CompileCached, ObserversSeeACompilation)
{
   EXPECT_TRUE(get(options(), true));
   CompileOptions watched = options();
   std::set<std::string> phases;
   watched.dump = [&](const char *phase, const std::string &) { phases.insert(phase); };
   EXPECT_FALSE(get(watched, false));
   EXPECT_TRUE(get(watched, true));
   EXPECT_TRUE(phases.contains("asm"));

   CompileStatistics statistics;
   CompileOptions measured = options();
   measured.statistics = &statistics;
   EXPECT_TRUE(get(measured, true));
   EXPECT_GT(statistics.code_bytes, 0u);

   // A program without its optional passes does not go into the cache.
   std::filesystem::remove_all(folder.path / "cache");
   PassControl control = {.may_run = [](const PassApplication &) { return false; }};
   CompileOptions steered = options();
   steered.control = &control;
   EXPECT_TRUE(get(steered, true));
   EXPECT_FALSE(get(options(), false));
}

/// An entry with a matching hash, but without a program of this build.
TEST_F(CompileCached, ReplacesEntriesThatAreNoPrograms)
{
   std::vector<std::byte> bytes = (*compile(source(), options()))->serialize();
   bytes[8] ^= std::byte(1); // of cache_uuid()
   for (const std::vector<std::byte> &entry :
        {bytes, std::vector<std::byte>(), std::vector<std::byte>(100)}) {
      cache.write(cache_key(source(), options()), entry);
      EXPECT_FALSE(get(options(), false));
   }
   EXPECT_TRUE(get(options(), true));
   EXPECT_TRUE(get(options(), false));
}

TEST_F(CompileCached, EverythingIsInTheKey)
{
   using Change = std::function<void(ShaderSource &, CompileOptions &)>;
   const uint32_t one = 1, two = 2;
   const auto value = [](const uint32_t &word) { return std::as_bytes(std::span(&word, 1)); };
   std::vector<uint32_t> other_spirv = spirv;
   other_spirv.back() ^= 1;
   MatrixSupport support = {{{8, 8, 8, ComponentType::f16, ComponentType::f16, ComponentType::f32,
                              ComponentType::f32, false}},
                            {}};
   support.flexible = flexible_operations(support.operations, 64);
   const auto change_support = [&](auto &&change) {
      return [&support, change](ShaderSource &, CompileOptions &o) {
         o.matrices = support;
         change(*o.matrices);
      };
   };
   const Change changes[] = {
      [](ShaderSource &, CompileOptions &) {},
      [&](ShaderSource &s, CompileOptions &) { s.spirv = other_spirv; },
      [](ShaderSource &s, CompileOptions &) { s.spirv = s.spirv.first(s.spirv.size() - 1); },
      [](ShaderSource &s, CompileOptions &) { s.entry_point = "other"; },
      [&](ShaderSource &s, CompileOptions &) { s.spec_constants = {{3, value(one)}}; },
      [&](ShaderSource &s, CompileOptions &) { s.spec_constants = {{3, value(two)}}; },
      [&](ShaderSource &s, CompileOptions &) { s.spec_constants = {{4, value(one)}}; },
      [&](ShaderSource &s, CompileOptions &) { s.spec_constants = {{3, value(one).first(2)}}; },
      [](ShaderSource &, CompileOptions &o) { o.subgroup_size = 8; },
      [](ShaderSource &, CompileOptions &o) { o.bindings.clear(); },
      [](ShaderSource &, CompileOptions &o) { o.bindings[0].set = 1; },
      [](ShaderSource &, CompileOptions &o) { o.bindings[0].binding = 1; },
      [](ShaderSource &, CompileOptions &o) { o.bindings[0].slot = 1; },
      [](ShaderSource &, CompileOptions &o) { o.bindings[0].offset = 16; },
      [](ShaderSource &, CompileOptions &o) { o.bindings[0].stride = 32; },
      [](ShaderSource &, CompileOptions &o) { o.bindings[0].count = 2; },
      [](ShaderSource &, CompileOptions &o) { o.bindings[0].inline_data = true; },
      [](ShaderSource &, CompileOptions &o) { o.bindings[0].variable_count = true; },
      [](ShaderSource &, CompileOptions &o) { o.robust_buffer_access = false; },
      [](ShaderSource &, CompileOptions &o) { o.native_tiles = false; },
      [](ShaderSource &, CompileOptions &o) { o.native_tiles = true; },
      [](ShaderSource &, CompileOptions &o) { o.instruction_set = InstructionSet::avx2; },
      [](ShaderSource &, CompileOptions &o) { o.instruction_set = InstructionSet::avx512; },
      [](ShaderSource &, CompileOptions &o) { o.matrices.emplace(); },
      change_support([](MatrixSupport &) {}),
      change_support([](MatrixSupport &m) { m.operations[0].m = 16; }),
      change_support([](MatrixSupport &m) { m.operations[0].n = 16; }),
      change_support([](MatrixSupport &m) { m.operations[0].k = 16; }),
      change_support([](MatrixSupport &m) { m.operations[0].a = ComponentType::f32; }),
      change_support([](MatrixSupport &m) { m.operations[0].b = ComponentType::f32; }),
      change_support([](MatrixSupport &m) { m.operations[0].c = ComponentType::f16; }),
      change_support([](MatrixSupport &m) { m.operations[0].result = ComponentType::f16; }),
      change_support([](MatrixSupport &m) { m.operations[0].saturating = true; }),
      change_support([](MatrixSupport &m) { m.operations[0].scope = MatrixScope::workgroup; }),
      change_support([](MatrixSupport &m) { m.flexible.clear(); }),
      change_support([](MatrixSupport &m) { m.flexible[0].granularity.m = 32; }),
      change_support([](MatrixSupport &m) { m.flexible[0].max_dimension = 32; }),
      change_support([](MatrixSupport &m) { m.flexible[0].workgroup_invocations = 128; }),
   };
   std::set<CacheKey> keys;
   for (size_t i = 0; i < std::size(changes); i++) {
      ShaderSource s = source();
      CompileOptions o = options();
      changes[i](s, o);
      EXPECT_TRUE(keys.insert(cache_key(s, o)).second) << "change " << i;
      EXPECT_TRUE(keys.contains(cache_key(s, o)));
   }
}

} // namespace
} // namespace weft::cpu
