/* For foreign code: types that its headers name. No function of it is called. */
#ifndef THIRD_TIME_H
#define THIRD_TIME_H

typedef long time_t;
struct tm;

#endif
