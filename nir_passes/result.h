// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace weft {

/// Why something could not be done, in words for the person whose shader or file it was.
struct Error {
   std::string message;
};

/// A value, or the Error that stands in its place.  Nothing in Weft throws.
template <typename T>
class [[nodiscard]] Result {
public:
   Result(T value) : state(std::move(value)) {}
   Result(Error error) : state(std::move(error)) {}

   explicit operator bool() const { return std::holds_alternative<T>(state); }

   T &operator*() { return std::get<T>(state); }
   const T &operator*() const { return std::get<T>(state); }
   T *operator->() { return &std::get<T>(state); }
   const T *operator->() const { return &std::get<T>(state); }

   const Error &error() const { return std::get<Error>(state); }

private:
   std::variant<T, Error> state;
};

} // namespace weft
