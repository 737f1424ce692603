/* The configuration over HTTP; see api.c and docs/http.md. */
#ifndef CONTROL_COMMIT_API_H
#define CONTROL_COMMIT_API_H

/* Adds its pages to the HTTP server, once. */
void api_pages_add(void);

#endif
