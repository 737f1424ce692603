/* See https.h. */
#include "control/management/https.h"

#include "control/console/log.h"
#include "control/crypto/library.h"
#include "control/management/http.h"
#include "control/management/tls_stream.h"

bool https_prepare(void)
{
	if (!http_prepare())
		return false;
	if (tls_stream_prepare())
		return true;
	if (*crypto_why())
		log_event(LOG_ERR, "HTTPS-KEY", "https: %s", crypto_why());
	return false;
}

void https_listen(uint16_t port)
{
	tls_stream_listen(port, &http_stream_app);
}
