// The quantizers of a graph: nodes that do to a value what a FakeQuant does, and to a bias what an int32 accumulator
// does. Only this file knows how such a node is spelled; others ask it.
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

// Puts a quantizer after `value`; all its uses (graph outputs included) read the quantized one from then on. Its
// tensors become constants named "<value>.fq.<param>", flagged as parameters where they learn. Throws if the shape
// of its state is not known from the value's dims.
Node& insert_fake_quant(Graph& graph, Value& value, const FakeQuantSpec& spec, QuantFlags flags = {});
// Puts a quantizer between `bias` and the layer's input `slot`: int32 at the product of the scales of x and w, which
// are quantizers.
Node& insert_bias_quantizer(Graph& graph, Node& layer, int slot, Value& bias, const Node& x, const Node& w,
                            bool quantize);
// Removes all quantizers and what only they used: leaves the float network.
Graph without_quantizers(const Graph& graph);

// What a quantizer says about itself.
FakeQuantSpec fake_quant_spec(const Node& quantizer);
FakeQuantTensors fake_quant_tensors(const Node& quantizer);  // its constants, not copied
void set_scheme_of(Node& quantizer, const QScheme& scheme);

QuantFlags fake_quant_flags(const Node& quantizer);
void set_fake_quant_flags(Node& quantizer, QuantFlags flags);
bool is_on(const Node& any_quantizer);  // quantizes: of a bias too
void set_on(Node& bias_quantizer, bool on);
// Both flags of every quantizer of a role (or of all); biases in int32 go with the weights. How many were set.
int set_state(Graph& graph, std::optional<Role> role, QuantFlags flags);

// The observer that a quantizer names, fresh.
std::unique_ptr<Observer> observer_of(const Node& quantizer);
void set_observer_of(Node& quantizer, const std::string& observer, const Options& options = {});
bool names_observer(const Node& quantizer);

// One that leads has a scale of its own; one that follows has the constants of its leader.
bool follows(const Node& quantizer);
const std::string& leader_of(const Node& follower);  // the value whose scale it takes

bool is_calibrated(const Node& quantizer);  // its scale was found, or came with the model
void mark_calibrated(Node& quantizer);

}  // namespace quench
