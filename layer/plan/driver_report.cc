// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "layer/plan/driver_report.h"

#include "vulkan_util/text.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <bit>
#include <set>

namespace weft::layer {

namespace {

using Json = nlohmann::ordered_json;

/// The number of the report's format, to be raised when a member changes.
constexpr uint32_t format = 2;

/// The members of a report: the one list for Writer and Reader.
template <typename Visitor, typename Facts>
void visit_facts(Visitor &visit, Facts &facts)
{
   visit("deviceName", facts.name);
   visit("driverName", facts.driver_name);
   visit("driverID", facts.driver_id);
   visit("driverVersion", facts.driver_version);
   visit("deviceType", facts.device_type);
   visit.version("apiVersion", facts.version);
   visit("hasFeatureQueries", facts.has_queries);
   visit("hasComputeQueue", facts.has_compute_queue);
   visit("extensions", facts.extensions);
   visit("matrixExtensions", facts.native_extensions);
   visit("features", facts.features);
   visit("subgroupSize", facts.subgroups.size);
   visit("minSubgroupSize", facts.subgroups.min_size);
   visit("maxSubgroupSize", facts.subgroups.max_size);
   visit("supportedOperations", facts.subgroups.operations);
   visit("supportedStages", facts.subgroups.stages);
   visit("requiredSubgroupSizeStages", facts.subgroups.requirable_stages);
   visit("maxComputeWorkgroupSubgroups", facts.subgroups.max_per_workgroup);
   visit("shaderSignedZeroInfNanPreserveFloat16", facts.preserves_nan_16);
   visit("shaderSignedZeroInfNanPreserveFloat32", facts.preserves_nan_32);
   visit("shaderSignedZeroInfNanPreserveFloat64", facts.preserves_nan_64);
   visit("maxComputeWorkGroupInvocations", facts.max_workgroup_invocations);
   visit("maxComputeSharedMemorySize", facts.max_shared_bytes);
   visit("matrices", facts.listed_matrices);
   visit("matrixWorkgroups", facts.listed_workgroups);
}

template <typename Visitor, typename Matrix>
void visit_matrix(Visitor &visit, Matrix &matrix)
{
   visit("MSize", matrix.MSize);
   visit("NSize", matrix.NSize);
   visit("KSize", matrix.KSize);
   visit("AType", matrix.AType);
   visit("BType", matrix.BType);
   visit("CType", matrix.CType);
   visit("ResultType", matrix.ResultType);
   visit.boolean("saturatingAccumulation", matrix.saturatingAccumulation);
   visit("scope", matrix.scope);
}

std::string version_text(uint32_t version)
{
   return std::to_string(VK_API_VERSION_MAJOR(version)) + "." +
          std::to_string(VK_API_VERSION_MINOR(version)) + "." +
          std::to_string(VK_API_VERSION_PATCH(version));
}

class Writer {
public:
   Json object = Json::object();

   void operator()(const char *name, const std::string &text) { object[name] = text; }
   void operator()(const char *name, bool value) { object[name] = value; }
   void operator()(const char *name, uint32_t value) { object[name] = value; }
   template <typename Enum>
      requires std::is_enum_v<Enum>
   void operator()(const char *name, Enum value)
   {
      object[name] = uint32_t(value);
   }
   void version(const char *name, uint32_t value) { object[name] = version_text(value); }
   void boolean(const char *name, VkBool32 value) { object[name] = value == VK_TRUE; }

   void operator()(const char *name, const std::vector<VkExtensionProperties> &extensions)
   {
      Json &list = object[name] = Json::object();
      for (const VkExtensionProperties &extension : extensions)
         list[extension.extensionName] = extension.specVersion;
   }
   void operator()(const char *name, const ExtensionSet &extensions)
   {
      Json &list = object[name] = Json::array();
      for (const ExtensionRow &row : extension_rows()) {
         if (extensions.has(row.extension))
            list.push_back(row.name);
      }
   }
   void operator()(const char *name, const FeatureSet &features)
   {
      Json &list = object[name] = Json::array();
      for (size_t i = 0; i < feature_count; i++) {
         if (features.has(Feature(i)))
            list.push_back(feature_names[i]);
      }
   }
   void operator()(const char *name, const std::vector<VkCooperativeMatrixPropertiesKHR> &matrices)
   {
      Json &list = object[name] = Json::array();
      for (const VkCooperativeMatrixPropertiesKHR &matrix : matrices) {
         Writer member;
         visit_matrix(member, matrix);
         list.push_back(std::move(member.object));
      }
   }
   void operator()(const char *name, const std::optional<std::vector<uint32_t>> &numbers)
   {
      object[name] = numbers ? Json(*numbers) : Json();
   }
};

/// Takes members out of an object. Keeps the first problem; later members are then skipped.
class Reader {
public:
   Reader(const Json &object, std::string place) : object(object), place(std::move(place))
   {
      if (!object.is_object())
         fail("not an object");
   }

   std::string problem;

   /// Refuses members that were not read.
   void finish()
   {
      if (!problem.empty())
         return;
      for (const auto &[name, value] : object.items()) {
         if (!known.contains(name))
            return fail("unknown member '" + name + "'");
      }
   }

   void operator()(const char *name, std::string &out)
   {
      read(name, "a text", &Json::is_string, out);
   }
   void operator()(const char *name, bool &out)
   {
      read(name, "true or false", &Json::is_boolean, out);
   }
   void operator()(const char *name, uint32_t &out)
   {
      if (const Json *value = take(name))
         out = number(name, *value);
   }
   template <typename Enum>
      requires std::is_enum_v<Enum>
   void operator()(const char *name, Enum &out)
   {
      uint32_t value = 0;
      (*this)(name, value);
      // No value of Vulkan's enumerations is larger.
      if (value > INT32_MAX)
         fail(std::string(name) + " is too large");
      else
         out = Enum(value);
   }
   void boolean(const char *name, VkBool32 &out)
   {
      bool value = false;
      (*this)(name, value);
      out = value;
   }
   void version(const char *name, uint32_t &out)
   {
      std::string text;
      (*this)(name, text);
      unsigned numbers[3] = {};
      char end;
      if (!problem.empty())
         return;
      if (sscanf(text.c_str(), "%3u.%4u.%4u%c", &numbers[0], &numbers[1], &numbers[2], &end) != 3 ||
          numbers[0] != 1 || numbers[1] > 0x3ff || numbers[2] > 0xfff)
         return fail(std::string(name) + " is no version of Vulkan, such as \"1.3.290\"");
      out = VK_MAKE_API_VERSION(0, numbers[0], numbers[1], numbers[2]);
   }

   void operator()(const char *name, std::vector<VkExtensionProperties> &out)
   {
      const Json *value = take(name);
      if (!value)
         return;
      if (!value->is_object())
         return fail(std::string(name) + " is not an object");
      for (const auto &[extension, version] : value->items()) {
         if (extension.size() >= VK_MAX_EXTENSION_NAME_SIZE)
            return fail(std::string(name) + ": a name of " + std::to_string(extension.size()) +
                        " letters");
         VkExtensionProperties &properties = out.emplace_back();
         copy_text(properties.extensionName, extension.c_str());
         properties.specVersion = number(extension, version);
      }
   }
   void operator()(const char *name, ExtensionSet &out)
   {
      each_text(name, [&](const std::string &text) {
         const ExtensionRow *row = find_extension(text.c_str());
         if (row)
            out.add(row->extension);
         return row != nullptr;
      });
   }
   void operator()(const char *name, FeatureSet &out)
   {
      each_text(name, [&](const std::string &text) {
         const auto *found = std::ranges::find(feature_names, text);
         const bool known_name = found != std::end(feature_names);
         if (known_name)
            out.set(Feature(found - std::begin(feature_names)), true);
         return known_name;
      });
   }
   void operator()(const char *name, std::vector<VkCooperativeMatrixPropertiesKHR> &out)
   {
      each(name, [&](const Json &value) {
         Reader member(value, place + name + "[" + std::to_string(out.size()) + "]: ");
         auto &matrix = out.emplace_back(VkCooperativeMatrixPropertiesKHR{
            .sType = VK_STRUCTURE_TYPE_COOPERATIVE_MATRIX_PROPERTIES_KHR});
         visit_matrix(member, matrix);
         for (const uint32_t size : {matrix.MSize, matrix.NSize, matrix.KSize}) {
            if (size == 0 || size > 65536)
               member.fail("a size of " + std::to_string(size));
         }
         member.finish();
         if (problem.empty())
            problem = member.problem;
      });
   }
   void operator()(const char *name, std::optional<std::vector<uint32_t>> &out)
   {
      const Json *value = take(name);
      if (!value || value->is_null())
         return;
      if (!value->is_array())
         return fail(std::string(name) + " is neither a list nor null");
      out.emplace();
      for (const Json &size : *value)
         out->push_back(number(name, size));
   }

   void fail(const std::string &text)
   {
      if (problem.empty())
         problem = place + text;
   }

private:
   /// A member's value, or null after a problem.
   const Json *take(const char *name)
   {
      if (!problem.empty())
         return nullptr;
      known.insert(name);
      const auto found = object.find(name);
      if (found != object.end())
         return &*found;
      fail(std::string(name) + " is missing");
      return nullptr;
   }

   template <typename T>
   void read(const char *name, const char *kind, bool (Json::*is)() const noexcept, T &out)
   {
      const Json *value = take(name);
      if (value && (value->*is)())
         out = value->get<T>();
      else if (value)
         fail(std::string(name) + " is not " + kind);
   }

   uint32_t number(const std::string &name, const Json &value)
   {
      if (value.is_number_unsigned() && value.get<uint64_t>() <= UINT32_MAX)
         return value.get<uint32_t>();
      fail(name + " is not a whole number of 32 bits");
      return 0;
   }

   template <typename F>
   void each(const char *name, const F &take_value)
   {
      const Json *value = take(name);
      if (value && !value->is_array())
         fail(std::string(name) + " is not a list");
      if (!problem.empty())
         return;
      for (const Json &element : *value)
         take_value(element);
   }

   template <typename F>
   void each_text(const char *name, const F &is_known)
   {
      each(name, [&](const Json &value) {
         if (!value.is_string() || !is_known(value.get<std::string>()))
            fail(std::string(name) + ": unknown name " +
                 value.dump(-1, ' ', false, Json::error_handler_t::replace));
      });
   }

   const Json &object;
   const std::string place; ///< before each problem
   std::set<std::string, std::less<>> known;
};

/// The reason why no driver reports these facts; empty: there is none.
std::string find_contradiction(const DriverFacts &facts)
{
   const Subgroups &subgroups = facts.subgroups;
   const auto is_size = [](uint32_t size) { return std::has_single_bit(size) && size <= 128; };
   // Drivers below Vulkan 1.1 report no size, and drivers without size control report no range.
   if (subgroups.size && !is_size(subgroups.size))
      return "subgroupSize is no power of two up to 128";
   const bool has_range = subgroups.min_size || subgroups.max_size;
   if (has_range && (!is_size(subgroups.min_size) || !is_size(subgroups.max_size)))
      return "minSubgroupSize or maxSubgroupSize is no power of two up to 128";
   if (has_range && (subgroups.size < subgroups.min_size || subgroups.size > subgroups.max_size))
      return "subgroupSize is outside of minSubgroupSize to maxSubgroupSize";
   if (!subgroups.size && facts.has_queries && facts.version >= VK_API_VERSION_1_1)
      return "subgroupSize is 0";
   if (!facts.max_workgroup_invocations)
      return "maxComputeWorkGroupInvocations is 0";
   for (const ExtensionRow &row : extension_rows()) {
      if (facts.native_extensions.has(row.extension) && !facts.has_extension(row.name))
         return std::string("matrixExtensions has ") + row.name + ", extensions has not";
   }
   if (!facts.listed_matrices.empty() &&
       !facts.native_extensions.has(Extension::khr_cooperative_matrix))
      return "matrices without VK_KHR_cooperative_matrix";
   return {};
}

} // namespace

std::string write_driver_report(const DriverFacts &facts)
{
   Writer writer;
   writer("weftDriverReport", format);
   visit_facts(writer, facts);
   // Drivers' names may be no UTF-8.
   return writer.object.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<DriverFacts> read_driver_report(std::string_view text)
{
   Json json;
   try {
      json = Json::parse(text);
   } catch (const Json::parse_error &error) {
      // Removes the library's own number in brackets.
      const std::string message = error.what();
      return Error{message.substr(message.find("] ") + 2)};
   }
   Reader reader(json, "");
   uint32_t found = 0;
   reader("weftDriverReport", found);
   if (reader.problem.empty() && found != format)
      reader.fail("a report of format " + std::to_string(found) + "; this version reads format " +
                  std::to_string(format));
   DriverFacts facts;
   visit_facts(reader, facts);
   reader.finish();
   if (reader.problem.empty())
      reader.problem = find_contradiction(facts);
   if (!reader.problem.empty())
      return Error{reader.problem};
   return facts;
}

} // namespace weft::layer
