#include "resource/containers.hpp"

namespace test {

INSTANTIATE_TYPED_TEST_SUITE_P(resources, containers, resources_of_their_own);
INSTANTIATE_TYPED_TEST_SUITE_P(layers, containers, resources_over_others);

} // namespace test
