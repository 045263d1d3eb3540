/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CLI_MESSAGES_H
#define CLI_MESSAGES_H

/* Lines on standard error, as "forkflame: TEXT". */

void message_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
