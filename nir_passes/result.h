// SPDX-FileCopyrightText: The Weft authors
// SPDX-License-Identifier: MIT

#pragma once

#include <cassert>
#include <string>
#include <utility>
#include <variant>

namespace weft {

/// The reason of a failure, in words for the author of the shader or file.
struct Error {
   std::string message;
};

/// A value, or an Error in its place. Weft reports no error by an exception.
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
