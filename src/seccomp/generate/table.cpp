#include "seccomp/generate/table.h"

#include <fmt/format.h>
#include <linux/audit.h>
#include <seccomp.h>

#include <optional>
#include <set>

#include "seccomp/generate/groups.h"

namespace caisson {

namespace {

// The number of a call; nothing if this architecture lacks it.
Result<std::optional<uint32_t>> number_of(const std::string& name, Arch arch) {
  uint32_t token = arch == Arch::kX86_64 ? SCMP_ARCH_X86_64 : SCMP_ARCH_AARCH64;
  int number = ::seccomp_syscall_resolve_name_arch(token, name.c_str());
  for (const KnownNumber& known : newer_calls(arch)) {
    if (known.name != name) continue;
    if (number >= 0 && number != known.number)
      return Error::plain(fmt::format("libseccomp says that {} is {}, the table says {}", name,
                                      number, known.number));
    return std::optional<uint32_t>(known.number);
  }
  for (const KnownNumber& elsewhere : newer_calls(Arch::kX86_64))
    if (elsewhere.name == name) return std::optional<uint32_t>();
  if (number == __NR_SCMP_ERROR) return Error::plain(fmt::format("no system call {}", name));
  if (number < 0) return std::optional<uint32_t>();  // libseccomp's mark for "not on this one"
  return std::optional<uint32_t>(number);
}

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> out;
  for (size_t start = 0, end; start < text.size(); start = end + 1) {
    end = std::min(text.find(' ', start), text.size());
    if (end > start) out.emplace_back(text.substr(start, end - start));
  }
  return out;
}

// Adds `groups` to the table, in place of what it says already about the same calls.
Result<void> put_in(Table& table, const std::vector<Group>& groups) {
  std::set<std::string> seen;
  for (const Group& group : groups) {
    for (const std::string& name : words(group.calls)) {
      if (!seen.insert(name).second)
        return Error::plain(fmt::format("{} is in two groups, \"{}\" is one", name, group.name));
      if (auto number = TRY(number_of(name, table.arch))) table.rules[*number] = group.rule;
    }
  }
  return {};
}

}  // namespace

Result<Table> make_table(Arch arch, FilterName filter, bool notify_exec) {
  Table table{arch, unlisted_verdict(filter), {}};
  if (filter == FilterName::kInit) {
    TRY(put_in(table, init_groups()));
    return table;
  }
  if (filter == FilterName::kGateway) {
    TRY(put_in(table, gateway_groups()));
    return table;
  }
  if (filter == FilterName::kServer || filter == FilterName::kHttpServer) {
    TRY(put_in(table, server_groups()));
    if (filter == FilterName::kHttpServer) TRY(put_in(table, listener_groups()));
    return table;
  }
  if (filter == FilterName::kWarden) {
    TRY(put_in(table, warden_groups()));
    return table;
  }
  TRY(put_in(table, standard_groups()));
  if (filter == FilterName::kNames) TRY(put_in(table, names_groups(Asking::kNames)));
  if (filter == FilterName::kNamesAndRemovals)
    TRY(put_in(table, names_groups(Asking::kNamesAndRemovals)));
  if (filter == FilterName::kNamesAndReads)
    TRY(put_in(table, names_groups(Asking::kNamesAndReads)));
  if (filter == FilterName::kNested) TRY(put_in(table, nested_groups()));
  if (filter == FilterName::kNoSockets) TRY(put_in(table, no_sockets_groups()));
  if (notify_exec) TRY(put_in(table, notify_exec_groups()));
  return table;
}

uint32_t audit_arch(Arch arch) {
  return arch == Arch::kX86_64 ? AUDIT_ARCH_X86_64 : AUDIT_ARCH_AARCH64;
}

}  // namespace caisson
