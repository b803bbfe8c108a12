// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weft_run/report.h"

#include "shader_cache/cache_settings.h"
#include "tools/weft_run/child.h"
#include "tools/weft_run/environment.h"
#include "tools/weft_run/probe.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <unistd.h>

namespace weft::weft_run {

namespace fs = std::filesystem;

namespace {

using Json = nlohmann::ordered_json;

/// A set of devices that one probe finds.
struct View {
   std::string key, title; ///< names in JSON and on the page
   Choice choice;
};

/// The last byte of a probe's answer about devices.
constexpr char with_matrices = 'y', without_matrices = 'n';
/// The first byte of its answer about a driver; an error's message may follow.
constexpr char with_report = 'y', without_report = 'n';

const char *support_name(WeftMatrixSupport support)
{
   switch (support) {
   case WEFT_MATRIX_SUPPORT_NATIVE:
      return "native";
   case WEFT_MATRIX_SUPPORT_EXTENDED:
      return "extended";
   case WEFT_MATRIX_SUPPORT_LOWERED:
      return "lowered";
   case WEFT_MATRIX_SUPPORT_MISSING:
      break;
   }
   return "missing";
}

const char *support_text(WeftMatrixSupport support)
{
   switch (support) {
   case WEFT_MATRIX_SUPPORT_NATIVE:
      return "native";
   case WEFT_MATRIX_SUPPORT_EXTENDED:
      return "native, and the layer adds to it";
   case WEFT_MATRIX_SUPPORT_LOWERED:
      return "lowered by the layer";
   case WEFT_MATRIX_SUPPORT_MISSING:
      break;
   }
   return "missing: ";
}

/// "f16 f32": the types of A, in the order of the operations.
std::string types_of(const std::vector<MatrixOperation> &operations)
{
   std::vector<std::string> types;
   std::string text;
   for (const MatrixOperation &operation : operations) {
      if (std::ranges::find(types, operation.a) != types.end())
         continue;
      types.push_back(operation.a);
      text += (text.empty() ? "" : " ") + operation.a;
   }
   return text;
}

/// The common reason of a device's missing extensions, if all are missing for one reason.
std::string common_reason(const FoundDevice &device)
{
   const auto &first = device.extensions.front();
   const bool all = std::ranges::all_of(device.extensions, [&](const MatrixExtension &extension) {
      return extension.support == WEFT_MATRIX_SUPPORT_MISSING && extension.reason == first.reason;
   });
   return all ? first.reason : "";
}

std::string sizes_text(const FoundDevice &device)
{
   if (!device.subgroup_size)
      return {};
   std::string text = ", subgroups of " + std::to_string(device.subgroup_size);
   if (device.max_subgroup_size > device.min_subgroup_size)
      text += " (" + std::to_string(device.min_subgroup_size) + " to " +
              std::to_string(device.max_subgroup_size) + ")";
   return text;
}

std::string as_text(const FoundDevice &device)
{
   std::string text = "  " + device.name + "\n    " + device.type + ", Vulkan " +
                      version_text(device.api_version) + sizes_text(device);
   if (!device.driver.empty())
      text += "\n    driver " + device.driver + ", " + device.driver_info;
   text += "\n";
   if (const std::string reason = common_reason(device); !reason.empty())
      return text + "    no cooperative matrices: " + reason + "\n";
   if (!device.operations.empty())
      text += "    " + std::to_string(device.operations.size()) + " operations on matrices of " +
              types_of(device.operations) + "\n";
   for (const MatrixExtension &extension : device.extensions) {
      char line[512];
      snprintf(line, sizeof(line), "    %-40s %s%s\n", extension.name.c_str(),
               support_text(extension.support), extension.reason.c_str());
      text += line;
   }
   return text;
}

Json as_json(const FoundDevice &device)
{
   Json extensions = Json::array(), operations = Json::array();
   for (const MatrixExtension &extension : device.extensions) {
      Json member = {{"name", extension.name}, {"support", support_name(extension.support)}};
      if (!extension.reason.empty())
         member["reason"] = extension.reason;
      extensions.push_back(std::move(member));
   }
   for (const MatrixOperation &o : device.operations)
      operations.push_back({{"m", o.m},
                            {"n", o.n},
                            {"k", o.k},
                            {"a", o.a},
                            {"b", o.b},
                            {"c", o.c},
                            {"result", o.result},
                            {"saturating", o.saturating},
                            {"scope", o.scope}});
   return {{"name", device.name},
           {"type", device.type},
           {"vendor_id", device.vendor_id},
           {"device_id", device.device_id},
           {"api_version", version_text(device.api_version)},
           {"driver", device.driver},
           {"driver_info", device.driver_info},
           {"subgroup_size", device.subgroup_size},
           {"min_subgroup_size", device.min_subgroup_size},
           {"max_subgroup_size", device.max_subgroup_size},
           {"extensions", std::move(extensions)},
           {"operations", std::move(operations)}};
}

Json as_json(const Findings &findings)
{
   Json object = Json::object();
   if (!findings.error.empty())
      object["error"] = findings.error;
   object["layer"] = findings.layer_answers;
   object["messages"] = findings.messages;
   Json &devices = object["devices"] = Json::array();
   for (const FoundDevice &device : findings.devices)
      devices.push_back(as_json(device));
   return object;
}

std::string as_text(const View &view, const Findings &findings)
{
   std::string text = view.title + "\n";
   if (!findings.error.empty())
      text += "  " + findings.error + "\n";
   else if (findings.devices.empty())
      text += "  no device\n";
   else if (view.choice.layer && !findings.layer_answers)
      text += "  the layer is not active: it was not loaded, or a setting disables it\n";
   for (const FoundDevice &device : findings.devices)
      text += as_text(device);
   for (const std::string &message : findings.messages)
      text += "  message: " + message + "\n";
   return text;
}

/// Drivers' texts may be no UTF-8.
std::string dump(const Json &json)
{
   return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

struct Answer {
   std::string text; ///< for the page, or JSON
   bool has_matrices;
};

/// The problem of the installation that prevents a view, found before the loader runs; empty: none.
std::string find_problem(const Choice &choice, const Installation &installation)
{
   if (choice.cpu && !installation.driver.problem.empty())
      return installation.driver.problem;
   return choice.layer ? installation.layer.problem : "";
}

/// Runs `probe` with the environment that a program would get.
Result<std::string> probe_as(const Choice &choice, const Installation &installation,
                             uint32_t loader, const std::function<std::string()> &probe)
{
   if (const std::string problem = find_problem(choice, installation); !problem.empty())
      return Error{problem};
   return run_in_child([&] {
      apply(plan_environment(choice, installation, loader, variable));
      return probe();
   });
}

Answer ask(const View &view, const Installation &installation, uint32_t loader, bool as_json_text)
{
   Result<std::string> answer = probe_as(view.choice, installation, loader, [&] {
      const Findings findings = find_devices();
      const bool found =
         std::ranges::any_of(findings.devices, [](const auto &d) { return d.has_matrices(); });
      return (as_json_text ? dump(as_json(findings)) : as_text(view, findings)) +
             (found ? with_matrices : without_matrices);
   });
   if (!answer) {
      const std::string &error = answer.error().message;
      return {as_json_text ? dump({{"error", error}, {"devices", Json::array()}})
                           : view.title + "\n  " + error + "\n",
              false};
   }
   const bool found = answer->back() == with_matrices;
   answer->pop_back();
   return {std::move(*answer), found};
}

std::vector<View> views_of(const Arguments &arguments)
{
   if (!arguments.chosen) {
      Choice cpu = arguments.choice, own = arguments.choice;
      cpu.cpu = true;
      own.cpu = false;
      own.own = own.layer = true;
      return {
         {"cpu", "The CPU device (weft-run PROGRAM)", cpu},
         {"layer", "The machine's own devices, with the layer (weft-run --layer PROGRAM)", own}};
   }
   const Choice &choice = arguments.choice;
   std::string title = choice.cpu && choice.own ? "The CPU device and the machine's own devices"
                       : choice.cpu             ? "The CPU device"
                                                : "The machine's own devices";
   return {{"chosen", title + (choice.layer ? ", with the layer" : ""), choice}};
}

struct Cache {
   std::string folder;
   uint64_t bytes = 0, limit = 0;
};

Cache find_cache()
{
   std::vector<std::string> problems;
   const CacheSettings settings =
      parse_cache_settings([](const char *name) -> const char * { return getenv(name); }, problems);
   Cache cache = {settings.folder, 0, settings.limit};
   std::error_code error;
   fs::recursive_directory_iterator it(cache.folder, error), last;
   for (; !error && it != last; it.increment(error)) {
      std::error_code of_file;
      if (it->is_regular_file(of_file))
         cache.bytes += it->file_size(of_file);
   }
   return cache;
}

std::string megabytes(uint64_t bytes)
{
   char text[32];
   snprintf(text, sizeof(text), "%.1f MB", double(bytes) / (1 << 20));
   return text;
}

/// Lists the variables in effect that driver, layer or loader read.
std::vector<std::string> settings_in_effect()
{
   std::vector<std::string> list;
   for (char **entry = environ; *entry; entry++) {
      const std::string text = *entry;
      if (text.starts_with("WEFT_") || text.starts_with("VK_"))
         list.push_back(text);
   }
   std::ranges::sort(list);
   return list;
}

std::string path_or_problem(const Manifest &manifest)
{
   return manifest.problem.empty() ? manifest.path.string() : manifest.problem;
}

int print(const std::string &text)
{
   const bool written = fwrite(text.data(), 1, text.size(), stdout) == text.size();
   return written && fflush(stdout) == 0 ? 0 : int(failure);
}

} // namespace

int print_info(const Arguments &arguments, const Installation &installation)
{
   const uint32_t loader = loader_version();
   const std::string loader_text = loader ? version_text(loader) : "not found";
   const Cache cache = find_cache();
   const std::vector<std::string> settings = settings_in_effect();
   std::string page;
   Json object = {{"version", WEFT_VERSION},
                  {"loader", loader ? Json(loader_text) : Json()},
                  {"driver_manifest", installation.driver.path.string()},
                  {"layer_manifest", installation.layer.path.string()}};

   bool has_matrices = false;
   for (const View &view : views_of(arguments)) {
      const Answer answer = ask(view, installation, loader, arguments.json);
      has_matrices = has_matrices || answer.has_matrices;
      if (arguments.json)
         object[view.key] = Json::parse(answer.text);
      else
         page += answer.text + "\n";
   }

   page += "Weft " WEFT_VERSION ", Vulkan loader " + loader_text + "\n";
   page += "  driver        " + path_or_problem(installation.driver) + "\n";
   page += "  layer         " + path_or_problem(installation.layer) + "\n";
   page += "  shader cache  " +
           (cache.folder.empty()
               ? "off"
               : cache.folder + ", " + megabytes(cache.bytes) + " of " + megabytes(cache.limit)) +
           "\n";
   for (const std::string &setting : settings)
      page += "  set           " + setting + "\n";
   object["cache"] =
      cache.folder.empty()
         ? Json()
         : Json({{"folder", cache.folder}, {"bytes", cache.bytes}, {"limit", cache.limit}});
   object["set"] = settings;
   object["has_matrices"] = has_matrices;
   if (print(arguments.json ? dump(object) + "\n" : page))
      return failure;
   return has_matrices ? 0 : no_matrices;
}

int print_driver_report(const Arguments &arguments, const Installation &installation)
{
   const Result<std::string> report =
      probe_as(arguments.choice, installation, loader_version(), [&] {
         const Result<std::string> text = read_driver_report(arguments.device);
         return text ? with_report + *text : without_report + text.error().message;
      });
   const std::string answer = report ? *report : without_report + report.error().message;
   if (answer[0] == with_report)
      return print(answer.substr(1));
   fprintf(stderr, "weft-run: %s\n", answer.c_str() + 1);
   return failure;
}

} // namespace weft::weft_run
