/* What the policy of dispatch gains, from the pages that an engine shows. */
#ifndef FLATLINE_ENGINE_GAIN_H
#define FLATLINE_ENGINE_GAIN_H

#include "statistics.h"

#ifdef __cplusplus
extern "C" {
#endif

/* As `flat_engine_dispatch_gain`, at a time in ticks; false iff there is no switchback. The pages may be a copy. A
 * submitter that moves its rows all the time is left out. */
bool flat_gain_of_pages(const engine_statistics *pages, uint64_t now, flat_dispatch_gain *gain);

#ifdef __cplusplus
}
#endif
#endif
