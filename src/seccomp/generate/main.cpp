// seccomp_generate x86_64|arm64 FILE: writes a header with the filters of that architecture.
#include <fmt/format.h>
#include <stdio.h>

#include <cstring>

#include "seccomp/generate/compile.h"

namespace caisson {
namespace {

struct Named {
  FilterName filter;
  const char* constant;
};
// In the order of FilterName, by which the array at the end is looked up.
constexpr Named kFilters[] = {{FilterName::kStandard, "kStandard"},
                              {FilterName::kNested, "kNested"},
                              {FilterName::kNoSockets, "kNoSockets"},
                              {FilterName::kInit, "kInit"},
                              {FilterName::kGateway, "kGateway"},
                              {FilterName::kNames, "kNames"},
                              {FilterName::kNamesAndRemovals, "kNamesAndRemovals"},
                              {FilterName::kNamesAndReads, "kNamesAndReads"},
                              {FilterName::kWarden, "kWarden"},
                              {FilterName::kServer, "kServer"},
                              {FilterName::kHttpServer, "kHttpServer"}};

std::string array_text(const std::string& name, const std::vector<sock_filter>& code) {
  std::string text = fmt::format("\n// {} instructions\ninline constexpr sock_filter {}[] = {{\n",
                                 code.size(), name);
  for (const sock_filter& op : code)
    text += fmt::format("    {{0x{:02x}, {}, {}, 0x{:08x}}},\n", op.code, op.jt, op.jf, op.k);
  return text + "};\n";
}

Result<std::string> header_text(Arch arch, const char* arch_name) {
  std::string text = fmt::format(
      "// Made by seccomp_generate from src/seccomp/generate.\n#pragma once\n\n"
      "#include <linux/filter.h>\n\n#include <span>\n\nnamespace caisson::generated_{} {{\n",
      arch_name);
  std::string index;
  for (const Named& one : kFilters) {
    std::string name = one.constant, with_notify = name;
    text += array_text(name, compile(TRY(make_table(arch, one.filter, false))));
    if (one.filter != FilterName::kInit && one.filter != FilterName::kGateway &&
        one.filter != FilterName::kWarden && one.filter != FilterName::kServer &&
        one.filter != FilterName::kHttpServer) {
      with_notify += "NotifyExec";
      text += array_text(with_notify, compile(TRY(make_table(arch, one.filter, true))));
    }
    index += fmt::format("    {{{}, {}}},\n", name, with_notify);
  }
  return text + "\ninline constexpr std::span<const sock_filter> kFilters[][2] = {\n" + index +
         "};\n\n}  // namespace\n";
}

int generate(const char* arch_name, const char* path) {
  Arch arch = std::strcmp(arch_name, "arm64") == 0 ? Arch::kArm64 : Arch::kX86_64;
  Result<std::string> text = header_text(arch, arch_name);
  if (!text) {
    fmt::print(stderr, "seccomp_generate: {}\n", text.error().what);
    return 1;
  }
  FILE* file = ::fopen(path, "we");
  bool written = file && ::fwrite(text->data(), 1, text->size(), file) == text->size();
  if (file) written = ::fclose(file) == 0 && written;
  if (!written) ::perror(path);
  return written ? 0 : 1;
}

}  // namespace
}  // namespace caisson

int main(int argc, char** argv) {
  if (argc == 3) return caisson::generate(argv[1], argv[2]);
  fmt::print(stderr, "usage: seccomp_generate x86_64|arm64 FILE\n");
  return 2;
}
