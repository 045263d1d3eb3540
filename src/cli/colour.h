/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_COLOUR_H
#define CLI_COLOUR_H

#include <stdbool.h>

/*
 * Is @fd somebody who likes colours? A terminal that has them ($TERM), and whose user
 * has not said no: by a NO_COLOR that is not empty (no-color.org).
 */
bool colour_wanted(int fd);

#endif
