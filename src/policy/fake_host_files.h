// A host made up for a test: folders, files and links by name. Test code only.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "policy/host_files.h"
#include "policy/link_walk.h"
#include "policy/places.h"

namespace caisson {

class FakeHostFiles : public HostFiles {
 public:
  // Each makes its parents.
  FakeHostFiles& folder(const std::string& path) { return add(path, {Kind::kDirectory}); }
  FakeHostFiles& file(const std::string& path, const std::string& content = "") {
    return add(path, {Kind::kFile, content});
  }
  FakeHostFiles& program(const std::string& path, const std::string& content =
                                                      "\x7f"
                                                      "ELF") {
    return add(path, {Kind::kFile, content, "", true});
  }
  FakeHostFiles& link(const std::string& path, const std::string& target) {
    return add(path, {Kind::kFile, "", target});
  }
  FakeHostFiles& socket(const std::string& path) { return add(path, {Kind::kSocket}); }

  std::optional<FileIdentity> look(const std::string& path) const override {
    const Node* node = find(path);
    if (!node) return std::nullopt;
    return FileIdentity{node->kind, 1, node->inode, node->executable};
  }
  std::optional<FileIdentity> look_exactly(const std::string& path) const override {
    return canonical(path) == path ? look(path) : std::nullopt;
  }
  std::optional<std::string> canonical(const std::string& path) const override {
    LinkWalk walk = walk_links(path, *this);
    if (!walk.complete || (walk.end() != "/" && !nodes_.contains(walk.end()))) return std::nullopt;
    return walk.end();
  }
  std::optional<std::string> link_target(const std::string& path) const override {
    auto found = nodes_.find(path);
    if (found == nodes_.end() || found->second.link.empty()) return std::nullopt;
    return found->second.link;
  }
  std::optional<std::string> read(const std::string& path, size_t limit) const override {
    const Node* node = find(path);
    if (!node || node->kind != Kind::kFile) return std::nullopt;
    return node->content.substr(0, limit);
  }
  bool make_directory(const std::string& path) const override {
    made.push_back(path);
    nodes_[path] = {Kind::kDirectory, "", "", false, next_inode_++};
    return true;
  }

  mutable std::vector<std::string> made;

 private:
  using Kind = FileIdentity::Kind;
  struct Node {
    Kind kind;
    std::string content = {}, link = {};
    bool executable = false;
    uint64_t inode = 0;
  };

  FakeHostFiles& add(const std::string& path, Node node) {
    std::string parent(parent_of(path));
    if (parent != "/" && !nodes_.contains(parent)) folder(parent);
    node.inode = next_inode_++;
    nodes_[path] = std::move(node);
    return *this;
  }
  const Node* find(const std::string& path) const {
    static const Node kRoot{Kind::kDirectory};
    std::optional<std::string> end = canonical(path);
    if (!end) return nullptr;
    return *end == "/" ? &kRoot : &nodes_.at(*end);
  }

  mutable std::map<std::string, Node> nodes_;
  mutable uint64_t next_inode_ = 2;
};

// An ordinary user with a project, on an ordinary host.
struct FakeHost {
  FakeHostFiles files;
  Caller caller{.uid = 1000,
                .gid = 1000,
                .user_name = "ada",
                .home = "/home/ada",
                .cwd = "/home/ada/project",
                .environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"HOME", "/home/ada"}}};

  FakeHost() {
    files.folder("/home/ada/project/src").folder("/tmp").folder("/root").folder("/usr/local/bin");
    files.link("/bin", "usr/bin").program("/usr/bin/sh").program("/usr/bin/python3.11");
    files.program("/usr/bin/env").program("/usr/bin/true").program("/usr/bin/bash");
    files.link("/usr/bin/python3", "python3.11");
  }
};

}  // namespace caisson
