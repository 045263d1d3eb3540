/* SPDX-License-Identifier: Apache-2.0 */
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>

#include "cli/check.h"
#include "cli/dump.h"
#include "cli/messages.h"
#include "cli/options.h"
#include "cli/record.h"
#include "cli/report.h"
#include "cli/tree.h"

/* Die of the signal that the command died of, without a second core file. */
static int die_of(int sig)
{
	struct rlimit none = { 0 };
	sigset_t set;

	(void)setrlimit(RLIMIT_CORE, &none);
	(void)signal(sig, SIG_DFL);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, sig);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL);
	(void)raise(sig);
	return 128 + sig;
}

int main(int argc, char *argv[])
{
	struct options options;
	char message[512];
	int status;

	switch (options_parse(argc, argv, &options, message, sizeof(message))) {
	case OPTIONS_HELP:
		(void)fputs(options_help(), stdout);
		return fflush(stdout) == 0 ? 0 : EXIT_OUTPUT;
	case OPTIONS_VERSION:
		(void)printf("forkflame %s\n", forkflame_version());
		return fflush(stdout) == 0 ? 0 : EXIT_OUTPUT;
	case OPTIONS_BAD:
		message_say("%s", message);
		(void)fputs("Try 'forkflame --help'.\n", stderr);
		return EXIT_USAGE;
	case OPTIONS_REPORT:
		return report_run(&options);
	case OPTIONS_DUMP:
		return dump_run(&options);
	case OPTIONS_CHECK:
		return check_run();
	case OPTIONS_TREE:
		status = tree_run(&options);
		return status < 0 ? die_of(-status) : status;
	case OPTIONS_RECORD:
		break;
	}
	status = record_run(&options);
	return status < 0 ? die_of(-status) : status;
}
