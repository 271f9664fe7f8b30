// The quantizers of a graph: nodes that do to a value what a FakeQuant does, and to a bias what an int32 accumulator
// does. Only src/quantized knows how such a node is spelled; others ask here.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "quench/fake_quant.h"
#include "quench/graph.h"

namespace quench {

bool is_quantizer(const Node* node);       // of a value; false for null
bool is_bias_quantizer(const Node* node);  // of a bias in int32

// In order of the graph; copies, so that the graph may be changed on the way.
std::vector<Node*> quantizers_of(const Graph& graph);
std::vector<Node*> bias_quantizers_of(const Graph& graph);
Node* quantizer_behind(const Value& value);                        // the one that quantizes it; null if there is none
Node* quantizer_in_front(const Node& reader, int slot);            // the one that made this input; null if none did
Node* quantizer_of(const Graph& graph, const std::string& value);  // by the name of what it quantizes

std::string quantizer_name(const std::string& value);  // of the node that quantizes it, and of that node's output
std::string quantized_value(const std::string& name);  // by the name of a quantizer or of one of its tensors

// Puts a quantizer after `value`; all its uses (graph outputs included) read the quantized one from then on. Its
// tensors become constants named after it, flagged as parameters where they learn. Throws if the shape of its state
// is not known from the value's dims.
Node& insert_fake_quant(Graph& graph, Value& value, const FakeQuantSpec& spec, QuantFlags flags = {});
// The same for the first input of `reader` alone: what else reads the value, or gives it out, goes on as it is. Where
// the value has a quantizer already, the new one reads it through an Identity.
Node& insert_fake_quant_for(Graph& graph, Node& reader, const FakeQuantSpec& spec, QuantFlags flags = {});
// Puts a quantizer between `bias` and the layer's input `slot`: int32 at the product of the scales of x and w, which
// are quantizers.
Node& insert_bias_quantizer(Graph& graph, Node& layer, int slot, Value& bias, const Node& x, const Node& w,
                            bool quantize);
// Removes all quantizers and what only they used: leaves the float network.
Graph without_quantizers(const Graph& graph);

// What a quantizer says about itself. Parsed once: asking again is cheap while its attributes stay the same.
FakeQuantSpec fake_quant_spec(const Node& quantizer);
std::shared_ptr<const FakeQuant> fake_quant_of(const Node& quantizer);
FakeQuantTensors fake_quant_tensors(const Node& quantizer);  // its constants, not copied
void set_fake_quant_spec(Node& quantizer, const FakeQuantSpec& spec);
QParams qparams_of(const Node& quantizer);  // what an exporter writes
void set_qparams(const Node& quantizer, const QParams& params);

QuantFlags fake_quant_flags(const Node& quantizer);
void set_fake_quant_flags(Node& quantizer, QuantFlags flags);
bool is_on(const Node& any_quantizer);  // quantizes: of a bias too
void set_on(Node& bias_quantizer, bool on);
// Both flags of every quantizer of a role (or of all); biases in int32 go with the weights. How many were set.
int set_state(Graph& graph, std::optional<Role> role, QuantFlags flags);

}  // namespace quench
