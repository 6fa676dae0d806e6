#include "web/snapshots.h"

#include <fcntl.h>
#include <sys/random.h>
#include <unistd.h>

#include <cstdlib>

#include <fmt/format.h>

#include "base/scope_exit.h"
#include "base/text.h"
#include "session/answers.h"
#include "web/base64.h"
#include "web/calls.h"
#include "web/files.h"

namespace caisson::web {
namespace {

namespace json = boost::json;
using session::CallAnswer;

std::string passing_path(const Api& api) {
  unsigned char bytes[12];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes) ::abort();
  return api.options().state_folder + "/passing-" + hex(bytes);
}

Error unwell(const CallAnswer& answer, std::string_view doing) {
  return Error::plain(fmt::format("{}: {}", doing, session::reason_of(answer)));
}

Result<std::string> read_file(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd) return Error::system("read the snapshot");
  std::string text;
  char bytes[65536];
  for (;;) {
    ssize_t got = ::read(fd.get(), bytes, sizeof bytes);
    if (got < 0) return Error::system("read the snapshot");
    if (got == 0) return text;
    text.append(bytes, static_cast<size_t>(got));
  }
}

Result<void> write_file(const std::string& path, std::string_view bytes) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd) return Error::system("keep the snapshot");
  while (!bytes.empty()) {
    ssize_t put = ::write(fd.get(), bytes.data(), bytes.size());
    if (put < 0) return Error::system("keep the snapshot");
    bytes.remove_prefix(static_cast<size_t>(put));
  }
  return {};
}

json::object report_of(const CallAnswer& answer) {
  json::object report;
  for (std::string_view name : {"saved", "skipped", "bytes", "sha256", "restored", "failed"})
    if (const json::value* found = answer.result.if_contains(name)) report[name] = *found;
  return report;
}

// The file between is nobody's business: what is wrong is wrong with what the client has sent.
Error about_data(Error error, const std::string& path) {
  for (size_t at; (at = error.what.find(path)) != std::string::npos;)
    error.what.replace(at, path.size(), "the snapshot");
  return error;
}

Result<std::string> data_of(std::string_view body) {
  json::object object = TRY(parse_object(body));
  std::string text = TRY(needed_text(object, "data"));
  std::optional<std::string> data = base64_decode(text);
  if (!data)
    return Error{"\"data\" is not base64", "what GET …/snapshot or `session snapshot save` gave",
                 EINVAL};
  return std::move(*data);
}

}  // namespace

Task<Result<json::object>> take_snapshot(Api& api, http::Reply& reply, EntryPtr entry) {
  std::string path = passing_path(api);
  ScopeExit remove([&] { ::unlink(path.c_str()); });
  Watch watch(reply, entry);
  Result<Turn> turn = co_await watch.take_turn();
  if (!turn.ok()) co_return turn.error();
  Result<CallAnswer> answer = co_await entry->session->save(path, kMostSnapshotData);
  if (!answer.ok()) co_return std::move(answer).error();
  if (!answer->ok()) co_return unwell(*answer, "the snapshot was not taken");
  Result<std::string> data = read_file(path);
  if (!data.ok()) co_return std::move(data).error();
  json::object report = report_of(*answer);
  report["data"] = base64(*data);
  co_return report;
}

Task<Result<json::object>> put_snapshot_back(Api& api, http::Reply& reply, EntryPtr entry,
                                             std::string body) {
  Result<std::string> data = data_of(body);
  if (!data.ok()) co_return std::move(data).error();
  std::string path = passing_path(api);
  ScopeExit remove([&] { ::unlink(path.c_str()); });
  Result<void> written = write_file(path, *data);
  if (!written.ok()) co_return std::move(written).error();
  Watch watch(reply, entry);
  Result<Turn> turn = co_await watch.take_turn();
  if (!turn.ok()) co_return turn.error();
  Result<CallAnswer> answer = co_await entry->session->unsave(path);
  if (!answer.ok()) co_return about_data(std::move(answer).error(), path);
  if (!answer->ok()) co_return unwell(*answer, "the snapshot was not restored");
  co_return report_of(*answer);
}

}  // namespace caisson::web
