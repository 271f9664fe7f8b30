#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include "quench/distributed.h"
#include "support/expect_error.h"
#include "support/together.h"

namespace quench {
namespace {

TEST(Processes, OneLeavesEverythingAsItIs) {
  const Processes one;
  EXPECT_TRUE(one.is_first());
  EXPECT_FALSE(one.are_several());
  at::Tensor x = at::tensor({1.0F, -2.0F});
  const at::Tensor before = x.clone();
  one.sum(x);
  one.mean(x);
  one.max(x);
  one.broadcast(x);
  one.start_sum(x)();
  one.barrier();
  EXPECT_TRUE(x.equal(before));
  EXPECT_EQ(one.gather("a"), std::vector<std::string>{"a"});
  EXPECT_EQ(one.broadcast("b"), "b");
}

void expect_operations(const Processes& processes) {
  const int rank = processes.rank(), size = processes.size();
  const auto mine = [&] { return at::arange(5, at::kDouble) * (rank + 1); };
  const double ranks = size * (size + 1) / 2.0;
  at::Tensor x = mine();
  processes.sum(x);
  EXPECT_TRUE(x.equal(at::arange(5, at::kDouble) * ranks)) << x;
  x = mine();
  processes.mean(x);
  EXPECT_TRUE(x.equal(at::arange(5, at::kDouble) * (ranks / size))) << x;
  x = mine();
  processes.max(x);
  EXPECT_TRUE(x.equal(at::arange(5, at::kDouble) * size)) << x;
  x = mine();
  processes.broadcast(x);
  EXPECT_TRUE(x.equal(at::arange(5, at::kDouble))) << x;
  // A part of a larger tensor, and integers.
  const at::Tensor whole = at::zeros({4, 3}, at::kLong);
  at::Tensor column = whole.select(1, 1);
  column.fill_(rank);
  processes.sum(column);
  EXPECT_TRUE(whole.select(1, 1).equal(at::full({4}, size * (size - 1) / 2, at::kLong))) << whole;
  EXPECT_EQ(whole.sum().item<std::int64_t>(), 4 * size * (size - 1) / 2) << "the other columns were not touched";
}

void expect_bytes(const Processes& processes) {
  const auto of = [](int rank) {
    return std::string(static_cast<std::size_t>(rank) * 3, static_cast<char>('a' + rank));
  };
  std::vector<std::string> wanted;
  for (int rank = 0; rank < processes.size(); ++rank) wanted.push_back(of(rank));
  EXPECT_EQ(processes.gather(of(processes.rank())), wanted);
  EXPECT_EQ(processes.gather(""), std::vector<std::string>(wanted.size()));
  EXPECT_EQ(processes.broadcast(processes.is_first() ? std::string("\0x", 2) : "other"), std::string("\0x", 2));
}

TEST(Processes, TwoWorkTogether) {
  together(2, [](const Processes& processes) {
    EXPECT_TRUE(processes.are_several());
    EXPECT_EQ(processes.device_index(), processes.rank());
    expect_operations(processes);
    expect_bytes(processes);
    at::Tensor first = at::full({3}, 1.0F), second = at::full({2}, 2.0F);
    const auto wait_first = processes.start_sum(first), wait_second = processes.start_sum(second);
    wait_second();
    wait_first();
    EXPECT_TRUE(first.equal(at::full({3}, 2.0F)));
    EXPECT_TRUE(second.equal(at::full({2}, 4.0F)));
    processes.barrier();
  });
}

// Sums of floats: every process has the same bits, and two processes those of a plain addition.
TEST(Processes, FourWorkTogether) {
  together(4, [](const Processes& processes) {
    expect_operations(processes);
    expect_bytes(processes);
    at::manual_seed(7 + processes.rank());
    at::Tensor x = at::randn({1000}) * at::pow(10, at::randn({1000}));
    processes.sum(x);
    at::Tensor of_first = x.clone();
    processes.broadcast(of_first);
    EXPECT_TRUE(x.equal(of_first));
  });
}

// torchrun listens at the port itself, and says so.
TEST(Processes, MeetWhereTheLauncherListens) {
  const auto body = [](const Processes& processes) { expect_bytes(processes); };
  if (is_one_of_several()) {
    together(2, body);
    return together(2, body);  // as a script's second command does
  }
  ::setenv("TORCHELASTIC_USE_AGENT_STORE", "True", 1);
  ::setenv("TORCHELASTIC_RESTART_COUNT", "1", 1);
  StartedTogether two(2, this_test());
  ::unsetenv("TORCHELASTIC_USE_AGENT_STORE");
  ::unsetenv("TORCHELASTIC_RESTART_COUNT");
  c10d::TCPStoreOptions options;
  options.port = static_cast<std::uint16_t>(two.port());
  options.isServer = true;
  const auto launcher = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  launcher->set("quench/2/0/run1/alive/1", std::vector<std::uint8_t>{'7'});  // of an earlier attempt
  expect_played(two, 2);
  EXPECT_TRUE(launcher->check({"quench/2/1/run2/alive/1"}));
}

TEST(Processes, OnesThatDoNotComeAreNamed) {
  ProcessPlace place;
  place.size = 3;
  place.address = "127.0.0.1";
  place.port = free_port();
  ProcessOptions options;
  options.join_seconds = 1;
  options.notice_seconds = 0.3;
  std::string heard;
  options.waiting = [&](const std::string& message) { heard = message; };
  EXPECT_ERROR(Processes(place, options), "of 3 processes", "did not arrive within 1 s: rank 1, 2");
  EXPECT_NE(heard.find(" for 2 of 3 processes: rank 1, 2, for 1 s at most"), std::string::npos) << heard;
  place.rank = 1;
  EXPECT_ERROR(Processes(place, options), "no answer from 127.0.0.1", "MASTER_PORT", "rank 0 should listen there");
  EXPECT_NE(heard.find("where rank 0 should listen, for 1 s at most"), std::string::npos) << heard;
}

// The first process of another job listens there.
TEST(Processes, TwoJobsDoNotMixAtOnePort) {
  c10d::TCPStoreOptions options;
  options.isServer = true;
  const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
  ProcessPlace place;
  place.rank = 1;
  place.size = 2;
  place.address = "127.0.0.1";
  place.port = store->getPort();
  ProcessOptions impatient;
  impatient.join_seconds = 1;
  store->add("quench/2//run/taken/1", 1);
  EXPECT_ERROR(Processes(place, impatient), "there is another rank 1 of 2 at 127.0.0.1",
               "does another job use this MASTER_PORT");
  place.rank = 2;
  place.size = 3;
  EXPECT_ERROR(Processes(place, impatient), "of 3 processes, these did not arrive within 1 s: rank 0, 1");
}

TEST(Processes, APortThatIsTakenIsSaid) {
  const int listener = ::socket(AF_INET6, SOCK_STREAM, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  socklen_t length = sizeof(address);
  ASSERT_EQ(::bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ::listen(listener, 1);
  ::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &length);
  ProcessPlace place;
  place.size = 2;
  place.address = "127.0.0.1";
  place.port = ntohs(address.sin6_port);
  EXPECT_ERROR(Processes{place}, "rank 0 cannot listen at port", "(MASTER_PORT)");
  ::close(listener);
}

}  // namespace
}  // namespace quench
