/* The applications in the image. To add one: its word in runtime/apps.h, its header here. */
#include "apps/discard/discard.h"
#include "apps/echo/echo.h"
#include "apps/router/router.h"
#include "apps/switch/switch.h"
#include "apps/web/web.h"
#include "runtime/runtime.h"
#include "tools/pktgen/pktgen.h"

#define ENTRY(word) [CORE_APP_##word] = &word##_app,

const struct app *const core_apps[CORE_APP_COUNT] = {CORE_APPS(ENTRY, )};
