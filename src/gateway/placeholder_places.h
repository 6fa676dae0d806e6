// Where in a request a credential may stand, and what is said when it may not.
#pragma once

#include <cstdint>
#include <string_view>

#include "gateway/secret.h"
#include "rules/rules.h"

namespace caisson {

enum class SecretPlace { kHeader, kOtherHeader, kHeaderName, kUrl, kBody };

// False for headers that servers are known to repeat, forward or show (Host, Origin, Referer,
// User-Agent, …), and for those that steer the connection.
bool header_may_carry_secret(std::string_view name);
bool same_header(std::string_view a, std::string_view b);  // in any case

// No verdict tells a value or a placeholder: it goes into the log and back to the cell.
Verdict refuse_host(const Secret& secret, const Host& host, uint16_t port);
Verdict refuse_plain(const Secret& secret, const Host& host, uint16_t port);
Verdict refuse_place(const Secret& secret, const Host& host, uint16_t port, SecretPlace place);

}  // namespace caisson
