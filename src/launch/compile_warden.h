// WardenPlan → warden::Rules, with the storage that its pointers point into.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "warden/rules.h"

namespace caisson {

class CompiledWarden {
 public:
  void compile(const WardenPlan&, int report_fd);
  const warden::Rules* rules() const { return &rules_; }

 private:
  const warden::Pattern* patterns(const std::vector<FilePattern>& from, uint32_t& count);
  warden::Pattern pattern(const FilePattern&);
  const std::string& keep(std::string text);

  warden::Rules rules_{};
  std::deque<std::string> strings_;
  std::deque<std::vector<warden::Part>> parts_;
  std::deque<std::vector<warden::Pattern>> patterns_;
  std::vector<const char*> sockets_;
};

}  // namespace caisson
