// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weft_run/report.h"

#include "shader_cache/cache_settings.h"
#include "tools/weft_run/environment.h"
#include "tools/weft_run/json.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace weft::weft_run {

namespace fs = std::filesystem;

namespace {

/// Enough for a driver that wakes a GPU.
constexpr unsigned probe_seconds = 60;
/// The last byte of a child's output.
constexpr char with_matrices = 'y', without_matrices = 'n';

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

std::string as_json(const FoundDevice &device)
{
   using json::quote;
   json::Array extensions, operations;
   for (const MatrixExtension &extension : device.extensions) {
      json::Object member;
      member.add("name", quote(extension.name));
      member.add("support", quote(support_name(extension.support)));
      if (!extension.reason.empty())
         member.add("reason", quote(extension.reason));
      extensions.add(member.text());
   }
   for (const MatrixOperation &o : device.operations)
      operations.add(json::Object()
                        .add("m", std::to_string(o.m))
                        .add("n", std::to_string(o.n))
                        .add("k", std::to_string(o.k))
                        .add("a", quote(o.a))
                        .add("b", quote(o.b))
                        .add("c", quote(o.c))
                        .add("result", quote(o.result))
                        .add("saturating", o.saturating ? "true" : "false")
                        .add("scope", quote(o.scope))
                        .text());
   return json::Object()
      .add("name", quote(device.name))
      .add("type", quote(device.type))
      .add("vendor_id", std::to_string(device.vendor_id))
      .add("device_id", std::to_string(device.device_id))
      .add("api_version", quote(version_text(device.api_version)))
      .add("driver", quote(device.driver))
      .add("driver_info", quote(device.driver_info))
      .add("subgroup_size", std::to_string(device.subgroup_size))
      .add("min_subgroup_size", std::to_string(device.min_subgroup_size))
      .add("max_subgroup_size", std::to_string(device.max_subgroup_size))
      .add("extensions", extensions.text())
      .add("operations", operations.text())
      .text();
}

std::string headline(const View &view)
{
   return view.title + "\n";
}

/// The text in place of devices.
std::string failure_text(const View &view, const std::string &error)
{
   return headline(view) + "  " + error + "\n";
}
std::string failure_json(const std::string &error)
{
   return json::Object().add("error", json::quote(error)).add("devices", "[]").text();
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

void write_all(int file, const std::string &text)
{
   for (size_t at = 0; at < text.size();) {
      const ssize_t written = write(file, text.data() + at, text.size() - at);
      if (written <= 0)
         return;
      at += size_t(written);
   }
}

/// Runs in the child.
[[noreturn]] void look(const View &view, const Installation &installation, uint32_t loader,
                       bool as_json_text, int out)
{
   alarm(probe_seconds);
   apply(plan_environment(view.choice, installation, loader, variable));
   const Findings findings = find_devices();
   const bool found =
      std::ranges::any_of(findings.devices, [](const auto &d) { return d.has_matrices(); });
   write_all(out, (as_json_text ? as_json(findings) : as_text(view, findings)) +
                     (found ? with_matrices : without_matrices));
   _exit(0);
}

/// Probes in a child process, because it loads arbitrary drivers, which may crash.
Answer ask(const View &view, const Installation &installation, uint32_t loader, bool as_json_text)
{
   const auto fail = [&](const std::string &error) {
      return Answer{as_json_text ? failure_json(error) : failure_text(view, error), false};
   };
   if (const std::string problem = find_problem(view.choice, installation); !problem.empty())
      return fail(problem);
   int ends[2];
   const pid_t child = pipe(ends) == 0 ? fork() : -1;
   if (child < 0)
      return fail(std::string("no process can be made: ") + strerror(errno));
   if (child == 0) {
      close(ends[0]);
      look(view, installation, loader, as_json_text, ends[1]);
   }
   close(ends[1]);
   std::string text;
   char buffer[4096];
   for (;;) {
      const ssize_t size = read(ends[0], buffer, sizeof(buffer));
      if (size < 0 && errno == EINTR)
         continue;
      if (size <= 0)
         break;
      text.append(buffer, size_t(size));
   }
   close(ends[0]);
   int status = 0;
   while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
   }
   if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
      return fail("a driver did not answer for " + std::to_string(probe_seconds) + " seconds");
   if (WIFSIGNALED(status))
      return fail(std::string("a driver crashed the process that loaded it: ") +
                  strsignal(WTERMSIG(status)));
   if (text.empty() || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
      return fail("a driver ended the process that loaded it");
   const bool found = text.back() == with_matrices;
   text.pop_back();
   return {std::move(text), found};
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

} // namespace

std::string as_text(const View &view, const Findings &findings)
{
   std::string text = headline(view);
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

std::string as_json(const Findings &findings)
{
   json::Array messages, devices;
   for (const std::string &message : findings.messages)
      messages.add(json::quote(message));
   for (const FoundDevice &device : findings.devices)
      devices.add(as_json(device));
   json::Object object;
   if (!findings.error.empty())
      object.add("error", json::quote(findings.error));
   return object.add("layer", findings.layer_answers ? "true" : "false")
      .add("messages", messages.text())
      .add("devices", devices.text())
      .text();
}

int print_info(const Arguments &arguments, const Installation &installation)
{
   const uint32_t loader = loader_version();
   const std::string loader_text = loader ? version_text(loader) : "not found";
   const Cache cache = find_cache();
   const std::vector<std::string> settings = settings_in_effect();
   std::string page;
   json::Object object;
   object.add("version", json::quote(WEFT_VERSION));
   object.add("loader", loader ? json::quote(loader_text) : "null");
   object.add("driver_manifest", json::quote(installation.driver.path.string()));
   object.add("layer_manifest", json::quote(installation.layer.path.string()));

   bool has_matrices = false;
   for (const View &view : views_of(arguments)) {
      const Answer answer = ask(view, installation, loader, arguments.json);
      has_matrices = has_matrices || answer.has_matrices;
      page += answer.text + "\n";
      object.add(view.key, answer.text);
   }

   page += "Weft " WEFT_VERSION ", Vulkan loader " + loader_text + "\n";
   page += "  driver        " + path_or_problem(installation.driver) + "\n";
   page += "  layer         " + path_or_problem(installation.layer) + "\n";
   page += "  shader cache  " +
           (cache.folder.empty()
               ? "off"
               : cache.folder + ", " + megabytes(cache.bytes) + " of " + megabytes(cache.limit)) +
           "\n";
   json::Array set;
   for (const std::string &setting : settings) {
      page += "  set           " + setting + "\n";
      set.add(json::quote(setting));
   }
   object.add("cache", cache.folder.empty() ? "null"
                                            : json::Object()
                                                 .add("folder", json::quote(cache.folder))
                                                 .add("bytes", std::to_string(cache.bytes))
                                                 .add("limit", std::to_string(cache.limit))
                                                 .text());
   object.add("set", set.text());
   object.add("has_matrices", has_matrices ? "true" : "false");
   const std::string text = arguments.json ? object.text() + "\n" : page;
   if (fwrite(text.data(), 1, text.size(), stdout) != text.size() || fflush(stdout))
      return failure;
   return has_matrices ? 0 : no_matrices;
}

} // namespace weft::weft_run
