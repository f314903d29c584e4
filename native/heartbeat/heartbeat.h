/* Marks the steps of a program for `assay watch`. Compile heartbeat.c into the program:
 *
 *     cc -O2 -c heartbeat.c
 *
 * and call assay_heartbeat() once in each step, at its end. In a program that assay watch did not
 * start (no ASSAY_HEARTBEAT in its environment) the call is one test of a variable. C99 on Linux,
 * usable from C++; for Fortran see heartbeat.f90, for Python assay_heartbeat.py.
 */
#ifndef ASSAY_HEARTBEAT_H
#define ASSAY_HEARTBEAT_H

#ifdef __cplusplus
extern "C" {
#endif

/* Marks the end of a step. May be called from any thread of any process; never fails, never waits.
 */
void assay_heartbeat(void);

#ifdef __cplusplus
}
#endif

#endif
