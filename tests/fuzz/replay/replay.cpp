// fuzz_replay CORPUS: what fuzzing has found stays checked by every test run. Each file of
// CORPUS/<target> goes through its target, which ends the program when something does not hold.
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>

#define FUZZ_TARGET(name) extern "C" int fuzz_one_##name(const uint8_t* data, size_t size);
#include "fuzz_targets.inc"
#undef FUZZ_TARGET

namespace {

struct Target {
  const char* name;
  int (*run)(const uint8_t* data, size_t size);
};

constexpr Target kTargets[] = {
#define FUZZ_TARGET(name) {#name, fuzz_one_##name},
#include "fuzz_targets.inc"
#undef FUZZ_TARGET
};

// In a buffer of exactly its size, so that the sanitizer sees a read of the byte behind it.
struct Input {
  size_t size;
  std::unique_ptr<uint8_t[]> bytes;
};

Input read_file(const std::filesystem::path& path) {
  size_t size = std::filesystem::file_size(path);
  Input input{size, std::make_unique<uint8_t[]>(size)};
  std::ifstream file(path, std::ios::binary);
  file.read(reinterpret_cast<char*>(input.bytes.get()), static_cast<std::streamsize>(size));
  return input;
}

size_t replay(const Target& target, const std::filesystem::path& folder) {
  size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    Input input = read_file(entry.path());
    std::fprintf(stderr, "\r%s/%s", target.name, entry.path().filename().c_str());
    target.run(input.bytes.get(), input.size);
    ++files;
  }
  std::fprintf(stderr, "\r%s: %zu inputs hold%*s\n", target.name, files, 40, "");
  return files;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: fuzz_replay CORPUS\n");
    return 2;
  }
  for (const Target& target : kTargets)
    if (replay(target, std::filesystem::path(argv[1]) / target.name) == 0) {
      std::fprintf(stderr, "%s: no corpus\n", target.name);
      return 1;
    }
  return 0;
}
