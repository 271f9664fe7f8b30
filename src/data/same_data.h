// Several processes take shares of one data set: each must have opened the same one.
#pragma once

namespace quench {

class Dataset;
class Processes;

// Throws in all of them if one has other data than the first: another number of items, others at its ends, other
// labels. Contents are not compared: decoders on two machines may differ in last bits.
void check_same_data(const Processes* processes, const Dataset& data);

}  // namespace quench
