#include "places.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

namespace caisson::boundary {

namespace fs = std::filesystem;

static std::string variable_or(const char* name, const char* otherwise) {
  const char* value = ::getenv(name);
  return value && *value ? value : otherwise;
}

std::string caisson_binary() { return variable_or("CAISSON_BIN", CAISSON_DEFAULT_BIN); }
std::string probe_folder() { return variable_or("CAISSON_PROBES", CAISSON_DEFAULT_PROBES); }
bool as_root() { return ::geteuid() == 0; }

bool landlock_has_scopes() {
  constexpr long kCreateRuleset = 444, kQueryVersion = 1;
  return ::syscall(kCreateRuleset, nullptr, 0L, kQueryVersion) >= 6;
}

std::string home_folder() {
  static TempFolder home;
  return home.path();
}

TempFolder::TempFolder() {
  path_ = fs::canonical(variable_or("TMPDIR", "/tmp")).string() + "/caisson-boundary-XXXXXX";
  if (!::mkdtemp(path_.data())) ::perror(path_.c_str()), ::abort();
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_file(const std::string& path, const std::string& text) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(::fopen(path.c_str(), "we"), ::fclose);
  if (!file || ::fwrite(text.data(), 1, text.size(), file.get()) != text.size())
    ::perror(path.c_str()), ::abort();
}

std::string read_file(const std::string& path) {
  std::unique_ptr<FILE, int (*)(FILE*)> file(::fopen(path.c_str(), "re"),
                                             [](FILE* one) { return one ? ::fclose(one) : 0; });
  std::string text;
  char buffer[65536];
  for (size_t size; file && (size = ::fread(buffer, 1, sizeof buffer, file.get())) > 0;)
    text.append(buffer, size);
  return text;
}

bool exists(const std::string& path) {
  struct stat info;
  return ::lstat(path.c_str(), &info) == 0;
}

void make_folder(const std::string& path) { fs::create_directories(path); }

void copy_program(const std::string& from, const std::string& to, unsigned mode) {
  fs::copy_file(from, to, fs::copy_options::overwrite_existing);
  if (::chmod(to.c_str(), mode) != 0) ::perror(to.c_str()), ::abort();
}

std::string random_word() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) ::abort();
  std::string word;
  for (unsigned char byte : bytes) word += static_cast<char>('a' + byte % 26);
  return word;
}

}  // namespace caisson::boundary
