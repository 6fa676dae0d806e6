// Small text tools that the standard library lacks.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace caisson {

// Of ASCII alone, whatever the locale.
constexpr char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trim(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);

// The candidate nearest to `word` when it is near enough to be a typo, else "".
std::string_view nearest(std::string_view word, std::span<const std::string_view> candidates);

// A word as a person would type it into a POSIX shell.
std::string shell_quote(std::string_view word);

// Controls, also invisible ones, made visible (\x1b): a cell's text steers no terminal and no
// reader.
std::string printable(std::string_view text);

bool is_valid_utf8(std::string_view text);
std::string base64(std::string_view bytes);
std::string hex(std::span<const unsigned char> bytes);

}  // namespace caisson
