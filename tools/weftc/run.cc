// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#include "tools/weftc/run.h"

#include "tools/runner/bisect.h"
#include "tools/runner/compare.h"
#include "tools/runner/element_owner.h"
#include "tools/runner/isolated.h"
#include "tools/runner/shader_interface.h"
#include "tools/weftc/driver.h"
#include "tools/weftc/emit.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

namespace weft::weftc {

namespace {

using runner::Buffer;
using runner::MemoryType;
using runner::Path;
using runner::Scalar;
using runner::ScalarKind;

/// The size of a buffer if neither the shader nor the user specifies one.
constexpr uint64_t default_bytes = 65536;
constexpr uint64_t most_bytes = 1u << 30;

std::string text(const runner::BufferPlace &place)
{
   std::string text = std::to_string(place.set) + "." + std::to_string(place.binding);
   return place.element ? text + "." + std::to_string(place.element) : text;
}

/// Numbers for which sums and products up to a matrix's size are exact in any order. They are
/// multiples of 1/4 from -2 to 2, integers that may be indices, and all bytes.
uint64_t random_bits(const Scalar &scalar, std::mt19937_64 &random)
{
   const uint64_t bits = random();
   if (scalar.bytes == 1)
      return bits;
   if (scalar.kind != ScalarKind::floating)
      return bits % 256;
   const double value = (double(bits % 17) - 8) / 4;
   uint64_t result = 0;
   if (scalar.bytes == 2) {
      const auto half = _Float16(value);
      std::memcpy(&result, &half, sizeof(half));
   } else if (scalar.bytes == 4) {
      const auto single = float(value);
      std::memcpy(&result, &single, sizeof(single));
   } else {
      std::memcpy(&result, &value, sizeof(value));
   }
   return result;
}

std::vector<std::byte> random_bytes(uint64_t size, const MemoryType *type, std::mt19937_64 &random)
{
   std::vector<std::byte> bytes(size);
   for (uint64_t at = 0; at < size;) {
      Scalar scalar = {ScalarKind::integer, 1, at};
      if (const auto known = type ? type->scalar_at(at) : std::nullopt;
          known && known->offset == at && at + known->bytes <= size)
         scalar = *known;
      const uint64_t bits = random_bits(scalar, random);
      std::memcpy(bytes.data() + at, &bits, scalar.bytes);
      at += scalar.bytes;
   }
   return bytes;
}

Result<std::vector<std::byte>> read_file(const std::string &path)
{
   std::ifstream file(path, std::ios::binary);
   if (!file)
      return Error{path + ": " + strerror(errno)};
   const std::string text{std::istreambuf_iterator<char>(file), {}};
   if (file.bad() || text.size() > most_bytes)
      return Error{path + ": cannot be read, or is too large"};
   const auto *begin = reinterpret_cast<const std::byte *>(text.data());
   return std::vector<std::byte>(begin, begin + text.size());
}

/// A shader, its inputs and its paths.
class Session {
public:
   Session(const Arguments &arguments, std::span<const uint32_t> words) : arguments(arguments)
   {
      dispatch.source = source_of(arguments, words);
      interface = runner::read_interface(dispatch.source);
      dispatch.workgroups = arguments.workgroups;
   }

   /// Reads or generates the buffers, and lists them in `report`.
   Result<bool> prepare()
   {
      const uint64_t seed =
         arguments.seed ? *arguments.seed
                        : uint64_t(std::chrono::system_clock::now().time_since_epoch().count());
      report << "seed " << seed << "\n";
      for (const runner::DeclaredBuffer &declared : interface.buffers) {
         for (uint32_t element = 0; element < declared.count; element++) {
            const Result<bool> added = add_declared(declared, element, seed);
            if (!added)
               return added;
         }
      }
      for (const BufferArgument &given : arguments.buffers) {
         if (!index_of(given.place))
            return Error{"--buffer " + text(given.place) + ": the shader declares no such buffer"};
      }
      const Result<bool> constants = add_push_constants(seed);
      if (!constants)
         return constants;
      const Result<DescribedDriver> described = describe_driver(arguments);
      if (!described)
         return described.error();
      driver = described->driver;
      return true;
   }

   /// Completes a path with the command line's options, where the path's name says nothing.
   Path complete(Path path) const
   {
      if (!path.subgroup_size)
         path.subgroup_size = arguments.subgroup_size;
      if (!path.instruction_set)
         path.instruction_set = arguments.instruction_set;
      if (arguments.robust)
         path.robust_access = *arguments.robust;
      return path;
   }

   Path main_path() const { return complete(arguments.path.value_or(Path{})); }

   runner::IsolatedRun run(const Path &path, PassControl *control)
   {
      runner::CompileOptions options;
      options.driver = driver;
      options.control = control;
      return runner::run_isolated(dispatch, path, options,
                                  std::chrono::milliseconds(arguments.timeout_ms));
   }

   std::optional<size_t> index_of(const runner::BufferPlace &place) const
   {
      for (size_t i = 0; i < dispatch.buffers.size(); i++) {
         if (dispatch.buffers[i].place == place)
            return i;
      }
      return std::nullopt;
   }

   /// Describes a difference and the matrix element that it belongs to.
   void describe(const runner::Difference &d, const Path &owner_path)
   {
      report << "   buffer " << text(dispatch.buffers[d.buffer].place) << ", byte "
             << d.scalar.offset << " (" << d.scalar.name() << "): " << d.found << " instead of "
             << d.expected << "; values that differ: " << d.count << "\n";
      const auto owner = runner::find_owner(dispatch, owner_path, d.buffer, d.scalar.offset);
      if (!owner) {
         report << "   no matrix store was found to be the last writer\n";
         return;
      }
      const auto &[x, y, z] = owner->workgroup;
      report << "   element (row " << owner->row << ", column " << owner->col << ") of a matrix "
             << owner->matrix << ", stored by matrix store " << owner->store << " of the shader in "
             << "subgroup " << owner->subgroup << " of workgroup (" << x << ", " << y << ", " << z
             << ")\n   as tiles: component " << owner->in_tiles.component << " of invocation "
             << owner->in_tiles.invocation << "; as registers: component "
             << owner->in_registers.component << " of invocation " << owner->in_registers.invocation
             << "\n";
   }

   void describe(const std::vector<Buffer> &buffers)
   {
      constexpr unsigned shown = 8;
      for (const Buffer &buffer : buffers) {
         const MemoryType *type = runner::type_of(interface, buffer.place);
         report << "   buffer " << text(buffer.place) << ":";
         uint64_t at = 0;
         for (unsigned i = 0; i < shown && at < buffer.bytes.size(); i++) {
            Scalar scalar = {ScalarKind::integer, 1, at};
            if (const auto known = type ? type->scalar_at(at) : std::nullopt;
                known && known->offset == at && at + known->bytes <= buffer.bytes.size())
               scalar = *known;
            report << " " << runner::value_text(scalar, buffer.bytes.data() + at);
            at += scalar.bytes;
         }
         report << (at < buffer.bytes.size() ? " ...\n" : "\n");
      }
   }

   Result<bool> save(const std::vector<Buffer> &buffers) const
   {
      for (const SaveArgument &wanted : arguments.saves) {
         const std::optional<size_t> index = index_of(wanted.place);
         if (!index)
            return Error{"--save " + text(wanted.place) + ": the shader declares no such buffer"};
         const std::vector<std::byte> &bytes = buffers[*index].bytes;
         std::ofstream file(wanted.file, std::ios::binary);
         file.write(reinterpret_cast<const char *>(bytes.data()), std::streamsize(bytes.size()));
         file.close();
         if (!file)
            return Error{wanted.file + ": cannot be written"};
      }
      return true;
   }

   const Arguments &arguments;
   runner::Dispatch dispatch;
   runner::ShaderInterface interface;
   std::optional<spirv::Driver> driver;
   std::ostringstream report;

private:
   Result<bool> add_declared(const runner::DeclaredBuffer &declared, uint32_t element,
                             uint64_t seed)
   {
      const runner::BufferPlace place = {declared.set, declared.binding, element};
      const auto given = std::ranges::find(arguments.buffers, place, &BufferArgument::place);
      const bool sized = declared.type.size() > 0 && !declared.type.runtime_stride();
      uint64_t size = sized ? declared.type.size() : default_bytes;
      std::string contents = "random";
      Buffer buffer = {place, {}};
      if (given != arguments.buffers.end() && given->contents == BufferArgument::Contents::file) {
         Result<std::vector<std::byte>> read = read_file(given->file);
         if (!read)
            return read.error();
         buffer.bytes = std::move(*read);
         contents = "from " + given->file;
      } else {
         if (given != arguments.buffers.end())
            size = given->size;
         if (size > most_bytes)
            return Error{"buffer " + text(place) + " is larger than a gigabyte: --buffer " +
                         text(place) + "=random:BYTES"};
         if (given != arguments.buffers.end() &&
             given->contents == BufferArgument::Contents::zero) {
            buffer.bytes.resize(size);
            contents = "zeros";
         } else {
            /* The contents of a buffer depend on the seed and on its binding only. */
            std::seed_seq sequence = {uint32_t(seed), uint32_t(seed >> 32), declared.set,
                                      declared.binding, element};
            std::mt19937_64 random(sequence);
            buffer.bytes = random_bytes(size, &declared.type, random);
         }
      }
      report << "buffer " << text(place) << (declared.name.empty() ? "" : " " + declared.name)
             << ": " << buffer.bytes.size() << " bytes, " << contents;
      if (!sized && given == arguments.buffers.end())
         report << " (the shader declares no size: --buffer " << text(place) << "=random:BYTES)";
      report << "\n";
      dispatch.buffers.push_back(std::move(buffer));
      return true;
   }

   Result<bool> add_push_constants(uint64_t seed)
   {
      if (!arguments.push_constants.empty()) {
         std::istringstream values(arguments.push_constants);
         for (std::string value; std::getline(values, value, ',');) {
            const std::optional<ParsedValue> parsed = parse_value(value);
            const auto *bytes = reinterpret_cast<const std::byte *>(&parsed->bits);
            dispatch.push_constants.insert(dispatch.push_constants.end(), bytes,
                                           bytes + parsed->bytes);
         }
         return true;
      }
      if (!interface.push_constants)
         return true;
      const uint64_t size = interface.push_constants->size();
      if (size > 65536)
         return Error{"the push constants take " + std::to_string(size) + " bytes"};
      std::mt19937_64 random(seed);
      dispatch.push_constants = random_bytes(size, &*interface.push_constants, random);
      report << "push constants: " << size << " bytes, random\n";
      return true;
   }
};

/// The paths to compare with the first.
std::vector<Path> compared_paths(const Session &session)
{
   const Arguments &arguments = session.arguments;
   std::vector<Path> paths = arguments.compared;
   const Path first = session.main_path();
   if (arguments.compare_all) {
      for (const Path &path : runner::all_paths(first.subgroup_size, first.robust_access)) {
         if (!arguments.instruction_set || path.instruction_set == arguments.instruction_set)
            paths.push_back(path);
      }
   }
   for (Path &path : paths)
      path = session.complete(path);
   std::erase(paths, first);
   return paths;
}

} // namespace

Result<Outcome> run_shader(const Arguments &arguments, std::span<const uint32_t> words)
{
   Session session(arguments, words);
   const Result<bool> prepared = session.prepare();
   if (!prepared)
      return prepared.error();
   SelectedPasses selected(arguments.passes);

   const Path first = session.main_path();
   const runner::IsolatedRun expected = session.run(first, &selected.control);
   if (!expected.buffers)
      return Error{runner::name(first) + ": " + expected.buffers.error().message};
   session.report << runner::name(first) << ": ran\n";
   const std::vector<Path> others = compared_paths(session);
   if (others.empty())
      session.describe(*expected.buffers);

   Status status = Status::success;
   for (const Path &path : others) {
      const runner::IsolatedRun found = session.run(path, &selected.control);
      session.report << runner::name(path) << ": ";
      if (!found.buffers) {
         session.report << found.buffers.error().message << "\n";
         status = status == Status::success ? Status::failure : status;
         continue;
      }
      const auto difference =
         runner::compare(*expected.buffers, *found.buffers, session.interface, arguments.tolerance);
      session.report << (difference ? "differs from " : "agrees with ") << runner::name(first)
                     << "\n";
      if (difference) {
         session.describe(*difference, first);
         status = Status::disagreement;
      }
   }
   const Result<bool> saved = session.save(*expected.buffers);
   if (!saved)
      return saved.error();
   return Outcome{status, session.report.str()};
}

Result<Outcome> bisect_shader(const Arguments &arguments, std::span<const uint32_t> words)
{
   Session session(arguments, words);
   const Result<bool> prepared = session.prepare();
   if (!prepared)
      return prepared.error();
   const auto run_limited = [&](const Path &path, uint32_t limit) {
      PassSelection selection;
      selection.limit = limit;
      SelectedPasses selected(selection);
      return session.run(path, &selected.control);
   };

   const Path suspect = session.main_path();
   const Path reference = arguments.reference ? session.complete(*arguments.reference) : suspect;
   const runner::IsolatedRun expected =
      run_limited(reference, arguments.reference ? UINT32_MAX : 0);
   const std::string reference_name =
      runner::name(reference) + (arguments.reference ? "" : " without optional passes");
   if (!expected.buffers)
      return Error{"the reference, " + reference_name + ": " + expected.buffers.error().message};

   const Result<runner::Culprit> culprit = runner::bisect([&](uint32_t limit) {
      const runner::IsolatedRun run = run_limited(suspect, limit);
      const bool good = run.buffers && !runner::compare(*expected.buffers, *run.buffers,
                                                        session.interface, arguments.tolerance);
      return runner::Trial{good, run.optional_passes, run.last_optional_pass};
   });
   if (!culprit)
      return Error{runner::name(suspect) + " against " + reference_name + ": " +
                   culprit.error().message};
   session.report << runner::name(suspect) << " goes wrong with " << culprit->pass
                  << ", optional pass number " << culprit->number << ":\n";
   const runner::IsolatedRun wrong = run_limited(suspect, culprit->number);
   if (!wrong.buffers) {
      session.report << "   " << wrong.buffers.error().message << "\n";
   } else if (const auto difference = runner::compare(*expected.buffers, *wrong.buffers,
                                                      session.interface, arguments.tolerance)) {
      session.describe(*difference, reference);
   }
   session.report << "it is seen with --emit=passes --pass-limit " << culprit->number << "\n";
   return Outcome{Status::success, session.report.str()};
}

} // namespace weft::weftc
