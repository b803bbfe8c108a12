// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/driver.h"

#include "backend/spirv/driver_quirks.h"
#include "layer/plan/driver_report.h"
#include "layer/plan/plan_text.h"
#include "vulkan_util/profile.h"

#include <vulkan/vulkan_core.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>

namespace weft::weftc {

namespace {

struct Feature {
   const char *name;
   bool spirv::Driver::*member;
};

constexpr Feature features[] = {
   {"subgroup_extended_types", &spirv::Driver::subgroup_extended_types},
   {"vulkan_memory_model_device_scope", &spirv::Driver::vulkan_memory_model_device_scope},
   {"int8", &spirv::Driver::int8},
   {"int16", &spirv::Driver::int16},
   {"int64", &spirv::Driver::int64},
   {"float16", &spirv::Driver::float16},
   {"float64", &spirv::Driver::float64},
   {"storage_buffer_8bit", &spirv::Driver::storage_buffer_8bit},
   {"storage_buffer_16bit", &spirv::Driver::storage_buffer_16bit},
   {"buffer_device_address", &spirv::Driver::buffer_device_address},
   {"integer_dot_product", &spirv::Driver::integer_dot_product},
   {"float16_sums", &spirv::Driver::float16_sums},
   {"partial_barriers", &spirv::Driver::partial_barriers},
   {"subgroup_arithmetic_with_matrices", &spirv::Driver::subgroup_arithmetic_with_matrices},
   {"own_matrices", &spirv::Driver::own_matrices},
   {"robust_buffer_access_2", &spirv::Driver::robust_buffer_access_2},
   {"preserve_nan_16", &spirv::Driver::preserve_nan_16},
   {"preserve_nan_32", &spirv::Driver::preserve_nan_32},
   {"preserve_nan_64", &spirv::Driver::preserve_nan_64},
};

struct SubgroupOperation {
   const char *name;
   uint32_t bit;
};

constexpr SubgroupOperation subgroup_operations[] = {
   {"basic", VK_SUBGROUP_FEATURE_BASIC_BIT},
   {"vote", VK_SUBGROUP_FEATURE_VOTE_BIT},
   {"arithmetic", VK_SUBGROUP_FEATURE_ARITHMETIC_BIT},
   {"ballot", VK_SUBGROUP_FEATURE_BALLOT_BIT},
   {"shuffle", VK_SUBGROUP_FEATURE_SHUFFLE_BIT},
   {"shuffle_relative", VK_SUBGROUP_FEATURE_SHUFFLE_RELATIVE_BIT},
   {"clustered", VK_SUBGROUP_FEATURE_CLUSTERED_BIT},
   {"quad", VK_SUBGROUP_FEATURE_QUAD_BIT},
   {"rotate", VK_SUBGROUP_FEATURE_ROTATE_BIT_KHR},
   {"rotate_clustered", VK_SUBGROUP_FEATURE_ROTATE_CLUSTERED_BIT_KHR},
};

template <typename Table>
std::string names(const Table &table)
{
   std::string list;
   for (const auto &row : table)
      list += (list.empty() ? "" : ", ") + std::string(row.name);
   return list;
}

std::optional<DescribedDriver> named_driver(const std::string &name)
{
   DescribedDriver d = {spirv::full_driver(), 0, {}, {}};
   if (name == "full")
      return d;
   if (name == "lavapipe") {
      /* lavapipe before Mesa 26, without matrices. */
      d.subgroup_size = 8;
      spirv::apply_driver_quirks(d.driver, VK_DRIVER_ID_MESA_LLVMPIPE, 1);
      return d;
   }
   if (name == "nvidia") {
      const Profile *profile = find_profile(name);
      d.subgroup_size = profile->subgroup_size;
      d.driver.float16_sums = true;
      d.native_operations.assign(profile->operations.begin(), profile->operations.end());
      return d;
   }
   return std::nullopt;
}

std::optional<ComponentType> component_type(const std::string &word)
{
   using enum ComponentType;
   for (ComponentType type : {f16, f32, f64, s8, s16, s32, s64, u8, u16, u32, u64}) {
      if (word == component_type_name(type))
         return type;
   }
   return std::nullopt;
}

/// "16x16x16 f16 f16 f32 f32", optionally followed by "saturating".
std::optional<MatrixOperation> parse_operation(std::istringstream &words)
{
   std::string shape, word;
   MatrixOperation op = {};
   char end;
   words >> shape;
   if (sscanf(shape.c_str(), "%ux%ux%u%c", &op.m, &op.n, &op.k, &end) != 3)
      return std::nullopt;
   for (ComponentType *type : {&op.a, &op.b, &op.c, &op.result}) {
      words >> word;
      const std::optional<ComponentType> parsed = component_type(word);
      if (!parsed)
         return std::nullopt;
      *type = *parsed;
   }
   if (words >> word) {
      op.saturating = word == "saturating";
      if (!op.saturating || words >> word)
         return std::nullopt;
   }
   return op;
}

Result<bool> take_line(std::istringstream &words, DescribedDriver &d)
{
   std::string key, value;
   words >> key;
   if (key == "native") {
      const std::optional<MatrixOperation> op = parse_operation(words);
      if (!op)
         return Error{"native: expected MxNxK and the types of A, B, C and the result"};
      d.native_operations.push_back(*op);
      return true;
   }
   if (key == "subgroup-operations") {
      d.driver.subgroup_operations = 0;
      while (words >> value) {
         const auto found = std::ranges::find(subgroup_operations, value, &SubgroupOperation::name);
         if (found == std::end(subgroup_operations))
            return Error{value + ": expected one of " + names(subgroup_operations)};
         d.driver.subgroup_operations |= found->bit;
      }
      return true;
   }
   if (key == "with" || key == "without") {
      while (words >> value) {
         const auto found = std::ranges::find(features, value, &Feature::name);
         if (found == std::end(features))
            return Error{value + ": expected one of " + names(features)};
         d.driver.*found->member = key == "with";
      }
      return true;
   }
   words >> value;
   if (key == "base") {
      const std::optional<DescribedDriver> base = named_driver(value);
      if (!base)
         return Error{"base: expected full, lavapipe or nvidia"};
      d = *base;
      return true;
   }
   if (key == "spirv-version") {
      if (value.size() != 3 || !value.starts_with("1.") || value[2] < '3' || value[2] > '6')
         return Error{"spirv-version: expected 1.3 to 1.6"};
      d.driver.spirv_version = 0x10000 | uint32_t(value[2] - '0') << 8;
      return true;
   }
   if (key == "subgroup-size") {
      for (const char *size : {"4", "8", "16", "32", "64", "128"}) {
         if (value == size) {
            d.subgroup_size = uint32_t(std::stoul(value));
            return true;
         }
      }
      return Error{"subgroup-size: expected 4, 8, 16, 32, 64 or 128"};
   }
   return Error{"'" + key +
                "': expected base, with, without, native, spirv-version, subgroup-size "
                "or subgroup-operations"};
}

/// Errors name the text's lines.
Result<DescribedDriver> parse_lines(const std::string &text)
{
   DescribedDriver d = {spirv::full_driver(), 0, {}, {}};
   std::istringstream lines(text);
   std::string line;
   for (unsigned number = 1; std::getline(lines, line); number++) {
      std::istringstream words(line.substr(0, line.find('#')));
      if ((words >> std::ws).eof())
         continue;
      const Result<bool> taken = take_line(words, d);
      if (!taken)
         return Error{"line " + std::to_string(number) + ": " + taken.error().message};
   }
   return d;
}

Result<DescribedDriver> parse_report(const std::string &text)
{
   const Result<layer::DriverFacts> facts = layer::read_driver_report(text);
   if (!facts)
      return facts.error();
   layer::MatrixPlan plan = layer::plan_matrices(*facts, {});
   // Few programs enable robustBufferAccess2, which keeps accesses apart.
   layer::FeatureSet enabled = facts->features;
   enabled.set(layer::Feature::robust_buffer_access_2, false);
   return DescribedDriver{facts->driver(enabled), plan.subgroup_size, plan.native_operations, plan};
}

/// A report is a JSON object; a line of the other format cannot begin like one.
Result<DescribedDriver> parse_driver(const std::string &text)
{
   const size_t first = text.find_first_not_of(" \t\r\n");
   return first != std::string::npos && text[first] == '{' ? parse_report(text) : parse_lines(text);
}

} // namespace

spirv::CompileOptions DescribedDriver::compile_options(uint32_t size) const
{
   spirv::CompileOptions options = {};
   options.driver = driver;
   options.subgroup_size = size;
   options.native_operations = native_operations;
   if (plan) {
      options.operations = plan->operations;
      options.flexible = plan->flexible;
      options.staging_bytes = plan->staging_bytes;
      options.subgroups_are_blocks = plan->subgroups_are_blocks;
      options.max_shared_bytes = plan->max_shared_bytes;
   } else {
      options.operations = spirv::supported_operations(driver, size);
      options.flexible = flexible_operations(options.operations, spirv::max_matrix_dimension);
   }
   for (const MatrixOperation &op : native_operations) {
      if (std::ranges::find(options.operations, op) == options.operations.end())
         options.operations.push_back(op);
   }
   return options;
}

Result<DescribedDriver> describe_driver(const Arguments &arguments)
{
   DescribedDriver d;
   if (const std::optional<DescribedDriver> named = named_driver(arguments.driver)) {
      d = *named;
   } else {
      std::ifstream file(arguments.driver, std::ios::binary);
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      if (!file.is_open() || file.bad())
         return Error{"--driver " + arguments.driver +
                      ": neither full, lavapipe or nvidia nor a file that can be read"};
      Result<DescribedDriver> parsed = parse_driver(text);
      if (!parsed)
         return Error{"--driver " + arguments.driver + ": " + parsed.error().message};
      d = std::move(*parsed);
   }
   if (arguments.spirv_version)
      d.driver.spirv_version = *arguments.spirv_version;
   for (const MatrixOperation &op : cpu::supported_matrices().operations) {
      if (std::ranges::count(arguments.native_shapes, std::array{op.m, op.n, op.k}) > 0)
         d.native_operations.push_back(op);
   }
   return d;
}

Result<std::string> plan_for_driver(const Arguments &arguments)
{
   const Result<DescribedDriver> described = describe_driver(arguments);
   if (!described)
      return described.error();
   if (!described->plan)
      return Error{"--driver " + arguments.driver +
                   ": not a report of weft-run --describe-driver, which a plan needs"};
   return layer::plan_text(*described->plan);
}

} // namespace weft::weftc
