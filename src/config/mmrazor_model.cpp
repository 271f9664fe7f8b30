// mmrazor's `architecture` and `float_checkpoint`: a network of the zoo with weights from a file.
#include "config/aliases.h"
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

// By the name of a zoo model, or as a model of OpenMMLab: an ImageClassifier, or the backbone itself. Throws for what
// the zoo does not have.
DatasetSpec zoo_model(const Tree& architecture) {
  if (architecture.is_text()) return {"zoo", zoo_name_of(architecture.text), {}};
  const Tree* backbone = architecture.find("backbone");
  const Tree& network = backbone && backbone->is_map() ? *backbone : architecture;
  const Tree *type = network.find("type"), *task = architecture.find("type");
  QUENCH_CHECK(type && type->is_text(), "it has no 'type'");
  QUENCH_CHECK(!backbone || (task && task->is_text() && without_scope(task->text) == "ImageClassifier"),
               "only a backbone of an ImageClassifier is a network of the zoo");
  DatasetSpec spec{"zoo", zoo_name_of(type->text, scalars_of(network)), {}};
  const Tree* head = architecture.find("head");
  if (const Tree* classes = head && head->is_map() ? head->find("num_classes") : nullptr)
    spec.options["num_classes"] = std::to_string(integer_of(*classes, "head.num_classes", 1));
  return spec;
}

bool is_architecture(const KeptKey& kept) { return kept.key == "architecture" || kept.key == "model.architecture"; }

}  // namespace

void use_architecture(const Tree& architecture, JobConfig& job) {
  if (!job.model.empty()) return;
  const auto checkpoint = job.metadata.find("float_checkpoint");
  if (checkpoint == job.metadata.end())
    return note(job,
                "'architecture' is not used: it needs 'float_checkpoint', the file with its weights; or name a model "
                "file under 'quench.model'");
  if (checkpoint->second.find("://") != std::string::npos)
    return note(job, concat("'float_checkpoint' is not fetched: download '", checkpoint->second,
                            "' and give the file, or name a model file under 'quench.model'"));
  try {
    DatasetSpec spec = zoo_model(architecture);
    spec.options["weights"] = checkpoint->second;
    job.model = to_string(spec);
  } catch (const Error& error) {
    return note(job, concat("'architecture': ", error.message(), "; name a model file under 'quench.model'"));
  }
  std::erase_if(job.kept, is_architecture);  // it has an effect
}

}  // namespace quench
