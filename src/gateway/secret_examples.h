// Secrets for tests: fixed placeholders, so that a test reads like what it checks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "gateway/secret.h"
#include "rules/host.h"

namespace caisson::examples {

inline std::string placeholder(std::string_view name, char digit = '0') {
  return "caisson_" + std::string(name) + "_" + std::string(32, digit);
}

inline Secret secret(std::string_view name, std::string value, std::vector<std::string> hosts,
                     char digit = '0') {
  return {.name = std::string(name),
          .value = std::move(value),
          .hosts = std::move(hosts),
          .placeholder = placeholder(name, digit)};
}

inline std::unique_ptr<Secrets> table(std::vector<Secret> secrets) {
  return std::move(Secrets::make(std::move(secrets))).value();
}

inline Host host(std::string_view text) { return *parse_host(text); }

}  // namespace caisson::examples
