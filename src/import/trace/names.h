// Names for the nodes of a traced module: a node with parameters is called after their module
// ("layer1.0.conv1"), any other after the nearest producer that has a name ("layer1.0.conv1.relu").
#pragma once

#include <map>
#include <string>

#include "import/aten/aten.h"

namespace quench {

class LayerNames {
 public:
  // `value` belongs to the module `layer` ("" for the outermost).
  void own(const Value& value, const std::string& layer) { owners_[&value] = layers_[&value] = layer; }
  void follow(const Value& value, const std::string& layer) { layers_.try_emplace(&value, layer); }

  struct Name {
    std::string name;   // of the call
    std::string layer;  // that its results belong to
  };
  Name name_call(const std::string& kind, const Values& inputs, bool is_layer) const;
  // The module of the first parameter or buffer among the inputs; "" if there is none.
  std::string owner_of(const Values& inputs) const;
  // `to` is `from`, seen in a body.
  void inherit(const Value& from, const Value& to);
  // A transposed weight still names the node that it is the weight of.
  void pass_owner(const Value& from, const Value& to);

 private:
  std::map<const Value*, std::string> owners_;  // of parameters and buffers
  std::map<const Value*, std::string> layers_;
};

std::string layer_of_tensor(const std::string& name);  // "a.b.weight" -> "a.b"

}  // namespace quench
