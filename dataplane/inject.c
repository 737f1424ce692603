/* control_hooks.inject: messages from the control core, on a data core. */
#include "dataplane/state.h"
#include "dataplane/test_fault.h"

void inject_frame(struct pkt *p, uint32_t kind, uint32_t arg)
{
	core_current_set(p, 1);
	if (kind == INJECT_FAULT)
		test_fault_run((enum test_fault)arg);
	if (kind != INJECT_APP)
		core_tx(p->interface, p);
	else if (core_app()->data_msg)
		core_app()->data_msg(p, arg);
	else
		pkt_free(&self.pool, p);
}
