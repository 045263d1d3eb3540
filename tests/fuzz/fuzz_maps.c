/* SPDX-License-Identifier: Apache-2.0 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/outcome.h"
#include "linux/procfs.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len);

/* Any bytes as a maps file, and as a stat file: texts of /proc of one kind. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t len)
{
	const char *text = (const char *)bytes;
	struct proc_maps maps = { 0 };
	struct proc_stat stat;
	int r;

	r = procfs_parse_maps(text, len, &maps);
	if (r && (maps.maps.n || maps.paths.len))
		abort();
	for (size_t i = 0; i < maps.maps.n; i++) {
		const struct proc_map *map = &maps.maps.at[i];

		if (map->start >= map->end || map->path >= maps.paths.len ||
		    maps.paths.at[map->path] != '/' ||
		    map->path + strlen(maps.paths.at + map->path) >=
			    maps.paths.len)
			abort();
	}
	proc_maps_free(&maps);
	if (procfs_parse_stat(text, len, &stat) == 0 &&
	    (stat.pid <= 0 || stat.parent < 0))
		abort();
	return 0;
}
