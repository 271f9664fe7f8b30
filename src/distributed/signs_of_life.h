// Who is alive, by what each process last said: a number that grows while it runs, or how it left.
#pragma once

#include <string>
#include <vector>

namespace quench {

inline constexpr const char* kLeftDone = "done";
inline constexpr const char* kLeftFailed = "failed";
inline constexpr const char* kLeftInterrupted = "interrupted";
inline constexpr const char* kLeftTold = "told";  // it stops because another one did

class SignsOfLife {
 public:
  // `patience`: after so many rounds without a new sign a process is dead. Rounds of this process, not time: one that
  // was itself stopped for a while must not take the others for dead.
  SignsOfLife(int rank, int size, int patience);

  // Once a round, one word per rank. Says what happened to one that is dead or failed, or nothing.
  std::string verdict(const std::vector<std::string>& words);
  bool others_left() const;  // done, failed or dead, by the last round

 private:
  int rank_, patience_;
  std::vector<std::string> words_;
  std::vector<int> silent_;  // rounds
};

bool is_of_interrupt(const std::string& verdict);
std::string name_of_process(int rank, int size);  // "rank 1 of 0..3"

}  // namespace quench
