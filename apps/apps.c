/* The applications in the image; app=NAME on the kernel command line or `application NAME` in the
 * configuration chooses. To add one, add it here. */
#include "apps/echo/echo.h"
#include "apps/router/router.h"
#include "core/core.h"

const struct app *const core_apps[] = {
	&router_app,
	&echo_app,
};
const unsigned core_app_count = ARRAY_LEN(core_apps);
