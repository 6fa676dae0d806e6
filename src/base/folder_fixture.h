// For tests: a folder of their own, gone at their end with all that is in it.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>

namespace caisson {

class FolderFixture : public testing::Test {
 protected:
  FolderFixture() {
    char name[] = "/tmp/caisson-test-XXXXXX";
    top_ = std::filesystem::canonical(::mkdtemp(name)).string();
  }
  ~FolderFixture() override {
    std::error_code ignored;
    std::filesystem::remove_all(top_, ignored);
  }

  std::string top_;  // its real path
};

}  // namespace caisson
