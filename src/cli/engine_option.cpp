#include "cli/engine_option.h"

#include "quench/convert.h"
#include "quench/error.h"
#include "quench/quantized_model.h"

namespace quench {

void add_engine_option(CLI::App& command, std::string& engine) {
  command
      .add_option("--engine", engine,
                  "how to run a quantized model: float (without its quantizers), simulated, or integer (default: as "
                  "the file is)")
      ->type_name("NAME")
      ->check(CLI::IsMember({"float", "simulated", "integer"}));
}

Graph graph_for(const std::string& engine, Graph graph) {
  if (engine.empty()) return graph;
  const bool converted = is_converted(graph);
  const bool quantized = !quantizers_of(graph).empty();
  QUENCH_CHECK(converted || quantized || engine == "float", "--engine ", engine,
               " needs a quantized model: 'quench quantize' makes one");
  QUENCH_CHECK(!converted || engine == "integer", "the model is converted: it holds integers alone, and --engine ",
               engine, " needs the calibrated model that it was made from");
  if (engine == "float") return without_quantizers(graph);
  return engine == "integer" && !converted ? convert(quantized_model_of(std::move(graph))).graph : graph;
}

}  // namespace quench
