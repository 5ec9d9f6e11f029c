#include "tests/scenario/scenario_file.h"

#include <doctest/doctest.h>

#include <locale>

using namespace breakeven;

TEST_CASE("a scenario is read whole") {
  const Scenario scenario = read_text(valid_scenario);
  CHECK(scenario.name == "small");
  CHECK(scenario.title == "A small study");
  CHECK(scenario.workload_kind == "toy");
  REQUIRE(scenario.workload.has_value());
  CHECK(scenario.workload->integer("size", 1, 100) == 10);
  CHECK_FALSE(scenario.measure.full);
  CHECK(scenario.measure.time_limit_s == 40);
  CHECK(scenario.measure.threads == 0);
  CHECK(scenario.job.runs_per_month == 22);
  CHECK(scenario.job.deadline_s == 7200);
  CHECK(scenario.job.input_bytes == 40.0 * 1024 * 1024 * 1024);
  CHECK(scenario.job.input_change == 0.05);
  CHECK(scenario.job.output_bytes == 0);
  CHECK(scenario.job.setup_s == 0);
  REQUIRE(scenario.targets.size() == 2);
  CHECK(scenario.targets[0].instance == "aws:c6i.32xlarge");
  CHECK(scenario.targets[0].option == "on-demand");
  CHECK(scenario.targets[0].count == 1);
  CHECK(scenario.targets[0].line == 16);
  CHECK(scenario.targets[1].option == "spot");
  CHECK(scenario.targets[1].count == 2);
  CHECK_FALSE(scenario.targets[1].price.has_value());
  REQUIRE(scenario.claims.size() == 1);
  CHECK(scenario.claims[0].quantity == "time_to_result");
  CHECK(scenario.claims[0].to == "40 min");
}

TEST_CASE("a name, a kind and one target are enough") {
  const Scenario scenario = read_text("schema = 1\nname = \"x\"\n[workload]\nkind = \"toy\"\n"
                                      "[[target]]\ninstance = \"local\"\nprice = \"0.8 USD/h\"");
  CHECK(scenario.title == "x");
  CHECK(scenario.measure.time_limit_s == 60);
  CHECK(scenario.job.runs_per_month == 1);
  CHECK(scenario.job.input_change == 1);
  CHECK_FALSE(scenario.job.deadline_s.has_value());
  CHECK(scenario.claims.empty());
  REQUIRE(scenario.targets[0].price.has_value());
  CHECK(scenario.targets[0].price->currency == "USD");
}

TEST_CASE("a byte order mark, Windows line ends and a missing last line end do not matter") {
  std::string windows = "\xEF\xBB\xBF";
  for (const char c : valid_scenario)
    windows += c == '\n' ? std::string("\r\n") : std::string(1, c);
  CHECK(read_text(windows).sha256 == read_text(valid_scenario).sha256);
  CHECK(read_text(windows).targets[0].line == 16);
  CHECK(read_text(valid_scenario.substr(0, valid_scenario.size() - 1)).claims.size() == 1);
}

TEST_CASE("numbers mean the same under a locale that writes commas") {
  struct CommaDecimals : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::string text = replaced(valid_scenario, "size = 10", "size = 850_000\nratio = 0.25");
  const Scenario plain = read_text(text);
  const std::locale before =
      std::locale::global(std::locale(std::locale::classic(), new CommaDecimals));
  const Scenario commas = read_text(text, {"job.input_change=0.05"});
  const std::string message =
      error_of(replaced(text, "runs_per_month = 22", "runs_per_month = -1.5"));
  std::locale::global(before);
  CHECK(commas.job.input_change == 0.05);
  CHECK(commas.workload->number("ratio", 0, 1) == 0.25);
  CHECK(commas.sha256 == plain.sha256);
  CHECK(message.find("job.runs_per_month = -1.5, expected a number from 0 to 1")
        != std::string::npos);
}

TEST_CASE("each mistake is refused at its line, with what was found and what was expected") {
  struct Mistake {
    std::string from, to, message;
  };
  const std::string duration = "a duration such as \"2 h\" (ms, s, min, h or d)";
  const std::string name_form = "1 to 64 of a-z, 0-9, _ and -, for it names the result folder";
  const std::vector<Mistake> mistakes = {
      // schema
      {"schema = 1\n", "", "s.toml: found no key 'schema' in the top level, expected schema (1)"},
      {"schema = 1", "schema = 2", "s.toml:1: found schema = 2, expected 1"},
      {"schema = 1", "schema = \"1\"", "s.toml:1: found schema = \"1\" (text), expected 1"},
      {"schema = 1", "schema = 2\nnew_key = 3", "s.toml:1: found schema = 2, expected 1"},
      // name and title
      {"name = \"small\"\n", "",
       "s.toml: found no key 'name' in the top level, expected name (text of a-z, 0-9, _ and -)"},
      {"\"small\"", "\"..\"", "s.toml:2: found name = \"..\", expected " + name_form},
      {"\"small\"", "\"a/b\"", "s.toml:2: found name = \"a/b\", expected " + name_form},
      {"\"small\"", "\"\"", "s.toml:2: found name = \"\", expected " + name_form},
      {"\"small\"", "\"Small\"", "s.toml:2: found name = \"Small\", expected " + name_form},
      {"\"small\"", "\"a b\"", "s.toml:2: found name = \"a b\", expected " + name_form},
      {"\"small\"", "\"" + std::string(65, 'a') + "\"",
       "s.toml:2: found name = \"" + std::string(60, 'a') + "...\", expected " + name_form},
      {"\"small\"", "7", "s.toml:2: found name = 7 (an integer), expected text in quotes"},
      {"\"small\"", "\"a\\nb\"",
       "s.toml:2: found name = \"a?b\", expected one line of text, without control characters"},
      {"\"A small study\"", "\" \"", "s.toml:3: found an empty title, expected some text"},
      // unknown keys
      {"title", "titel",
       "s.toml:3: found unknown key 'titel' in the top level, expected a known key (did you mean "
       "'title'?)"},
      {"title = \"A small study\"", "banana = 1",
       "s.toml:3: found unknown key 'banana' in the top level, expected schema, name, title, "
       "workload, measure, job, target or claim"},
      {"size = 10", "sizes = 10",
       "s.toml:6: found unknown key 'sizes' in [workload], expected a known key (did you mean "
       "'size'?)"},
      {"size = 10", "banana = 10",
       "s.toml:6: found unknown key 'banana' in [workload], expected kind, size, mesh, ratio, "
       "flag, "
       "point, frames, part, light or note"},
      {"deadline", "dedline",
       "s.toml:12: found unknown key 'dedline' in [job], expected a known key (did you mean "
       "'deadline'?)"},
      {"count = 2", "zzz = 2\naaa = 3",
       "s.toml:20: found unknown key 'zzz' in [[target]] 2, expected instance, option, count or "
       "price"},
      {"source = ", "sauce = ",
       "s.toml:25: found unknown key 'sauce' in [[claim]] 1, expected a known key (did you mean "
       "'source'?)"},
      {"size = 10", "\"\" = 10",
       "s.toml:6: found a key without a name in [workload], expected kind, size, mesh, ratio, "
       "flag, "
       "point, frames, part, light or note"},
      // workload
      {"kind = \"toy\"", "kind = \"tyo\"",
       "s.toml:5: found workload.kind = \"tyo\", expected \"toy\" or \"other\""},
      {"kind = \"toy\"", "kind = \"othr\"",
       "s.toml:5: found workload.kind = \"othr\", expected \"toy\" or \"other\" (did you mean "
       "\"other\"?)"},
      {"kind = \"toy\"", "kind = 3",
       "s.toml:5: found workload.kind = 3 (an integer), expected text in quotes"},
      {"kind = \"toy\"\n", "", "s.toml:4: found no key 'kind' in [workload], expected kind (text)"},
      {"[workload]\nkind = \"toy\"\nsize = 10\n", "",
       "s.toml: found no [workload], expected [workload] with kind = one of: toy or other"},
      {"[workload]\nkind = \"toy\"\nsize = 10\n", "workload = 1\n",
       "s.toml:4: found 'workload' as an integer, expected [workload]"},
      {"[workload]", "[[workload]]", "s.toml:4: found 'workload' as an array, expected [workload]"},
      // measure
      {"\"auto\"", "\"half\"",
       "s.toml:8: found measure.slice = \"half\", expected \"auto\" or \"full\""},
      {"\"40 s\"", "\"0 s\"",
       "s.toml:9: found measure.time_limit = \"0 s\", expected a duration above zero"},
      {"\"40 s\"", "40",
       "s.toml:9: found measure.time_limit = 40 (an integer), expected " + duration},
      {"\"40 s\"", "\"40 s\"\nthreads = -1",
       "s.toml:10: found measure.threads = -1, expected an integer from 0 to 4096"},
      {"\"40 s\"", "\"40 s\"\nthreads = 5000",
       "s.toml:10: found measure.threads = 5000, expected an integer from 0 to 4096"},
      // job
      {"= 22", "= 0", "s.toml:11: found job.runs_per_month = 0, expected a number above zero"},
      {"= 22", "= -2",
       "s.toml:11: found job.runs_per_month = -2, expected a number from 0 to 1000000000"},
      {"= 22", "= nan",
       "s.toml:11: found job.runs_per_month = nan, expected a number from 0 to 1000000000"},
      {"= 22", "= [1, 2]",
       "s.toml:11: found job.runs_per_month = [2 values] (an array), expected a number from 0 to "
       "1000000000"},
      {"\"2 h\"", "\"2 hours\"",
       "s.toml:12: found job.deadline = \"2 hours\", expected " + duration},
      {"\"2 h\"", "\"0 h\"",
       "s.toml:12: found job.deadline = \"0 h\", expected a duration above zero"},
      {"\"2 h\"", "02:00:00",
       "s.toml:12: found job.deadline = a time of day, expected " + duration},
      {"\"40 GiB\"", "\"-40 GiB\"",
       "s.toml:13: found job.input = \"-40 GiB\", expected an amount such as \"40 GiB\" (B, KB to "
       "TB "
       "or KiB to TiB)"},
      {"0.05", "1.05", "s.toml:14: found job.input_change = 1.05, expected a number from 0 to 1"},
      {"0.05", "-inf", "s.toml:14: found job.input_change = -inf, expected a number from 0 to 1"},
      {"0.05", "0.05\nunits_per_day = 0",
       "s.toml:15: found job.units_per_day = 0, expected a number above zero"},
      {"0.05", "0.05\nunits_per_day = 1e7",
       "s.toml:15: found job.units_per_day = 10000000, expected a number from 0 to 1000000"},
      {"0.05", "0.05\nunits_per_day = 40\narrivals = \"weekly\"",
       "s.toml:16: found job.arrivals = \"weekly\", expected \"even\", \"poisson\", "
       "\"working-hours\" or \"night-batch\""},
      {"0.05", "0.05\narrivals = \"even\"",
       "s.toml:15: found job.arrivals without units_per_day, expected units_per_day beside it"},
      {"0.05", "0.05\nturnaround_deadline = \"1 h\"",
       "s.toml:15: found job.turnaround_deadline without units_per_day, expected units_per_day "
       "beside it"},
      {"[job]", "[[job]]", "s.toml:10: found 'job' as an array, expected [job]"},
      // target
      {"aws:c6i.32xlarge", "c6i.32xlarge",
       "s.toml:16: found instance = \"c6i.32xlarge\", expected provider:type such as "
       "\"aws:g5.xlarge\", or \"local\""},
      {"\"spot\"", "\"owned\"",
       "s.toml:19: found target[2].option = \"owned\", expected \"on-demand\" or \"spot\""},
      {"count = 2", "count = 0",
       "s.toml:20: found target[2].count = 0, expected an integer from 1 to 10000"},
      {"count = 2", "count = 10001",
       "s.toml:20: found target[2].count = 10001, expected an integer from 1 to 10000"},
      {"count = 2", "count = 1.5",
       "s.toml:20: found target[2].count = 1.5 (a number), expected an integer from 1 to 10000"},
      {"count = 2", "price = \"5 EUR/h\"",
       "s.toml:20: found target[2].price = \"5 EUR/h\", expected a price such as \"0.8 USD/h\" "
       "(USD "
       "or CNY)"},
      {"instance = \"aws:c6i.32xlarge\"\n", "",
       "s.toml:15: found no key 'instance' in [[target]] 1, expected instance (text)"},
      {"[[claim]]", "[[target]]\ninstance = \"aws:c6i.32xlarge\"\n[[claim]]",
       "s.toml:22: found aws:c6i.32xlarge on-demand x 1 a second time, expected targets that "
       "differ "
       "in instance, option or count"},
      // claim
      {"\"time_to_result\"", "\"beauty\"",
       "s.toml:22: found claim[1].quantity = \"beauty\", expected \"time_to_result\", \"time\", "
       "\"speedup\", \"cost\" or \"other\""},
      {"\"12 h\"", "12",
       "s.toml:23: found claim[1].from = 12 (an integer), expected text in quotes"},
      {"\"40 min\"", "\"\"", "s.toml:24: found an empty to, expected some text"},
      {"from = \"12 h\"\n", "",
       "s.toml:21: found no key 'from' in [[claim]] 1, expected from (text)"},
  };
  for (const Mistake& mistake : mistakes) {
    CAPTURE(mistake.to);
    CHECK(error_of(replaced(valid_scenario, mistake.from, mistake.to)) == mistake.message);
  }
}

TEST_CASE("a scenario without a target is refused, and so is a single [target]") {
  const std::string head = "schema = 1\nname = \"x\"\n[workload]\nkind = \"toy\"\n";
  CHECK(error_of(head)
        == "s.toml: found no [[target]], expected at least one; the first is the baseline");
  CHECK(error_of(head + "[target]\ninstance = \"local\"\n")
        == "s.toml:5: found 'target' as a table, expected [[target]], a section for each");
  CHECK(error_of("target = []\n" + head)
        == "s.toml:1: found no [[target]], expected at least one; the first is the baseline");
  CHECK(error_of("target = [1]\n" + head)
        == "s.toml:1: found 'target' as an array, expected [[target]], a section for each");
}

TEST_CASE("targets that differ in option or count are not duplicates") {
  const std::string text = valid_scenario
                           + "[[target]]\ninstance = \"aws:p4de.24xlarge\"\ncount = 2\n"
                             "[[target]]\ninstance = \"aws:p4de.24xlarge\"\noption = \"spot\"\n";
  CHECK(read_text(text).targets.size() == 4);
}

TEST_CASE("instances that no provider could have named are refused") {
  for (const char* text : {"", ":", "aws:", ":g5", "AWS:g5.xlarge", "aws:g5 xlarge", "aws:g5:x",
                           "aws g5:x", "Local"}) {
    CAPTURE(text);
    CHECK(
        error_of(replaced(valid_scenario, "aws:c6i.32xlarge", text)).find("expected provider:type")
        != std::string::npos);
  }
  for (const char* text : {"local", "aws-china:g4dn.xlarge", "tencent:GN10Xp.2XLARGE40",
                           "azure:Standard_NC24ads_A100_v4", "gcp:n1-standard-8+t4"}) {
    CAPTURE(text);
    CHECK(read_text(replaced(valid_scenario, "aws:c6i.32xlarge", text)).targets[0].instance
          == text);
  }
}

TEST_CASE("the crash-test study of this repository is a valid scenario") {
  std::vector<Key> keys;
  for (const char* name : {"scene", "triangles", "width", "height", "samples_per_pixel",
                           "max_bounces", "frames", "seed"})
    keys.push_back({name, "any", "any"});
  const Scenario scenario =
      read_scenario(BREAKEVEN_SOURCE_DIR "/scenarios/crash_render.toml", {}, {{"render", keys}});
  CHECK(scenario.name == "crash_render");
  CHECK(scenario.workload->ranges("frames", 0, 10'000, 10'000).size() == 240);
  CHECK(scenario.measure.time_limit_s == 60);
  CHECK(scenario.job.setup_s == 300);
  REQUIRE(scenario.targets.size() == 16);
  CHECK(scenario.targets.front().instance == "aws:c6i.32xlarge");
  CHECK(scenario.targets.back().instance == "local");
  REQUIRE(scenario.claims.size() == 1);
  CHECK(scenario.claims[0].source == "article section 5.1");
}

TEST_CASE("a steady service is read from [job], Poisson where its arrivals are not stated") {
  CHECK_FALSE(read_text(valid_scenario).job.units_per_day);
  const Job job = read_text(replaced(valid_scenario, "0.05", "0.05\nunits_per_day = 40.5")).job;
  CHECK(*job.units_per_day == 40.5);
  CHECK(job.arrivals == Arrivals::poisson);
  CHECK_FALSE(job.turnaround_deadline_s);
  for (const Arrivals arrivals :
       {Arrivals::even, Arrivals::poisson, Arrivals::working_hours, Arrivals::night_batch}) {
    const Job stated =
        read_text(valid_scenario, {"job.units_per_day=40", "job.arrivals=" + to_string(arrivals),
                                   "job.turnaround_deadline=90 min"})
            .job;
    CHECK(stated.arrivals == arrivals);
    CHECK(*stated.turnaround_deadline_s == 5400);
  }
}
