// A coefficient of variation ranks the slower of two subjects as the steadier one, although its deviation is larger.
// The figures are those of an article: std::vector with 16.90 us and 10.23 %, a std::pmr pool with 68.86 us and 5.62 %.
#include "bench/document.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cmath>
#include <random>

using namespace flat::bench;

namespace {

struct Subject {
    double mean_ns, variation; // variation: standard deviation divided by the mean

    double deviation_ns() const { return mean_ns * variation; }
};

constexpr Subject vector_in_heap{16'900, 0.1023}, vector_in_pmr_pool{68'860, 0.0562};

/// Run times with the subject's mean and deviation.
Distribution times_of(const Subject &subject) {
    std::mt19937_64 random(1);
    std::normal_distribution<double> time(subject.mean_ns, subject.deviation_ns());
    std::vector<double> values(100'000);
    for (double &value : values) value = time(random);
    return Distribution(std::move(values));
}

/// The laboratory's figure instead: the difference between P99.9 and the median.
double jitter_ns(const Distribution &times) { return times.at(999'000) - times.at(500'000); }

} // namespace

TEST(coefficient_of_variation, ranks_two_subjects_in_the_wrong_order) {
    EXPECT_LT(vector_in_pmr_pool.variation, vector_in_heap.variation); // the article calls it "most consistent"
    EXPECT_GT(vector_in_pmr_pool.deviation_ns(), 2 * vector_in_heap.deviation_ns());
}

TEST(coefficient_of_variation, is_corrected_by_jitter_in_nanoseconds) {
    EXPECT_GT(jitter_ns(times_of(vector_in_pmr_pool)), 2 * jitter_ns(times_of(vector_in_heap)));
}

TEST(coefficient_of_variation, is_told_nowhere) {
    Campaign campaign;
    const flat::bench::Run run{times_of(vector_in_heap), 16, 0, 0, 0};
    campaign.measurements = {{find_backend("glibc"), {"hot", 64, 32, "", 4}, "pair", 32, {run}}};
    const auto document = nlohmann::json::parse(document_of(campaign, groups_of(campaign), Circumstances{}));
    for (const auto &[name, value] : document.at("cells").at(0).items()) {
        EXPECT_EQ(name.find("cv"), std::string::npos) << name;
        EXPECT_EQ(name.find("variation"), std::string::npos) << name;
    }
}
