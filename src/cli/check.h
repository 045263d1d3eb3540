/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_CHECK_H
#define CLI_CHECK_H

/*
 * `forkflame check`: print what this machine offers and refuses. Returns the exit
 * status: 0 when a command that one starts can be recorded, EXIT_DENIED when not.
 */
int check_run(void);

#endif
