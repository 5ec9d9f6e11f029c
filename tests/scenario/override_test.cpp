#include "tests/scenario/scenario_file.h"

#include <doctest/doctest.h>

using namespace breakeven;

TEST_CASE("any key can be overridden, with or without quotes") {
  CHECK(read_text(valid_scenario, {"job.deadline=1 h"}).job.deadline_s == 3600);
  CHECK(read_text(valid_scenario, {"job.deadline=\"1 h\""}).job.deadline_s == 3600);
  CHECK(read_text(valid_scenario, {" job.deadline = 1 h "}).job.deadline_s == 3600);
  CHECK(read_text(valid_scenario, {"job.runs_per_month=3"}).job.runs_per_month == 3);
  CHECK(read_text(valid_scenario, {"job.input_change=0.5"}).job.input_change == 0.5);
  CHECK(read_text(valid_scenario, {"name=trial-2"}).name == "trial-2");
  CHECK(read_text(valid_scenario, {"title=Study #3"}).title == "Study #3");
  CHECK(read_text(valid_scenario, {"title=a=b"}).title == "a=b");
  CHECK(read_text(valid_scenario, {"measure.slice=full"}).measure.full);
  const Scenario scenario =
      read_text(valid_scenario, {"workload.frames=1-10", "workload.point=[1, 2, 3]"});
  CHECK(scenario.workload->ranges("frames", 1, 10, 10).size() == 10);
  CHECK(scenario.workload->numbers("point", 3, 1, 3)[2] == 3);
}

TEST_CASE("the later of two overrides wins") {
  CHECK(read_text(valid_scenario, {"job.deadline=1 h", "job.deadline=3 h"}).job.deadline_s
        == 10800);
  CHECK(read_text(valid_scenario, {"job.deadline=oops", "job={deadline=\"3 h\"}"}).job.deadline_s
        == 10800);
}

TEST_CASE("targets count from one, and the number after the last adds a target") {
  CHECK(read_text(valid_scenario, {"target[1].count=8"}).targets[0].count == 8);
  CHECK(read_text(valid_scenario, {"target.2.count=8"}).targets[1].count == 8);
  const Scenario more =
      read_text(valid_scenario, {"target[3].instance=local", "target[3].count=2"});
  REQUIRE(more.targets.size() == 3);
  CHECK(more.targets[2].instance == "local");
  CHECK(more.targets[2].count == 2);
  CHECK(more.targets[2].line == 0);
  CHECK(read_text(valid_scenario, {"target=[{instance=\"local\"}]"}).targets.size() == 1);
}

TEST_CASE("an override of an absent section makes it") {
  const std::string bare = "schema = 1\nname = \"x\"\n";
  const Scenario scenario =
      read_text(bare, {"workload.kind=toy", "target[1].instance=local", "job.output=2 GB",
                       "claim[1].quantity=cost", "claim[1].from=a", "claim[1].to=b",
                       "claim[1].source=c", "workload.part[1].weight=3"});
  CHECK(scenario.job.output_bytes == 2e9);
  CHECK(scenario.targets.size() == 1);
  CHECK(scenario.claims.size() == 1);
  CHECK(scenario.workload->tables("part", {{"weight", "", ""}})[0].number("weight", 0, 9) == 3);
}

TEST_CASE("a wrong override is named in place of the file") {
  struct Mistake {
    std::string set, message;
  };
  const std::string form = "section.key=value, such as job.deadline=\"1 h\"";
  const std::vector<Mistake> mistakes = {
      {"job.dedline=1 h",
       "found unknown key 'dedline' in [job], expected a known key (did you mean "
       "'deadline'?)"},
      {"jobs.deadline=1 h", "found unknown key 'jobs' in the top level, expected a known key (did "
                            "you mean 'job'?)"},
      {"job.deadline=soon",
       "found job.deadline = \"soon\", expected a duration such as \"2 h\" (ms, "
       "s, min, h or d)"},
      {"job.deadline=",
       "found job.deadline = \"\", expected a duration such as \"2 h\" (ms, s, min, "
       "h or d)"},
      {"job={deadline=3}",
       "found job.deadline = 3 (an integer), expected a duration such as \"2 h\" "
       "(ms, s, min, h or d)"},
      {"job=3", "found 'job' as an integer, expected [job]"},
      {"job.runs_per_month=many", "found job.runs_per_month = \"many\" (text), expected a number "
                                  "from 0 to 1000000000"},
      {"name=../x",
       "found name = \"../x\", expected 1 to 64 of a-z, 0-9, _ and -, for it names the "
       "result folder"},
      {"workload.kind=none", "found workload.kind = \"none\", expected \"toy\" or \"other\""},
      {"workload.mesh=no.obj", "found workload.mesh = \"no.obj\", which does not exist, expected a "
                               "file, relative to the folder of the scenario"},
      {"target[2].count=0", "found target[2].count = 0, expected an integer from 1 to 10000"},
      {"target.2.count=0", "found target[2].count = 0, expected an integer from 1 to 10000"},
      {"target[3].count=1", "found no key 'instance' in [[target]] 3, expected instance (text)"},
      {"target[4].count=1", "found target[4], expected target[1] to target[3]"},
      {"target[0].count=1", "found index '0', expected a number from 1, the first table"},
      {"target[x].count=1", "found index 'x', expected a number from 1, the first table"},
      {"target[99999999999999999999].count=1", "found index '99999999999999999999', expected a "
                                               "number from 1, the first table"},
      {"target.count=1", "found 'target' without saying which, expected target[1] to target[2]"},
      {"target[1]=x", "found no key after 'target[1]', expected " + form},
      {"target[1.count=1", "found key 'target[1', expected " + form},
      {"job[1].deadline=1 h", "found 'job', which is a table, expected tables that can be counted, "
                              "such as target[1]"},
      {"workload.kind.x=1", "found 'workload.kind', which is text, expected a section"},
      {"deadline", "found no '=', expected " + form},
      {"", "found no '=', expected " + form},
      {"=1", "found key '', expected " + form},
      {"job.=1", "found key '', expected " + form},
      {".job=1", "found key '', expected " + form},
      {"1.job=1", "found unknown key '1' in the top level, expected schema, name, title, workload, "
                  "measure, job, target or claim"},
      {"job..deadline=1", "found key '', expected " + form},
      {"job deadline=1", "found key 'job deadline', expected " + form},
      {"a.b.c.d.e.f.g.h.i=1", "found a longer path, expected " + form},
  };
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.set);
    CHECK(error_of(valid_scenario, {mistake.set})
          == "--set " + mistake.set + ": " + mistake.message);
  }
}

TEST_CASE("a line break in an override cannot smuggle in a second key") {
  CHECK(error_of(valid_scenario, {"name=\"a\"\nschema=2"}).find("found name = ")
        != std::string::npos);
}

TEST_CASE("a mistake in the file keeps its line when another key is overridden") {
  CHECK(error_of(replaced(valid_scenario, "= 22", "= -1"), {"job.deadline=1 h"})
            .starts_with("s.toml:11: found job.runs_per_month = -1"));
  CHECK(error_of(replaced(valid_scenario, "= 22", "= -1"), {"job.runs_per_month=5"}).empty());
}

TEST_CASE("an override cannot nest tables until the stack is full") {
  std::string deep = "workload.light={a";
  for (int i = 0; i < 100'000; ++i)
    deep += ".a";
  CHECK(error_of(valid_scenario, {deep + "=1}"}).empty()); // taken as text
  CHECK_FALSE(
      error_of(valid_scenario, {"workload.size=" + std::string(100'000, '[')}).starts_with("s"));
}
