// mmrazor's `architecture` and `float_checkpoint`: a network of the zoo with weights from a file.
#include "config/mmrazor.h"
#include "quench/zoo.h"

namespace quench {
namespace {

std::map<std::string, std::string> scalars_of(const Tree& map) {
  std::map<std::string, std::string> scalars;
  for (const auto& [key, value] : map.entries)
    if (value.is_text()) scalars[key] = value.text;
  return scalars;
}

}  // namespace

void use_architecture(const Tree& architecture, JobConfig& job) {
  const auto checkpoint = job.metadata.find("float_checkpoint");
  if (!job.model.empty() || checkpoint == job.metadata.end()) return;
  if (checkpoint->second.find("://") != std::string::npos)
    return note(job, concat("'float_checkpoint' is not fetched: download '", checkpoint->second,
                            "' and give the file, or name a model file under 'quench.model'"));
  const Tree* backbone = architecture.find("backbone");
  const Tree& network = backbone && backbone->is_map() ? *backbone : architecture;
  const Tree *type = network.find("type"), *task = architecture.find("type");
  if (!type || !type->is_text() || (backbone && (!task || task->text != "ImageClassifier"))) return;
  DatasetSpec spec{"zoo", "", {{"weights", checkpoint->second}}};
  try {
    spec.path = zoo_name_of(type->text, scalars_of(network));
  } catch (const Error& error) {
    return note(job, concat("'architecture': ", error.message(), "; name a model file under 'quench.model'"));
  }
  const Tree* head = architecture.find("head");
  if (const Tree* classes = head ? head->find("num_classes") : nullptr)
    spec.options["num_classes"] = std::to_string(integer_of(*classes, "head.num_classes", 1));
  job.model = to_string(spec);
}

}  // namespace quench
