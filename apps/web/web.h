/* The web application: files of an archive over HTTP/1.1, served from memory by the data cores. */
#ifndef APPS_WEB_WEB_H
#define APPS_WEB_WEB_H

#include "runtime/runtime.h"

extern const struct app web_app;

#endif
