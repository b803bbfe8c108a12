// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tests/modules/module.h"

#include "tests/modules/formula.h"

#include "spirv-tools/libspirv.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>
#include <stdexcept>

namespace weft::modules {

namespace {

constexpr ComponentType types[] = {
   ComponentType::f16, ComponentType::f32, ComponentType::bf16,
   ComponentType::s8,  ComponentType::u8,  ComponentType::s16,
   ComponentType::u16, ComponentType::s32, ComponentType::u32,
};

ComponentType type_named(const std::string &name)
{
   for (const ComponentType type : types) {
      if (oracle::format(type).name == name)
         return type;
   }
   throw std::runtime_error("a buffer of " + name + ", which is no known type");
}

/// "0: in, 256 of f32, written".
ModuleBuffer parse_buffer(const std::string &line, size_t number)
{
   char name[32], type[8];
   unsigned binding, count;
   int used = 0;
   if (sscanf(line.c_str(), "%u: %31[a-z0-9_], %u of %7[a-z0-9]%n", &binding, name, &count, type,
              &used) != 4 ||
       binding != number)
      throw std::runtime_error("buffer " + std::to_string(number) + " is missing before: " + line);
   ModuleBuffer buffer = {name, type_named(type), count, {}, false};
   std::string rest = line.substr(size_t(used));
   if (rest == ", written") {
      buffer.written = true;
   } else if (rest.starts_with(" = ")) {
      std::istringstream numbers(rest.substr(3));
      for (std::string one; std::getline(numbers, one, ',');)
         buffer.given.push_back(std::stod(one));
      if (buffer.given.size() != count)
         throw std::runtime_error(buffer.name + " has not as many numbers as it says");
   } else if (!rest.empty()) {
      throw std::runtime_error("a buffer that is" + rest);
   }
   return buffer;
}

double element(const ModuleBuffer &buffer, const std::vector<std::byte> &bytes, size_t i)
{
   const oracle::Format &format = oracle::format(buffer.type);
   const void *at = &bytes[i * format.bytes];
   return format.is_float ? oracle::decode_float(buffer.type, at)
                          : double(oracle::decode_int(buffer.type, at));
}

std::optional<std::string> difference_of(const Module &module, const Statement &statement,
                                         const Contents &after)
{
   const Lookup lookup = [&](const std::string &name, double index) {
      const auto buffer = std::ranges::find(module.buffers, name, &ModuleBuffer::name);
      if (buffer == module.buffers.end())
         throw std::runtime_error("there is no buffer " + name);
      if (!(index >= 0 && index < buffer->count))
         return std::numeric_limits<double>::quiet_NaN();
      return element(*buffer, after[size_t(buffer - module.buffers.begin())], size_t(index));
   };
   const ModuleBuffer &buffer = module.buffers[statement.buffer];
   size_t differing = 0;
   std::string first;
   for (uint32_t i = 0; i < buffer.count; i++) {
      const double expected = evaluate(statement.formula, i, lookup),
                   found = element(buffer, after[statement.buffer], i);
      if (expected == found)
         continue;
      if (differing++ == 0)
         first = buffer.name + "[" + std::to_string(i) + "] is " + std::to_string(found) +
                 ", not " + std::to_string(expected);
   }
   if (differing == 0)
      return std::nullopt;
   return first + " (" + std::to_string(differing) + " of " + std::to_string(buffer.count) +
          " differ)";
}

} // namespace

Module parse_module(const std::string &name, const std::string &text)
{
   Module module = {name, text, {}, {}, {}};
   std::istringstream lines(text);
   for (std::string line; std::getline(lines, line) && line.starts_with(";");) {
      line.erase(0, line.find_first_not_of("; "));
      const size_t bracket = line.find("[i] = ");
      if (line.starts_with("refused: ")) {
         module.refusal = line.substr(9);
      } else if (line.starts_with("buffer ")) {
         module.buffers.push_back(parse_buffer(line.substr(7), module.buffers.size()));
      } else if (bracket != std::string::npos && line.find(' ') > bracket) {
         const auto buffer =
            std::ranges::find(module.buffers, line.substr(0, bracket), &ModuleBuffer::name);
         if (buffer == module.buffers.end() || !buffer->written)
            throw std::runtime_error(name + ": of no buffer that is written: " + line);
         module.statements.push_back(
            {size_t(buffer - module.buffers.begin()), line.substr(bracket + 6)});
      }
   }
   if (module.statements.empty() == module.refusal.empty())
      throw std::runtime_error(name + " does not say what it computes");
   return module;
}

std::vector<Module> written_modules()
{
   std::vector<Module> modules;
   for (const auto &entry : std::filesystem::directory_iterator(WEFT_MODULES)) {
      if (entry.path().extension() != ".spvasm")
         continue;
      std::ifstream file(entry.path());
      const std::string text{std::istreambuf_iterator<char>(file), {}};
      modules.push_back(parse_module(entry.path().stem().string(), text));
   }
   std::ranges::sort(modules, {}, &Module::name);
   return modules;
}

Contents initial_contents(const Module &module, oracle::Random &random)
{
   Contents contents;
   for (const ModuleBuffer &buffer : module.buffers) {
      const uint32_t bytes = oracle::format(buffer.type).bytes;
      std::vector<std::byte> &of_buffer = contents.emplace_back(buffer.count * bytes);
      if (buffer.written)
         oracle::fill_poison(of_buffer);
      else if (buffer.given.empty())
         oracle::fill_random(random, buffer.type, oracle::Inputs::whole, of_buffer);
      for (size_t i = 0; i < buffer.given.size(); i++)
         oracle::encode_number(buffer.type, buffer.given[i], &of_buffer[i * bytes]);
   }
   return contents;
}

std::optional<std::string> find_difference(const Module &module, const Contents &before,
                                           const Contents &after)
{
   for (size_t b = 0; b < module.buffers.size(); b++) {
      const ModuleBuffer &buffer = module.buffers[b];
      const size_t bytes = oracle::format(buffer.type).bytes;
      for (size_t i = 0; i < buffer.count; i++) {
         const bool same = memcmp(&before[b][i * bytes], &after[b][i * bytes], bytes) == 0;
         if (same == buffer.written && (bytes > 1 || !same))
            return buffer.name + "[" + std::to_string(i) + "] is " +
                   (same ? "not written" : "written");
      }
   }
   for (const Statement &statement : module.statements) {
      if (auto difference = difference_of(module, statement, after))
         return difference;
   }
   return std::nullopt;
}

} // namespace weft::modules
