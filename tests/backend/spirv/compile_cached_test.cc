// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

/// Lowered modules from the shader cache, and the inputs that select them.

#include "tests/backend/spirv/compiled.h"
#include "tests/scratch_folder.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

namespace weft::spirv {
namespace {

class CompileCached : public testing::Test {
protected:
   CompileCached()
       : words(test::compile("layout(binding = 0) buffer B { uint b[]; };\n"
                             "void main() {\n"
                             "   uint own[64];\n"
                             "   for (uint i = 0; i < 64; i++) own[i] = b[i];\n"
                             "   b[gl_LocalInvocationIndex] += own[b[0] & 63];\n"
                             "}")
                  .spirv)
   {
   }

   ShaderSource source() const { return {words, "main", {}}; }
   std::optional<CompiledModule> get(const CompileOptions &options, bool may_compile)
   {
      auto module = compile_cached(&cache, source(), options, may_compile);
      EXPECT_TRUE(module) << module.error().message;
      return module ? *module : std::nullopt;
   }

   test::ScratchFolder folder;
   DiskCache cache{folder.path / "cache", 1 << 20};
   std::vector<uint32_t> words;
   const CompileOptions options = test::options_for(full_driver());
};

TEST_F(CompileCached, GivesTheSameModuleAgain)
{
   EXPECT_FALSE(get(options, false));
   const std::optional<CompiledModule> compiled = get(options, true), cached = get(options, false);
   ASSERT_TRUE(compiled && cached);
   EXPECT_EQ(cached->words, compiled->words);
   EXPECT_TRUE(std::ranges::equal(cached->local_size, compiled->local_size));
   EXPECT_EQ(cached->local_size[0], 64u);
   EXPECT_EQ(cached->needs_full_subgroups, compiled->needs_full_subgroups);
   EXPECT_EQ(cached->private_bytes, compiled->private_bytes);
   EXPECT_GE(compiled->private_bytes, 64 * 4u);
   EXPECT_LT(compiled->private_bytes, 128 * 4u);
   // With a dump, the shader is compiled.
   CompileOptions watched = options;
   bool seen = false;
   watched.dump = [&](const char *, const std::string &) { seen = true; };
   EXPECT_FALSE(get(watched, false));
   EXPECT_TRUE(get(watched, true));
   EXPECT_TRUE(seen);
}

TEST_F(CompileCached, CompilesWhatIsNoModule)
{
   for (const size_t size : {0, 12, 19}) {
      cache.write(cache_key(source(), options), std::vector<std::byte>(size));
      EXPECT_FALSE(get(options, false)) << size;
   }
   EXPECT_TRUE(get(options, true));
   EXPECT_TRUE(get(options, false));
}

TEST_F(CompileCached, RemembersOwners)
{
   const std::vector<uint32_t> shader =
      test::compile("void main() { coopmat<float, gl_ScopeSubgroup, 16, 16, "
                    "gl_MatrixUseAccumulator> m = coopmat<float, gl_ScopeSubgroup, 16, 16, "
                    "gl_MatrixUseAccumulator>(0.0); }")
         .spirv;
   const std::vector<MatrixOperation> all = options.operations, none;
   for (int i = 0; i < 2; i++) {
      const auto owner = [&](const std::vector<MatrixOperation> &support,
                             const std::vector<MatrixOperation> &native,
                             const std::vector<MatrixOperation> &of_extensions) {
         return matrix_owner(&cache, {shader, "main", {}}, 32, {support}, {native, of_extensions});
      };
      EXPECT_EQ(owner(all, all, none), MatrixOwner::driver);
      EXPECT_EQ(owner(all, none, all), MatrixOwner::layer);
      EXPECT_EQ(owner(none, all, none), MatrixOwner::unknown);
      EXPECT_EQ(owner(none, none, none), MatrixOwner::layer_only);
      const auto files = std::filesystem::directory_iterator(folder.path / "cache");
      EXPECT_EQ(std::distance(files, {}), 4);
   }
}

TEST_F(CompileCached, EverythingIsInTheKey)
{
   const auto flag = [](bool Driver::*member) {
      return [member](CompileOptions &o) { o.driver.*member = !(o.driver.*member); };
   };
   const std::function<void(CompileOptions &)> changes[] = {
      [](CompileOptions &) {},
      [](CompileOptions &o) { o.driver.spirv_version--; },
      [](CompileOptions &o) { o.driver.subgroup_operations ^= 1; },
      flag(&Driver::subgroup_extended_types),
      flag(&Driver::vulkan_memory_model_device_scope),
      flag(&Driver::int8),
      flag(&Driver::int16),
      flag(&Driver::int64),
      flag(&Driver::float16),
      flag(&Driver::float64),
      flag(&Driver::storage_buffer_8bit),
      flag(&Driver::storage_buffer_16bit),
      flag(&Driver::buffer_device_address),
      flag(&Driver::integer_dot_product),
      flag(&Driver::float16_sums),
      flag(&Driver::partial_barriers),
      flag(&Driver::subgroup_arithmetic_with_matrices),
      flag(&Driver::own_matrices),
      flag(&Driver::robust_buffer_access_2),
      flag(&Driver::preserve_nan_16),
      flag(&Driver::preserve_nan_32),
      flag(&Driver::preserve_nan_64),
      [](CompileOptions &o) { o.subgroup_size = 16; },
      [](CompileOptions &o) { o.operations.pop_back(); },
      [](CompileOptions &o) { o.flexible = flexible_operations(o.operations, 64); },
      [](CompileOptions &o) { o.native_operations = o.operations; },
      [](CompileOptions &o) { o.robust_access = !o.robust_access; },
      [](CompileOptions &o) { o.staging_bytes++; },
      [](CompileOptions &o) { o.subgroups_are_blocks = true; },
      [](CompileOptions &o) { o.max_shared_bytes--; },
   };
   std::set<CacheKey> keys;
   for (size_t i = 0; i < std::size(changes); i++) {
      CompileOptions changed = options;
      changes[i](changed);
      EXPECT_TRUE(keys.insert(cache_key(source(), changed)).second) << "change " << i;
   }
   EXPECT_TRUE(keys.insert(cache_key({words, "other", {}}, options)).second);
}

} // namespace
} // namespace weft::spirv
