// Who is alive, by what each process last said: a number that grows while it runs, or how it left.
#pragma once

#include <string>
#include <vector>

namespace quench {

inline constexpr const char* kLeftDone = "done";
inline constexpr const char* kLeftFailed = "failed";
inline constexpr const char* kLeftInterrupted = "interrupted";
inline constexpr const char* kLeftTold = "told";  // it stops because another one did

// Why a process stops: what happened to another one. Empty while all is well.
struct Verdict {
  std::string what;
  bool is_of_interrupt = false;  // else that one failed or died
  bool empty() const { return what.empty(); }
};
std::string packed(const Verdict& verdict);  // for the meeting point; "" if it is empty
Verdict unpacked(const std::string& text);

class SignsOfLife {
 public:
  // `patience`: after so many rounds without a new sign a process is dead. Rounds of this process, not time: one that
  // was itself stopped for a while must not take the others for dead.
  SignsOfLife(int rank, int size, int patience);

  // Once a round, one word per rank: on one that is dead, failed or was interrupted.
  Verdict verdict(const std::vector<std::string>& words);
  bool others_left() const;  // in whichever way, by the last round

 private:
  int rank_, patience_;
  std::vector<std::string> words_;
  std::vector<int> silent_;  // rounds
};

std::string name_of_process(int rank, int size);  // "rank 1 of 4"; ranks count from 0

}  // namespace quench
