/* Priority vectors and times: see inside.h. */
#include "net/stp/inside.h"

static int compare(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

int vector_compare_message(const struct stp_vector *a, const struct stp_vector *b)
{
	int c = compare(a->RootBridgeID, b->RootBridgeID);
	if (c == 0)
		c = compare(a->RootPathCost, b->RootPathCost);
	if (c == 0)
		c = compare(a->DesignatedBridgeID, b->DesignatedBridgeID);
	if (c == 0)
		c = compare(a->DesignatedPortID, b->DesignatedPortID);
	return c;
}

int vector_compare(const struct stp_vector *a, const struct stp_vector *b)
{
	const int c = vector_compare_message(a, b);
	return c ? c : compare(a->BridgePortID, b->BridgePortID);
}

bool times_equal(const struct stp_times *a, const struct stp_times *b)
{
	return a->MessageAge == b->MessageAge && a->MaxAge == b->MaxAge &&
	       a->HelloTime == b->HelloTime && a->ForwardDelay == b->ForwardDelay;
}
