/* SPDX-License-Identifier: Apache-2.0 */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/map.h"
#include "base/nsec.h"
#include "base/str.h"
#include "base/strtab.h"
#include "base/vec.h"

static uint64_t chance(uint64_t *random, uint64_t below)
{
	*random ^= *random << 13;
	*random ^= *random >> 7;
	*random ^= *random << 17;
	return (*random >> 11) % below;
}

/* --- error ------------------------------------------------------------------ */

static void keeps_the_first_error(void **state)
{
	struct error err = ERROR_NONE;

	(void)state;
	assert_int_equal(error_set(&err, -ENOENT, "read %s", "/proc/1/stat"),
			 -ENOENT);
	assert_int_equal(error_set(&err, -EIO, "what came of it"), -EIO);
	assert_int_equal(err.code, -ENOENT);
	assert_string_equal(err.text, "read /proc/1/stat");
	assert_int_equal(error_set(NULL, -EPERM, "nobody asks"), -EPERM);
}

static void cuts_an_error_that_is_too_long(void **state)
{
	struct error err = ERROR_NONE;

	(void)state;
	(void)error_set(&err, -EIO, "%0400d", 0);
	assert_int_equal(strlen(err.text), sizeof(err.text) - 1);
}

/* --- nsec ------------------------------------------------------------------- */

static void does_not_wrap_time(void **state)
{
	(void)state;
	assert_int_equal(nsec_since(5, 3), 2);
	assert_int_equal(nsec_since(3, 5), 0);
	assert_int_equal(nsec_middle(10, 20), 15);
	assert_int_equal(nsec_middle(20, 10), 15);
	assert_int_equal(nsec_middle(7, 8), 7);
	assert_true(nsec_middle(UINT64_MAX, UINT64_MAX - 2) == UINT64_MAX - 1);
	assert_true(nsec_middle(0, UINT64_MAX) == UINT64_MAX / 2);
}

/* --- vec -------------------------------------------------------------------- */

static void grows_an_array(void **state)
{
	struct VEC(uint32_t) v = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 1000; i++)
		assert_true(vec_push(&v, i));
	assert_int_equal(v.n, 1000);
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(v.at[i], i);
	/* The last takes the place of the one taken out. */
	vec_take_out(&v, 3);
	assert_int_equal(v.n, 999);
	assert_int_equal(v.at[3], 999);
	vec_take_out(&v, v.n - 1);
	assert_int_equal(v.n, 998);
	assert_int_equal(v.at[997], 997);
	vec_free(&v);
	assert_null(v.at);
	assert_int_equal(v.n, 0);
	vec_free(&v);
}

static void refuses_an_array_that_would_overflow(void **state)
{
	struct VEC(uint64_t) v = { 0 };

	(void)state;
	assert_true(vec_push(&v, 42));
	assert_false(vec_reserve(&v, SIZE_MAX));
	assert_false(vec_reserve(&v, SIZE_MAX - 1));
	assert_false(vec_reserve(&v, SIZE_MAX / 8));
	assert_int_equal(v.n, 1);
	assert_int_equal(v.at[0], 42);
	vec_free(&v);
}

/* --- map -------------------------------------------------------------------- */

static void finds_nothing_in_an_empty_map(void **state)
{
	struct map map = { 0 };
	uint64_t value = 77;

	(void)state;
	assert_false(map_get(&map, 0, &value));
	assert_false(map_remove(&map, 0));
	map_clear(&map);
	map_free(&map);
	assert_int_equal(value, 77);
}

#define KEYS 3000

/* A few numbers next to each other, far apart, and at both ends. */
static uint64_t key_of(uint64_t i)
{
	if (i % 3 == 0)
		return i;
	return i % 3 == 1 ? i << 40 : UINT64_MAX - i;
}

static void does_what_an_array_would_do(void **state)
{
	static struct {
		bool there;
		uint64_t value;
	} model[KEYS];
	uint64_t random = 0x1234567, value;
	struct map map = { .seed = 99 };
	size_t n = 0;

	(void)state;
	memset(model, 0, sizeof(model));
	for (int step = 0; step < 100000; step++) {
		uint64_t i = chance(&random, KEYS);
		uint64_t what = chance(&random, 10);
		/* Full at first, then nearly empty, so that chains break. */
		bool put = what < (step / 20000 % 2 ? 3u : 6u);

		if (what == 9) {
			value = 1;
			assert_int_equal(map_get(&map, key_of(i), &value),
					 model[i].there);
			assert_true(value ==
				    (model[i].there ? model[i].value : 1));
		} else if (put) {
			n += !model[i].there;
			model[i].there = true;
			model[i].value = chance(&random, UINT64_MAX);
			assert_true(map_put(&map, key_of(i), model[i].value));
		} else {
			assert_int_equal(map_remove(&map, key_of(i)),
					 model[i].there);
			n -= model[i].there;
			model[i].there = false;
		}
		assert_int_equal(map.n, n);
	}
	for (uint64_t i = 0; i < KEYS; i++) {
		assert_int_equal(map_get(&map, key_of(i), NULL),
				 model[i].there);
		if (map_get(&map, key_of(i), &value))
			assert_true(value == model[i].value);
	}
	map_clear(&map);
	assert_int_equal(map.n, 0);
	assert_false(map_get(&map, 0, NULL));
	assert_true(map_put(&map, 0, 5));
	assert_true(map_get(&map, 0, NULL));
	map_free(&map);
	assert_null(map.slots);
	assert_int_equal(map.seed, 0);
}

static void puts_keys_elsewhere_with_another_seed(void **state)
{
	struct map a = { .seed = 1 }, b = { .seed = 2 };
	size_t same = 0;

	(void)state;
	for (uint64_t i = 0; i < 100; i++) {
		assert_true(map_put(&a, i, i));
		assert_true(map_put(&b, i, i));
	}
	for (size_t i = 0; i < a.room; i++)
		same += a.slots[i].used && b.slots[i].used &&
			a.slots[i].key == b.slots[i].key;
	assert_true(same < 10);
	map_free(&a);
	map_free(&b);
}

static void hashes_each_byte_and_the_length(void **state)
{
	char bytes[20] = { 0 };
	uint64_t seen[sizeof(bytes) * 2 + 1];
	size_t n = 0;

	(void)state;
	for (size_t len = 0; len <= sizeof(bytes); len++)
		seen[n++] = map_hash(bytes, len, 1);
	for (size_t i = 0; i < sizeof(bytes); i++) {
		bytes[i] = 1;
		seen[n++] = map_hash(bytes, sizeof(bytes), 1);
		bytes[i] = 0;
	}
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(seen[i] != seen[k]);
	assert_true(map_hash("a", 1, 1) != map_hash("a", 1, 2));
	assert_true(map_mix(1, 2) != map_mix(2, 1));
}

/* --- strtab ------------------------------------------------------------------ */

static void gives_each_string_one_number(void **state)
{
	struct strtab *tab = strtab_new();
	char text[16];
	size_t len;

	(void)state;
	assert_non_null(tab);
	assert_int_equal(strtab_count(tab), 1);
	assert_int_equal(strtab_id(tab, "", 0), 0);
	assert_int_equal(strtab_id(tab, NULL, 0), 0);
	for (int round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 5000; i++) {
			(void)snprintf(text, sizeof(text), "name %u", i);
			assert_int_equal(strtab_id(tab, text, strlen(text)), i);
		}
	assert_int_equal(strtab_count(tab), 5001);
	assert_string_equal(strtab_get(tab, 4711, &len), "name 4711");
	assert_int_equal(len, 9);
	assert_string_equal(strtab_get(tab, 1, NULL), "name 1");
	strtab_free(tab);
	strtab_free(NULL);
}

static void takes_a_string_for_bytes(void **state)
{
	struct strtab *tab = strtab_new();
	uint32_t id;
	size_t len;

	(void)state;
	assert_non_null(tab);
	id = strtab_id(tab, "a\0b", 3);
	assert_int_not_equal(id, strtab_id(tab, "a", 1));
	assert_int_not_equal(id, strtab_id(tab, "a\0", 2));
	assert_int_not_equal(id, strtab_id(tab, "a\0c", 3));
	assert_int_equal(id, strtab_id(tab, "a\0b", 3));
	assert_memory_equal(strtab_get(tab, id, &len), "a\0b", 4);
	assert_int_equal(len, 3);
	strtab_free(tab);
}

static void gives_the_empty_string_for_a_number_it_never_gave(void **state)
{
	struct strtab *tab = strtab_new();
	size_t len = 9;

	(void)state;
	assert_non_null(tab);
	assert_string_equal(strtab_get(tab, 1, &len), "");
	assert_int_equal(len, 0);
	assert_string_equal(strtab_get(tab, STRTAB_NONE, NULL), "");
	strtab_free(tab);
}

static void refuses_a_string_without_end(void **state)
{
	struct strtab *tab = strtab_new();

	(void)state;
	assert_non_null(tab);
	/* Not read: what cannot be held has no hash either. */
	assert_int_equal(strtab_id(tab, "", SIZE_MAX), STRTAB_NONE);
	assert_int_equal(strtab_count(tab), 1);
	strtab_free(tab);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(keeps_the_first_error),
		cmocka_unit_test(cuts_an_error_that_is_too_long),
		cmocka_unit_test(does_not_wrap_time),
		cmocka_unit_test(grows_an_array),
		cmocka_unit_test(refuses_an_array_that_would_overflow),
		cmocka_unit_test(finds_nothing_in_an_empty_map),
		cmocka_unit_test(does_what_an_array_would_do),
		cmocka_unit_test(puts_keys_elsewhere_with_another_seed),
		cmocka_unit_test(hashes_each_byte_and_the_length),
		cmocka_unit_test(gives_each_string_one_number),
		cmocka_unit_test(takes_a_string_for_bytes),
		cmocka_unit_test(
			gives_the_empty_string_for_a_number_it_never_gave),
		cmocka_unit_test(refuses_a_string_without_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
