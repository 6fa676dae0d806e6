// One execution of a job, from its policy to its record: what every door that runs one command has
// in common. What is told of it, and how, is the door's own.
#pragma once

#include <memory>
#include <string>

#include <boost/json/object.hpp>

#include "base/result.h"
#include "cli/gateway_link.h"
#include "cli/job.h"
#include "launch/outcome.h"
#include "plan/plan.h"
#include "run/audit.h"

namespace caisson {

// How a door speaks, and what it adds.
struct Door {
  std::string name = "caisson";  // in front of every line to a person
  bool quiet = false;            // notes and grants only with verbosity
  // Whose --control-fd has lines of its own kind.
  std::function<Result<NetworkPolicy>(std::string_view)> network_of_line;
  std::function<void(const Denial&)> heard;  // each denial as it happens
};

class Execution {
 public:
  Execution(Job job, const ProcessStart& start, Door door = {});

  // Notes, the gateway, the plan. Nothing of the cell runs yet.
  Result<void> prepare();
  // The cell, from its launch to the record of its end.
  Result<Outcome> execute();

  const Job& job() const { return job_; }
  const Plan& plan() const { return plan_; }
  // Made when it is first asked for: beside the cell's own start, not ahead of it.
  const std::string& policy_digest() const;
  const std::string& audit_id() const { return audit_id_; }
  void say(const std::string& line) const;
  // What the caller's stdout or stderr did not take, unless that is the verdict itself.
  void say_lost_output(const Outcome&) const;

 private:
  void say_notes() const;
  void tie_to_parent() const;
  void find_control_groups();
  Result<void> start_gateway();
  void tell_unsteered();
  boost::json::object start_event() const;
  boost::json::object end_event(const Outcome& outcome) const;

  // These two are never taken apart: the process ends with its one execution, and each page of
  // theirs would be copied to be freed, since the cell's first process was forked with it.
  Job& job_;
  const ProcessStart& start_;
  Door door_;
  std::string audit_id_;
  mutable std::string digest_;
  Plan& plan_;
  std::unique_ptr<AuditLog> log_;
  std::unique_ptr<GatewayLink> gateway_;
};

}  // namespace caisson
