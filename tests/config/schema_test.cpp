// What `quench list keys` shows are the keys that the reader knows, no more and no fewer.
#include "config/schema.h"

#include <set>
#include <sstream>

#include "config/jobs.h"

namespace quench {
namespace {

// The keys that the reader knows in a map: an unknown one is refused with the list of them.
std::set<std::string> known_keys(const std::string& before, const std::string& after) {
  const std::string message = refused(before + "nobody_knows_this: 1" + after);
  const std::string mark = "known: ";
  const std::size_t at = message.find(mark);
  EXPECT_NE(at, std::string::npos) << message;
  std::istringstream list(message.substr(at + mark.size(), message.find('\n', at) - at - mark.size()));
  std::set<std::string> keys;
  for (std::string key; std::getline(list >> std::ws, key, ',');) keys.insert(key);
  return keys;
}

// Those that the list has directly under a prefix.
std::set<std::string> listed_keys(const std::string& prefix) {
  std::set<std::string> keys;
  for (const auto& [key, line] : config_keys())
    if (key.starts_with(prefix) && key != "settings") {
      const std::string rest = key.substr(prefix.size());
      if (rest.find('.') == std::string::npos && rest.find("[]") == std::string::npos) keys.insert(rest);
    }
  return keys;
}

TEST(ConfigSchema, ListsTheKeysThatTheReaderKnows) {
  std::set<std::string> top = known_keys("", "");
  top.insert({"plugins", "_base_"});  // taken out of every layout before it is read
  EXPECT_EQ(listed_keys(""), top);
  EXPECT_EQ(listed_keys("data."), known_keys("data: {", "}"));
  EXPECT_EQ(listed_keys("defaults."), known_keys("defaults: {", "}"));
  EXPECT_EQ(listed_keys("settings."), known_keys("defaults: {weight: {", "}}"));
  EXPECT_EQ(listed_keys("layers[]."), known_keys("layers: [{", "}]"));
  EXPECT_EQ(listed_keys("calibration."), known_keys("calibration: {", "}"));
  EXPECT_EQ(listed_keys("deploy."), known_keys("deploy: {", "}"));
  EXPECT_EQ(listed_keys("train."), known_keys("train: {", "}"));
  for (const std::string group : {"optimizer", "schedule", "augment", "distill"})
    EXPECT_EQ(listed_keys("train." + group + "."), known_keys("train: {" + group + ": {", "}}")) << group;
}

TEST(ConfigSchema, EveryKeyHasAMeaning) {
  for (const auto& [key, line] : config_keys()) {
    EXPECT_FALSE(line.empty()) << key;
    EXPECT_FALSE(line.starts_with(" (default")) << key << ": src/config/schema.cpp does not say what it means";
  }
}

TEST(ConfigSchema, DefaultsAreThoseOfTheOptions) {
  const auto keys = config_keys();
  EXPECT_EQ(keys.at("train.epochs"), concat("passes over data.train (default: ", TrainOptions().epochs, ")"));
  EXPECT_EQ(keys.at("train.optimizer.name"), "sgd, adam or adamw (default: sgd)");
  EXPECT_CONTAINS(keys.at("method.prob"), "(default: 1; blockwise: 0.5; networkwise: 0.5; qdrop: 0.5)");
  EXPECT_CONTAINS(keys.at("method.max_count"), "(default: 20000; blockwise: 1000; networkwise: 1000)");
}

}  // namespace
}  // namespace quench
