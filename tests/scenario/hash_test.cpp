#include "tests/scenario/scenario_file.h"

#include <doctest/doctest.h>

using namespace breakeven;

TEST_CASE("SHA-256 gives the values of FIPS 180-2") {
  CHECK(sha256_of("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK(sha256_of("") == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  CHECK(sha256_of(std::string(1'000'000, 'a'))
        == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST_CASE("comments, spacing, order and spelling of numbers do not change the hash") {
  const std::string hash = read_text(valid_scenario).sha256;
  CHECK(hash.size() == 64);
  CHECK(read_text("# a comment\n\n" + valid_scenario).sha256 == hash);
  CHECK(read_text(replaced(valid_scenario, "size = 10", "size   =  1_0 # ten")).sha256 == hash);
  CHECK(read_text(replaced(valid_scenario, "= 22", "= 22.0")).sha256 == hash);
  CHECK(read_text(replaced(valid_scenario, "= 22", "= 2.2e1")).sha256 == hash);
  CHECK(read_text(replaced(valid_scenario, "= 22", "= 0x16")).sha256 == hash);
  CHECK(read_text(replaced(valid_scenario, "0.05", "5e-2")).sha256 == hash);
  CHECK(read_text(replaced(valid_scenario, "\"small\"", "'small'")).sha256 == hash);
  CHECK(read_text(replaced(valid_scenario, "schema = 1\nname = \"small\"",
                           "name = \"small\"\nschema = 1"))
            .sha256
        == hash);
  CHECK(read_text(replaced(valid_scenario, "[workload]\nkind = \"toy\"\nsize = 10",
                           "workload = {size = 10, kind = \"toy\"}"))
            .sha256
        == hash);
}

TEST_CASE("an override and the same value in the file give one hash") {
  CHECK(
      read_text(valid_scenario, {"job.deadline=1 h", "target[2].count=3", "job.setup=5 min"}).sha256
      == read_text(replaced(replaced(valid_scenario, "\"2 h\"", "\"1 h\"\nsetup = \"5 min\""),
                            "count = 2", "count = 3"))
             .sha256);
  CHECK(read_text(valid_scenario, {"job.deadline=2 h"}).sha256 == read_text(valid_scenario).sha256);
}

TEST_CASE("every value counts, and so does the order of targets") {
  const std::string hash = read_text(valid_scenario).sha256;
  for (const char* set :
       {"name=other", "title=other", "workload.size=11", "workload.flag=true", "measure.slice=full",
        "job.deadline=1 h", "job.input_change=0.06", "target[2].count=3", "claim[1].to=41 min"}) {
    CAPTURE(set);
    CHECK(read_text(valid_scenario, {set}).sha256 != hash);
  }
  const std::string head = "schema = 1\nname = \"x\"\n[workload]\nkind = \"toy\"\n";
  CHECK(read_text(head + "[[target]]\ninstance = \"a:b\"\n[[target]]\ninstance = \"c:d\"\n").sha256
        != read_text(head + "[[target]]\ninstance = \"c:d\"\n[[target]]\ninstance = \"a:b\"\n")
               .sha256);
}

TEST_CASE("text that imitates the separators of another scenario has its own hash") {
  CHECK(read_text(valid_scenario, {"title=\"a\", name=\"b\""}).sha256
        != read_text(valid_scenario, {"title=a", "name=b"}).sha256);
  CHECK(read_text(valid_scenario, {"workload.ratio=1"}).sha256
        != read_text(valid_scenario, {"workload.ratio=\"1\""}).sha256);
}

TEST_CASE("the hash follows the bytes of an input file, not the folder it lies in") {
  const std::string text = replaced(valid_scenario, "size = 10", "mesh = \"car.obj\"");
  const auto hash_with = [&](const std::string& mesh) {
    const TestFolder folder; // another one each time
    folder.write("car.obj", mesh);
    return read_scenario(folder.write("s.toml", text), {}, toy_workloads).sha256;
  };
  CHECK(hash_with("v 0 0 0") == hash_with("v 0 0 0"));
  CHECK(hash_with("v 0 0 0") != hash_with("v 0 0 1"));
  CHECK(hash_with("") != hash_with(std::string(3'000'000, 'v')));
}
