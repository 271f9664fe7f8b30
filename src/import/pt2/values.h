// What the names of a torch.export program stand for while its graph is built.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "import/aten/aten.h"
#include "import/pt2/program.h"

namespace quench {

class Pt2Values {
 public:
  explicit Pt2Values(const Pt2Program& program) : program_(program) {}

  void bind(const std::string& name, Value& value);  // throws for a name that is taken
  void bind(const std::string& name, const AtenInt& number);
  void rebind(const std::string& name, Value& value) { tensors_[name] = &value; }

  Value& tensor(const std::string& name) const;
  const std::map<std::string, Value*>& tensors() const { return tensors_; }
  AtenArg argument(const Pt2Arg& arg) const;
  Values tensors_of(const Pt2Node& node) const;  // among its inputs, those in lists included, in order
  // Argument `index` of the node, which must be of that kind.
  Value& tensor_input(const Pt2Node& node, std::size_t index) const;
  AtenInt number_input(const Pt2Node& node, std::size_t index) const;

  const TypeInfo& type_of(const std::string& tensor) const;  // as the program declares it
  Dim dim_of(const std::string& number) const;

 private:
  AtenArg item_of(const Pt2Item& item) const;
  AtenArg list_of(const std::vector<Pt2Item>& items) const;

  const Pt2Program& program_;
  std::map<std::string, Value*> tensors_;
  std::map<std::string, AtenInt> numbers_;
};

}  // namespace quench
