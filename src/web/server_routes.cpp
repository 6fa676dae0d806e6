// The server itself: health, metrics, and the document that describes the API.
#include <fmt/format.h>

#include <unistd.h>

#include "web/calls.h"
#include "web/openapi.h"

namespace caisson::web {
namespace {

namespace json = boost::json;

class Exposition {
 public:
  void counter(std::string_view name, std::string_view help, double value) {
    one(name, help, "counter", value);
  }
  void gauge(std::string_view name, std::string_view help, double value) {
    one(name, help, "gauge", value);
  }
  void head(std::string_view name, std::string_view help, std::string_view type) {
    fmt::format_to(std::back_inserter(text_), "# HELP caisson_{0} {1}\n# TYPE caisson_{0} {2}\n",
                   name, help, type);
  }
  void sample(std::string_view name, std::string_view labels, double value) {
    fmt::format_to(std::back_inserter(text_), "caisson_{}{} {}\n", name, labels, value);
  }
  std::string take() { return std::move(text_); }

 private:
  void one(std::string_view name, std::string_view help, std::string_view type, double value) {
    head(name, help, type);
    sample(name, {}, value);
  }
  std::string text_;
};

void sessions_part(Exposition& out, const Sessions& sessions) {
  size_t alive = 0, busy = 0;
  for (const auto& [name, entry] : sessions.all()) {
    alive += entry->session->info().alive;
    busy += entry->turns->taken();
  }
  out.gauge("sessions", "Sessions there are.", static_cast<double>(sessions.all().size()));
  out.gauge("sessions_alive", "Sessions whose interpreter lives.", static_cast<double>(alive));
  out.gauge("sessions_busy", "Sessions with a call running.", static_cast<double>(busy));
}

void server_part(Exposition& out, const http::ServerCounts& counts) {
  out.counter("http_connections_total", "Connections accepted.",
              static_cast<double>(counts.connections));
  out.counter("http_connections_refused_total", "Connections turned away.",
              static_cast<double>(counts.turned_away));
  out.gauge("http_connections", "Connections open.", static_cast<double>(counts.open));
  out.counter("http_requests_total", "Requests read.", static_cast<double>(counts.requests));
  out.counter("http_refused_total", "Requests refused before they were handled.",
              static_cast<double>(counts.refused));
}

}  // namespace

Task<http::Response> health(Api& api, Call&) {
  co_return json_response(json::object{{"status", "ok"},
                                       {"version", CAISSON_VERSION},
                                       {"pid", ::getpid()},
                                       {"sessions", api.sessions().all().size()},
                                       {"uptime_seconds", api.uptime().count()}});
}

Task<http::Response> metrics(Api& api, Call&) {
  Exposition out;
  const Counters& counters = api.counters();
  out.gauge("uptime_seconds", "Time since the start.", static_cast<double>(api.uptime().count()));
  sessions_part(out, api.sessions());
  if (api.server_counts) server_part(out, api.server_counts());
  out.counter("http_unauthorized_total", "Requests without the right token.",
              static_cast<double>(counters.unauthorized));
  out.head("http_answers_total", "Answers, by hundreds of their status.", "counter");
  for (int hundreds = 2; hundreds < 6; ++hundreds)
    out.sample("http_answers_total", fmt::format("{{class=\"{}xx\"}}", hundreds),
               static_cast<double>(counters.answered[hundreds]));
  out.counter("executions_total", "Calls of exec that ended.",
              static_cast<double>(counters.executions));
  out.counter("executions_failed_total", "Of them, those that weren't ok.",
              static_cast<double>(counters.executions_failed));
  out.counter("executions_stopped_total", "Of them, those that were stopped.",
              static_cast<double>(counters.executions_stopped));
  out.counter("execution_seconds_total", "Time spent in them.", counters.execution_seconds);
  out.counter("output_bytes_total", "What they wrote.", static_cast<double>(counters.output_bytes));
  http::Response response;
  response.fields.push_back({"Content-Type", "text/plain; version=0.0.4; charset=utf-8"});
  response.body = out.take();
  co_return response;
}

Task<http::Response> openapi(Api&, Call&) { co_return json_response(openapi_document(routes())); }

}  // namespace caisson::web
